//! What δ covers, part by part, in numbers that a reader can compute again.

use hambo::bound::Estimate;
use hambo::{Guarantee, VariantResult};

use super::contents::Contents;
use super::markup::{NUMBER, TEXT, section, table};
use super::text::{as_given, escape, fixed, number, percent, rounded_down};
use super::worlds;

pub(super) fn guarantee(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let limit = worlds::limit(contents);
    let lead = match evaluation.guarantee {
        _ if limit.is_some() => {
            "δ covers how much the worlds disagree and the Monte Carlo error, on one assumption, which your \
             own logs have tested."
        }
        Some(_) => {
            "For Gaussian processes δ covers the model and the Monte Carlo error, one half each, on \
             the conditions below."
        }
        None => "δ covers the Monte Carlo error only: nothing is proven about the model.",
    };
    let theorems = match &evaluation.guarantee {
        Some(proven) => format!("{}{}", region(contents, proven), gap(contents, proven)),
        None => String::new(),
    };
    let content = match limit {
        Some(limit) => format!("{}{}", parts_of_worlds(contents), worlds::terms(contents, limit)),
        None => format!("{}{}{theorems}", parts(contents), limits(contents)),
    };
    section("guarantee", "What is guaranteed", lead, &content)
}

/// Each part of a limit over worlds: what was done, and when it holds.
fn parts_of_worlds(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let episodes = fixed(evaluation.settings.episodes as f64, 0);
    let limit = worlds::limit(contents);
    let tested = match limit.and_then(|limit| limit.replay.as_ref()) {
        Some(replay) => format!(
            "Measured in the worlds’ own spread, the model errs no more about this policy’s return than \
             it did about {} replayed episodes (worst: {}).",
            replay.episodes(),
            escape(&replay.worst)
        ),
        None => {
            "The truth is like one more world. <strong>No logged episode has tested it.</strong>"
                .into()
        }
    };
    let model = vec![
        "Model".to_owned(),
        format!(
            "Each of {} worlds, one function in all steps, was fitted on its own draw of the episodes. A \
             Student limit over them holds for one more world.",
            evaluation.members
        ),
        tested,
    ];
    let independent = match starts_are_sampled(contents) {
        true => "logged starts, each with all of its episodes,",
        false => "episodes",
    };
    let monte_carlo = vec![
        "Monte Carlo".to_owned(),
        format!(
            "{episodes} fresh episodes in every world, from the same starts and with the same draws."
        ),
        format!("The {independent} are independent, and their mean is close to normal."),
    ];
    let columns = [("Part", TEXT), ("What was done", TEXT), ("Holds if", TEXT)];
    let table = table(&columns, &[model, monte_carlo], None);
    format!("<div class=\"parts\">{table}{}</div>", joint(contents))
}

/// What δ means for several bounds at once.
fn joint(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let part = evaluation.monte_carlo_delta;
    match evaluation.constraints.len() {
        0 => String::new(),
        constraints => {
            let bounds = constraints + 1;
            let together = evaluation.delta - part + bounds as f64 * part;
            format!(
                "<p class=\"note\">Each of the {bounds} bounds, of the return and of the constraints, has a δ \
                 of its own. All together, what δ covers fails with probability {} at most.</p>",
                as_given(rounded(together.min(1.0)))
            )
        }
    }
}

/// Each part of the bound: its share of δ, what was done, and when it holds.
fn parts(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let model = match &evaluation.guarantee {
        Some(proven) => proven_model(contents, proven),
        None => heuristic_model(contents),
    };
    let independent = match starts_are_sampled(contents) {
        true => "logged starts, each with all of its episodes,",
        false => "episodes",
    };
    let monte_carlo = vec![
        "Monte Carlo".to_owned(),
        share(contents.evaluation.monte_carlo_delta, evaluation.delta),
        format!(
            "One-sided Student limit of each variant’s mean return over {} fresh episodes. The smallest \
             limit is the bound; taking the minimum costs no δ.",
            fixed(evaluation.settings.episodes as f64, 0)
        ),
        format!("The {independent} are independent, and their mean is close to normal."),
    ];
    let adversary = vec![
        "Adversary".to_owned(),
        "none".to_owned(),
        "What the trained adversaries found stands for the worst case that the model allows."
            .into(),
        "Training came close to it: no probability, but the learning curves and the warnings tell."
            .into(),
    ];
    let columns =
        [("Part", TEXT), ("Share of δ", TEXT), ("What was done", TEXT), ("Holds if", TEXT)];
    let table = table(&columns, &[model, monte_carlo, adversary], None);
    format!("<div class=\"parts\">{table}{}</div>", joint(contents))
}

fn heuristic_model(contents: &Contents<'_>) -> Vec<String> {
    let evaluation = contents.evaluation;
    let factor = match evaluation.settings.beta {
        1.0 => String::new(),
        beta => format!("{} · ", number(f64::from(beta))),
    };
    let outside = contents.shown().map_or(0.0, |shown| shown.went.outside_data);
    vec![
        "Model".into(),
        "none".into(),
        format!(
            "CA shifts every output by up to {factor}{} of its epistemic standard deviations{}.",
            if evaluation.members > 0 { "max(1, τ)" } else { "βₙ" },
            match evaluation.members {
                0 => String::new(),
                members => format!("; DA1 and DAinf choose among the {members} members"),
            }
        ),
        format!(
            "The truth lies within reach of these choices. <strong>Nothing proves it.</strong> The \
             evidence: a calibration error of {} on {} points, and {} of the steps outside what \
             calibration saw.",
            number(evaluation.calibration.error_after),
            fixed(evaluation.calibration.points as f64, 0),
            percent(outside)
        ),
    ]
}

fn proven_model(contents: &Contents<'_>, proven: &Guarantee) -> Vec<String> {
    let evaluation = contents.evaluation;
    let confidence = &proven.confidence;
    let norm = match confidence.norm_is_estimated {
        true => {
            "‖f‖ ≤ B for every output, where B was <strong>estimated from the model itself</strong>"
        }
        false => "‖f‖ ≤ B for every output, where B was given",
    };
    let kernel = match confidence.hyperparameters_are_learned {
        true => {
            "the kernel was chosen before the data was seen; <strong>here the data chose it</strong>"
        }
        false => "the kernel, which was given, was chosen before the data was seen",
    };
    vec![
        "Model".into(),
        share(evaluation.delta - evaluation.monte_carlo_delta, evaluation.delta),
        "Everywhere, and for all outputs at once, the true function lies within βₙ posterior standard \
         deviations of the mean (Abbasi-Yadkori, 2012, theorem 3.11). CA shifts within that box."
            .into(),
        format!("{norm}; {kernel}; and the noise is Gaussian."),
    ]
}

/// `0.025 of 0.05`
fn share(part: f64, whole: f64) -> String {
    match part == whole {
        true => format!("all: {}", as_given(rounded(part))),
        false => format!("{} of {}", as_given(rounded(part)), as_given(rounded(whole))),
    }
}

/// Without the last digits that halving and adding leave behind.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

fn starts_are_sampled(contents: &Contents<'_>) -> bool {
    let episodes = contents.evaluation.settings.episodes;
    contents.shown().is_some_and(|shown| shown.estimate.independent < episodes)
}

/// Student's quantile that the limit of `estimate` used.
fn student_quantile(estimate: &Estimate, delta: f64) -> f64 {
    -Estimate { mean: 0.0, std_error: 1.0, ..*estimate }.lower_limit(delta)
}

/// The Monte Carlo limit of every conservative variant, step by step.
fn limits(contents: &Contents<'_>) -> String {
    // Two digits more than elsewhere, so that the sum can be done by hand.
    let decimals = contents.decimals + 2;
    let delta = contents.evaluation.monte_carlo_delta;
    let conservative = |variant: &&VariantResult| variant.variant.is_conservative();
    let variants: Vec<_> = contents.evaluation.variants.iter().filter(conservative).collect();
    if variants.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = variants
        .iter()
        .map(|variant| {
            let estimate = &variant.estimate;
            vec![
                variant.variant.to_string(),
                fixed(estimate.mean, decimals),
                fixed(estimate.std_error, decimals),
                fixed(estimate.independent as f64, 0),
                fixed(student_quantile(estimate, delta), 4),
                rounded_down(variant.lower_bound, decimals),
            ]
        })
        .collect();
    let main = variants.iter().position(|variant| contents.decides(variant));
    let columns = [
        ("Variant", TEXT),
        ("Mean R̄", NUMBER),
        ("Error s", NUMBER),
        ("G", NUMBER),
        ("t", NUMBER),
        ("R̄ − t · s", NUMBER),
    ];
    let counted = match starts_are_sampled(contents) {
        true => "G the number of logged starts: episodes from the same one are one observation",
        false => "G the number of episodes, which are independent",
    };
    let (members, delta_of_all) = (contents.evaluation.members, contents.evaluation.delta);
    // The second lowest of them bounds the next one with 1 - δ.
    let many = match delta_of_all * (members + 1) as f64 >= 2.0 {
        true => {
            " With so many members DAinf is the highest that would bound one more with 1 − δ, not the \
             lowest."
        }
        false => "",
    };
    format!(
        "<h3>The Monte Carlo limit</h3>{}<p class=\"note\">s is the mean’s standard error, {counted}, and t \
         the {} quantile of Student’s distribution with G − 1 degrees of freedom, larger for skewed returns.{many}</p>",
        table(&columns, &rows, main),
        as_given(rounded(1.0 - delta))
    )
}

/// The model's confidence region, output by output.
fn region(contents: &Contents<'_>, proven: &Guarantee) -> String {
    let confidence = &proven.confidence;
    let outputs = confidence.radius.len();
    let delta = contents.evaluation.delta - contents.evaluation.monte_carlo_delta;
    let rows: Vec<Vec<String>> = (0..outputs)
        .map(|index| {
            let at = |values: &[f64]| values.get(index).copied().unwrap_or(f64::NAN);
            let (beta, norm) = (at(&confidence.radius), at(&confidence.norm_bound));
            let gain = at(&confidence.information_gain);
            let ratio = (beta - norm) / (2.0 * (gain + 1.0 + (outputs as f64 / delta).ln())).sqrt();
            vec![
                contents.outputs.get(index).map_or("–".into(), |name| escape(name)),
                fixed(norm, 3),
                fixed(gain, 3),
                fixed(ratio, 4),
                fixed(beta, 3),
            ]
        })
        .collect();
    let columns = [
        ("Output", TEXT),
        ("Norm B", NUMBER),
        ("Information gain Iₙ", NUMBER),
        ("Noise R/√λ", NUMBER),
        ("βₙ", NUMBER),
    ];
    format!(
        "<h3>The model’s confidence region</h3><p class=\"formula\">βₙ = B + R/√λ · \
         √(2 (Iₙ + 1 + ln(d/δ′)))</p>{}<p class=\"note\">d = {outputs} outputs, δ′ = {} (the model’s \
         part). B is in standardised units. Iₙ = ½ ln det(I + K/λ) is the data’s information gain, R \
         the noise’s standard deviation, λ what regularises the kernel matrix.</p>",
        table(&columns, &rows, None),
        as_given(rounded(delta))
    )
}

/// How far the bound can be from the truth at the very worst.
fn gap(contents: &Contents<'_>, proven: &Guarantee) -> String {
    let evaluation = contents.evaluation;
    let confidence = &proven.confidence;
    let or_none =
        |value: Option<f64>| value.map_or("none for this kernel".into(), |value| fixed(value, 3));
    let beta = confidence.radius.iter().copied().fold(0.0, f64::max);
    let log_of_constant = proven.log10_worst_gap.map(|gap| gap - proven.mean_std.log10());
    let power = |log: Option<f64>| match log {
        Some(log) => format!("10<sup>{}</sup>", fixed(log, 2)),
        None => "not defined".into(),
    };
    let slope = |value: f64| format!("{} (steepest slope seen)", fixed(value, 3));
    let rows = [
        ("L<sub>f</sub>, of the dynamics", or_none(confidence.lipschitz_dynamics)),
        ("L<sub>σ</sub>, of the posterior’s deviation", or_none(confidence.lipschitz_std)),
        ("L<sub>r</sub>, of the reward", slope(proven.measured_lipschitz_reward)),
        ("L<sub>π</sub>, of the policy", slope(proven.measured_lipschitz_policy)),
        ("βₙ, the largest", fixed(beta, 3)),
        ("d, dimensions of the state", evaluation.data_range.len().to_string()),
        ("T, steps", evaluation.horizon.to_string()),
        ("E‖σₙ‖ over neutral episodes", number(proven.mean_std)),
        ("Cₙ", power(log_of_constant)),
        ("Largest gap, Cₙ · E‖σₙ‖", power(proven.log10_worst_gap)),
    ];
    let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
    format!(
        "<h3>The gap at the very worst</h3><p class=\"formula\">Cₙ = L̄<sub>r</sub> (1 + √d) βₙ T² (1 + \
         L̄<sub>f</sub> + (1 + √d) βₙ L̄<sub>σ</sub>)<sup>T−1</sup>, where L̄ = L (1 + L<sub>π</sub>)</p>{}\
         <p class=\"note\">This is no estimate: {}.</p>",
        table(&[("Constant", TEXT), ("Value", TEXT)], &rows, None),
        escape(&proven.meaning)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_students() {
        // 3 degrees of freedom, 95 %: 2.353363, from any table.
        let estimate = Estimate { mean: 7.0, std_error: 0.3, independent: 4, skewness: 0.0 };
        assert!((student_quantile(&estimate, 0.05) - 2.353_363).abs() < 1e-5);
    }

    #[test]
    fn shares_are_printed_without_the_dust_of_arithmetic() {
        assert_eq!(share(0.1 + 0.2 - 0.25, 0.1), "0.05 of 0.1");
        assert_eq!(share(0.05, 0.05), "all: 0.05");
    }
}
