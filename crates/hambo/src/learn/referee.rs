//! Whether a certificate would abstain: what is learned must not only promise much, but stay where the logs were.

use crate::error::Result;
use crate::game::Game;
use crate::model::Model;
use crate::rollout::{Step, Support};
use crate::settings::EvaluationSettings;
use crate::support::DataSupport;
use crate::variant::Variant;
use crate::warning::Warning;
use crate::watcher::Watcher;
use crate::whereabouts::Whereabouts;

/// Looks on while a policy is judged, as a certificate does.
#[derive(Debug, Clone, Copy)]
pub struct Referee<'a> {
    pub(super) model: &'a Model,
    pub(super) support: &'a DataSupport<'a>,
    pub(super) settings: &'a EvaluationSettings,
}

impl<'a> Referee<'a> {
    /// Who watches one of the worlds while so many episodes are played in each. All members are asked about so few of
    /// them that it takes no longer than playing all.
    pub(super) fn watcher(&self, game: &Game<'_>, episodes: usize) -> Watcher<'a> {
        let asked = episodes.div_ceil(game.dynamics.members());
        Watcher::new(self.model, self.support, game.task.horizon, self.settings.delta, None)
            .asking(asked)
    }

    /// What would speak against a certificate, unless the user allows it.
    pub(super) fn doubts(&self, game: &Game<'_>, worlds: &[Whereabouts]) -> Vec<Warning> {
        let (names, settings) = (&self.model.data.names, self.settings);
        let about = ("return", Variant::Worlds);
        let found = Whereabouts::mean(worlds).warnings(about, game, names, &settings.thresholds);
        let counts = |warning: &Warning| warning.disqualifies() && !settings.allows(warning);
        found.into_iter().filter(counts).collect()
    }

    /// Which rows of a step are where the data does not tell what follows.
    pub(super) fn off_the_data(&self, game: &Game<'_>, step: &Step<'_>) -> Result<Vec<bool>> {
        let (states, actions) = (step.states.view(), step.actions.view());
        let stds = game.dynamics.predict(states, actions)?.epistemic_std;
        let rows = 0..step.episodes.len();
        let is_off = |row: usize| {
            let (state, action, std) = (states.row(row), actions.row(row), stds.row(row));
            step.beyond[row] || !self.support.holds(state, action, Some(std))
        };
        Ok(rows.map(is_off).collect())
    }
}
