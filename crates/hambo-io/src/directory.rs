//! Directories that are there as a whole or not at all.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// Lets `fill` write files beside the new `directory`, and moves them there together: after a crash or
/// on a full disk the directory does not exist.
pub fn write<T>(directory: &Path, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    if directory.exists() {
        return Err(Error::Exists { path: directory.into() });
    }
    let parent = match directory.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(Error::io(parent, "create it"))?;
    let unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(parent)
        .map_err(Error::io(parent, "create a directory in it"))?;
    let filled = fill(unfinished.path())?;
    // The directory is other users' to read, which a temporary one is not.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(unfinished.path(), mode).map_err(Error::io(directory, "open it up"))?;
    }
    fs::rename(unfinished.path(), directory).map_err(Error::io(directory, "move it into place"))?;
    // It is in place under another name now: nothing is left to clean up.
    let _ = unfinished.keep();
    Ok(filled)
}
