//! The columns of a table, whole and with their values.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::read::{Kind, Table, Values};

/// Rows that are looked at, at most.
const MOST_ROWS: usize = 1_000_000;

/// Words of a column that tells groups apart, at most.
pub(super) const MOST_WORDS: usize = 50;

/// One column with all its values.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) values: Content,
}

/// What a column holds, row by row.
pub(super) enum Content {
    /// NaN where a value is missing.
    Numbers(Vec<f64>),
    /// Milliseconds since 1970.
    Times(Vec<i64>),
    /// Indices into the words, and those in alphabetical order.
    Words(Vec<usize>, Vec<String>),
    /// Several values a row, or none that can be used.
    Other(usize),
}

impl Column {
    pub(super) fn numbers(&self) -> Option<&[f64]> {
        match &self.values {
            Content::Numbers(values) => Some(values),
            _ => None,
        }
    }
}

/// Reads all columns of several tables, one after the other. Columns are those of the first table.
pub(super) fn read(tables: &[Box<dyn Table>]) -> Result<(Vec<Column>, usize)> {
    let Some(first) = tables.first() else { return Ok((Vec::new(), 0)) };
    let mut gathered: Vec<Gathered> = first.columns().iter().map(|_| Gathered::default()).collect();
    let mut rows = 0;
    'tables: for table in tables {
        let place = |name: &str| table.columns().iter().position(|column| column.name == name);
        let wanted: Vec<Option<usize>> = first
            .columns()
            .iter()
            .map(|column| {
                place(&column.name).filter(|_| column.width == 1 && column.kind != Kind::Other)
            })
            .collect();
        let indices: Vec<usize> = wanted.iter().flatten().copied().collect();
        for piece in 0..table.pieces() {
            let mut read = table.read(piece, &indices)?.into_iter();
            let mut count = 0;
            for (column, gathered) in wanted.iter().zip(&mut gathered) {
                if let Some(values) = column.and_then(|_| read.next()) {
                    count = count.max(values.len());
                    gathered.add(values);
                }
            }
            rows += count;
            if rows >= MOST_ROWS {
                break 'tables;
            }
        }
    }
    let columns = first.columns().iter().zip(gathered).map(|(column, gathered)| Column {
        name: column.name.clone(),
        values: gathered.into_content(column.width, rows),
    });
    Ok((columns.collect(), rows))
}

#[derive(Default)]
struct Gathered {
    numbers: Vec<f64>,
    times: Vec<i64>,
    words: Vec<String>,
}

impl Gathered {
    fn add(&mut self, values: Values) {
        match values {
            Values::F32(values) => self.numbers.extend(values.into_iter().map(f64::from)),
            Values::F64(values) => self.numbers.extend(values),
            Values::Integer(values) => self.numbers.extend(values.into_iter().map(|v| v as f64)),
            Values::Flag(values) => {
                self.numbers.extend(values.into_iter().map(|v| f64::from(u8::from(v))));
            }
            Values::Time(values) => self.times.extend(values),
            Values::Text(values) => self.words.extend(values),
        }
    }

    fn into_content(self, width: usize, rows: usize) -> Content {
        if self.numbers.len() == rows && rows > 0 {
            return Content::Numbers(self.numbers);
        }
        if self.times.len() == rows && rows > 0 {
            return Content::Times(self.times);
        }
        if self.words.len() == rows && rows > 0 {
            let mut places: BTreeMap<String, usize> = BTreeMap::new();
            self.words.iter().for_each(|word| {
                places.insert(word.clone(), 0);
            });
            places.values_mut().enumerate().for_each(|(index, place)| *place = index);
            let of_rows = self.words.iter().map(|word| places[word]).collect();
            return Content::Words(of_rows, places.into_keys().collect());
        }
        Content::Other(width)
    }
}

/// The rows of every group, in the order of time, and whether they were in that order.
pub(super) struct Groups {
    /// Row numbers.
    pub(super) rows: Vec<Vec<usize>>,
    pub(super) names: Vec<String>,
    pub(super) were_in_order: bool,
}

/// Of columns with words, those without which rows of the same time could not be told apart, and those that change
/// hardly ever. An operator's remarks are neither.
pub(super) fn needed(
    columns: &[Column],
    candidates: &[usize],
    time: Option<usize>,
    rows: usize,
) -> Vec<usize> {
    let Some(Content::Times(times)) = time.map(|column| &columns[column].values) else {
        return candidates.to_vec();
    };
    let word = |column: usize, row: usize| match &columns[column].values {
        Content::Words(of_rows, _) => of_rows[row],
        _ => 0,
    };
    let told_apart = |by: &[usize]| {
        let key = |row: usize| (times[row], by.iter().map(|&c| word(c, row)).collect::<Vec<_>>());
        (0..rows).map(key).collect::<HashSet<_>>().len()
    };
    let mut needed = Vec::new();
    let mut known = told_apart(&needed);
    while known < rows {
        let with = |&column: &usize| [&needed[..], &[column]].concat();
        let others = candidates.iter().filter(|column| !needed.contains(*column));
        let best = others.map(|column| (told_apart(&with(column)), *column)).max();
        let Some((more, column)) = best.filter(|(more, _)| *more > known) else { break };
        (known, needed) = (more, with(&column));
    }
    let is_steady = |&column: &usize| {
        let changes = (1..rows).filter(|&row| word(column, row) != word(column, row - 1)).count();
        let Content::Words(_, words) = &columns[column].values else { return false };
        changes < 2 * words.len()
    };
    candidates.iter().copied().filter(|c| needed.contains(c) || is_steady(c)).collect()
}

impl Groups {
    /// Rows told apart by columns of words, in the order of a column of times.
    pub(super) fn new(
        columns: &[Column],
        apart: &[usize],
        time: Option<usize>,
        rows: usize,
    ) -> Self {
        let mut places: HashMap<Vec<usize>, usize> = HashMap::new();
        let (mut groups, mut names): (Vec<Vec<usize>>, Vec<String>) = (Vec::new(), Vec::new());
        let mut were_in_order = true;
        let mut last = None;
        for row in 0..rows {
            let word = |&column: &usize| match &columns[column].values {
                Content::Words(of_rows, _) => of_rows[row],
                _ => 0,
            };
            let key: Vec<usize> = apart.iter().map(word).collect();
            let place = *places.entry(key.clone()).or_insert_with(|| {
                groups.push(Vec::new());
                let name = |(&column, &word): (&usize, &usize)| match &columns[column].values {
                    Content::Words(_, words) => words[word].clone(),
                    _ => String::new(),
                };
                names.push(apart.iter().zip(&key).map(name).collect::<Vec<_>>().join(", "));
                groups.len() - 1
            });
            // A group whose rows are not together comes back.
            were_in_order &= last.is_none_or(|last| last == place) || groups[place].is_empty();
            last = Some(place);
            groups[place].push(row);
        }
        if let Some(Content::Times(times)) = time.map(|column| &columns[column].values) {
            for group in &mut groups {
                were_in_order &= group.is_sorted_by_key(|&row| times[row]);
                group.sort_by_key(|&row| times[row]);
            }
        }
        Self { rows: groups, names, were_in_order }
    }
}
