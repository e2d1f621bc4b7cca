//! The figures of a report.

mod claims;
mod figure;
mod horizon;
mod opinions;
mod panels;
mod standalone;
mod training;
mod variants;

pub(super) use claims::claims;
pub(super) use figure::{Figure, STYLE};

use super::contents::Contents;
use super::worlds;

/// All figures for which there is evidence, in the report's order.
pub(super) fn all(contents: &Contents<'_>) -> Vec<Figure> {
    let figures = [
        variants::bounds(contents),
        worlds::backtest(contents).and_then(|found| claims(found, contents.decimals)),
        opinions::opinions(contents),
        variants::returns(contents),
        horizon::bound(contents),
        horizon::gap(contents),
        horizon::costs(contents),
        training::rounds(contents),
        panels::reliability(contents),
        panels::actions(contents),
        panels::episodes(contents),
        panels::uncertainty(contents),
    ];
    figures.into_iter().flatten().collect()
}
