//! Several policies on one page, the highest bound first.

use hambo::Verdict;

use super::contents::Contents;
use super::frame;
use super::markup::{NUMBER, TEXT, section, table};
use super::page::warning_list;
use super::short::in_short;
use super::text::{escape, fixed, rounded_down};

/// One policy after the other, by name.
pub(super) fn page(title: &str, policies: &[(&str, Contents<'_>)]) -> String {
    let first = policies.first().map(|(_, contents)| contents);
    let best = policies.first().map(|(name, _)| *name).unwrap_or_default();
    let about = first.map(|contents| contents.options);
    let about: Vec<String> = about
        .into_iter()
        .flat_map(|options| [&options.data, &options.date])
        .flatten()
        .map(|part| escape(part))
        .collect();
    let content = format!(
        "<header><h1>{}</h1><p class=\"about\">{}</p></header>{}{}",
        escape(title),
        about.join(" · "),
        section("ranking", "The highest bound first", "", &overview(policies)),
        policies.iter().map(|(name, contents)| of_policy(name, contents)).collect::<String>()
    );
    let version = first.map_or("", |contents| &contents.evaluation.version);
    frame::whole(title, best, &content, version)
}

fn overview(policies: &[(&str, Contents<'_>)]) -> String {
    let decimals = policies.iter().map(|(_, contents)| contents.decimals).max().unwrap_or(0);
    let is_compared =
        policies.iter().any(|(_, contents)| contents.evaluation.improvement.is_some());
    let mut columns = vec![("Policy", TEXT), ("Lower bound", NUMBER), ("Neutral estimate", NUMBER)];
    columns.extend(is_compared.then_some(("Better by at least", NUMBER)));
    columns.push(("Can it be believed?", TEXT));
    let shown = |value: Option<f64>| value.map_or("–".into(), |value| fixed(value, decimals));
    let bound =
        |value: Option<f64>| value.map_or("–".into(), |value| rounded_down(value, decimals));
    let rows: Vec<Vec<String>> = policies
        .iter()
        .map(|(name, contents)| {
            let found = contents.evaluation;
            let improvement = found.improvement.as_ref().map(|found| found.lower_bound);
            let mut row = vec![escape(name), bound(found.lower_bound), shown(found.neutral())];
            row.extend(is_compared.then(|| bound(improvement)));
            row.push(believed(contents));
            row
        })
        .collect();
    table(&columns, &rows, Some(0))
}

fn believed(contents: &Contents<'_>) -> String {
    match contents.evaluation.warnings.iter().filter(|warning| warning.disqualifies()).count() {
        0 => "yes".into(),
        1 => "one check speaks against it".into(),
        n => format!("{n} checks speak against it"),
    }
}

fn of_policy(name: &str, contents: &Contents<'_>) -> String {
    let id = format!("policy-{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    let class = match contents.verdict {
        Verdict::Inconclusive { .. } => "inconclusive",
        _ => "no-threshold",
    };
    let content =
        format!("<div class=\"{class}\">{}</div>{}", in_short(contents), warning_list(contents));
    section(&id, name, "", &content)
}
