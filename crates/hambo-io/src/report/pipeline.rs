//! The short forms that pipelines show: Markdown for a summary, JUnit for a list of tests.

use hambo::Verdict;

use super::contents::Contents;
use super::short::answers;
use super::text::{as_given, escape, rounded_down};

/// A heading, a table and what was asked, as GitHub shows it in the summary of a step.
pub(super) fn markdown(contents: &Contents<'_>) -> String {
    let mut text = format!("## {}: {}\n\n", contents.verdict, contents.options.title);
    let rows = facts(contents);
    text += "| | |\n|---|---:|\n";
    text.extend(rows.iter().map(|(name, value)| format!("| {name} | {value} |\n")));
    text.push('\n');
    for (question, answer) in answers(contents) {
        text += &format!("**{question}** {}\n\n", plain(&answer));
    }
    for warning in &contents.evaluation.warnings {
        let sign = if warning.disqualifies() { ":warning:" } else { ":information_source:" };
        let (code, message) = (warning.code(), plain(&warning.to_string()));
        text += &format!("- {sign} `{code}`: {message}; {}\n", plain(warning.help()));
    }
    for note in &contents.options.notes {
        let (code, message) = (&note.code, plain(&note.message));
        text += &format!("- :information_source: `{code}`: {message}; {}\n", plain(&note.help));
    }
    text
}

fn facts(contents: &Contents<'_>) -> Vec<(&'static str, String)> {
    let evaluation = contents.evaluation;
    let bound = |value: f64| rounded_down(value, contents.decimals);
    let improvement = evaluation.improvement.as_ref();
    let facts = [
        ("Lower bound", evaluation.lower_bound.map(bound)),
        ("Threshold", contents.options.threshold.map(as_given)),
        ("Better by at least", improvement.map(|found| bound(found.lower_bound))),
        ("Margin", improvement.and_then(|found| found.margin).map(as_given)),
        ("Steps", Some(evaluation.horizon.to_string())),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Text that means nothing else in Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '<' | '>' | '|' | '[' | ']') {
            plain.push('\\');
        }
        plain.push(if c == '\n' { ' ' } else { c });
    }
    plain
}

/// One test: it passes if the policy is certified, fails if it is not, and is an error if that cannot be told.
pub(super) fn junit(contents: &Contents<'_>) -> String {
    let name = contents.options.policy.as_deref().unwrap_or("policy");
    let seconds: f64 = contents.evaluation.timings.values().sum();
    let (failures, errors) = match contents.verdict {
        Verdict::NotCertified => (1, 0),
        Verdict::Inconclusive { .. } => (0, 1),
        _ => (0, 0),
    };
    let facts: Vec<String> =
        facts(contents).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let answers: Vec<String> =
        answers(contents).iter().map(|(asked, answer)| format!("{asked} {answer}")).collect();
    let (word, facts) = (contents.verdict.to_string(), facts.join(", "));
    let details = escape(&answers.join("\n"));
    let body = match (failures, errors) {
        (1, _) => tag("failure", &word, &facts, &details),
        (_, 1) => tag("error", &word, &facts, &details),
        _ => format!("<system-out>{}\n{details}</system-out>", escape(&facts)),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hambo\" tests=\"1\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{seconds:.3}\">\n<testsuite name=\"hambo certify\" tests=\"1\" \
         failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n<testcase name=\"{}\" \
         classname=\"hambo.certify\" time=\"{seconds:.3}\">{body}</testcase>\n</testsuite>\n</testsuites>\n",
        escape(name)
    )
}

fn tag(name: &str, kind: &str, message: &str, details: &str) -> String {
    let (kind, message) = (escape(kind), escape(message));
    format!("<{name} type=\"{kind}\" message=\"{kind}: {message}\">{details}</{name}>")
}
