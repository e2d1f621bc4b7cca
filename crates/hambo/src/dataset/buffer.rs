//! A block of numbers that somebody owns.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A flat row-major block: a vector, a mapped file, or another library's memory. Cloning it copies
/// no numbers.
#[derive(Clone)]
pub struct Buffer(Arc<dyn Numbers>);

/// The owner of a block.
pub trait Numbers: AsRef<[f32]> + Send + Sync {
    /// Copies rows of so many values, if the owner knows a better way than to look at them one by one.
    fn copy_rows(&self, _rows: &[usize], _width: usize) -> Option<Vec<f32>> {
        None
    }
}

/// An owner that knows none.
struct Plain<T>(T);

impl<T: AsRef<[f32]>> AsRef<[f32]> for Plain<T> {
    fn as_ref(&self) -> &[f32] {
        self.0.as_ref()
    }
}

impl<T: AsRef<[f32]> + Send + Sync> Numbers for Plain<T> {}

impl Buffer {
    /// The numbers of `owner`, which lives as long as any clone of the block.
    pub fn new(owner: impl AsRef<[f32]> + Send + Sync + 'static) -> Self {
        Self::owned_by(Plain(owner))
    }

    /// The same, of an owner that may have a way of its own to copy rows.
    pub fn owned_by(owner: impl Numbers + 'static) -> Self {
        Self(Arc::new(owner))
    }

    /// Copies of these rows, each of so many values.
    pub(crate) fn rows(&self, rows: &[usize], width: usize) -> Vec<f32> {
        let one_by_one =
            || rows.iter().flat_map(|row| &self[row * width..(row + 1) * width]).copied().collect();
        self.0.copy_rows(rows, width).unwrap_or_else(one_by_one)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        (*self.0).as_ref()
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        Self::new(values)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "{} values {:?}", self.len(), &self[..self.len().min(SHOWN)])?;
        f.write_str(if self.len() > SHOWN { " …" } else { "" })
    }
}
