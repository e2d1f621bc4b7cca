//! Work that was interrupted, in a folder: what is finished of it, and what is half done.

use std::fs;
use std::path::PathBuf;

use crate::atomic;
use crate::error::{Error, Result};

/// Files by the name of the work that they are about.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// In a folder that need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where work of that name is kept. Names may hold anything, so files go by their hash.
    pub fn file(&self, work: &str) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let readable: String = work.chars().filter(|&c| is_plain(c)).take(40).collect();
        let hash = blake3::hash(work.as_bytes()).to_hex();
        self.folder.join(format!("{readable}-{}", &hash[..8]))
    }

    /// What was kept last.
    pub fn recall(&self, work: &str) -> Result<Option<Vec<u8>>> {
        let file = self.file(work);
        match file.is_file() {
            true => fs::read(&file).map(Some).map_err(Error::io(&file, "read it")),
            false => Ok(None),
        }
    }

    /// Keeps it in place of what was kept before.
    pub fn keep(&self, work: &str, bytes: &[u8]) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder, "create it"))?;
        atomic::write(&self.file(work), bytes)
    }

    /// Nothing is left to go on with.
    pub fn forget(&self) {
        // It is a help, and no result.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_last_is_recalled_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::at(place.path().join("new"));
        assert_eq!(checkpoints.recall("a/b, CA").unwrap(), None);
        checkpoints.keep("a/b, CA", b"one").unwrap();
        checkpoints.keep("a/b, CA", b"two").unwrap();
        assert_eq!(checkpoints.recall("a/b, CA").unwrap().unwrap(), b"two");
        assert_eq!(checkpoints.recall("a:b, CA").unwrap(), None, "names that look alike");
        checkpoints.forget();
        assert_eq!(checkpoints.recall("a/b, CA").unwrap(), None);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let error = Checkpoints::at(place.path().join("x")).keep("fit", b"").unwrap_err();
        assert!(error.to_string().contains("create it"), "{error}");
    }
}
