//! Parquet files.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};

use super::arrow;
use super::limit::{check_claim, file_size};
use super::table::{ColumnInfo, Place, Table, Values};
use crate::error::{Error, Result};

/// Rows that are decoded at a time: memory grows with what a file holds, not with what it claims.
const BATCH: usize = 1 << 16;
/// Longer row groups are read in several pieces.
const LONGEST_PIECE: u64 = 1 << 19;

/// A Parquet file.
pub(crate) struct ParquetTable {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    columns: Vec<ColumnInfo>,
    pieces: Vec<Piece>,
}

/// A part of a row group.
struct Piece {
    row_group: usize,
    /// Rows of the group before it.
    offset: u64,
    rows: u64,
    first_row: u64,
}

impl ParquetTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path, "open the file"))?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|error| Error::damaged(path, "Parquet footer", error))?;
        let mut table = Self {
            path: path.to_owned(),
            pieces: pieces(path, &metadata)?,
            metadata,
            columns: Vec::new(),
        };
        let schema = table.metadata.schema().clone();
        table.columns = arrow::columns(&schema, |index| {
            let Some(piece) = table.pieces.first() else { return Ok(None) };
            let first = table.reader(piece, &[index], 1)?.next();
            let batch = first.transpose().map_err(|error| table.damaged(piece, error))?;
            Ok(batch.map(|batch| batch.column(0).clone()))
        })?;
        Ok(table)
    }

    fn damaged(&self, piece: &Piece, error: impl ToString) -> Error {
        Error::damaged(&self.path, format!("row group {}", piece.row_group), error)
    }

    fn reader(
        &self,
        piece: &Piece,
        roots: &[usize],
        rows: usize,
    ) -> Result<ParquetRecordBatchReader> {
        let file = File::open(&self.path).map_err(Error::io(&self.path, "open the file"))?;
        let schema = self.metadata.metadata().file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, roots.iter().copied());
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_row_groups(vec![piece.row_group])
            .with_projection(mask)
            .with_offset(piece.offset as usize)
            .with_limit(rows.min(piece.rows as usize))
            .with_batch_size(rows.min(BATCH))
            .build()
            .map_err(|error| self.damaged(piece, error))
    }
}

/// Cuts row groups into pieces, after a look at what they claim.
fn pieces(path: &Path, metadata: &ArrowReaderMetadata) -> Result<Vec<Piece>> {
    let bytes = file_size(path)?;
    let mut pieces = Vec::new();
    let mut first_row = 0_u64;
    for (row_group, group) in metadata.metadata().row_groups().iter().enumerate() {
        let place = || format!("row group {row_group}");
        let negative = |_| Error::damaged(path, place(), "it claims a negative size");
        let total = u64::try_from(group.num_rows()).map_err(negative)?;
        check_claim(path, place, Some(total), bytes)?;
        for column in group.columns() {
            let stored = u64::try_from(column.compressed_size()).map_err(negative)?;
            let declared = u64::try_from(column.uncompressed_size()).map_err(negative)?;
            let place = || format!("row group {row_group}, column `{}`", column.column_path());
            if stored > bytes {
                return Err(Error::Inflated {
                    path: path.into(),
                    place: place(),
                    declared: stored,
                    stored: bytes,
                });
            }
            check_claim(path, place, Some(declared), stored)?;
        }
        let mut offset = 0;
        while offset < total {
            let rows = LONGEST_PIECE.min(total - offset);
            pieces.push(Piece { row_group, offset, rows, first_row: first_row + offset });
            offset += rows;
        }
        first_row = first_row.saturating_add(total);
    }
    Ok(pieces)
}

impl Table for ParquetTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn first_row(&self, piece: usize) -> u64 {
        self.pieces[piece].first_row
    }

    fn read(&self, piece: usize, columns: &[usize]) -> Result<Vec<Values>> {
        // A projection keeps the schema's order and holds no column twice.
        let mut projection = columns.to_vec();
        projection.sort_unstable();
        projection.dedup();
        let piece = &self.pieces[piece];
        let mut read: Vec<Option<Values>> = vec![None; columns.len()];
        let mut first_row = piece.first_row;
        for batch in self.reader(piece, &projection, piece.rows as usize)? {
            let batch = batch.map_err(|error| self.damaged(piece, error))?;
            for (into, &index) in read.iter_mut().zip(columns) {
                let at = projection.binary_search(&index).expect("it was projected");
                let place = Place { path: &self.path, first_row, column: &self.columns[index] };
                let values = arrow::values(batch.column(at), place)?;
                match into {
                    Some(before) => before.append(values),
                    None => *into = Some(values),
                }
            }
            first_row += batch.num_rows() as u64;
        }
        if first_row != piece.first_row + piece.rows {
            return Err(self.damaged(piece, "it holds fewer rows than it claims"));
        }
        read.into_iter()
            .map(|values| values.ok_or_else(|| self.damaged(piece, "it is empty")))
            .collect()
    }
}
