//! Policies and rules that see the present state only, where states have a history.

use std::ops::Deref;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2};

use super::{
    Against, Baseline, Choices, Constraint, InitialStates, Policy, Reward, StateBounds, Task,
    Termination,
};
use crate::dataset::{EpisodeMarks, History, Transitions, present};
use crate::error::BoxError;
use crate::rng::RowStreams;

/// A rule that is shown the first so many columns of the state.
struct Present<P> {
    part: P,
    columns: usize,
}

/// A policy that is shown the present state, and whose actions are those of the logs, however it says them.
pub(crate) struct Asked<P> {
    pub(crate) policy: P,
    /// Columns of the present state.
    pub(crate) columns: usize,
    pub(crate) choices: Arc<Choices>,
}

impl<P: Deref<Target: Policy> + Send + Sync> Policy for Asked<P> {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let actions = self.policy.act(present(states, self.columns).view(), draws)?;
        self.choices.understood(actions, self.policy.gives_scores())
    }

    fn log_probs(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Option<Array1<f64>>, BoxError> {
        self.policy.log_probs(present(states, self.columns).view(), actions)
    }

    fn may_be_shared(&self) -> bool {
        self.policy.may_be_shared()
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        self.policy.learned_from()
    }

    fn learned_in_worlds(&self) -> bool {
        self.policy.learned_in_worlds()
    }
}

impl<P> Present<P> {
    fn ask<T>(&self, of: &Transitions<'_>, question: impl Fn(&P, &Transitions<'_>) -> T) -> T {
        let [states, next] = [of.states, of.next_states].map(|all| present(all, self.columns));
        let (states, next_states) = (states.view(), next.view());
        question(&self.part, &Transitions { states, actions: of.actions, next_states })
    }
}

impl Reward for Present<Arc<dyn Reward>> {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        self.ask(transitions, |rule, transitions| rule.reward(transitions))
    }
}

impl Termination for Present<Arc<dyn Termination>> {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        self.ask(transitions, |rule, transitions| rule.terminated(transitions))
    }
}

impl Task {
    /// The same task where states have a history: nobody who was given for the present state notices.
    pub(crate) fn remembering(&self, history: &History) -> Self {
        let columns = history.states;
        let reward = |part: Arc<dyn Reward>| Arc::new(Present { part, columns }) as Arc<dyn Reward>;
        let of_constraint = |constraint: &Constraint| Constraint {
            name: constraint.name.clone(),
            function: reward(constraint.function.clone()),
        };
        let termination = self.termination.clone().map(|part| {
            let rule: Arc<dyn Termination> = Arc::new(Present { part, columns });
            rule
        });
        Self {
            initial_states: self.initial_states.remembering(history),
            reward: self.reward.clone().map(reward),
            termination,
            state_bounds: self.state_bounds.as_ref().map(|bounds| bounds.remembering(history)),
            constraints: self.constraints.iter().map(of_constraint).collect(),
            ..self.clone()
        }
    }
}

impl Against {
    /// The same, with another policy to compare with if it is one.
    pub(crate) fn with_policy(self, of: impl Fn(Arc<dyn Policy>) -> Arc<dyn Policy>) -> Self {
        let baseline = match self.baseline {
            Baseline::Logged => Baseline::Logged,
            Baseline::Policy { name, policy } => Baseline::Policy { name, policy: of(policy) },
        };
        Self { baseline, ..self }
    }
}

impl InitialStates {
    fn remembering(&self, history: &History) -> Self {
        match self {
            Self::Observed(states) => Self::Observed(history.begin(states.view())),
            Self::Fixed(states) => Self::Fixed(history.begin(states.view())),
            Self::Sampler(sampler) => {
                let (sampler, history) = (sampler.clone(), history.clone());
                Self::sampler(move |count, rng| Ok(history.begin(sampler(count, rng)?.view())))
            }
        }
    }
}

impl StateBounds {
    /// What happened before has no limits of its own.
    fn remembering(&self, history: &History) -> Self {
        if self.low.len() != history.states {
            return self.clone();
        }
        let with = |limits: &Array1<f32>, none: f32| {
            let more = history.columns() - history.states;
            limits.iter().copied().chain(std::iter::repeat_n(none, more)).collect()
        };
        Self {
            low: with(&self.low, f32::NEG_INFINITY),
            high: with(&self.high, f32::INFINITY),
            ..self.clone()
        }
    }
}
