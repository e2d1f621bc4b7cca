//! Text files with a header line, separated by commas, semicolons or tabs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Position, Reader, ReaderBuilder};

use super::table::{ColumnInfo, Kind, Place, Table, Values};
use super::time;
use crate::error::{Error, Result};

/// Rows that are read at a time.
const WINDOW: u64 = 1 << 16;

/// The first row after the header, as editors and spreadsheets count them.
const FIRST_LINE: u64 = 2;

/// What stands for a value that is missing.
const MISSING: [&str; 11] =
    ["", "na", "n/a", "nan", "null", "none", "#n/a", "?", "-", "--", "missing"];

/// A text file. One pass over it finds the columns' kinds and where each piece starts.
pub(crate) struct CsvTable {
    path: PathBuf,
    separator: u8,
    /// Numbers are written as 20,5.
    decimal_comma: bool,
    columns: Vec<ColumnInfo>,
    pieces: Vec<Position>,
}

impl CsvTable {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let separator = separator(path)?;
        let mut table = Self {
            path: path.to_owned(),
            separator,
            decimal_comma: false,
            columns: Vec::new(),
            pieces: Vec::new(),
        };
        let mut reader = table.reader()?;
        let header = reader.headers().map_err(|error| table.damaged("header", error))?.clone();
        let names: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            let message = format!("the column `{}` comes twice", twice.1);
            return Err(table.damaged("header", message));
        }
        let mut guesses = vec![Guess::default(); names.len()];
        let mut record = ByteRecord::new();
        let mut row = 0_u64;
        loop {
            let start = reader.position().clone();
            if !reader.read_byte_record(&mut record).map_err(|e| table.damaged("text", e))? {
                break;
            }
            if row.is_multiple_of(WINDOW) {
                table.pieces.push(start);
            }
            guesses.iter_mut().zip(&record).for_each(|(guess, cell)| guess.look_at(cell));
            row += 1;
        }
        let sum = |count: fn(&Guess) -> u64| guesses.iter().map(count).sum::<u64>();
        let (commas, points) =
            (sum(|guess| guess.commas), sum(|guess| guess.numbers - guess.integers));
        table.decimal_comma = commas > points;
        if table.decimal_comma {
            guesses.iter_mut().for_each(|guess| guess.numbers = guess.integers + guess.commas);
        }
        let column =
            |(name, guess): (String, Guess)| ColumnInfo { name, width: 1, kind: guess.kind() };
        table.columns = names.into_iter().zip(guesses).map(column).collect();
        Ok(table)
    }

    fn reader(&self) -> Result<Reader<File>> {
        let file = File::open(&self.path).map_err(Error::io(&self.path, "open the file"))?;
        Ok(ReaderBuilder::new().delimiter(self.separator).from_reader(file))
    }

    fn damaged(&self, place: &str, message: impl ToString) -> Error {
        Error::Unreadable {
            path: self.path.clone(),
            place: place.into(),
            message: message.to_string(),
            advice: "give one header line and then rows with equally many values",
        }
    }
}

/// The separator that the header line uses most.
fn separator(path: &Path) -> Result<u8> {
    const LONGEST_HEADER: u64 = 1 << 20;
    let file = File::open(path).map_err(Error::io(path, "open the file"))?;
    let mut line = Vec::new();
    BufReader::new(file.take(LONGEST_HEADER))
        .read_until(b'\n', &mut line)
        .map_err(Error::io(path, "read the file"))?;
    let count = |separator: u8| line.iter().filter(|&&byte| byte == separator).count();
    // The first of equals wins, so that one column means commas.
    Ok(*[b'\t', b';', b','].iter().max_by_key(|&&separator| count(separator)).unwrap_or(&b','))
}

/// What a column's cells are, by the majority: the others can then be named.
#[derive(Clone, Default)]
struct Guess {
    cells: u64,
    integers: u64,
    /// Written with a decimal point, or whole.
    numbers: u64,
    /// Written with a decimal comma.
    commas: u64,
    flags: u64,
    times: u64,
    missing: u64,
}

impl Guess {
    fn look_at(&mut self, cell: &[u8]) {
        if is_missing(cell) {
            self.missing += 1;
            return;
        }
        self.cells += 1;
        if whole_number(cell).is_some() {
            self.integers += 1;
            self.numbers += 1;
        } else if number(cell, false).is_some() {
            self.numbers += 1;
        } else if number(cell, true).is_some() {
            self.commas += 1;
        } else if flag(cell).is_some() {
            self.flags += 1;
        } else if moment(cell).is_some() {
            self.times += 1;
        }
    }

    fn kind(&self) -> Kind {
        let most = |count: u64| 2 * count >= self.cells;
        match self {
            // A column without any value may as well hold numbers.
            _ if self.cells == 0 => Kind::Float,
            // Only floats can be missing.
            _ if most(self.numbers) && self.numbers == self.integers && self.missing == 0 => {
                Kind::Integer
            }
            _ if most(self.numbers) => Kind::Float,
            _ if most(self.flags) => Kind::Flag,
            _ if most(self.times) => Kind::Time,
            _ => Kind::Text,
        }
    }
}

fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok().map(str::trim)
}

fn is_missing(cell: &[u8]) -> bool {
    text(cell).is_some_and(|text| MISSING.iter().any(|word| word.eq_ignore_ascii_case(text)))
}

fn whole_number(cell: &[u8]) -> Option<i64> {
    text(cell)?.parse().ok()
}

fn number(cell: &[u8], decimal_comma: bool) -> Option<f64> {
    match decimal_comma {
        false => text(cell)?.parse().ok(),
        true => text(cell)?.replacen(',', ".", 1).parse().ok(),
    }
}

fn moment(cell: &[u8]) -> Option<i64> {
    time::parse(text(cell)?)
}

fn flag(cell: &[u8]) -> Option<bool> {
    match cell.trim_ascii() {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

impl Table for CsvTable {
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
        FIRST_LINE + piece as u64 * WINDOW
    }

    fn writing(&self) -> Option<String> {
        let separator = match self.separator {
            b';' => Some("values are separated by semicolons"),
            b'\t' => Some("values are separated by tabs"),
            _ => None,
        };
        let comma = self.decimal_comma.then_some("numbers have decimal commas");
        let parts: Vec<&str> = separator.into_iter().chain(comma).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn read(&self, piece: usize, columns: &[usize]) -> Result<Vec<Values>> {
        let mut reader = self.reader()?;
        reader.headers().map_err(|error| self.damaged("header", error))?;
        reader.seek(self.pieces[piece].clone()).map_err(|error| self.damaged("text", error))?;
        let mut cells: Vec<Values> =
            columns.iter().map(|&index| empty(self.columns[index].kind)).collect();
        let first_row = self.first_row(piece);
        for (index, record) in reader.byte_records().take(WINDOW as usize).enumerate() {
            let record = record.map_err(|error| self.damaged("text", error))?;
            for (values, &column) in cells.iter_mut().zip(columns) {
                let column_info = &self.columns[column];
                let place = Place { path: &self.path, first_row, column: column_info };
                let cell = record.get(column).unwrap_or_default();
                push(values, cell, self.decimal_comma, index, place)?;
            }
        }
        Ok(cells)
    }
}

fn empty(kind: Kind) -> Values {
    match kind {
        Kind::Float => Values::F64(Vec::new()),
        Kind::Integer => Values::Integer(Vec::new()),
        Kind::Flag => Values::Flag(Vec::new()),
        Kind::Time => Values::Time(Vec::new()),
        Kind::Text | Kind::Other => Values::Text(Vec::new()),
    }
}

fn push(
    values: &mut Values,
    cell: &[u8],
    decimal_comma: bool,
    row: usize,
    place: Place<'_>,
) -> Result<()> {
    let bad = || {
        let (shown, advice) = match is_missing(cell) {
            true => ("missing".into(), "this column must be complete: fill it, or drop the rows"),
            false => (
                format!("`{}`", String::from_utf8_lossy(cell)),
                "leave the cell empty if it is missing",
            ),
        };
        place.bad(row, shown, advice)
    };
    match values {
        Values::F64(values) => values.push(match is_missing(cell) {
            true => f64::NAN,
            false => number(cell, decimal_comma).ok_or_else(bad)?,
        }),
        Values::Integer(values) => values.push(whole_number(cell).ok_or_else(bad)?),
        Values::Flag(values) => values.push(flag(cell).ok_or_else(bad)?),
        Values::Time(values) => values.push(moment(cell).ok_or_else(bad)?),
        Values::Text(values) => values.push(String::from_utf8_lossy(cell).trim().to_owned()),
        Values::F32(_) => unreachable!("text is read as float64"),
    }
    Ok(())
}
