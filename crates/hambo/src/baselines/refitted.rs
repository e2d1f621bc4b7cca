//! A plain bootstrap of models: worlds without random functions, and nothing replayed in them.

use ndarray::{Array1, Array2};

use super::{Asking, over_members};
use crate::dataset::Dataset;
use crate::dynamics::Dynamics;
use crate::dynamics::ensemble::{Bag, Ensemble, EnsembleSettings};
use crate::dynamics::table::Table;
use crate::error::Result;
use crate::game::Game;
use crate::hallucination::{Choice, Noise};
use crate::opinions::{Method, Opinion};
use crate::progress::{Event, report};
use crate::rollout::Streams;

impl Asking<'_> {
    /// The return in members that are fitted again on the same logs, each on its own draw of the episodes.
    pub(super) fn refitted(&self, ensemble: &EnsembleSettings) -> Result<Opinion> {
        let settings = EnsembleSettings {
            random_functions: 0.0,
            bootstrap: true,
            learn_reward: self.model.dynamics.predicts_reward(),
            ..ensemble.clone()
        };
        let data = self.logs.kept.to_dataset()?;
        let data = match &self.model.history {
            Some(history) => history.is_in(data),
            None => data,
        };
        let dynamics = self.fitted_again(&data, &settings)?;
        let streams = || Streams::new(self.seed, "baselines: rollouts");
        let game = self.ground.game(self.policy);
        let starts = game.starts(self.settings.episodes, &mut streams())?;
        let mut returns = Array2::zeros((dynamics.members(), self.settings.episodes));
        for member in 0..dynamics.members() {
            let game = Game { dynamics: &*dynamics, noise: Noise::Gaussian, ..game };
            let played =
                game.play_from(starts.clone(), Choice::Member(member), &mut streams(), |step| {
                    let (stage, of) = ("model bootstrap", step.horizon);
                    report(self.observer, &Event { stage, step: step.time, of, metric: None })
                })?;
            returns.row_mut(member).assign(&Array1::from(played.returns));
        }
        Ok(over_members(Method::ModelBootstrap, &returns, starts.observed, self.delta))
    }

    fn fitted_again(
        &self,
        data: &Dataset,
        settings: &EnsembleSettings,
    ) -> Result<Box<dyn Dynamics>> {
        let (all, seed) = (data.all(), self.seed.child("model bootstrap"));
        let bag = Bag::draw(&all, settings, seed)?;
        Ok(match self.model.dynamics.counted() {
            Some(_) => Box::new(Table::count(&all, &bag, settings.learn_reward)?.0),
            None => Box::new(Ensemble::fit_on(&all, &bag, settings, seed, self.observer)?.0),
        })
    }
}
