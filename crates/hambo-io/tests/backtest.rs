//! The page of a backtest: what it says, and what no name can make it say.

use hambo::dataset::{ColumnNames, DataIdentity};
use hambo::{Backtest, Claim, Outcome};
use hambo_io::report::{backtest_decimals, backtest_html};
use hambo_io::result::{BACKTEST_SCHEMA, BacktestDocument};

fn claim(group: &str, horizon: usize, claimed: f64, earned: f64) -> Claim {
    Claim {
        group: group.into(),
        episodes: 40,
        is_later: false,
        horizon,
        covered: 1.0,
        claimed,
        by_student: claimed + 0.5,
        estimate: claimed + 1.0,
        earned,
        std_error: 0.2,
        held: claimed <= earned,
    }
}

fn document(held: bool) -> BacktestDocument {
    let earned = if held { 11.0 } else { 9.0 };
    let backtest = Backtest {
        refitted: true,
        delta: 0.05,
        claims: vec![claim("<b>a</b>", 50, 5.0, 6.0), claim("<b>a</b>", 100, 10.0, earned)],
        vouched: held.then_some(100),
        outcome: if held { Outcome::Held } else { Outcome::Failed },
        summary: "what it comes to".into(),
    };
    BacktestDocument {
        schema: BACKTEST_SCHEMA,
        failed: backtest.failed(),
        chance: backtest.chance(),
        horizon: 100,
        data: DataIdentity {
            rows: 4000,
            episodes: 40,
            terminated_episodes: 0,
            names: ColumnNames::numbered(1, 1),
            fingerprint: "0123456789abcdef".into(),
        },
        seed: 7,
        version: "0".into(),
        backtest,
    }
}

#[test]
fn the_page_says_whether_the_claims_held() {
    let held = backtest_html(&document(true), "Backtest of <logs>");
    assert!(held.contains("<title>Backtest of &lt;logs&gt;: HELD</title>"));
    assert!(held.contains("What it comes to."));
    assert!(!held.contains("<b>a</b>") && held.contains("&lt;b&gt;a&lt;/b&gt;"));
    let failed = backtest_html(&document(false), "Backtest");
    assert!(failed.contains("should not be believed"));
    let mut short = document(true);
    short.backtest.outcome = Outcome::TooShort;
    assert!(backtest_html(&short, "Backtest").contains("LOGS TOO SHORT"));
    assert!(failed.contains("DID NOT HOLD") && failed.contains("<strong>no</strong>"));
    for page in [&held, &failed] {
        for foreign in ["<script", "http-equiv", "src=", "href=\"http"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let document = document(false);
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<BacktestDocument>(&json).unwrap(), document);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&value["outcome"], &value["failed"]), (&"failed".into(), &1.into()));
    assert_eq!(
        (&value["claims"][1]["earned"], &value["claims"][1]["held"]),
        (&9.0.into(), &false.into())
    );
}

#[test]
fn claims_are_printed_as_exactly_as_they_need_to_be() {
    assert_eq!(backtest_decimals(&document(true).backtest), 1);
    let close = Backtest { claims: vec![claim("a", 10, 1.0, 1.003)], ..document(true).backtest };
    assert_eq!(backtest_decimals(&close), 4);
    let equal = Backtest { claims: vec![claim("a", 10, 1.0, 1.0)], ..document(true).backtest };
    assert_eq!(backtest_decimals(&equal), 2);
}
