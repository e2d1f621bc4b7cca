//! Files that must be refused: with a message that says what, where and what to do, without a panic and
//! without much memory. They are made by `tests/make/make_broken.py`.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use hambo_io::inspect::inspect;
use hambo_io::read::{self, Mapping};
use hambo_io::store;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    file: String,
    mapping: Mapping,
    /// What the message must contain; `None` when the file may as well be readable.
    words: Option<Vec<String>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/broken")
}

fn cases() -> Vec<Case> {
    let text = std::fs::read(folder().join("cases.json")).expect("the list is there");
    serde_json::from_slice(&text).expect("the list is as described")
}

#[test]
fn broken_files_are_refused_with_a_located_message() {
    let cases = cases();
    assert!(cases.len() >= 60);
    let mut failures = Vec::new();
    for case in &cases {
        let path = folder().join(&case.file);
        let result = catch_unwind(|| read::open(&path, &case.mapping));
        let problem = match (result, &case.words) {
            (Err(_), _) => Some("panicked".into()),
            (Ok(Ok(_)), Some(_)) => Some("was read".into()),
            (Ok(Err(error)), Some(words)) => {
                let message = error.to_string();
                let names_file = message.contains(&case.file);
                let missing: Vec<_> = words.iter().filter(|w| !message.contains(*w)).collect();
                (!names_file || !missing.is_empty())
                    .then(|| format!("says `{message}`, without {missing:?}"))
            }
            (Ok(_), None) => None,
        };
        failures.extend(problem.map(|problem| format!("{} {problem}", case.file)));
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Found by `just fuzz`: each made a library panic, or take gigabytes.
#[test]
fn files_that_fuzzing_found_are_refused_with_a_located_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzzed");
    for (file, expected) in [
        ("buffer_outside_batch.arrow", "a buffer lies outside its batch"),
        ("buffer_outside_batch.arrows", "a buffer lies outside its batch"),
        ("wide_list.arrow", "column `observations`: a row of it has 83886080 values"),
        ("chunk_beyond_the_end.hdf5", "`rewards`: a chunk lies beyond the file's end"),
    ] {
        let found = read::open(folder.join(file), &Mapping::default());
        let message = found.expect_err("it is broken").to_string();
        assert!(message.contains(file) && message.contains(expected), "{message}");
    }
}

#[test]
fn converting_and_inspecting_broken_files_does_not_panic() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (index, case) in cases().into_iter().enumerate() {
        let path = folder().join(&case.file);
        let into = directory.path().join(index.to_string());
        let converted = catch_unwind(|| store::convert(&path, &case.mapping, &into));
        let converted = converted.unwrap_or_else(|_| panic!("{}: conversion panicked", case.file));
        assert!(converted.is_err() || case.words.is_none(), "{} was converted", case.file);
        assert_eq!(into.exists(), converted.is_ok(), "{} left something behind", case.file);
        catch_unwind(|| inspect(&path, &case.mapping).map(drop).ok())
            .unwrap_or_else(|_| panic!("{}: inspection panicked", case.file));
    }
    assert_eq!(
        std::fs::read_dir(directory.path())
            .expect("it is there")
            .filter(|entry| {
                let name = entry.as_ref().expect("an entry").file_name();
                name.to_string_lossy().starts_with('.')
            })
            .count(),
        0,
        "unfinished directories remain"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn broken_files_take_less_than_a_gigabyte() {
    for case in cases() {
        let path = folder().join(&case.file);
        let _ = catch_unwind(|| read::open(&path, &case.mapping).map(drop).ok());
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).expect("the peak is told");
    let kilobytes: u64 =
        peak.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    assert!(kilobytes < 1_000_000, "{peak}");
}

#[test]
fn inspecting_counts_what_reading_refuses() {
    let found =
        inspect(folder().join("infinite_reward.csv"), &Mapping::default()).expect("it is readable");
    assert_eq!((found.rows, found.episodes), (9, 2));
    assert_eq!(found.problems.episodes, 1);
    assert!(found.problems.first[0].to_string().starts_with("episode 0, step 2"));
    assert_eq!(found.summary.expect("one episode is clean").episodes, 1);
}
