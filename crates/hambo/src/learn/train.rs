//! Rounds of episodes and gradient steps, judged by the certificate's criterion.

use ndarray::{Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::actions::ActionSpace;
use super::clone::copy;
use super::logged_steps::LoggedSteps;
use super::memory::{Memory, Pools};
use super::opponent::{Exploration, LearnAgainst, Opponent, Penalty, Rival, WeightedWorlds};
use super::policy::LearnedPolicy;
use super::referee::Referee;
use super::settings::LearnSettings;
use super::toll::Toll;
use crate::actor_critic::{ActorCritic, Experience, Leash, Rates, column};
use crate::adversary::{AdversarySettings, Dqn, Sac};
use crate::bound::{Estimate, students_quantile};
use crate::dataset::{Batch, EpisodeMarks, Standardizer};
use crate::error::{BoxError, Error, Result};
use crate::exchange::{Exchange, Interruptible, Keeper};
use crate::experience::ReplayBatch;
use crate::game::Game;
use crate::hallucination::{Choice, Still};
use crate::nn::Mlps;
use crate::progress::{Event, Observer, report};
use crate::rng::{Seed, Stream};
use crate::rollout::{Step, Streams};
use crate::task::{InitialStates, Task};
use crate::warning::Warning;

/// Gradient steps between two looks at the observer, who may want to stop.
const STEPS_PER_REPORT: usize = 10;

/// Share of the learning rate that is left in the last round.
const LEAST_RATE: f64 = 0.1;

/// What a nat of the leash costs at first, in units of the reward's standard deviation.
const LEASH_COEF: f64 = 1.0;

/// Adam's step for that.
const LEASH_RATE: f64 = 3e-3;

/// Factor by which the leash gets shorter after a round with doubts, and longer again after one without.
const LEASH_CHANGE: f64 = 2.0;

/// Where a policy is learned.
#[derive(Debug)]
pub struct Arena<'a> {
    /// Worlds, noise and task; its policy does not matter.
    pub game: Game<'a>,
    /// What the policy may do.
    pub actions: ActionSpace,
    /// What was done; without rows nothing is copied.
    pub logged: Batch,
    /// The units of states.
    pub states: Standardizer,
    /// What the worlds were fitted on.
    pub learned_from: EpisodeMarks,
    /// How often the criterion may fail.
    pub delta: f64,
    /// Factor on the worlds' disagreement, if logs demand more than Student's.
    pub factor: f64,
    /// How adversaries learn, if the policy is learned against one.
    pub adversary: AdversarySettings,
    /// Who says which rounds do not count, if somebody does.
    pub referee: Option<Referee<'a>>,
}

/// How good the policy was after a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnRound {
    /// Its mean return in every world.
    pub worlds: Vec<f64>,
    /// Over worlds and starts.
    pub mean: Estimate,
    /// The criterion: the worlds' mean less their spread times the factor. It orders policies and is no lower bound:
    /// a certificate also counts the offset of the replay, and the error of the starts.
    pub bound: f64,
    /// What would speak against a certificate: such a round is not kept, unless it is the first, the copy, and none is
    /// without doubts.
    #[serde(default)]
    pub doubts: Vec<Warning>,
}

impl LearnRound {
    /// Whether its policy is to be kept in place of another one's. A doubtful round is none to prefer, whatever it
    /// promises: learning finds what all worlds get wrong, and that lies off the data.
    fn is_better_than(&self, other: &Self) -> bool {
        self.doubts.is_empty() && (!other.doubts.is_empty() || self.bound > other.bound)
    }
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
    let is_shorter = |steps: &usize| steps + 1 < arena.game.task.horizon;
    let branched = settings.branch.filter(is_shorter).map(|steps| Task {
        // One more, because what follows a step is known one step later.
        horizon: steps + 1,
        initial_states: InitialStates::Fixed(arena.logged.states.clone()),
        ..arena.game.task.clone()
    });
    let training = Training { arena, settings, seed, observer, branched };
    let learner = training.beginner();
    let first = training.judged(&learner, &[])?;
    // What the copy earns in every world depends on all that learning depends on, functions included.
    let about = format!("{settings:?} {:?} {} {first:?}", arena.adversary, seed.0);
    let keeper = Keeper::new("learn", &about, observer);
    let opponent = training.opponent(&learner)?;
    let mut course = Course {
        pools: training.pools(opponent.as_ref()),
        opponent,
        reward_scale: None,
        rng: seed.stream("learn: mini-batches"),
        rounds: vec![first],
        best_round: 0,
        best: learner.actor().clone(),
        learner,
    };
    keeper.go_on(&mut course)?;
    while course.rounds.len() <= settings.max_rounds
        && course.rounds.len() <= course.best_round + settings.patience
    {
        training.round(&mut course)?;
        keeper.keep(&mut course)?;
    }
    let learned_in_worlds = course.best_round > 0 && settings.against != LearnAgainst::Logs;
    let policy = LearnedPolicy { learned_in_worlds, ..training.policy(course.best, false) };
    Ok(Learned { policy, rounds: course.rounds, best_round: course.best_round })
}

/// How long the leash is after these rounds, at most as given: where the policy left the data, it is called back. If the
/// copy itself leaves the data, that says nothing about the leash.
fn leash_after(rounds: &[LearnRound], most: f64) -> f64 {
    let is_doubtful = |round: &LearnRound| !round.doubts.is_empty();
    if rounds.first().is_some_and(is_doubtful) {
        return most;
    }
    rounds.iter().fold(most, |length, round| match is_doubtful(round) {
        true => length / LEASH_CHANGE,
        false => most.min(length * LEASH_CHANGE),
    })
}

struct Training<'a> {
    arena: &'a Arena<'a>,
    settings: &'a LearnSettings,
    seed: Seed,
    observer: &'a dyn Observer,
    /// Short episodes from logged states, if those are what it learns from.
    branched: Option<Task>,
}

/// How far learning has come.
struct Course<'a> {
    learner: ActorCritic,
    opponent: Box<dyn Opponent + 'a>,
    pools: Pools,
    reward_scale: Option<f32>,
    rng: Stream,
    rounds: Vec<LearnRound>,
    best_round: usize,
    best: Mlps,
}

impl Interruptible for Course<'_> {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        with.part("policy", &mut self.learner)?;
        with.part("opponent", self.opponent.as_mut())?;
        with.part("pools", &mut self.pools)?;
        with.value("reward scale", &mut self.reward_scale)?;
        with.stream("mini-batches", &mut self.rng)?;
        with.value("rounds", &mut self.rounds)?;
        with.value("best round", &mut self.best_round)?;
        with.networks("best", &mut self.best)
    }
}

impl<'a> Training<'a> {
    /// A copy of what was done in the logs.
    fn beginner(&self) -> ActorCritic {
        let Self { arena, settings, seed, .. } = self;
        let rng = &mut seed.stream("learn: networks");
        let (d_s, head) = (arena.game.dynamics.state_dim(), arena.actions.head());
        let coef = if self.leashes() { LEASH_COEF } else { settings.entropy_coef };
        let device = arena.game.dynamics.device();
        let learner = ActorCritic::new(d_s, d_s + 1, head, &settings.hidden, coef, device, rng);
        let Batch { states, actions, .. } = &arena.logged;
        if states.nrows() == 0 {
            return learner;
        }
        let mut actor = learner.actor().clone();
        let rng = &mut seed.stream("learn: copying");
        let states = arena.states.apply(states.view());
        copy(&mut actor, &states, actions, &arena.actions, settings.clone_steps, rng);
        let learner = learner.with_actor(actor.clone());
        match self.leashes() {
            true => learner.on(Leash { to: actor, length: settings.leash }),
            false => learner,
        }
    }

    /// Critics who only ever see logged actions promise the most where nobody was, unless the policy stays near.
    fn leashes(&self) -> bool {
        self.settings.against == LearnAgainst::Logs
    }

    fn opponent(&self, learner: &ActorCritic) -> Result<Box<dyn Opponent + 'a>> {
        let Self { arena, settings, .. } = self;
        let (members, d_s) = (arena.game.dynamics.members(), arena.game.dynamics.state_dim());
        let policy = self.policy(learner.actor().clone(), true);
        let round = self.exploration(&policy, 0);
        let (adversary, watch) = (&arena.adversary, || self.report(&[]));
        Ok(match settings.against {
            LearnAgainst::Worlds => {
                let toll = arena.referee.map(|referee| Toll::new(referee, &arena.game));
                Box::new(WeightedWorlds::new(members, self.factor(), toll.transpose()?))
            }
            LearnAgainst::Logs => {
                Box::new(LoggedSteps::new(&arena.logged, &arena.actions, arena.game.task)?)
            }
            LearnAgainst::Mopo => Box::new(Penalty { weight: settings.penalty }),
            LearnAgainst::Ca => {
                let neutral = Choice::Shift(&Still);
                Box::new(Rival::<Sac>::new(&round, neutral, (d_s, d_s), adversary, &watch)?)
            }
            LearnAgainst::Da1 => {
                let neutral = Choice::RandomMemberPerStep;
                Box::new(Rival::<Dqn>::new(&round, neutral, (members, 1), adversary, &watch)?)
            }
        })
    }

    fn pools(&self, opponent: &(dyn Opponent + 'a)) -> Pools {
        let of_a_round = self.settings.episodes * self.arena.game.task.horizon;
        let recent = opponent.remembered_rounds().map_or(usize::MAX, |rounds| rounds * of_a_round);
        let capacity = self.settings.replay_capacity.min(recent);
        let inputs = self.arena.game.dynamics.state_dim() + 1;
        let choices = self.arena.actions.head().width();
        Pools::new(opponent.weights().len(), capacity, inputs, choices)
    }

    /// One round of episodes, gradient steps and judging.
    fn round(&self, course: &mut Course<'a>) -> Result<()> {
        let Self { settings, .. } = *self;
        let Course { learner, opponent, pools, rng, rounds, .. } = course;
        let round = rounds.len();
        let before = &rounds[round - 1];
        opponent.judged(&before.worlds, !before.doubts.is_empty());
        let policy = self.policy(learner.actor().clone(), true);
        let watch = || self.report(rounds);
        let branches = self.branched.is_some();
        let mut memory = Memory::new(pools, &self.arena.actions, branches, &watch);
        opponent.explore(&self.exploration(&policy, round), &mut memory)?;
        let scale = *course.reward_scale.get_or_insert_with(|| pools.reward_scale());
        let weights = opponent.weights();
        learner.set_leash(leash_after(rounds, settings.leash));
        for step in 0..settings.gradient_steps {
            opponent.learn(settings.batch_size, rng);
            let batch = pools.sample(&weights, settings.batch_size, rng);
            learner.learn(&self.experience(&batch, scale), self.rates(round), rng);
            if step % STEPS_PER_REPORT == 0 {
                self.report(rounds)?;
            }
        }
        if !learner.is_finite() || !opponent.is_finite() {
            let (metric, value) = ("policy's parameters", f64::NAN);
            return Err(Error::Diverged { step: round, metric, value });
        }
        let found = self.judged(learner, rounds)?;
        if found.is_better_than(&rounds[course.best_round]) {
            course.best = learner.actor().clone();
            course.best_round = round;
        }
        rounds.push(found);
        Ok(())
    }

    fn policy(&self, actor: Mlps, explores: bool) -> LearnedPolicy {
        let (states, actions) = (self.arena.states.clone(), self.arena.actions.clone());
        let learned_from = self.arena.learned_from.clone();
        let learned_in_worlds = false;
        LearnedPolicy { actor, states, actions, explores, learned_from, learned_in_worlds }
    }

    /// Where a policy plays to learn: whole episodes, or as many steps in short ones.
    fn exploration<'p>(&'p self, policy: &'p LearnedPolicy, round: usize) -> Exploration<'p> {
        let game = Game { policy, ..self.arena.game };
        let (episodes, seed) = (self.settings.episodes, self.seed);
        match &self.branched {
            None => Exploration { game, episodes, round, seed },
            Some(task) => {
                let episodes = (episodes * game.task.horizon).div_ceil(task.horizon);
                Exploration { game: Game { task, ..game }, episodes, round, seed }
            }
        }
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
        let of_entropy = if self.leashes() { LEASH_RATE } else { settings.entropy_learning_rate };
        Rates {
            critics: learning,
            actor: of_policy(learning),
            entropy: of_policy(of_entropy),
            target: settings.target_rate,
            discount: f64::from(self.arena.game.task.discount.min(settings.discount)),
        }
    }

    /// In all worlds, on the numbers that everything is judged on.
    fn judged(&self, learner: &ActorCritic, so_far: &[LearnRound]) -> Result<LearnRound> {
        let policy = self.policy(learner.actor().clone(), false);
        let game = Game { policy: &policy, ..self.arena.game };
        let judge = Streams::new(self.seed, "learn: judging");
        let (mut worlds, mut returns, mut went) = (Vec::new(), Vec::new(), Vec::new());
        for member in 0..game.dynamics.members() {
            let (choice, episodes) = (Choice::Member(member), self.settings.judged_episodes);
            let mut watcher = self.arena.referee.map(|referee| referee.watcher(&game, episodes));
            let watch = |step: &Step<'_>| {
                self.report(so_far)?;
                watcher.iter_mut().try_for_each(|watcher| watcher.watch(step))
            };
            let played = game.play(choice, episodes, &mut judge.clone(), watch)?.returns;
            went.extend(watcher.map(|watcher| watcher.whereabouts()));
            worlds.push(Estimate::of(&played).mean);
            returns.push(played);
        }
        let mean_of = |episode: usize| {
            returns.iter().map(|played| played[episode]).sum::<f64>() / returns.len() as f64
        };
        let mean = Estimate::of(&(0..returns[0].len()).map(mean_of).collect::<Vec<_>>());
        let spread = Estimate::of(&worlds).std_error * (worlds.len() as f64).sqrt();
        let bound = mean.mean - self.factor() * spread;
        let doubts = self.arena.referee.map(|referee| referee.doubts(&game, &went));
        Ok(LearnRound { worlds, mean, bound, doubts: doubts.unwrap_or_default() })
    }

    fn experience(&self, batch: &ReplayBatch, reward_scale: f32) -> Experience {
        let device = self.arena.game.dynamics.device();
        let [(seen, known), (next_seen, next_known)] =
            [&batch.inputs, &batch.next_inputs].map(|inputs| {
                let columns = inputs.ncols() - 1;
                let states = self.arena.states.apply(inputs.slice(s![.., ..columns]));
                let left = inputs.slice(s![.., columns..]);
                let known = concatenate(Axis(1), &[states.view(), left]).expect("as many rows");
                (device.tensor(states.view()), device.tensor(known.view()))
            });
        Experience {
            seen,
            known,
            choices: device.tensor(batch.choices.view()),
            rewards: column(device, &(&batch.rewards * reward_scale)),
            next_seen,
            next_known,
            goes_on: column(device, &batch.goes_on),
        }
    }

    fn report(&self, so_far: &[LearnRound]) -> Result<()> {
        let metric = so_far.last().map(|round| ("bound in the worlds", round.bound));
        let (step, of) = (so_far.len(), self.settings.max_rounds);
        report(self.observer, &Event { stage: "learn", step, of, metric })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leash(doubtful: &[bool]) -> f64 {
        let round = |&is_doubtful: &bool| LearnRound {
            worlds: Vec::new(),
            mean: Estimate::of(&[0.0, 0.0]),
            bound: 0.0,
            doubts: if is_doubtful { vec![Warning::LearnedKernel] } else { Vec::new() },
        };
        leash_after(&doubtful.iter().map(round).collect::<Vec<_>>(), 1.0)
    }

    #[test]
    fn the_leash_is_shorter_after_doubts_and_never_longer_than_was_asked_for() {
        assert_eq!(leash(&[false]), 1.0);
        assert_eq!(leash(&[false, false, false]), 1.0);
        assert_eq!(leash(&[false, true, true]), 0.25);
        assert_eq!(leash(&[false, true, true, false]), 0.5);
        assert_eq!(leash(&[false, true, false, false]), 1.0);
    }

    #[test]
    fn a_copy_with_doubts_of_its_own_says_nothing_about_the_leash() {
        assert_eq!(leash(&[true, true, true]), 1.0);
    }
}
