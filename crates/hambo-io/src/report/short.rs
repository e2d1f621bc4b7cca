//! The first lines of a report, for somebody who was only forwarded it: is it better, what will it earn, how sure is
//! that, what next? No word of the method.

use hambo::Verdict;

use super::contents::Contents;
use super::text::{confidence, escape, fixed, rounded_down, sentence};
use super::worlds;

pub(super) fn in_short(contents: &Contents<'_>) -> String {
    let answers = [
        Some(("Is it better?", better(contents))).filter(|(_, answer)| !answer.is_empty()),
        Some(("What will it earn?", earns(contents))),
        Some(("How sure is that?", sure(contents))),
        Some(("What next?", next(contents))),
    ];
    let answer = |(question, answer): (&str, String)| {
        format!("<div><dt>{question}</dt><dd>{}</dd></div>", escape(&answer))
    };
    let answers: String = answers.into_iter().flatten().map(answer).collect();
    format!("<dl class=\"short\">{answers}</dl>")
}

/// `1.50 EUR a day`, or `1.50 in 200 steps`.
fn amount(contents: &Contents<'_>, value: &str) -> String {
    let options = contents.options;
    let unit = options.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
    match &options.per {
        Some(per) => format!("{value}{unit} a {per}"),
        None => format!("{value}{unit} in {} steps", contents.evaluation.horizon),
    }
}

fn better(contents: &Contents<'_>) -> String {
    let Some(found) = &contents.evaluation.improvement else { return String::new() };
    let bound = amount(contents, &rounded_down(found.lower_bound, contents.decimals));
    let is_proven = found.lower_bound >= found.margin.unwrap_or(0.0);
    let than = &found.against;
    match (is_proven, &contents.verdict) {
        (true, Verdict::Inconclusive { .. }) => {
            format!(
                "It seems so: better than {than} by at least {bound}, but there are doubts about that number."
            )
        }
        (true, _) => format!("Yes: better than {than} by at least {bound}."),
        (false, _) => {
            format!(
                "That is not proven: compared with {than}, it may earn as little as {bound} more."
            )
        }
    }
}

fn earns(contents: &Contents<'_>) -> String {
    let decimals = contents.decimals;
    let Some(bound) = contents.evaluation.lower_bound else {
        return "Nothing was bounded.".into();
    };
    let bound = amount(contents, &rounded_down(bound, decimals));
    let earned = worlds::limit(contents).and_then(|limit| limit.replay.as_ref()?.earned);
    let logs = earned.map(|earned| {
        format!(" Whoever acted in the logs earned {}.", fixed(earned.mean, decimals))
    });
    let threshold = match (&contents.verdict, contents.options.threshold) {
        (Verdict::Certified { .. }, Some(_)) => " That is enough.",
        (Verdict::NotCertified, Some(threshold))
            if contents.evaluation.lower_bound < Some(threshold) =>
        {
            " That is less than was asked for, which is no proof that it is bad."
        }
        _ => "",
    };
    format!("On average at least {bound}.{threshold}{}", logs.unwrap_or_default())
}

fn sure(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let doubts = evaluation.warnings.iter().filter(|warning| warning.disqualifies()).count();
    let tested =
        worlds::backtest(contents).map(|found| format!(" Tested on the logs: {}.", found.summary));
    let doubted = match doubts {
        0 => String::new(),
        1 => " One check speaks against it: see the warnings.".into(),
        n => format!(" {n} checks speak against it: see the warnings."),
    };
    format!(
        "{} sure, if the plant stays as it was when it was logged.{}{doubted}",
        confidence(evaluation.delta),
        tested.unwrap_or_default()
    )
}

fn next(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let doubt = evaluation.warnings.iter().find(|warning| warning.disqualifies());
    match (&contents.verdict, doubt) {
        (Verdict::Certified { .. }, _) => {
            "It may be tried, under watch. Log what it does, and evaluate it again on that.".into()
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
                None => "Log where this policy goes, or ask for less.".into(),
            }
        }
        _ => "Say what it must reach, or what it must be better than.".into(),
    }
}
