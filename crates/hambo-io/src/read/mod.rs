//! Logged data from files, recognised by their content.
//!
//! Every format is read as rows (`Source`), piece by piece; one assembler makes episodes of them, for
//! a dataset in memory ([`open`]) as for a [`store`] of data larger than memory.

mod arrow;
mod choices;
mod csv;
mod d3rlpy;
mod detect;
mod episodes;
mod hdf5;
mod in_place;
mod ipc;
mod lerobot;
mod limit;
mod log;
mod mapping;
mod memory;
mod minari;
mod note;
mod npz;
mod parquet;
mod rows;
mod spikes;
mod table;
mod time;
mod words;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hambo::Dataset;

pub use choices::DiscreteActions;
pub use detect::Format;
pub use in_place::{Columns, Marks};
pub use mapping::{Cut, Mapping, Missing};
pub use note::Note;
pub use spikes::Spikes;
pub(crate) use spikes::remove as remove_spikes;

pub(crate) use detect::tables;
pub(crate) use episodes::Sink;
pub(crate) use log::Log;
pub(crate) use mapping::{AMBIGUOUS, Role};
pub(crate) use memory::Memory;
pub(crate) use table::{Key, Kind, Table, Values};
pub(crate) use time::{duration, looks_like_one, moment};

use crate::error::Result;
use crate::remote::locally;
use crate::store;
use ipc::IpcTable;
use lerobot::PartNames;
use rows::MappedTable;
use words::Words;

/// A dataset, and how it was read.
#[derive(Debug)]
pub struct Opened {
    /// The transitions.
    pub dataset: Dataset,
    /// What they were read from.
    pub format: Format,
    /// What the reader had to decide.
    pub notes: Vec<Note>,
}

impl Opened {
    fn of(log: Log) -> Result<Self> {
        let format = log.format;
        let (dataset, notes) = log.into_memory()?;
        Ok(Self { dataset, format, notes })
    }
}

/// Reads a file, a directory, a pattern such as `logs/*.parquet`, or a Minari dataset given by its id; with the
/// feature `remote` also an address such as `s3://bucket/logs/*.parquet`.
pub fn open(source: impl AsRef<Path>, mapping: &Mapping) -> Result<Opened> {
    locally(source.as_ref(), |path| open_local(path, mapping))
}

fn open_local(path: &Path, mapping: &Mapping) -> Result<Opened> {
    if store::is_store(path) {
        let (dataset, format, notes) = (store::open(path)?, Format::Store, Vec::new());
        return Ok(Opened { dataset, format, notes });
    }
    Opened::of(Log::open(path, mapping)?)
}

/// Reads a table that another library holds. Messages call it `name`.
pub fn table(
    name: &str,
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
    mapping: &Mapping,
) -> Result<Opened> {
    let path = Path::new(name);
    let table = IpcTable::in_memory(path, schema, batches)?;
    let plan = mapping.resolve(path, table.columns())?;
    let words = Words::find(&[(&table, &plan.state)])?;
    let source = MappedTable::new(Box::new(table), plan, words, PartNames::default())?;
    let source = Box::new(source);
    Opened::of(Log::of_sources(path, Format::ArrowTable, vec![source])?)
}

/// Uses columns that another library holds where they are. Messages call them `name`.
pub fn columns(name: &str, columns: Columns, marks: Marks) -> Result<Opened> {
    let (dataset, notes) = in_place::dataset(Path::new(name), columns, marks)?;
    Ok(Opened { dataset, format: Format::Arrays, notes })
}
