//! A fitted and calibrated model: what every evaluation starts from, made once per dataset.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::calibration::{Calibration, TemperatureKind};
use crate::dataset::{DataIdentity, Dataset};
use crate::dynamics::Dynamics;
use crate::dynamics::ensemble::{Ensemble, EnsembleSettings, FitReport};
use crate::dynamics::gp::{GaussianProcess, GpReport, GpSettings};
use crate::error::{Error, Result};
use crate::logged::LoggedSample;
use crate::persistence::Persistence;
use crate::progress::Observer;
use crate::rng::Seed;
use crate::task::StateBounds;

/// How a model is made of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    pub ensemble: EnsembleSettings,
    /// Gaussian processes in place of the ensemble.
    pub gp: Option<GpSettings>,
    /// Share of the rows, in whole episodes, set aside for calibration; in (0, 1).
    pub calibration_share: f64,
    pub temperatures: TemperatureKind,
    /// Hallucinated states of tasks without bounds stay in the data's range, widened on both sides
    /// by this share of its width.
    pub range_widening: f32,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            ensemble: EnsembleSettings::default(),
            gp: None,
            calibration_share: 0.1,
            temperatures: TemperatureKind::PerOutput,
            range_widening: 0.5,
        }
    }
}

impl ModelSettings {
    /// Checks that every setting is in its range.
    pub fn validate(&self) -> Result<()> {
        let (share, widening) = (self.calibration_share, self.range_widening);
        if !(share > 0.0 && share < 1.0) {
            let (name, value) = ("calibration_share", share.to_string());
            return Err(Error::Setting { name, value, expected: "between 0 and 1" });
        }
        if !(widening >= 0.0 && widening.is_finite()) {
            let (name, value) = ("range_widening", widening.to_string());
            return Err(Error::Setting { name, value, expected: "not negative" });
        }
        match &self.gp {
            Some(gp) => gp.validate(),
            None => self.ensemble.validate(),
        }
    }
}

/// A calibrated model of the dynamics.
#[derive(Clone)]
pub struct Model {
    pub dynamics: Arc<dyn Dynamics>,
    pub calibration: Calibration,
    /// Whether its errors follow each other.
    pub persistence: Persistence,
    /// The data's range, widened by `range_widening`.
    pub state_range: StateBounds,
    pub range_widening: f32,
    /// The data it was made of.
    pub data: DataIdentity,
    /// Some of it, which evaluations are held against.
    pub logged: LoggedSample,
    pub report: Report,
}

/// How the fitting went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Report {
    Ensemble(FitReport),
    Gp(GpReport),
}

impl Model {
    /// Fits an ensemble, or Gaussian processes, and calibrates it on episodes it has not seen.
    pub fn fit(
        data: &Dataset,
        settings: &ModelSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Self> {
        settings.validate()?;
        let rng = &mut seed.stream("calibration split");
        let (train, held_out) = data.all().split(settings.calibration_share, rng)?;
        let (dynamics, report): (Arc<dyn Dynamics>, Report) = match &settings.gp {
            Some(gp) => {
                let (processes, report) = GaussianProcess::fit(&train, gp, seed, observer)?;
                (Arc::new(processes), Report::Gp(report))
            }
            None => {
                let (ensemble, report) = Ensemble::fit(&train, &settings.ensemble, seed, observer)?;
                (Arc::new(ensemble), Report::Ensemble(report))
            }
        };
        let calibration = Calibration::fit(&*dynamics, &held_out, settings.temperatures)?;
        Ok(Self {
            persistence: Persistence::measure(&*dynamics, &held_out)?,
            dynamics,
            calibration,
            state_range: StateBounds::of_data(data, settings.range_widening),
            range_widening: settings.range_widening,
            data: data.identity(),
            logged: LoggedSample::of(data),
            report,
        })
    }

    /// Smallest and largest value of every state dimension in the data: the range before it was
    /// widened.
    pub(crate) fn data_range(&self) -> Vec<[f32; 2]> {
        let share = self.range_widening / (1.0 + 2.0 * self.range_widening);
        let inner = |(&low, &high): (&f32, &f32)| {
            let margin = (high - low) * share;
            [low + margin, high - margin]
        };
        self.state_range.low().iter().zip(self.state_range.high()).map(inner).collect()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("calibration", &self.calibration)
            .field("state_range", &self.state_range)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
