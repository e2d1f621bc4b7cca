//! A fitted and calibrated model: what every evaluation starts from, made once per dataset.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use crate::calibration::{Calibration, TemperatureKind};
use crate::dataset::{ColumnNames, DataIdentity, Dataset, History};
use crate::dynamics::Dynamics;
use crate::dynamics::ensemble::{Bag, Ensemble, EnsembleReport, EnsembleSettings};
use crate::dynamics::gp::{GaussianProcess, GpReport, GpSettings};
use crate::dynamics::table::{Table, TableReport};
use crate::error::{Error, Result};
use crate::hallucination::{Choice, Hallucination, Noise};
use crate::logs::{LoggedEpisodes, LoggedSample, Persistence};
use crate::nn::Activation;
use crate::progress::Observer;
use crate::rng::Seed;
use crate::rollout::{Moment, TransitionModel};
use crate::task::{Asked, Choices, Policy, StateBounds, Task};
use crate::unseen::Unseen;

/// More steps would make states that no memory holds.
const MOST_HISTORY: usize = 1_000;

/// How a model is made of data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Earlier steps that the model sees beside the present state and action: the last changes of the state and the
    /// actions that led to them. For states that leave out something with a memory; none by default, and none for
    /// Gaussian processes.
    pub history: usize,
    /// How the ensemble is fitted, if there is one.
    pub ensemble: EnsembleSettings,
    /// Gaussian processes in place of the ensemble.
    pub gp: Option<GpSettings>,
    /// Share of the rows, in whole episodes, set aside for calibration; in (0, 1). A bootstrapped
    /// ensemble sets none aside: members calibrate on what they have not seen.
    pub calibration_share: f64,
    /// One temperature per output, or one for all.
    pub temperatures: TemperatureKind,
    /// Hallucinated states and learned rewards of tasks without bounds stay in the data's range,
    /// widened on both sides by this share of its width.
    pub range_widening: f32,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            history: 0,
            ensemble: EnsembleSettings::default(),
            gp: None,
            calibration_share: 0.1,
            temperatures: TemperatureKind::PerOutput,
            range_widening: 0.5,
        }
    }
}

impl ModelSettings {
    /// Changed to what the paper does: five networks with ReLU that all see the same episodes, fitted by
    /// maximum likelihood.
    pub fn as_in_paper(self) -> Self {
        let ensemble = EnsembleSettings {
            members: 5,
            bootstrap: false,
            tables: false,
            random_functions: 0.0,
            activation: Activation::Relu,
            least_squares: 0.0,
            prior_temperature: Some(1e-4),
            learning_rate: 1e-3,
            ..self.ensemble
        };
        Self { ensemble, ..self }
    }

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
        if self.history > 0 && self.gp.is_some() || self.history > MOST_HISTORY {
            let (name, value) = ("history", self.history.to_string());
            let expected = "at most 1,000 steps, and 0 with Gaussian processes";
            return Err(Error::Setting { name, value, expected });
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
    /// What follows a state and an action.
    pub dynamics: Arc<dyn Dynamics>,
    /// The temperatures, with the evidence.
    pub calibration: Calibration,
    /// Whether its errors follow each other.
    pub persistence: Persistence,
    /// The data's range.
    pub data_range: StateBounds,
    /// Smallest and largest logged reward.
    pub reward_range: [f32; 2],
    /// Hallucinated states and learned rewards of tasks without bounds stay in these ranges, widened
    /// on both sides by this share of their width.
    pub range_widening: f32,
    /// The data it was made of.
    pub data: DataIdentity,
    /// Some of it, with which evaluations are compared.
    pub logged: LoggedSample,
    /// Whole episodes of it, which are played again in the model's worlds.
    pub episodes: LoggedEpisodes,
    /// Columns of the state that no action influences: never predicted, but taken from logged episodes.
    pub exogenous: Vec<usize>,
    /// What states are followed by, if the model sees more than the present.
    pub history: Option<History>,
    /// How the fitting went.
    pub report: FitReport,
}

/// How the fitting went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum FitReport {
    /// Of an ensemble.
    Ensemble(EnsembleReport),
    /// Of a table.
    Table(TableReport),
    /// Of Gaussian processes.
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
        if settings.history > 0 {
            let history = History::of(data, settings.history);
            let present = ModelSettings { history: 0, ..settings.clone() };
            let model = Self::fit(&history.remember(data), &present, seed, observer)?;
            // It is about the data as it was.
            return Ok(Self { data: data.identity(), history: Some(history), ..model });
        }
        let ensemble = &settings.ensemble;
        let all = data.all();
        if settings.gp.is_none() && ensemble.bootstrap {
            let bag = Bag::draw(&all, ensemble, seed)?;
            let unseen = Unseen::out_of_bag(&all, &bag);
            let (dynamics, report): (Arc<dyn Dynamics>, FitReport) = if ensemble.tables {
                let (table, report) = Table::count(&all, &bag, ensemble.learn_reward)?;
                (Arc::new(table), FitReport::Table(report))
            } else {
                let (networks, report) = Ensemble::fit_on(&all, &bag, ensemble, seed, observer)?;
                (Arc::new(networks), FitReport::Ensemble(report))
            };
            return Self::calibrated(data, dynamics, report, &unseen, settings, seed);
        }
        let rng = &mut seed.stream("calibration split");
        let (train, held_out) = all.split(settings.calibration_share, rng)?;
        let (dynamics, report): (Arc<dyn Dynamics>, FitReport) = match &settings.gp {
            Some(gp) => {
                let (processes, report) = GaussianProcess::fit(&train, gp, seed, observer)?;
                (Arc::new(processes), FitReport::Gp(report))
            }
            None => {
                let (ensemble, report) = Ensemble::fit(&train, ensemble, seed, observer)?;
                (Arc::new(ensemble), FitReport::Ensemble(report))
            }
        };
        Self::calibrated(data, dynamics, report, &Unseen::by_all(held_out), settings, seed)
    }

    /// States `[rows, d_s]` as the model sees them: if it has a history, as the first of their episodes.
    pub fn begin(&self, states: ArrayView2<'_, f32>) -> Array2<f32> {
        match &self.history {
            Some(history) => history.begin(states),
            None => states.to_owned(),
        }
    }

    /// What follows states `[rows, d_s]` and actions `[rows, d_a]`, drawn by a random member each,
    /// `[rows, outputs]`.
    pub fn draw(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        seed: Seed,
    ) -> Result<Array2<f32>> {
        let states = self.begin(states);
        let states = states.view();
        let episodes: Vec<usize> = (0..states.nrows()).collect();
        let total = episodes.len();
        let at = Moment { time: 0, horizon: 1, total, episodes: &episodes, states, actions };
        let choice = match self.dynamics.members() {
            0 => Choice::Distribution,
            _ => Choice::RandomMemberPerStep,
        };
        let radius = self.calibration.box_factors();
        let mut world = Hallucination::new(&*self.dynamics, choice, radius, Noise::Gaussian)?;
        let (noise, choices) = (&mut seed.stream("draw: noise"), &mut seed.stream("draw: choices"));
        let outcome = world.step(&at, noise, choices)?;
        let rewards = outcome.rewards.map(|rewards| rewards.insert_axis(Axis(1)));
        let parts: Vec<_> = std::iter::once(outcome.next_states.view())
            .chain(rewards.iter().map(|r| r.view()))
            .collect();
        Ok(concatenate(Axis(1), &parts).expect("one reward per row"))
    }

    fn calibrated(
        data: &Dataset,
        dynamics: Arc<dyn Dynamics>,
        report: FitReport,
        unseen: &Unseen<'_>,
        settings: &ModelSettings,
        seed: Seed,
    ) -> Result<Self> {
        let exogenous = data.exogenous().to_vec();
        let calibration = Calibration::fit(&*dynamics, unseen, settings.temperatures)?;
        Ok(Self {
            persistence: Persistence::measure(&*dynamics, unseen)?.without(&exogenous),
            dynamics,
            calibration: calibration.without(&exogenous),
            data_range: StateBounds::of_data(data),
            reward_range: reward_range(data),
            range_widening: settings.range_widening,
            data: data.identity(),
            logged: LoggedSample::of(data, unseen, &mut seed.stream("sample of the logs")),
            episodes: LoggedEpisodes::of(data, unseen, &mut seed.stream("episodes of the logs")),
            exogenous,
            history: None,
            report,
        })
    }

    /// The same logs as the model sees them.
    pub(crate) fn seen<'a>(&self, logs: &'a Dataset) -> Cow<'a, Dataset> {
        match &self.history {
            Some(history) if logs.state_dim() == history.states => {
                Cow::Owned(history.remember(logs))
            }
            _ => Cow::Borrowed(logs),
        }
    }

    /// The same task where states and actions are as the model has them.
    pub(crate) fn translated<'a>(&self, task: &'a Task) -> Cow<'a, Task> {
        let mut task = match &self.history {
            Some(history) => Cow::Owned(task.remembering(history)),
            None => Cow::Borrowed(task),
        };
        if let Some(against) = task.against.clone() {
            let asked = |policy| Arc::new(self.asked(policy)) as Arc<dyn Policy>;
            task.to_mut().against = Some(against.with_policy(asked));
        }
        task
    }

    /// A policy that sees no more than the present, and acts as the logs have it.
    pub(crate) fn asked<P>(&self, policy: P) -> Asked<P> {
        Asked { policy, columns: self.present_dim(), choices: Arc::new(self.choices()) }
    }

    /// How actions are made up of choices and numbers.
    pub fn choices(&self) -> Choices {
        Choices::in_actions(self.logged.transitions.actions.view())
    }

    /// Columns of the present state.
    pub fn present_dim(&self) -> usize {
        self.history.as_ref().map_or(self.dynamics.state_dim(), |history| history.states)
    }

    /// What the columns are called that the model sees.
    pub(crate) fn names(&self) -> ColumnNames {
        let names = &self.data.names;
        self.history.as_ref().map_or_else(|| names.clone(), |history| history.names(names))
    }

    /// How many outputs matter to a task: a learned reward, the last of them, does not beside a rule.
    pub(crate) fn used_outputs(&self, task: &Task) -> usize {
        if task.reward.is_some() { self.dynamics.next_dim() } else { self.dynamics.outputs() }
    }
}

fn reward_range(data: &Dataset) -> [f32; 2] {
    let none = [f32::INFINITY, f32::NEG_INFINITY];
    data.rewards().iter().fold(none, |[low, high], &r| [low.min(r), high.max(r)])
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("calibration", &self.calibration)
            .field("data_range", &self.data_range)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
