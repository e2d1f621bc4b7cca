//! How the adversaries learned.

use super::super::contents::Contents;
use super::super::plot::{Plot, range};
use super::figure::{Figure, WIDTH, thinned};

/// What the adversaries cost after each round.
pub(super) fn rounds(contents: &Contents<'_>) -> Option<Figure> {
    let mut variants: Vec<_> =
        contents.evaluation.variants.iter().filter(|variant| !variant.rounds.is_empty()).collect();
    // On top of the others.
    variants.sort_by_key(|variant| contents.decides(variant));
    let longest = variants.iter().map(|variant| variant.rounds.len()).max()?;
    let of_rounds = |variant: &hambo::VariantResult| -> Vec<(f64, f64, f64)> {
        let points: Vec<(f64, f64, f64)> = variant
            .rounds
            .iter()
            .enumerate()
            .map(|(index, round)| (index as f64 + 1.0, -round.effect.mean, round.effect.std_error))
            .collect();
        thinned(&points)
    };
    let curves: Vec<_> = variants.iter().map(|variant| of_rounds(variant)).collect();
    let ends = |&(_, cost, error): &(f64, f64, f64)| [cost - error, cost, cost + error];
    let y = range(curves.iter().flatten().flat_map(ends).chain([0.0]), 0.04);
    let x = (0.5, (longest as f64 + 0.2).max(1.5));
    let mut plot = Plot::new([WIDTH, 250.0], [32.0, 62.0, 44.0, 52.0], x, y);
    plot.y_axis("return taken by the adversary", 4);
    plot.x_axis("round of training", longest.min(6));
    plot.level("axis", 0.0);
    let mut labels = Vec::new();
    for (variant, curve) in variants.iter().zip(&curves) {
        let (tone, text) = match contents.decides(variant) {
            true => ("accent", "strong accent-text"),
            false => ("soft", "label"),
        };
        let band: Vec<(f64, f64, f64)> =
            curve.iter().map(|&(x, cost, error)| (x, cost - error, cost + error)).collect();
        plot.area(&format!("{tone}-area"), &band);
        plot.line(tone, curve.iter().map(|&(x, cost, _)| (x, cost)));
        for &(x, cost, _) in curve {
            plot.dot(&format!("{tone}-fill"), [plot.x.at(x), plot.y.at(cost)], 2.5);
        }
        if let Some(&(_, last, _)) = curve.last() {
            labels.push((last, text, variant.variant.to_string()));
        }
    }
    plot.end_labels(&labels);
    let said: Vec<String> = variants
        .iter()
        .map(|variant| match variant.converged {
            Some(true) => format!("{} converged", variant.variant),
            _ => format!("{} had not converged", variant.variant),
        })
        .collect();
    let caption = format!(
        "Each round’s adversary on the same starts and noise, against no adversary; the band is one \
         standard error. The best round is kept. After {longest} rounds at most: {}.",
        said.join(", ")
    );
    let drawings = vec![plot.finish("Learning curves of the adversaries")];
    let heading = "Did the adversaries learn?";
    Some(Figure { name: "training", heading, caption, drawings })
}
