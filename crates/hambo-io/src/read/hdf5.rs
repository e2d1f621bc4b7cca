//! HDF5 files with one array per quantity, as D4RL writes them.

use std::path::{Path, PathBuf};

use hdf5_pure::{DType, Dataset, File, Group};

use super::limit::{bytes_of, check_claim, file_size};
use super::table::{ColumnInfo, Kind, Table, Values};
use crate::error::{Error, Result};

/// Rows that are read at a time.
const WINDOW: u64 = 1 << 16;

/// An open HDF5 file.
pub(crate) struct Hdf5 {
    pub path: PathBuf,
    pub file: File,
    pub bytes: u64,
}

impl Hdf5 {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = file_size(path)?;
        let file = File::open_streaming(path).map_err(|error| unreadable(path, "file", error))?;
        Ok(Self { path: path.to_owned(), file, bytes })
    }

    pub(crate) fn error(&self, place: &str) -> impl FnOnce(hdf5_pure::Error) -> Error {
        let (path, place) = (self.path.clone(), place.to_owned());
        move |error| unreadable(&path, &place, error)
    }

    /// Opens an array, after checking that it cannot claim more than the file holds.
    pub(crate) fn array(&self, group: &Group, prefix: &str, name: &str) -> Result<Array> {
        let place = format!("`{prefix}{name}`");
        let dataset = group.dataset(name).map_err(self.error(&place))?;
        let shape = dataset.shape().map_err(self.error(&place))?;
        let element = dataset.element_size().map_err(self.error(&place))?;
        let what = || place.clone();
        check_claim(&self.path, what, bytes_of(&shape, element), self.bytes)?;
        if let Some(chunk) = dataset.chunk_shape().map_err(self.error(&place))? {
            let what = || format!("{place} (its chunks)");
            check_claim(&self.path, what, bytes_of(&chunk, element), self.bytes)?;
            self.check_chunks(&dataset, &place)?;
        }
        let kind = kind(&dataset.dtype().map_err(self.error(&place))?);
        Ok(Array { dataset, shape, kind, place })
    }

    /// The library asks for a chunk's memory before it looks whether the file is that long.
    fn check_chunks(&self, dataset: &Dataset, place: &str) -> Result<()> {
        // One kind of index cannot be listed; reading it is refused later.
        for chunk in dataset.chunks().unwrap_or_default() {
            let end = chunk.address.checked_add(chunk.storage_size);
            if end.is_none_or(|end| end > self.bytes) {
                let message = "a chunk lies beyond the file's end";
                return Err(Error::damaged(&self.path, place, message));
            }
        }
        Ok(())
    }
}

fn unreadable(path: &Path, place: &str, error: hdf5_pure::Error) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        place: place.to_owned(),
        message: error.to_string(),
        advice: "the file is damaged, or uses a part of HDF5 that is not read here (files of \
                 `libver=\"latest\"` under HDF5 2.0, two unlimited dimensions): write it again with \
                 h5py's defaults",
    }
}

/// An array of an HDF5 file; its first dimension counts rows.
pub(crate) struct Array {
    dataset: Dataset,
    pub shape: Vec<u64>,
    pub kind: Kind,
    place: String,
}

impl Array {
    pub(crate) fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Values per row.
    pub(crate) fn width(&self) -> usize {
        // The product was checked against the file's size.
        self.shape.iter().skip(1).product::<u64>() as usize
    }

    pub(crate) fn read(&self, file: &Hdf5, first: u64, count: u64) -> Result<Values> {
        let error = || file.error(&self.place);
        let count = count.min(self.rows().saturating_sub(first));
        if count == 0 {
            return Ok(Values::F32(Vec::new()));
        }
        let dataset = &self.dataset;
        Ok(match self.kind {
            Kind::Float if dataset.element_size().map_err(error())? == 8 => {
                Values::F64(dataset.read_f64_rows(first, count).map_err(error())?)
            }
            Kind::Float => Values::F32(dataset.read_f32_rows(first, count).map_err(error())?),
            Kind::Integer => Values::Integer(dataset.read_i64_rows(first, count).map_err(error())?),
            Kind::Flag => {
                let bytes = dataset.read_raw_rows(first, count).map_err(error())?;
                Values::Flag(bytes.into_iter().map(|byte| byte != 0).collect())
            }
            Kind::Text => Values::Text(dataset.read_string_rows(first, count).map_err(error())?),
            Kind::Time | Kind::Other => return Err(unsupported(&file.path, &self.place)),
        })
    }
}

/// The error for a column of a type that means nothing here.
pub(crate) fn unsupported(path: &Path, place: &str) -> Error {
    Error::Unreadable {
        path: path.to_owned(),
        place: place.to_owned(),
        message: "its type holds no plain numbers".into(),
        advice: "write it as float32, float64, integers or booleans",
    }
}

fn kind(dtype: &DType) -> Kind {
    match dtype {
        DType::F32 | DType::F64 => Kind::Float,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Integer,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Integer,
        // What h5py makes of booleans.
        DType::Enum(names) if names.len() == 2 && names[0] == "FALSE" => Kind::Flag,
        DType::String | DType::VariableLengthString => Kind::Text,
        _ => Kind::Other,
    }
}

/// The arrays of a flat file, and of the groups directly below its root as `group/array`.
pub(crate) struct FlatFile {
    file: Hdf5,
    columns: Vec<ColumnInfo>,
    arrays: Vec<Array>,
}

impl FlatFile {
    pub(crate) fn new(file: Hdf5) -> Result<Self> {
        let mut flat = Self { file, columns: Vec::new(), arrays: Vec::new() };
        let root = flat.file.file.root();
        flat.list(&root, "")?;
        for name in root.groups().map_err(flat.file.error("file"))? {
            let group = root.group(&name).map_err(flat.file.error(&name))?;
            flat.list(&group, &format!("{name}/"))?;
        }
        Ok(flat)
    }

    fn list(&mut self, group: &Group, prefix: &str) -> Result<()> {
        for name in group.datasets().map_err(self.file.error(prefix))? {
            let array = self.file.array(group, prefix, &name)?;
            if array.shape.is_empty() {
                continue;
            }
            let (name, width) = (format!("{prefix}{name}"), array.width());
            self.columns.push(ColumnInfo { name, width, kind: array.kind });
            self.arrays.push(array);
        }
        Ok(())
    }
}

impl Table for FlatFile {
    fn path(&self) -> &Path {
        &self.file.path
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn pieces(&self) -> usize {
        let rows = self.arrays.iter().map(Array::rows).max().unwrap_or(0);
        rows.div_ceil(WINDOW) as usize
    }

    fn first_row(&self, piece: usize) -> u64 {
        piece as u64 * WINDOW
    }

    fn read(&self, piece: usize, columns: &[usize]) -> Result<Vec<Values>> {
        let first = self.first_row(piece);
        columns.iter().map(|&index| self.arrays[index].read(&self.file, first, WINDOW)).collect()
    }
}
