//! Rounds of episodes and gradient steps, judged by the certificate's criterion.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};

use super::clone::copy;
use super::policy::{ActionLimits, LearnedPolicy};
use super::settings::LearnSettings;
use crate::actor_critic::{ActorCritic, Experience, Rates, column};
use crate::bound::{Estimate, students_quantile};
use crate::dataset::{EpisodeMarks, Standardizer};
use crate::error::{Error, Result};
use crate::experience::{Recorder, Replay, ReplayBatch};
use crate::game::Game;
use crate::hallucination::Choice;
use crate::nn::Device;
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;
use crate::rollout::{Step, Streams};

/// Gradient steps between two looks at the observer, who may want to stop.
const STEPS_PER_REPORT: usize = 10;

/// Share of the learning rate that is left in the last round.
const LEAST_RATE: f64 = 0.1;

/// Share of the way that the weights of worlds go in every round towards what the criterion asks for. All the
/// way, the policy would be drawn from one world's best answer to the other's.
const HURRY: f64 = 0.2;

/// Where a policy is learned.
#[derive(Debug)]
pub struct Arena<'a> {
    /// Worlds, noise and task; its policy does not matter.
    pub game: Game<'a>,
    /// What the policy may do.
    pub limits: ActionLimits,
    /// States and actions to begin with, `[rows, d_s]` and `[rows, d_a]`; without rows nothing is copied.
    pub logged: (Array2<f32>, Array2<f32>),
    /// The units of states.
    pub states: Standardizer,
    /// What the worlds were fitted on.
    pub learned_from: EpisodeMarks,
    /// How often the criterion may fail.
    pub delta: f64,
    /// Factor on the worlds' disagreement, if logs demand more than Student's.
    pub factor: f64,
}

/// How good the policy was after a round.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnRound {
    /// Its mean return in every world.
    pub worlds: Vec<f64>,
    /// Over worlds and starts.
    pub mean: Estimate,
    /// The criterion: what the worlds promise at least.
    pub bound: f64,
}

/// What was learned.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The best policy.
    pub policy: LearnedPolicy,
    /// The criterion over the rounds; the first is that of the policy it began with.
    pub rounds: Vec<LearnRound>,
    /// The round whose policy was kept.
    pub best_round: usize,
}

/// Learns a policy whose limit over the worlds is as high as possible.
pub fn train(
    arena: &Arena<'_>,
    settings: &LearnSettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Learned> {
    settings.validate()?;
    let members = arena.game.dynamics.members();
    if members < 2 {
        return Err(Error::NoMembers { variant: "learning".into(), members });
    }
    let rng = &mut seed.stream("learn: networks");
    let (d_s, d_a) = (arena.game.dynamics.state_dim(), arena.limits.low.len());
    let learner = ActorCritic::new(d_s, d_s + 1, d_a, &settings.hidden, settings.entropy_coef, rng);
    let mut actor = learner.actor().clone();
    let (states, actions) = &arena.logged;
    if states.nrows() > 0 {
        let rng = &mut seed.stream("learn: copying");
        let states = arena.states.apply(states.view());
        copy(&mut actor, &states, actions, &arena.limits, settings.clone_steps, rng);
    }
    Training { arena, settings, seed, observer }.run(learner.with_actor(actor))
}

struct Training<'a> {
    arena: &'a Arena<'a>,
    settings: &'a LearnSettings,
    seed: Seed,
    observer: &'a dyn Observer,
}

impl Training<'_> {
    fn run(&self, mut learner: ActorCritic) -> Result<Learned> {
        let Self { arena, settings, .. } = *self;
        let width = arena.game.dynamics.state_dim() + 1;
        let mut replay = Replay::new(settings.replay_capacity, width, arena.limits.low.len());
        let rng = &mut self.seed.stream("learn: mini-batches");
        let mut learned = Learned {
            policy: self.policy(&learner, false),
            rounds: vec![self.judged(&learner, &[])?],
            best_round: 0,
        };
        let mut reward_scale = None;
        let mut weights = Array1::from_elem(arena.game.dynamics.members(), 1.0);
        weights /= weights.sum();
        for round in 1..=settings.max_rounds {
            let last = &learned.rounds[learned.rounds.len() - 1];
            weights += &((derivative(&last.worlds, self.factor()) - &weights) * HURRY);
            self.explore(&learner, &weights, round, &learned.rounds, &mut replay)?;
            let scale = *reward_scale.get_or_insert_with(|| replay.reward_scale());
            for step in 0..settings.gradient_steps {
                let batch = replay.sample(settings.batch_size, rng);
                learner.learn(&self.experience(&batch, scale), self.rates(round), rng);
                if step % STEPS_PER_REPORT == 0 {
                    self.report(&learned.rounds)?;
                }
            }
            if !learner.is_finite() {
                let (metric, value) = ("policy's parameters", f64::NAN);
                return Err(Error::Diverged { step: round, metric, value });
            }
            let found = self.judged(&learner, &learned.rounds)?;
            let is_better = found.bound > learned.rounds[learned.best_round].bound;
            learned.rounds.push(found);
            if is_better {
                learned.policy = self.policy(&learner, false);
                learned.best_round = round;
            }
            if round - learned.best_round >= settings.patience {
                break;
            }
        }
        Ok(learned)
    }

    fn policy(&self, learner: &ActorCritic, explores: bool) -> LearnedPolicy {
        let (states, limits) = (self.arena.states.clone(), self.arena.limits.clone());
        let learned_from = self.arena.learned_from.clone();
        LearnedPolicy { actor: learner.actor().clone(), states, limits, explores, learned_from }
    }

    /// On the worlds' disagreement.
    fn factor(&self) -> f64 {
        let members = self.arena.game.dynamics.members();
        let student = students_quantile(members, self.arena.delta);
        student.max(self.arena.factor) * (1.0 + 1.0 / members as f64).sqrt()
    }

    /// They fall to a tenth along the rounds. Critics who have seen nothing yet would spoil a policy that was
    /// copied, so it rests in the first.
    fn rates(&self, round: usize) -> Rates {
        let settings = self.settings;
        let of_policy = |rate: f64| if round == 1 { 0.0 } else { rate };
        let learning =
            settings.learning_rate * LEAST_RATE.powf(round as f64 / settings.max_rounds as f64);
        Rates {
            critics: learning,
            actor: of_policy(learning),
            entropy: of_policy(settings.entropy_learning_rate),
            target: settings.target_rate,
            discount: f64::from(self.arena.game.task.discount.min(settings.discount)),
        }
    }

    /// In all worlds, on the numbers that everything is judged on.
    fn judged(&self, learner: &ActorCritic, so_far: &[LearnRound]) -> Result<LearnRound> {
        let policy = self.policy(learner, false);
        let game = Game { policy: &policy, ..self.arena.game };
        let judge = Streams::new(self.seed, "learn: judging");
        let (mut worlds, mut returns) = (Vec::new(), Vec::new());
        for member in 0..game.dynamics.members() {
            let (choice, episodes) = (Choice::Member(member), self.settings.judged_episodes);
            let watch = |_: &Step<'_>| self.report(so_far);
            let played = game.play(choice, episodes, &mut judge.clone(), watch)?.returns;
            worlds.push(Estimate::of(&played).mean);
            returns.push(played);
        }
        let mean_of = |episode: usize| {
            returns.iter().map(|played| played[episode]).sum::<f64>() / returns.len() as f64
        };
        let mean = Estimate::of(&(0..returns[0].len()).map(mean_of).collect::<Vec<_>>());
        let spread = Estimate::of(&worlds).std_error * (worlds.len() as f64).sqrt();
        let bound = mean.mean - self.factor() * spread;
        Ok(LearnRound { worlds, mean, bound })
    }

    /// Plays in worlds by their weights, and remembers what happened.
    fn explore(
        &self,
        learner: &ActorCritic,
        weights: &Array1<f64>,
        round: usize,
        so_far: &[LearnRound],
        replay: &mut Replay,
    ) -> Result<()> {
        let policy = self.policy(learner, true);
        let game = Game { policy: &policy, ..self.arena.game };
        for (member, episodes) in shares(weights, self.settings.episodes).into_iter().enumerate() {
            if episodes == 0 {
                continue;
            }
            let name = format!("learn: round {round}, world {member}");
            let mut recorder = Recorder::default();
            let mut streams = Streams::new(self.seed, &name);
            game.play(Choice::Member(member), episodes, &mut streams, |step| {
                self.report(so_far)?;
                let inputs = known(step.states.view(), step.time, step.horizon);
                recorder.add(step, inputs, self.arena.limits.choices(step.actions), replay);
                Ok(())
            })?;
            recorder.finish(replay);
        }
        Ok(())
    }

    fn experience(&self, batch: &ReplayBatch, reward_scale: f32) -> Experience {
        let [(seen, known), (next_seen, next_known)] =
            [&batch.inputs, &batch.next_inputs].map(|inputs| {
                let columns = inputs.ncols() - 1;
                let states = self.arena.states.apply(inputs.slice(s![.., ..columns]));
                let left = inputs.slice(s![.., columns..]);
                let known = concatenate(Axis(1), &[states.view(), left]).expect("as many rows");
                (Device::Cpu.tensor(states.view()), Device::Cpu.tensor(known.view()))
            });
        Experience {
            seen,
            known,
            choices: Device::Cpu.tensor(batch.choices.view()),
            rewards: column(&(&batch.rewards * reward_scale)),
            next_seen,
            next_known,
            goes_on: column(&batch.goes_on),
        }
    }

    fn report(&self, so_far: &[LearnRound]) -> Result<()> {
        let metric = so_far.last().map(|round| ("bound in the worlds", round.bound));
        let (step, of) = (so_far.len(), self.settings.max_rounds);
        report(self.observer, &Event { stage: "learn", step, of, metric })
    }
}

/// What critics look at: the state, and the share of the horizon that is left.
fn known(states: ArrayView2<'_, f32>, time: usize, horizon: usize) -> Array2<f32> {
    let left = (horizon - time) as f32 / horizon as f32;
    let left = Array2::from_elem((states.nrows(), 1), left);
    concatenate(Axis(1), &[states, left.view()]).expect("as many rows")
}

/// How much each world counts: the derivative of the criterion by its return, not below zero, as a share.
fn derivative(worlds: &[f64], factor: f64) -> Array1<f64> {
    let (count, of) = (worlds.len() as f64, Estimate::of(worlds));
    let spread = of.std_error * count.sqrt();
    let pull = |value: f64| match spread > 0.0 {
        true => factor * (value - of.mean) / ((count - 1.0) * spread),
        false => 0.0,
    };
    let weights: Array1<f64> =
        worlds.iter().map(|&value| (1.0 / count - pull(value)).max(0.0)).collect();
    let total = weights.sum();
    weights / total
}

/// Whole episodes in proportion to weights, as many as are wanted.
fn shares(weights: &Array1<f64>, episodes: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let mut given = 0;
    let share = |weight: &f64| {
        sum += weight;
        let until = (sum * episodes as f64).round() as usize;
        let mine = until.saturating_sub(given);
        given = until.max(given);
        mine
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn weights_are_the_derivative_of_the_criterion() {
        let (worlds, factor) = ([3.0, 4.0, 5.5, 6.0], 0.6);
        let criterion = |worlds: &[f64]| {
            let of = Estimate::of(worlds);
            of.mean - factor * of.std_error * (worlds.len() as f64).sqrt()
        };
        let found = derivative(&worlds, factor);
        let h = 1e-6;
        for index in 0..worlds.len() {
            let moved = |by: f64| {
                let mut moved = worlds;
                moved[index] += by;
                criterion(&moved)
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            // All are above zero here, and sum to one.
            assert!((found[index] - slope).abs() < 1e-8, "{} instead of {slope}", found[index]);
        }
    }

    #[test]
    fn worlds_that_promise_too_much_do_not_count() {
        assert_eq!(derivative(&[0.0, 10.0, 10.0], 5.0), array![1.0, 0.0, 0.0]);
        assert_eq!(derivative(&[2.0, 2.0], 5.0), array![0.5, 0.5]);
    }

    #[test]
    fn shares_are_as_many_as_wanted() {
        assert_eq!(shares(&array![0.5, 0.3, 0.2], 10), [5, 3, 2]);
        assert_eq!(shares(&Array1::from_elem(3, 1.0 / 3.0), 10).iter().sum::<usize>(), 10);
        assert_eq!(shares(&array![0.0, 1.0], 7), [0, 7]);
    }
}
