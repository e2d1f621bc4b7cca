//! Which evaluation it is: a name that changes with whatever its findings depend on.
//!
//! Policies and rules may be functions of which nobody can tell whether they are the same, so they are asked about
//! some logged transitions, and so is the model.

use blake3::Hasher;
use ndarray::s;

use crate::dataset::Transitions;
use crate::error::Result;
use crate::model::Model;
use crate::rng::{RowStreams, Seed};
use crate::settings::EvaluationSettings;
use crate::task::{self, Baseline, Policy, Task};

/// Logged transitions that are asked about.
const ASKED: usize = 256;

impl Model {
    /// A name for an evaluation, under which findings of it can be [kept](crate::Observer::keep): 64 hexadecimal
    /// digits. A policy that draws random numbers of its own has another one each time.
    pub fn fingerprint(
        &self,
        policy: &dyn Policy,
        task: &Task,
        settings: &EvaluationSettings,
        seed: Seed,
    ) -> Result<String> {
        let (policy, task) = (&self.asked(policy), &*self.translated(task));
        let all = self.logged.transitions.transitions();
        let rows = s![..;all.rows().div_ceil(ASKED).max(1), ..];
        let asked = Transitions {
            states: all.states.slice(rows),
            actions: all.actions.slice(rows),
            next_states: all.next_states.slice(rows),
        };
        let stream = || seed.stream("fingerprint");
        let acts = |policy: &dyn Policy| {
            let mut draws = RowStreams::new(&mut stream(), asked.rows());
            task::act(policy, asked.states, self.dynamics.action_dim(), &mut draws)
        };
        let mut hasher = Hasher::new();
        let mut add = |name: &str, values: &mut dyn Iterator<Item = f32>| {
            hasher.update(name.as_bytes());
            for value in values {
                hasher.update(&value.to_le_bytes());
            }
        };
        // The task's own description holds all of it that is no function.
        let plain = format!(
            "{} {} {} {settings:?} {task:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            seed.0,
            self.data.fingerprint,
            self.calibration
        );
        add(&plain, &mut std::iter::empty());
        let predicted = self.dynamics.predict(asked.states, asked.actions)?;
        add("mean", &mut predicted.mean.into_iter());
        add("std", &mut predicted.epistemic_std.into_iter());
        add("policy", &mut acts(policy)?.into_iter());
        let starts = task.initial_states.draw(ASKED, self.dynamics.state_dim(), &mut stream())?;
        add("starts", &mut starts.states.into_iter());
        if let Some(reward) = &task.reward {
            add("reward", &mut task::reward(&**reward, &asked)?.into_iter());
        }
        if let Some(termination) = &task.termination {
            let ends = task::terminated(&**termination, &asked)?;
            add("termination", &mut ends.iter().map(|&ended| f32::from(u8::from(ended))));
        }
        for constraint in &task.constraints {
            add(&constraint.name, &mut task::reward(&*constraint.function, &asked)?.into_iter());
        }
        if let Some(against) = &task.against
            && let Baseline::Policy { policy, .. } = &against.baseline
        {
            add("baseline", &mut acts(&**policy)?.into_iter());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}
