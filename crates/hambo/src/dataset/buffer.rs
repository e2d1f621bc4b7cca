//! A block of numbers that somebody owns.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A flat row-major block: a vector, a mapped file, or another library's memory. Cloning it copies
/// no numbers.
#[derive(Clone)]
pub struct Buffer(Arc<dyn AsRef<[f32]> + Send + Sync>);

impl Buffer {
    /// The numbers of `owner`, which lives as long as any clone of the block.
    pub fn new(owner: impl AsRef<[f32]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(owner))
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
