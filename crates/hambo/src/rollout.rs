//! Episodes in lockstep over a batch: one plain loop over the horizon, one call to the policy a
//! step. Episodes that terminate leave the batch.

use ndarray::{Array1, Array2, Axis};

use crate::dataset::{Dataset, Episode};
use crate::error::Result;
use crate::rng::Stream;
use crate::task::{self, Policy, Simulator, Task};

/// One step of all episodes that still run. Row `i` belongs to episode `episodes[i]`.
#[derive(Debug)]
pub struct Step<'a> {
    pub time: usize,
    pub episodes: &'a [usize],
    pub states: &'a Array2<f32>,
    pub actions: &'a Array2<f32>,
    pub rewards: &'a Array1<f32>,
    pub next_states: &'a Array2<f32>,
    pub terminated: &'a Array1<bool>,
}

/// Runs `count` episodes of `policy` under the true dynamics, shows every step to `on_step`, and
/// returns the return of each episode: the sum of the rewards of the steps taken, discounted as the
/// task says, the terminating step included.
pub fn simulate(
    simulator: &dyn Simulator,
    task: &Task,
    policy: &dyn Policy,
    count: usize,
    rng: &mut Stream,
    mut on_step: impl FnMut(&Step<'_>),
) -> Result<Array1<f64>> {
    task.validate()?;
    let mut states = task.initial_states.draw(count, simulator.state_dim(), rng)?;
    let mut episodes: Vec<usize> = (0..count).collect();
    let mut returns = Array1::zeros(count);
    let mut weight = 1.0;
    for time in 0..task.horizon {
        let actions = task::act(policy, states.view(), simulator.action_dim(), rng)?;
        let mut next_states = simulator.next_states(states.view(), actions.view(), rng);
        if let Some(bounds) = &task.state_bounds {
            bounds.clamp(&mut next_states);
        }
        let transition = (states.view(), actions.view(), next_states.view());
        let rewards = match &task.reward {
            Some(reward) => task::reward(&**reward, transition.0, transition.1, transition.2)?,
            None => Array1::zeros(episodes.len()),
        };
        let terminated = match &task.termination {
            Some(end) => task::terminated(&**end, transition.0, transition.1, transition.2)?,
            None => Array1::from_elem(episodes.len(), false),
        };
        for (&episode, &reward) in episodes.iter().zip(&rewards) {
            returns[episode] += weight * f64::from(reward);
        }
        on_step(&Step {
            time,
            episodes: &episodes,
            states: &states,
            actions: &actions,
            rewards: &rewards,
            next_states: &next_states,
            terminated: &terminated,
        });
        let running: Vec<usize> = (0..episodes.len()).filter(|&index| !terminated[index]).collect();
        if running.is_empty() {
            break;
        }
        states = if running.len() == episodes.len() {
            next_states
        } else {
            next_states.select(Axis(0), &running)
        };
        episodes = running.iter().map(|&index| episodes[index]).collect();
        weight *= f64::from(task.discount);
    }
    Ok(returns)
}

/// Logs `count` episodes of `policy` under the true dynamics.
pub fn collect(
    simulator: &dyn Simulator,
    task: &Task,
    policy: &dyn Policy,
    count: usize,
    rng: &mut Stream,
) -> Result<Dataset> {
    let mut logs: Vec<Log> = vec![Log::default(); count];
    simulate(simulator, task, policy, count, rng, |step| {
        for (row, &episode) in step.episodes.iter().enumerate() {
            let log = &mut logs[episode];
            log.states.extend(step.states.row(row));
            log.actions.extend(step.actions.row(row));
            log.rewards.push(step.rewards[row]);
            log.next_states.extend(step.next_states.row(row));
            log.terminated = step.terminated[row];
        }
    })?;
    let (state_dim, action_dim) = (simulator.state_dim(), simulator.action_dim());
    let episodes = logs.into_iter().map(|log| log.into_episode(state_dim, action_dim)).collect();
    Ok(Dataset::from_episodes(episodes)?)
}

#[derive(Clone, Default)]
struct Log {
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next_states: Vec<f32>,
    terminated: bool,
}

impl Log {
    fn into_episode(self, state_dim: usize, action_dim: usize) -> Episode {
        let steps = self.rewards.len();
        let rows = |values: Vec<f32>, width: usize| {
            Array2::from_shape_vec((steps, width), values).expect("every step logs whole rows")
        };
        Episode {
            states: rows(self.states, state_dim),
            actions: rows(self.actions, action_dim),
            rewards: Array1::from(self.rewards),
            next_states: rows(self.next_states, state_dim),
            terminated: self.terminated,
            truncated: !self.terminated,
        }
    }
}
