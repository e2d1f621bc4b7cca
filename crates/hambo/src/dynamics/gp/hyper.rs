//! Hyper-parameters by maximum marginal likelihood, with argmin's L-BFGS from several starts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use ndarray::{ArrayView1, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::regression::Regression;
use crate::dynamics::kernel::{Kernel, KernelKind};
use crate::error::Result;
use crate::rng::Stream;

/// Where the logarithms of variance, length scales and σ² are kept, in standardised units. At the
/// smallest σ², 1e-5, data counts as exact to a third of a percent of its spread; with less, a kink that
/// no smooth kernel can follow makes the norm of the posterior mean explode.
const VARIANCE: (f64, f64) = (-7.0, 9.0);
const LENGTH_SCALE: (f64, f64) = (-4.0, 7.0);
const NOISE_VARIANCE: (f64, f64) = (-11.5, 1.0);

/// A search ends when the slope has fallen to this share of the one at its start.
const TOLERANCE: f64 = 1e-3;
const MAX_ITERATIONS: u64 = 50;
const MEMORY: usize = 8;

/// A kernel and a noise level, in standardised units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hyperparameters {
    /// The kernel.
    pub kernel: Kernel,
    /// σ²; not negative.
    pub noise_variance: f64,
}

impl Hyperparameters {
    fn of_logs(kind: KernelKind, logs: &[f64]) -> Self {
        let inputs = logs.len() - 2;
        let exp = |log: f64, (low, high): (f64, f64)| log.clamp(low, high).exp();
        // Of a linear kernel, variance and length scales say the same; only the latter are learned.
        let variance = match kind {
            KernelKind::Linear => 1.0,
            _ => exp(logs[0], VARIANCE),
        };
        let length_scales = logs[1..=inputs].iter().map(|&log| exp(log, LENGTH_SCALE)).collect();
        let kernel = Kernel { kind, variance, length_scales };
        Self { kernel, noise_variance: exp(logs[inputs + 1], NOISE_VARIANCE) }
    }
}

/// The hyper-parameters with the largest marginal likelihood that any of the starts leads to.
pub fn most_likely(
    kind: KernelKind,
    starts: usize,
    inputs: ArrayView2<'_, f64>,
    targets: ArrayView1<'_, f64>,
    rng: &mut Stream,
) -> Result<Hyperparameters> {
    let width = inputs.ncols();
    let (best, last) = (RefCell::default(), RefCell::default());
    let problem = Problem { kind, inputs, targets, unit: Cell::new(1.0), best, last };
    for start in 0..starts.max(1) {
        let mut logs = vec![0.0; width + 2];
        for log in &mut logs[1..=width] {
            *log =
                if start == 0 { (width as f64).sqrt().ln() } else { rng.random_range(-1.0..2.5) };
        }
        logs[width + 1] = if start == 0 { -5.0 } else { rng.random_range(-9.0..-2.0) };
        problem.start_at(&logs);
        let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
            .with_tolerance_grad(TOLERANCE)
            .and_then(|solver| solver.with_tolerance_cost(TOLERANCE * TOLERANCE))
            .expect("tolerances are positive");
        // A line search that finds no further step ends the search; the best point is kept.
        let _ = Executor::new(&problem, solver)
            .configure(|state| state.param(logs).max_iters(MAX_ITERATIONS))
            .run();
    }
    match problem.best.into_inner() {
        Some((_, best)) => Ok(best),
        // Every factorisation failed: say how.
        None => {
            let logs = vec![0.0; width + 2];
            let Hyperparameters { kernel, noise_variance } = Hyperparameters::of_logs(kind, &logs);
            Regression::fit(kernel.clone(), noise_variance, inputs, targets)?;
            Ok(Hyperparameters { kernel, noise_variance })
        }
    }
}

struct Problem<'a> {
    kind: KernelKind,
    inputs: ArrayView2<'a, f64>,
    targets: ArrayView1<'a, f64>,
    /// What the likelihood is divided by.
    unit: Cell<f64>,
    /// The largest likelihood seen, and where.
    best: RefCell<Option<(f64, Hyperparameters)>>,
    /// The last fit: value and gradient are asked for one after the other.
    last: RefCell<Option<(Vec<f64>, Rc<Regression>)>>,
}

impl Problem<'_> {
    /// Makes the slope at the start one. L-BFGS's first step is the slope, and with the likelihood's
    /// own, in the thousands, it would leap to where no parameter matters.
    fn start_at(&self, logs: &Vec<f64>) {
        self.unit.set(1.0);
        let slope = |gradient: Vec<f64>| gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let slope = Gradient::gradient(&self, logs).map_or(1.0, slope);
        if slope.is_normal() {
            self.unit.set(slope);
        }
    }

    fn fit(&self, logs: &[f64]) -> Result<Rc<Regression>> {
        if let Some((of, fitted)) = &*self.last.borrow()
            && of == logs
        {
            return Ok(fitted.clone());
        }
        let Hyperparameters { kernel, noise_variance } = Hyperparameters::of_logs(self.kind, logs);
        let fitted = Regression::fit(kernel, noise_variance, self.inputs, self.targets)?;
        let fitted = Rc::new(fitted);
        *self.last.borrow_mut() = Some((logs.to_vec(), fitted.clone()));
        Ok(fitted)
    }
}

impl CostFunction for &Problem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logs: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let likelihood = self.fit(logs)?.log_likelihood();
        let best = &mut *self.best.borrow_mut();
        if best.as_ref().is_none_or(|(value, _)| likelihood > *value) {
            *best = Some((likelihood, Hyperparameters::of_logs(self.kind, logs)));
        }
        Ok(-likelihood / self.unit.get())
    }
}

impl Gradient for &Problem<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, logs: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let mut gradient = self.fit(logs)?.log_likelihood_gradient();
        let width = logs.len() - 2;
        for (index, slope) in gradient.iter_mut().enumerate() {
            let (low, high) = match index {
                0 => VARIANCE,
                index if index <= width => LENGTH_SCALE,
                _ => NOISE_VARIANCE,
            };
            // Beyond its range a parameter has no effect.
            let stuck = !(low..=high).contains(&logs[index])
                || (index == 0 && self.kind == KernelKind::Linear);
            *slope = if stuck { 0.0 } else { -*slope / self.unit.get() };
        }
        Ok(gradient)
    }
}
