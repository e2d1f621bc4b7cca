//! Who decides what happens while a policy learns.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::memory::Memory;
use super::toll::Toll;
use super::worlds::{derivative, shares};
use crate::adversary::{AdversarySettings, Learner, Survey, inputs_of_step};
use crate::dynamics::{Dynamics, largest_std};
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::experience::{Recorder, Replay};
use crate::game::Game;
use crate::hallucination::Choice;
use crate::rng::{Seed, Stream};
use crate::rollout::{Step, Streams};

/// Against whom a policy is learned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LearnAgainst {
    /// Nobody, and not in the worlds: from the logged steps alone, near what was done. The worlds only judge.
    #[default]
    Logs,
    /// All worlds, the more so the worse the policy does in them: the certificate's own criterion.
    Worlds,
    /// An adversary that learns to shift every next state within the confidence box, as in the paper.
    Ca,
    /// An adversary that learns to pick a member in every step, as in the paper.
    Da1,
    /// Nobody: a random member in every step, with the reward less a penalty on what members do not know (MOPO).
    Mopo,
}

/// Whoever decides what follows while a policy explores.
pub(super) trait Opponent: Interruptible {
    /// How much the pools of remembered steps count, one for every world or one for all.
    fn weights(&self) -> Array1<f64> {
        Array1::ones(1)
    }

    /// Rounds after which what happened is forgotten, if it ever is.
    fn remembered_rounds(&self) -> Option<usize> {
        None
    }

    /// Plays a round's episodes, and lets the policy remember them.
    fn explore(&mut self, round: &Exploration<'_>, memory: &mut Memory<'_>) -> Result<()>;

    /// What the policy earns in every world now, and whether a certificate would abstain.
    fn judged(&mut self, _worlds: &[f64], _is_doubtful: bool) {}

    /// One step of learning from so many rows, if it learns.
    fn learn(&mut self, _rows: usize, _rng: &mut Stream) {}

    /// Whether all its numbers are still numbers.
    fn is_finite(&self) -> bool {
        true
    }
}

/// A round of episodes to learn from.
pub(super) struct Exploration<'a> {
    pub game: Game<'a>,
    pub episodes: usize,
    pub round: usize,
    pub seed: Seed,
}

impl Exploration<'_> {
    fn streams(&self, name: &str) -> Streams {
        Streams::new(self.seed, &format!("learn: round {}, {name}", self.round))
    }
}

/// Share of the way that the weights of worlds go in every round towards what the criterion asks for. All the
/// way, the policy would be drawn from one world's best answer to the other's.
const HURRY: f64 = 0.2;

/// Worlds that count as much as the criterion's derivative says. All are played alike, so that each is known when it
/// counts. Steps off the data cost as much as it takes to keep the policy there, if somebody knows where that is.
pub(super) struct WeightedWorlds<'a> {
    weights: Array1<f64>,
    factor: f64,
    toll: Option<Toll<'a>>,
}

impl<'a> WeightedWorlds<'a> {
    /// Equal weights, for a criterion with a factor on the worlds' disagreement.
    pub(super) fn new(members: usize, factor: f64, toll: Option<Toll<'a>>) -> Self {
        Self { weights: equal(members), factor, toll }
    }

    /// Lets the policy remember a step, with the toll.
    fn teach(
        &self,
        game: &Game<'_>,
        world: usize,
        step: &Step<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        let reduced = self.toll.as_ref().map(|toll| toll.rewards(game, step)).transpose()?;
        match reduced.flatten() {
            Some(rewards) => {
                let returns = step.returns.view();
                memory.add(world, &Step { rewards: &rewards, returns, ..*step })
            }
            None => memory.add(world, step),
        }
    }
}

fn equal(members: usize) -> Array1<f64> {
    Array1::from_elem(members, 1.0 / members as f64)
}

impl Opponent for WeightedWorlds<'_> {
    fn weights(&self) -> Array1<f64> {
        self.weights.clone()
    }

    fn explore(&mut self, round: &Exploration<'_>, memory: &mut Memory<'_>) -> Result<()> {
        let of_worlds = shares(&equal(self.weights.len()), round.episodes);
        for (world, episodes) in of_worlds.into_iter().enumerate() {
            let (choice, streams) =
                (Choice::Member(world), &mut round.streams(&format!("world {world}")));
            // One at least: nothing can be drawn from an empty pool.
            round.game.play(choice, episodes.max(1), streams, |step| {
                self.teach(&round.game, world, step, memory)
            })?;
            memory.finish(world);
        }
        Ok(())
    }

    fn judged(&mut self, worlds: &[f64], is_doubtful: bool) {
        self.weights += &((derivative(worlds, self.factor) - &self.weights) * HURRY);
        self.toll.iter_mut().for_each(|toll| toll.judged(is_doubtful));
    }
}

impl Interruptible for WeightedWorlds<'_> {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        let mut weights = self.weights.to_vec();
        with.value("weights", &mut weights)?;
        self.weights = weights.into();
        self.toll.iter_mut().try_for_each(|toll| with.part("toll", toll))
    }
}

/// Rounds that a policy remembers of an adversary.
const RECENT: usize = 5;

/// An adversary that learns beside the policy.
pub(super) struct Rival<L> {
    learner: L,
    replay: Replay,
}

impl<L: Learner> Rival<L> {
    /// Untrained, with that many choices of so many columns, in the units of what a game's policy meets when nobody
    /// harms it.
    pub(super) fn new(
        round: &Exploration<'_>,
        neutral: Choice<'_>,
        (choices, columns): (usize, usize),
        settings: &AdversarySettings,
        watch: &dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        settings.validate()?;
        let (game, mut survey) = (&round.game, Survey::default());
        game.play(neutral, round.episodes, &mut round.streams("survey"), |step| {
            watch()?;
            survey.add(step)
        })?;
        let discount = game.task.discount.min(settings.discount);
        let scales = survey.scales(discount, game.dynamics.device());
        let width = game.dynamics.state_dim() + game.dynamics.action_dim() + 1;
        let rng = &mut round.seed.stream("learn: adversary");
        Ok(Self {
            learner: L::new(scales, choices, settings, rng),
            replay: Replay::new(settings.replay_capacity, width, columns),
        })
    }
}

impl<L: Learner> Rival<L> {
    /// Episodes with an adversary, who remembers them; so does the policy, if it is to learn from them.
    fn meet(
        &mut self,
        adversary: &L,
        round: &Exploration<'_>,
        memory: &mut Memory<'_>,
        teaches: bool,
    ) -> Result<()> {
        let mut recorder = Recorder::default();
        let streams = &mut round.streams(if teaches { "adversary" } else { "exploring adversary" });
        round.game.play(adversary.choice(), round.episodes, streams, |step| {
            let choices = step.choices.expect("an adversary was in control").clone();
            recorder.add(step, inputs_of_step(step), choices, &mut self.replay);
            if teaches { memory.add(0, step) } else { memory.watch() }
        })?;
        memory.end(recorder, &mut self.replay);
        memory.finish(0);
        Ok(())
    }
}

impl<L: Learner + Interruptible> Opponent for Rival<L> {
    /// What an adversary did that has learned since tells nothing.
    fn remembered_rounds(&self) -> Option<usize> {
        Some(RECENT)
    }

    /// First the adversary alone tries what it could do; then the policy meets it as it is.
    fn explore(&mut self, round: &Exploration<'_>, memory: &mut Memory<'_>) -> Result<()> {
        let rng = &mut round.seed.stream(&format!("learn: ways of the adversary {}", round.round));
        let exploring = self.learner.exploring(round.round - 1, round.episodes, rng);
        self.meet(&exploring, round, memory, false)?;
        let greedy = self.learner.greedy();
        self.meet(&greedy, round, memory, true)
    }

    fn learn(&mut self, rows: usize, rng: &mut Stream) {
        self.learner.learn(&self.replay.sample(rows, rng), rng);
    }

    fn is_finite(&self) -> bool {
        self.learner.is_finite()
    }
}

impl<L: Interruptible> Interruptible for Rival<L> {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        with.part("learner", &mut self.learner)?;
        with.part("replay", &mut self.replay)
    }
}

/// MOPO (Yu et al., 2020): r - w max_k ‖σ_k(s, a)‖, where a random member decides.
pub(super) struct Penalty {
    pub weight: f64,
}

impl Penalty {
    fn of(&self, dynamics: &dyn Dynamics, step: &Step<'_>) -> Result<Array1<f32>> {
        let largest = largest_std(dynamics, step.states.view(), step.actions.view())?;
        Ok(largest * self.weight as f32)
    }
}

impl Opponent for Penalty {
    fn explore(&mut self, round: &Exploration<'_>, memory: &mut Memory<'_>) -> Result<()> {
        let (choice, streams) = (Choice::RandomMemberPerStep, &mut round.streams("chance"));
        round.game.play(choice, round.episodes, streams, |step| {
            let rewards = step.rewards - &self.of(round.game.dynamics, step)?;
            memory.add(0, &Step { rewards: &rewards, returns: step.returns.view(), ..*step })
        })?;
        memory.finish(0);
        Ok(())
    }
}

impl Interruptible for Penalty {
    fn exchange(&mut self, _with: &mut Exchange<'_>) -> Result<(), BoxError> {
        Ok(())
    }
}
