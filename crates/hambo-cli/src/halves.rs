//! Work that was interrupted, in a folder that is gone when it is finished.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hambo::{BoxError, Event, Observer};
use hambo_io::checkpoints::Checkpoints;

use crate::failure::Failure;
use crate::progress::Progress;

/// Keeps how far a fit, or a policy that is learned, has come.
pub(crate) struct Halves<'a> {
    folder: PathBuf,
    checkpoints: Checkpoints,
    progress: &'a Progress,
}

impl<'a> Halves<'a> {
    /// Beside what is to be made at `place`.
    pub(crate) fn beside(place: &Path, progress: &'a Progress) -> Self {
        let mut name = place.as_os_str().to_owned();
        name.push(".unfinished");
        let folder = PathBuf::from(name);
        Self { checkpoints: Checkpoints::at(&folder), folder, progress }
    }

    /// Nothing is left to go on with.
    pub(crate) fn forget(&self) {
        self.checkpoints.forget();
    }
}

impl Observer for Halves<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.progress.observe(event)
    }

    fn recall_half(&self, work: &str) -> Result<Option<Vec<u8>>, BoxError> {
        let half = self.checkpoints.recall(work).map_err(Failure::from)?;
        if half.is_some() {
            self.progress.note(&format!("goes on with what is in {}", self.folder.display()));
        }
        Ok(half)
    }

    fn keeps_halves(&self) -> bool {
        true
    }

    fn keep_half(&self, work: &str, half: &[u8]) -> Result<(), BoxError> {
        Ok(self.checkpoints.keep(work, half).map_err(Failure::from)?)
    }
}
