//! What is noted while the final rollouts of a variant run.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use crate::bound::{Estimate, paired_difference};
use crate::error::Result;
use crate::evidence::{Costs, Evidence, HorizonPoint, Trajectory};
use crate::game::Game;
use crate::hallucination::{Choice, ShiftAdversary, Still};
use crate::model::Model;
use crate::places::Doubts;
use crate::rng::Stream;
use crate::rollout::{Moment, Step, Streams};
use crate::support::{DataSupport, log_stds};
use crate::whereabouts::Whereabouts;

/// Episodes among which the worst trajectories are looked for, and how many are kept.
const WATCHED_EPISODES: usize = 300;
const WORST_KEPT: usize = 3;

/// Episodes of each world about which the whole ensemble is asked: ten worlds' members on a hundred episodes of each
/// take as long as the worlds themselves do on a thousand.
const ASKED_EPISODES: usize = 100;

/// Episodes whose steps tell where the members disagree.
const DOUBTED_EPISODES: usize = 50;

/// Points over the horizon at most.
const MOST_POINTS: usize = 200;

/// Looks over the shoulder of a rollout.
pub(crate) struct Watcher<'a> {
    model: &'a Model,
    support: &'a DataSupport<'a>,
    /// The Monte Carlo limit's part of the failure probability.
    delta: f64,
    /// Which observed initial state each episode came from, if they are a finite sample.
    observed: Option<Vec<usize>>,
    /// Episodes about which the whole ensemble is asked, where members decide.
    asked: usize,
    steps: usize,
    outside: usize,
    /// Which episodes were beyond the limits of the states.
    at_limits: Vec<bool>,
    /// All steps, and those with actions like none in the data.
    taken: usize,
    foreign: usize,
    ended: usize,
    floored: usize,
    trajectories: Vec<Vec<Vec<f32>>>,
    over_horizon: Vec<HorizonPoint>,
    /// Sums of the logarithms of the epistemic stds, over all counted steps.
    log_stds: Array1<f64>,
    /// Sums of the epistemic stds since the last point, and over how many rows.
    stds: Array1<f64>,
    rows: usize,
    /// Sum of the actions since the last point, and over how many rows.
    actions: Array1<f64>,
    acted: usize,
    /// Mean actions of the logs, step by step.
    logged_actions: Vec<Array1<f64>>,
    doubts: Doubts,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        model: &'a Model,
        support: &'a DataSupport<'a>,
        horizon: usize,
        delta: f64,
        observed: Option<Vec<usize>>,
    ) -> Self {
        Self {
            model,
            support,
            delta,
            observed,
            asked: ASKED_EPISODES,
            steps: 0,
            outside: 0,
            at_limits: Vec::new(),
            taken: 0,
            foreign: 0,
            ended: 0,
            floored: 0,
            trajectories: vec![Vec::new(); WATCHED_EPISODES],
            over_horizon: Vec::new(),
            log_stds: Array1::zeros(model.dynamics.outputs()),
            stds: Array1::zeros(model.dynamics.outputs()),
            rows: 0,
            actions: Array1::zeros(model.dynamics.action_dim()),
            acted: 0,
            logged_actions: model.episodes.mean_actions(horizon),
            doubts: Doubts::default(),
        }
    }

    /// The same, but the whole ensemble is asked about so many episodes.
    pub(crate) fn asking(self, episodes: usize) -> Self {
        Self { asked: episodes, ..self }
    }

    pub(crate) fn watch(&mut self, step: &Step<'_>) -> Result<()> {
        self.taken += step.episodes.len();
        self.at_limits.resize(step.returns.len(), false);
        for (&episode, _) in step.episodes.iter().zip(step.beyond).filter(|(_, beyond)| **beyond) {
            self.at_limits[episode] = true;
        }
        let floored = step.floored.iter().filter(|&&floored| floored).count();
        self.floored += floored;
        self.ended += step.terminated.iter().filter(|&&ended| ended).count() - floored;
        let is_foreign = |action: &ArrayView1<'_, f32>| self.model.logged.is_foreign(*action);
        self.actions += &step.actions.mapv(f64::from).sum_axis(Axis(0));
        self.acted += step.actions.nrows();
        self.foreign += step.actions.rows().into_iter().filter(is_foreign).count();
        match step.epistemic_std {
            Some(stds) => {
                let rows: Vec<usize> = (0..step.episodes.len()).collect();
                self.doubt(step, &rows, stds);
                self.count(step, &rows, stds);
            }
            None => self.count_watched(step)?,
        }
        for (row, &episode) in step.episodes.iter().enumerate() {
            if let Some(trajectory) = self.trajectories.get_mut(episode) {
                let columns = self.model.data.names.states.len();
                trajectory.push(step.states.row(row).iter().take(columns).copied().collect());
            }
        }
        let (done, stride) = (step.time + 1, step.horizon.div_ceil(MOST_POINTS));
        let last = done == step.horizon || step.terminated.iter().all(|&ended| ended);
        if done.is_multiple_of(stride) || last {
            self.note(done, step.returns);
        }
        Ok(())
    }

    fn note(&mut self, steps: usize, returns: ArrayView1<'_, f64>) {
        let returns = returns.to_vec();
        let estimate = match &self.observed {
            Some(observed) => Estimate::clustered(&returns, observed),
            None => Estimate::of(&returns),
        };
        let epistemic_std = (&self.stds / self.rows.max(1) as f64).to_vec();
        (self.stds, self.rows) = (Array1::zeros(self.stds.len()), 0);
        let actions = (&self.actions / self.acted.max(1) as f64).to_vec();
        (self.actions, self.acted) = (Array1::zeros(self.actions.len()), 0);
        let before = self.over_horizon.last().map_or(0, |point| point.steps);
        let logged = self.logged_actions.get(before..steps).unwrap_or_default();
        let logged_actions = match logged.len() {
            0 => Vec::new(),
            n => (logged.iter().fold(Array1::zeros(actions.len()), |sum, a| sum + a) / n as f64)
                .to_vec(),
        };
        self.over_horizon.push(HorizonPoint {
            steps,
            estimate,
            lower_bound: estimate.lower_limit(self.delta),
            epistemic_std,
            actions,
            logged_actions,
        });
    }

    /// Counts the steps that are less certain than usual.
    fn count(&mut self, step: &Step<'_>, rows: &[usize], stds: &Array2<f32>) {
        self.steps += stds.nrows();
        let is_sure = |(&row, stds): (&usize, ArrayView1<'_, f32>)| {
            self.support.is_sure(step.states.row(row), step.actions.row(row), stds)
        };
        self.outside += rows.iter().zip(stds.rows()).filter(|pair| !is_sure(*pair)).count();
        self.log_stds += &log_stds(stds).sum_axis(Axis(0));
        for row in stds.rows() {
            self.stds.zip_mut_with(&row, |sum, &std| *sum += f64::from(std));
        }
        self.rows += stds.nrows();
    }

    /// Where members decide, each evaluates its own rows only; the whole ensemble is asked about a few.
    fn count_watched(&mut self, step: &Step<'_>) -> Result<()> {
        let rows: Vec<usize> =
            (0..step.episodes.len()).filter(|&r| step.episodes[r] < self.asked).collect();
        let states = step.states.select(Axis(0), &rows);
        let actions = step.actions.select(Axis(0), &rows);
        let prediction = self.model.dynamics.predict(states.view(), actions.view())?;
        self.doubt(step, &rows, &prediction.epistemic_std);
        self.count(step, &rows, &prediction.epistemic_std);
        Ok(())
    }

    /// Notes how much members disagree about some rows of a step.
    fn doubt(&mut self, step: &Step<'_>, rows: &[usize], stds: &Array2<f32>) {
        for (&row, stds) in rows.iter().zip(stds.rows()) {
            if step.episodes[row] >= DOUBTED_EPISODES {
                continue;
            }
            let score = self.support.doubt(stds);
            let (state, action) = (step.states.row(row), step.actions.row(row));
            self.doubts.add(state.iter().chain(action).copied().collect(), score);
        }
    }

    /// How far from the logs the steps so far went.
    pub(crate) fn whereabouts(&self) -> Whereabouts {
        let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
        let episodes = self.at_limits.len();
        let at_limits = self.at_limits.iter().filter(|&&at_limits| at_limits).count();
        Whereabouts {
            outside_data: share(self.outside, self.steps),
            times_as_uncertain: self.support.times_as_uncertain(&self.log_stds, self.steps),
            at_limits: share(at_limits, episodes),
            foreign_actions: share(self.foreign, self.taken),
            ended: share(self.ended, episodes),
            floored: share(self.floored, episodes),
        }
    }

    /// The worst of the watched trajectories, and the evidence.
    pub(crate) fn finish(
        self,
        returns: &[f64],
        costs: Option<Costs>,
    ) -> (Vec<Trajectory>, Evidence) {
        let mut watched: Vec<Trajectory> = self
            .trajectories
            .into_iter()
            .zip(returns)
            .map(|(states, &total)| Trajectory { total, states })
            .collect();
        watched.sort_by(|a, b| a.total.total_cmp(&b.total));
        watched.truncate(WORST_KEPT);
        let (return_quantiles, over_horizon) = (percentiles(returns), self.over_horizon);
        let places = self.doubts.places(&self.model.logged, &self.model.names());
        (watched, Evidence { return_quantiles, over_horizon, costs, places })
    }
}

impl Costs {
    /// Plays `episodes` episodes without shifts, with all of them, and with each alone. `None` for
    /// variants that shift nothing.
    pub(crate) fn measure(
        game: &Game<'_>,
        choice: Choice<'_>,
        episodes: usize,
        streams: &Streams,
        mut on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Option<Self>> {
        let Choice::Shift(adversary) = choice else { return Ok(None) };
        let d_s = game.dynamics.next_dim();
        let mut sure_of_reward = game.radius.clone();
        sure_of_reward.iter_mut().skip(d_s).for_each(|radius| *radius = 0.0);
        let mut play = |game: Game<'_>, shifts: &dyn ShiftAdversary| -> Result<Vec<f64>> {
            let choice = Choice::Shift(shifts);
            Ok(game.play(choice, episodes, &mut streams.clone(), &mut on_step)?.returns)
        };
        let of_states = Game { radius: &sure_of_reward, ..*game };
        let untouched = play(of_states, &Still)?;
        let all = paired_difference(&untouched, &play(*game, adversary)?);
        let mut alone = Vec::new();
        for output in 0..game.dynamics.outputs() {
            let attacked = match output < d_s {
                true => play(of_states, &Only { adversary, output })?,
                false => play(*game, &Still)?,
            };
            alone.push(paired_difference(&untouched, &attacked));
        }
        Ok(Some(Self { all, alone }))
    }
}

/// An adversary that may shift one output.
struct Only<'a> {
    adversary: &'a dyn ShiftAdversary,
    output: usize,
}

impl ShiftAdversary for Only<'_> {
    fn shift(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Array2<f32>> {
        let all = self.adversary.shift(at, rng)?;
        let mut one = Array2::zeros(all.raw_dim());
        one.column_mut(self.output).assign(&all.column(self.output));
        Ok(one)
    }
}

/// The quantiles of `values` at 0, 1, ..., 100 percent, interpolated between neighbours.
fn percentiles(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = |percent: usize| {
        let (whole, rest) = (percent * last / 100, percent * last % 100);
        let (below, above) = (sorted[whole], sorted[(whole + 1).min(last)]);
        below + (above - below) * rest as f64 / 100.0
    };
    if sorted.is_empty() { Vec::new() } else { (0..=100).map(at).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_the_numbers_to_a_hundred_are_themselves() {
        let shuffled: Vec<f64> = (0..=100).map(|i| f64::from(i * 37 % 101)).collect();
        let expected: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(percentiles(&shuffled), expected);
    }

    #[test]
    fn percentiles_of_two_numbers_lie_on_the_line_between_them() {
        let found = percentiles(&[3.0, 1.0]);
        assert_eq!((found[0], found[50], found[100]), (1.0, 2.0, 3.0));
        assert!((found[25] - 1.5).abs() < 1e-12);
    }
}
