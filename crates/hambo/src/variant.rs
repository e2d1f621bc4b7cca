//! The ways of using a model, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A way of using the model: who decides about the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Continuous adversary: shifts every next state within the calibrated confidence box.
    Ca,
    /// Discrete adversary: picks a member of the ensemble in every step.
    Da1,
    /// The worst member, for whole episodes.
    DaInf,
    /// Neutral, distribution sampling: one Gaussian with the total variance.
    Ds,
    /// Neutral, trajectory sampling: a random member in every step.
    Ts1,
    /// Neutral, trajectory sampling: a random member for whole episodes.
    TsInf,
}

impl Variant {
    /// All adversaries that a model with so many members admits.
    pub(crate) fn conservative(members: usize) -> Vec<Self> {
        match members {
            0 => vec![Self::Ca],
            _ => vec![Self::Ca, Self::Da1, Self::DaInf],
        }
    }

    /// What runs when nothing else is asked for: these, and one neutral variant beside them.
    pub(crate) fn suitable(members: usize) -> Vec<Self> {
        let mut suitable = Self::conservative(members);
        suitable.push(Self::Ds);
        suitable
    }

    /// Whether its return is meant as a lower bound. The others are neutral estimates.
    pub fn is_conservative(self) -> bool {
        matches!(self, Self::Ca | Self::Da1 | Self::DaInf)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ca => "CA",
            Self::Da1 => "DA1",
            Self::DaInf => "DAinf",
            Self::Ds => "DS",
            Self::Ts1 => "TS1",
            Self::TsInf => "TSinf",
        })
    }
}
