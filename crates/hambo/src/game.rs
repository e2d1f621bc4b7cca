//! A policy, a task and a model in somebody's hands, ready to be played.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use crate::bound::Estimate;
use crate::dataset::History;
use crate::dynamics::Dynamics;
use crate::error::Result;
use crate::exogenous::{Driven, Exogenous};
use crate::hallucination::{Choice, Hallucination, Noise};
use crate::rollout::{self, Limits, Step, Streams};
use crate::side_by_side::side_by_side;
use crate::task::{Policy, Starts, Task};

/// What an adversary plays in: a model, its confidence box, a policy and a task.
#[derive(Clone, Copy)]
pub struct Game<'a> {
    /// The model.
    pub dynamics: &'a dyn Dynamics,
    /// β τ_j per output.
    pub radius: &'a Array1<f32>,
    /// What is added to predictions.
    pub noise: Noise<'a>,
    /// Rewards, ends and starts of the episodes.
    pub task: &'a Task,
    /// What states and learned rewards stay within.
    pub limits: Limits<'a>,
    /// The policy that is evaluated.
    pub policy: &'a dyn Policy,
    /// What no action influences, if there is any.
    pub exogenous: Option<Exogenous<'a>>,
    /// What states are followed by, if they are.
    pub history: Option<&'a History>,
}

impl std::fmt::Debug for Game<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Game")
            .field("radius", self.radius)
            .field("noise", &self.noise)
            .field("task", self.task)
            .finish_non_exhaustive()
    }
}

impl Game<'_> {
    /// Plays `episodes` episodes with `choice` in control.
    pub fn play(
        &self,
        choice: Choice<'_>,
        episodes: usize,
        streams: &mut Streams,
        on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Played> {
        self.play_from(self.starts(episodes, streams)?, choice, streams, on_step)
    }

    /// What `of` finds for every member, at the same time unless the policy minds.
    pub(crate) fn by_members<T: Send>(
        &self,
        of: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let members = self.dynamics.members();
        match self.policy.may_be_shared() {
            true => side_by_side(members, of),
            false => (0..members).map(of).collect(),
        }
    }

    /// Where `episodes` episodes start.
    pub(crate) fn starts(&self, episodes: usize, streams: &mut Streams) -> Result<Starts> {
        let d_s = self.dynamics.state_dim();
        let mut starts = self.task.initial_states.draw(episodes, d_s, &mut streams.starts)?;
        if let Some(exogenous) = &self.exogenous {
            starts.logged = exogenous.rows_from(starts.states.view(), self.task.horizon);
        }
        Ok(starts)
    }

    /// Plays one episode from each of the starts.
    pub(crate) fn play_from(
        &self,
        starts: Starts,
        choice: Choice<'_>,
        streams: &mut Streams,
        on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Played> {
        let mut transition =
            Hallucination::new(self.dynamics, choice, self.radius.clone(), self.noise)?;
        if self.limits.floor.is_some() {
            transition = transition.asking_all();
        }
        let courses = self.exogenous.map(|exogenous| exogenous.courses(starts.logged));
        let returns = rollout::run(
            &mut Driven { world: transition, courses, history: self.history },
            self.task,
            self.limits,
            self.policy,
            starts.states,
            streams,
            on_step,
        )?;
        Ok(Played { returns: returns.to_vec(), observed: starts.observed })
    }
}

/// Returns of episodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Played {
    /// One per episode.
    pub returns: Vec<f64>,
    /// Which observed initial state each episode came from, if they are a finite sample.
    pub observed: Option<Vec<usize>>,
}

impl Played {
    /// Their mean, with an error that counts episodes from one observed start as one observation.
    pub fn estimate(&self) -> Estimate {
        match &self.observed {
            Some(observed) => Estimate::clustered(&self.returns, observed),
            None => Estimate::of(&self.returns),
        }
    }
}
