//! A ranking that several processes share. Each evaluates every n-th policy and leaves a record of what it was asked;
//! who merges them sees to it that all were asked the same, and that none is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hambo_io::atomic;
use serde::{Deserialize, Serialize};

use super::document::{Found, Terms};
use crate::command::report;
use crate::config;
use crate::failure::{Failure, Result};
use crate::run::Run;
use crate::shard::Shard;

const SCHEMA: u64 = 1;

fn file(shard: Shard) -> String {
    format!("shard-{}-of-{}.json", shard.number, shard.of)
}

/// What a finished shard was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ShardRecord {
    schema: u64,
    version: String,
    shard: Shard,
    /// Of the whole ranking, with the BLAKE3 of their files.
    policies: Vec<(String, String)>,
    /// The model and other files, with what identifies them.
    about: Vec<(String, String)>,
    settings: String,
    delta: f64,
    delta_each: f64,
    separate: bool,
    seed: u64,
}

impl ShardRecord {
    pub(super) fn new(
        shard: Shard,
        terms: &Terms,
        about: Vec<(String, String)>,
        settings: String,
        policies: Vec<(String, String)>,
    ) -> Self {
        let &Terms { delta, delta_each, separate, seed } = terms;
        let version = env!("CARGO_PKG_VERSION").into();
        Self {
            schema: SCHEMA,
            version,
            shard,
            policies,
            about,
            settings,
            delta,
            delta_each,
            separate,
            seed,
        }
    }

    /// Says that the shard is finished.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| Failure::Internal(format!("the shard: {error}")))?;
        Ok(atomic::write(&directory.join(file(self.shard)), &json)?)
    }

    fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| Failure::io(path, "read it", &error))?;
        let wrong = |message: String| {
            let again = "remove the file, and run that shard again";
            Failure::input(format!("{}: {message}; {again}", path.display()))
        };
        let found: Self = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("cannot be understood: {error}")))?;
        let Shard { number, of } = found.shard;
        if found.schema != SCHEMA || !(1..=of).contains(&number) {
            return Err(wrong("it is no shard of this version".into()));
        }
        Ok(found)
    }

    /// Why the two are not parts of one ranking.
    fn difference(&self, other: &Self) -> Option<String> {
        let changed = config::differences(&self.settings, &other.settings);
        let (mine, theirs) = (&self.policies, &other.policies);
        let missing = mine.iter().find(|policy| !theirs.contains(policy));
        let one = missing.or_else(|| theirs.iter().find(|policy| !mine.contains(policy)));
        match () {
            () if self.shard.of != other.shard.of => {
                Some(format!("{} and {} shards", self.shard.of, other.shard.of))
            }
            () if self.version != other.version => Some("two versions of hambo".into()),
            () if self.about != other.about => Some("two models or tasks".into()),
            () if !changed.is_empty() => Some(format!("other settings: {}", changed.join(", "))),
            () if one.is_some() => one.map(|(name, _)| format!("other policies: `{name}`")),
            () if mine != theirs => Some("the same policies in another order".into()),
            () if self.delta != other.delta || self.separate != other.separate => {
                Some("another delta".into())
            }
            () => None,
        }
    }
}

/// All shards of a ranking.
pub(super) struct Merged {
    pub found: Vec<Found>,
    pub terms: Terms,
}

/// Puts shards together that lie in these directories.
pub(super) fn merged(directories: &[PathBuf]) -> Result<Merged> {
    let shards = read_all(directories)?;
    let Some((first, place)) = shards.values().next() else {
        let names: Vec<String> =
            directories.iter().map(|path| path.display().to_string()).collect();
        let message = format!(
            "{}: there is no finished shard; `hambo rank --shard 1/4 --out DIR` makes one",
            names.join(", ")
        );
        return Err(Failure::input(message));
    };
    for (shard, at) in shards.values() {
        if let Some(difference) = first.difference(shard) {
            let message = format!(
                "shard {} in {} and shard {} in {} do not belong together: {difference}",
                first.shard,
                place.display(),
                shard.shard,
                at.display()
            );
            return Err(Failure::input(message));
        }
    }
    let of = first.shard.of;
    let missing: Vec<String> = (1..=of)
        .filter(|number| !shards.contains_key(number))
        .map(|number| number.to_string())
        .collect();
    if !missing.is_empty() {
        let (word, verb) = if missing.len() == 1 { ("shard", "is") } else { ("shards", "are") };
        let message = format!(
            "{word} {} of {of} {verb} missing: run the same command with --shard {}/{of}",
            missing.join(", "),
            missing[0]
        );
        return Err(Failure::input(message));
    }
    let mut found = Vec::new();
    for (index, (name, hash)) in first.policies.iter().enumerate() {
        let (_, place) = &shards[&(index % of + 1)];
        found.push(read_policy(place, name, hash)?);
    }
    let &ShardRecord { delta, delta_each, separate, seed, .. } = first;
    Ok(Merged { found, terms: Terms { delta, delta_each, separate, seed } })
}

/// The shards by their numbers, each with its directory.
fn read_all(directories: &[PathBuf]) -> Result<BTreeMap<usize, (ShardRecord, PathBuf)>> {
    let mut shards: BTreeMap<usize, (ShardRecord, PathBuf)> = BTreeMap::new();
    for directory in directories {
        let entries =
            fs::read_dir(directory).map_err(|error| Failure::io(directory, "read it", &error))?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.retain(|name| name.starts_with("shard-") && name.ends_with(".json"));
        names.sort();
        for name in names {
            let record = ShardRecord::read(&directory.join(&name))?;
            let shard = record.shard;
            if let Some((other, place)) =
                shards.get(&shard.number).filter(|(other, _)| other.shard == shard)
            {
                let message = format!(
                    "shard {} is there twice, in {} and in {}; leave one of them out",
                    other.shard,
                    place.display(),
                    directory.display()
                );
                return Err(Failure::input(message));
            }
            if let Some((other, place)) = shards.insert(shard.number, (record, directory.clone())) {
                let message = format!(
                    "shard {} in {} and shard {shard} in {} do not belong together: merge one ranking at a time",
                    other.shard,
                    place.display(),
                    directory.display()
                );
                return Err(Failure::input(message));
            }
        }
    }
    Ok(shards)
}

fn read_policy(place: &Path, name: &str, hash: &str) -> Result<Found> {
    let directory = place.join(name);
    let run = Run::open(&directory)?;
    let (record, document) = (run.record()?, run.result()?);
    match document.filter(|_| record.policy.blake3 == hash) {
        Some(document) => {
            let options = report::options(&record, &document);
            Ok(Found { name: name.to_owned(), document, options })
        }
        None => Err(Failure::input(format!(
            "{}: what its shard found about this policy is not there any more; run that shard again",
            directory.display()
        ))),
    }
}
