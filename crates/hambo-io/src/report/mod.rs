//! An evaluation as one page that stands alone: HTML with inline SVG, without scripts and without
//! anything fetched from elsewhere. The first screen is the decision, the rest its evidence.

mod backtest;
mod contents;
mod data;
mod figures;
mod frame;
mod guarantee;
mod markup;
mod opinions;
mod page;
mod pipeline;
mod plot;
#[cfg(feature = "png")]
mod png;
mod ranking;
mod short;
mod text;
mod words;
mod worlds;

use hambo::{Backtest, Evaluation};

#[cfg(feature = "png")]
pub use png::{DrawingError, png};
pub use text::{decimals, floor};

use crate::result::BacktestDocument;
use contents::Contents;
pub use contents::ReportOptions;

/// The report as one HTML file.
pub fn html(evaluation: &Evaluation, options: &ReportOptions) -> String {
    page::page(&Contents::new(evaluation, options))
}

/// The report's figures as SVG files that stand alone: names without extension, and contents.
/// Figures for which the evaluation holds no evidence are left out. With the feature
/// `png`, `report::png` turns them into pixels.
pub fn figures(evaluation: &Evaluation, options: &ReportOptions) -> Vec<(&'static str, String)> {
    let contents = Contents::new(evaluation, options);
    figures::all(&contents).iter().map(|figure| (figure.name, figure.standalone())).collect()
}

/// The decision in a few lines of Markdown, for the summary of a pipeline's step.
pub fn markdown(evaluation: &Evaluation, options: &ReportOptions) -> String {
    pipeline::markdown(&Contents::new(evaluation, options))
}

/// The decision as a JUnit file with one test: passed, failed, or an error if it is inconclusive.
pub fn junit(evaluation: &Evaluation, options: &ReportOptions) -> String {
    pipeline::junit(&Contents::new(evaluation, options))
}

/// Several evaluations as one HTML file, in this order.
pub fn ranking_html(title: &str, policies: &[(&str, Evaluation, ReportOptions)]) -> String {
    let contents = policies
        .iter()
        .map(|(name, evaluation, options)| (*name, Contents::new(evaluation, options)));
    ranking::page(title, &contents.collect::<Vec<_>>())
}

/// A backtest as one HTML file.
pub fn backtest_html(document: &BacktestDocument, title: &str) -> String {
    backtest::page(document, title)
}

/// Decimals with which a backtest's claims are printed.
pub fn backtest_decimals(backtest: &Backtest) -> usize {
    backtest::decimals(backtest)
}
