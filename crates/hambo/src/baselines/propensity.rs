//! How probable logged actions were, estimated where the logs do not say it.

use ndarray::{Array2, Axis};

use crate::logs::{LoggedActions, LoggedEpisodes};

/// No choice is less probable than this.
const LEAST: f64 = 0.01;

/// Smallest standard deviation of a column, as a share of how much it varies.
const LEAST_STD: f64 = 1e-3;

/// Logarithms of probabilities or densities, by networks that have learned what is done on average in every state: for
/// choices that are a one and zeros that is how often each is made, and for numbers the mean of a Gaussian. Or why that
/// cannot be done.
pub(super) fn estimated(
    kept: &LoggedEpisodes,
    columns: &[LoggedActions],
) -> Result<Vec<f64>, String> {
    let logged = &kept.transitions;
    let rows: Vec<usize> = (0..logged.rewards.len()).collect();
    let usual = kept.behaviour().act(logged.states.view(), &rows);
    let actions = logged.actions.mapv(f64::from);
    if is_choice(&actions) {
        return Ok(rows.iter().map(|&row| of_choice(&usual, &actions, row)).collect());
    }
    let usual = usual.mapv(f64::from);
    match columns {
        [LoggedActions::Choices(two)] if two.len() == 2 => {
            let [low, high] = [f64::from(two[0]), f64::from(two[1])];
            Ok(rows.iter().map(|&row| of_two(usual[[row, 0]], actions[[row, 0]], low, high)).collect())
        }
        columns if columns.iter().all(|column| matches!(column, LoggedActions::Range(..))) => {
            Ok(of_numbers(&usual, &actions))
        }
        _ => Err("probabilities of choices are estimated only if each choice has a column of its own; read the logs \
                  with `discrete_actions`"
            .into()),
    }
}

/// Of one of two values, by the mean of both.
fn of_two(usual: f64, action: f64, low: f64, high: f64) -> f64 {
    let share = ((usual - low) / (high - low)).clamp(LEAST, 1.0 - LEAST);
    if action == high { share.ln() } else { (1.0 - share).ln() }
}

fn is_choice(actions: &Array2<f64>) -> bool {
    let is_one_hot = |row: ndarray::ArrayView1<'_, f64>| {
        row.iter().all(|&value| value == 0.0 || value == 1.0) && row.sum() == 1.0
    };
    actions.ncols() > 1 && actions.rows().into_iter().all(is_one_hot)
}

fn of_choice(usual: &Array2<f32>, actions: &Array2<f64>, row: usize) -> f64 {
    let shares = usual.row(row).mapv(|share| f64::from(share).max(LEAST));
    (shares.dot(&actions.row(row)) / shares.sum()).ln()
}

fn of_numbers(usual: &Array2<f64>, actions: &Array2<f64>) -> Vec<f64> {
    let errors = actions - usual;
    let least = actions.std_axis(Axis(0), 0.0) * LEAST_STD;
    let stds = errors.mapv(|error| error * error).mean_axis(Axis(0)).unwrap_or_default();
    let stds: Vec<f64> =
        stds.iter().zip(&least).map(|(square, least)| square.sqrt().max(*least)).collect();
    let half_log_2_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let density = |(error, std): (&f64, &f64)| {
        -0.5 * (error / std).powi(2) - std.max(f64::MIN_POSITIVE).ln() - half_log_2_pi
    };
    errors.rows().into_iter().map(|row| row.iter().zip(&stds).map(density).sum()).collect()
}
