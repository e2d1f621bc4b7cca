//! The certificate among what other estimators say.

use hambo::{Method, Opinion};

use super::super::contents::Contents;
use super::super::plot::{Plot, range};
use super::super::text::{fixed, shortened};
use super::figure::{Figure, WIDTH};

const ROW: f64 = 26.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
const LABELS: f64 = 128.0;

/// Sources that have a row of their own, at most.
const MOST_SOURCES: usize = 5;

/// An estimate, and how low it may be.
struct Row {
    name: String,
    estimate: f64,
    limit: Option<f64>,
    decides: bool,
}

/// One row for the certificate, the logs, and every estimator.
pub(super) fn opinions(contents: &Contents<'_>) -> Option<Figure> {
    let said = contents.evaluation.baselines.as_ref()?;
    let certificate = contents.deciding.map(|variant| Row {
        name: "certificate".into(),
        estimate: variant.estimate.mean,
        limit: Some(variant.lower_bound),
        decides: true,
    });
    let chosen = said.penalty.as_ref().and_then(|penalty| penalty.chosen);
    let is_shown = |opinion: &&Opinion| match opinion.method {
        Method::Mopo => chosen.is_none_or(|weight| opinion.is_of_weight(weight)),
        _ => true,
    };
    let logged = said.opinions.iter().filter(|opinion| opinion.method == Method::Logged);
    let others = said.opinions.iter().filter(|opinion| opinion.method != Method::Logged);
    let row = |opinion: &Opinion| {
        let limit = opinion.lowest().filter(|&limit| limit < opinion.estimate);
        Row { name: opinion.name(), estimate: opinion.estimate, limit, decides: false }
    };
    let shown = logged.take(MOST_SOURCES).chain(others.filter(is_shown)).map(row);
    let rows: Vec<Row> = certificate.into_iter().chain(shown).collect();
    // Limits without sense, as of one heavy episode, would squeeze the rest.
    let numbers = rows.iter().flat_map(|row| {
        [Some(row.estimate), row.limit.filter(|_| row.decides)].into_iter().flatten()
    });
    let x = range(numbers, 0.15);
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let mut plot =
        Plot::new([WIDTH, height], [TOP, 70.0, BOTTOM, LABELS], x, (0.0, rows.len() as f64));
    plot.level("axis", 0.0);
    plot.x_axis("return", 4);
    plot.text("label", [WIDTH, 12.0], "end", "estimate");
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        let tone = if row.decides { "accent" } else { "soft" };
        plot.segment("grid", [0.0, y - ROW / 2.0, WIDTH, y - ROW / 2.0]);
        let class = if row.decides { "strong accent-text" } else { "label" };
        plot.text(class, [0.0, y + 4.0], "start", &shortened(&row.name, 20));
        let mean = plot.x.at(row.estimate);
        if let Some(limit) = row.limit {
            let low = plot.x.at(limit.max(x.0));
            plot.segment(&format!("{tone} thick"), [low, y, mean, y]);
            if limit >= x.0 {
                plot.segment(&format!("{tone} thick"), [low, y - 6.0, low, y + 6.0]);
            }
        }
        plot.dot(&format!("{tone}-fill"), [mean, y], 4.0);
        plot.text("value", [WIDTH, y + 4.0], "end", &fixed(row.estimate, contents.decimals));
    }
    let title = format!("The certificate beside what {} other estimators say", rows.len() - 1);
    let caption = "Dots are estimates, bars reach down to the lowest limit of each; without an upright mark it is \
                   further down than the figure. The logs’ rows are about other policies."
        .into();
    let heading = "The certificate among other opinions";
    Some(Figure { name: "opinions", heading, caption, drawings: vec![plot.finish(title)] })
}
