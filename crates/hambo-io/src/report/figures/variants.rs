//! Rows, one per variant, over a common axis of returns.

use hambo::{Variant, VariantResult};

use super::super::contents::Contents;
use super::super::plot::{Plot, range};
use super::super::text::{as_given, fixed, rounded_down};
use super::super::words;
use super::figure::{Figure, WIDTH};

const BOTTOM: f64 = 44.0;
const LABELS: f64 = 154.0;

/// The name of a row, and what it stands for.
fn row_label(plot: &mut Plot, contents: &Contents<'_>, variant: &VariantResult, y: f64) {
    let class = if contents.decides(variant) { "strong accent-text" } else { "strong" };
    plot.text(class, [0.0, y - 2.0], "start", &variant.variant.to_string());
    plot.text("label", [0.0, y + 13.0], "start", words::of_variant(variant.variant));
}

/// Every variant's estimate and bound against the threshold.
pub(super) fn bounds(contents: &Contents<'_>) -> Option<Figure> {
    const ROW: f64 = 42.0;
    // A line for the column's heading, and one for the threshold's name.
    const TOP: f64 = 44.0;
    let variants = &contents.evaluation.variants;
    let threshold = contents.options.threshold;
    let numbers = variants.iter().flat_map(|variant| {
        let members = variant.members.iter().map(|member| member.mean);
        members.chain([variant.lower_bound, variant.estimate.mean])
    });
    let height = TOP + ROW * variants.len() as f64 + BOTTOM;
    let x = range(numbers.chain(threshold), 0.06);
    let mut plot =
        Plot::new([WIDTH, height], [TOP, 76.0, BOTTOM, LABELS], x, (0.0, variants.len() as f64));
    plot.level("axis", 0.0);
    plot.x_axis("return", 4);
    if let Some(threshold) = threshold {
        plot.vertical("threshold", threshold, &format!("threshold {}", as_given(threshold)));
    }
    plot.text("label", [WIDTH, 12.0], "end", "lower bound");
    for (index, variant) in variants.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let conservative = variant.variant.is_conservative();
        let tone = if contents.decides(variant) { "accent" } else { "soft" };
        plot.segment("grid", [0.0, y - ROW / 2.0, WIDTH, y - ROW / 2.0]);
        row_label(&mut plot, contents, variant, y);
        for member in &variant.members {
            plot.dot("hollow", [plot.x.at(member.mean), y], 2.5);
        }
        let (bound, mean) = (plot.x.at(variant.lower_bound), plot.x.at(variant.estimate.mean));
        if conservative {
            plot.segment(&format!("{tone} thick"), [bound, y, mean, y]);
            plot.segment(&format!("{tone} thick"), [bound, y - 8.0, bound, y + 8.0]);
            plot.dot(&format!("{tone}-fill"), [mean, y], 4.0);
        } else {
            plot.dot("hollow", [mean, y], 4.5);
        }
        let (class, text) = match conservative {
            true if tone == "accent" => {
                ("strong accent-text", rounded_down(variant.lower_bound, contents.decimals))
            }
            true => ("value", rounded_down(variant.lower_bound, contents.decimals)),
            false => ("label", "no bound".into()),
        };
        plot.text(class, [WIDTH, y + 4.0], "end", &text);
    }
    let title = match contents.evaluation.lower_bound {
        Some(bound) => {
            let bound = rounded_down(bound, contents.decimals);
            format!("Estimates and lower bounds of every variant; the bound that counts is {bound}")
        }
        None => "Estimates of every variant".into(),
    };
    let members = match variants.iter().any(|variant| !variant.members.is_empty()) {
        true => " Small circles are the ensemble’s single members.",
        false => "",
    };
    let caption = match contents.evaluation.deciding {
        Some(Variant::Worlds) => format!(
            "The dot is the mean return, the bar its limit over all worlds.{}{members}",
            match variants.len() {
                1 => "",
                _ => " The other rows are stress tests, on which the bound does not depend.",
            }
        ),
        _ => format!(
            "Dots are mean returns, bars the Monte Carlo limit below them. The smallest bound counts. \
             Open circles are neutral estimates, which bound nothing.{members}"
        ),
    };
    let drawings = vec![plot.finish(title)];
    let heading = "Bounds and estimates";
    (!variants.is_empty()).then_some(Figure { name: "bounds", heading, caption, drawings })
}

/// The distribution of hallucinated returns.
pub(super) fn returns(contents: &Contents<'_>) -> Option<Figure> {
    const ROW: f64 = 52.0;
    const TOP: f64 = 22.0;
    const BINS: usize = 60;
    let with_returns = |variant: &&VariantResult| variant.evidence.return_quantiles.len() == 101;
    let variants: Vec<_> = contents.evaluation.variants.iter().filter(with_returns).collect();
    // The outermost percent on both sides may be far out, and would squeeze the rest.
    let ends = variants.iter().flat_map(|variant| {
        let quantiles = &variant.evidence.return_quantiles;
        [quantiles[1], quantiles[99]]
    });
    let within = range(ends, 0.12);
    let x = range([within.0, within.1].into_iter().chain(contents.options.threshold), 0.0);
    let height = TOP + ROW * variants.len() as f64 + BOTTOM;
    let mut plot =
        Plot::new([WIDTH, height], [TOP, 12.0, BOTTOM, LABELS], x, (0.0, variants.len() as f64));
    plot.x_axis("return of an episode", 5);
    if let Some(threshold) = contents.options.threshold {
        plot.vertical("threshold", threshold, &format!("threshold {}", as_given(threshold)));
    }
    let edges: Vec<f64> = (0..=BINS).map(|i| x.0 + (x.1 - x.0) * i as f64 / BINS as f64).collect();
    let shares: Vec<Vec<f64>> = variants
        .iter()
        .map(|variant| {
            let quantiles = &variant.evidence.return_quantiles;
            edges
                .windows(2)
                .map(|e| share_below(quantiles, e[1]) - share_below(quantiles, e[0]))
                .collect()
        })
        .collect();
    let tallest = shares.iter().flatten().copied().fold(1e-9, f64::max);
    for (index, (variant, shares)) in variants.iter().zip(&shares).enumerate() {
        let y = TOP + ROW * (index as f64 + 1.0);
        let accent = if contents.decides(variant) { "accent" } else { "soft" };
        row_label(&mut plot, contents, variant, y - 18.0);
        let base = (variants.len() - index - 1) as f64;
        let outline: Vec<(f64, f64, f64)> = edges
            .windows(2)
            .zip(shares)
            .map(|(edge, share)| (0.5 * (edge[0] + edge[1]), base, base + 0.86 * share / tallest))
            .collect();
        plot.area(&format!("{accent}-area"), &outline);
        plot.line(accent, outline.iter().map(|&(x, _, high)| (x, high)));
        plot.segment("grid", [LABELS, y, WIDTH - 12.0, y]);
        let mean = plot.x.at(variant.estimate.mean);
        plot.segment(&format!("{accent} thick"), [mean, y - 9.0, mean, y]);
    }
    let first = variants.first()?;
    let worst = contents.shown().unwrap_or(first);
    let below = match (contents.options.threshold, worst.evidence.return_quantiles.len()) {
        (Some(threshold), 101) => {
            let share = 100.0 * share_below(&worst.evidence.return_quantiles, threshold);
            format!(
                " Under {} about {}\u{202f}% of single episodes end below the threshold; the bound is \
                 on their mean.",
                worst.variant,
                fixed(share, 0)
            )
        }
        _ => String::new(),
    };
    let caption = format!(
        "Distribution of single episodes’ returns, their mean marked. All rows have the same \
         scale.{below}"
    );
    let drawings = vec![plot.finish("Distribution of hallucinated returns per variant")];
    let heading = "Hallucinated returns";
    Some(Figure { name: "returns", heading, caption, drawings })
}

/// Share of a distribution below `value`, of which the percentiles are known.
fn share_below(percentiles: &[f64], value: f64) -> f64 {
    let above = percentiles.partition_point(|&quantile| quantile <= value);
    match (above.checked_sub(1), percentiles.get(above)) {
        (None, _) => 0.0,
        (Some(_), None) => 1.0,
        (Some(below), Some(next)) => {
            let width = next - percentiles[below];
            (below as f64 + (value - percentiles[below]) / width) / (percentiles.len() - 1) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::share_below;

    #[test]
    fn shares_invert_percentiles() {
        let percentiles: Vec<f64> = (0..=100).map(|p| 2.0 * f64::from(p)).collect();
        assert_eq!(share_below(&percentiles, -1.0), 0.0);
        assert_eq!(share_below(&percentiles, 201.0), 1.0);
        assert!((share_below(&percentiles, 51.0) - 0.255).abs() < 1e-12);
        assert_eq!(share_below(&[3.0; 101], 3.0), 1.0);
    }
}
