//! Files and directories that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// How the names of files begin that are not complete.
pub const UNFINISHED: &str = ".unfinished-";

/// Replaces `path` by `bytes` in one step: a crash or a full disk leaves the file that was there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if is_device(path) {
        let file = File::options().append(true).open(path);
        let mut file = file.map_err(Error::io(path, "write it"))?;
        return file.write_all(bytes).map_err(Error::io(path, "write it"));
    }
    // What a link points to is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or(path.into());
    let (path, parent) = (&*target, parent(&target));
    let mut unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(parent)
        .map_err(Error::io(parent, "create a file in it"))?;
    unfinished.write_all(bytes).map_err(Error::io(path, "write it"))?;
    unfinished.as_file().sync_all().map_err(Error::io(path, "write it"))?;
    // The file is other users' to read, which a temporary one is not.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o644);
        unfinished.as_file().set_permissions(mode).map_err(Error::io(path, "write it"))?;
    }
    unfinished.persist(path).map_err(|failed| Error::io(path, "write it")(failed.error))?;
    Ok(())
}

/// Lets `fill` write files beside the new `directory`, and moves them there together: after a crash
/// or a full disk the directory is complete or absent.
pub fn directory<T>(directory: &Path, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    if directory.exists() {
        return Err(Error::Exists { path: directory.into() });
    }
    let parent = parent(directory);
    fs::create_dir_all(parent).map_err(Error::io(parent, "create it"))?;
    let unfinished = tempfile::Builder::new()
        .prefix(UNFINISHED)
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

/// Fails early, before hours of work, if nothing can be written at `path`.
pub fn check_writable(path: &Path) -> Result<()> {
    if is_device(path) {
        return Ok(());
    }
    if path.is_dir() {
        return Err(Error::IsDirectory { path: path.into() });
    }
    let parent = parent(path);
    tempfile::tempfile_in(parent).map(drop).map_err(Error::io(parent, "create a file in it"))
}

/// Fails early if no directory can be made at `path`. What is above it is made now.
pub fn check_new_directory(path: &Path) -> Result<()> {
    let parent = parent(path);
    fs::create_dir_all(parent).map_err(Error::io(parent, "create it"))?;
    tempfile::tempfile_in(parent).map(drop).map_err(Error::io(parent, "create a file in it"))
}

/// Pipes and devices, such as /dev/stdout, are written to and not replaced.
fn is_device(path: &Path) -> bool {
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    special || path.starts_with("/dev")
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
        let failed: Result<()> = directory(&path, |unfinished| {
            fs::write(unfinished.join("half"), b"half").unwrap();
            Err(Error::Unsupported)
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
