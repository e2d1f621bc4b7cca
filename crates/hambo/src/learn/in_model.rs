//! Learning in the worlds of a fitted model.

use super::actions::ActionSpace;
use super::referee::Referee;
use super::settings::LearnSettings;
use super::train::{Arena, Learned, train};
use crate::dataset::Standardizer;
use crate::error::{Error, Result};
use crate::game::Game;
use crate::ground::Ground;
use crate::hallucination::Noise;
use crate::model::Model;
use crate::progress::Observer;
use crate::replay::{Apart, Player};
use crate::rng::Seed;
use crate::settings::EvaluationSettings;
use crate::task::{Task, UniformPolicy};

impl Model {
    /// Learns a policy from the logs, beginning with a copy of what was done in them.
    ///
    /// Rounds are chosen by the limit over this model's worlds, with the noise and the factor that the replay of its
    /// logs demands. A round in which the policy leaves the data so far that a certificate would abstain does not
    /// count. To certify the policy, fit another model on episodes that this one has not seen; where the policy was
    /// learned in worlds, even their certificate can be wrong (docs/learn.md).
    pub fn learn(
        &self,
        task: &Task,
        settings: &LearnSettings,
        evaluation: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Learned> {
        if let Some(history) = &self.history {
            let (name, value) = ("history", history.steps.to_string());
            let expected = "0, because policies are learned for the present state";
            return Err(Error::Setting { name, value, expected });
        }
        let logged = &self.episodes.transitions;
        let actions = ActionSpace::of(&self.logged.actions, logged.actions.view())?;
        let ground = Ground::new(self, task, evaluation)?;
        // Nobody acts in a replay, and learning brings its own policy.
        let nobody = UniformPolicy { action_dim: actions.columns(), limit: 0.0 };
        let game = ground.game(&nobody);
        let delta = ground.region.monte_carlo_delta;
        let player = Player {
            game,
            episodes: &self.episodes,
            logged_actions: &self.logged.actions,
            apart: Apart::Order,
            errors: ground.errors.as_ref(),
            delta,
            seed: seed.child("learn: replay"),
            observer,
        };
        let replay = player.replay()?.map(|(replay, _)| replay);
        let scale = replay.as_ref().map_or(1.0, |replay| replay.noise);
        let noise = match (game.noise, &ground.errors) {
            (Noise::None, _) => Noise::None,
            (_, Some(errors)) => Noise::Borrowed { errors, scale },
            (own, None) => own,
        };
        let columns = logged.states.ncols();
        let arena = Arena {
            game: Game { noise, ..game },
            actions,
            states: Standardizer::fit(columns, std::iter::once(logged.states.clone())),
            logged: logged.clone(),
            learned_from: self.episodes.all.clone(),
            delta,
            factor: replay.map_or(0.0, |replay| replay.factor),
            adversary: evaluation.adversary.clone(),
            referee: Some(Referee { model: self, support: &ground.support, settings: evaluation }),
        };
        train(&arena, settings, seed, observer)
    }
}
