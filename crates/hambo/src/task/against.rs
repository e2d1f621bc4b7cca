//! What a policy must be better than.

use std::fmt;
use std::sync::Arc;

use super::parts::Policy;

/// What a policy is compared with, and by how much it must be better.
#[derive(Debug, Clone)]
pub struct Against {
    /// What it is compared with.
    pub baseline: Baseline,
    /// How much more it must earn; `None` to ask only how much more it does.
    pub margin: Option<f64>,
}

/// What a policy is compared with.
#[derive(Clone)]
pub enum Baseline {
    /// The policy that was logged.
    Logged,
    /// Another policy.
    Policy {
        /// For messages.
        name: String,
        /// What it does.
        policy: Arc<dyn Policy>,
    },
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logged => "the logs",
            Self::Policy { name, .. } => name,
        })
    }
}

impl fmt::Debug for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
