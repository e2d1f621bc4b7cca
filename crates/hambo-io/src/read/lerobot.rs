//! LeRobot datasets, versions 2.1 and 3.0: folders with `meta/info.json`, and Parquet files of frames below `data`.
//!
//! Only the rows say which episode they belong to: what `meta` says of episodes has been wrong in published datasets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// Names of the values of columns that have several.
pub(crate) type PartNames = HashMap<String, Vec<String>>;

/// A dataset's files, in the order of their names, and the names of its columns' values.
#[derive(Debug)]
pub(crate) struct LeRobot {
    pub files: Vec<PathBuf>,
    pub names: PartNames,
}

#[derive(Deserialize)]
struct Info {
    /// Such as `v2.1`.
    codebase_version: String,
    #[serde(default)]
    features: HashMap<String, Feature>,
}

#[derive(Deserialize)]
struct Feature {
    #[serde(default)]
    names: Value,
}

impl LeRobot {
    /// None if the folder is something else.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>> {
        let about = folder.join("meta").join("info.json");
        if !about.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&about).map_err(Error::io(&about, "read the file"))?;
        let info: Info = serde_json::from_str(&text)
            .map_err(|error| Error::damaged(&about, "description", error))?;
        let version = &info.codebase_version;
        if !["v2.", "v3."].iter().any(|known| version.starts_with(known)) {
            return Err(Error::Unreadable {
                path: about,
                place: "`codebase_version`".into(),
                message: format!("it is {version}"),
                advice: "versions 2 and 3 of LeRobot's format are read; convert it with LeRobot's own scripts",
            });
        }
        let files = parquet_files(&folder.join("data"))?;
        if files.is_empty() {
            let found = "a LeRobot dataset without Parquet files below `data`";
            return Err(Error::UnknownFormat { path: folder.to_owned(), found });
        }
        let names =
            info.features.into_iter().map(|(column, feature)| (column, flat(feature.names)));
        Ok(Some(Self { files, names: names.collect() }))
    }
}

/// Those in `data/chunk-000`, `data/chunk-001`, ….
fn parquet_files(data: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder).map_err(Error::io(folder, "list the folder"))?;
        let mut found = entries
            .map(|entry| Ok(entry.map_err(Error::io(folder, "list the folder"))?.path()))
            .collect::<Result<Vec<_>>>()?;
        found.sort();
        Ok(found)
    };
    let mut files = Vec::new();
    for chunk in list(data)?.iter().filter(|path| path.is_dir()) {
        let is_parquet = |path: &PathBuf| path.extension().is_some_and(|name| name == "parquet");
        files.extend(list(chunk)?.into_iter().filter(is_parquet));
    }
    Ok(files)
}

/// A list of names, or one under the name of what they are, such as `{"motors": ["shoulder", "elbow"]}`.
fn flat(names: Value) -> Vec<String> {
    let names = match names {
        Value::Object(named) => match named.into_iter().next() {
            Some((_, names)) => names,
            None => Value::Null,
        },
        names => names,
    };
    serde_json::from_value(names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_as_lists_and_under_a_name() {
        let read = |text| flat(serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"["x", "y"]"#), ["x", "y"]);
        assert_eq!(read(r#"{"motors": ["x", "y"]}"#), ["x", "y"]);
        assert!(read("null").is_empty() && read(r#"{"x": 0, "y": 1}"#).is_empty());
    }
}
