//! Files in memory, page by page as they are needed, and no longer than that.
//!
//! The system keeps a page that was read once for as long as nobody else wants the memory, and counts it as the
//! process's own. So pages of large files are given back as soon as there are many; they stay in the system's cache.
//! Rows that are drawn at random are read instead: to map sixteen pages for each of them takes longer.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hambo::dataset::Numbers;
use memmap2::Mmap;

use crate::error::{Error, Result};

/// Files below so many bytes may stay.
const LARGE: usize = 64 << 20;

/// So many bytes of mapped files may be in memory.
const MANY: usize = 256 << 20;

const BETWEEN: Duration = Duration::from_millis(20);

/// Large files that are mapped, while a thread looks after them.
static LARGE_FILES: Mutex<Vec<Weak<Mmap>>> = Mutex::new(Vec::new());

/// A file in memory.
#[derive(Debug)]
pub(crate) struct Mapped {
    file: File,
    mapped: Arc<Mmap>,
}

impl Mapped {
    /// A file of whole values of so many bytes, which must not be changed while it is mapped.
    pub(crate) fn open(path: &Path, value: usize) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path, "open the file"))?;
        // SAFETY: nothing here writes to a file that is mapped. Another program that shortens one while it is
        // mapped would end the process; the documentation of `store::open` forbids that.
        #[allow(unsafe_code)]
        let mapped = unsafe { Mmap::map(&file) }.map_err(Error::io(path, "map the file"))?;
        if mapped.len() % value != 0 {
            return Err(Error::damaged(path, "file", "it ends within a value"));
        }
        let mapped = Arc::new(mapped);
        if mapped.len() >= LARGE {
            look_after(&mapped);
        }
        Ok(Self { file, mapped })
    }

    pub(crate) fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.mapped)
    }
}

impl AsRef<[f32]> for Mapped {
    fn as_ref(&self) -> &[f32] {
        bytemuck::cast_slice(&self.mapped)
    }
}

impl Numbers for Mapped {
    #[cfg(unix)]
    fn copy_rows(&self, rows: &[usize], width: usize) -> Option<Vec<f32>> {
        use std::os::unix::fs::FileExt;
        if self.mapped.len() < LARGE || width == 0 {
            return None;
        }
        let mut values = vec![0.0_f32; rows.len() * width];
        let mut left = &mut values[..];
        // Rows that follow each other are read together.
        for rows in rows.chunk_by(|row, next| row + 1 == *next) {
            let (into, others) = left.split_at_mut(rows.len() * width);
            let first = (rows[0] * width * size_of::<f32>()) as u64;
            // Who looks at the mapped file finds out what is wrong.
            self.file.read_exact_at(bytemuck::cast_slice_mut(into), first).ok()?;
            left = others;
        }
        Some(values)
    }
}

/// Gives pages of the file back from now on, until it is no longer mapped.
fn look_after(mapped: &Arc<Mmap>) {
    let mut files = LARGE_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.push(Arc::downgrade(mapped));
    if files.len() == 1 {
        // Without the thread there is nothing wrong, except for what the system shows.
        let _ = std::thread::Builder::new().name("mapped files".into()).spawn(give_back);
    }
}

fn give_back() {
    loop {
        std::thread::sleep(BETWEEN);
        let mut files = LARGE_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|file| file.strong_count() > 0);
        if files.is_empty() {
            return;
        }
        if in_memory().is_none_or(|bytes| bytes > MANY) {
            files.iter().filter_map(Weak::upgrade).for_each(|file| release(&file));
        }
    }
}

/// Bytes of mapped files, if the system tells.
fn in_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssFile:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(unix)]
fn release(file: &Mmap) {
    // SAFETY: the mapping is of a file, shared and never written to, so that whoever reads a page that was given back
    // gets it from the file again, with the same content.
    #[allow(unsafe_code)]
    // It is a wish, and no result.
    let _ = unsafe { file.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
}

#[cfg(not(unix))]
fn release(_: &Mmap) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("values");
        let values: Vec<f32> = (0..LARGE / 4).map(|value| value as f32).collect();
        std::fs::write(&path, bytemuck::cast_slice(&values)).unwrap();
        let mapped = Mapped::open(&path, 4).unwrap();
        assert!(mapped.as_ref() == values);
        std::thread::sleep(3 * BETWEEN);
        assert!(mapped.as_ref() == values);
        let rows = [7, 8, 9, 0, 1_000_000, 7];
        let expected: Vec<f32> =
            rows.iter().flat_map(|row| &values[3 * row..3 * row + 3]).copied().collect();
        assert_eq!(mapped.copy_rows(&rows, 3).unwrap(), expected);
        drop(mapped);
        std::thread::sleep(3 * BETWEEN);
        assert!(LARGE_FILES.lock().unwrap().is_empty(), "the thread goes on");
    }
}
