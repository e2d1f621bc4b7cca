//! What a step off the data costs a policy that learns.

use ndarray::Array1;

use super::referee::Referee;
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::game::Game;
use crate::rollout::Step;

/// Factor by which the toll rises while a certificate would abstain, and falls while it would not.
const RISE: f64 = 2.0;

/// The multiplier of one condition, that a certificate would not abstain. It is zero until a policy leaves the data;
/// the first toll makes a step there as bad as the worst that was logged.
pub(super) struct Toll<'a> {
    referee: Referee<'a>,
    /// What the worst logged step earns less than the mean one.
    unit: f64,
    /// In these units.
    height: f64,
}

impl<'a> Toll<'a> {
    pub(super) fn new(referee: Referee<'a>, game: &Game<'_>) -> Result<Self> {
        let rewards = game.task.rewards_of(&referee.model.logged.transitions)?;
        let least = rewards.iter().copied().fold(f32::INFINITY, f32::min);
        let unit = rewards.mean().map_or(0.0, |mean| f64::from(mean - least));
        Ok(Self { referee, unit, height: 0.0 })
    }

    /// A policy was judged, and a certificate would abstain, or not.
    pub(super) fn judged(&mut self, is_doubtful: bool) {
        self.height = match is_doubtful {
            true => (self.height * RISE).max(1.0),
            false if self.height <= 1.0 => 0.0,
            false => self.height / RISE,
        };
    }

    /// The rewards of a step, less the toll; none if there is no toll.
    pub(super) fn rewards(&self, game: &Game<'_>, step: &Step<'_>) -> Result<Option<Array1<f32>>> {
        if self.height == 0.0 {
            return Ok(None);
        }
        let toll = (self.height * self.unit) as f32;
        let off = self.referee.off_the_data(game, step)?;
        let pairs = step.rewards.iter().zip(off);
        Ok(Some(pairs.map(|(&reward, off)| if off { reward - toll } else { reward }).collect()))
    }
}

impl Interruptible for Toll<'_> {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        with.value("height", &mut self.height)
    }
}
