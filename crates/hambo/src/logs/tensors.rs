//! Arrays of the logs in the safetensors format.

use ndarray::{Array1, Array2};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::dataset::Batch;
use crate::error::{Error, Result};

/// Arrays to be written, by name.
#[derive(Default)]
pub(super) struct Written(Vec<(&'static str, Dtype, Vec<usize>, Vec<u8>)>);

impl Written {
    /// The columns of transitions.
    pub(super) fn batch(mut self, batch: &Batch) -> Self {
        let Batch { states, actions, rewards, next_states } = batch;
        self = self.numbers("states", states.shape(), states.iter());
        self = self.numbers("actions", actions.shape(), actions.iter());
        self = self.numbers("rewards", rewards.shape(), rewards.iter());
        self.numbers("next_states", next_states.shape(), next_states.iter())
    }

    pub(super) fn numbers<'a>(
        mut self,
        name: &'static str,
        shape: &[usize],
        values: impl Iterator<Item = &'a f32>,
    ) -> Self {
        let bytes = values.flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::F32, shape.to_vec(), bytes));
        self
    }

    pub(super) fn flags<'a>(
        mut self,
        name: &'static str,
        shape: &[usize],
        values: impl Iterator<Item = &'a bool>,
    ) -> Self {
        let bytes = values.map(|&flag| u8::from(flag)).collect();
        self.0.push((name, Dtype::U8, shape.to_vec(), bytes));
        self
    }

    pub(super) fn counts(self, name: &'static str, values: &[usize]) -> Self {
        self.marks(name, &values.iter().map(|&value| value as u64).collect::<Vec<_>>())
    }

    pub(super) fn marks(mut self, name: &'static str, values: &[u64]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::U64, vec![values.len()], bytes));
        self
    }

    /// Numbers of twice the precision.
    pub(super) fn exact(mut self, name: &'static str, values: &[f64]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.0.push((name, Dtype::F64, vec![values.len()], bytes));
        self
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let views = self.0.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            (*name, view.expect("each part has as many bytes as its shape says"))
        });
        serialize(views, None).expect("names are unique and shapes match")
    }
}

/// Arrays that were read.
pub(super) struct Read<'a>(SafeTensors<'a>);

impl<'a> Read<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self> {
        let wrong = |error| Error::SavedSample(format!("not a safetensors file: {error}"));
        Ok(Self(SafeTensors::deserialize(bytes).map_err(wrong)?))
    }

    pub(super) fn batch(&self) -> Result<Batch> {
        Ok(Batch {
            states: self.matrix("states")?,
            actions: self.matrix("actions")?,
            rewards: self.column("rewards")?,
            next_states: self.matrix("next_states")?,
        })
    }

    pub(super) fn column(&self, name: &str) -> Result<Array1<f32>> {
        Ok(Array1::from(self.numbers(name, 1)?.1))
    }

    pub(super) fn flags(&self, name: &str) -> Result<Vec<bool>> {
        Ok(self.find(name, Dtype::U8, 1)?.data().iter().map(|&flag| flag != 0).collect())
    }

    pub(super) fn matrix_of_flags(&self, name: &str) -> Result<Array2<bool>> {
        let view = self.find(name, Dtype::U8, 2)?;
        let flags = view.data().iter().map(|&flag| flag != 0).collect();
        shaped(name, view.shape(), flags)
    }

    pub(super) fn counts(&self, name: &str) -> Result<Vec<usize>> {
        let counts = self.marks(name)?.into_iter().map(usize::try_from);
        counts.collect::<Result<_, _>>().map_err(|error| wrong(name, &error))
    }

    pub(super) fn marks(&self, name: &str) -> Result<Vec<u64>> {
        let view = self.find(name, Dtype::U64, 1)?;
        let (numbers, _) = view.data().as_chunks::<8>();
        Ok(numbers.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect())
    }

    /// What [`Written::exact`] wrote, if it was written.
    pub(super) fn exact_if_there(&self, name: &str) -> Result<Option<Vec<f64>>> {
        if !self.0.names().contains(&name) {
            return Ok(None);
        }
        let view = self.find(name, Dtype::F64, 1)?;
        let (numbers, _) = view.data().as_chunks::<8>();
        let values: Vec<f64> = numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        match values.iter().find(|value| value.is_infinite()) {
            Some(value) => Err(Error::SavedSample(format!("`{name}` contains {value}"))),
            None => Ok(Some(values)),
        }
    }

    fn matrix(&self, name: &str) -> Result<Array2<f32>> {
        let (shape, values) = self.numbers(name, 2)?;
        shaped(name, &shape, values)
    }

    fn numbers(&self, name: &str, axes: usize) -> Result<(Vec<usize>, Vec<f32>)> {
        let view = self.find(name, Dtype::F32, axes)?;
        let (numbers, _) = view.data().as_chunks::<4>();
        let values: Vec<f32> = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(Error::SavedSample(format!("`{name}` contains {value}"))),
            None => Ok((view.shape().to_vec(), values)),
        }
    }

    fn find(&self, name: &str, dtype: Dtype, axes: usize) -> Result<TensorView<'_>> {
        let missing = |_| Error::SavedSample(format!("the tensor `{name}` is missing"));
        let view = self.0.tensor(name).map_err(missing)?;
        if view.dtype() != dtype || view.shape().len() != axes {
            let (found, shape) = (view.dtype(), view.shape());
            return Err(Error::SavedSample(format!("`{name}` is {found:?} {shape:?}")));
        }
        Ok(view)
    }
}

fn shaped<T>(name: &str, shape: &[usize], values: Vec<T>) -> Result<Array2<T>> {
    Array2::from_shape_vec((shape[0], shape[1]), values).map_err(|error| wrong(name, &error))
}

fn wrong(name: &str, error: &dyn std::error::Error) -> Error {
    Error::SavedSample(format!("`{name}`: {error}"))
}
