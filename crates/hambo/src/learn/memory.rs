//! What a policy learns from.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};

use super::actions::ActionSpace;
use super::worlds::shares;
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::experience::{Recorder, Replay, ReplayBatch};
use crate::rng::Stream;
use crate::rollout::Step;

/// Steps that are remembered, those of every world apart: what is drawn follows the weights of worlds at once, and
/// not the weights at the time when the steps were made.
pub(super) struct Pools(Vec<Replay>);

impl Pools {
    /// For so many worlds, with room for so many steps in all of them together.
    pub(super) fn new(worlds: usize, capacity: usize, inputs: usize, choices: usize) -> Self {
        let empty = Replay::new(capacity.div_ceil(worlds), inputs, choices);
        Self(vec![empty; worlds])
    }

    /// Factor that gives the remembered rewards unit variance.
    pub(super) fn reward_scale(&self) -> f32 {
        let std = self.0.iter().flat_map(Replay::rewards).collect::<Array1<f32>>().std(0.0);
        if std > 0.0 { std.recip() } else { 1.0 }
    }

    /// `count` steps, of every world in proportion to its weight.
    pub(super) fn sample(
        &self,
        weights: &Array1<f64>,
        count: usize,
        rng: &mut Stream,
    ) -> ReplayBatch {
        let of_worlds = shares(weights, count);
        let drawn = self.0.iter().zip(of_worlds).filter(|(_, count)| *count > 0);
        ReplayBatch::together(drawn.map(|(pool, count)| pool.sample(count, rng)).collect())
    }
}

impl Interruptible for Pools {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        let mut pools = self.0.iter_mut().enumerate();
        pools.try_for_each(|(world, pool)| with.part(&world.to_string(), pool))
    }
}

/// Remembers episodes as they are played.
pub(super) struct Memory<'a> {
    pools: &'a mut Pools,
    actions: &'a ActionSpace,
    /// Whether episodes are cut off, and go on in truth.
    branches: bool,
    /// Called in every step.
    watch: &'a dyn Fn() -> Result<()>,
    recorder: Recorder,
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        pools: &'a mut Pools,
        actions: &'a ActionSpace,
        branches: bool,
        watch: &'a dyn Fn() -> Result<()>,
    ) -> Self {
        Self { pools, actions, branches, watch, recorder: Recorder::default() }
    }

    /// Steps that nobody plays.
    pub(super) fn remember(&mut self, world: usize, steps: &ReplayBatch) {
        self.pools.0[world].extend(steps);
    }

    /// A step that is not remembered.
    pub(super) fn watch(&self) -> Result<()> {
        (self.watch)()
    }

    /// A step of episodes in one of the worlds.
    pub(super) fn add(&mut self, world: usize, step: &Step<'_>) -> Result<()> {
        self.watch()?;
        // Nobody knows how much is left of an episode that is cut off.
        let time = if self.branches { 0 } else { step.time };
        let inputs = known(step.states.view(), time, step.horizon);
        let choices = self.actions.choices(step.actions);
        self.recorder.add(step, inputs, choices, &mut self.pools.0[world]);
        Ok(())
    }

    /// What somebody recorded of the same episodes is complete.
    pub(super) fn end(&self, recorder: Recorder, replay: &mut Replay) {
        end(recorder, replay, self.branches);
    }

    /// The episodes in that world are over.
    pub(super) fn finish(&mut self, world: usize) {
        let (recorder, pool) = (std::mem::take(&mut self.recorder), &mut self.pools.0[world]);
        end(recorder, pool, self.branches);
    }
}

fn end(recorder: Recorder, replay: &mut Replay, branches: bool) {
    match branches {
        true => recorder.cut(replay),
        false => recorder.finish(replay),
    }
}

/// What critics look at: the state, and the share of the horizon that is left.
pub(super) fn known(states: ArrayView2<'_, f32>, time: usize, horizon: usize) -> Array2<f32> {
    let left = (horizon - time) as f32 / horizon as f32;
    let left = Array2::from_elem((states.nrows(), 1), left);
    concatenate(Axis(1), &[states, left.view()]).expect("as many rows")
}
