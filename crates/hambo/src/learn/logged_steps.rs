//! What was logged, as a teacher.

use ndarray::Array1;

use super::actions::ActionSpace;
use super::memory::{Memory, known};
use super::opponent::{Exploration, Opponent};
use crate::dataset::Batch;
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::experience::ReplayBatch;
use crate::task::{self, Task};

/// Nobody decides: what is learned from is what happened.
pub(super) struct LoggedSteps(ReplayBatch);

impl LoggedSteps {
    /// Logged steps by the rules of a task. Nobody knows how much was left of their episodes.
    pub(super) fn new(logged: &Batch, actions: &ActionSpace, task: &Task) -> Result<Self> {
        let rewards = task.rewards_of(logged)?;
        let ended = match &task.termination {
            Some(rule) => task::terminated(&**rule, &logged.transitions())?,
            None => Array1::default(rewards.len()),
        };
        Ok(Self(ReplayBatch {
            inputs: known(logged.states.view(), 0, task.horizon),
            choices: actions.choices(&logged.actions),
            rewards,
            next_inputs: known(logged.next_states.view(), 0, task.horizon),
            goes_on: ended.mapv(|ended| f32::from(!ended)),
        }))
    }
}

impl Opponent for LoggedSteps {
    fn explore(&mut self, round: &Exploration<'_>, memory: &mut Memory<'_>) -> Result<()> {
        if round.round == 1 {
            memory.remember(0, &self.0);
        }
        Ok(())
    }
}

impl Interruptible for LoggedSteps {
    fn exchange(&mut self, _with: &mut Exchange<'_>) -> Result<(), BoxError> {
        Ok(())
    }
}
