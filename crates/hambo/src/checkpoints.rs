//! What an evaluation has found so far, kept so that it can go on after an interruption.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::error::BoxError;
use crate::evaluation::{Variant, VariantResult};
use crate::progress::{Event, Observer};

/// What one variant found, with all that later stages need of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub result: VariantResult,
    /// Of the final rollouts, episode by episode.
    pub returns: Vec<f64>,
    pub seconds: f64,
}

/// Keeps findings for [`evaluate_resumable`](crate::evaluate_resumable()), which asks before it plays a
/// variant and tells afterwards what it found. A finding is good only for the same model, policy, task,
/// settings and seed; whoever keeps them must see to that.
pub trait Checkpoints: Observer {
    /// What was found earlier about `objective` (`"return"`, or a constraint's name).
    fn recall(&self, objective: &str, variant: Variant) -> Result<Option<Finding>, BoxError>;

    fn keep(&self, objective: &str, variant: Variant, found: &Finding) -> Result<(), BoxError>;
}

/// Keeps nothing.
pub(crate) struct Forgetful<'a>(pub &'a dyn Observer);

impl Observer for Forgetful<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.0.observe(event)
    }
}

impl Checkpoints for Forgetful<'_> {
    fn recall(&self, _objective: &str, _variant: Variant) -> Result<Option<Finding>, BoxError> {
        Ok(None)
    }

    fn keep(&self, _objective: &str, _variant: Variant, _found: &Finding) -> Result<(), BoxError> {
        Ok(())
    }
}
