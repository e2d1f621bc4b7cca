//! Which format a file has, by its first bytes.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::csv::CsvTable;
use super::d3rlpy::{D3rlpy, is_of_d3rlpy};
use super::hdf5::{FlatFile, Hdf5};
use super::ipc::IpcTable;
use super::lerobot::{LeRobot, PartNames};
use super::mapping::{Mapping, Plan};
use super::minari::{self, Minari};
use super::npz::NpzTable;
use super::parquet::ParquetTable;
use super::rows::{MappedTable, Source};
use super::table::Table;
use super::words::Words;
use crate::error::{Error, Result};

/// What data was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A Minari dataset that is stored as HDF5.
    MinariHdf5,
    /// A Minari dataset that is stored as Arrow or Parquet files.
    MinariArrow,
    /// A replay buffer that d3rlpy has saved.
    D3rlpy,
    /// Arrays of equal length in one file, as in D4RL.
    Hdf5,
    /// Parquet files.
    Parquet,
    /// A LeRobot dataset.
    LeRobot,
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
            Self::MinariArrow => "Minari (Arrow or Parquet)",
            Self::D3rlpy => "d3rlpy (HDF5)",
            Self::Hdf5 => "flat HDF5",
            Self::Parquet => "Parquet",
            Self::LeRobot => "LeRobot",
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
        return many(&[path.to_owned()], mapping, &PartNames::default());
    }
    if path.is_dir() {
        return directory(path, mapping);
    }
    if let Some(files) = matching(path)? {
        return many(&files, mapping, &PartNames::default());
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
        if minari::is_in_folders(&data) {
            let source = Minari::in_folders(&data, mapping)?;
            return Ok((Format::MinariArrow, vec![Box::new(source)]));
        }
    }
    if path.join(crate::model::DOCUMENT).is_file() {
        let found = "a saved model; give the data that it was fitted on";
        return Err(Error::UnknownFormat { path: path.to_owned(), found });
    }
    if let Some(LeRobot { files, names }) = LeRobot::find(path)? {
        let (_, sources) = many(&files, mapping, &names)?;
        return Ok((Format::LeRobot, sources));
    }
    many(&listed(path)?, mapping, &PartNames::default())
}

/// The files that a pattern stands for; `None` if it is no pattern, or stands for nothing.
fn matching(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    let pattern = path.to_string_lossy();
    if !pattern.contains(['*', '?', '[']) {
        return Ok(None);
    }
    let mut files: Vec<PathBuf> = match glob::glob(&pattern) {
        Ok(found) => found.filter_map(|entry| entry.ok()).filter(|p| p.is_file()).collect(),
        Err(error) => return Err(Error::damaged(path, "pattern", error)),
    };
    files.sort();
    Ok((!files.is_empty()).then_some(files))
}

/// The files of a folder.
fn listed(path: &Path) -> Result<Vec<PathBuf>> {
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
    // A folder may hold a README or settings beside the data.
    if files.iter().any(|file| is_named_as_data(file)) {
        files.retain(|file| is_named_as_data(file));
    }
    files.sort();
    if files.is_empty() {
        let found = "a folder without files";
        return Err(Error::UnknownFormat { path: path.to_owned(), found });
    }
    Ok(files)
}

fn is_named_as_data(file: &Path) -> bool {
    const NAMES: [&str; 12] = [
        "csv", "tsv", "parquet", "pq", "arrow", "arrows", "feather", "ipc", "npz", "hdf5", "h5",
        "hdf",
    ];
    let extension = file.extension().map(|extension| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| NAMES.iter().any(|name| extension == *name))
}

/// The tables of a log, all of one format.
pub(crate) type Tables = (Format, Vec<Box<dyn Table>>);

/// All tables that `path` stands for, whatever their columns are; `None` if it is something else, such as a Minari
/// dataset.
pub(crate) fn tables(path: &Path) -> Result<Option<Tables>> {
    let files = match path.is_file() {
        true => vec![path.to_owned()],
        false if path.is_dir() => {
            let is_minari = |data: PathBuf| {
                data.join("main_data.hdf5").is_file() || minari::is_in_folders(&data)
            };
            let is_other = is_minari(path.join("data")) || is_minari(path.to_owned());
            match is_other || path.join(crate::model::DOCUMENT).is_file() {
                true => return Ok(None),
                false => match LeRobot::find(path)? {
                    Some(found) => found.files,
                    None => listed(path)?,
                },
            }
        }
        false => match matching(path)? {
            Some(files) => files,
            None => return Ok(None),
        },
    };
    let mut tables = Vec::new();
    let mut format = Format::Csv;
    for file in &files {
        let (found, opened) = table(file)?;
        let Some(opened) = opened else { return Ok(None) };
        format = found;
        tables.push(opened);
    }
    Ok(Some((format, tables)))
}

/// Files in the order of their names, all of one format. Those without rows do not count beside others.
fn many(
    files: &[PathBuf],
    mapping: &Mapping,
    parts: &PartNames,
) -> Result<(Format, Vec<Box<dyn Source>>)> {
    let mut opened = Vec::new();
    let mut first = None;
    for path in files {
        let (format, found) = table(path)?;
        let (before, other) = *first.get_or_insert((path, format));
        if other != format {
            let message = format!("it is {format}, but {} is {other}", before.display());
            let advice = "give files of one format, or a pattern such as `folder/*.csv`";
            let (path, place) = (path.clone(), "file".into());
            return Err(Error::Unreadable { path, place, message, advice });
        }
        match found {
            Some(table) if table.pieces() == 0 => {}
            Some(table) => {
                let plan = mapping.resolve(path, table.columns())?;
                opened.push(Opened::Table(table, Box::new(plan)));
            }
            None => {
                let file = Hdf5::open(path)?;
                let source: Box<dyn Source> = match format {
                    Format::D3rlpy => Box::new(D3rlpy::new(file, mapping)?),
                    _ => Box::new(Minari::in_hdf5(file, mapping)?),
                };
                opened.push(Opened::Episodes(source));
            }
        }
    }
    let (path, format) =
        first.ok_or(Error::UnknownFormat { path: PathBuf::new(), found: "no files" })?;
    if opened.is_empty() {
        return Err(Error::NoTransitions { path: path.clone(), missing: 0 });
    }
    let tables: Vec<(&dyn Table, &[usize])> = opened.iter().filter_map(Opened::table).collect();
    let words = Words::find(&tables)?;
    let sources = opened.into_iter().map(|file| file.into_source(&words, parts));
    Ok((format, sources.collect::<Result<_>>()?))
}

/// A file whose columns are known.
enum Opened {
    Table(Box<dyn Table>, Box<Plan>),
    Episodes(Box<dyn Source>),
}

impl Opened {
    /// The table, and its columns of the state.
    fn table(&self) -> Option<(&dyn Table, &[usize])> {
        match self {
            Self::Table(table, plan) => Some((&**table, &plan.state)),
            Self::Episodes(_) => None,
        }
    }

    fn into_source(self, words: &Words, parts: &PartNames) -> Result<Box<dyn Source>> {
        match self {
            Self::Table(table, plan) => {
                Ok(Box::new(MappedTable::new(table, *plan, words.clone(), parts.clone())?))
            }
            Self::Episodes(source) => Ok(source),
        }
    }
}

/// A file as a table, whatever its columns are; `None` if it holds episodes one by one, as those of Minari and d3rlpy.
pub(crate) fn table(path: &Path) -> Result<(Format, Option<Box<dyn Table>>)> {
    let format = recognise(path)?;
    let table: Box<dyn Table> = match format {
        Format::Hdf5 => {
            let file = Hdf5::open(path)?;
            let groups = file.file.root().groups().map_err(file.error("file"))?;
            if groups.iter().any(|name| minari::episode_number(name).is_some()) {
                return Ok((Format::MinariHdf5, None));
            }
            if is_of_d3rlpy(&file)? {
                return Ok((Format::D3rlpy, None));
            }
            Box::new(FlatFile::new(file)?)
        }
        Format::Parquet => Box::new(ParquetTable::open(path)?),
        Format::ArrowIpc => Box::new(IpcTable::file(path)?),
        Format::ArrowStream => Box::new(IpcTable::stream(path)?),
        Format::Npz => Box::new(NpzTable::open(path)?),
        _ => Box::new(CsvTable::open(path)?),
    };
    Ok((format, Some(table)))
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
