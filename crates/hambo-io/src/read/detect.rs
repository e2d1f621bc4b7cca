//! Which format a file has, by its first bytes.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::csv::CsvTable;
use super::hdf5::{FlatFile, Hdf5};
use super::ipc::IpcTable;
use super::mapping::Mapping;
use super::minari::{self, Minari};
use super::npz::NpzTable;
use super::parquet::ParquetTable;
use super::rows::{MappedTable, Source};
use super::table::Table;
use crate::error::{Error, Result};

/// What data was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A Minari dataset that is stored as HDF5.
    MinariHdf5,
    /// A Minari dataset that is stored as Arrow files.
    MinariArrow,
    /// Arrays of equal length in one file, as in D4RL.
    Hdf5,
    /// Parquet files.
    Parquet,
    /// Arrow IPC files, also known as Feather.
    ArrowIpc,
    /// An Arrow IPC stream.
    ArrowStream,
    /// Another library's memory.
    ArrowTable,
    /// Columns in memory.
    Arrays,
    /// Text with a header, its values separated by commas.
    Csv,
    /// NumPy's archive of arrays.
    Npz,
    /// Our own, of data larger than memory.
    Store,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MinariHdf5 => "Minari (HDF5)",
            Self::MinariArrow => "Minari (Arrow)",
            Self::Hdf5 => "flat HDF5",
            Self::Parquet => "Parquet",
            Self::ArrowIpc => "Arrow IPC file",
            Self::ArrowStream => "Arrow IPC stream",
            Self::ArrowTable => "Arrow table",
            Self::Arrays => "arrays",
            Self::Csv => "CSV",
            Self::Npz => "NPZ",
            Self::Store => "hambo store",
        })
    }
}

/// Everything that `path` stands for.
pub(crate) fn sources(path: &Path, mapping: &Mapping) -> Result<(Format, Vec<Box<dyn Source>>)> {
    if path.is_file() {
        let (format, source) = file(path, mapping)?;
        return Ok((format, vec![source]));
    }
    if path.is_dir() {
        return directory(path, mapping);
    }
    let pattern = path.to_string_lossy();
    if pattern.contains(['*', '?', '[']) {
        let mut files: Vec<PathBuf> = match glob::glob(&pattern) {
            Ok(found) => found.filter_map(|entry| entry.ok()).filter(|p| p.is_file()).collect(),
            Err(error) => return Err(Error::damaged(path, "pattern", error)),
        };
        files.sort();
        if !files.is_empty() {
            return many(&files, mapping);
        }
    }
    let minari_root = minari::root();
    let dataset = minari_root.join(path);
    match path.is_relative() && dataset.is_dir() {
        true => directory(&dataset, mapping),
        false => Err(Error::NotFound { path: path.to_owned(), minari_root }),
    }
}

fn directory(path: &Path, mapping: &Mapping) -> Result<(Format, Vec<Box<dyn Source>>)> {
    for data in [path.join("data"), path.to_owned()] {
        let main = data.join("main_data.hdf5");
        if main.is_file() {
            let source = Minari::in_hdf5(Hdf5::open(&main)?, mapping)?;
            return Ok((Format::MinariHdf5, vec![Box::new(source)]));
        }
        if data.join("0").join("part-0.arrow").is_file() {
            let source = Minari::in_folders(&data, mapping)?;
            return Ok((Format::MinariArrow, vec![Box::new(source)]));
        }
    }
    if path.join(crate::model::DOCUMENT).is_file() {
        let found = "a saved model; give the data that it was fitted on";
        return Err(Error::UnknownFormat { path: path.to_owned(), found });
    }
    let entries = std::fs::read_dir(path).map_err(Error::io(path, "list the folder"))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.map_err(Error::io(path, "list the folder"))?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // Spark and others leave `_SUCCESS` and `.crc` files beside the data.
        if file.is_file() && !name.starts_with(['_', '.']) {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let found = "a folder without files";
        return Err(Error::UnknownFormat { path: path.to_owned(), found });
    }
    many(&files, mapping)
}

/// Files in the order of their names, all of one format.
fn many(files: &[PathBuf], mapping: &Mapping) -> Result<(Format, Vec<Box<dyn Source>>)> {
    let (format, first) = file(&files[0], mapping)?;
    let mut sources = vec![first];
    for path in &files[1..] {
        let (other, source) = file(path, mapping)?;
        if other != format {
            let message = format!("it is {other}, but {} is {format}", files[0].display());
            let advice = "give files of one format";
            let (path, place) = (path.clone(), "file".into());
            return Err(Error::Unreadable { path, place, message, advice });
        }
        sources.push(source);
    }
    Ok((format, sources))
}

fn file(path: &Path, mapping: &Mapping) -> Result<(Format, Box<dyn Source>)> {
    let format = recognise(path)?;
    let table: Box<dyn Table> = match format {
        Format::Hdf5 => {
            let file = Hdf5::open(path)?;
            let groups = file.file.root().groups().map_err(file.error("file"))?;
            if groups.iter().any(|name| minari::episode_number(name).is_some()) {
                let source = Minari::in_hdf5(file, mapping)?;
                return Ok((Format::MinariHdf5, Box::new(source)));
            }
            Box::new(FlatFile::new(file)?)
        }
        Format::Parquet => Box::new(ParquetTable::open(path)?),
        Format::ArrowIpc => Box::new(IpcTable::file(path)?),
        Format::ArrowStream => Box::new(IpcTable::stream(path)?),
        Format::Npz => Box::new(NpzTable::open(path)?),
        _ => Box::new(CsvTable::open(path)?),
    };
    let plan = mapping.resolve(path, table.columns())?;
    Ok((format, Box::new(MappedTable::new(table, plan))))
}

fn recognise(path: &Path) -> Result<Format> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "open the file"))?;
    file.take(4096).read_to_end(&mut head).map_err(Error::io(path, "read the file"))?;
    let unknown = |found| Err(Error::UnknownFormat { path: path.to_owned(), found });
    match &head[..] {
        [] => unknown("the file is empty"),
        [0x89, b'H', b'D', b'F', ..] => Ok(Format::Hdf5),
        [b'P', b'A', b'R', b'1', ..] => Ok(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Ok(Format::ArrowIpc),
        [0xff, 0xff, 0xff, 0xff, ..] => Ok(Format::ArrowStream),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Ok(Format::Npz),
        [0x1f, 0x8b, ..] => unknown("gzip; decompress it first"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => unknown("zstd; decompress it first"),
        [0x93, b'N', b'U', b'M', ..] => {
            unknown("a single NumPy array; save all arrays with np.savez")
        }
        [0x80, 2..=5, ..] => {
            unknown("a pickle, which is never loaded here; save arrays with np.savez")
        }
        text if text.iter().all(|&byte| byte >= b' ' || b"\t\r\n".contains(&byte)) => {
            Ok(Format::Csv)
        }
        _ => unknown("neither text nor a known binary format"),
    }
}
