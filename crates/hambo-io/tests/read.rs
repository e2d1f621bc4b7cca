//! Every format against Python's own reading of the same file. The files were made by the real
//! libraries: see `tests/make`. With `HAMBO_DATASETS` set to a folder made by `make_datasets.py`, all of
//! its datasets are compared as well.

use std::fs;
use std::path::{Path, PathBuf};

use hambo::Dataset;
use hambo_io::read::{self, Mapping};
use hambo_io::store;
use serde::Deserialize;

/// What Python read.
#[derive(Deserialize)]
struct Expected {
    source: String,
    mapping: Mapping,
    rows: usize,
    state_dim: usize,
    action_dim: usize,
    episode_ends: Vec<usize>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
}

fn expectations(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root).expect("the folder exists") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(folder).expect("the folder exists") {
            let path = file.expect("an entry").path();
            if path.to_string_lossy().ends_with(".expected.json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn load(path: &Path) -> (PathBuf, Expected) {
    let expected: Expected =
        serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is as described");
    (path.parent().expect("a folder").join(&expected.source), expected)
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f32>) -> Vec<u32> {
    values.into_iter().map(|value| value.to_bits()).collect()
}

/// Compares bit for bit; says what differs.
fn difference(expectation: &Path, expected: &Expected, found: &Dataset) -> Result<(), String> {
    let same = |what: &str, equal: bool| if equal { Ok(()) } else { Err(what.to_string()) };
    same("rows", found.rows() == expected.rows)?;
    same("state width", found.state_dim() == expected.state_dim)?;
    same("action width", found.action_dim() == expected.action_dim)?;
    let episodes = found.episodes();
    let ends: Vec<usize> = episodes.iter().map(|episode| episode.rows.end).collect();
    same("episode ends", ends == expected.episode_ends)?;
    let terminated: Vec<bool> = episodes.iter().map(|episode| episode.terminated).collect();
    same("terminated", terminated == expected.terminated)?;
    let truncated: Vec<bool> = episodes.iter().map(|episode| episode.truncated).collect();
    same("truncated", truncated == expected.truncated)?;

    let name = expectation.to_string_lossy().replace(".expected.json", ".expected.bin");
    let bytes = fs::read(name).expect("values are beside it");
    let values: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().expect("four bytes")))
        .collect();
    let (states, rest) = values.split_at(expected.rows * expected.state_dim);
    let (actions, rest) = rest.split_at(expected.rows * expected.action_dim);
    let (rewards, next_states) = rest.split_at(expected.rows);
    same("states", bits(found.states()) == states)?;
    same("actions", bits(found.actions()) == actions)?;
    same("rewards", bits(found.rewards()) == rewards)?;
    same("next states", bits(found.next_states()) == next_states)
}

/// Reads everything below `root`, and reports all differences at once.
fn compare_all(root: &Path) {
    let all = expectations(root);
    assert!(!all.is_empty(), "{} holds no datasets", root.display());
    let mut failures = Vec::new();
    for path in &all {
        let (source, expected) = load(path);
        match read::open(&source, &expected.mapping) {
            // A log of which no transition is left cannot be a dataset.
            Err(error) if expected.rows == 0 => {
                assert!(error.to_string().contains("no episodes"), "{error}");
            }
            Err(error) => failures.push(format!("{}: {error}", path.display())),
            Ok(opened) => {
                if let Err(what) = difference(path, &expected, &opened.dataset) {
                    failures.push(format!("{}: {what} differ", path.display()));
                }
            }
        }
    }
    println!("{} files compared", all.len());
    let shown: Vec<&String> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{} of {} differ: {shown:#?}", failures.len(), all.len());
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets")
}

#[test]
fn every_format_is_read_as_python_reads_it() {
    compare_all(&fixtures());
    if let Some(root) = std::env::var_os("HAMBO_DATASETS") {
        compare_all(Path::new(&root));
    }
}

#[test]
fn a_store_holds_what_was_converted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (index, path) in expectations(&fixtures()).iter().enumerate() {
        let (source, expected) = load(path);
        let into = directory.path().join(index.to_string());
        let converted = store::convert(&source, &expected.mapping, &into).expect("it converts");
        let opened = read::open(&into, &Mapping::default()).expect("it opens");
        let from_memory = read::open(&source, &expected.mapping).expect("it opens").dataset;
        assert_eq!(opened.dataset.identity(), from_memory.identity());
        assert_eq!(opened.dataset.identity(), converted.data);
        assert_eq!(opened.dataset.names(), from_memory.names());
        difference(path, &expected, &opened.dataset).expect("the same bit for bit");
    }
}

#[test]
fn a_changed_value_in_a_store_is_noticed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, expected) = load(&expectations(&fixtures())[0]);
    let into = directory.path().join("store");
    store::convert(&source, &expected.mapping, &into).expect("it converts");
    for name in ["states.f32", "actions.f32", "rewards.f32", "next_states.f32", "episodes.u64"] {
        let path = into.join(name);
        let good = fs::read(&path).expect("it is there");
        let mut bad = good.clone();
        bad[0] ^= 1;
        fs::write(&path, bad).expect("it can be written");
        let error = store::open(&into).expect_err("a bit was flipped").to_string();
        assert!(error.contains("store"), "{name}: {error}");
        fs::write(&path, good).expect("it can be written");
    }
    store::open(&into).expect("it is whole again");
}

#[test]
fn a_column_says_where_episodes_came_from_and_a_store_remembers_it() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("logs.csv");
    let rows = [(0, "night"), (0, "night"), (1, "day"), (1, "day"), (2, "night"), (2, "night")];
    let written = |last: &str| {
        let mut text = String::from("obs,action,reward,next_obs,episode,shift\n");
        for (index, (episode, shift)) in rows.iter().enumerate() {
            let shift = if index + 1 == rows.len() { last } else { shift };
            let (now, next) = (index % 2, index % 2 + 1);
            text += &format!("{now},0,1,{next},{episode},{shift}\n");
        }
        fs::write(&path, text).expect("written");
    };
    written("night");
    let mapping = Mapping { source: Some("shift".into()), ..Mapping::default() };
    let source = path.to_string_lossy().into_owned();
    let sources = |data: &Dataset| {
        let sources = data.sources().expect("sources");
        (0..3).map(|episode| sources.names()[sources.of(episode)].clone()).collect::<Vec<_>>()
    };
    let expected = ["night", "day", "night"];
    let opened = read::open(&source, &mapping).expect("it is read").dataset;
    assert_eq!(sources(&opened), expected);
    let converted = place.path().join("store");
    store::convert(&path, &mapping, &converted).expect("it is converted");
    assert_eq!(sources(&store::open(&converted).expect("it is opened")), expected);
    let without = read::open(&source, &Mapping::default()).expect("it is read").dataset;
    assert!(without.sources().is_none(), "a source has to be named");
    written("day");
    let error = read::open(&source, &mapping).expect_err("two sources in one episode");
    assert!(error.to_string().contains("source was `night` and is now `day`"), "{error}");
}

#[test]
fn columns_are_named_alone_or_in_a_list() {
    let mapping = |json: &str| serde_json::from_str::<Mapping>(json);
    let alone = mapping(r#"{"state": "x", "action": ["u", "v"]}"#).expect("a mapping");
    assert_eq!(
        (&alone.state[..], &alone.action[..]),
        (&["x".into()][..], &["u".into(), "v".into()][..])
    );
    let error = mapping(r#"{"state": 3}"#).expect_err("a number is no name").to_string();
    assert!(error.contains("a column's name, or a list of names"), "{error}");
}

#[test]
fn a_minari_dataset_has_no_column_of_sources() {
    let has_minari = |path: &PathBuf| path.to_string_lossy().contains("minari");
    let expectation = expectations(&fixtures()).into_iter().find(has_minari).expect("a fixture");
    let (source, expected) = load(&expectation);
    let mapping = Mapping { source: Some("policy".into()), ..expected.mapping };
    let error = read::open(&source, &mapping).expect_err("nothing was named").to_string();
    assert!(error.contains("`policy`") && error.contains("with_sources"), "{error}");
}

/// Probabilities and their logarithms are recognised by the names that libraries use, and change nothing else.
#[test]
fn a_log_may_say_how_probable_its_actions_were() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("logs.csv");
    let source = path.to_string_lossy().into_owned();
    let written = |column: &str, values: [&str; 4]| {
        let mut text = format!("obs,action,reward,next_obs,episode,{column}\n");
        for (index, value) in values.iter().enumerate() {
            let (now, next) = (index % 2, index % 2 + 1);
            text += &format!("{now},0,1,{next},{},{value}\n", index / 2);
        }
        fs::write(&path, text).expect("written");
    };
    let read = |mapping: &Mapping| read::open(&source, mapping).expect("it is read").dataset;
    // A probability of zero cannot be that of something that was done, and is as good as none.
    written("pscore", ["0.5", "0.25", "0", "1"]);
    let (known, by_name) = (read(&Mapping::default()), Mapping::default());
    let log_probs = known.log_probs().expect("probabilities");
    assert_eq!(log_probs[..2], [0.5_f64.ln(), 0.25_f64.ln()]);
    assert!(log_probs[2].is_nan() && log_probs[3] == 0.0);
    let converted = place.path().join("store");
    store::convert(&path, &by_name, &converted).expect("it is converted");
    let stored = store::open(&converted).expect("it is opened");
    assert_eq!(stored.log_probs().expect("probabilities")[1], 0.25_f64.ln());
    assert_eq!(stored.identity(), known.identity());
    written("action_logp", ["-0.5", "-1.5", "-2", "0.25"]);
    let logarithms = read(&Mapping::default());
    assert_eq!(logarithms.log_probs(), Some(&[-0.5, -1.5, -2.0, 0.25][..]));
    assert_eq!(logarithms.identity(), known.identity(), "no bound depends on them");
    written("likelihood", ["0.5", "0.5", "0.5", "0.5"]);
    assert_eq!(read(&Mapping::default()).log_probs(), None);
    let named = Mapping { probability: Some("likelihood".into()), ..Mapping::default() };
    assert_eq!(read(&named).log_probs(), Some(&[0.5_f64.ln(); 4][..]));
}

#[test]
fn a_lerobot_dataset_names_its_columns() {
    let (source, expected) = load(&fixtures().join("0/lerobot.expected.json"));
    let opened = read::open(&source, &Mapping::default()).expect("it opens");
    assert_eq!(opened.format, read::Format::LeRobot);
    let joints: Vec<String> =
        (0..expected.state_dim).map(|joint| format!("joint{joint}.pos")).collect();
    let names = opened.dataset.names().expect("names");
    assert_eq!(names.states, joints);
    assert_eq!(names.actions, ["target0.pos"]);
    // It says when a recording stopped, and not whether that was the end.
    assert!(opened.dataset.episodes().iter().all(|episode| !episode.terminated));
}

#[test]
fn a_lerobot_dataset_that_cannot_be_read_says_why() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let meta = folder.path().join("meta");
    fs::create_dir(&meta).expect("a folder");
    let message = |info: &str| {
        fs::write(meta.join("info.json"), info).expect("a file");
        read::open(folder.path(), &Mapping::default()).expect_err("it is broken").to_string()
    };
    assert!(message("{").contains("info.json"));
    let old = message(r#"{"codebase_version": "v1.6", "features": {}}"#);
    assert!(old.contains("v1.6") && old.contains("versions 2 and 3"), "{old}");
    fs::create_dir(folder.path().join("data")).expect("a folder");
    let empty = message(r#"{"codebase_version": "v3.0", "features": {}}"#);
    assert!(empty.contains("without Parquet files"), "{empty}");
}
