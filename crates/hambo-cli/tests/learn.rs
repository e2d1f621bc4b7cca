//! `hambo learn`, and what is then certified.

use std::fs;

use crate::common::{Place, done};
use serde_json::Value;

const QUICK: &str = "--set learn.max_rounds=2 --set learn.gradient_steps=20 --set learn.episodes=5 \
                     --set learn.hidden=[8] --set learn.judged_episodes=4 --set learn.clone_steps=50";

#[test]
fn a_policy_that_was_learned_here_is_not_certified_by_the_worlds_that_taught_it() {
    let place = Place::new();
    let said = done(&place.run(&format!("learn logs.csv --out learned.onnx {QUICK}")));
    assert!(said.contains("policy written to learned.onnx"), "{said}");
    // Too few episodes are left to fit a model on those alone.
    done(&place.run("evaluate logs.csv --policy learned.onnx --json result.json"));
    let result = fs::read(place.path("result.json")).expect("a result");
    let result: Value = serde_json::from_slice(&result).expect("JSON");
    let warnings = result["warnings"].as_array().expect("warnings");
    let shared = warnings.iter().find(|warning| warning["code"] == "shared_episodes");
    assert_eq!(shared.expect("the warning")["disqualifies"], true, "{warnings:?}");
}

#[test]
fn the_same_seed_gives_the_same_policy() {
    let place = Place::new();
    for (name, threads) in [("a.onnx", "1"), ("b.onnx", "2")] {
        let arguments = format!("learn logs.csv --out {name} {QUICK}");
        let mut command = place.command(&arguments);
        done(&command.env("RAYON_NUM_THREADS", threads).output().expect("the command runs"));
    }
    let file = |name| fs::read(place.path(name)).expect("a policy");
    assert!(file("a.onnx") == file("b.onnx"), "another number of threads gave another policy");
    let wrong = place.run("learn logs.csv --out c.onnx --hold-out 1");
    assert_eq!(wrong.status.code(), Some(2));
}
