//! The first lines of a report, for somebody who was only forwarded it: is it better, what will it earn, how sure is
//! that, what next? No word of the method.

use hambo::{Verdict, Warning};

use super::contents::Contents;
use super::text::{confidence, escape, fixed, rounded_down, sentence};
use super::worlds;

/// Questions, and what there is to answer.
pub(super) fn answers(contents: &Contents<'_>) -> Vec<(&'static str, String)> {
    let answers = [
        Some(("Is it better?", better(contents))).filter(|(_, answer)| !answer.is_empty()),
        Some((
            if is_cost(contents) { "What will it cost?" } else { "What will it earn?" },
            earns(contents),
        )),
        Some(("How sure is that?", sure(contents))),
        Some(("What next?", next(contents))),
    ];
    answers.into_iter().flatten().collect()
}

pub(super) fn in_short(contents: &Contents<'_>) -> String {
    let answer = |(question, answer): (&str, String)| {
        format!("<div><dt>{question}</dt><dd>{}</dd></div>", escape(&answer))
    };
    let answers: String = answers(contents).into_iter().map(answer).collect();
    format!("<dl class=\"short\">{answers}</dl>")
}

/// Whether returns are amounts of something that is lost.
fn is_cost(contents: &Contents<'_>) -> bool {
    contents.options.unit.is_some()
        && contents.evaluation.lower_bound.is_some_and(|bound| bound < 0.0)
}

/// `1.50 EUR a day`, or `1.50 in 200 steps`.
fn amount(contents: &Contents<'_>, value: &str) -> String {
    let options = contents.options;
    let unit = options.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    let discount = contents.evaluation.discount;
    match &options.per {
        _ if discount < 1.0 => format!(
            "{value}{unit} in {} steps, where each step counts for {discount} times the one before",
            contents.evaluation.horizon
        ),
        Some(per) => format!("{value}{unit} a {per}"),
        None => format!("{value}{unit} in {} steps", contents.evaluation.horizon),
    }
}

fn better(contents: &Contents<'_>) -> String {
    let Some(found) = &contents.evaluation.improvement else { return String::new() };
    let bound = amount(contents, &rounded_down(found.lower_bound, contents.decimals));
    let guess = fixed(found.estimate.mean, contents.decimals);
    let is_proven = found.lower_bound >= found.margin.unwrap_or(0.0);
    let than = &found.against;
    match (is_proven, &contents.verdict) {
        (true, Verdict::Inconclusive { .. }) => {
            format!(
                "It seems so: better than {than} by at least {bound} (best guess {guess}), but there are doubts \
                 about these numbers."
            )
        }
        (true, _) => {
            format!("Yes: better than {than} by at least {bound}. The best guess is {guess}.")
        }
        (false, _) if found.lower_bound < 0.0 => {
            let most = bound.trim_start_matches(['-', '−']);
            format!(
                "That is not proven: it may be worse than {than} by up to {most}. The best guess is {guess}{}.",
                if found.estimate.mean > 0.0 { ", so better" } else { "" }
            )
        }
        (false, _) => {
            format!(
                "Not by as much as was asked for: better than {than} by at least {bound}. The best guess is {guess}."
            )
        }
    }
}

fn earns(contents: &Contents<'_>) -> String {
    let decimals = contents.decimals;
    let Some(bound) = contents.evaluation.lower_bound else {
        return "Nothing was bounded.".into();
    };
    let shown = rounded_down(bound, decimals);
    let bound = match is_cost(contents) {
        true => format!("at most {}", amount(contents, shown.trim_start_matches(['-', '−']))),
        false => format!("at least {}", amount(contents, &shown)),
    };
    let guess = contents.evaluation.neutral().map(|mean| {
        let mean = if is_cost(contents) { -mean } else { mean };
        format!("; the best guess is {}", fixed(mean, decimals))
    });
    let earned = worlds::limit(contents).and_then(|limit| limit.replay.as_ref()?.earned);
    let logs = earned.map(|earned| match is_cost(contents) {
        true => format!(" The logged policy cost {}.", fixed(-earned.mean, decimals)),
        false => format!(" The logged policy earned {}.", fixed(earned.mean, decimals)),
    });
    let threshold = match (&contents.verdict, contents.options.threshold) {
        (Verdict::Certified { .. }, Some(_)) => " That is enough.",
        (Verdict::NotCertified, Some(threshold))
            if contents.evaluation.lower_bound < Some(threshold) =>
        {
            " The logs do not prove what was asked for, which is no proof of the opposite."
        }
        _ => "",
    };
    let (guess, logs) = (guess.unwrap_or_default(), logs.unwrap_or_default());
    format!("On average {bound}{guess}.{threshold}{logs}")
}

fn sure(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let doubts = evaluation.warnings.iter().filter(|warning| warning.disqualifies()).count();
    let tested =
        worlds::backtest(contents).map(|found| format!(" Tested on the logs: {}.", found.summary));
    let (sure, tested) = (confidence(evaluation.delta), tested.unwrap_or_default());
    let stays = match worlds::limit(contents) {
        Some(_) => {
            "if the plant stays as it was when it was logged, and if the model is no more wrong about this \
             policy than about the logs"
        }
        None => "if the plant stays as it was when it was logged",
    };
    let checks = match doubts {
        0 => return format!("{sure} sure, {stays}.{tested}"),
        1 => "one check speaks".to_owned(),
        n => format!("{n} checks speak"),
    };
    match contents.verdict {
        Verdict::Certified { .. } => format!(
            "{sure} sure, {stays}, and if it does not matter that {checks} against the number: that was allowed.\
             {tested}"
        ),
        _ => format!(
            "Not sure enough: {checks} against the number (see the warnings). Otherwise it would be {sure} sure, \
             {stays}.{tested}"
        ),
    }
}

const LOG_MORE: &str = "Log where this policy goes, or ask for less.";

fn next(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let doubt = evaluation.warnings.iter().find(|warning| warning.disqualifies());
    let try_it = "It may be tried, under watch. Log what it does, and evaluate it again on that.";
    let improvement = evaluation.improvement.as_ref().map(|found| found.lower_bound);
    match (&contents.verdict, doubt) {
        (Verdict::Certified { .. }, _) => try_it.into(),
        // Nothing was asked for beside a comparison.
        (Verdict::NoThreshold, None) if improvement >= Some(0.0) => try_it.into(),
        (Verdict::NoThreshold, None) if improvement.is_some() => LOG_MORE.into(),
        (Verdict::NoThreshold, Some(warning)) => sentence(warning.help()),
        (Verdict::Inconclusive { .. }, Some(Warning::OutsideData { .. })) => {
            let where_to =
                match contents.shown().is_some_and(|shown| !shown.evidence.places.is_empty()) {
                    true => ": the report lists these places under “Where to collect data”",
                    false => "",
                };
            format!(
                "Log more of what this policy does. It goes where the logs have hardly been{where_to}."
            )
        }
        (Verdict::Inconclusive { .. }, Some(warning)) => sentence(warning.help()),
        (Verdict::NotCertified, _) => {
            let threshold = contents.options.threshold;
            let times =
                threshold.and_then(|threshold| evaluation.times_as_many_episodes(threshold));
            match times {
                Some(times) => {
                    format!("Log more: about {times} times as many episodes could be enough.")
                }
                None => LOG_MORE.into(),
            }
        }
        _ => "Say what it must reach, or what it must be better than.".into(),
    }
}
