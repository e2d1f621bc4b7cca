//! An ensemble taken apart for saving: its networks as safetensors, the rest as plain values.

use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::dataset::{Standardizer, Target};
use crate::error::{Error, Result};
use crate::nn::{Activation, Device, Layout, Mlps};

/// Larger networks are refused when they are loaded.
const MAX_WIDTH: usize = 1 << 16;
const MAX_LAYERS: usize = 64;

/// All of an ensemble but its networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedEnsemble {
    hidden: Vec<usize>,
    /// Models that do not say were fitted with ReLU.
    #[serde(default)]
    activation: Activation,
    members: usize,
    /// Widths of the hidden layers of the frozen random networks, if there are any.
    random: Option<Vec<usize>>,
    inputs: Standardizer,
    targets: Standardizer,
    target: Target,
    state_dim: usize,
    predicts_reward: bool,
    /// Where it was fitted, if that was not the processor.
    #[serde(default, skip_serializing_if = "is_cpu")]
    device: Device,
}

fn is_cpu(device: &Device) -> bool {
    *device == Device::Cpu
}

impl Ensemble {
    /// The ensemble's values, and its networks in the safetensors format: those that were fitted, and
    /// the frozen random ones if there are any.
    pub fn to_saved(&self) -> (SavedEnsemble, Vec<u8>, Option<Vec<u8>>) {
        let saved = SavedEnsemble {
            random: self.random.as_ref().map(|random| random.layout().hidden()),
            hidden: self.networks.layout().hidden(),
            activation: self.networks.layout().activation(),
            members: self.networks.members(),
            inputs: self.inputs.clone(),
            targets: self.targets.clone(),
            target: self.target,
            state_dim: self.state_dim,
            predicts_reward: self.predicts_reward,
            device: self.networks.device(),
        };
        let random = self.random.as_ref().map(Mlps::to_safetensors);
        (saved, self.networks.to_safetensors(), random)
    }

    /// Puts together what [`to_saved`](Self::to_saved) took apart, and checks that it fits. It lives where it was
    /// fitted, or on the processor if that is not to be had.
    pub fn of_saved(saved: SavedEnsemble, networks: &[u8], random: Option<&[u8]>) -> Result<Self> {
        let device = saved.device.check().map_or(Device::Cpu, |()| saved.device);
        let SavedEnsemble { inputs, targets, target, state_dim, predicts_reward, .. } = saved;
        let outputs = targets.mean().len();
        let sensible = |hidden: &Vec<usize>| {
            hidden.len() <= MAX_LAYERS && hidden.iter().all(|width| (1..=MAX_WIDTH).contains(width))
        };
        let fits = inputs.is_consistent()
            && sensible(&saved.hidden)
            && saved.random.as_ref().is_none_or(sensible)
            && targets.is_consistent()
            && (1..=state_dim).contains(&(outputs.saturating_sub(usize::from(predicts_reward))))
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
        let load = |bytes: &[u8], hidden: &[usize], outputs: usize| {
            let layout = Layout::new(inputs.mean().len(), hidden, outputs).with(saved.activation);
            let networks = Mlps::from_safetensors(bytes, layout, device)?;
            let (found, members) = (networks.members(), saved.members);
            match found == members {
                true => Ok(networks),
                false => Err(Error::SavedNetwork(format!("{found} members, expected {members}"))),
            }
        };
        let networks = load(networks, &saved.hidden, 2 * outputs)?;
        let random = match (&saved.random, random) {
            (Some(hidden), Some(bytes)) => Some(load(bytes, hidden, outputs)?),
            (None, None) => None,
            _ => return Err(Error::SavedNetwork("the random networks are missing".into())),
        };
        Ok(Self { networks, random, inputs, targets, target, state_dim, predicts_reward })
    }
}
