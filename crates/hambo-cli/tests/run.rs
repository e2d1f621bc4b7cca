//! Runs that are killed, interrupted or cut short by a full disk.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use crate::common::{Place, assert_done, text};
use serde_json::Value;

fn wait_for(what: impl Fn() -> bool, child: &mut Child) {
    let begun = Instant::now();
    while !what() {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "the command ended before it could be stopped"
        );
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing happened");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Long enough to be killed in the middle of every stage.
const EVALUATE: &str = "evaluate logs.csv --policy policy.onnx --variants ca,da1,dainf,ds \
     --set evaluation.adversary.max_rounds=6 --set evaluation.adversary.gradient_steps=40 \
     --set model.ensemble.max_steps=300 --set constraints.slow=9-abs(speed)";

#[test]
fn a_killed_run_that_is_resumed_finds_the_same_bits() {
    let place = Place::new();
    assert_done(&place.run(&format!("{EVALUATE} --out whole")));
    let stages =
        |run: &str| fs::read_dir(place.path(run).join("stages")).map_or(0, Iterator::count);
    // Killed during the fit, then after each of some stages.
    let mut child = place.start(&format!("{EVALUATE} --out killed"));
    wait_for(|| place.path("killed").join("run.json").exists(), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("killed/model").exists(), "it was killed too late to be a test");
    for kept in [0, 1, 3] {
        let mut child = place.start(&format!("{EVALUATE} --out killed --resume"));
        let fitted = || place.path("killed/model").exists() && stages("killed") >= kept;
        wait_for(fitted, &mut child);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(!place.path("killed/result.json").exists(), "it was killed too late to be a test");
    assert_done(&place.run(&format!("{EVALUATE} --out killed --resume")));
    assert_eq!(place.result("killed"), place.result("whole"));
    // A finished run is only read.
    let again = place.run(&format!("{EVALUATE} --out killed --resume"));
    assert_done(&again);
    assert_eq!(place.result("killed"), place.result("whole"));
}

#[test]
fn a_killed_fit_goes_on_and_makes_the_same_model() {
    let place = Place::new();
    let fit =
        "fit logs.csv --set model.ensemble.max_steps=20000 --set model.ensemble.patience=2000";
    let mut child = place.start(&format!("{fit} --out killed"));
    // A file that is still being written has a dot in front.
    let is_whole = |entry: fs::DirEntry| !entry.file_name().to_string_lossy().starts_with('.');
    let kept = || {
        let entries = fs::read_dir(place.path("killed.unfinished")).into_iter().flatten();
        entries.flatten().any(is_whole)
    };
    wait_for(kept, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("killed").exists(), "it was killed too late to be a test");
    let again = place.run(&format!("{fit} --out killed"));
    assert_done(&again);
    assert!(text(&again.stderr).contains("goes on with"), "{}", text(&again.stderr));
    assert!(!place.path("killed.unfinished").exists(), "what is finished leaves nothing behind");
    assert_done(&place.run(&format!("{fit} --out whole")));
    let checksums =
        |model: &str| fs::read_to_string(place.path(model).join("checksums.txt")).unwrap();
    assert_eq!(checksums("killed"), checksums("whole"));
}

#[test]
fn a_pipeline_gets_a_summary_and_a_test_and_may_ask_for_code_zero() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model"));
    // So strict that there are warnings.
    let certify = "certify --model model --policy policy.onnx --markdown summary.md --junit junit.xml \
                   --set evaluation.thresholds.outside_data=0";
    let run = |rest: &str| {
        let output = place.run(&format!("{certify} {rest}"));
        let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
        (output.status.code().unwrap(), read("summary.md"), read("junit.xml"))
    };
    let (code, summary, junit) = run("--threshold 1000000");
    assert_eq!(code, 3, "{summary}");
    assert!(summary.starts_with("## NOT CERTIFIED: Lower bound for policy.onnx"), "{summary}");
    assert!(summary.contains("| Threshold | 1000000 |"), "{summary}");
    assert!(
        junit.contains("failures=\"1\" errors=\"0\"") && junit.contains("<failure "),
        "{junit}"
    );
    let (code, _, junit) = run("--threshold -1000000");
    assert_eq!(code, 4);
    assert!(junit.contains("failures=\"0\" errors=\"1\"") && junit.contains("<error "), "{junit}");
    let (code, of_quick, _) = run("--threshold -1000000 --exit-zero --quick");
    assert_eq!(code, 0);
    assert!(of_quick.contains("`quick`") && !summary.contains("`quick`"), "{of_quick}");
    // Every warning that stands in the way, by its code.
    let codes = summary.lines().filter_map(|line| line.strip_prefix("- :warning: `"));
    let codes: Vec<&str> = codes.filter_map(|line| line.split('`').next()).collect();
    let (code, summary, junit) = run(&format!("--threshold -1000000 --allow {}", codes.join(",")));
    assert_eq!(code, 0, "{summary}");
    assert!(summary.starts_with("## CERTIFIED WITH WEAKER SETTINGS ("), "{summary}");
    assert!(summary.contains(&format!("allow = {}", codes[0])), "{summary}");
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
}

#[test]
fn a_ranking_is_a_page_and_a_quick_model_makes_its_bounds_quick() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model --quick"));
    let rank = "rank --model model --policies policy.onnx linear.onnx --report ranking.html";
    let output = place.run(rank);
    assert_done(&output);
    let (said, names) =
        (text(&output.stdout), ["quick (linear, policy)", "quick (policy, linear)"]);
    assert!(names.iter().any(|names| said.contains(names)), "{said}");
    let page = fs::read_to_string(place.path("ranking.html")).unwrap();
    for part in ["2 policies, ranked", ">policy<", ">linear<", "a quick model", "What next?"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let output = place.run(&format!("{rank}/no.html"));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_model_that_cannot_be_written_is_said_before_it_is_fitted() {
    let place = Place::new();
    let output =
        place.run("fit logs.csv --out /proc/nowhere/model --set model.ensemble.max_steps=1000000");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("/proc/nowhere"), "{}", text(&output.stderr));
}

#[test]
fn columns_that_rules_and_policies_misname_are_said_before_a_fit() {
    let place = Place::new();
    let fit = "fit logs.csv --out model --set model.ensemble.max_steps=1000000";
    for (setting, said) in [
        ("task.reward=-(sped^2)", "did you mean `speed`"),
        ("policy.inputs=[\"sped\"]", "policy.inputs: `sped`"),
        ("constraints.slow=5-sped", "constraints.slow"),
    ] {
        let output = place.run(&format!("{fit} --set {setting}"));
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let error = text(&output.stderr).replace("\n  ", " ");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_resumed_run_with_other_settings_is_refused() {
    let place = Place::new();
    let evaluate = "evaluate logs.csv --policy policy.onnx --out run";
    assert_done(&place.run(evaluate));
    let output = place.run(&format!("{evaluate} --resume --delta 0.2"));
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr).replace("\n  ", " ");
    assert!(message.contains("`evaluation.delta` was 0.05, is 0.2"), "{message}");
    let output = place.run("evaluate logs.csv --policy linear.onnx --out run --resume");
    assert!(text(&output.stderr).contains("another policy"), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_ends_with_130() {
    let place = Place::new();
    let long = EVALUATE.replace("max_rounds=6", "max_rounds=1000");
    let mut child = place.start(&format!("{long} --out run"));
    wait_for(|| place.path("run/model").exists(), &mut child);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("--resume"), "{}", text(&output.stderr));
}

#[test]
fn the_document_has_the_promised_fields() {
    let place = Place::new();
    let output = place.run(
        "certify logs.csv --policy policy.onnx --variants ca,dainf,ds --threshold -1000000 \
         --json result.json --report report.html",
    );
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let result: Value =
        serde_json::from_slice(&fs::read(place.path("result.json")).unwrap()).unwrap();
    assert_eq!(result["schema"], 2);
    assert_eq!(result["verdict"], "inconclusive");
    assert_eq!(result["threshold"], -1e6);
    assert_eq!(result["delta"], 0.05);
    assert_eq!(result["monte_carlo_delta"], 0.05);
    assert_eq!(result["seed"], 0);
    assert_eq!(result["policy"]["file"], "policy.onnx");
    assert_eq!(result["data"]["rows"], 240);
    assert_eq!(result["data"]["episodes"], 12);
    assert_eq!(result["data"]["names"]["states"][2], "speed");
    assert_eq!(result["data"]["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(result["config"]["task"]["horizon"], 5);
    let variants = result["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 3);
    let ca = &variants[0];
    assert_eq!((&ca["variant"], &ca["converged"]), (&"ca".into(), &false.into()));
    assert_eq!(ca["rounds"].as_array().unwrap().len(), 2);
    assert!(ca["lower_bound"].is_f64());
    assert!(ca["estimate"]["mean"].is_f64() && ca["estimate"]["std_error"].is_f64());
    let bound = |variant: &Value| variant["lower_bound"].as_f64().unwrap();
    let least = variants[..2].iter().min_by(|a, b| bound(a).total_cmp(&bound(b))).unwrap();
    assert_eq!(result["lower_bound"], least["lower_bound"]);
    assert_eq!(result["deciding"], least["variant"]);
    for field in ["constraints", "calibration", "settings", "timings", "version"] {
        assert!(!result[field].is_null(), "{field}");
    }
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["code"] == "not_converged" && w["help"].is_string()));
    let page = fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.contains("INCONCLUSIVE"));
}

#[test]
fn a_report_tells_of_the_data_and_is_drawn_again() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model"));
    assert_done(
        &place.run("evaluate --model model --policy policy.onnx --out run --report a.html"),
    );
    assert_done(&place.run("report run --out b.html --figures figures"));
    let page = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(page("a.html"), page("b.html"));
    for told in ["240", "12 cut off", "torque", "3 state dimensions, 1 action dimension"] {
        assert!(page("a.html").contains(told), "{told}");
    }
    for file in ["bounds.svg", "bounds.png", "reliability.svg", "reliability.png"] {
        assert!(fs::metadata(place.path("figures").join(file)).unwrap().len() > 1000, "{file}");
    }
}

#[test]
fn output_that_is_no_terminal_holds_no_control_codes() {
    let place = Place::new();
    let mut command = place.command("certify logs.csv --policy policy.onnx --threshold 0");
    let output = command.env_remove("NO_COLOR").output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    assert!(!all.is_empty() && !all.contains(&0x1b), "{}", text(&all));
}

#[test]
fn a_full_disk_ends_in_a_message_and_leaves_what_was_there() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model"));
    let large = "evaluate --model model --policy policy.onnx --set evaluation.episodes=2000";
    let evaluate = &format!("{large} --out run");
    // A process that may write no file larger than 8 KiB stands in for a full disk.
    let hambo = env!("CARGO_BIN_EXE_hambo");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {hambo} {evaluate}");
    let mut limited = Command::new("sh");
    let output = limited.current_dir(place.path("")).args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let message = text(&output.stderr).replace("\n  ", " ");
    assert!(message.contains("make room") && message.contains("--resume"), "{message}");
    let left: Vec<_> = fs::read_dir(place.path("run/stages")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_done(&place.run(&format!("{evaluate} --resume")));
    assert_done(&place.run(&format!("{large} --out whole")));
    assert_eq!(place.result("run"), place.result("whole"));
}

#[test]
fn settings_written_by_init_work_and_settings_are_shown_as_they_would_be_used() {
    let place = Place::new();
    fs::remove_file(place.path("hambo.toml")).unwrap();
    let mapping = r#"data.state=["cos","sin","speed"]"#;
    let mut command = place.command("init logs.csv --set data.action=[\"torque\"] --set");
    let written = command.arg(mapping).output().unwrap();
    assert_done(&written);
    assert!(text(&written.stderr).contains("one step shorter"), "{}", text(&written.stderr));
    let shown = place.run("fit logs.csv --out model --seed 7 --show-config");
    assert_done(&shown);
    let shown = text(&shown.stdout);
    // Without next states the last row of every episode is dropped.
    assert!(shown.contains("seed = 7") && shown.contains("horizon = 19"), "{shown}");
    assert!(!place.path("model").exists());
}

#[test]
fn the_reward_is_learned_by_default_whether_or_not_the_task_has_one() {
    let place = Place::new();
    for task in ["", " --set task.reward=-speed^2"] {
        let shown = place.run(&format!("fit logs.csv --out model --show-config{task}"));
        assert!(text(&shown.stdout).contains("learn_reward = true"), "{}", text(&shown.stdout));
    }
}

#[test]
fn a_built_in_task_gives_its_termination_and_its_bounds() {
    let place = Place::new();
    let evaluate = "evaluate logs.csv --policy policy.onnx --json -";
    let output = place.run(&format!("{evaluate} --set task.termination=pendulum"));
    assert_done(&output);
    let limits = |output: &Output| -> Value {
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        result["state_limits"].clone()
    };
    assert_ne!(limits(&output), "task");
    let output = place.run(&format!("{evaluate} --set task.state_bounds=pendulum"));
    assert_done(&output);
    assert_eq!(limits(&output), "task");
    let by_name = "{low={speed=-8},high={speed=8},angles=[[\"cos\",\"sin\"]]}";
    let output = place.run(&format!("{evaluate} --set task.state_bounds={by_name}"));
    assert_done(&output);
    assert_eq!(limits(&output), "task");
}

#[test]
fn an_onnx_file_is_one_whatever_the_case_of_its_extension() {
    let place = Place::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hambo-io/tests/data/policies");
    fs::copy(files.join("reward_pendulum.onnx"), place.path("REWARD.ONNX")).expect("a copy");
    assert_done(&place.run("evaluate logs.csv --policy policy.onnx --set task.reward=REWARD.ONNX"));
}

#[test]
fn a_constraint_called_return_is_refused() {
    let place = Place::new();
    let output = place.run("evaluate logs.csv --policy policy.onnx --set constraints.return=speed");
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr).replace("\n  ", " ");
    assert!(message.contains("not `return`"), "{message}");
}

#[test]
fn every_seed_of_64_bits_can_be_given() {
    let place = Place::new();
    let evaluate = "evaluate logs.csv --policy policy.onnx --json - --seed 18446744073709551615";
    let output = place.run(evaluate);
    assert_done(&output);
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["seed"], u64::MAX);
    // It can also be read back from a run.
    assert_done(&place.run(&format!("{evaluate} --out run")));
    assert_done(&place.run(&format!("{evaluate} --out run --resume")));
}

#[test]
fn a_printed_bound_stays_on_its_side_of_the_threshold() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model"));
    assert_done(&place.run("evaluate --model model --policy policy.onnx --json result.json"));
    let result: Value =
        serde_json::from_slice(&fs::read(place.path("result.json")).expect("a result")).unwrap();
    let bound = result["lower_bound"].as_f64().expect("a bound");
    // Barely below the bound, and the bound itself: both are reached.
    for threshold in [bound - 1e-7, bound] {
        let certify = format!("certify --model model --policy policy.onnx --threshold {threshold}");
        let output = place.run(&certify);
        assert_done(&output);
        let line = text(&output.stdout).replace("\n  ", " ");
        let shown = line.split("lower bound on the return ").nth(1).expect("the last line");
        let shown: f64 = shown.split(' ').next().expect("a number").parse().expect("a number");
        assert!(shown >= threshold && shown <= bound, "{shown}, {threshold}, {bound}");
    }
}

#[test]
fn settings_that_weaken_a_bound_certify_only_if_they_are_accepted_by_name() {
    let place = Place::new();
    assert_done(&place.run("fit logs.csv --out model"));
    let certify = "certify --model model --policy policy.onnx --threshold -1000000";
    let output = place.run(&format!("{certify} --set evaluation.noise=false"));
    assert_eq!(output.status.code(), Some(4));
    let message = text(&output.stdout).replace("\n  ", " ");
    assert!(message.contains("`noise` is false, weaker than the default true"), "{message}");
    let output =
        place.run(&format!("{certify} --set evaluation.noise=false --accept-weaker noise"));
    assert_done(&output);
    let message = text(&output.stdout).replace("\n  ", " ");
    assert!(message.contains("CERTIFIED WITH WEAKER SETTINGS (noise = false"), "{message}");
}

#[test]
fn the_schema_completions_and_manual_are_printed() {
    let place = Place::new();
    let schema: Value = serde_json::from_slice(&place.run("config schema").stdout).unwrap();
    assert!(schema["properties"]["evaluation"].is_object());
    assert!(text(&place.run("completions bash").stdout).contains("certify"));
    assert!(text(&place.run("man").stdout).contains(".TH hambo 1"));
}
