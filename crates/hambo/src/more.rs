//! How many more logged episodes would make a verdict.
//!
//! Of the parts of a limit over worlds, three shrink with the number of episodes even if the worlds stay as
//! they are: the error of the observed starts, what replayed episodes leave open, and how much of the factor
//! is owed to that.

use crate::bound::Estimate;
use crate::evaluation::{Evaluation, deciding};
use crate::replay::Replay;
use crate::worlds::WorldsLimit;

/// How many times as many episodes are tried.
const TIMES: [usize; 12] = [2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100];

impl Evaluation {
    /// How many times as many logged episodes would let the bound reach `threshold`, if the worlds stayed as they
    /// are; none if it does already, or not with a hundred times as many.
    pub fn times_as_many_episodes(&self, threshold: f64) -> Option<usize> {
        let decides = deciding(&self.variants)?;
        let limit = decides.worlds.as_ref()?;
        let (estimate, worlds) = (&decides.estimate, decides.members.len());
        // Other starts than those of the logs do not become more with them.
        let are_logged = estimate.independent < self.settings.episodes;
        let bound = |times: usize| {
            let more = with_more(limit, times, worlds, self.monte_carlo_delta);
            let estimate = match are_logged {
                true => with_more_starts(estimate, times),
                false => *estimate,
            };
            more.lower_limit(&estimate, worlds, self.monte_carlo_delta)
        };
        if decides.lower_bound >= threshold {
            return None;
        }
        TIMES.into_iter().find(|&times| bound(times) >= threshold)
    }
}

fn with_more_starts(estimate: &Estimate, times: usize) -> Estimate {
    Estimate {
        std_error: estimate.std_error / (times as f64).sqrt(),
        independent: estimate.independent * times,
        ..*estimate
    }
}

/// The limit that so many times as many replayed episodes with the same biases would lead to.
fn with_more(limit: &WorldsLimit, times: usize, worlds: usize, delta: f64) -> WorldsLimit {
    let Some(replay) = &limit.replay else { return limit.clone() };
    let replay: Replay = replay.with_more(times, worlds, delta);
    WorldsLimit { factor: limit.student.max(replay.factor), replay: Some(replay), ..limit.clone() }
}
