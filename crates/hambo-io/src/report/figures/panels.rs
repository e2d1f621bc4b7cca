//! Small panels, one per output of the model.

use hambo::calibration::LEVELS;
use hambo::{HorizonPoint, Variant};

use super::super::contents::Contents;
use super::super::plot::{Plot, range};
use super::super::text::{fixed, percent, shortened};
use super::figure::{Figure, PANEL, most_telling, thinned};

const MARGINS: [f64; 4] = [26.0, 14.0, 22.0, 36.0];

/// A panel with its name above it.
fn panel(name: &str, x: (f64, f64), y: (f64, f64)) -> Plot {
    let mut plot = Plot::new(PANEL, MARGINS, x, y);
    plot.text("strong", [0.0, 12.0], "start", &shortened(name, 28));
    plot
}

/// Ticks without titles: panels of a kind share those, in the caption.
fn axes(plot: &mut Plot, floor: f64) {
    plot.y_axis("", 3);
    plot.x_axis("", 3);
    plot.level("axis", floor);
}

/// Reliability of the predicted quantiles, before and after calibration.
pub(super) fn reliability(contents: &Contents<'_>) -> Option<Figure> {
    let calibration = &contents.evaluation.calibration;
    let (before, after) = (&calibration.frequencies_before, &calibration.frequencies_after);
    let curve = |calibrated: bool, output: usize| -> Vec<(f64, f64)> {
        let row = if calibrated { after.row(output) } else { before.row(output) };
        LEVELS.into_iter().zip(row.to_vec()).collect()
    };
    let outputs = after.nrows().min(before.nrows()).min(contents.outputs.len());
    let scores: Vec<f64> = (0..outputs)
        .map(|output| {
            let points = curve(true, output);
            points.iter().map(|(level, found)| (level - found).powi(2)).sum()
        })
        .collect();
    let (kept, rest) = most_telling(&scores, "the largest error");
    let mut drawings = Vec::new();
    for output in kept {
        let name = &contents.outputs[output];
        let mut plot = panel(name, (0.0, 1.0), (0.0, 1.0));
        axes(&mut plot, 0.0);
        plot.line("axis dashed", [(0.0, 0.0), (1.0, 1.0)]);
        plot.line("soft", curve(false, output));
        let after = curve(true, output);
        plot.line("accent", after.iter().copied());
        for (level, found) in after {
            plot.dot("accent-fill", [plot.x.at(level), plot.y.at(found)], 2.5);
        }
        drawings.push(plot.finish(format!("Reliability of the predictions of {name}")));
    }
    let caption = format!(
        "Share of {} held-out points (upwards) below each predicted quantile (to the right): the \
         closer to the dashed diagonal, the better the model knows its error. Blue with dots: after \
         calibration; grey: before.{rest}",
        fixed(calibration.points as f64, 0)
    );
    let heading = "Does the model know its error?";
    (!drawings.is_empty()).then_some(Figure { name: "reliability", heading, caption, drawings })
}

/// What the policy does in the course of an episode, beside what was done in the logs.
pub(super) fn actions(contents: &Contents<'_>) -> Option<Figure> {
    let points = &contents.shown()?.evidence.over_horizon;
    let names = &contents.evaluation.data.names.actions;
    let curve = |of: &dyn Fn(&HorizonPoint) -> Option<f64>| -> Vec<(f64, f64)> {
        // An action holds from the point before on.
        let before = [0].into_iter().chain(points.iter().map(|point| point.steps));
        let both = before.zip(points).filter_map(|(step, point)| Some((step as f64, of(point)?)));
        both.collect()
    };
    let curves = |column: usize| {
        let own = curve(&|point| point.actions.get(column).copied());
        (own, curve(&|point| point.logged_actions.get(column).copied()))
    };
    let count = points.first().map_or(0, |point| point.actions.len());
    let difference = |column: usize| -> f64 {
        let (own, logged) = curves(column);
        let of = |((_, a), (_, b)): (&(f64, f64), &(f64, f64))| (a - b).abs();
        let width = range(own.iter().chain(&logged).map(|&(_, y)| y), 0.0);
        own.iter().zip(&logged).map(of).sum::<f64>() / (width.1 - width.0).max(f64::MIN_POSITIVE)
    };
    let scores: Vec<f64> = (0..count).map(difference).collect();
    let (kept, rest) = most_telling(&scores, "the largest differences");
    let mut drawings = Vec::new();
    for column in kept {
        let (own, logged) = curves(column);
        let y = range(own.iter().chain(&logged).map(|&(_, y)| y), 0.06);
        let name = names.get(column).map_or("action", String::as_str);
        let mut plot = panel(name, (0.0, contents.evaluation.horizon as f64), y);
        axes(&mut plot, y.0);
        plot.line("soft", thinned(&logged));
        plot.line("accent", thinned(&own));
        drawings.push(plot.finish(format!("{name} in the course of an episode")));
    }
    let caption = format!(
        "Mean action over the steps of an episode. Blue: the policy, as the model plays it; grey: the policy in \
         the logs.{rest}"
    );
    let heading = "What the policy does";
    (points.len() > 1 && !drawings.is_empty()).then_some(Figure {
        name: "actions",
        heading,
        caption,
        drawings,
    })
}

/// The worst hallucinated episodes over the range of the data.
pub(super) fn episodes(contents: &Contents<'_>) -> Option<Figure> {
    let shown = contents.shown()?;
    let evaluation = contents.evaluation;
    let longest = shown.worst.iter().map(|episode| episode.states.len()).max()?;
    let excess = |dimension: usize| -> f64 {
        let [low, high] = evaluation.data_range[dimension];
        let values = shown.worst.iter().flat_map(|episode| &episode.states);
        let values = values.filter_map(|state| state.get(dimension));
        let beyond = values.map(|&value| (low - value).max(value - high)).fold(f32::MIN, f32::max);
        f64::from(beyond / (high - low).max(f32::MIN_POSITIVE))
    };
    let scores: Vec<f64> = (0..evaluation.data_range.len()).map(excess).collect();
    let (kept, rest) = most_telling(&scores, "the largest excursions");
    let mut drawings = Vec::new();
    for dimension in kept {
        let name = &contents.outputs[dimension];
        let [low, high] = evaluation.data_range[dimension].map(f64::from);
        let value = |state: &Vec<f32>| state.get(dimension).map_or(f64::NAN, |&v| f64::from(v));
        let visited = shown.worst.iter().flat_map(|episode| &episode.states).map(value);
        let y = range(visited.chain([low, high]), 0.06);
        let mut plot = panel(name, (0.0, longest as f64), y);
        let (top, bottom) = (plot.y.at(high), plot.y.at(low));
        let [_, right, _, left] = MARGINS;
        plot.rectangle("band", [left, top, PANEL[0] - left - right, bottom - top]);
        axes(&mut plot, y.0);
        for (index, episode) in shown.worst.iter().enumerate().rev() {
            let points: Vec<(f64, f64)> =
                episode.states.iter().enumerate().map(|(t, s)| (t as f64, value(s))).collect();
            plot.line(if index == 0 { "accent" } else { "soft thin" }, thinned(&points));
        }
        drawings.push(plot.finish(format!("{name} in the worst hallucinated episodes")));
    }
    let totals: Vec<String> =
        shown.worst.iter().map(|episode| fixed(episode.total, contents.decimals)).collect();
    let caption = format!(
        "The {} worst of a few hundred episodes under {} over the steps, the worst as a thick blue line (returns \
         {}). The shaded band is the range of the data.{rest}",
        shown.worst.len(),
        shown.variant,
        totals.join(", ")
    );
    let heading = match shown.variant {
        Variant::Worlds => "The worst episodes of the lowest world",
        _ => "What the adversary does",
    };
    (!drawings.is_empty()).then_some(Figure { name: "episodes", heading, caption, drawings })
}

/// The model's uncertainty in the course of the episodes.
pub(super) fn uncertainty(contents: &Contents<'_>) -> Option<Figure> {
    let shown = contents.shown()?;
    let usual = &contents.evaluation.calibration.usual_epistemic_std;
    let curve = |variant: &hambo::VariantResult, output: usize| -> Vec<(f64, f64)> {
        let checked = f64::from(usual[output]);
        let relative = |std: Option<&f64>| match std {
            Some(std) if checked > 0.0 => std / checked,
            _ => f64::NAN,
        };
        let points: Vec<(f64, f64)> = variant
            .evidence
            .over_horizon
            .iter()
            .map(|point| (point.steps as f64, relative(point.epistemic_std.get(output))))
            .collect();
        thinned(&points)
    };
    let highest = |points: &[(f64, f64)]| range(points.iter().map(|&(_, y)| y), 0.0).1;
    let curves: Vec<_> =
        (0..usual.len().min(contents.outputs.len())).map(|output| curve(shown, output)).collect();
    let scores: Vec<f64> = curves.iter().map(|curve| highest(curve)).collect();
    let (kept, rest) = most_telling(&scores, "the largest uncertainty");
    let end = contents.evaluation.horizon as f64;
    let mut drawings = Vec::new();
    for output in kept {
        let name = &contents.outputs[output];
        let neutral = contents.neutral.filter(|neutral| !std::ptr::eq(*neutral, shown));
        let beside = neutral.map(|neutral| curve(neutral, output)).unwrap_or_default();
        if !curves[output].iter().any(|(_, y)| y.is_finite()) {
            continue;
        }
        let top = highest(&curves[output]).max(highest(&beside)).max(1.0);
        let mut plot = panel(name, (0.0, end), (0.0, 1.12 * top));
        axes(&mut plot, 0.0);
        plot.line("threshold", [(0.0, 1.0), (end, 1.0)]);
        plot.line("soft dashed", beside);
        plot.line("accent", curves[output].iter().copied());
        drawings.push(plot.finish(format!("Uncertainty of {name} over the horizon")));
    }
    let neutral = match contents.neutral {
        Some(neutral) if !std::ptr::eq(neutral, shown) => {
            format!("; grey, dashed: under {}", neutral.variant)
        }
        _ => String::new(),
    };
    let caption = format!(
        "Mean epistemic standard deviation over the steps, in units of the usual one on the \
         data: above the dotted line little was checked. Blue: under {}{neutral}. In {} of all steps \
         under {} some output lies above it.{rest}",
        shown.variant,
        percent(shown.went.outside_data),
        shown.variant
    );
    let heading = "Where the model is unsure";
    (!drawings.is_empty()).then_some(Figure { name: "uncertainty", heading, caption, drawings })
}
