//! Many policies: shards, a cache, and a plan.

use std::fs;

use crate::common::{Place, done, text};
use serde_json::Value;

const RANK: &str = "rank --model model --policies a.onnx b.onnx c.onnx d.onnx e.onnx";

/// With a model, and five policies that differ or do not.
fn fitted() -> Place {
    let place = Place::new();
    for (name, of) in
        [("a", "policy"), ("b", "linear"), ("c", "policy"), ("d", "linear"), ("e", "policy")]
    {
        let of = place.path(&format!("{of}.onnx"));
        fs::copy(of, place.path(&format!("{name}.onnx"))).expect("a copy");
    }
    done(&place.run("fit logs.csv --out model"));
    place
}

fn refused(place: &Place, arguments: &str) -> String {
    let output = place.run(arguments);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    // Lines are broken where the terminal ends.
    text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn shards_together_are_the_whole_and_none_may_be_missing_or_doubled() {
    let place = fitted();
    let whole = done(&place.run(&format!("{RANK} --json whole.json")));
    for number in [1, 2, 4] {
        let said = done(&place.run(&format!("{RANK} --shard {number}/4 --out shards")));
        assert!(said.contains("hambo rank --merge shards"), "{said}");
    }
    let said = refused(&place, "rank --merge shards");
    assert!(said.contains("shard 3 of 4 is missing") && said.contains("--shard 3/4"), "{said}");
    done(&place.run(&format!("{RANK} --shard 3/4 --out other")));
    let merged = done(&place.run("rank --merge shards other --json merged.json"));
    assert_eq!(whole, merged);
    let read = |name| fs::read_to_string(place.path(name)).expect("a ranking");
    assert_eq!(read("whole.json"), read("merged.json"));

    done(&place.run(&format!("{RANK} --shard 2/4 --out twice")));
    let said = refused(&place, "rank --merge shards other twice");
    assert!(said.contains("shard 2 of 4 is there twice, in shards and in twice"), "{said}");
    done(&place.run(&format!("{RANK} --shard 3/4 --out seed --seed 7")));
    let said = refused(&place, "rank --merge shards seed");
    assert!(said.contains("do not belong together: other settings: `seed`"), "{said}");
    done(&place.run("rank --model model --policies a.onnx b.onnx c.onnx --shard 3/4 --out fewer"));
    let said = refused(&place, "rank --merge shards fewer");
    assert!(said.contains("do not belong together"), "{said}");
    let said = refused(&place, "rank --merge model");
    assert!(said.contains("there is no finished shard"), "{said}");
    let said = refused(&place, &format!("{RANK} --shard 5/4 --out shards"));
    assert!(said.contains("1/4 to 4/4"), "{said}");
    let said = refused(&place, "rank --merge shards --horizon 7");
    assert!(said.contains("cannot be used with"), "{said}");
}

#[test]
fn a_second_ranking_does_only_what_has_changed() {
    let place = fitted();
    let rank = format!("{RANK} --separate --cache cache");
    let count = || fs::read_dir(place.path("cache")).map_or(0, Iterator::count);
    let first = done(&place.run(&format!("{rank} --json first.json")));
    // Three of the five are one policy, and two another.
    assert_eq!(count(), 2);
    let second = place.run(&format!("{rank} --json second.json"));
    assert_eq!(first, done(&second));
    assert_eq!(text(&second.stderr).matches("nothing has changed").count(), 5);
    let read = |name| fs::read_to_string(place.path(name)).expect("a ranking");
    assert_eq!(read("first.json"), read("second.json"));

    done(&place.run(&format!("{rank} --horizon 4")));
    assert_eq!(count(), 4, "another horizon is another question");
    done(&place.run("fit logs.csv --out another --seed 1"));
    done(&place.run(&rank.replace("--model model", "--model another")));
    assert_eq!(count(), 6, "another model is another answer");

    // What is damaged is found again.
    let damaged = fs::read_dir(place.path("cache")).expect("a cache").next();
    let damaged = damaged.expect("an entry").expect("an entry").path();
    let whole = fs::read(&damaged).expect("an entry");
    fs::write(&damaged, &whole[..whole.len() - 3]).expect("written");
    for question in [
        rank.clone(),
        format!("{rank} --horizon 4"),
        rank.replace("--model model", "--model another"),
    ] {
        done(&place.run(&question));
    }
    let sizes = [whole.len(), fs::read(&damaged).expect("an entry").len()];
    assert!(sizes[0].abs_diff(sizes[1]) < 100, "{sizes:?}");
    assert_eq!(count(), 6);
}

#[test]
fn a_plan_says_what_work_will_cost() {
    let place = Place::new();
    let said = done(&place.run(
        "plan --rows 2e3 --states 3 --actions 1 --horizon 5 --policies 1000 --within 0.001 --json plan.json",
    ));
    for part in
        ["fit", "evaluation", "short look", "1,000 policies", "like this one", "made-up data"]
    {
        assert!(said.contains(part), "{said}");
    }
    let plan: Value =
        serde_json::from_slice(&fs::read(place.path("plan.json")).expect("a plan")).expect("JSON");
    assert_eq!((&plan["rows"], &plan["data_bytes"]), (&2000.into(), &64_000.into()));
    let all = plan["all_policies"].as_f64().expect("seconds");
    assert!((all / plan["evaluation"].as_f64().expect("seconds") - 1000.0).abs() < 1e-6);
    done(&place.run("plan --rows 500 --states 3 --actions 1 --horizon 5 --policy policy.onnx"));
    let said =
        refused(&place, "plan --rows 500 --states 4 --actions 1 --horizon 5 --policy policy.onnx");
    assert!(said.contains("policy.onnx"), "{said}");
    refused(&place, "plan --rows 1.5 --states 3 --actions 1 --horizon 5");
    refused(&place, "plan --rows 500 --states 0 --actions 1 --horizon 5");
}
