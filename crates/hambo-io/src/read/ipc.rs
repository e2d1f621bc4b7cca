//! Arrow IPC files (also called Feather) and streams.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_ipc::{MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

use super::arrow;
use super::limit::{check_claim, file_size};
use super::table::{ColumnInfo, Place, Table, Values};
use crate::error::{Error, Result};

/// What stands before a message's length, except in files of very old versions.
const CONTINUATION_MARKER: [u8; 4] = [0xff; 4];

/// An Arrow IPC file or stream.
pub(crate) struct IpcTable {
    path: PathBuf,
    columns: Vec<ColumnInfo>,
    first_rows: Vec<u64>,
    batches: Batches,
}

enum Batches {
    /// Read from the file when they are asked for.
    InFile,
    /// A stream can only be read from its beginning.
    InMemory(Vec<RecordBatch>),
}

impl IpcTable {
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let rows = Claims::open(path)?.check_file()?;
        let schema = reader(path, None)?.schema();
        let columns = arrow::columns(&schema, |index| {
            let first = reader(path, Some(vec![index]))?.next();
            let batch =
                first.transpose().map_err(|error| Error::damaged(path, "batch 0", error))?;
            Ok(batch.map(|batch| batch.column(0).clone()))
        })?;
        let (path, first_rows) = (path.to_owned(), starts(&rows));
        Ok(Self { path, columns, first_rows, batches: Batches::InFile })
    }

    pub(crate) fn stream(path: &Path) -> Result<Self> {
        Claims::open(path)?.check_stream()?;
        let error = |error| Error::damaged(path, "Arrow stream", error);
        let file = File::open(path).map_err(Error::io(path, "open the file"))?;
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(error)?;
        let schema = reader.schema();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(error)?;
        Self::in_memory(path, &schema, batches)
    }

    /// Batches that somebody else made; `path` is what messages call them.
    pub(crate) fn in_memory(
        path: &Path,
        schema: &SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<Self> {
        // A list's width is seen in its first row, which an empty batch does not have.
        let first = batches.iter().find(|batch| batch.num_rows() > 0);
        let columns =
            arrow::columns(schema, |index| Ok(first.map(|batch| batch.column(index).clone())))?;
        let rows: Vec<u64> = batches.iter().map(|batch| batch.num_rows() as u64).collect();
        let (path, first_rows) = (path.to_owned(), starts(&rows));
        Ok(Self { path, columns, first_rows, batches: Batches::InMemory(batches) })
    }
}

/// The first row of each batch.
fn starts(rows: &[u64]) -> Vec<u64> {
    let mut next = 0;
    let mut starts = Vec::new();
    for &rows in rows {
        starts.push(next);
        next += rows;
    }
    starts
}

fn reader(path: &Path, projection: Option<Vec<usize>>) -> Result<FileReader<BufReader<File>>> {
    let file = File::open(path).map_err(Error::io(path, "open the file"))?;
    FileReader::try_new_buffered(file, projection)
        .map_err(|error| Error::damaged(path, "Arrow footer", error))
}

impl Table for IpcTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn pieces(&self) -> usize {
        self.first_rows.len()
    }

    fn first_row(&self, piece: usize) -> u64 {
        self.first_rows[piece]
    }

    fn read(&self, piece: usize, columns: &[usize]) -> Result<Vec<Values>> {
        // A projection keeps the schema's order and holds no column twice.
        let mut projection = columns.to_vec();
        projection.sort_unstable();
        projection.dedup();
        let batch = match &self.batches {
            Batches::InMemory(batches) => {
                batches[piece].project(&projection).expect("the columns are the schema's")
            }
            Batches::InFile => {
                let error = |error| Error::damaged(&self.path, format!("batch {piece}"), error);
                let mut reader = reader(&self.path, Some(projection.clone()))?;
                reader.set_index(piece).map_err(error)?;
                reader.next().transpose().map_err(error)?.ok_or_else(|| {
                    Error::damaged(&self.path, format!("batch {piece}"), "it is missing")
                })?
            }
        };
        let first_row = self.first_row(piece);
        let column = |&index: &usize| {
            let at = projection.binary_search(&index).expect("it was projected");
            let place = Place { path: &self.path, first_row, column: &self.columns[index] };
            arrow::values(batch.column(at), place)
        };
        columns.iter().map(column).collect()
    }
}

/// Looks at all that a file claims about sizes before a library believes it and asks for memory.
struct Claims<'a> {
    path: &'a Path,
    file: File,
    bytes: u64,
}

impl<'a> Claims<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path, "open the file"))?;
        Ok(Self { path, file, bytes: file_size(path)? })
    }

    /// Rows of every batch of an IPC file.
    fn check_file(&mut self) -> Result<Vec<u64>> {
        let damaged = |message: &str| Error::damaged(self.path, "Arrow footer", message);
        let end = self.bytes.checked_sub(10).ok_or_else(|| damaged("the file is too short"))?;
        let mut tail = [0; 10];
        self.read_at(end, &mut tail)?;
        let length = read_footer_length(tail)
            .map_err(|error| Error::damaged(self.path, "Arrow footer", error))?;
        let damaged = |message: &str| Error::damaged(self.path, "Arrow footer", message);
        let start = end.checked_sub(length as u64);
        let start = start.ok_or_else(|| damaged("it is longer than the file"))?;
        let mut footer = vec![0; length];
        self.read_at(start, &mut footer)?;
        let footer = root_as_footer(&footer)
            .map_err(|error| Error::damaged(self.path, "Arrow footer", error))?;
        let mut rows = Vec::new();
        for (blocks, is_batch) in [(footer.dictionaries(), false), (footer.recordBatches(), true)] {
            for block in blocks.into_iter().flatten() {
                let message = self.message(block.offset(), block.metaDataLength().into())?;
                let body = block.offset().checked_add(block.metaDataLength().into());
                let found = self.check_message(&message, body, block.bodyLength())?;
                rows.extend(is_batch.then_some(found));
            }
        }
        Ok(rows)
    }

    fn check_stream(&mut self) -> Result<()> {
        let mut at = 0_i64;
        loop {
            let mut word = [0; 4];
            if at as u64 + 4 > self.bytes {
                return Ok(());
            }
            self.read_at(at as u64, &mut word)?;
            let prefix = if word == CONTINUATION_MARKER { 8 } else { 4 };
            if prefix == 8 {
                self.read_at(at as u64 + 4, &mut word)?;
            }
            let length = i64::from(i32::from_le_bytes(word));
            if length == 0 {
                return Ok(());
            }
            let message = self.message(at, length + prefix)?;
            let body = at + prefix + length;
            let body_length = root_as_message(&message)
                .map_err(|error| Error::damaged(self.path, format!("byte {at}"), error))?
                .bodyLength();
            self.check_message(&message, Some(body), body_length)?;
            at = body + body_length;
        }
    }

    /// The flat buffer of a message, without the length before it.
    fn message(&mut self, offset: i64, length: i64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.within(offset, length)?];
        self.read_at(offset as u64, &mut bytes)?;
        let prefix = if bytes.starts_with(&CONTINUATION_MARKER) { 8 } else { 4 };
        Ok(bytes.split_off(prefix.min(bytes.len())))
    }

    /// Checks a message's body, and tells how many rows it holds.
    fn check_message(&mut self, bytes: &[u8], body: Option<i64>, length: i64) -> Result<u64> {
        let place = || format!("message before byte {}", body.unwrap_or(0));
        let damaged = |message: &str| Error::damaged(self.path, place(), message);
        let message =
            root_as_message(bytes).map_err(|error| Error::damaged(self.path, place(), error))?;
        let body = body.ok_or_else(|| damaged("it lies beyond the file"))?;
        self.within(body, length)?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            _ => return Ok(0),
        };
        let batch = batch.ok_or_else(|| damaged("it holds no batch"))?;
        let rows = u64::try_from(batch.length()).map_err(|_| damaged("it has negative rows"))?;
        // Even a column of flags takes one bit a row, before compression.
        check_claim(self.path, place, Some(rows / 8), self.bytes)?;
        for buffer in batch.buffers().into_iter().flatten() {
            let end = buffer.offset().checked_add(buffer.length());
            if buffer.offset() < 0 || buffer.length() < 0 || end.is_none_or(|end| end > length) {
                return Err(damaged("a buffer lies outside its batch"));
            }
        }
        if batch.compression().is_some() {
            let mut declared = 0_u64;
            for buffer in batch.buffers().into_iter().flatten().filter(|b| b.length() >= 8) {
                let at = body + buffer.offset();
                let mut size = [0; 8];
                self.read_at(at as u64, &mut size)?;
                // -1 stands for a buffer that is not compressed.
                let size = i64::from_le_bytes(size).max(0) as u64;
                declared = declared.saturating_add(size);
            }
            check_claim(self.path, place, Some(declared), length as u64)?;
        }
        Ok(rows)
    }

    /// The length, if that much of the file exists at `offset`.
    fn within(&self, offset: i64, length: i64) -> Result<usize> {
        let end = offset.checked_add(length).filter(|_| offset >= 0 && length >= 0);
        match end {
            Some(end) if end as u64 <= self.bytes => Ok(length as usize),
            _ => {
                let place = format!("byte {offset}");
                let message = format!("{length} bytes are claimed beyond the file's end");
                Err(Error::damaged(self.path, place, message))
            }
        }
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<()> {
        let file = &mut self.file;
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(into));
        read.map_err(|error| Error::damaged(self.path, format!("byte {offset}"), error))
    }
}
