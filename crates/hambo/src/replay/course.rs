//! What is done when a logged episode is played again: the logged actions, corrected.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayViewMut1, Axis};
use rand::RngExt;

use super::windows::Window;
use crate::logs::{LoggedActions, LoggedEpisodes};
use crate::rng::Stream;
use crate::rollout::Turn;

/// Smallest probability that a logged choice can have had.
const LEAST_PROBABILITY: f32 = 1e-3;

/// The logged actions, and how they are corrected.
pub(super) struct Course<'a> {
    windows: &'a [Window],
    episodes: &'a LoggedEpisodes,
    /// What the networks would have done in the logged states.
    expected: Array2<f32>,
    legal: Legal<'a>,
}

impl<'a> Course<'a> {
    pub(super) fn new(
        windows: &'a [Window],
        episodes: &'a LoggedEpisodes,
        actions: &'a [LoggedActions],
    ) -> Self {
        let rows: Vec<usize> = (0..episodes.transitions.rewards.len()).collect();
        Self {
            windows,
            episodes,
            expected: episodes.behaviour().act(episodes.transitions.states.view(), &rows),
            legal: Legal::of(episodes, actions),
        }
    }

    /// How many pieces there are.
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// The piece that an episode of the replay is: all of them once, then all of them again.
    pub(super) fn window(&self, index: usize) -> &Window {
        &self.windows[index % self.windows.len()]
    }

    /// The episode of the data that it is a piece of.
    pub(super) fn number(&self, index: usize) -> usize {
        self.episodes.numbers[self.window(index).episode]
    }

    /// The logged rows of all pieces, so many times.
    pub(super) fn rows(&self, times: usize) -> Vec<Range<usize>> {
        let count = self.windows.len() * times;
        (0..count).map(|index| self.window(index).rows.clone()).collect()
    }

    pub(super) fn starts(&self, times: usize) -> Array2<f32> {
        let count = self.windows.len() * times;
        let rows: Vec<usize> = (0..count).map(|index| self.window(index).rows.start).collect();
        self.episodes.transitions.states.select(Axis(0), &rows)
    }

    /// What is done in all `total` episodes of the replay that still run.
    pub(super) fn actions(&self, turn: &Turn<'_>, total: usize, rng: &mut Stream) -> Array2<f32> {
        let firsts: Vec<usize> = turn.episodes.iter().map(|&i| self.window(i).rows.start).collect();
        let mut actions = self.episodes.behaviour().act(turn.states, &firsts);
        // Drawn for every episode, so that all worlds see the same.
        let draws: Vec<[f32; 2]> = (0..total).map(|_| [rng.random(), rng.random()]).collect();
        for (action, &index) in actions.rows_mut().into_iter().zip(turn.episodes) {
            // Beyond the logged end there is nothing to correct.
            let logged =
                self.window(index).rows.clone().nth(turn.time).map(|row| {
                    (self.episodes.transitions.actions.row(row), self.expected.row(row))
                });
            self.legal.correct(action, logged, draws[index]);
        }
        actions
    }
}

/// Actions that can be taken.
enum Legal<'a> {
    /// One column per choice, of which one is 1 and all others are 0.
    OneHot,
    /// Each column by itself.
    Columns(&'a [LoggedActions]),
}

impl<'a> Legal<'a> {
    fn of(episodes: &LoggedEpisodes, columns: &'a [LoggedActions]) -> Self {
        let actions = &episodes.transitions.actions;
        let is_flag = |&value: &f32| value == 0.0 || value == 1.0;
        let chooses = actions.ncols() > 1
            && actions.iter().all(is_flag)
            && actions.sum_axis(Axis(1)).iter().all(|&sum| sum == 1.0);
        if chooses { Self::OneHot } else { Self::Columns(columns) }
    }

    /// Turns what is usually done here into what is done now, given the logged action and what was usually
    /// done where it was logged.
    fn correct(
        &self,
        mut usual: ArrayViewMut1<'_, f32>,
        logged: Option<(ArrayView1<'_, f32>, ArrayView1<'_, f32>)>,
        draws: [f32; 2],
    ) {
        match self {
            Self::OneHot => {
                let here = probabilities(usual.view());
                let there = logged.map(|(action, expected)| {
                    let chosen = action.iter().position(|&flag| flag == 1.0);
                    (chosen.unwrap_or(0), probabilities(expected))
                });
                let choice = coupled(&here, there, draws);
                usual.fill(0.0);
                usual[choice] = 1.0;
            }
            Self::Columns(columns) => {
                if let Some((action, expected)) = logged {
                    usual += &action;
                    usual -= &expected;
                }
                for (value, column) in usual.iter_mut().zip(*columns) {
                    *value = column.nearest(*value);
                }
            }
        }
    }
}

/// What a network that learned flags says is a probability, up to its own error.
fn probabilities(outputs: ArrayView1<'_, f32>) -> Vec<f32> {
    let least = LEAST_PROBABILITY;
    let sum: f32 = outputs.iter().map(|&output| output.max(least)).sum();
    outputs.iter().map(|&output| output.max(least) / sum).collect()
}

/// A choice with the probabilities `here`, the same as the one that was drawn with the probabilities `there`
/// as often as that can be.
fn coupled(here: &[f32], there: Option<(usize, Vec<f32>)>, draws: [f32; 2]) -> usize {
    let weights: Vec<f32> = match &there {
        Some((chosen, there)) if draws[0] * there[*chosen] < here[*chosen] => return *chosen,
        Some((_, there)) => here.iter().zip(there).map(|(h, t)| (h - t).max(0.0)).collect(),
        None => here.to_vec(),
    };
    let wanted = draws[1] * weights.iter().sum::<f32>();
    let mut sum = 0.0;
    let is_it = |weight: &f32| {
        sum += weight;
        sum > wanted
    };
    weights.iter().position(is_it).unwrap_or(here.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn a_corrected_choice_is_as_likely_as_it_is_here_and_the_same_where_it_can_be() {
        let (here, there) = ([0.5, 0.3, 0.2], vec![0.2, 0.2, 0.6]);
        let rng = &mut Seed(0).stream("choices");
        let trials = 100_000;
        let (mut counts, mut kept) = ([0; 3], 0);
        for _ in 0..trials {
            let drawn = coupled(&there, None, [0.0, rng.random()]);
            let choice = coupled(&here, Some((drawn, there.clone())), [rng.random(), rng.random()]);
            counts[choice] += 1;
            kept += usize::from(choice == drawn);
        }
        // Four standard errors of a share, at most.
        let room = 4.0 * (0.25 / f64::from(trials)).sqrt();
        let share = |count: usize| count as f64 / f64::from(trials);
        for (&count, wanted) in counts.iter().zip(here) {
            assert!((share(count) - f64::from(wanted)).abs() < room, "{counts:?}");
        }
        // The sum of the smaller probabilities: .2 + .2 + .2.
        assert!((share(kept) - 0.6).abs() < room, "{kept}");
    }
}
