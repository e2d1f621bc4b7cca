//! Logged episodes, cut into pieces of the horizon.

use std::ops::Range;

use crate::dataset::Transitions;
use crate::error::Result;
use crate::logs::LoggedEpisodes;
use crate::rng::Stream;
use crate::task::{self, Task};
use ndarray::{Array1, s};
use rand::seq::SliceRandom;

/// Pieces at most, unless there are more episodes.
pub(super) const MOST_WINDOWS: usize = 500;

/// As many first pieces that last for the horizon make it unnecessary to look at those that a gap in the log cuts
/// short.
const ENOUGH_WHOLE: usize = 20;

/// A piece of a logged episode.
#[derive(Clone)]
pub(crate) struct Window {
    pub(super) episode: usize,
    /// Whether it starts where the episode did.
    pub(super) is_first: bool,
    /// Its rows among those of all episodes.
    pub(super) rows: Range<usize>,
    /// Steps that count: all of the horizon if the episode terminated in them, for it then has no more
    /// rewards.
    pub(crate) steps: usize,
    /// What it had earned after each of its rows, until it ended.
    pub(crate) earned: Vec<f64>,
}

/// Pieces of all episodes, in the order of the episodes.
pub(super) fn windows(
    episodes: &LoggedEpisodes,
    task: &Task,
    rng: &mut Stream,
) -> Result<Vec<Window>> {
    let most = (MOST_WINDOWS / episodes.len().max(1)).max(1);
    let mut found = Vec::new();
    for episode in 0..episodes.len() {
        let (all, terminated) = (episodes.rows(episode), episodes.terminated[episode]);
        let between_gaps = episodes.pieces(episode).into_iter();
        let mut pieces: Vec<_> = between_gaps
            .flat_map(|rows| pieces(rows.clone(), task.horizon, terminated && rows.end == all.end))
            .collect();
        // The first, and some of many others.
        let (first, later) = pieces.split_at_mut(1);
        let kept = (most - 1).min(later.len());
        let (some, _) = later.partial_shuffle(rng, kept);
        for rows in first.iter().chain(some.iter()).cloned() {
            found.push(Window::new(episodes, task, episode, rows)?);
        }
    }
    let is_cut = |window: &Window| {
        let has_gaps = episodes.pieces(window.episode).len() > 1;
        has_gaps && window.steps < task.horizon
    };
    let whole = found.iter().filter(|window| window.is_first && !is_cut(window)).count();
    if whole >= ENOUGH_WHOLE {
        found.retain(|window| !is_cut(window));
    }
    Ok(found)
}

/// As many whole horizons as there are; an episode that is shorter than one is a piece itself. What is left
/// over is a piece if it ends in a termination, which must not go unseen.
fn pieces(rows: Range<usize>, horizon: usize, terminated: bool) -> Vec<Range<usize>> {
    let whole = rows.len() / horizon;
    let mut pieces: Vec<Range<usize>> = (0..whole)
        .map(|index| rows.start + index * horizon..rows.start + (index + 1) * horizon)
        .collect();
    let rest = rows.start + whole * horizon..rows.end;
    if pieces.is_empty() || (terminated && !rest.is_empty()) {
        pieces.push(rest);
    }
    pieces
}

impl Window {
    pub(crate) fn new(
        episodes: &LoggedEpisodes,
        task: &Task,
        episode: usize,
        rows: Range<usize>,
    ) -> Result<Self> {
        let logged = &episodes.transitions;
        let part = rows.clone();
        let transitions = Transitions {
            states: logged.states.slice(s![part.clone(), ..]),
            actions: logged.actions.slice(s![part.clone(), ..]),
            next_states: logged.next_states.slice(s![part.clone(), ..]),
        };
        let rewards = match &task.reward {
            Some(rule) => task::reward(&**rule, &transitions)?,
            None => logged.rewards.slice(s![part]).to_owned(),
        };
        let ends = match &task.termination {
            Some(rule) => task::terminated(&**rule, &transitions)?,
            None => Array1::from_elem(rows.len(), false),
        };
        let end = ends.iter().position(|&ended| ended).map(|last| last + 1);
        let discount = f64::from(task.discount);
        let weighted =
            rewards.iter().take(end.unwrap_or(rows.len())).scan((1.0, 0.0), |so_far, &reward| {
                so_far.1 += so_far.0 * f64::from(reward);
                so_far.0 *= discount;
                Some(so_far.1)
            });
        let steps = if end.is_some() { task.horizon } else { rows.len() };
        let starts_it = rows.start == episodes.rows(episode).start;
        let is_first = starts_it && episodes.shows_start(episode);
        Ok(Self { episode, is_first, earned: weighted.collect(), rows, steps })
    }

    /// Steps of it that count in the first `horizon` ones.
    pub(super) fn steps_within(&self, horizon: usize) -> usize {
        self.steps.min(horizon)
    }

    /// What it earned in its first `horizon` steps.
    pub(super) fn earned_within(&self, horizon: usize) -> f64 {
        let steps = self.earned.len().min(horizon);
        if steps == 0 { 0.0 } else { self.earned[steps - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_cut_into_whole_horizons() {
        assert_eq!(pieces(10..35, 10, false), [10..20, 20..30]);
        assert_eq!(pieces(10..35, 10, true), [10..20, 20..30, 30..35]);
        let short = pieces(10..15, 10, true);
        assert_eq!((short.len(), &short[0]), (1, &(10..15)));
    }
}
