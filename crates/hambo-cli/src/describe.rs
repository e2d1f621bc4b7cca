//! A result as text for the terminal.

use hambo::{Evaluation, FitReport, Model, VariantResult, Verdict, Warning};
use hambo_io::report::{decimals, floor};
use hambo_io::result::ResultDocument;

use crate::failure::Exit;
use crate::opinions::opinions;
use crate::screen::{BAD, BOLD, GOOD, NOTICE, count, number, styled, table, wrap};

/// The table of variants, the constraints, the warnings and, last, the bound and the verdict; if
/// `quiet`, only the warnings and the last line.
pub(crate) fn result(document: &ResultDocument, verdict: &Verdict, quiet: bool) -> String {
    let (found, threshold) = (&document.evaluation, document.threshold);
    let decimals = decimals(found, threshold);
    let remarks = remarks(document);
    let conclusion = conclusion(found, verdict, threshold, decimals);
    if quiet {
        return remarks + &conclusion;
    }
    let mut text = variants(&found.variants, decimals);
    text += &replay(&found.variants, decimals);
    text += &improvement(found, decimals);
    text += &opinions(found.baselines.as_ref(), decimals);
    for constraint in &found.constraints {
        text += &format!(
            "\nconstraint {} (mean over an episode, must not be negative)\n",
            constraint.name
        );
        let alone = Evaluation { variants: constraint.variants.clone(), ..found.clone() };
        text += &variants(&constraint.variants, hambo_io::report::decimals(&alone, None));
    }
    text.push('\n');
    if !remarks.is_empty() {
        text += &format!("{remarks}\n");
    }
    text += &format!("{}\n", wrap(&format!("delta covers {}", found.delta_covers), 0, 0));
    text += &how_sure(found, verdict, threshold);
    text += &inputs(document);
    text + &conclusion
}

/// Every warning and every note once: the same may hold for the return and for constraints; and what helps against
/// several in a row, after the last of them. What was accepted stands in the verdict.
fn remarks(document: &ResultDocument) -> String {
    let is_open =
        |warning: &&Warning| !matches!(warning, Warning::WeakerSetting { accepted: true, .. });
    let warnings = document.evaluation.warnings.iter().filter(is_open).map(|warning| {
        let setting = warning.setting().map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let kind = format!("warning {}:", warning.code());
        (kind, warning.to_string(), format!("{}{setting}", warning.help()))
    });
    let notes = document.notes.iter();
    let notes = notes.map(|note| ("note:".to_owned(), note.message.clone(), note.help.clone()));
    let mut said = Vec::new();
    for remark in warnings.chain(notes) {
        if !said.contains(&remark) {
            said.push(remark);
        }
    }
    let mut text = String::new();
    for (index, (kind, message, help)) in said.iter().enumerate() {
        text += &format!("{}\n", wrap(&format!("{} {message}", styled(NOTICE, kind)), 0, 2));
        if said.get(index + 1).is_none_or(|(_, _, next)| next != help) {
            text += &format!("{}\n", wrap(&format!("help: {help}"), 2, 4));
        }
    }
    text
}

/// The last line.
fn conclusion(
    found: &Evaluation,
    verdict: &Verdict,
    threshold: Option<f64>,
    decimals: usize,
) -> String {
    let bound = match found.lower_bound {
        Some(bound) => {
            let bound = styled(BOLD, &rounded_down(bound, decimals));
            format!("lower bound on the return {bound} (delta {})", found.delta)
        }
        None => "no bound: only neutral variants were played".into(),
    };
    let style = match verdict {
        Verdict::Certified { .. } => GOOD,
        Verdict::NotCertified => BAD,
        _ => NOTICE,
    };
    let word = match verdict {
        Verdict::NoThreshold => return format!("{bound}\n"),
        verdict => styled(style, &verdict.to_string()),
    };
    let threshold_said = threshold.map(|threshold| format!(", threshold {threshold}"));
    let margin = found.improvement.as_ref().and_then(|found| Some((found, found.margin?)));
    let margin_said = margin.map(|(found, margin)| {
        let bound = styled(BOLD, &rounded_down(found.lower_bound, decimals));
        format!(", improvement on {} at least {bound}, margin {margin}", found.against)
    });
    let line = format!(
        "{word}: {bound}{}{}; {}",
        threshold_said.unwrap_or_default(),
        margin_said.unwrap_or_default(),
        meaning(found, verdict, threshold)
    );
    format!("{}\n", wrap(&line, 0, 2))
}

fn meaning(found: &Evaluation, verdict: &Verdict, threshold: Option<f64>) -> String {
    let is_missed = |bound: Option<f64>, least: f64| bound.is_some_and(|bound| bound < least);
    let margin =
        found.improvement.as_ref().and_then(|found| Some((found.lower_bound, found.margin?)));
    match verdict {
        Verdict::Certified { .. } => match (threshold, margin) {
            (Some(_), Some(_)) => "both are reached".into(),
            (None, _) => "the margin is reached".into(),
            (Some(_), None) => "the bound reaches it".into(),
        },
        Verdict::NotCertified => {
            let mut missed = Vec::new();
            if threshold.is_some_and(|threshold| is_missed(found.lower_bound, threshold)) {
                missed.push("that the threshold is reached".to_owned());
            }
            if margin.is_some_and(|(bound, margin)| is_missed(Some(bound), margin)) {
                missed.push("that the margin is reached".to_owned());
            }
            let constraints = found.constraints.iter().filter(|c| is_missed(c.lower_bound, 0.0));
            missed.extend(constraints.map(|c| format!("the constraint {}", c.name)));
            format!("the data does not prove {}", missed.join(", nor "))
        }
        Verdict::Inconclusive { warnings } if warnings.is_empty() => "nothing was bounded".into(),
        Verdict::Inconclusive { .. } => "the warnings above make the bound untrustworthy".into(),
        Verdict::NoThreshold => String::new(),
    }
}

pub(crate) fn exit(verdict: &Verdict) -> Exit {
    match verdict {
        Verdict::Certified { .. } | Verdict::NoThreshold => Exit::Done,
        Verdict::NotCertified => Exit::NotCertified,
        Verdict::Inconclusive { .. } => Exit::Inconclusive,
    }
}

fn variants(results: &[VariantResult], decimals: usize) -> String {
    let header = ["variant", "mean return", "std error", "lower bound", "rounds", "outside data"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for result in results {
        let rounds = match (result.converged, result.rounds.len()) {
            (None, _) => "-".into(),
            (Some(true), rounds) => rounds.to_string(),
            (Some(false), rounds) => format!("{rounds}, not converged"),
        };
        let bound = match result.variant.is_conservative() {
            true => rounded_down(result.lower_bound, decimals),
            false => "neutral".into(),
        };
        rows.push(vec![
            result.variant.to_string(),
            format!("{:.decimals$}", result.estimate.mean),
            format!("{:.decimals$}", result.estimate.std_error),
            bound,
            rounds,
            format!("{:.1} %", 100.0 * result.went.outside_data),
        ]);
    }
    table(&rows, 1)
}

/// What logged episodes earned, and what the worlds that have not seen them made of it.
fn replay(results: &[VariantResult], decimals: usize) -> String {
    let limit = results.iter().find_map(|result| result.worlds.as_ref());
    let Some(replay) = limit.and_then(|limit| limit.replay.as_ref()) else { return String::new() };
    let header = ["replayed logs", "episodes", "earned", "worlds say", "too high by", "at most by"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for group in replay.groups() {
        rows.push(vec![
            group.name.clone(),
            group.episodes.to_string(),
            format!("{:.decimals$}", group.earned),
            format!("{:.decimals$}", group.earned + group.bias),
            format!("{:.decimals$} ± {:.decimals$}", group.bias, group.std_error),
            format!("{:.decimals$}", group.largest_bias),
        ]);
    }
    format!("\n{}", table(&rows, 1))
}

/// What the logs earned, what would have been claimed of them, and what the policy is better than.
fn improvement(found: &Evaluation, decimals: usize) -> String {
    let limit = found.variants.iter().find_map(|result| result.worlds.as_ref());
    let Some(replay) = limit.and_then(|limit| limit.replay.as_ref()) else { return String::new() };
    let mut lines = Vec::new();
    if !replay.backtest.claims.is_empty() {
        lines.push(format!("backtest: {}", replay.backtest.summary));
    }
    if let (Some(earned), Some(bound)) = (replay.earned, found.lower_bound) {
        let share = 100.0 * (bound - earned.mean).abs() / earned.mean.abs();
        let side = if bound < earned.mean { "below" } else { "above" };
        let more = match share.is_finite() {
            true => format!("; the bound is {share:.0} % {side} that"),
            false => String::new(),
        };
        lines.push(format!("the logs earned {:.decimals$} over the horizon{more}", earned.mean));
    }
    if let Some(found) = &found.improvement {
        lines.push(format!(
            "improvement on {}: {:.decimals$} ± {:.decimals$} by the worlds' mean, at least {} ({} by two separate \
             bounds)",
            found.against,
            found.estimate.mean,
            found.estimate.std_error,
            rounded_down(found.lower_bound, decimals),
            rounded_down(found.by_separate_bounds, decimals)
        ));
    }
    let wrapped = lines.iter().map(|line| format!("{}\n", wrap(line, 0, 2)));
    format!("\n{}", wrapped.collect::<String>())
}

/// What the policy is given, if nobody has named it: another order looks like a bad policy.
fn inputs(document: &ResultDocument) -> String {
    let named = document.config.as_ref().and_then(|config| config.pointer("/policy/inputs"));
    let is_named =
        named.and_then(|inputs| inputs.as_array()).is_some_and(|inputs| !inputs.is_empty());
    let columns = &document.evaluation.data.names.states;
    match columns.len() {
        _ if is_named => String::new(),
        0 | 1 => String::new(),
        _ => {
            let line = format!(
                "the policy takes all columns, in this order: {} (`policy.inputs` names others)",
                columns.join(", ")
            );
            format!("{}\n", wrap(&line, 0, 2))
        }
    }
}

/// How close the verdict was, and what it was not told.
fn how_sure(found: &Evaluation, verdict: &Verdict, threshold: Option<f64>) -> String {
    let mut lines = Vec::new();
    if let Some((tipping, factor)) = threshold.and_then(|threshold| found.tipping_factor(threshold))
    {
        lines.push(match tipping >= factor {
            true => format!(
                "the threshold is reached up to a factor of {tipping:.1} on the worlds' disagreement; the logs \
                 demand {factor:.1}"
            ),
            false => format!(
                "the threshold would be reached with a factor of {tipping:.1} on the worlds' disagreement; the \
                 logs demand {factor:.1}"
            ),
        });
    }
    if let Some(times) = threshold.and_then(|threshold| found.times_as_many_episodes(threshold)) {
        lines.push(format!(
            "about {times} times as many logged episodes would do, if the worlds stayed as they are"
        ));
    }
    if *verdict != Verdict::NoThreshold && found.reuse.is_none() {
        lines.push("what the policy was trained on was not said (`--trained-on LOG`)".into());
    }
    lines.iter().map(|line| format!("{}\n", wrap(line, 0, 2))).collect()
}

/// A bound must not look higher than it is.
fn rounded_down(value: f64, decimals: usize) -> String {
    format!("{:.decimals$}", floor(value, decimals))
}

/// What a fit settled on.
pub(crate) fn model(model: &Model, has_rule: bool) -> String {
    let (rows, episodes) = (count(model.data.rows), count(model.data.episodes));
    let kind = match &model.report {
        FitReport::Ensemble(fit) => {
            let members = model.dynamics.members();
            format!("ensemble of {members}, best at step {} of {}", fit.best_step, fit.steps)
        }
        FitReport::Table(fit) => {
            let members = model.dynamics.members();
            format!("table of {} pairs of state and action, {members} members", count(fit.pairs))
        }
        FitReport::Gp(fit) => format!("Gaussian processes on {} transitions", count(fit.rows)),
    };
    let reward = match (has_rule, model.dynamics.predicts_reward()) {
        (true, _) => "the task's rule",
        (false, true) => "learned",
        (false, false) => "not learned",
    };
    let calibration = &model.calibration;
    let rows = [
        ["data", &format!("{rows} transitions in {episodes} episodes")],
        ["model", &kind],
        ["reward", reward],
        [
            "calibration",
            &format!(
                "error {} before, {} after; {} transitions in {} episodes",
                number(calibration.error_before),
                number(calibration.error_after),
                count(calibration.points),
                count(calibration.episodes)
            ),
        ],
    ];
    table(&rows.map(|row| row.map(String::from).to_vec()), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_down() {
        assert_eq!(rounded_down(-417.391, 1), "-417.4");
        assert_eq!(rounded_down(417.39, 1), "417.3");
        assert_eq!(rounded_down(-3.0, 0), "-3");
    }
}
