//! `hambo evaluate --baselines`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn run(place: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hambo"));
    command.current_dir(place).args(arguments.split(' ')).env("NO_COLOR", "1");
    command.output().expect("the command runs")
}

fn done(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

const QUICK: &str = "--baselines --set evaluation.baselines.steps=50 --set evaluation.baselines.episodes=50 \
                     --set evaluation.baselines.hidden=[8] --set evaluation.baselines.members=3";

/// Files of the fixture, with a column of densities if that is wanted.
fn fixture(densities: bool) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a place to work");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
    for file in ["hambo.toml", "policy.onnx"] {
        fs::copy(from.join(file), place.path().join(file)).expect("a copy");
    }
    let logs = fs::read_to_string(from.join("logs.csv")).expect("logs");
    let with = |(index, line): (usize, &str)| match (densities, index) {
        (false, _) => format!("{line}\n"),
        (true, 0) => format!("{line},action_logp\n"),
        (true, _) => format!("{line},-1.5\n"),
    };
    let logs: String = logs.lines().enumerate().map(with).collect();
    fs::write(place.path().join("logs.csv"), logs).expect("written");
    place
}

fn result(place: &Path) -> Value {
    let text = fs::read(place.join("result.json")).expect("a result");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn other_opinions_stand_beside_the_bound_and_do_not_change_it() {
    let place = fixture(false);
    let plain = "evaluate logs.csv --policy policy.onnx --json result.json";
    done(&run(place.path(), plain));
    let alone = result(place.path());
    assert!(alone.get("baselines").is_none());
    let said = done(&run(place.path(), &format!("{plain} --report report.html {QUICK}")));
    assert!(said.contains("other opinions"), "{said}");
    let found = result(place.path());
    assert_eq!(found["lower_bound"], alone["lower_bound"]);
    let opinions = found["baselines"]["opinions"].as_array().expect("opinions");
    let methods: Vec<&str> = opinions.iter().filter_map(|o| o["method"].as_str()).collect();
    for method in ["logged", "fqe", "mopo", "morel"] {
        assert!(methods.contains(&method), "{methods:?}");
    }
    let unsaid = found["baselines"]["unsaid"][0]["why"].as_str().expect("a reason");
    assert!(unsaid.contains("data.log_probability"), "{unsaid}");
    let page = fs::read_to_string(place.path().join("report.html")).expect("a report");
    assert!(
        page.contains("Other opinions") && page.contains("The certificate among other opinions")
    );
}

#[test]
fn densities_of_the_logs_and_of_the_policy_make_weights() {
    let place = fixture(true);
    let said = done(&run(
        place.path(),
        &format!(
            "evaluate logs.csv --policy policy.onnx --set policy.log_prob=-1.5-torque*0 {QUICK}"
        ),
    ));
    assert!(said.contains("other opinions"), "{said}");
    let row = |name: &str| -> Vec<String> {
        let line =
            said.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().map(String::from).collect()
    };
    // Who does what was logged has weights of one.
    let (logged, weighed) = (row("logged"), row("IS"));
    assert_eq!(logged[1..3], weighed[1..3], "{said}");
    let wrong =
        run(place.path(), "evaluate logs.csv --policy policy.onnx --set policy.log_prob=-height");
    assert_eq!(wrong.status.code(), Some(2));
}
