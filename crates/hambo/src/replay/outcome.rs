//! What logged episodes say of a model's worlds.

use serde::{Deserialize, Serialize};

use super::claims::Backtest;
use super::demand::Demand;
use super::replayed::{Replayed, ReplayedGroup};
use crate::bound::Estimate;

/// What logged episodes say of a model's worlds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Factor on the errors that worlds draw as noise, λ.
    pub noise: f32,
    /// The factor that the worlds' disagreement needs so that no group of episodes is overestimated, ρ.
    pub factor: f64,
    /// What is taken off for groups on which all worlds practically agree.
    pub offset: f64,
    /// Largest standard error of a group's bias, over the whole horizon: what episodes so few cannot tell.
    pub unresolved: f64,
    /// Steps that were replayed on average, as a share of the horizon.
    pub covered: f64,
    /// The group that needs the most.
    pub worst: String,
    /// What every tried factor on the noise led to.
    pub tried: Vec<Replayed>,
    /// What differences between groups demand of a limit on differences; none with fewer than two groups.
    #[serde(default)]
    pub of_differences: Option<Demand>,
    /// What the logs earned over the horizon; none if they are shorter.
    #[serde(default)]
    pub earned: Option<Estimate>,
    /// What would have been claimed about every group, had the others been the logs. Results of earlier versions
    /// have none.
    #[serde(default)]
    pub backtest: Backtest,
}

impl Replay {
    /// The groups at the noise that was chosen.
    pub fn groups(&self) -> &[ReplayedGroup] {
        let chosen = self.tried.iter().find(|tried| tried.noise == self.noise);
        chosen.map_or(&[], |tried| &tried.groups)
    }

    /// Episodes that it rests on.
    pub fn episodes(&self) -> usize {
        self.groups().iter().filter(|group| !group.is_later).map(|group| group.episodes).sum()
    }

    /// What so many times as many episodes with the same biases would demand.
    pub(crate) fn with_more(&self, times: usize, members: usize, delta: f64) -> Self {
        let searched = if self.noise == self.tried[0].noise { 1 } else { self.tried.len() };
        let delta = delta / (self.groups().len() * searched) as f64;
        let more = |group: &ReplayedGroup| {
            let std_error = group.std_error / (times as f64).sqrt();
            let group =
                ReplayedGroup { std_error, episodes: group.episodes * times, ..group.clone() };
            ReplayedGroup { largest_bias: group.largest_bias_at(delta), ..group }
        };
        let groups: Vec<ReplayedGroup> = self.groups().iter().map(more).collect();
        let demand = Demand::of(&groups.iter().collect::<Vec<_>>(), members);
        let mut found = self.clone();
        let is_chosen = |tried: &&mut Replayed| tried.noise == self.noise;
        if let Some(chosen) = found.tried.iter_mut().find(is_chosen) {
            chosen.groups = groups;
        }
        Self {
            factor: demand.factor,
            offset: demand.offset / self.covered,
            unresolved: demand.unresolved / self.covered,
            ..found
        }
    }
}
