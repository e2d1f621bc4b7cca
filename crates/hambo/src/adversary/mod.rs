//! Adversaries that learn to hurt: rounds of hallucinated rollouts and gradient steps.
//!
//! A half-trained adversary is worse than none, because its return looks like a bound and is not
//! one. So every round's adversary is tried on the *same* starts and noise as all others, what
//! counts is the paired difference, training goes on until the last rounds no longer improve beyond
//! its error, and the best adversary seen is kept. If that does not happen in time, the result says
//! so.

mod dqn;
mod learner;
mod plateau;
mod sac;
mod settings;
mod trained;
mod training;

pub use dqn::Dqn;
pub(crate) use learner::Learner;
pub use sac::Sac;
pub use settings::AdversarySettings;
pub use trained::{Round, Trained};
pub(crate) use training::{Survey, inputs_of_step};

use crate::error::Result;
use crate::game::Game;
use crate::hallucination::{Choice, Still};
use crate::progress::Observer;
use crate::rng::Seed;
use training::train;

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
    train(game, &[Choice::Shift(&Still)], game.dynamics.next_dim(), settings, seed, observer)
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
