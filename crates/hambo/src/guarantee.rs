//! What the paper's theorems say about an evaluation, for models that they speak about.

use std::f64::consts::LN_10;

use ndarray::{Array1, ArrayView1, s};
use serde::{Deserialize, Serialize};

use crate::dynamics::Confidence;
use crate::dynamics::theory::{GapConstants, ln_gap_constant};
use crate::error::Result;
use crate::game::Game;
use crate::hallucination::Choice;
use crate::rollout::Streams;

/// Neutral episodes from which slopes and uncertainties are measured.
const EPISODES: usize = 200;

/// The model's confidence region, and how far the bound can be from the truth at the very worst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// The confidence region.
    pub confidence: Confidence,
    /// L_r: the steepest slope between states of neutral episodes, which the true constant may
    /// exceed.
    pub measured_lipschitz_reward: f64,
    /// L_π, measured likewise.
    pub measured_lipschitz_policy: f64,
    /// Mean of ‖σ_n‖ over the steps of neutral episodes.
    pub mean_std: f64,
    /// log10 of the gap of `theorem:lower_bound`, C_n · E‖σ_n‖; none if the kernel has no Lipschitz
    /// constant, or if the gap is zero.
    pub log10_worst_gap: Option<f64>,
    /// What that number means.
    pub meaning: String,
}

impl Guarantee {
    pub(crate) fn measure(
        confidence: &Confidence,
        game: &Game<'_>,
        streams: &mut Streams,
    ) -> Result<Self> {
        let state_dim = game.dynamics.state_dim();
        let (mut reward, mut policy) = (0.0_f64, 0.0_f64);
        let (mut stds, mut steps) = (0.0, 0);
        game.play(Choice::Distribution, EPISODES, streams, |step| {
            for row in 1..step.episodes.len() {
                let states = distance(step.states.row(row), step.states.row(row - 1));
                let actions = distance(step.actions.row(row), step.actions.row(row - 1));
                let rewards = f64::from(step.rewards[row] - step.rewards[row - 1]).abs();
                policy = policy.max(slope(actions, states));
                reward = reward.max(slope(rewards, states.hypot(actions)));
            }
            if let Some(std) = step.epistemic_std {
                let of_states = std.slice(s![.., ..state_dim]);
                let zero = Array1::zeros(state_dim);
                let norms = of_states.rows().into_iter().map(|std| distance(std, zero.view()));
                stds += norms.sum::<f64>();
                steps += std.nrows();
            }
            Ok(())
        })?;
        let mean_std = stds / steps.max(1) as f64;
        let beta = confidence.radius.iter().copied().fold(0.0, f64::max);
        let horizon = game.task.horizon;
        let constants = confidence.lipschitz_dynamics.zip(confidence.lipschitz_std);
        let ln_gap = constants.map(|(dynamics, std)| {
            let of = GapConstants { reward, policy, dynamics, std, beta, state_dim, horizon };
            ln_gap_constant(&of) + mean_std.ln()
        });
        Ok(Self {
            confidence: confidence.clone(),
            measured_lipschitz_reward: reward,
            measured_lipschitz_policy: policy,
            mean_std,
            // JSON has no infinity.
            log10_worst_gap: ln_gap.map(|ln| ln / LN_10).filter(|log| log.is_finite()),
            meaning: "the theorem lets every error steer all later steps at the steepest slope \
                      anywhere, so its gap grows exponentially with the horizon; it proves that the \
                      bound converges to the truth, and is no estimate of how far it is from it"
                .into(),
        })
    }
}

fn distance(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
}

/// Rise over run, or zero for points that float32 hardly tells apart.
fn slope(rise: f64, run: f64) -> f64 {
    if run > 1e-6 { rise / run } else { 0.0 }
}
