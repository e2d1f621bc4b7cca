//! `hambo learn`, and what is then certified.

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

const QUICK: &str = "--set learn.max_rounds=2 --set learn.gradient_steps=20 --set learn.episodes=5 \
                     --set learn.hidden=[8] --set learn.judged_episodes=4 --set learn.clone_steps=50";

#[test]
fn a_policy_that_was_learned_here_is_not_certified_by_the_worlds_that_taught_it() {
    let place = tempfile::tempdir().expect("a place to work");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
    for file in ["logs.csv", "hambo.toml"] {
        fs::copy(fixture.join(file), place.path().join(file)).expect("a copy");
    }
    let said = done(&run(place.path(), &format!("learn logs.csv --out policy.onnx {QUICK}")));
    assert!(said.contains("policy written to policy.onnx"), "{said}");
    // Too few episodes are left to fit a model on those alone.
    done(&run(place.path(), "evaluate logs.csv --policy policy.onnx --json result.json"));
    let result = fs::read(place.path().join("result.json")).expect("a result");
    let result: Value = serde_json::from_slice(&result).expect("JSON");
    let warnings = result["warnings"].as_array().expect("warnings");
    let shared = warnings.iter().find(|warning| warning["code"] == "shared_episodes");
    assert_eq!(shared.expect("the warning")["disqualifies"], true, "{warnings:?}");
}

#[test]
fn the_same_seed_gives_the_same_policy() {
    let place = tempfile::tempdir().expect("a place to work");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
    for file in ["logs.csv", "hambo.toml"] {
        fs::copy(fixture.join(file), place.path().join(file)).expect("a copy");
    }
    for (name, threads) in [("a.onnx", "1"), ("b.onnx", "2")] {
        let arguments = format!("learn logs.csv --out {name} {QUICK}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hambo"));
        command.current_dir(place.path()).args(arguments.split(' '));
        done(&command.env("RAYON_NUM_THREADS", threads).output().expect("the command runs"));
    }
    let file = |name| fs::read(place.path().join(name)).expect("a policy");
    assert!(file("a.onnx") == file("b.onnx"), "another number of threads gave another policy");
    let wrong = run(place.path(), "learn logs.csv --out c.onnx --hold-out 1");
    assert_eq!(wrong.status.code(), Some(2));
}
