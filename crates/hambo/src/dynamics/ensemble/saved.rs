//! An ensemble taken apart for saving: its networks as safetensors, the rest as plain values.

use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::dataset::{Standardizer, Target};
use crate::error::{Error, Result};
use crate::nn::{Device, Layout, Mlps};

/// Larger networks are refused when they are loaded.
const MAX_WIDTH: usize = 1 << 16;
const MAX_LAYERS: usize = 64;

/// All of an ensemble but its networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedEnsemble {
    hidden: Vec<usize>,
    members: usize,
    inputs: Standardizer,
    targets: Standardizer,
    target: Target,
    state_dim: usize,
    predicts_reward: bool,
}

impl Ensemble {
    /// The ensemble's values, and its networks in the safetensors format.
    pub fn to_saved(&self) -> (SavedEnsemble, Vec<u8>) {
        let saved = SavedEnsemble {
            hidden: self.networks.layout().hidden(),
            members: self.networks.members(),
            inputs: self.inputs.clone(),
            targets: self.targets.clone(),
            target: self.target,
            state_dim: self.state_dim,
            predicts_reward: self.predicts_reward,
        };
        (saved, self.networks.to_safetensors())
    }

    /// Puts together what [`to_saved`](Self::to_saved) took apart, and checks that it fits.
    pub fn of_saved(saved: SavedEnsemble, networks: &[u8], device: Device) -> Result<Self> {
        let SavedEnsemble { inputs, targets, target, state_dim, predicts_reward, .. } = saved;
        let outputs = targets.mean().len();
        let sensible = |width: &usize| (1..=MAX_WIDTH).contains(width);
        let fits = inputs.is_consistent()
            && saved.hidden.len() <= MAX_LAYERS
            && saved.hidden.iter().all(sensible)
            && targets.is_consistent()
            && outputs == state_dim + usize::from(predicts_reward)
            && (1..inputs.mean().len()).contains(&state_dim);
        if !fits {
            let columns = inputs.mean().len();
            let message = format!(
                "{columns} inputs, hidden layers {:?} and {outputs} outputs do not fit a state of \
                 {state_dim} values",
                saved.hidden
            );
            return Err(Error::SavedNetwork(message));
        }
        let layout = Layout::new(inputs.mean().len(), &saved.hidden, 2 * outputs);
        let networks = Mlps::from_safetensors(networks, layout, device)?;
        if networks.members() != saved.members {
            let (found, members) = (networks.members(), saved.members);
            return Err(Error::SavedNetwork(format!("{found} members, expected {members}")));
        }
        Ok(Self { networks, inputs, targets, target, state_dim, predicts_reward })
    }
}
