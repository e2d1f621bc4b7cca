//! Datasets, from arrays, tables, files and the built-in tasks.

use std::path::PathBuf;
use std::sync::Arc;

use hambo::dataset::{ColumnNames, DatasetError, EpisodeMarks};
use hambo_io::read::{self, Columns, Mapping, Marks, Opened};
use hambo_io::{profile, store};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::{Failure, not_json};
use crate::work::{self, Manner};
use crate::{arrow, columns};

/// Validated transitions in episodes.
#[pyclass(frozen, module = "hambo._native")]
#[derive(Debug)]
pub struct Dataset {
    pub inner: Arc<hambo::Dataset>,
    pub format: String,
    /// What the reader had to decide, and what may be done about it.
    notes: Vec<(String, String)>,
}

impl Dataset {
    pub fn new(inner: hambo::Dataset, format: &str) -> Self {
        Self { inner: Arc::new(inner), format: format.into(), notes: Vec::new() }
    }

    fn opened(opened: Opened) -> Self {
        let odd = opened.dataset.notes().iter().map(|note| (note.to_string(), String::new()));
        let decided = opened.notes.iter().map(|note| (note.to_string(), note.help().into()));
        let notes = decided.chain(odd);
        Self {
            notes: notes.collect(),
            format: opened.format.to_string(),
            inner: Arc::new(opened.dataset),
        }
    }
}

fn mapping(json: &str) -> Result<Mapping, Failure> {
    serde_json::from_str(json).map_err(not_json("the mapping of the columns"))
}

type Names = (Vec<String>, Vec<String>);

impl Dataset {
    fn changed(
        &self,
        change: impl FnOnce(hambo::Dataset) -> Result<hambo::Dataset, DatasetError>,
    ) -> PyResult<Self> {
        let inner = change((*self.inner).clone()).map_err(|error| {
            Python::attach(|py| Failure::new("DataError", error.to_string()).raise(py))
        })?;
        Ok(Self { inner: Arc::new(inner), format: self.format.clone(), notes: self.notes.clone() })
    }
}

#[pymethods]
impl Dataset {
    /// A file, a directory, a pattern or a Minari id.
    #[staticmethod]
    fn open(py: Python<'_>, source: String, mapping_json: String) -> PyResult<Self> {
        work::run(py, &[], Manner::default(), move |_| {
            let mut opened = Self::opened(read::open(&source, &mapping(&mapping_json)?)?);
            // What looks wrong in a table is said here as well: other units, values like no other.
            let remarks = profile::remarks(&source).into_iter();
            opened.notes.extend(remarks.map(|remark| (remark, String::new())));
            Ok(opened)
        })
    }

    /// The same, through a folder of columns that are mapped.
    #[staticmethod]
    fn convert(
        py: Python<'_>,
        source: String,
        into: PathBuf,
        mapping_json: String,
    ) -> PyResult<Self> {
        work::run(py, &[], Manner::default(), move |_| {
            let mapping = mapping(&mapping_json)?;
            let notes = store::convert(&source, &mapping, &into)?.notes;
            let opened = read::open(&into, &mapping)?;
            Ok(Self::opened(Opened { notes, ..opened }))
        })
    }

    /// An object with `__arrow_c_stream__`.
    #[staticmethod]
    fn from_stream(table: &Bound<'_, PyAny>, name: String, mapping_json: String) -> PyResult<Self> {
        let (schema, batches) = arrow::batches(table)?;
        work::run(table.py(), &[], Manner::default(), move |_| {
            let opened = read::table(&name, &schema, batches, &mapping(&mapping_json)?)?;
            Ok(Self::opened(opened))
        })
    }

    /// Named arrays, of which the mapping says what they are.
    #[staticmethod]
    fn from_table(
        py: Python<'_>,
        columns: Vec<(String, Bound<'_, PyAny>)>,
        name: String,
        mapping_json: String,
    ) -> PyResult<Self> {
        let batch = columns::batch(&columns)?;
        work::run(py, &[], Manner::default(), move |_| {
            let (schema, mapping) = (batch.schema(), mapping(&mapping_json)?);
            let opened = read::table(&name, &schema, vec![batch], &mapping)?;
            Ok(Self { format: "arrays".into(), ..Self::opened(opened) })
        })
    }

    /// Complete columns, which are used where they are, and what says where episodes end.
    #[staticmethod]
    #[pyo3(signature = (states, actions, rewards, next_states, terminated, truncated, episode, names, gaps))]
    #[allow(clippy::too_many_arguments)]
    fn from_marked(
        py: Python<'_>,
        states: &Bound<'_, PyArrayDyn<f32>>,
        actions: &Bound<'_, PyArrayDyn<f32>>,
        rewards: &Bound<'_, PyArrayDyn<f32>>,
        next_states: &Bound<'_, PyArrayDyn<f32>>,
        terminated: Option<&Bound<'_, PyArray1<bool>>>,
        truncated: Option<&Bound<'_, PyArray1<bool>>>,
        episode: Option<&Bound<'_, PyArray1<i64>>>,
        names: Option<Names>,
        gaps: Vec<usize>,
    ) -> PyResult<Self> {
        let width = |array: &Bound<'_, PyArrayDyn<f32>>| array.shape().get(1).copied().unwrap_or(1);
        let columns = Columns {
            state_dim: width(states),
            action_dim: width(actions),
            states: columns::buffer(states),
            actions: columns::buffer(actions),
            rewards: columns::buffer(rewards),
            next_states: columns::buffer(next_states),
            names: names.map(|(states, actions)| ColumnNames { states, actions }),
            gaps,
        };
        let marks = Marks {
            terminated: terminated.map(PyArrayMethods::to_vec).transpose()?,
            truncated: truncated.map(PyArrayMethods::to_vec).transpose()?,
            episode: episode.map(PyArrayMethods::to_vec).transpose()?,
        };
        work::run(py, &[], Manner::default(), move |_| {
            Ok(Self::opened(read::columns("arrays", columns, marks)?))
        })
    }

    /// The same data, with where each episode came from.
    fn with_sources(&self, of_episodes: Vec<String>) -> PyResult<Self> {
        self.changed(|data| data.with_sources(of_episodes))
    }

    /// The same data, with the columns of the state that no action influences.
    fn with_exogenous(&self, columns: Vec<usize>) -> PyResult<Self> {
        self.changed(|data| data.with_exogenous(columns))
    }

    /// The same data, with logarithms of the probabilities of the logged actions.
    fn with_log_probs(&self, of_rows: Vec<f64>) -> PyResult<Self> {
        self.changed(|data| data.with_log_probs(of_rows))
    }

    /// Logarithms of the probabilities of the logged actions.
    #[getter]
    fn log_probs<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.log_probs().map(|values| PyArray1::from_slice(py, values))
    }

    /// The columns of the state that no action influences.
    #[getter]
    fn exogenous(&self) -> Vec<usize> {
        self.inner.exogenous().to_vec()
    }

    /// Rows before which the log has a gap.
    #[getter]
    fn gaps(&self) -> Vec<usize> {
        self.inner.episodes().iter().flat_map(|episode| episode.gaps.clone()).collect()
    }

    /// These episodes, in this order.
    fn selected(&self, episodes: Vec<usize>) -> PyResult<Self> {
        self.changed(|data| Ok(data.selected(episodes)))
    }

    /// The episodes that are not in `other`.
    fn without(&self, other: &Self) -> PyResult<Self> {
        let marks = EpisodeMarks::of(&other.inner);
        let none =
            "every episode is in the other data as well, and none is left; give data of its own";
        let inner = self
            .inner
            .without(&marks)
            .ok_or_else(|| Python::attach(|py| Failure::new("DataError", none).raise(py)))?;
        Ok(Self { inner: Arc::new(inner), format: self.format.clone(), notes: self.notes.clone() })
    }

    /// Where each episode came from.
    #[getter]
    fn sources(&self) -> Option<Vec<String>> {
        let sources = self.inner.sources()?;
        let name = |episode| sources.names()[sources.of(episode)].clone();
        Some((0..self.inner.episodes().len()).map(name).collect())
    }

    #[getter]
    fn format(&self) -> &str {
        &self.format
    }

    #[getter]
    fn notes(&self) -> Vec<(String, String)> {
        self.notes.clone()
    }

    #[getter]
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    #[getter]
    fn names(&self) -> Option<Names> {
        self.inner.names().map(|names| (names.states.clone(), names.actions.clone()))
    }

    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        PyArray2::from_array(py, &self.inner.states())
    }

    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        PyArray2::from_array(py, &self.inner.actions())
    }

    #[getter]
    fn rewards<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_array(py, &self.inner.rewards())
    }

    #[getter]
    fn next_states<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        PyArray2::from_array(py, &self.inner.next_states())
    }

    /// Of every episode: first row, row after the last, whether it terminated, whether it was cut off.
    #[getter]
    fn episodes(&self) -> Vec<(usize, usize, bool, bool)> {
        let spans = self.inner.episodes().iter();
        spans.map(|e| (e.rows.start, e.rows.end, e.terminated, e.truncated)).collect()
    }

    /// Counts, ranges and returns, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        let data = self.inner.clone();
        work::run(py, &[], Manner::default(), move |_| {
            serde_json::to_string(&data.summary()).map_err(Failure::internal)
        })
    }

    /// Counts and fingerprint, as JSON.
    fn identity(&self, py: Python<'_>) -> PyResult<String> {
        let data = self.inner.clone();
        work::run(py, &[], Manner::default(), move |_| {
            serde_json::to_string(&data.identity()).map_err(Failure::internal)
        })
    }
}
