//! When and where the bound loses what it loses.

use hambo::Variant;

use super::super::contents::Contents;
use super::super::plot::{Plot, range};
use super::super::text::{decimals_for, fixed, shortened};
use super::figure::{Figure, MOST_PANELS, WIDTH, thinned};

/// The bound as a function of the horizon.
pub(super) fn bound(contents: &Contents<'_>) -> Option<Figure> {
    let mut variants: Vec<_> = contents
        .evaluation
        .variants
        .iter()
        .filter(|variant| variant.evidence.over_horizon.len() > 1)
        .collect();
    // On top of the others.
    variants.sort_by_key(|variant| contents.decides(variant));
    let lines: Vec<Vec<(f64, f64)>> = variants
        .iter()
        .map(|variant| {
            let points: Vec<(f64, f64)> = variant
                .evidence
                .over_horizon
                .iter()
                .map(|point| {
                    let conservative = variant.variant.is_conservative();
                    let value = if conservative { point.lower_bound } else { point.estimate.mean };
                    (point.steps as f64, value)
                })
                .collect();
            thinned(&points)
        })
        .collect();
    let y = range(lines.iter().flatten().map(|&(_, y)| y), 0.04);
    let size = [WIDTH, 270.0];
    let end = contents.evaluation.horizon as f64;
    let mut plot = Plot::new(size, [32.0, 62.0, 44.0, 52.0], (0.0, end), y);
    plot.y_axis("lower bound on the return", 4);
    plot.level("axis", y.0);
    plot.x_axis("steps", 5);
    let mut labels = Vec::new();
    for (variant, line) in variants.iter().zip(&lines) {
        let (class, text) = match (contents.decides(variant), variant.variant.is_conservative()) {
            (true, _) => ("accent", "strong accent-text"),
            (false, true) => ("soft", "label"),
            (false, false) => ("soft dashed", "label"),
        };
        plot.line(class, line.iter().copied());
        if let Some(&(_, last)) = line.last() {
            labels.push((last, text, variant.variant.to_string()));
        }
    }
    plot.end_labels(&labels);
    let (heading, caption) = match contents.evaluation.deciding {
        Some(Variant::Worlds) => (
            "The lowest world over the horizon",
            "What the same episodes would earn if they were cut off earlier, less the Monte Carlo error: \
             in the world in which the policy does worst, and in the stress tests, if there are any. \
             None of these lines is the bound, which is a limit over all worlds.",
        ),
        _ => (
            "Bound over the horizon",
            "What the same episodes bound if they are cut off earlier; dashed lines are neutral \
             estimates. Only the right end is a certificate: the adversaries were trained for \
             the whole horizon, and might do more harm to a shorter one.",
        ),
    };
    let caption = caption.to_owned();
    let drawings = vec![plot.finish("Lower limit as a function of the horizon, per variant")];
    (!variants.is_empty()).then_some(Figure { name: "horizon", heading, caption, drawings })
}

/// In which steps the return is lost.
pub(super) fn gap(contents: &Contents<'_>) -> Option<Figure> {
    let (deciding, neutral) = (contents.deciding?, contents.neutral?);
    let (with, without) = (deciding.evidence.reward_per_step(), neutral.evidence.reward_per_step());
    let lost: Vec<(f64, f64)> = with
        .iter()
        .zip(&without)
        .take_while(|(with, without)| with.0 == without.0)
        .map(|(with, without)| (with.0 as f64, without.1 - with.1))
        .collect();
    if lost.len() < 2 {
        return None;
    }
    let size = [WIDTH, 230.0];
    let y = range(lost.iter().map(|&(_, lost)| lost).chain([0.0]), 0.05);
    let end = contents.evaluation.horizon as f64;
    let mut plot = Plot::new(size, [32.0, 12.0, 44.0, 52.0], (0.0, end), y);
    plot.y_axis("return lost per step", 4);
    plot.x_axis("steps", 5);
    let lost_line = thinned(&lost);
    let area: Vec<(f64, f64, f64)> =
        with_crossings(&lost_line).into_iter().map(|(x, y)| (x, y.min(0.0), y.max(0.0))).collect();
    plot.area("accent-area", &area);
    plot.line("accent", lost_line);
    plot.level("axis", 0.0);
    let total = neutral.estimate.mean - deciding.estimate.mean;
    let half = deciding
        .evidence
        .over_horizon
        .iter()
        .zip(&neutral.evidence.over_horizon)
        .find(|(with, without)| without.estimate.mean - with.estimate.mean >= 0.5 * total)
        .map(|(point, _)| point.steps)
        .filter(|_| total > 0.0);
    // What is less than the last printed digit is not worth telling apart.
    let together = match total.abs() < 0.5 * 10f64.powi(-(contents.decimals as i32)) {
        true => "next to nothing".to_owned(),
        false => {
            let half = half.map(|steps| format!(". Half of it is lost by step {steps}"));
            fixed(total, contents.decimals) + &half.unwrap_or_default()
        }
    };
    let caption = format!(
        "Mean reward under {} minus that under {}, step by step: together {together}.",
        neutral.variant, deciding.variant
    );
    let drawings = vec![plot.finish("Return lost to the adversary in each step")];
    Some(Figure { name: "gap", heading: "When return is lost", caption, drawings })
}

/// The same line with a point wherever it crosses zero.
fn with_crossings(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in line {
        if let Some(&(x0, y0)) = points.last().filter(|(_, y0)| y0 * y < 0.0) {
            points.push((x0 + (x - x0) * y0 / (y0 - y), 0.0));
        }
        points.push((x, y));
    }
    points
}

/// Which dimension the adversary hurts most through.
pub(super) fn costs(contents: &Contents<'_>) -> Option<Figure> {
    const ROW: f64 = 24.0;
    const TOP: f64 = 24.0;
    let variants = &contents.evaluation.variants;
    let costs = variants.iter().find_map(|variant| variant.evidence.costs.as_ref())?;
    let mut order: Vec<usize> = (0..costs.alone.len().min(contents.outputs.len())).collect();
    order.sort_by(|&a, &b| costs.alone[b].mean.total_cmp(&costs.alone[a].mean));
    let dropped = order.len().saturating_sub(MOST_PANELS);
    order.truncate(MOST_PANELS);
    let named = order.iter().map(|&index| (contents.outputs[index].as_str(), costs.alone[index]));
    let rows: Vec<_> = std::iter::once(("all together", costs.all)).chain(named).collect();
    let ends =
        |cost: &hambo::bound::Estimate| [cost.mean - cost.std_error, cost.mean + cost.std_error];
    let x = range(rows.iter().flat_map(|(_, cost)| ends(cost)).chain([0.0]), 0.02);
    let height = TOP + ROW * rows.len() as f64 + 4.0;
    let mut plot = Plot::new([WIDTH, height], [TOP, 112.0, 4.0, 120.0], x, (0.0, 1.0));
    plot.text("label", [120.0, 12.0], "start", "return lost when only this dimension is shifted");
    let decimals = decimals_for(rows.iter().map(|(_, cost)| cost.std_error));
    let zero = plot.x.at(0.0);
    for (index, (name, cost)) in rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let end = plot.x.at(cost.mean);
        let (left, width) = (zero.min(end), (end - zero).abs());
        let (bar, label) =
            if index == 0 { ("soft-fill", "label") } else { ("accent-fill", "value") };
        plot.rectangle(bar, [left, y + 4.0, width, ROW - 10.0]);
        let [low, high] = ends(cost).map(|end| plot.x.at(end));
        plot.segment("whisker", [low, y + 11.0, high, y + 11.0]);
        plot.text(label, [112.0, y + 15.0], "end", &shortened(name, 18));
        let value = format!("{} ± {}", fixed(cost.mean, decimals), fixed(cost.std_error, decimals));
        plot.text("value", [WIDTH, y + 15.0], "end", &value);
    }
    plot.segment("axis", [zero, TOP, zero, height - 4.0]);
    let unclear = match (costs.all.mean, costs.all.std_error) {
        (0.0, 0.0) => " No round of training did harm, so that nothing is shifted.",
        (mean, error) if mean.abs() < 2.0 * error => {
            " All together is within two standard errors of nothing."
        }
        _ => "",
    };
    let rest = match dropped {
        0 => String::new(),
        more => format!(" {more} dimensions that cost less are left out."),
    };
    let caption = format!(
        "CA’s adversary against no shift at all, on the same {} episodes, ± one standard error. The \
         parts need not add up.{unclear}{rest}",
        contents.evaluation.settings.cost_episodes
    );
    let drawings = vec![plot.finish("Return lost to the adversary through each dimension")];
    Some(Figure { name: "costs", heading: "Where return is lost", caption, drawings })
}

#[cfg(test)]
mod tests {
    use super::with_crossings;

    #[test]
    fn a_line_has_a_point_where_it_crosses_zero() {
        let line = [(0.0, 1.0), (2.0, -1.0), (3.0, 0.0), (4.0, 2.0)];
        let expected = [(0.0, 1.0), (1.0, 0.0), (2.0, -1.0), (3.0, 0.0), (4.0, 2.0)];
        assert_eq!(with_crossings(&line), expected);
    }
}
