//! What the field's estimators say: a section of an evaluation's page.

use hambo::{LimitBy, Opinion};

use super::contents::Contents;
use super::figures::Figure;
use super::frame::picture;
use super::markup::{NUMBER, TEXT, folded, section, table};
use super::text::{escape, fixed, number, rounded_down};

const LEAD: &str = "What estimators of the field make of the same policy and the same logs. They decide nothing: a \
                    bound convinces when unlike methods agree, and is to be doubted when they do not.";

pub(super) fn opinions(contents: &Contents<'_>, figures: &[Figure]) -> String {
    let Some(said) = &contents.evaluation.baselines else { return String::new() };
    let decimals = contents.decimals;
    let limit = |value: Option<f64>| value.map_or("–".into(), |v| rounded_down(v, decimals));
    let row = |opinion: &Opinion| {
        vec![
            escape(&opinion.name()),
            fixed(opinion.estimate, decimals),
            opinion.std_error.map_or("–".into(), |error| fixed(error, decimals)),
            limit(opinion.limit(LimitBy::Student)),
            limit(opinion.limit(LimitBy::Bernstein)),
            limit(opinion.limit(LimitBy::Bootstrap)),
            opinion.effective_episodes.map_or("–".into(), |episodes| fixed(episodes, 1)),
        ]
    };
    let columns = [
        ("Estimator", TEXT),
        ("Estimate", NUMBER),
        ("Std error", NUMBER),
        ("Student’s limit", NUMBER),
        ("Bernstein’s", NUMBER),
        ("Bootstrap’s", NUMBER),
        ("Effective episodes", NUMBER),
    ];
    let rows: Vec<Vec<String>> = said.opinions.iter().map(row).collect();
    let figure = figures.iter().find(|figure| figure.name == "opinions").map(picture);
    let content = format!(
        "<div class=\"pair\">{}<div>{}</div></div>{}{}{}",
        figure.unwrap_or_default(),
        assumptions(&said.opinions),
        folded("All numbers", &table(&columns, &rows, None)),
        penalty(contents),
        unsaid(contents)
    );
    section("opinions", "Other opinions", LEAD, &content)
}

/// What each claims and takes for granted, once per method.
fn assumptions(opinions: &[Opinion]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut methods = Vec::new();
    for opinion in opinions.iter().filter(|opinion| opinion.method.is_about_policy()) {
        if methods.contains(&opinion.method) {
            continue;
        }
        methods.push(opinion.method);
        rows.push(vec![
            opinion.method.to_string(),
            escape(opinion.method.claim()),
            escape(opinion.method.assumption()),
        ]);
    }
    table(&[("Estimator", TEXT), ("Claims to be", TEXT), ("Provided that", TEXT)], &rows, None)
}

fn penalty(contents: &Contents<'_>) -> String {
    let said = contents.evaluation.baselines.as_ref();
    let Some(penalty) = said.and_then(|said| said.penalty.as_ref()) else { return String::new() };
    let chosen = match penalty.chosen {
        Some(chosen) => {
            format!("the least of the tried weights that is enough is {}", number(chosen))
        }
        None => "none of the tried weights is enough".into(),
    };
    format!(
        "<p class=\"note\">MOPO’s penalty would have had to weigh at least {} for no group of the logs to be \
         overestimated (the group “{}” asks for most); {chosen}.</p>",
        number(penalty.needed),
        escape(&penalty.worst)
    )
}

fn unsaid(contents: &Contents<'_>) -> String {
    let said = contents.evaluation.baselines.as_ref();
    let estimated = match said.is_some_and(|said| said.estimated_probabilities) {
        true => {
            "<p class=\"note\">The probabilities of the logged actions are estimated: what is weighed by them \
                 is as wrong as they are, and no claim about it holds.</p>"
        }
        false => "",
    };
    let unsaid = said.map(|said| &said.unsaid[..]).unwrap_or_default();
    let left_out = match said.map_or(0, |said| said.left_out) {
        0 => String::new(),
        left_out => format!(
            "<p class=\"note\">{left_out} logged episodes are neither averaged nor weighed, because they are shorter \
             than the horizon or do not show their start.</p>"
        ),
    };
    let line = |unsaid: &hambo::Unsaid| {
        let methods: Vec<String> = unsaid.methods.iter().map(ToString::to_string).collect();
        let why = escape(&unsaid.why);
        format!("<p class=\"note\">Not said by {}: {why}.</p>", methods.join(", "))
    };
    estimated.to_owned() + &left_out + &unsaid.iter().map(line).collect::<String>()
}
