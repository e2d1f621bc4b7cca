//! What would have been claimed of the logs, and what they earned.

use hambo::Backtest;

use super::super::plot::{Plot, range};
use super::super::text::{fixed, rounded_down, shortened};
use super::figure::{Figure, WIDTH};

const ROW: f64 = 38.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
const LABELS: f64 = 168.0;

/// One row per claim over the whole horizon.
pub(in crate::report) fn claims(backtest: &Backtest, decimals: usize) -> Option<Figure> {
    let claims: Vec<_> = backtest.over_all().collect();
    let horizon = claims.first()?.horizon;
    let x = range(claims.iter().flat_map(|claim| [claim.claimed, claim.earned]), 0.08);
    let height = TOP + ROW * claims.len() as f64 + BOTTOM;
    let mut plot =
        Plot::new([WIDTH, height], [TOP, 76.0, BOTTOM, LABELS], x, (0.0, claims.len() as f64));
    plot.level("axis", 0.0);
    plot.x_axis(&format!("return over {horizon} steps"), 4);
    plot.text("label", [WIDTH, 12.0], "end", "claim");
    for (index, claim) in claims.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let tone = if claim.held { "accent" } else { "bad" };
        plot.segment("grid", [0.0, y - ROW / 2.0, WIDTH, y - ROW / 2.0]);
        plot.text("strong", [0.0, y - 2.0], "start", &shortened(&claim.group, 24));
        plot.text("label", [0.0, y + 13.0], "start", &format!("{} episodes", claim.episodes));
        let (claimed, earned) = (plot.x.at(claim.claimed), plot.x.at(claim.earned));
        plot.segment(&format!("{tone} thick"), [claimed, y, earned, y]);
        plot.segment(&format!("{tone} thick"), [claimed, y - 8.0, claimed, y + 8.0]);
        plot.dot(&format!("{tone}-fill"), [earned, y], 4.5);
        let word = if claim.held { "held" } else { "did not hold" };
        let claimed = rounded_down(claim.claimed, decimals);
        plot.text(&format!("strong {tone}-text"), [WIDTH, y - 2.0], "end", &claimed);
        plot.text("label", [WIDTH, y + 13.0], "end", word);
    }
    let failed = backtest.failed();
    let title = format!(
        "Claims about {} groups of logged episodes and what they earned: {failed} did not hold",
        claims.len()
    );
    let caption = format!(
        "The upright mark is what would have been claimed, the dot what was earned. A claim held if its dot is \
         to the right of its mark; at most {} of them should not.",
        fixed(100.0 * backtest.delta, 0) + " %"
    );
    let heading = "Claimed and earned";
    Some(Figure { name: "claims", heading, caption, drawings: vec![plot.finish(title)] })
}
