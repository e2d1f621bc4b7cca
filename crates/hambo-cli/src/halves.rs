//! Work that was interrupted, in a folder that is gone when it is finished.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hambo::{BoxError, Event, Observer};
use hambo_io::atomic;

use crate::failure::Failure;
use crate::progress::Progress;

/// Keeps how far a fit has come.
pub(crate) struct Halves<'a> {
    folder: PathBuf,
    progress: &'a Progress,
}

impl<'a> Halves<'a> {
    /// Beside what is to be made at `place`.
    pub(crate) fn beside(place: &Path, progress: &'a Progress) -> Self {
        let mut name = place.as_os_str().to_owned();
        name.push(".unfinished");
        Self { folder: name.into(), progress }
    }

    /// Nothing is left to go on with.
    pub(crate) fn forget(&self) {
        // It is a help, and no result.
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn file(&self, work: &str) -> PathBuf {
        self.folder.join(work.replace(' ', "-"))
    }
}

impl Observer for Halves<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.progress.observe(event)
    }

    fn recall_half(&self, work: &str) -> Result<Option<Vec<u8>>, BoxError> {
        let file = self.file(work);
        if !file.is_file() {
            return Ok(None);
        }
        let half = fs::read(&file).map_err(|error| Failure::io(&file, "read it", &error))?;
        self.progress.note(&format!("goes on with what is in {}", self.folder.display()));
        Ok(Some(half))
    }

    fn keeps_halves(&self) -> bool {
        true
    }

    fn keep_half(&self, work: &str, half: &[u8]) -> Result<(), BoxError> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(|error| Failure::io(folder, "create it", &error))?;
        Ok(atomic::write(&self.file(work), half).map_err(Failure::from)?)
    }
}
