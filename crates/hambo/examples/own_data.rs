//! Your own logs, your own policy: a cart on a rail, pushed left and right.
//!
//! Shows what has to be written for a task that is not built in: columns of numbers become a
//! [`Dataset`], a policy and a reward are two small types, and episodes start where the logged ones
//! did.

use std::sync::Arc;

use hambo::Transitions;
use hambo::dataset::{ColumnNames, FlatColumns};
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::InitialStates;
use hambo::{
    BoxError, Dataset, EvaluationSettings, Model, ModelSettings, Policy, Result, Reward, Seed,
    Silent, Task, Variant,
};
use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;

const EPISODES: usize = 60;
const STEPS: usize = 30;

fn main() -> Result<()> {
    let seed = Seed(0);
    let logs = read_logs(seed)?;
    println!("{:?}", logs.summary().returns);

    let ensemble =
        EnsembleSettings { hidden: vec![64; 2], max_steps: Some(1500), ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent)?;

    let task = Task::new(InitialStates::of_episodes(&logs), Some(Arc::new(StayCentred)), STEPS);
    let settings = EvaluationSettings {
        variants: vec![Variant::DaInf, Variant::Ds],
        episodes: 2000,
        ..Default::default()
    };
    let found = model.evaluate(&Brake, &task, &settings, seed, &Silent)?;
    println!("return at least {:.2?}; delta covers {}", found.lower_bound, found.delta_covers);
    for warning in &found.warnings {
        println!("warning: {warning}; {}", warning.help());
    }
    Ok(())
}

/// Stands in for reading files: position and speed of a cart under random pushes, as flat columns.
fn read_logs(seed: Seed) -> Result<Dataset> {
    let mut rng = seed.stream("pushes");
    let (mut states, mut actions, mut rewards, mut next_states) = (vec![], vec![], vec![], vec![]);
    for _ in 0..EPISODES {
        let (mut position, mut speed) = (rng.random_range(-1.0..1.0), rng.random_range(-0.5..0.5));
        for _ in 0..STEPS {
            let push: f32 = rng.random_range(-1.0..1.0);
            states.extend([position, speed]);
            actions.push(push);
            rewards.push(-f32::abs(position));
            (position, speed) = (position + 0.1 * speed, 0.98 * speed + 0.1 * push);
            next_states.extend([position, speed]);
        }
    }
    let rows = rewards.len();
    let columns = FlatColumns {
        state_dim: 2,
        action_dim: 1,
        states: states.into(),
        actions: actions.into(),
        rewards: rewards.into(),
        next_states: next_states.into(),
        terminated: vec![false; rows],
        truncated: (1..=rows).map(|row| row % STEPS == 0).collect(),
        episode_ends: (1..=EPISODES).map(|episode| episode * STEPS).collect(),
        gaps: Vec::new(),
    };
    let names = ColumnNames {
        states: vec!["position".into(), "speed".into()],
        actions: vec!["push".into()],
    };
    Ok(Dataset::from_columns(columns, Some(names))?)
}

/// The policy to which is not in the logs: push towards the centre, and brake.
struct Brake;

impl Policy for Brake {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut hambo::rng::RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let push = |row: usize| (-states[[row, 0]] - states[[row, 1]]).clamp(-1.0, 1.0);
        Ok(Array2::from_shape_fn((states.nrows(), 1), |(row, _)| push(row)))
    }
}

/// Minus the distance from the centre. With `None` instead, the reward is learned from the logs
/// (`EnsembleSettings::learn_reward`).
struct StayCentred;

impl Reward for StayCentred {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        Ok(states.column(0).mapv(|position| -position.abs()))
    }
}
