//! Adversaries that learn to hurt: rounds of hallucinated rollouts and gradient steps.
//!
//! A half-trained adversary is worse than none, because its return looks like a bound and is not
//! one. So every round's adversary is tried on the *same* starts and noise as all others, what
//! counts is the paired difference, training goes on until the last rounds no longer improve beyond
//! its error, and the best adversary seen is kept. If that does not happen in time, the result says
//! so.

mod dqn;
mod replay;
mod sac;
mod training;

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use dqn::Dqn;
pub use sac::Sac;

use crate::bound::Estimate;
use crate::dataset::Standardizer;
use crate::dynamics::Dynamics;
use crate::error::{Error, Result};
use crate::hallucination::{Choice, Hallucination};
use crate::progress::Observer;
use crate::rng::{Seed, Stream};
use crate::rollout::{self, Step, Streams};
use crate::task::{Policy, Starts, StateBounds, Task};
use replay::ReplayBatch;
use training::train;

/// How an adversary is trained. Defaults are the paper's where it has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AdversarySettings {
    /// Widths of the hidden layers of actor and critics.
    pub hidden: Vec<usize>,
    /// Adam's step for actor and critics.
    pub learning_rate: f64,
    /// Adam's step for the entropy coefficient (SAC).
    pub entropy_learning_rate: f64,
    /// Entropy coefficient at the start, in units of the reward's standard deviation (SAC). The
    /// paper is silent; at its learning rate the coefficient hardly moves within twenty rounds, so
    /// it must start small enough not to drown the reward.
    pub entropy_coef: f64,
    /// Discount inside the critics; the bound itself uses the task's.
    pub discount: f32,
    /// Share of the way that target critics go towards the critics in every step.
    pub target_rate: f64,
    /// Rows per gradient step.
    pub batch_size: usize,
    /// Episodes per round, for learning and again for judging.
    pub episodes: usize,
    /// Gradient steps per round.
    pub gradient_steps: usize,
    /// Steps remembered.
    pub replay_capacity: usize,
    /// Least share of exploration while learning, after early rounds that explore more: of the
    /// episodes that keep one random choice throughout (1/2, 1/4, 1/6, ...), and in the others of
    /// DQN's random choices (1, 1/2, 1/3, ...).
    pub exploration: f64,
    /// Most rounds.
    pub max_rounds: usize,
    /// Rounds without improvement after which training has converged.
    pub patience: usize,
    /// What counts as improvement: more than its own standard error, and more than this share of
    /// what the adversary costs already.
    pub tolerance: f64,
    /// Most restarts, each with a third of the learning rate, after training diverged.
    pub max_restarts: usize,
}

impl Default for AdversarySettings {
    fn default() -> Self {
        Self {
            hidden: vec![256; 2],
            learning_rate: 1e-3,
            entropy_learning_rate: 5e-5,
            entropy_coef: 0.01,
            discount: 0.99,
            target_rate: 5e-3,
            batch_size: 1024,
            episodes: 1000,
            gradient_steps: 1000,
            replay_capacity: 1_000_000,
            exploration: 0.1,
            max_rounds: 30,
            patience: 4,
            tolerance: 0.01,
            max_restarts: 2,
        }
    }
}

/// What an adversary plays in: a model, its confidence box, a policy and a task.
#[derive(Clone, Copy)]
pub struct Game<'a> {
    pub dynamics: &'a dyn Dynamics,
    /// β τ_j per output.
    pub radius: &'a Array1<f32>,
    /// Whether aleatoric noise is drawn.
    pub noise: bool,
    pub task: &'a Task,
    pub bounds: Option<&'a StateBounds>,
    pub policy: &'a dyn Policy,
}

impl std::fmt::Debug for Game<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Game")
            .field("radius", self.radius)
            .field("noise", &self.noise)
            .field("task", self.task)
            .finish_non_exhaustive()
    }
}

impl Game<'_> {
    /// Plays `episodes` episodes with `choice` in control.
    pub fn play(
        &self,
        choice: Choice<'_>,
        episodes: usize,
        streams: &mut Streams,
        on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Played> {
        self.play_from(self.starts(episodes, streams)?, choice, streams, on_step)
    }

    /// Where `episodes` episodes start.
    pub(crate) fn starts(&self, episodes: usize, streams: &mut Streams) -> Result<Starts> {
        let d_s = self.dynamics.state_dim();
        self.task.initial_states.draw(episodes, d_s, &mut streams.starts)
    }

    /// Plays one episode from each of the starts.
    pub(crate) fn play_from(
        &self,
        starts: Starts,
        choice: Choice<'_>,
        streams: &mut Streams,
        on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Played> {
        let mut transition =
            Hallucination::new(self.dynamics, choice, self.radius.clone(), self.noise)?;
        let returns = rollout::run(
            &mut transition,
            self.task,
            self.bounds,
            self.policy,
            starts.states,
            streams,
            on_step,
        )?;
        Ok(Played { returns: returns.to_vec(), observed: starts.observed })
    }
}

/// Returns of episodes.
#[derive(Debug, Clone)]
pub struct Played {
    pub returns: Vec<f64>,
    /// Which observed initial state each episode came from, if they are a finite sample.
    pub observed: Option<Vec<usize>>,
}

impl Played {
    /// Their mean, with an error that counts episodes from one observed start as one observation.
    pub fn estimate(&self) -> Estimate {
        match &self.observed {
            Some(observed) => Estimate::clustered(&self.returns, observed),
            None => Estimate::of(&self.returns),
        }
    }
}

/// What an adversary looks at: state, action, and the share of the horizon that is left.
///
/// Departure: the paper's adversary is a function of (s, a) alone. Over a finite horizon the worst
/// choice depends on the time left, and critics that cannot see it confuse a state that is reached
/// late with one from which little follows; see NOTATION.md for what was measured. Knowing the time
/// makes the adversary stronger, so the bound stays one.
fn inputs(
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    time: usize,
    horizon: usize,
) -> Array2<f32> {
    let left = (horizon - time) as f32 / horizon as f32;
    let left = Array2::from_elem((states.nrows(), 1), left);
    concatenate(Axis(1), &[states, actions, left.view()]).expect("one action per state")
}

/// Units in which an adversary sees its game.
#[derive(Debug, Clone)]
pub(super) struct Scales {
    inputs: Standardizer,
    /// Factor that gives rewards unit variance.
    reward: f32,
}

/// A learning adversary.
trait Learner: Sized {
    fn new(scales: Scales, choices: usize, settings: &AdversarySettings, rng: &mut Stream) -> Self;

    /// The same adversary without exploration.
    fn greedy(&self) -> Self;

    /// The same adversary as it explores in a round of that many episodes.
    fn exploring(&self, round: usize, episodes: usize, rng: &mut Stream) -> Self;

    fn choice(&self) -> Choice<'_>;

    fn learn(&mut self, batch: &ReplayBatch, rng: &mut Stream);

    /// Whether all parameters are still numbers.
    fn is_finite(&self) -> bool;
}

/// Which of a round's exploring episodes keep one random choice from start to end, and which.
///
/// Choices that change at random in every step cancel each other: what only a steady push reaches,
/// such an explorer never sees, and the adversary converges to something harmless.
fn held<C>(
    settings: &AdversarySettings,
    round: usize,
    episodes: usize,
    rng: &mut Stream,
    choose: impl Fn(&mut Stream) -> C,
) -> Vec<Option<C>> {
    let share = settings.exploration.max(0.5 / (round + 1) as f64);
    (0..episodes).map(|_| rng.random_bool(share).then(|| choose(rng))).collect()
}

/// One round of training, judged on common random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Return that the round's adversary left to the policy.
    pub attained: Estimate,
    /// The same minus the neutral return, pair by pair: what the adversary costs.
    pub effect: Estimate,
}

/// A trained adversary, with the evidence that it is one.
#[derive(Debug, Clone)]
pub struct Trained<A> {
    /// The best adversary seen, acting without exploration.
    pub adversary: A,
    /// Return under the neutral model, on the numbers that rounds are judged on.
    pub neutral: Estimate,
    pub rounds: Vec<Round>,
    /// The most harmful of the choices that need no training; 0 is the neutral one.
    simple: usize,
    /// The round whose adversary was kept; `None` if none was more harmful than the simple choices.
    pub best_round: Option<usize>,
    /// Whether the last rounds no longer improved beyond error.
    pub converged: bool,
    /// Times that training diverged and began again.
    pub restarts: usize,
}

impl Trained<Sac> {
    /// Who decides about the next state: the adversary, or nobody if no round did harm. A shift of
    /// zero lies in the box as well, and an adversary that helps the policy bounds nothing.
    pub fn choice(&self) -> Choice<'_> {
        match self.best_round {
            Some(_) => Choice::Shift(&self.adversary),
            None => Choice::Shift(&Still),
        }
    }
}

impl Trained<Dqn> {
    /// Who decides about the next state: the adversary, or whatever simple choice does more harm,
    /// one and the same member or chance.
    pub fn choice(&self) -> Choice<'_> {
        match (self.best_round, self.simple.checked_sub(1)) {
            (Some(_), _) => Choice::MemberPerStep(&self.adversary),
            (None, Some(member)) => Choice::Member(member),
            (None, None) => Choice::RandomMemberPerStep,
        }
    }
}

/// Trains the continuous adversary (`alg:hambo_ca`).
pub fn train_sac(
    game: &Game<'_>,
    settings: &AdversarySettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Trained<Sac>> {
    train(game, &[Choice::Shift(&Still)], game.dynamics.state_dim(), settings, seed, observer)
}

/// Trains the adversary that picks a member in every step (`alg:hambo_da-1`).
pub fn train_dqn(
    game: &Game<'_>,
    settings: &AdversarySettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Trained<Dqn>> {
    let members = game.dynamics.members();
    let committed = (0..members).map(Choice::Member);
    let simple: Vec<_> = [Choice::RandomMemberPerStep].into_iter().chain(committed).collect();
    train(game, &simple, members, settings, seed, observer)
}

/// No shift at all: CA's neutral counterpart.
pub(crate) struct Still;

impl crate::hallucination::ShiftAdversary for Still {
    fn shift(&self, at: &rollout::Moment<'_>, _rng: &mut Stream) -> Result<Array2<f32>> {
        Ok(Array2::zeros(at.states.raw_dim()))
    }
}

impl AdversarySettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        let counts = [
            ("hidden", self.hidden.iter().copied().min().unwrap_or(0)),
            ("batch_size", self.batch_size),
            ("episodes", self.episodes),
            ("gradient_steps", self.gradient_steps),
            ("replay_capacity", self.replay_capacity),
            ("max_rounds", self.max_rounds),
            ("patience", self.patience),
        ];
        for (name, value) in counts {
            if value == 0 {
                let value = value.to_string();
                return Err(Error::Setting { name, value, expected: "at least one" });
            }
        }
        let ranges = [
            ("learning_rate", self.learning_rate, 0.0, f64::MAX),
            ("entropy_learning_rate", self.entropy_learning_rate, 0.0, f64::MAX),
            ("entropy_coef", self.entropy_coef, 0.0, f64::MAX),
            ("discount", f64::from(self.discount), 0.0, 1.0),
            ("target_rate", self.target_rate, 0.0, 1.0),
            ("exploration", self.exploration, 0.0, 1.0),
            ("tolerance", self.tolerance, 0.0, 1.0),
        ];
        for (name, value, low, high) in ranges {
            if !(value > low && value <= high) {
                let (value, expected) =
                    (value.to_string(), "greater than zero, shares at most one");
                return Err(Error::Setting { name, value, expected });
            }
        }
        Ok(())
    }
}
