//! NumPy arrays as columns of a dataset.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch,
};
use arrow_schema::{DataType, Field, Schema};
use hambo::dataset::Buffer;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::Failure;

/// An array's memory, which stays where it is for as long as this exists.
struct Borrowed {
    owner: Py<PyArrayDyn<f32>>,
    first: *const f32,
    values: usize,
}

// SAFETY: the memory belongs to `owner`, which is kept alive and which NumPy does not resize while
// somebody holds a reference. It is only read here. That nobody else writes to it meanwhile is what the
// documentation of `Dataset.from_arrays` asks for.
#[allow(unsafe_code)]
unsafe impl Send for Borrowed {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Borrowed {}

impl AsRef<[f32]> for Borrowed {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `first` points to so many values of a contiguous, aligned array, see `buffer`.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.first, self.values)
        }
    }
}

impl std::fmt::Debug for Borrowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values of {:?}", self.values, self.owner)
    }
}

/// The array's own memory if it is one contiguous block, else a copy.
pub(crate) fn buffer(array: &Bound<'_, PyArrayDyn<f32>>) -> Buffer {
    let first: *const f32 = array.data();
    if array.is_empty() || !array.is_c_contiguous() || !first.is_aligned() {
        return array.to_owned_array().iter().copied().collect::<Vec<f32>>().into();
    }
    Buffer::new(Borrowed { owner: array.clone().unbind(), first, values: array.len() })
}

/// Named columns as one Arrow batch. They are float32 blocks `[rows, width]`, or plain float64, int64
/// or boolean columns.
pub(crate) fn batch(columns: &[(String, Bound<'_, PyAny>)]) -> PyResult<RecordBatch> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (name, column) in columns {
        let array = array(name, column)?;
        fields.push(Field::new(name, array.data_type().clone(), false));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| wrong(columns, &error.to_string()))
}

fn array(name: &str, column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(block) = column.cast::<PyArray2<f32>>() {
        let width = block.shape()[1];
        let values: Float32Array =
            block.to_owned_array().iter().copied().collect::<Vec<_>>().into();
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let width = i32::try_from(width).unwrap_or(i32::MAX);
        let list = FixedSizeListArray::try_new(item, width, Arc::new(values), None);
        let list = list.map_err(|error| {
            Failure::new("DataError", format!("`{name}`: {error}")).raise(column.py())
        })?;
        return Ok(Arc::new(list));
    }
    if let Ok(values) = column.cast::<PyArray1<f64>>() {
        return Ok(Arc::new(Float64Array::from(values.to_vec()?)));
    }
    if let Ok(values) = column.cast::<PyArray1<bool>>() {
        return Ok(Arc::new(BooleanArray::from(values.to_vec()?)));
    }
    let values = column.cast::<PyArray1<i64>>().map_err(PyErr::from)?;
    Ok(Arc::new(Int64Array::from(values.to_vec()?)))
}

/// Arrow's own message, and what is to be seen of the arrays.
fn wrong(columns: &[(String, Bound<'_, PyAny>)], message: &str) -> PyErr {
    let rows = |column: &Bound<'_, PyAny>| column.len().unwrap_or(0);
    let lengths: Vec<String> =
        columns.iter().map(|(name, column)| format!("`{name}` {}", rows(column))).collect();
    let message = format!(
        "the arrays do not make a table ({message}); their rows are: {}; give one row per step",
        lengths.join(", ")
    );
    match columns.first() {
        Some((_, column)) => Failure::new("DataError", message).raise(column.py()),
        None => pyo3::exceptions::PyValueError::new_err(message),
    }
}
