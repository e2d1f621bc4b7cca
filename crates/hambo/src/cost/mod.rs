//! What work will cost on this machine, before it is done: its parts are done in small on made-up data of the same
//! widths, and stretched to their length.

mod made_up;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::dataset::Dataset;
use crate::dynamics::ensemble::{Ensemble, EnsembleSettings, FitCost};
use crate::error::{Error, Result};
use crate::model::{Model, ModelSettings};
use crate::progress::Observer;
use crate::rng::Seed;
use crate::screen::SCREENED;
use crate::settings::EvaluationSettings;
use crate::task::{InitialStates, Policy, Reward, Task};
use made_up::{MadeUp, Price};

/// Rows of the made-up data at most: a model keeps no more of its data.
const MOST_ROWS: usize = 100_000;

/// Rows of the made-up data on which passes over all rows are timed.
const MANY_ROWS: usize = 1_000_000;

/// Gradient steps of a fit in small.
const STEPS: usize = 20;

/// Episodes of an evaluation in small: as many as are watched closely, which costs more than all others.
const WATCHED: usize = 300;

/// Episodes of a longer look.
const LONGER: usize = 1_000;

/// Work to be done.
#[derive(Debug, Clone)]
pub struct Job {
    /// Logged transitions.
    pub rows: usize,
    /// Columns of a state.
    pub state_dim: usize,
    /// Columns of an action.
    pub action_dim: usize,
    /// Steps of a logged episode.
    pub episode_steps: usize,
    /// Steps of an evaluated episode.
    pub horizon: usize,
    /// How the model is fitted.
    pub model: ModelSettings,
    /// How policies are evaluated.
    pub evaluation: EvaluationSettings,
}

/// Seconds on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Gradient steps of the fit, at most.
    pub steps: usize,
    /// Of one of them.
    pub seconds_per_step: f64,
    /// Of the whole fit, once the data is read.
    pub fit: f64,
    /// Of a policy's evaluation.
    pub evaluation: f64,
    /// Of a short look at a policy, which tells whether it is worth an evaluation.
    pub look: f64,
}

impl Job {
    /// Measures, and stretches. A network of 2 x 64 stands in for a policy that is not given.
    pub fn cost(
        &self,
        policy: Option<&dyn Policy>,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Cost> {
        if self.model.gp.is_some() || self.model.ensemble.tables {
            let (name, value) = ("model", "a table or Gaussian processes".into());
            return Err(Error::Setting { name, value, expected: "networks, to be planned" });
        }
        let system = MadeUp::new(self.state_dim, self.action_dim, seed);
        let logs = |rows| system.logs(rows, self.episode_steps, seed);
        let kept = logs(self.rows.min(MOST_ROWS))?;
        let (FitCost { steps, time }, fit, model) = self.fitting(&logs, &kept, seed, observer)?;
        let seconds_per_step = time.as_secs_f64() / steps as f64;

        let reward: Option<Arc<dyn Reward>> = match self.model.ensemble.learn_reward {
            true => None,
            false => Some(Arc::new(Price)),
        };
        let task = Task::new(InitialStates::of_episodes(&kept), reward, self.horizon);
        let policy = policy.unwrap_or(system.policy());
        let episodes = self.evaluation.episodes.min(WATCHED);
        let small = EvaluationSettings { episodes, ..self.evaluation.clone() };
        let (_, watched) = timed(|| model.evaluate(policy, &task, &small, seed, observer))?;
        let looked = |episodes| {
            let settings = &self.evaluation;
            timed(|| model.look_for(episodes, &[policy], &task, settings, seed, observer))
        };
        let (look, longer) = (looked(SCREENED)?.1, looked(LONGER)?.1);
        let beyond = (self.evaluation.episodes - episodes) as f64;
        let evaluation = watched + slope([SCREENED, LONGER], [look, longer]) * beyond;
        Ok(Cost { steps, seconds_per_step, fit, evaluation, look })
    }

    /// The gradient steps, the seconds of all of it, and a model that will do.
    fn fitting(
        &self,
        logs: &dyn Fn(usize) -> Result<Dataset>,
        kept: &Dataset,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(FitCost, f64, Model)> {
        let ensemble = &self.model.ensemble;
        let fit = |data: &Dataset, evaluate_every| {
            let mut settings = self.model.clone();
            settings.ensemble.max_steps = Some(STEPS);
            settings.ensemble.evaluate_every = evaluate_every;
            timed(|| Model::fit(data, &settings, seed, observer))
        };
        // Once before anything counts: threads start, and memory is asked for.
        fit(&logs(kept.rows().div_ceil(10))?, STEPS)?;
        let steps = ensemble.steps(self.rows);
        let cost = Ensemble::cost(
            &kept.all(),
            &EnsembleSettings { max_steps: Some(steps), ..ensemble.clone() },
        )?;
        let (_, short) = fit(kept, STEPS)?;
        let (model, looked_at) = fit(kept, STEPS / 4)?;
        // The fit that was looked at more often was looked at three times more.
        let per_look = ((looked_at - short) / 3.0).max(0.0);
        let looks = steps as f64 / ensemble.evaluate_every as f64;
        let in_steps = cost.time.as_secs_f64() * STEPS as f64 / steps as f64;
        let mut rest = (short - in_steps).max(0.0);
        // What a model keeps no longer grows, but all rows are gone through.
        if self.rows > kept.rows() {
            let many = logs(self.rows.min(MANY_ROWS))?;
            let per_row = slope([kept.rows(), many.rows()], [short, fit(&many, STEPS)?.1]);
            rest += per_row * self.rows.saturating_sub(kept.rows()) as f64;
        }
        Ok((cost, cost.time.as_secs_f64() + per_look * looks + rest, model))
    }
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let begun = Instant::now();
    let done = work()?;
    Ok((done, begun.elapsed().as_secs_f64()))
}

/// What one more costs, of what a small and a large amount cost; nothing if the clock says less.
fn slope(amounts: [usize; 2], costs: [f64; 2]) -> f64 {
    ((costs[1] - costs[0]) / amounts[1].abs_diff(amounts[0]).max(1) as f64).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn job(rows: usize, horizon: usize) -> Job {
        let mut model = ModelSettings::default();
        model.ensemble.hidden = vec![16];
        let evaluation = EvaluationSettings { episodes: 500, ..EvaluationSettings::default() };
        let (state_dim, action_dim, episode_steps) = (3, 1, 20);
        Job { rows, state_dim, action_dim, episode_steps, horizon, model, evaluation }
    }

    #[test]
    fn a_plan_is_about_the_whole_work() {
        // How long things take is for no test to say; `reproductions/plans.py` measures it.
        let found = job(10_000, 10).cost(None, Seed(0), &Silent).unwrap();
        assert_eq!(found.steps, 2_500);
        assert!(found.seconds_per_step >= 0.0 && found.look > 0.0, "{found:?}");
        assert!(found.fit >= found.seconds_per_step * found.steps as f64, "{found:?}");
        assert!(found.evaluation.is_finite(), "{found:?}");
    }

    #[test]
    fn one_more_costs_what_the_difference_says() {
        assert_eq!(slope([20, 60], [3.0, 7.0]), 0.1);
        assert_eq!(slope([5, 5], [1.0, 1.0]), 0.0);
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        let mut job = job(1_000, 5);
        job.model.ensemble.tables = true;
        assert!(job.cost(None, Seed(0), &Silent).is_err());
    }
}
