//! Fitted Q evaluation: the value of a policy, learned from logged transitions without a model.
//!
//! Q(s, a, h) is what follows in the h steps that are left. It is fitted to
//!
//!   r + γ Q(s', π(s'), h - 1)      Q(s, a, 0) = 0
//!
//! on every logged transition, with any number of steps left: a log says the same whenever it was written. Each
//! member weighs episodes by a Poisson draw, as in the certificate, so that it has not seen some of them.

mod counted;
mod fitting;
mod networks;

use ndarray::Array2;

pub(super) use fitting::{Fitting, Questions};

use crate::error::Result;
use crate::task::Policy;

impl Fitting<'_> {
    /// What every member answers, `[members, questions]`.
    pub(in crate::baselines) fn answers(
        &self,
        policy: &dyn Policy,
        questions: &Questions,
    ) -> Result<Array2<f64>> {
        let next_states = &self.logs.kept.transitions.next_states;
        let next = self.logs.actions(policy, next_states, self.seed.child("next actions"))?;
        match self.names {
            true => counted::answers(self, &next, questions),
            false => networks::answers(self, &next, questions),
        }
    }
}
