//! Results that were found before, in a folder: what has not changed is not evaluated again.
//!
//! A result is filed under a hash of all that it depends on. Whoever asks must name all of it; a function, of which
//! nobody can tell whether it is the same, has no name and belongs into no cache.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::atomic;
use crate::error::{Error, Result};
use crate::result::ResultDocument;

/// A folder of results.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

/// The place of one result.
#[derive(Debug, Clone)]
pub struct Entry {
    folder: PathBuf,
    name: String,
}

impl Cache {
    /// In a folder that need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Of the result that depends on this alone, and on the version of hambo.
    pub fn entry(&self, depends_on: &impl Serialize) -> Result<Entry> {
        let about = (env!("CARGO_PKG_VERSION"), depends_on);
        let text = serde_json::to_vec(&about).map_err(|error| Error::Content {
            path: self.folder.clone(),
            file: "the name of a result",
            message: error.to_string(),
        })?;
        Ok(Entry { folder: self.folder.clone(), name: blake3::hash(&text).to_hex().to_string() })
    }
}

impl Entry {
    /// What was found before. A file that is damaged counts as none.
    pub fn recall(&self) -> Option<ResultDocument> {
        let bytes = fs::read(self.file()).ok()?;
        let middle = bytes.iter().position(|&byte| byte == b'\n')?;
        let (checksum, document) = (&bytes[..middle], &bytes[middle + 1..]);
        let is_whole = checksum == blake3::hash(document).to_hex().as_bytes();
        ResultDocument::from_json(document).ok().filter(|_| is_whole)
    }

    /// Keeps it for the next time.
    pub fn keep(&self, document: &ResultDocument) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder, "create it"))?;
        let json = serde_json::to_vec(document).map_err(|error| Error::Content {
            path: self.folder.clone(),
            file: "a result",
            message: error.to_string(),
        })?;
        let checksum = blake3::hash(&json).to_hex();
        let bytes = [checksum.as_bytes(), b"\n", &json].concat();
        atomic::write(&self.file(), &bytes)
    }

    fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}
