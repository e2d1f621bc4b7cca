//! What the data is, and what the model made of it.

use hambo::dataset::{SourceSummary, ValueRange};

use super::contents::Contents;
use super::markup::{NUMBER, TEXT, facts, folded, section, table};
use super::text::{as_given, escape, fixed, number, percent};

/// A table with more rows than this is folded away.
const MOST_ROWS: usize = 24;

fn count(value: usize) -> String {
    fixed(value as f64, 0)
}

/// Rows, episodes, ranges, returns.
pub(super) fn data(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let data = &evaluation.data;
    let share = |episodes: usize| percent(episodes as f64 / data.episodes.max(1) as f64);
    let terminated = format!(
        "{} terminated ({})",
        count(data.terminated_episodes),
        share(data.terminated_episodes)
    );
    let dimensions = |number: usize, of: &str| match number {
        1 => format!("1 {of} dimension"),
        number => format!("{number} {of} dimensions"),
    };
    let states = dimensions(evaluation.data_range.len(), "state");
    let mut said = vec![("Transitions", count(data.rows))];
    match &contents.options.summary {
        Some(summary) => {
            let truncated = summary.truncated_episodes;
            said.push((
                "Episodes",
                format!(
                    "{}: {terminated}, {} cut off ({})",
                    count(data.episodes),
                    count(truncated),
                    share(truncated)
                ),
            ));
            said.push(("Dimensions", {
                let actions = dimensions(summary.actions.len(), "action");
                format!("{states}, {actions}")
            }));
        }
        None => {
            said.push(("Episodes", format!("{}: {terminated}", count(data.episodes))));
            said.push(("Dimensions", states));
        }
    }
    if let Some(formula) = &contents.options.reward {
        said.push(("Reward", format!("<code>{}</code>", escape(formula))));
    }
    said.push(("Fingerprint (BLAKE3)", format!("<code>{}</code>", escape(&data.fingerprint))));
    let content = format!("{}{}{}", facts(&said), sources(contents), ranges(contents));
    section("data", "The data", "", &content)
}

/// What each source of the logs earned.
fn sources(contents: &Contents<'_>) -> String {
    let summary = contents.options.summary.as_ref();
    let sources = summary.map(|summary| &*summary.sources).unwrap_or_default();
    if sources.len() < 2 {
        return String::new();
    }
    let row = |source: &SourceSummary| {
        let ValueRange { min, mean, max } = source.returns;
        let returns = [min, mean, max].map(|value| fixed(value, contents.decimals));
        [escape(&source.name), count(source.episodes)].into_iter().chain(returns).collect()
    };
    let rows: Vec<Vec<String>> = sources.iter().map(row).collect();
    let columns = [
        ("Source", TEXT),
        ("Episodes", NUMBER),
        ("Least return", NUMBER),
        ("Mean return", NUMBER),
        ("Largest return", NUMBER),
    ];
    long(&table(&columns, &rows, None), rows.len())
}

/// Smallest, mean and largest value of everything that was logged.
fn ranges(contents: &Contents<'_>) -> String {
    let names = &contents.evaluation.data.names;
    let name =
        |given: &[String], index: usize| given.get(index).map_or("–".into(), |n| escape(n));
    let states = |index: usize| name(&names.states, index);
    let actions = |index: usize| name(&names.actions, index);
    let Some(summary) = &contents.options.summary else {
        let ranges = contents.evaluation.data_range.iter().enumerate();
        let rows: Vec<Vec<String>> = ranges
            .map(|(index, &[low, high])| {
                vec![states(index), number(f64::from(low)), number(f64::from(high))]
            })
            .collect();
        let columns = [("State", TEXT), ("Smallest", NUMBER), ("Largest", NUMBER)];
        return long(&table(&columns, &rows, None), rows.len());
    };
    let row = |name: String, kind: &str, range: &ValueRange| {
        let decimals = decimals(range);
        let values = [range.min, range.mean, range.max].map(|value| fixed(value, decimals));
        [name, kind.to_owned()].into_iter().chain(values).collect::<Vec<String>>()
    };
    let whole = [
        ("return", "per episode", &summary.returns),
        ("steps", "per episode", &summary.lengths),
        ("reward", "per step", &summary.rewards),
    ];
    let mut rows: Vec<Vec<String>> =
        whole.map(|(name, kind, range)| row(name.into(), kind, range)).to_vec();
    let columns_of = |ranges: &[ValueRange], name: &dyn Fn(usize) -> String, kind: &str| {
        let ranges = ranges.iter().enumerate();
        ranges.map(|(index, range)| row(name(index), kind, range)).collect::<Vec<_>>()
    };
    rows.extend(columns_of(&summary.states, &states, "state"));
    rows.extend(columns_of(&summary.actions, &actions, "action"));
    let columns = [
        ("Column", TEXT),
        ("Of", TEXT),
        ("Smallest", NUMBER),
        ("Mean", NUMBER),
        ("Largest", NUMBER),
    ];
    let note = "Returns are undiscounted sums over logged episodes, those with gaps left out. They compare with the \
                bound only where those are as long as the horizon and nothing is discounted.";
    let table = format!("{}<p class=\"note\">{note}</p>", table(&columns, &rows, None));
    long(&table, rows.len())
}

/// Decimals that tell a column's values apart: four digits of the largest of them.
fn decimals(range: &ValueRange) -> usize {
    let largest = range.min.abs().max(range.max.abs());
    if range.min.fract() == 0.0 && range.max == range.min && largest < 1e6 {
        return 0;
    }
    if largest > 0.0 { (3.0 - largest.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 }
}

fn long(table: &str, rows: usize) -> String {
    match rows > MOST_ROWS {
        true => folded(&format!("All {rows} rows"), table),
        false => table.to_owned(),
    }
}

/// The model's kind and calibration, and what each of its outputs may be off by.
pub(super) fn model(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let calibration = &evaluation.calibration;
    let kind = match evaluation.members {
        0 => "Gaussian processes, one per output".to_owned(),
        members => format!("Ensemble of {members} neural networks"),
    };
    let said = [
        ("Model", kind),
        (
            "Calibration",
            format!(
                "Error {} before, {} after, on {} held-out points of {} episodes; above {} is warned \
                 about",
                number(calibration.error_before),
                number(calibration.error_after),
                count(calibration.points),
                count(calibration.episodes),
                number(evaluation.settings.thresholds.weak_calibration)
            ),
        ),
        (
            "Horizon",
            match evaluation.discount {
                1.0 => format!("{} steps, undiscounted", count(evaluation.horizon)),
                discount => format!(
                    "{} steps, discount {}",
                    count(evaluation.horizon),
                    as_given(f64::from((discount * 1e6).round()) / 1e6)
                ),
            },
        ),
    ];
    let temperature = |index: usize| calibration.temperatures.get(index).map(|&t| f64::from(t));
    // Nobody predicts what no action influences.
    let is_predicted = |std: &&f32| **std < f32::MAX;
    let uncertain = |index: usize| {
        calibration.usual_epistemic_std.get(index).filter(is_predicted).map(|&std| f64::from(std))
    };
    let shown = |value: Option<f64>| value.map_or("–".into(), number);
    let factor = |value: Option<f64>| value.map_or("–".into(), |value| fixed(value, 3));
    let rows: Vec<Vec<String>> = (0..contents.outputs.len())
        .map(|index| {
            vec![
                escape(&contents.outputs[index]),
                factor(temperature(index)),
                shown(uncertain(index)),
                factor(evaluation.box_half_widths.get(index).map(|&width| f64::from(width))),
            ]
        })
        .collect();
    let columns = [
        ("Output", TEXT),
        ("Temperature τ", NUMBER),
        ("Usual σₑ", NUMBER),
        ("CA’s box, in σₑ", NUMBER),
    ];
    let note = "σₑ is the epistemic standard deviation: what more data would remove. CA may shift each \
                output by so many of them in every step.";
    let table = format!("{}<p class=\"note\">{note}</p>", table(&columns, &rows, None));
    format!("<div class=\"wide\">{}{}</div>", facts(&said), long(&table, rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_columns_values_share_their_decimals() {
        let decimals = |min, max| decimals(&ValueRange { min, mean: 0.5 * (min + max), max });
        assert_eq!(decimals(-1612.3, -0.4), 0);
        assert_eq!(decimals(-1.0, 1.0), 3);
        assert_eq!(decimals(0.0, 0.0), 0);
        assert_eq!(decimals(100.0, 100.0), 0);
        assert_eq!(decimals(-1e-12, 1e-12), 6);
    }
}
