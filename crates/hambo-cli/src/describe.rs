//! An evaluation as text for the terminal.

use hambo::{Evaluation, Report, VariantResult};
use hambo_io::Verdict;

use crate::failure::Exit;
use crate::json::WarningRow;
use crate::screen::{BAD, BOLD, DOUBT, GOOD, count, number, styled, table, wrap};
use crate::source::Source;

/// The table of variants, the constraints, the warnings and, last, the bound and the verdict.
pub fn evaluation(found: &Evaluation, warnings: &[WarningRow], threshold: Option<f64>) -> String {
    let verdict = Verdict::of(found, threshold);
    let mut text = variants(&found.variants);
    for constraint in &found.constraints {
        text += &format!(
            "\nconstraint {} (mean over an episode, must not be negative)\n",
            constraint.name
        );
        text += &variants(&constraint.variants);
    }
    text.push('\n');
    text += &doubts(warnings);
    if !warnings.is_empty() {
        text.push('\n');
    }
    text += &format!("{}\n", wrap(&format!("delta covers {}", found.delta_covers), 0, 0));
    text + &conclusion(found, &verdict, threshold)
}

/// Every warning once: the same may hold for the return and for constraints.
pub fn doubts(warnings: &[WarningRow]) -> String {
    let mut text = String::new();
    for (index, warning) in warnings.iter().enumerate() {
        if warnings[..index].contains(warning) {
            continue;
        }
        let message = format!("{} {}", styled(DOUBT, "warning:"), warning.message);
        text += &format!("{}\n", wrap(&message, 0, 2));
        text += &format!("{}\n", wrap(&format!("help: {}", warning.help), 2, 4));
    }
    text
}

/// The last line; with `--quiet` only warnings stand before it.
pub fn conclusion(found: &Evaluation, verdict: &Verdict, threshold: Option<f64>) -> String {
    let decimals = decimals(&found.variants);
    let bound = match found.lower_bound {
        Some(bound) => {
            let bound = styled(BOLD, &floor(bound, decimals));
            format!("lower bound on the return {bound} (delta {})", found.delta)
        }
        None => "no bound: only neutral variants were played".into(),
    };
    let style = match verdict {
        Verdict::Certified => GOOD,
        Verdict::NotCertified => BAD,
        _ => DOUBT,
    };
    match (verdict, threshold) {
        (Verdict::NoThreshold, _) | (_, None) => format!("{bound}\n"),
        (verdict, Some(threshold)) => {
            let word = styled(style, verdict.word());
            let shown = number(threshold);
            let line = format!(
                "{word}: {bound}, threshold {shown}; {}",
                meaning(found, verdict, threshold)
            );
            format!("{}\n", wrap(&line, 0, 2))
        }
    }
}

fn meaning(found: &Evaluation, verdict: &Verdict, threshold: f64) -> String {
    match verdict {
        Verdict::Certified => "the bound reaches it".into(),
        Verdict::NotCertified => {
            let missed = |bound: Option<f64>| bound.is_some_and(|bound| bound < 0.0);
            let constraints = found.constraints.iter().filter(|c| missed(c.lower_bound));
            let names: Vec<&str> = constraints.map(|c| c.name.as_str()).collect();
            match found.lower_bound.is_some_and(|bound| bound >= threshold) {
                false => "the data does not prove that it is reached".into(),
                true => format!("the data does not prove the constraint {}", names.join(", ")),
            }
        }
        Verdict::Inconclusive { doubts } if doubts.is_empty() => "nothing was bounded".into(),
        Verdict::Inconclusive { .. } => "the warnings above make the bound untrustworthy".into(),
        Verdict::NoThreshold => String::new(),
    }
}

pub fn exit(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Certified | Verdict::NoThreshold => Exit::Done,
        Verdict::NotCertified => Exit::NotCertified,
        Verdict::Inconclusive { .. } => Exit::Inconclusive,
    }
}

fn variants(results: &[VariantResult]) -> String {
    let decimals = decimals(results);
    let header = ["variant", "mean return", "std error", "lower bound", "rounds", "outside data"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for result in results {
        let rounds = match (result.converged, result.rounds.len()) {
            (None, _) => "-".into(),
            (Some(true), rounds) => rounds.to_string(),
            (Some(false), rounds) => format!("{rounds}, not converged"),
        };
        let bound = match result.name.is_conservative() {
            true => floor(result.lower_bound, decimals),
            false => "neutral".into(),
        };
        rows.push(vec![
            result.name.to_string(),
            format!("{:.decimals$}", result.estimate.mean),
            format!("{:.decimals$}", result.estimate.std_error),
            bound,
            rounds,
            format!("{:.1} %", 100.0 * result.outside_data),
        ]);
    }
    table(&rows, 1)
}

/// Two digits of the smallest standard error.
fn decimals(results: &[VariantResult]) -> usize {
    let errors = results.iter().map(|result| result.estimate.std_error);
    let least = errors.filter(|error| *error > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() { (1.0 - least.log10().floor()).clamp(0.0, 6.0) as usize } else { 2 }
}

/// Rounded down: a bound must not look higher than it is.
pub fn floor(value: f64, decimals: usize) -> String {
    let factor = 10f64.powi(decimals as i32);
    format!("{:.decimals$}", (value * factor).floor() / factor)
}

/// What a fit settled on.
pub fn model(source: &Source) -> String {
    let Source { model, .. } = source;
    let (rows, episodes) = (count(model.data.rows), count(model.data.episodes));
    let kind = match &model.report {
        Report::Ensemble(fit) => {
            let members = model.dynamics.members();
            format!("ensemble of {members}, best at step {} of {}", fit.best_step, fit.steps)
        }
        Report::Gp(fit) => format!("Gaussian processes on {} transitions", count(fit.rows)),
    };
    let reward = if model.dynamics.predicts_reward() { "learned" } else { "not learned" };
    let calibration = &model.calibration;
    let temperatures: Vec<String> =
        calibration.temperatures.iter().map(|&t| number(f64::from(t))).collect();
    let rows = [
        ["data", &format!("{rows} transitions in {episodes} episodes")],
        ["model", &kind],
        ["reward", reward],
        [
            "calibration",
            &format!(
                "error {} before, {} after; {} transitions",
                number(calibration.error_before),
                number(calibration.error_after),
                count(calibration.points)
            ),
        ],
        ["temperatures", &temperatures.join(", ")],
    ];
    table(&rows.map(|row| row.map(String::from).to_vec()), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_down() {
        assert_eq!(floor(-417.391, 1), "-417.4");
        assert_eq!(floor(417.39, 1), "417.3");
        assert_eq!(floor(-3.0, 0), "-3");
    }
}
