//! What a fit will cost, before it starts.

use std::time::{Duration, Instant};

use super::half::Training;
use super::{Bag, Ensemble, EnsembleSettings};
use crate::dataset::Subset;
use crate::error::Result;
use crate::rng::Seed;

/// Steps that are timed, after one that warms the caches.
const TIMED: u32 = 10;

/// What a fit will cost at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitCost {
    /// Most gradient steps.
    pub steps: usize,
    /// How long they take, as far as a few steps tell.
    pub time: Duration,
}

impl Ensemble {
    /// What [`fit`](Self::fit) on the data will cost at most, found by a few steps that are thrown away.
    pub fn cost(data: &Subset<'_>, settings: &EnsembleSettings) -> Result<FitCost> {
        settings.validate()?;
        let seed = Seed(0);
        let bag = Bag::draw(data, settings, seed)?;
        let rng = &mut seed.stream("cost: mini-batches");
        let (mut model, mut training) =
            (Self::untrained(data, settings, seed), Training::default());
        let mut step = || {
            let rows = data.sample(settings.batch_size, rng);
            model.step(
                data.dataset(),
                &rows,
                &bag,
                &mut training,
                settings,
                settings.learning_rate,
            );
        };
        step();
        let begun = Instant::now();
        (0..TIMED).for_each(|_| step());
        let steps = settings.steps(data.rows());
        let time = (begun.elapsed() / TIMED).mul_f64(steps as f64);
        Ok(FitCost { steps, time })
    }
}
