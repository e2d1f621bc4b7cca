//! What all learning adversaries have in common.

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use rand::RngExt;

use super::settings::AdversarySettings;
use crate::dataset::Standardizer;
use crate::experience::ReplayBatch;
use crate::hallucination::Choice;
use crate::nn::Device;
use crate::rng::Stream;

/// What an adversary looks at: state, action, and the share of the horizon that is left.
///
/// Departure: the paper's adversary is a function of (s, a) alone. Over a finite horizon the worst
/// choice depends on the time left, and critics that cannot see it confuse a state that is reached
/// late with one from which little follows; see NOTATION.md for what was measured. Knowing the time
/// makes the adversary stronger, so the bound stays one.
pub(super) fn inputs(
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    time: usize,
    horizon: usize,
) -> Array2<f32> {
    let left = (horizon - time) as f32 / horizon as f32;
    let left = Array2::from_elem((states.nrows(), 1), left);
    concatenate(Axis(1), &[states, actions, left.view()]).expect("one action per state")
}

/// How an adversary sees its game: the units, and what later rewards weigh.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    pub inputs: Standardizer,
    /// Factor that gives rewards unit variance.
    pub reward: f32,
    /// What a reward weighs for the critics, relative to the one before it.
    pub discount: f32,
    /// Where its networks live.
    pub device: Device,
}

/// A learning adversary.
pub(crate) trait Learner: Sized {
    fn new(scales: Scales, choices: usize, settings: &AdversarySettings, rng: &mut Stream) -> Self;

    /// The same adversary without exploration.
    fn greedy(&self) -> Self;

    /// The same adversary without exploration and at the edge of what it may choose, if it only ever
    /// comes close to that.
    fn at_the_edge(&self) -> Option<Self> {
        None
    }

    /// The same adversary as it explores in a round of that many episodes.
    fn exploring(&self, round: usize, episodes: usize, rng: &mut Stream) -> Self;

    fn choice(&self) -> Choice<'_>;

    fn learn(&mut self, batch: &ReplayBatch, rng: &mut Stream);

    /// Whether all parameters are still numbers.
    fn is_finite(&self) -> bool;
}

/// Which of a round's exploring episodes keep one random choice from start to end, and which.
///
/// Choices that change at random in every step cancel each other: what only a steady push reaches,
/// such an explorer never sees, and the adversary converges to something harmless.
pub(super) fn held<C>(
    settings: &AdversarySettings,
    round: usize,
    episodes: usize,
    rng: &mut Stream,
    choose: impl Fn(&mut Stream) -> C,
) -> Vec<Option<C>> {
    let share = settings.exploration.max(0.5 / (round + 1) as f64);
    (0..episodes).map(|_| rng.random_bool(share).then(|| choose(rng))).collect()
}
