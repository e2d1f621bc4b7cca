//! A model whose every expectation is known.

pub(crate) mod linear;
pub(crate) mod scalars;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hambo::calibration::{Calibration, TemperatureKind};
use hambo::dataset::{ColumnNames, DataIdentity};
use hambo::dynamics::ensemble::EnsembleReport;
use hambo::dynamics::{MemberPrediction, Members};
use hambo::{
    BoxError, Device, Dynamics, FitReport, LoggedEpisodes, LoggedSample, Model, Persistence,
    Policy, Prediction, Result, Reward, StateBounds, Transitions,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, array};

/// Where networks live in these tests: on the processor, or where `HAMBO_TEST_DEVICE` says (`just test-wgpu`).
pub(crate) fn device() -> Device {
    match std::env::var("HAMBO_TEST_DEVICE").as_deref() {
        Err(_) | Ok("cpu") => Device::Cpu,
        Ok("wgpu") => Device::Wgpu,
        Ok("cuda") => Device::Cuda,
        Ok(other) => panic!("`HAMBO_TEST_DEVICE` is {other}"),
    }
}

/// Members that predict `s' = s A_k + a B + drift_k`, with constant aleatoric std.
pub(crate) struct LinearModel {
    pub matrices: Vec<Array2<f32>>,
    pub drifts: Vec<Array1<f32>>,
    pub action_matrix: Array2<f32>,
    pub noise_std: f32,
    /// Rows predicted so far, counted once per member that looked at them.
    pub rows_predicted: AtomicUsize,
}

impl LinearModel {
    /// Two dimensions, three members that differ in matrix and drift.
    pub(crate) fn three_members(noise_std: f32) -> Self {
        Self {
            matrices: vec![
                array![[0.9, 0.1], [-0.1, 0.9]],
                array![[0.8, 0.0], [0.1, 1.0]],
                array![[1.0, -0.1], [0.0, 0.7]],
            ],
            drifts: vec![array![0.1, 0.0], array![-0.2, 0.1], array![0.0, 0.3]],
            action_matrix: array![[0.5, -0.2]],
            noise_std,
            rows_predicted: AtomicUsize::new(0),
        }
    }

    fn mean_of(&self, k: usize, s: ArrayView2<'_, f32>, a: ArrayView2<'_, f32>) -> Array2<f32> {
        self.rows_predicted.fetch_add(s.nrows(), Ordering::Relaxed);
        s.dot(&self.matrices[k]) + a.dot(&self.action_matrix) + &self.drifts[k]
    }
}

impl Dynamics for LinearModel {
    fn device(&self) -> Device {
        device()
    }

    fn state_dim(&self) -> usize {
        2
    }

    fn action_dim(&self) -> usize {
        1
    }

    fn predicts_reward(&self) -> bool {
        false
    }

    fn predict(&self, s: ArrayView2<'_, f32>, a: ArrayView2<'_, f32>) -> Result<Prediction> {
        let mut means = Array3::zeros((self.matrices.len(), s.nrows(), 2));
        for (k, mut mean) in means.outer_iter_mut().enumerate() {
            mean.assign(&self.mean_of(k, s, a));
        }
        let stds = Array3::from_elem(means.raw_dim(), self.noise_std);
        Ok(Prediction::of_members(Members { means, stds }))
    }

    fn members(&self) -> usize {
        self.matrices.len()
    }

    fn predict_member(
        &self,
        member: usize,
        s: ArrayView2<'_, f32>,
        a: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let mean = self.mean_of(member, s, a);
        let std = Array2::from_elem(mean.raw_dim(), self.noise_std);
        Ok(MemberPrediction { mean, std })
    }
}

/// `a = s · gain`, linear, so that expectations pass through it.
pub(crate) struct LinearPolicy(pub Array1<f32>);

impl Policy for LinearPolicy {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut hambo::rng::RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(states.dot(&self.0).insert_axis(Axis(1)))
    }
}

/// `r = s · weights`.
pub(crate) struct LinearReward(pub Array1<f32>);

impl Reward for LinearReward {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        Ok(states.dot(&self.0))
    }
}

pub(crate) fn reward() -> Option<Arc<dyn Reward>> {
    Some(Arc::new(LinearReward(array![1.0, -0.5])))
}

pub(crate) fn policy() -> LinearPolicy {
    LinearPolicy(array![-0.1, 0.2])
}

/// Mean return over `horizon` steps from `start` of the linear system whose matrix and drift are
/// those given, under [`policy`] and [`reward`].
pub(crate) fn exact_return(
    model: &LinearModel,
    matrix: &Array2<f32>,
    drift: &Array1<f32>,
    start: &Array1<f32>,
    horizon: usize,
) -> f64 {
    let gain = policy().0.insert_axis(Axis(1));
    let closed_loop = (matrix + &gain.dot(&model.action_matrix)).mapv(f64::from);
    let drift = drift.mapv(f64::from);
    let weights = array![1.0, -0.5];
    let mut mean = start.mapv(f64::from);
    let mut total = 0.0;
    for _ in 0..horizon {
        total += mean.dot(&weights);
        mean = mean.dot(&closed_loop) + &drift;
    }
    total
}

/// Members that agree on the matrix and differ in the drift by plus and minus `std`: the epistemic
/// std is `std` everywhere.
pub(crate) fn constant_std(std: [f32; 2], noise_std: f32) -> LinearModel {
    let matrix = array![[0.9, 0.1], [-0.1, 0.9]];
    LinearModel {
        matrices: vec![matrix.clone(), matrix],
        drifts: vec![array![std[0], std[1]], array![-std[0], -std[1]]],
        ..LinearModel::three_members(noise_std)
    }
}

/// A perfectly calibrated model of these dynamics, of whose data nothing is known.
pub(crate) fn calibrated(dynamics: impl Dynamics) -> Model {
    let (states, actions, outputs) =
        (dynamics.state_dim(), dynamics.action_dim(), dynamics.outputs());
    let residuals = Array2::zeros((10, outputs));
    let calibration = Calibration::of_residuals(residuals.view(), TemperatureKind::PerOutput)
        .expect("finite residuals");
    let widest = Array1::from_elem(states, 1e3);
    Model {
        dynamics: Arc::new(dynamics),
        calibration: Calibration {
            temperatures: Array1::ones(outputs),
            error_after: 0.0,
            usual_epistemic_std: Array1::from_elem(outputs, 1e3),
            ..calibration
        },
        data_range: StateBounds::new(-&widest, widest).expect("a range"),
        reward_range: [-1e3, 1e3],
        range_widening: 0.5,
        exogenous: Vec::new(),
        history: None,
        data: DataIdentity {
            rows: 0,
            episodes: 0,
            terminated_episodes: 0,
            names: ColumnNames::numbered(states, actions),
            fingerprint: String::new(),
        },
        persistence: Persistence::default(),
        logged: LoggedSample::none(states, actions),
        episodes: LoggedEpisodes::none(states, actions),
        report: FitReport::Ensemble(EnsembleReport {
            steps: 0,
            best_step: 0,
            held_out: Vec::new(),
            weaker: Vec::new(),
        }),
    }
}
