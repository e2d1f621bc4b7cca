//! Learned transition models with honest uncertainty.

pub mod ensemble;
pub mod gp;
pub mod kernel;
mod svgd;
#[cfg(test)]
mod svgd_tests;
pub mod table;
pub mod theory;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

pub use svgd::SteinKernel;

use crate::error::{Error, Result};
use crate::nn::Device;

/// A model of what follows a state and an action.
///
/// Its outputs are columns of the next state, all except for what has happened before, followed by the reward if the
/// model learned it.
pub trait Dynamics: std::any::Any + Send + Sync {
    /// Columns of a state, d_s.
    fn state_dim(&self) -> usize;

    /// Columns of an action, d_a.
    fn action_dim(&self) -> usize;

    /// Columns of the next state that it predicts: the first ones. What follows them has happened before.
    fn next_dim(&self) -> usize {
        self.state_dim()
    }

    /// Whether the last output is the reward.
    fn predicts_reward(&self) -> bool;

    /// Predictions for states `[batch, d_s]` and actions `[batch, d_a]`.
    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction>;

    /// Number of members whose predictions can be asked for one by one; zero if there are none.
    fn members(&self) -> usize {
        0
    }

    /// What one member predicts, at a cost of one member. Only for `member < self.members()`.
    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let _ = (states, actions);
        let variant = format!("member {member}");
        Err(Error::NoMembers { variant, members: self.members() })
    }

    /// Members that draw outcomes themselves, if they do. Otherwise they predict, and noise is added.
    fn counted(&self) -> Option<&dyn Counted> {
        None
    }

    /// A region that contains the true dynamics with probability at least `1 - delta`; none if
    /// nothing is proven about the model.
    fn confidence(&self, delta: f64) -> Option<Confidence> {
        let _ = delta;
        None
    }

    /// Where its networks live, and those of whoever learns from it.
    fn device(&self) -> Device {
        Device::Cpu
    }

    /// Number of outputs.
    fn outputs(&self) -> usize {
        self.next_dim() + usize::from(self.predicts_reward())
    }
}

/// max_k ‖σ_k(s, a)‖: how uncertain the least certain member is by itself, `[rows]`. MOPO's penalty.
pub(crate) fn largest_std(
    dynamics: &dyn Dynamics,
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
) -> Result<Array1<f32>> {
    let mut largest = Array1::zeros(states.nrows());
    for member in 0..dynamics.members() {
        let said = dynamics.predict_member(member, states, actions)?;
        for (largest, stds) in largest.iter_mut().zip(said.std.rows()) {
            *largest = f32::max(*largest, stds.dot(&stds).sqrt());
        }
    }
    Ok(largest)
}

/// A model whose members have counted what follows.
pub trait Counted: std::fmt::Debug + Sync {
    /// Whether any log holds this pair.
    fn is_logged(&self, state: ArrayView1<'_, f32>, action: ArrayView1<'_, f32>) -> bool;

    /// What follows, drawn by each row's member, `[rows, outputs]`. `draws` are uniform in [0, 1), one per
    /// row.
    fn draw(
        &self,
        members: &[usize],
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        draws: &[f64],
    ) -> Array2<f32>;
}

/// What is proven about a model, and what the proof takes for granted. Norms are those of the
/// kernels' spaces, in standardised units; Lipschitz constants are in the units of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// β_n, per output: half-width of the region in epistemic stds.
    pub radius: Vec<f64>,
    /// Information gain of the data, per output.
    pub information_gain: Vec<f64>,
    /// B, per output.
    pub norm_bound: Vec<f64>,
    /// Whether B was estimated instead of given.
    pub norm_is_estimated: bool,
    /// Whether the kernel was chosen by the data, which the proof does not allow for.
    pub hyperparameters_are_learned: bool,
    /// L_f; none for a kernel that has no such constant.
    pub lipschitz_dynamics: Option<f64>,
    /// L_σ; none for a kernel that has no such constant.
    pub lipschitz_std: Option<f64>,
}

/// A batch of predictions `[batch, outputs]`, in the units of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Mean over the posterior, μ.
    pub mean: Array2<f32>,
    /// What more data would remove, σ_e.
    pub epistemic_std: Array2<f32>,
    /// What no data would remove, σ_a.
    pub aleatoric_std: Array2<f32>,
    /// The single members' predictions, if the model has members.
    pub members: Option<Members>,
}

/// Predictions of one member, each `[batch, outputs]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberPrediction {
    /// Mean of the next outputs.
    pub mean: Array2<f32>,
    /// Its noise: what the member cannot predict.
    pub std: Array2<f32>,
}

/// Predictions of the members of an ensemble, each `[members, batch, outputs]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Members {
    /// Each member's mean.
    pub means: Array3<f32>,
    /// Each member's noise.
    pub stds: Array3<f32>,
}

impl Prediction {
    /// The mixture of the members, equally weighted (`eq:predictive_gmm`):
    ///
    ///   μ = 1/K Σ h_k      σ_e² = 1/K Σ (h_k - μ)²      σ_a² = 1/K Σ ν_k²
    pub fn of_members(members: Members) -> Self {
        let k = members.means.len_of(Axis(0)) as f32;
        let mean = members.means.sum_axis(Axis(0)) / k;
        let mean_square = |squares: Array3<f32>| (squares.sum_axis(Axis(0)) / k).mapv(f32::sqrt);
        Self {
            epistemic_std: mean_square((&members.means - &mean).mapv(|d| d * d)),
            aleatoric_std: mean_square(members.stds.mapv(|d| d * d)),
            mean,
            members: Some(members),
        }
    }

    /// What only some members say, row by row: those with a flag in `who`, `[batch, members]`. Rows without
    /// any, and models without members, are left as they are.
    ///
    /// Few members scatter less than all of them by the same spread; their σ_e² is scaled to what K
    /// would be expected to show.
    pub(crate) fn by_those(mut self, who: ArrayView2<'_, bool>) -> Self {
        let Some(members) = self.members.take() else { return self };
        let k = members.means.len_of(Axis(0));
        if who.ncols() == k {
            for (row, who) in who.rows().into_iter().enumerate() {
                let some: Vec<usize> = (0..k).filter(|&member| who[member]).collect();
                if !some.is_empty() {
                    self.set_row(row, &members, &some);
                }
            }
        }
        Self { members: Some(members), ..self }
    }

    fn set_row(&mut self, row: usize, members: &Members, some: &[usize]) {
        let (m, k) = (some.len() as f32, members.means.len_of(Axis(0)) as f32);
        for output in 0..self.mean.ncols() {
            let sum = |value: &dyn Fn(usize) -> f32| some.iter().map(|&k| value(k)).sum::<f32>();
            let mean = sum(&|k| members.means[[k, row, output]]) / m;
            let squares = sum(&|k| (members.means[[k, row, output]] - mean).powi(2));
            let noise = sum(&|k| members.stds[[k, row, output]].powi(2));
            self.mean[[row, output]] = mean;
            // One alone disagrees with nobody; what all of them say is then closest to it.
            if some.len() > 1 {
                self.epistemic_std[[row, output]] = (squares / (m - 1.0) * (k - 1.0) / k).sqrt();
            }
            self.aleatoric_std[[row, output]] = (noise / m).sqrt();
        }
    }

    /// Standard deviation of the predictive distribution, √(σ_e² + σ_a²).
    pub fn total_std(&self) -> Array2<f32> {
        ndarray::Zip::from(&self.epistemic_std)
            .and(&self.aleatoric_std)
            .map_collect(|epistemic, aleatoric| epistemic.hypot(*aleatoric))
    }
}

/// Checks that a batch has the widths that a model was fitted on, and as many actions as states.
pub(crate) fn check_batch(
    dynamics: &dyn Dynamics,
    states: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
) -> Result<()> {
    let widths = [
        ("states", dynamics.state_dim(), states.ncols()),
        ("actions", dynamics.action_dim(), actions.ncols()),
    ];
    for (part, expected, found) in widths {
        if expected != found {
            return Err(Error::Dimension { part, expected, found });
        }
    }
    if states.nrows() != actions.nrows() {
        let (expected, found) = (vec![states.nrows()], vec![actions.nrows()]);
        return Err(Error::SuppliedShape { part: "actions", expected, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn mixture_moments_are_those_of_the_members() {
        let prediction = Prediction::of_members(Members {
            means: array![[[1.0]], [[3.0]]],
            stds: array![[[0.6]], [[0.8]]],
        });
        assert_eq!(prediction.mean, array![[2.0]]);
        assert_eq!(prediction.epistemic_std, array![[1.0]]);
        assert!((prediction.aleatoric_std[[0, 0]] - 0.5_f32.sqrt()).abs() < 1e-6);
        assert!((prediction.total_std()[[0, 0]] - 1.5_f32.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn rows_are_predicted_by_those_who_are_asked() {
        let members = Members {
            means: array![[[1.0], [1.0]], [[3.0], [3.0]], [[8.0], [8.0]]],
            stds: array![[[1.0], [1.0]], [[1.0], [1.0]], [[2.0], [2.0]]],
        };
        let all = Prediction::of_members(members);
        let alone = all.clone().by_those(array![[true, false, false], [true, true, true]].view());
        assert_eq!(alone.mean[[0, 0]], 1.0);
        assert_eq!(alone.epistemic_std[[0, 0]], all.epistemic_std[[0, 0]]);
        let who = array![[true, true, false], [false, false, false]];
        let found = all.clone().by_those(who.view());
        assert_eq!(found.mean, array![[2.0], [4.0]]);
        // Two that differ by two have a variance of 2, of which three would be expected to show 2/3.
        assert!((found.epistemic_std[[0, 0]] - (4.0_f32 / 3.0).sqrt()).abs() < 1e-6);
        assert_eq!(found.aleatoric_std[[0, 0]], 1.0);
        assert_eq!(found.epistemic_std[[1, 0]], all.epistemic_std[[1, 0]]);
        assert_eq!(all.clone().by_those(array![[true], [true]].view()), all);
    }
}
