//! NumPy archives (`np.savez`, `np.savez_compressed`): one array per quantity.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar};
use zip::ZipArchive;

use super::hdf5::unsupported;
use super::limit::{bytes_of, check_claim};
use super::table::{ColumnInfo, Kind, Table, Values};
use crate::error::{Error, Result};

/// An archive. Arrays can only be read whole.
pub(crate) struct NpzTable {
    path: PathBuf,
    columns: Vec<ColumnInfo>,
    arrays: Vec<Array>,
}

struct Array {
    /// Its number in the archive.
    entry: usize,
    header: NpyHeader,
}

impl NpzTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut table = Self { path: path.to_owned(), columns: Vec::new(), arrays: Vec::new() };
        let mut archive = table.archive()?;
        for entry in 0..archive.len() {
            let mut file = archive.by_index(entry).map_err(|e| table.damaged("archive", e))?;
            let name = file.name().map_err(|e| table.damaged("archive", e))?.into_owned();
            let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
            let stored = file.compressed_size();
            let header = header(&mut file).map_err(|error| table.bad_array(&name, error))?;
            let element = header.dtype().num_bytes().unwrap_or(1) as u64;
            let declared = bytes_of(header.shape(), element);
            check_claim(path, || format!("array `{name}`"), declared, stored)?;
            if header.shape().is_empty() {
                continue;
            }
            let width = header.shape().iter().skip(1).product::<u64>() as usize;
            table.columns.push(ColumnInfo { name, width, kind: kind(&header.dtype()) });
            table.arrays.push(Array { entry, header });
        }
        Ok(table)
    }

    fn archive(&self) -> Result<ZipArchive<BufReader<File>>> {
        let file = File::open(&self.path).map_err(Error::io(&self.path, "open the file"))?;
        ZipArchive::new(BufReader::new(file)).map_err(|error| self.damaged("archive", error))
    }

    fn damaged(&self, place: &str, error: impl ToString) -> Error {
        Error::damaged(&self.path, place, error)
    }

    fn bad_array(&self, name: &str, error: std::io::Error) -> Error {
        Error::Unreadable {
            path: self.path.clone(),
            place: format!("array `{name}`"),
            message: error.to_string(),
            advice: "save plain numeric arrays with np.savez (arrays of objects are pickled, and never \
                     loaded here), or copy the file again",
        }
    }

    fn read_array(&self, index: usize) -> Result<Values> {
        let (column, array) = (&self.columns[index], &self.arrays[index]);
        let bad = |error| self.bad_array(&column.name, error);
        let mut archive = self.archive()?;
        let mut file =
            archive.by_index(array.entry).map_err(|error| self.damaged("archive", error))?;
        header(&mut file).map_err(bad)?;
        let DType::Plain(kind) = array.header.dtype() else {
            return Err(unsupported(&self.path, &format!("array `{}`", column.name)));
        };
        let data = NpyFile::with_header(array.header.clone(), BufReader::new(file));
        macro_rules! read {
            ($element:ty) => {{
                let values = data.data::<$element>().map_err(std::io::Error::other).map_err(bad)?;
                let values = values.collect::<std::io::Result<Vec<$element>>>().map_err(bad)?;
                match array.header.order() {
                    Order::C => values,
                    Order::Fortran if array.header.shape().len() <= 2 => {
                        row_major(&values, column.width)
                    }
                    Order::Fortran => {
                        return Err(bad(std::io::Error::other(
                            "it has three dimensions in Fortran order",
                        )));
                    }
                }
            }};
        }
        macro_rules! integers {
            ($element:ty) => {
                Values::Integer(read!($element).into_iter().map(|value| value as i64).collect())
            };
        }
        Ok(match (kind.type_char(), kind.size_field()) {
            (TypeChar::Float, 4) => Values::F32(read!(f32)),
            (TypeChar::Float, 8) => Values::F64(read!(f64)),
            (TypeChar::Bool, 1) => Values::Flag(read!(bool)),
            (TypeChar::Int, 1) => integers!(i8),
            (TypeChar::Int, 2) => integers!(i16),
            (TypeChar::Int, 4) => integers!(i32),
            (TypeChar::Int, 8) => integers!(i64),
            (TypeChar::Uint, 1) => integers!(u8),
            (TypeChar::Uint, 2) => integers!(u16),
            (TypeChar::Uint, 4) => integers!(u32),
            (TypeChar::Uint, 8) => integers!(u64),
            _ => return Err(unsupported(&self.path, &format!("array `{}`", column.name))),
        })
    }
}

/// Reads an array's header, up to its first value. The text is bounded here, because the parser below
/// believes the length it is told and descends into every bracket.
fn header(file: &mut impl Read) -> std::io::Result<NpyHeader> {
    const LONGEST: usize = 4096;
    const BRACKETS: usize = 8;
    let error = |message: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, message);
    let mut bytes = vec![0; 10];
    file.read_exact(&mut bytes)?;
    let length = match bytes[6] {
        1 => u16::from_le_bytes([bytes[8], bytes[9]]) as usize,
        _ => {
            bytes.resize(12, 0);
            file.read_exact(&mut bytes[10..])?;
            u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize
        }
    };
    if length > LONGEST {
        return Err(error("its header is too long"));
    }
    let text = bytes.len();
    bytes.resize(text + length, 0);
    file.read_exact(&mut bytes[text..])?;
    if bytes[text..].iter().filter(|&&byte| b"([{".contains(&byte)).count() > BRACKETS {
        return Err(error("its header describes no plain array"));
    }
    NpyHeader::from_reader(Cursor::new(bytes))
}

fn kind(dtype: &DType) -> Kind {
    match dtype {
        DType::Plain(plain) => match (plain.type_char(), plain.size_field()) {
            (TypeChar::Float, 4 | 8) => Kind::Float,
            (TypeChar::Int | TypeChar::Uint, _) => Kind::Integer,
            (TypeChar::Bool, _) => Kind::Flag,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// From columns one after the other to rows one after the other.
fn row_major<T: Copy>(values: &[T], width: usize) -> Vec<T> {
    let rows = values.len() / width.max(1);
    (0..rows).flat_map(|row| (0..width).map(move |column| values[column * rows + row])).collect()
}

impl Table for NpzTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn pieces(&self) -> usize {
        1
    }

    fn first_row(&self, _piece: usize) -> u64 {
        0
    }

    fn read(&self, _piece: usize, columns: &[usize]) -> Result<Vec<Values>> {
        columns.iter().map(|&index| self.read_array(index)).collect()
    }
}
