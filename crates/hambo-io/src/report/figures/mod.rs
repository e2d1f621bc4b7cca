//! The figures of a report.

mod figure;
mod horizon;
mod panels;
mod standalone;
mod training;
mod variants;

pub(super) use figure::{Figure, STYLE};

use super::contents::Contents;

/// All figures for which there is evidence, in the report's order.
pub(super) fn all(contents: &Contents<'_>) -> Vec<Figure> {
    let figures = [
        variants::bounds(contents),
        variants::returns(contents),
        horizon::bound(contents),
        horizon::gap(contents),
        horizon::costs(contents),
        training::rounds(contents),
        panels::reliability(contents),
        panels::episodes(contents),
        panels::uncertainty(contents),
    ];
    figures.into_iter().flatten().collect()
}
