//! The box that CA's adversary chooses from, and what δ says about it.

use ndarray::Array1;

use crate::dynamics::Confidence;
use crate::model::Model;
use crate::settings::EvaluationSettings;

/// What CA's adversary may choose from, and what is known about it.
pub(crate) struct Region {
    /// Half-widths of the box in epistemic standard deviations, per output.
    pub(crate) radius: Array1<f32>,
    /// The Monte Carlo limit's part of δ.
    pub(crate) monte_carlo_delta: f64,
    /// What would be proven about the box if it were not narrowed.
    pub(crate) confidence: Option<Confidence>,
    is_narrowed: bool,
}

impl Region {
    pub(crate) fn of(model: &Model, settings: &EvaluationSettings) -> Self {
        let confidence = model.dynamics.confidence(settings.delta / 2.0);
        let (radius, monte_carlo_delta): (Array1<f32>, f64) = match &confidence {
            Some(proven) => {
                (proven.radius.iter().map(|&r| r as f32).collect(), settings.delta / 2.0)
            }
            None if settings.narrow_box => (model.calibration.temperatures.clone(), settings.delta),
            None => (model.calibration.box_factors(), settings.delta),
        };
        let is_narrowed = settings.beta < 1.0;
        Self { radius: radius * settings.beta, monte_carlo_delta, confidence, is_narrowed }
    }

    /// What is proven about it.
    pub(crate) fn proven(&self) -> Option<&Confidence> {
        self.confidence.as_ref().filter(|_| !self.is_narrowed)
    }

    /// What δ is the probability of, in plain words.
    pub(crate) fn what_delta_covers(&self) -> &'static str {
        match (&self.confidence, self.is_narrowed) {
            (Some(_), false) => {
                "the model and the Monte Carlo error, one half each, provided that every output is a \
                 function of its kernel's space with the stated norm, that its noise is Gaussian with \
                 the fitted variance, that no true state lies outside the limits that states are moved \
                 into, and that the adversary has found the worst case"
            }
            (Some(_), true) => {
                "the Monte Carlo error only: with `beta` below one the confidence region is narrower \
                 than the proven one"
            }
            (None, _) => {
                "the Monte Carlo error only: for an ensemble nothing is proven about the model, whose \
                 uncertainty is a calibrated heuristic"
            }
        }
    }
}
