//! Episodes in lockstep over a batch: one plain loop over the horizon, one call to the policy a
//! step. Episodes that terminate leave the batch.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::dataset::{Dataset, Episode, Transitions};
use crate::error::Result;
use crate::rng::{RowStreams, Seed, Stream};
use crate::task::{self, Policy, Simulator, StateBounds, Task};

/// What carries a batch of states one step further: the true dynamics or a learned model.
pub trait TransitionModel {
    /// Columns of a state.
    fn state_dim(&self) -> usize;

    /// Columns of an action.
    fn action_dim(&self) -> usize;

    /// One step of the running episodes. Noise must be drawn for all `at.total` episodes, also for those that have ended, so that
    /// two rollouts from the same streams see the same noise in the same episode.
    ///
    /// Whatever else decides, such as an adversary that explores, draws from `choices`, so that it
    /// leaves the noise as it was.
    fn step(
        &mut self,
        at: &Moment<'_>,
        noise: &mut Stream,
        choices: &mut Stream,
    ) -> Result<Outcome>;
}

/// The running episodes before a step. Row `i` belongs to episode `episodes[i]`.
#[derive(Debug)]
pub struct Moment<'a> {
    /// The step, from zero.
    pub time: usize,
    /// Steps of an episode, at most.
    pub horizon: usize,
    /// All episodes of the rollout, running or ended.
    pub total: usize,
    /// Indices of the running episodes.
    pub episodes: &'a [usize],
    /// `[rows, d_s]`
    pub states: ArrayView2<'a, f32>,
    /// `[rows, d_a]`
    pub actions: ArrayView2<'a, f32>,
}

/// Where a step led.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// `[rows, d_s]`
    pub next_states: Array2<f32>,
    /// The reward, if the transition model learned it.
    pub rewards: Option<Array1<f32>>,
    /// What the adversary chose, `[rows, choices]`, if there is one.
    pub choices: Option<Array2<f32>>,
    /// The model's epistemic std, `[rows, outputs]`, if it was computed.
    pub epistemic_std: Option<Array2<f32>>,
}

/// One step of all episodes that still ran. Row `i` belongs to episode `episodes[i]`.
#[derive(Debug)]
pub struct Step<'a> {
    /// The step, from zero.
    pub time: usize,
    /// Steps of an episode, at most.
    pub horizon: usize,
    /// Indices of these episodes.
    pub episodes: &'a [usize],
    /// The states before the step, `[rows, d_s]`.
    pub states: &'a Array2<f32>,
    /// The policy's actions, `[rows, d_a]`.
    pub actions: &'a Array2<f32>,
    /// What the adversary chose, `[rows, choices]`, if there is one.
    pub choices: Option<&'a Array2<f32>>,
    /// The model's epistemic std, `[rows, outputs]`, if it was computed.
    pub epistemic_std: Option<&'a Array2<f32>>,
    /// The step's rewards, `[rows]`, not discounted.
    pub rewards: &'a Array1<f32>,
    /// The states after the step, within their limits, `[rows, d_s]`.
    pub next_states: &'a Array2<f32>,
    /// Which of them were beyond the usual limits, `[rows]`.
    pub beyond: &'a Array1<bool>,
    /// Which of the episodes left the data and stopped there, with the least reward in all steps that were
    /// left, `[rows]`.
    pub floored: &'a Array1<bool>,
    /// Which episodes terminated in this step, `[rows]`; those that left the data among them.
    pub terminated: &'a Array1<bool>,
    /// The returns so far, this step included, of all episodes, also of those that have ended.
    pub returns: ArrayView1<'a, f64>,
}

/// The random streams of a rollout, kept apart so that a policy that draws more numbers leaves the
/// transitions' noise as it was.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Draws the initial states.
    pub starts: Stream,
    /// Draws what the policy needs.
    pub policy: Stream,
    /// Draws the noise of the transitions.
    pub transition: Stream,
    /// For what adversaries and chance decide.
    pub choices: Stream,
}

impl Streams {
    /// The streams called `name`: rollouts with equal streams are comparable pair by pair.
    pub fn new(seed: Seed, name: &str) -> Self {
        let stream = |part: &str| seed.stream(&format!("{name}: {part}"));
        Self {
            starts: stream("starts"),
            policy: stream("policy"),
            transition: stream("transition"),
            choices: stream("choices"),
        }
    }
}

/// What every step stays within.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Every next state is moved into these.
    pub states: Option<&'a StateBounds>,
    /// Next states beyond these are counted; they are no wider.
    pub usual: Option<&'a StateBounds>,
    /// Smallest and largest reward that the transition model may give.
    pub reward: Option<[f32; 2]>,
    /// What happens to episodes that leave the data, if they are to stop there.
    pub floor: Option<Floor<'a>>,
}

/// Knows where the data is.
pub trait Support: std::fmt::Debug + Sync {
    /// Whether the data tells what follows, about which a model is so certain.
    fn holds(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
        epistemic_std: Option<ArrayView1<'_, f32>>,
    ) -> bool;
}

/// What is assumed where the data says nothing: the least that a step can earn.
#[derive(Debug, Clone, Copy)]
pub struct Floor<'a> {
    /// The least.
    pub least: f32,
    /// Steps off the data after which an episode has left it.
    pub patience: usize,
    /// Where the data is.
    pub support: &'a dyn Support,
}

impl Floor<'_> {
    /// Which rows are in a step that no data tells about, a next state beyond its limits included.
    fn off_the_data(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        beyond: &Array1<bool>,
        epistemic_std: Option<&Array2<f32>>,
    ) -> Array1<bool> {
        let is_off = |row: usize| {
            let std = epistemic_std.map(|stds| stds.row(row));
            beyond[row] || !self.support.holds(states.row(row), actions.row(row), std)
        };
        (0..beyond.len()).map(is_off).collect()
    }

    /// The least of this step and of all that are left, discounted from here on.
    fn rest(&self, task: &Task, time: usize) -> f32 {
        let weights = (time..task.horizon).scan(1.0, |weight, _| {
            let this = *weight;
            *weight *= f64::from(task.discount);
            Some(this)
        });
        (weights.sum::<f64>() * f64::from(self.least)) as f32
    }
}

/// Runs `policy` from the given starts `[episodes, d_s]`, shows every step to `on_step`, and
/// returns the return of each episode: the sum of the rewards of the steps taken, discounted as the
/// task says, the terminating step included.
pub fn run(
    transition: &mut dyn TransitionModel,
    task: &Task,
    limits: Limits<'_>,
    policy: &dyn Policy,
    starts: Array2<f32>,
    streams: &mut Streams,
    on_step: impl FnMut(&Step<'_>) -> Result<()>,
) -> Result<Array1<f64>> {
    let action_dim = transition.action_dim();
    let mut draws = RowStreams::new(&mut streams.policy, starts.nrows());
    let act = |turn: &Turn<'_>| {
        draws.select(turn.episodes);
        task::act(policy, turn.states, action_dim, &mut draws)
    };
    run_by(transition, task, limits, act, starts, streams, on_step)
}

/// The running episodes before somebody acts. Row `i` belongs to episode `episodes[i]`.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) time: usize,
    pub(crate) episodes: &'a [usize],
    /// `[rows, d_s]`
    pub(crate) states: ArrayView2<'a, f32>,
}

/// As [`run`], for actions that depend on more than the state.
pub(crate) fn run_by(
    transition: &mut dyn TransitionModel,
    task: &Task,
    limits: Limits<'_>,
    mut act: impl FnMut(&Turn<'_>) -> Result<Array2<f32>>,
    starts: Array2<f32>,
    streams: &mut Streams,
    mut on_step: impl FnMut(&Step<'_>) -> Result<()>,
) -> Result<Array1<f64>> {
    task.validate()?;
    let total = starts.nrows();
    let mut states = starts;
    let mut episodes: Vec<usize> = (0..total).collect();
    let mut returns = Array1::zeros(total);
    let mut steps_off = vec![0; total];
    let mut weight = 1.0;
    for time in 0..task.horizon {
        let actions = act(&Turn { time, episodes: &episodes, states: states.view() })?;
        let (s, a) = (states.view(), actions.view());
        let horizon = task.horizon;
        let at = Moment { time, horizon, total, episodes: &episodes, states: s, actions: a };
        let outcome = transition.step(&at, &mut streams.transition, &mut streams.choices)?;
        let mut next_states = outcome.next_states;
        let beyond = match limits.usual {
            Some(bounds) => bounds.beyond(&next_states),
            None => Array1::from_elem(episodes.len(), false),
        };
        if let Some(bounds) = limits.states {
            bounds.clamp(&mut next_states);
        }
        let transitions = Transitions { states: s, actions: a, next_states: next_states.view() };
        let mut rewards = match (&task.reward, outcome.rewards) {
            (Some(reward), _) => task::reward(&**reward, &transitions)?,
            (None, Some(learned)) => match limits.reward {
                Some([low, high]) => learned.mapv(|reward| reward.clamp(low, high)),
                None => learned,
            },
            (None, None) => return Err(crate::Error::NoReward),
        };
        let mut terminated = match &task.termination {
            Some(end) => task::terminated(&**end, &transitions)?,
            None => Array1::from_elem(episodes.len(), false),
        };
        let mut floored = Array1::from_elem(episodes.len(), false);
        if let Some(floor) = limits.floor {
            let off = floor.off_the_data(s, a, &beyond, outcome.epistemic_std.as_ref());
            for row in (0..episodes.len()).filter(|&row| off[row]) {
                steps_off[episodes[row]] += 1;
                if steps_off[episodes[row]] > floor.patience {
                    rewards[row] = floor.rest(task, time);
                    (floored[row], terminated[row]) = (true, true);
                }
            }
        }
        for (&episode, &reward) in episodes.iter().zip(&rewards) {
            returns[episode] += weight * f64::from(reward);
        }
        on_step(&Step {
            time,
            horizon,
            episodes: &episodes,
            states: &states,
            actions: &actions,
            choices: outcome.choices.as_ref(),
            epistemic_std: outcome.epistemic_std.as_ref(),
            rewards: &rewards,
            next_states: &next_states,
            beyond: &beyond,
            floored: &floored,
            terminated: &terminated,
            returns: returns.view(),
        })?;
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

/// The true dynamics of a built-in task.
struct Truth<'a>(&'a dyn Simulator);

impl TransitionModel for Truth<'_> {
    fn state_dim(&self) -> usize {
        self.0.state_dim()
    }

    fn action_dim(&self) -> usize {
        self.0.action_dim()
    }

    fn step(
        &mut self,
        at: &Moment<'_>,
        noise: &mut Stream,
        _choices: &mut Stream,
    ) -> Result<Outcome> {
        let next_states = self.0.next_states(at.states, at.actions, noise);
        Ok(Outcome { next_states, rewards: None, choices: None, epistemic_std: None })
    }
}

/// Runs `count` episodes of `policy` under the true dynamics; as [`run`] otherwise.
pub fn simulate(
    simulator: &dyn Simulator,
    task: &Task,
    policy: &dyn Policy,
    count: usize,
    streams: &mut Streams,
    on_step: impl FnMut(&Step<'_>) -> Result<()>,
) -> Result<Array1<f64>> {
    let starts = task.initial_states.draw(count, simulator.state_dim(), &mut streams.starts)?;
    run(&mut Truth(simulator), task, Limits::default(), policy, starts.states, streams, on_step)
}

/// Logs `count` episodes of `policy` under the true dynamics.
pub fn collect(
    simulator: &dyn Simulator,
    task: &Task,
    policy: &dyn Policy,
    count: usize,
    streams: &mut Streams,
) -> Result<Dataset> {
    let mut logs: Vec<Log> = vec![Log::default(); count];
    simulate(simulator, task, policy, count, streams, |step| {
        for (row, &episode) in step.episodes.iter().enumerate() {
            let log = &mut logs[episode];
            log.states.extend(step.states.row(row));
            log.actions.extend(step.actions.row(row));
            log.rewards.push(step.rewards[row]);
            log.next_states.extend(step.next_states.row(row));
            log.terminated = step.terminated[row];
        }
        Ok(())
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
