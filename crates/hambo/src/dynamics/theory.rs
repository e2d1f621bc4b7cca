//! The constants of the paper's guarantees for Gaussian processes, each a small function.

/// Half-width β_n of the confidence interval, in posterior standard deviations: with probability at
/// least 1 - δ, |μ_j(x) - f_j(x)| <= β σ_j(x) for every x and all `outputs` functions at once, if
/// ‖f_j‖_k <= B (`lem:gp_calibrated`; Abbasi-Yadkori, 2012, theorem 3.11).
///
///   β = B + R/√λ · √(2 (I_n + 1 + ln(d/δ)))
///
/// R is the noise's standard deviation (sub-Gaussian scale), λ what regularises the kernel matrix,
/// I_n = ½ ln det(I + K/λ) the information gain of the data.
///
/// Departure: the paper writes σ_ε where R/√λ stands here. The two agree for λ = 1, which the theorem
/// that it cites assumes; its own posterior has λ = σ_ε², where R/√λ = 1. See NOTATION.md.
pub fn beta(
    norm_bound: f64,
    noise_ratio: f64,
    information_gain: f64,
    outputs: usize,
    delta: f64,
) -> f64 {
    let confidence = information_gain + 1.0 + (outputs as f64 / delta).ln();
    norm_bound + noise_ratio * (2.0 * confidence).sqrt()
}

/// Lipschitz constant of a vector of functions, given those of its parts (`lemma:lip_f_sigma_gp`,
/// where all parts have the same): B_j L_k,j for the dynamics, L_k,j for the posterior std.
pub fn lipschitz_of_parts(parts: impl IntoIterator<Item = f64>) -> f64 {
    parts.into_iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// What the constant of `theorem:lower_bound` depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapConstants {
    /// L_r.
    pub reward: f64,
    /// L_π.
    pub policy: f64,
    /// L_f.
    pub dynamics: f64,
    /// L_σ.
    pub std: f64,
    /// β_n.
    pub beta: f64,
    /// d_s.
    pub state_dim: usize,
    /// T, in steps.
    pub horizon: usize,
}

/// ln C_n (`theorem:lower_bound`); the logarithm, because C_n itself is often beyond float64.
///
///   C_n = L̄_r (1 + √d_s) β T² (1 + L̄_f + (1 + √d_s) β L̄_σ)^(T-1)      L̄ = L (1 + L_π)
pub fn ln_gap_constant(of: &GapConstants) -> f64 {
    let closed_loop = |constant: f64| constant * (1.0 + of.policy);
    let (beta, horizon) = (of.beta, of.horizon as f64);
    let spread = (1.0 + (of.state_dim as f64).sqrt()) * beta;
    let growth = 1.0 + closed_loop(of.dynamics) + spread * closed_loop(of.std);
    closed_loop(of.reward).ln() + spread.ln() + 2.0 * horizon.ln() + (horizon - 1.0) * growth.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beta_is_the_norm_without_noise_and_grows_with_confidence() {
        assert_eq!(beta(2.0, 0.0, 50.0, 3, 0.05), 2.0);
        assert!(beta(2.0, 1.0, 50.0, 3, 0.01) > beta(2.0, 1.0, 50.0, 3, 0.1));
        // By hand: 2 + √(2 (50 + 1 + ln 60)).
        assert!((beta(2.0, 1.0, 50.0, 3, 0.05) - 12.4971).abs() < 1e-4);
    }

    #[test]
    fn the_gap_constant_is_the_printed_product() {
        let of = GapConstants {
            reward: 1.5,
            policy: 0.5,
            dynamics: 1.1,
            std: 0.2,
            beta: 2.0,
            state_dim: 4,
            horizon: 3,
        };
        // L̄_r = 2.25, L̄_f = 1.65, L̄_σ = 0.3, 1 + √4 = 3.
        let direct = 2.25 * 3.0 * 2.0 * 9.0 * (1.0 + 1.65 + 3.0 * 2.0 * 0.3_f64).powi(2);
        assert!((ln_gap_constant(&of) - direct.ln()).abs() < 1e-12);
    }

    #[test]
    fn equal_parts_give_the_papers_square_root_of_the_dimension() {
        assert!((lipschitz_of_parts([3.0; 4]) - 6.0).abs() < 1e-12);
    }
}
