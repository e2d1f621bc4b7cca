//! The ways of using a model, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A way of using the model: who decides about the next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Every member for whole episodes, with the logs' errors as noise: a limit over all of them.
    Worlds,
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
    /// What the certificate needs of a model with so many members.
    pub(crate) fn certifying(members: usize) -> Self {
        if members == 0 { Self::Ca } else { Self::Worlds }
    }

    /// What the paper plays against a model with so many members, and a neutral variant beside it.
    pub fn of_paper(members: usize) -> Vec<Self> {
        match members {
            0 => vec![Self::Ca, Self::Ds],
            _ => vec![Self::Ca, Self::Da1, Self::DaInf, Self::Ds],
        }
    }

    /// Whether its return is meant as a lower bound. The others are neutral estimates.
    pub fn is_conservative(self) -> bool {
        matches!(self, Self::Worlds | Self::Ca | Self::Da1 | Self::DaInf)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Worlds => "worlds",
            Self::Ca => "CA",
            Self::Da1 => "DA1",
            Self::DaInf => "DAinf",
            Self::Ds => "DS",
            Self::Ts1 => "TS1",
            Self::TsInf => "TSinf",
        })
    }
}
