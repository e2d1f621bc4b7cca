//! What the other estimators need of the logs.

use std::ops::Range;

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::Poisson;

use crate::bound::Estimate;
use crate::error::Result;
use crate::logs::LoggedEpisodes;
use crate::opinions::{Limit, LimitBy, Method, Opinion};
use crate::replay::Window;
use crate::rng::{RowStreams, Seed, Stream};
use crate::task::{self, Policy, Task};

/// Actions that are drawn for every state, if the policy draws them.
const DRAWS: usize = 8;

/// The logs as a task sees them.
pub(super) struct Logs<'a> {
    pub kept: &'a LoggedEpisodes,
    pub task: &'a Task,
    /// Per row, by the task's rule if there is one.
    pub rewards: Array1<f32>,
    /// Per row, by the task's rule or, without one, as logged.
    pub ends: Array1<bool>,
    /// The episode of each row.
    pub episodes: Vec<usize>,
    /// Beginnings of episodes that last for the horizon or end before.
    pub whole: Vec<Whole>,
    /// Episodes of which there is none.
    pub left_out: usize,
}

/// The first steps of an episode, until the horizon or its end.
pub(super) struct Whole {
    pub episode: usize,
    pub rows: Range<usize>,
    /// Rewards, discounted from the start.
    pub rewards: Vec<f64>,
}

impl Whole {
    pub(super) fn earned(&self) -> f64 {
        self.rewards.iter().sum()
    }
}

impl<'a> Logs<'a> {
    pub(super) fn new(kept: &'a LoggedEpisodes, task: &'a Task) -> Result<Self> {
        let transitions = kept.transitions.transitions();
        let rows = transitions.rows();
        let rewards = task.rewards_of(&kept.transitions)?;
        let ends = match &task.termination {
            Some(rule) => task::terminated(&**rule, &transitions)?,
            None => logged_ends(kept, rows),
        };
        let mut whole = Vec::new();
        for episode in (0..kept.len()).filter(|&episode| kept.shows_start(episode)) {
            let Some(piece) = kept.pieces(episode).into_iter().next() else { continue };
            let first = piece.start..piece.end.min(piece.start + task.horizon);
            let window = Window::new(kept, task, episode, first.clone())?;
            let ended = task.termination.is_none() && first.clone().any(|row| ends[row]);
            if window.steps < task.horizon && !ended {
                continue;
            }
            let before = std::iter::once(0.0).chain(window.earned.iter().copied());
            let rewards: Vec<f64> = window.earned.iter().zip(before).map(|(a, b)| a - b).collect();
            whole.push(Whole { episode, rows: first.start..first.start + rewards.len(), rewards });
        }
        let episodes = (0..kept.len()).flat_map(|e| vec![e; kept.rows(e).len()]).collect();
        let left_out = kept.len() - whole.len();
        Ok(Self { kept, task, rewards, ends, episodes, whole, left_out })
    }

    /// Those of whose rows all have a number.
    pub(super) fn known(&self, of_rows: &[f64]) -> Vec<&Whole> {
        let is_known = |whole: &&Whole| !of_rows[whole.rows.clone()].iter().any(|v| v.is_nan());
        self.whole.iter().filter(is_known).collect()
    }

    /// Sum of the weights of so many rewards.
    pub(super) fn weight_of(&self, steps: usize) -> f64 {
        let discount = f64::from(self.task.discount);
        if discount < 1.0 {
            (1.0 - discount.powi(steps as i32)) / (1.0 - discount)
        } else {
            steps as f64
        }
    }

    /// How often each of so many members sees each episode, `[members, episodes]`. Somebody has not seen it.
    pub(super) fn bag(&self, members: usize, rng: &mut Stream) -> Array2<f32> {
        let poisson = Poisson::new(1.0).expect("a positive mean");
        let mut bag = Array2::zeros((members, self.kept.len()));
        for mut of_members in bag.columns_mut() {
            of_members.mapv_inplace(|_: f32| rng.sample(poisson));
            if of_members.iter().all(|&times| times > 0.0) {
                of_members[rng.random_range(0..members)] = 0.0;
            }
        }
        // Who has seen nothing knows nothing.
        for mut of_episodes in bag.rows_mut() {
            let episodes = of_episodes.len();
            if of_episodes.iter().all(|&times| times == 0.0) && episodes > 0 {
                of_episodes[rng.random_range(0..episodes)] = 1.0;
            }
        }
        bag
    }

    /// What the policy does in states, several times if it draws: `[rows, d_a]` each.
    pub(super) fn actions(
        &self,
        policy: &dyn Policy,
        states: &Array2<f32>,
        seed: Seed,
    ) -> Result<Vec<Array2<f32>>> {
        let columns = self.kept.transitions.actions.ncols();
        let mut found: Vec<Array2<f32>> = Vec::new();
        for draw in 0..DRAWS {
            let rng = &mut seed.stream(&format!("actions {draw}"));
            let streams = &mut RowStreams::new(rng, states.nrows());
            let actions = task::act(policy, states.view(), columns, streams)?;
            if draw == 1 && actions == found[0] {
                break;
            }
            found.push(actions);
        }
        Ok(found)
    }

    /// Means of what was earned, source by source.
    pub(super) fn means(&self, delta: f64) -> Vec<Opinion> {
        let mut groups: Vec<(Option<String>, Vec<f64>)> = Vec::new();
        match &self.kept.sources {
            None => groups.push((None, self.whole.iter().map(Whole::earned).collect())),
            Some(sources) => {
                for (source, name) in sources.names().iter().enumerate() {
                    let mine =
                        self.whole.iter().filter(|whole| sources.of(whole.episode) == source);
                    groups.push((Some(name.clone()), mine.map(Whole::earned).collect()));
                }
            }
        }
        let opinion = |(of, earned): (Option<String>, Vec<f64>)| {
            let found = Estimate::of(&earned);
            let limit = Limit { by: LimitBy::Student, lower: found.lower_limit(delta) };
            let is_known = found.independent >= 2;
            Opinion {
                method: Method::Logged,
                of,
                estimate: found.mean,
                std_error: is_known.then_some(found.std_error),
                limits: if is_known { vec![limit] } else { Vec::new() },
                effective_episodes: None,
                largest_share: None,
            }
        };
        groups.into_iter().filter(|(_, earned)| !earned.is_empty()).map(opinion).collect()
    }

    /// The least and the largest reward of a step, as far as they are known; with zero among them where episodes may
    /// end, and earn nothing then.
    pub(super) fn reward_range(&self) -> [f64; 2] {
        let logged = |of: fn(f32, f32) -> f32, from| self.rewards.iter().copied().fold(from, of);
        let (task, none) = (self.task, [f32::INFINITY, f32::NEG_INFINITY]);
        let bounds = task.reward_bounds.filter(|_| task.reward.is_none());
        let low = task.floor.or(bounds.map(|[low, _]| low));
        let low = f64::from(low.unwrap_or(none[0]).min(logged(f32::min, none[0])));
        let high = bounds.map_or(none[1], |[_, high]| high);
        let high = f64::from(high.max(logged(f32::max, none[1])));
        match task.termination.is_some() || self.ends.iter().any(|&ended| ended) {
            true => [low.min(0.0), high.max(0.0)],
            false => [low, high],
        }
    }

    /// Logged states and actions of some rows.
    pub(super) fn pairs(&self, rows: &[usize]) -> (Array2<f32>, Array2<f32>) {
        let logged = &self.kept.transitions;
        (logged.states.select(Axis(0), rows), logged.actions.select(Axis(0), rows))
    }
}

/// Last rows of episodes that terminated.
fn logged_ends(kept: &LoggedEpisodes, rows: usize) -> Array1<bool> {
    let mut ends = Array1::from_elem(rows, false);
    for (&end, &terminated) in kept.ends.iter().zip(&kept.terminated) {
        ends[end - 1] = terminated;
    }
    ends
}
