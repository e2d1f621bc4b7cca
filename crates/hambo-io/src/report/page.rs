//! The page itself.

use hambo::{Variant, VariantResult, Verdict};

use super::contents::Contents;
use super::figures::{self, Figure};
use super::frame::{self, picture};
use super::markup::{NUMBER, TEXT, facts, section, table};
use super::text::{as_given, escape, fixed, in_lines, number, percent, rounded_down, sentence};
use super::{backtest, data, guarantee, opinions, short, words, worlds};

pub(super) fn page(contents: &Contents<'_>) -> String {
    let figures = figures::all(contents);
    let title = match contents.options.title.trim() {
        "" => "Policy evaluation",
        title => title,
    };
    let sections = [
        warnings(contents),
        improvement(contents),
        constraints(contents),
        section("policy", "The policy", "", &pictures(&figures, &["actions"], "wide")),
        guarantee::guarantee(contents),
        backtest::within(contents),
        worlds::replay(contents),
        opinions::opinions(contents, &figures),
        assumptions(contents),
        section("returns", "Returns", "", &pictures(&figures, &["returns", "horizon"], "pair")),
        section(
            "gap",
            "The gap",
            GAP,
            &(pictures(&figures, &["gap", "costs"], "pair") + &places(contents)),
        ),
        adversaries(contents, &figures),
        model(contents, &figures),
        data::data(contents),
        reproduce(contents),
    ];
    let content =
        format!("{}\n{}\n{}", header(contents, title), top(contents, &figures), sections.concat());
    let word = contents.verdict.to_string();
    frame::whole(title, &word, &content, &contents.evaluation.version)
}

const GAP: &str = "Between the neutral estimate and the bound lies what the data leaves open. Data where \
                   most is lost raises the bound most.";

fn header(contents: &Contents<'_>, title: &str) -> String {
    let options = contents.options;
    let named = |name: &str, value: &Option<String>| {
        value.as_ref().filter(|value| !value.is_empty()).map(|value| format!("{name}{value}"))
    };
    let about: Vec<String> = [
        named("Policy: ", &options.policy),
        named("Data: ", &options.data),
        Some(format!("{} transitions", fixed(contents.evaluation.data.rows as f64, 0))),
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
fn top(contents: &Contents<'_>, figures: &[Figure]) -> String {
    let (class, sign) = match contents.verdict {
        Verdict::Certified { .. } => ("certified", frame::YES),
        Verdict::NotCertified => ("not-certified", frame::NO),
        Verdict::Inconclusive { .. } => ("inconclusive", frame::UNSURE),
        Verdict::NoThreshold => ("no-threshold", "M5 12h14"),
    };
    let mut facts = String::new();
    let mut fact = |class: &str, name: &str, value: &str| {
        facts += &format!("<div class=\"{class}\"><dt>{name}</dt><dd>{value}</dd></div>");
    };
    if let Some(bound) = contents.evaluation.lower_bound {
        fact("main", "Lower bound", &rounded_down(bound, contents.decimals));
    }
    if let Some(threshold) = contents.options.threshold {
        fact("", "Threshold", &as_given(threshold));
    }
    if let Some(expected) = contents.evaluation.neutral() {
        fact("", "Neutral estimate", &fixed(expected, contents.decimals));
    }
    if let Some((earned, more)) = words::against_logs(contents) {
        fact("", "The logs earned", &earned);
        fact("", "Bound against that", &more);
    }
    let sentences = [
        Some(words::of_verdict(contents)),
        words::of_improvement(contents),
        words::how_close(contents),
        worlds::backtest(contents).map(|found| sentence(&found.summary)),
    ];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    let bounds = figures.iter().find(|figure| figure.name == "bounds").map(picture);
    format!(
        "<div class=\"top {class}\"><div>{}{}<dl class=\"facts\">{facts}</dl>\
         <p class=\"sentence\">{}</p><p class=\"covers\">{} See <a href=\"#guarantee\">what is \
         guaranteed</a>.{}</p></div>{}</div>",
        frame::badge(sign, &contents.verdict.to_string()),
        short::in_short(contents),
        escape(&sentences.join(" ")),
        escape(&words::of_confidence(contents)),
        counted(&remarks(contents)),
        bounds.unwrap_or_default()
    )
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

/// A warning about the bound, or a note about the policy's file.
#[derive(PartialEq)]
struct Remark {
    /// The bound may be too high for it.
    disqualifies: bool,
    message: String,
    help: String,
}

/// The evaluation's warnings and the notes, each once, the serious ones first.
fn remarks(contents: &Contents<'_>) -> Vec<Remark> {
    let mut ordered: Vec<_> = contents.evaluation.warnings.iter().collect();
    ordered.sort_by_key(|warning| !warning.disqualifies());
    let warnings = ordered.into_iter().map(|warning| {
        let setting = warning.setting().map(|name| format!(" (`{name}`)")).unwrap_or_default();
        Remark {
            disqualifies: warning.disqualifies(),
            message: warning.to_string(),
            help: format!("{}{setting}", warning.help()),
        }
    });
    let notes = contents.options.notes.iter().map(|note| Remark {
        disqualifies: false,
        message: note.message.clone(),
        help: note.help.clone(),
    });
    let mut remarks: Vec<Remark> = Vec::new();
    for remark in warnings.chain(notes) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

/// How many there are, with a link to them.
fn counted(remarks: &[Remark]) -> String {
    let (serious, notes): (Vec<_>, Vec<_>) = remarks.iter().partition(|remark| remark.disqualifies);
    let count = |found: &[&Remark], what: &str| match found.len() {
        0 => None,
        1 => Some(format!("one {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let counts: Vec<String> =
        [count(&serious, "warning"), count(&notes, "note")].into_iter().flatten().collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!(" See also <a href=\"#warnings\">{}</a>.", counts.join(" and ")),
    }
}

/// All remarks, or nothing.
pub(super) fn warning_list(contents: &Contents<'_>) -> String {
    let items: Vec<String> = remarks(contents)
        .into_iter()
        .map(|remark| {
            let tag = match remark.disqualifies {
                true => "<span class=\"tag serious\">bound may be too high</span>",
                false => "<span class=\"tag\">note</span>",
            };
            let message = in_code(&sentence(&remark.message));
            let help = in_code(&sentence(&remark.help));
            format!("<li><p>{tag}{message}</p><p class=\"soft\">{help}</p></li>")
        })
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<ol class=\"warnings\">{}</ol>", items.concat()),
    }
}

fn warnings(contents: &Contents<'_>) -> String {
    match warning_list(contents) {
        list if list.is_empty() => {
            section("warnings", "Warnings", "", "<p>None: every check was passed.</p>")
        }
        list => section("warnings", "Warnings, and what to do about them", "", &list),
    }
}

/// Escapes text, and turns `this` into code.
fn in_code(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| match index % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    });
    parts.collect()
}

fn constraints(contents: &Contents<'_>) -> String {
    let rows: Vec<Vec<String>> = contents
        .evaluation
        .constraints
        .iter()
        .map(|constraint| {
            let proven = constraint.lower_bound.is_some_and(|bound| bound >= 0.0);
            vec![
                escape(&constraint.name),
                constraint.lower_bound.map_or("–".into(), |bound| rounded_down(bound, 4)),
                if proven { "✓ at least zero" } else { "✕ not proven" }.to_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns =
        [("Constraint", TEXT), ("Lower bound", NUMBER), ("Required: at least zero", TEXT)];
    let lead = "The mean over the steps of an episode, bounded in the same way as the return.";
    section("constraints", "Constraints", lead, &table(&columns, &rows, None))
}

/// Where to collect data.
fn places(contents: &Contents<'_>) -> String {
    let Some(shown) = contents.shown().filter(|shown| !shown.evidence.places.is_empty()) else {
        return String::new();
    };
    let columns = [
        ("Column", TEXT),
        ("From", NUMBER),
        ("To", NUMBER),
        ("Of the disagreement", NUMBER),
        ("Of the policy’s steps", NUMBER),
        ("Of the logs", NUMBER),
    ];
    let rows: Vec<Vec<String>> = shown
        .evidence
        .places
        .iter()
        .map(|place| {
            vec![
                escape(&place.column),
                number(f64::from(place.low)),
                number(f64::from(place.high)),
                percent(place.disagreement),
                percent(place.steps),
                percent(place.logged),
            ]
        })
        .collect();
    format!(
        "<h3>Where to collect data</h3>{}<p class=\"note\">Values in which the policy’s steps have much more of \
         the members’ squared disagreement than their share. Logs with such values narrow the gap.</p>",
        table(&columns, &rows, None)
    )
}

/// How much better the policy is, and how that was found.
fn improvement(contents: &Contents<'_>) -> String {
    let Some(found) = &contents.evaluation.improvement else { return String::new() };
    let decimals = contents.decimals;
    let columns = [
        ("Against", TEXT),
        ("Earns", NUMBER),
        ("Improvement", NUMBER),
        ("Spread of worlds", NUMBER),
        ("Factor", NUMBER),
        ("Lower bound", NUMBER),
        ("By two separate bounds", NUMBER),
    ];
    let row = vec![
        escape(&found.against),
        fixed(found.baseline.mean, decimals),
        format!(
            "{} ± {}",
            fixed(found.estimate.mean, decimals),
            fixed(found.estimate.std_error, decimals)
        ),
        fixed(found.spread, decimals),
        fixed(found.factor, 2),
        rounded_down(found.lower_bound, decimals),
        rounded_down(found.by_separate_bounds, decimals),
    ];
    let lead = "Both were played in the same worlds, from the same starts and with the same draws, so that what \
                all worlds get wrong alike cancels. The improvement is counted episode by episode, so it need \
                not be exactly the difference between the two means.";
    section("improvement", "The improvement", lead, &table(&columns, &[row], None))
}

fn adversaries(contents: &Contents<'_>, figures: &[Figure]) -> String {
    let variants = &contents.evaluation.variants;
    let row = |variant: &VariantResult| {
        let bound = match variant.variant.is_conservative() {
            true => rounded_down(variant.lower_bound, contents.decimals),
            false => "none".into(),
        };
        let rounds = match (variant.converged, variant.rounds.len()) {
            (None, _) => "–".into(),
            (Some(true), rounds) => rounds.to_string(),
            (Some(false), rounds) => format!("{rounds}, not converged"),
        };
        vec![
            variant.variant.to_string(),
            fixed(variant.estimate.mean, contents.decimals),
            bound,
            rounds,
            percent(variant.went.outside_data),
        ]
    };
    let mut rows: Vec<Vec<String>> = variants.iter().map(row).collect();
    rows.extend(contents.evaluation.second_opinion.map(|opinion| {
        let mean = fixed(opinion.mean, contents.decimals);
        vec!["second opinion".into(), mean, "none".into(), "–".into(), "–".into()]
    }));
    let main = variants.iter().position(|variant| contents.decides(variant));
    let columns = [
        ("Variant", TEXT),
        ("Mean return", NUMBER),
        ("Lower bound", NUMBER),
        ("Rounds", NUMBER),
        ("Outside data", NUMBER),
    ];
    let numbers = format!(
        "<div><h3>In numbers</h3>{}<p class=\"note\">“Outside data” is the share of steps that are \
         less certain than 99 % of the calibration points. The second opinion is the return if the model \
         errs as it did on logged transitions like each step; a bound above it would be a \
         warning.</p></div>",
        table(&columns, &rows, main)
    );
    let training = figures.iter().find(|figure| figure.name == "training").map(picture);
    let content = format!(
        "<div class=\"pair\">{}{numbers}</div>{}",
        training.unwrap_or_default(),
        pictures(figures, &["episodes"], "wide")
    );
    let heading = match contents.evaluation.deciding {
        Some(Variant::Worlds) if variants.len() == 1 => "The worlds",
        Some(Variant::Worlds) => "The worlds, and stress tests",
        _ => "The adversaries",
    };
    section("adversaries", heading, "", &content)
}

fn model(contents: &Contents<'_>, figures: &[Figure]) -> String {
    let pictures = pictures(figures, &["reliability", "uncertainty"], "wide");
    section("model", "The model", "", &(pictures + &data::model(contents)))
}

fn assumptions(contents: &Contents<'_>) -> String {
    let items: Vec<String> = words::assumptions(contents)
        .iter()
        .map(|assumption| format!("<li>{}</li>", escape(assumption)))
        .collect();
    let lead = "If one of these does not hold, neither does the bound.";
    section(
        "assumptions",
        "What is assumed",
        lead,
        &format!("<ul class=\"plain\">{}</ul>", items.concat()),
    )
}

/// Letters of a line of the command.
const COMMAND_WIDTH: usize = 76;

fn reproduce(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let command = match &contents.options.command {
        Some(command) => format!("<pre>{}</pre>", escape(&in_lines(command, COMMAND_WIDTH))),
        None => String::new(),
    };
    let settings = serde_json::to_string_pretty(&evaluation.settings).unwrap_or_default();
    let total: f64 = evaluation.timings.values().sum();
    let timings: Vec<(&str, String)> = evaluation
        .timings
        .iter()
        .map(|(stage, seconds)| (stage.as_str(), format!("{} s", fixed(*seconds, 1))))
        .collect();
    let content = format!(
        "{command}<p>Seed {}, hambo {}, {} s in all. The same data, settings and seed give the same \
         numbers, on any number of threads{}.</p><details><summary>Settings and timings</summary>\
         <pre>{}</pre>{}</details>",
        evaluation.seed,
        escape(&evaluation.version),
        fixed(total, 0),
        match evaluation.instruction_set.as_str() {
            "" => String::new(),
            known => format!(", on processors with the same instructions ({})", escape(known)),
        },
        escape(&settings),
        facts(&timings)
    );
    section("reproduce", "How to reproduce it", "", &content)
}
