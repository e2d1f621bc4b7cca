//! The backtest: a section of an evaluation's page, and a page of its own.

use hambo::{Backtest, Outcome};

use super::contents::Contents;
use super::figures::claims;
use super::frame::{self, picture};
use super::markup::{NUMBER, TEXT, section, table};
use super::text::{confidence, escape, fixed, percent, rounded_down, sentence};
use super::worlds;
use crate::result::BacktestDocument;

/// The section of an evaluation's page.
pub(super) fn within(contents: &Contents<'_>) -> String {
    let found = worlds::backtest(contents);
    found.map_or_else(String::new, |backtest| evidence(backtest, contents.decimals))
}

/// A page of its own.
pub(super) fn page(document: &BacktestDocument, title: &str) -> String {
    let backtest = &document.backtest;
    let decimals = decimals(backtest);
    let word = backtest.outcome.word();
    let (class, sign) = match backtest.outcome {
        Outcome::Held => ("certified", frame::YES),
        Outcome::Failed => ("not-certified", frame::NO),
        Outcome::TooShort => ("inconclusive", frame::UNSURE),
    };
    let about = format!(
        "{} transitions in {} episodes · {} steps · confidence {} · seed {} · fingerprint {}",
        fixed(document.data.rows as f64, 0),
        fixed(document.data.episodes as f64, 0),
        document.horizon,
        confidence(backtest.delta),
        document.seed,
        document.data.fingerprint.get(..12).unwrap_or_default()
    );
    let figure = claims(backtest, decimals).as_ref().map(picture).unwrap_or_default();
    let content = format!(
        "<header><h1>{}</h1><p class=\"about\">{about}</p></header>\n<div class=\"top {class}\"><div>{}\
         <p class=\"sentence\">{}</p><p class=\"covers\">{}</p></div>{figure}</div>\n{}",
        escape(title),
        frame::badge(sign, word),
        escape(&sentence(&backtest.summary)),
        match backtest.outcome {
            Outcome::Failed => format!("{UNBELIEVABLE} {HOW_REFITTED}"),
            _ => HOW_REFITTED.to_owned(),
        },
        section("backtest", "Claim by claim", "", &claims_table(backtest, decimals)),
    );
    frame::whole(title, word, &content, &document.version)
}

// These are HTML.
const HOW_REFITTED: &str = "Each part of the logs was left out, worlds were fitted on the rest, and \
    a lower bound on what the logged policy earns was compared with what was earned there. The logs are the \
    only truth that there is: this tests the method on this system, for policies like those that were logged.";

const UNBELIEVABLE: &str = "A certificate from these logs should not be believed for a policy that differs from \
    the logged ones as much as they differ from each other.";

const HOW_WITHIN: &str = "Each episode was played again by worlds that had not seen it, and what a bound \
    needs was learned from the other groups alone. <code>hambo backtest</code> fits new worlds without each \
    group, which tests more and takes longer.";

fn evidence(backtest: &Backtest, decimals: usize) -> String {
    let figure = claims(backtest, decimals).as_ref().map(picture).unwrap_or_default();
    let note = if backtest.refitted { HOW_REFITTED } else { HOW_WITHIN };
    let content = format!(
        "<div class=\"pair\">{figure}<div>{}<p class=\"note\">{note}</p></div></div>",
        claims_table(backtest, decimals)
    );
    let heading = "Would it have held for your own logs?";
    section("backtest", heading, &sentence(&backtest.summary), &content)
}

/// The longest horizon first: that is the one that was asked about.
fn claims_table(backtest: &Backtest, decimals: usize) -> String {
    let columns = [
        ("Group", TEXT),
        ("Steps", NUMBER),
        ("Lasting", NUMBER),
        ("Claimed", NUMBER),
        ("Earned", NUMBER),
        ("Held", TEXT),
    ];
    let mut claims: Vec<_> = backtest.claims.iter().collect();
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.horizon));
    let row = |claim: &&hambo::Claim| {
        vec![
            escape(&claim.group),
            claim.horizon.to_string(),
            percent(claim.covered),
            rounded_down(claim.claimed, decimals),
            fixed(claim.earned, decimals),
            if claim.held { "yes".into() } else { "<strong>no</strong>".to_owned() },
        ]
    };
    table(&columns, &claims.iter().map(row).collect::<Vec<_>>(), None)
}

/// Enough to tell claims from what was earned.
pub(super) fn decimals(backtest: &Backtest) -> usize {
    let gaps = backtest.over_all().map(|claim| (claim.earned - claim.claimed).abs());
    let least = gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    match least.is_finite() {
        true => (1 - least.log10().floor() as i32).clamp(0, 6) as usize,
        false => 2,
    }
}
