//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::failure::{Failure, Result};

/// How the names of files begin that are not complete.
pub const UNFINISHED: &str = ".unfinished-";

/// Replaces `path` by `bytes` in one step: a crash or a full disk leaves the file that was there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error: std::io::Error| Failure::io(path, "write it", &error);
    if is_device(path) {
        let mut file = File::options().append(true).open(path).map_err(failed)?;
        return file.write_all(bytes).map_err(failed);
    }
    // What a link points to is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or(path.into());
    let (path, parent) = (&*target, parent(&target));
    let mut unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(parent)
        .map_err(|error| Failure::io(parent, "create a file in it", &error))?;
    unfinished.write_all(bytes).map_err(failed)?;
    unfinished.as_file().sync_all().map_err(failed)?;
    // The file is other users' to read, which a temporary one is not.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o644);
        unfinished.as_file().set_permissions(mode).map_err(failed)?;
    }
    unfinished.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Pipes and devices, such as /dev/stdout, are written to and not replaced.
fn is_device(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    special || path.starts_with("/dev")
}

/// Lets `fill` make the new directory `path`, which appears when it is complete.
pub fn directory(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Err(Failure::from(hambo_io::Error::Exists { path: path.into() }));
    }
    let parent = parent(path);
    fs::create_dir_all(parent).map_err(|error| Failure::io(parent, "create it", &error))?;
    let around = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(parent)
        .map_err(|error| Failure::io(parent, "create a directory in it", &error))?;
    let unfinished = around.path().join("new");
    fill(&unfinished)?;
    fs::rename(&unfinished, path).map_err(|error| Failure::io(path, "move it into place", &error))
}

/// Fails early, before hours of work, if nothing can be written at `path`.
pub fn check_writable(path: &Path) -> Result<()> {
    if is_device(path) {
        return Ok(());
    }
    if path.is_dir() {
        let message = format!("{} is a directory; give the name of a file", path.display());
        return Err(Failure::Input(message));
    }
    let parent = parent(path);
    tempfile::tempfile_in(parent)
        .map(|_| ())
        .map_err(|error| Failure::io(parent, "create a file in it", &error))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_file_that_was_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("kept");
        write(&path, b"first").unwrap();
        let failed = directory(&path, |_| Ok(()));
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_to_what_was_written() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        fs::write(&file, b"first").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"second").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"second");
    }

    #[test]
    fn an_unfinished_directory_does_not_appear_and_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("model");
        let failed = directory(&path, |unfinished| {
            fs::create_dir(unfinished).unwrap();
            Err(Failure::input("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
