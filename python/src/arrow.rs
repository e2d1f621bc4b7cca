//! Tables of other libraries, through Arrow's C stream interface.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::errors::Failure;

/// All batches of an object that has `__arrow_c_stream__`.
pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = table.py();
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast_into::<PyCapsule>().map_err(PyErr::from)?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let stream: *mut FFI_ArrowArrayStream = pointer.cast().as_ptr();
    let unreadable = |error| Failure::new("DataError", format!("the Arrow stream: {error}"));
    // SAFETY: a capsule of this name holds a pointer to an Arrow C stream, by the interface's
    // definition, and lives until the end of this function. The stream is moved out of it, which
    // leaves an empty one that its destructor does not release again.
    #[allow(unsafe_code)]
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream) };
    let reader = reader.map_err(|error| unreadable(error).raise(py))?;
    let schema = reader.schema();
    // Without the lock, as pyarrow does: a stream that runs Python takes it by itself.
    let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
    Ok((schema, batches.map_err(|error| unreadable(error).raise(py))?))
}
