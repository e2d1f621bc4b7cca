//! A fit that was interrupted: all that it takes to go on and end with the same bits.

use super::best::Best;
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::nn::{Adam, Buffers, Mlps};
use crate::rng::Stream;

/// Looks at the held-out likelihood between two times that the fit is kept.
pub(super) const LOOKS: usize = 5;

/// What a training loop remembers.
#[derive(Debug, Default)]
pub(super) struct Training {
    pub(super) adam: Adam,
    pub(super) buffers: Buffers,
}

/// How far a fit has come.
pub(super) struct Half {
    pub(super) step: usize,
    pub(super) training: Training,
    pub(super) best: Best,
    pub(super) history: Vec<(usize, f64)>,
    pub(super) rng: Stream,
}

impl Half {
    /// With the networks that are fitted.
    pub(super) fn of<'a>(&'a mut self, networks: &'a mut Mlps) -> HalfFit<'a> {
        HalfFit { half: self, networks }
    }
}

/// What a fit can go on from.
pub(super) struct HalfFit<'a> {
    half: &'a mut Half,
    networks: &'a mut Mlps,
}

impl Interruptible for HalfFit<'_> {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        let Half { step, training: Training { adam, .. }, best, history, rng } = &mut *self.half;
        with.networks("networks", self.networks)?;
        with.adam("adam", adam, self.networks)?;
        with.value("step", step)?;
        with.value("history", history)?;
        with.stream("mini-batches", rng)?;
        with.matrix("best", &mut best.params)?;
        // JSON has no infinity, which is what they start from.
        let mut values: Vec<Option<f64>> =
            best.values.iter().map(|value| value.is_finite().then_some(*value)).collect();
        with.value("best values", &mut values)?;
        best.values = values.into_iter().map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect();
        with.value("best steps", &mut best.steps)?;
        with.value("looks since", &mut best.looks_since)
    }
}
