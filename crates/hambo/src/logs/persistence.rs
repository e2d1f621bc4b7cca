//! Does what a model takes for noise remember itself?
//!
//! A state that leaves out something that matters (a wall's temperature, a delay) makes the rest look
//! noisy, and the model draws fresh noise in every step. But what was left out changes slowly, so the
//! true errors follow each other and add up. That shows in their autocorrelation.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use crate::dataset::Target;
use crate::dynamics::Dynamics;
use crate::error::Result;
use crate::unseen::Unseen;

/// Rows that it rests on at most.
const MOST_ROWS: usize = 20_000;

/// What the one-step errors on held-out episodes look like, per output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Persistence {
    /// Correlation of an error with the one in the step before.
    pub autocorrelation: Vec<f64>,
    /// Variance of the errors as a share of the variance of what is predicted, `s' - s` and the reward.
    pub unexplained: Vec<f64>,
}

impl Persistence {
    pub(crate) fn measure(dynamics: &dyn Dynamics, unseen: &Unseen<'_>) -> Result<Self> {
        let data = unseen.data();
        let outputs = dynamics.outputs();
        let mut pairs = Array1::<f64>::zeros(outputs);
        let mut errors = Moments::new(outputs);
        let mut targets = Moments::new(outputs);
        let mut rows = 0;
        for &episode in data.episodes() {
            let span = &data.dataset().episodes()[episode];
            let (batch, prediction) =
                unseen.predict(dynamics, &span.rows.clone().collect::<Vec<_>>())?;
            let expected = prediction.mean;
            let targets_of =
                |target| batch.targets(target, dynamics.next_dim(), dynamics.predicts_reward());
            let (observed, changes) =
                (targets_of(Target::NextState), targets_of(Target::Difference));
            let error = (observed - expected).mapv(f64::from);
            for piece in span.pieces() {
                let first = piece.start - span.rows.start;
                for step in first + 1..first + piece.len() {
                    pairs += &(&error.row(step - 1) * &error.row(step));
                }
            }
            error.rows().into_iter().for_each(|row| errors.add(row.to_owned()));
            changes.rows().into_iter().for_each(|row| targets.add(row.mapv(f64::from)));
            rows += error.nrows();
            if rows >= MOST_ROWS {
                break;
            }
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        // About zero, not about their mean: an error that never changes is remembered best.
        let autocorrelation = pairs.iter().zip(&errors.squares).map(|(&p, &s)| share(p, s));
        let explained = errors
            .squares
            .iter()
            .zip(targets.variances())
            .map(|(&e, v)| share(e / errors.count.max(1.0), v));
        Ok(Self { autocorrelation: autocorrelation.collect(), unexplained: explained.collect() })
    }

    /// Without doubts about outputs that nobody predicts.
    pub(crate) fn without(mut self, outputs: &[usize]) -> Self {
        outputs.iter().for_each(|&output| self.unexplained[output] = 0.0);
        self
    }

    /// Of the first `outputs`, the one in which errors that matter follow each other most, and how much they
    /// do.
    pub(crate) fn worst(&self, outputs: usize, matters: f64) -> Option<(usize, f64)> {
        let all = self.autocorrelation.iter().zip(&self.unexplained).enumerate();
        all.take(outputs)
            .filter(|(_, (_, unexplained))| **unexplained > matters)
            .map(|(output, (autocorrelation, _))| (output, *autocorrelation))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Sums of values and of their squares.
struct Moments {
    count: f64,
    sums: Array1<f64>,
    squares: Array1<f64>,
}

impl Moments {
    fn new(columns: usize) -> Self {
        Self { count: 0.0, sums: Array1::zeros(columns), squares: Array1::zeros(columns) }
    }

    fn add(&mut self, row: Array1<f64>) {
        self.count += 1.0;
        self.squares += &(&row * &row);
        self.sums += &row;
    }

    fn variances(&self) -> Array1<f64> {
        let count = self.count.max(1.0);
        let mean = &self.sums / count;
        &self.squares / count - &mean * &mean
    }
}
