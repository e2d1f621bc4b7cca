//! `hambo evaluate --baselines`.

use std::fs;

use crate::common::{Place, done};
use serde_json::Value;

const QUICK: &str = "--baselines --set evaluation.baselines.steps=50 --set evaluation.baselines.episodes=50 \
                     --set evaluation.baselines.hidden=[8] --set evaluation.baselines.members=3";

/// Files of the fixture, with a column of densities if that is wanted.
fn fixture(densities: bool) -> Place {
    let place = Place::new();
    let logs = fs::read_to_string(place.path("logs.csv")).expect("logs");
    let with = |(index, line): (usize, &str)| match (densities, index) {
        (false, _) => format!("{line}\n"),
        (true, 0) => format!("{line},action_logp\n"),
        (true, _) => format!("{line},-1.5\n"),
    };
    let logs: String = logs.lines().enumerate().map(with).collect();
    fs::write(place.path("logs.csv"), logs).expect("written");
    place
}

fn result(place: &Place) -> Value {
    let text = fs::read(place.path("result.json")).expect("a result");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn other_opinions_stand_beside_the_bound_and_do_not_change_it() {
    let place = fixture(false);
    let plain = "evaluate logs.csv --policy policy.onnx --json result.json";
    done(&place.run(plain));
    let alone = result(&place);
    assert!(alone.get("baselines").is_none());
    let said = done(&place.run(&format!("{plain} --report report.html {QUICK}")));
    assert!(said.contains("other opinions"), "{said}");
    let found = result(&place);
    assert_eq!(found["lower_bound"], alone["lower_bound"]);
    let opinions = found["baselines"]["opinions"].as_array().expect("opinions");
    let methods: Vec<&str> = opinions.iter().filter_map(|o| o["method"].as_str()).collect();
    for method in ["logged", "fqe", "mopo", "morel"] {
        assert!(methods.contains(&method), "{methods:?}");
    }
    let unsaid = found["baselines"]["unsaid"][0]["why"].as_str().expect("a reason");
    assert!(unsaid.contains("data.log_probability"), "{unsaid}");
    let page = fs::read_to_string(place.path("report.html")).expect("a report");
    assert!(
        page.contains("Other opinions") && page.contains("The certificate among other opinions")
    );
}

#[test]
fn densities_of_the_logs_and_of_the_policy_make_weights() {
    let place = fixture(true);
    let said = done(&place.run(&format!(
        "evaluate logs.csv --policy policy.onnx --set policy.log_prob=-1.5-torque*0 {QUICK}"
    )));
    assert!(said.contains("other opinions"), "{said}");
    let row = |name: &str| -> Vec<String> {
        let line =
            said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().map(String::from).collect()
    };
    // Who does what was logged has weights of one.
    let (logged, weighed) = (row("logged"), row("IS"));
    assert_eq!(logged[1..3], weighed[1..3], "{said}");
    let wrong = place.run("evaluate logs.csv --policy policy.onnx --set policy.log_prob=-height");
    assert_eq!(wrong.status.code(), Some(2));
}
