//! What the field's estimators say, as text for the terminal.

use hambo::{Baselines, LimitBy, Opinion};

use crate::screen::{number, table, wrap};

const ESTIMATED: &str = "the probabilities of the logged actions are estimated: what is weighed by them is as wrong as \
                         they are, and no claim about it holds";

/// A table, and what could not be said; nothing if nobody has asked.
pub(crate) fn opinions(said: Option<&Baselines>, decimals: usize) -> String {
    let Some(said) = said else { return String::new() };
    let header = [
        "other opinions",
        "estimate",
        "std error",
        "Student",
        "Bernstein",
        "bootstrap",
        "effective",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    let fixed =
        |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.decimals$}"));
    let row = |opinion: &Opinion| {
        vec![
            opinion.name(),
            fixed(Some(opinion.estimate)),
            fixed(opinion.std_error),
            fixed(opinion.limit(LimitBy::Student)),
            fixed(opinion.limit(LimitBy::Bernstein)),
            fixed(opinion.limit(LimitBy::Bootstrap)),
            opinion.effective_episodes.map_or("-".into(), |episodes| format!("{episodes:.1}")),
        ]
    };
    rows.extend(said.opinions.iter().map(row));
    let mut lines = vec![format!(
        "they decide nothing; their lower limits fail with probability {} if what each takes for granted holds",
        said.delta
    )];
    if said.left_out > 0 {
        lines.push(format!(
            "{} logged episodes are averaged and weighed; {} are left out, because they are shorter than the horizon \
             or do not show their start",
            said.episodes, said.left_out
        ));
    }
    if let Some(penalty) = &said.penalty {
        let chosen = penalty.chosen.map_or("more than was tried".into(), number);
        lines.push(format!(
            "the logs ask for a weight of {} on MOPO's penalty, because of `{}`: {chosen}",
            number(penalty.needed),
            penalty.worst
        ));
    }
    if said.estimated_probabilities {
        lines.push(ESTIMATED.into());
    }
    for unsaid in &said.unsaid {
        let methods: Vec<String> = unsaid.methods.iter().map(ToString::to_string).collect();
        lines.push(format!("{}: {}", methods.join(", "), unsaid.why));
    }
    let wrapped: String = lines.iter().map(|line| format!("{}\n", wrap(line, 0, 2))).collect();
    format!("\n{}{wrapped}", table(&rows, 1))
}
