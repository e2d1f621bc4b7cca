//! The page itself.

use hambo::VariantResult;

use super::Subject;
use super::figures::{self, Figure, STYLE};
use super::text::{as_given, escape, fixed, number, percent, rounded_down};
use super::words;
use crate::verdict::{Verdict, disqualifies};

const PAGE_STYLE: &str = include_str!("page.css");

pub(super) fn page(subject: &Subject<'_>) -> String {
    let figures = figures::all(subject);
    let title = match subject.options.title.trim() {
        "" => "Policy evaluation",
        title => title,
    };
    let sections = [
        doubts(subject),
        constraints(subject),
        section("Returns", "", &pictures(&figures, &["returns", "horizon"], "pair")),
        section("The gap", GAP, &pictures(&figures, &["gap", "costs"], "pair")),
        adversaries(subject, &figures),
        section("The model", "", &pictures(&figures, &["reliability", "uncertainty"], "wide")),
        data(subject),
        assumptions(subject),
        reproduce(subject),
    ];
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}: {}</title>\n\
         <style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n{}\n{}\n{}\n\
         <footer>hambo {}</footer>\n</main>\n</body>\n</html>\n",
        escape(title),
        subject.verdict,
        header(subject, title),
        top(subject, &figures),
        sections.concat(),
        escape(&subject.evaluation.version),
    )
}

const GAP: &str = "Between the neutral estimate and the bound lies what the data leaves open. Data where \
                   most is lost raises the bound most.";

fn header(subject: &Subject<'_>, title: &str) -> String {
    let options = subject.options;
    let named = |name: &str, value: &Option<String>| {
        value.as_ref().filter(|value| !value.is_empty()).map(|value| format!("{name}{value}"))
    };
    let about: Vec<String> = [
        named("Policy: ", &options.policy),
        named("Data: ", &options.data),
        Some(format!("{} transitions", fixed(subject.evaluation.data.rows as f64, 0))),
        named("", &options.date),
    ]
    .into_iter()
    .flatten()
    .map(|part| escape(&part))
    .collect();
    format!(
        "<header><h1>{}</h1><p class=\"about\">{}</p></header>",
        escape(title),
        about.join(" · ")
    )
}

/// The first screen: what was found, and the picture of it.
fn top(subject: &Subject<'_>, figures: &[Figure]) -> String {
    let (class, sign) = match subject.verdict {
        Verdict::Certified => ("certified", "M4 12.5l5 5L20 6.5"),
        Verdict::NotCertified => ("not-certified", "M6 6l12 12M18 6L6 18"),
        Verdict::Inconclusive { .. } => {
            ("inconclusive", "M8 8.5a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.1-1.5 2.3M12 18.6v.1")
        }
        Verdict::NoThreshold => ("no-threshold", "M5 12h14"),
    };
    let mut facts = String::new();
    let mut fact = |class: &str, name: &str, value: &str| {
        facts += &format!("<div class=\"{class}\"><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if let Some(bound) = subject.evaluation.lower_bound {
        fact("main", "Lower bound", &rounded_down(bound, subject.decimals));
    }
    if let Some(threshold) = subject.options.threshold {
        fact("", "Threshold", &as_given(threshold));
    }
    if let Some(neutral) = subject.neutral {
        fact("", "Neutral estimate", &fixed(neutral.estimate.mean, subject.decimals));
    }
    let bounds = figures.iter().find(|figure| figure.name == "bounds").map(picture);
    format!(
        "<div class=\"top {class}\"><div><p class=\"badge\"><svg viewBox=\"0 0 24 24\" \
         aria-hidden=\"true\"><path d=\"{sign}\"/></svg>{}</p><p class=\"sentence\">{}</p>\
         <dl class=\"facts\">{facts}</dl><p class=\"covers\">{}{}</p></div>{}</div>",
        subject.verdict,
        escape(&words::of_verdict(subject)),
        escape(&words::of_confidence(subject)),
        match subject.evaluation.warnings.len() {
            0 => String::new(),
            1 => " There is <a href=\"#doubts\">one doubt</a>.".into(),
            n => format!(" There are <a href=\"#doubts\">{n} doubts</a>."),
        },
        bounds.unwrap_or_default()
    )
}

/// A section, or nothing if it has no content.
fn section(heading: &str, lead: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let lead = match lead {
        "" => String::new(),
        lead => format!("<p class=\"lead\">{}</p>", escape(lead)),
    };
    format!("<section><h2>{}</h2>{lead}{content}</section>", escape(heading))
}

fn picture(figure: &Figure) -> String {
    let drawings: Vec<String> = figure.drawings.iter().map(|d| d.element("")).collect();
    let content = match drawings.len() {
        1 if figure.drawings[0].width > 300.0 => drawings.concat(),
        _ => format!("<div class=\"panels\">{}</div>", drawings.concat()),
    };
    let (heading, caption) = (escape(figure.heading), escape(&figure.caption));
    format!("<figure><h3>{heading}</h3>{content}<figcaption>{caption}</figcaption></figure>")
}

/// The figures of these names, side by side (`pair`) or below each other (`wide`).
fn pictures(figures: &[Figure], names: &[&str], layout: &str) -> String {
    let found = names.iter().filter_map(|name| figures.iter().find(|figure| figure.name == *name));
    let found: Vec<String> = found.map(picture).collect();
    match layout {
        _ if found.is_empty() => String::new(),
        "pair" => format!("<div class=\"pair\">{}</div>", found.concat()),
        _ => found.iter().map(|figure| format!("<div class=\"wide\">{figure}</div>")).collect(),
    }
}

fn doubts(subject: &Subject<'_>) -> String {
    let warnings = &subject.evaluation.warnings;
    if warnings.is_empty() {
        return section("Doubts", "", "<p>None: every check was passed.</p>");
    }
    let mut ordered: Vec<_> = warnings.iter().collect();
    ordered.sort_by_key(|warning| !disqualifies(warning));
    let items: Vec<String> = ordered
        .into_iter()
        .map(|warning| {
            let tag = match disqualifies(warning) {
                true => "<span class=\"tag serious\">bound may be too high</span>",
                false => "<span class=\"tag\">note</span>",
            };
            let text = capitalised(&warning.to_string());
            let help = in_code(&capitalised(warning.help()));
            format!("<li><p>{tag}{}.</p><p class=\"soft\">{help}.</p></li>", escape(&text))
        })
        .collect();
    let list = format!("<ol class=\"doubts\" id=\"doubts\">{}</ol>", items.concat());
    section("Doubts, and what to do about them", "", &list)
}

/// Escapes text, and turns `this` into code.
fn in_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    });
    parts.collect()
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    match rest.next() {
        Some(first) if !text.starts_with("DA") => {
            first.to_uppercase().collect::<String>() + rest.as_str()
        }
        _ => text.to_owned(),
    }
}

fn constraints(subject: &Subject<'_>) -> String {
    let rows: Vec<String> = subject
        .evaluation
        .constraints
        .iter()
        .map(|constraint| {
            let proven = constraint.lower_bound.is_some_and(|bound| bound >= 0.0);
            format!(
                "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
                escape(&constraint.name),
                constraint.lower_bound.map_or("–".into(), |bound| rounded_down(bound, 4)),
                if proven { "✓ at least zero" } else { "✕ not proven" }
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head =
        "<th>Constraint</th><th class=\"number\">Lower bound</th><th>Required: at least zero</th>";
    let lead = "The mean over the steps of an episode, bounded in the same way as the return, by \
                adversaries of its own.";
    section("Constraints", lead, &table(head, &rows))
}

fn table(head: &str, rows: &[String]) -> String {
    let head =
        if head.is_empty() { String::new() } else { format!("<thead><tr>{head}</tr></thead>") };
    format!("<div class=\"scroll\"><table>{head}<tbody>{}</tbody></table></div>", rows.concat())
}

fn adversaries(subject: &Subject<'_>, figures: &[Figure]) -> String {
    let decimals = subject.decimals;
    let row = |variant: &VariantResult| {
        let estimate = variant.estimate;
        let error =
            format!("{} ± {}", fixed(estimate.mean, decimals), fixed(estimate.std_error, decimals));
        let bound = match variant.name.is_conservative() {
            true => rounded_down(variant.lower_bound, decimals),
            false => "none".into(),
        };
        let class = if subject.decides(variant) { " class=\"main\"" } else { "" };
        format!(
            "<tr{class}><th>{}</th><td class=\"number\">{error}</td><td class=\"number\">{bound}</td>\
             <td class=\"number\">{}</td></tr>",
            variant.name,
            percent(variant.outside_data)
        )
    };
    let rows: Vec<String> = subject.evaluation.variants.iter().map(row).collect();
    let head = "<th>Variant</th><th class=\"number\">Mean return ± std. error</th>\
                <th class=\"number\">Lower bound</th><th class=\"number\">Outside the data</th>";
    let numbers = format!(
        "<div><h3>In numbers</h3>{}<p class=\"note\">“Outside the data” is the share of steps that are \
         less certain than every calibration point. The mean is of {} episodes.</p></div>",
        table(head, &rows),
        fixed(subject.evaluation.settings.episodes as f64, 0)
    );
    let training = figures.iter().find(|figure| figure.name == "training").map(picture);
    let content = format!(
        "<div class=\"pair\">{}{numbers}</div>{}",
        training.unwrap_or_default(),
        pictures(figures, &["episodes"], "wide")
    );
    section("The adversaries", "", &content)
}

fn data(subject: &Subject<'_>) -> String {
    let evaluation = subject.evaluation;
    let data = &evaluation.data;
    let model = match evaluation.members {
        0 => "Gaussian processes".to_owned(),
        members => format!("ensemble of {members} neural networks"),
    };
    let count = |value: usize| fixed(value as f64, 0);
    let calibration = &evaluation.calibration;
    let facts = [
        ("Transitions", count(data.rows)),
        (
            "Episodes",
            format!(
                "{}, of which {} terminated",
                count(data.episodes),
                count(data.terminated_episodes)
            ),
        ),
        ("Fingerprint (BLAKE3)", format!("<code>{}</code>", escape(&data.fingerprint))),
        ("Model", model),
        (
            "Calibration",
            format!(
                "error {} before, {} after, on {} held-out points",
                number(calibration.error_before),
                number(calibration.error_after),
                count(calibration.points)
            ),
        ),
        (
            "Horizon",
            format!(
                "{} steps, discount {}",
                count(evaluation.horizon),
                as_given(f64::from((evaluation.discount * 1e6).round()) / 1e6)
            ),
        ),
    ];
    let facts: Vec<String> = facts
        .iter()
        .map(|(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>"))
        .collect();
    let factors = calibration.box_factors();
    let cell = |value: Option<f64>| {
        format!("<td class=\"number\">{}</td>", value.map_or("–".into(), number))
    };
    let dimension = |index: usize| {
        let range = evaluation.data_range.get(index);
        format!(
            "<tr><td>{}</td>{}{}{}{}</tr>",
            escape(&subject.outputs[index]),
            cell(range.map(|range| f64::from(range[0]))),
            cell(range.map(|range| f64::from(range[1]))),
            cell(calibration.temperatures.get(index).map(|&t| f64::from(t))),
            cell(factors.get(index).map(|&f| f64::from(f))),
        )
    };
    let rows: Vec<String> = (0..subject.outputs.len()).map(dimension).collect();
    let head = "<th>Dimension</th><th class=\"number\">Smallest</th><th class=\"number\">Largest</th>\
                <th class=\"number\">Temperature</th><th class=\"number\">Box factor</th>";
    let content = format!(
        "<div class=\"wide\">{}</div><div class=\"wide\">{}</div>",
        table("", &facts),
        table(head, &rows)
    );
    section("The data", "", &content)
}

fn assumptions(subject: &Subject<'_>) -> String {
    let items: Vec<String> = words::assumptions(subject)
        .iter()
        .map(|assumption| format!("<li>{}</li>", escape(assumption)))
        .collect();
    let lead = "If one of these does not hold, neither does the bound.";
    section("What is assumed", lead, &format!("<ul class=\"plain\">{}</ul>", items.concat()))
}

fn reproduce(subject: &Subject<'_>) -> String {
    let evaluation = subject.evaluation;
    let command = match &subject.options.command {
        Some(command) => format!("<pre>{}</pre>", escape(command)),
        None => String::new(),
    };
    let settings = serde_json::to_string_pretty(&evaluation.settings).unwrap_or_default();
    let total: f64 = evaluation.timings.values().sum();
    let timings: Vec<String> = evaluation
        .timings
        .iter()
        .map(|(stage, seconds)| {
            format!(
                "<tr><th>{}</th><td class=\"number\">{} s</td></tr>",
                escape(stage),
                fixed(*seconds, 1)
            )
        })
        .collect();
    let content = format!(
        "{command}<p>Seed {}, hambo {}, {} s in all. The same data, settings and seed give the same \
         numbers, on any number of threads.</p><details><summary>Settings and timings</summary>\
         <pre>{}</pre>{}</details>",
        evaluation.seed,
        escape(&evaluation.version),
        fixed(total, 0),
        escape(&settings),
        table("", &timings)
    );
    section("How to reproduce it", "", &content)
}
