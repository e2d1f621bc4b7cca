//! What no action influences: weather, prices, the clock, which building it is.
//!
//! Nothing predicts it. Every played episode goes through it as a whole logged one did, so that it varies from
//! episode to episode as it does in the logs, and no model errs about it.

use std::collections::HashMap;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use crate::dataset::History;
use crate::error::{Error, Result};
use crate::logs::LoggedEpisodes;
use crate::rng::Stream;
use crate::rollout::{Moment, Outcome, TransitionModel};
use crate::task::{InitialStates, Task};

/// How much of the horizon logged episodes must last, on average. The last values stay beyond their end.
const LEAST_COVERED: f64 = 0.9;

/// Columns of the state that no action influences, and logged episodes that show them.
#[derive(Debug, Clone, Copy)]
pub struct Exogenous<'a> {
    columns: &'a [usize],
    episodes: &'a LoggedEpisodes,
}

impl<'a> Exogenous<'a> {
    /// `None` if there are no such columns.
    pub(crate) fn new(columns: &'a [usize], episodes: &'a LoggedEpisodes) -> Option<Self> {
        (!columns.is_empty()).then_some(Self { columns, episodes })
    }

    /// The same columns, in other episodes.
    pub(crate) fn shown_by<'e>(&self, episodes: &'e LoggedEpisodes) -> Exogenous<'e>
    where
        'a: 'e,
    {
        Exogenous { columns: self.columns, episodes }
    }

    /// Initial states that were observed, without those of episodes that a gap in the log cuts short: what would
    /// have followed is not known. Others stay as they are.
    pub(crate) fn with_known_courses(&self, task: &Task) -> Result<InitialStates> {
        let horizon = task.horizon;
        let known = self.known(horizon);
        let of_terminated = |rows: &Range<usize>| {
            let ended = |episode: usize| self.episodes.terminated[episode];
            let last = self.episodes.ends.binary_search(&rows.end);
            last.is_ok_and(ended)
        };
        let covered = known.iter().map(|rows| match of_terminated(rows) {
            true => 1.0,
            false => rows.len().min(horizon) as f64 / horizon as f64,
        });
        if covered.sum::<f64>() < LEAST_COVERED * known.len().max(2) as f64 {
            return Err(Error::CoursesTooShort { horizon, whole: known.len() });
        }
        let InitialStates::Observed(states) = &task.initial_states else {
            return Ok(task.initial_states.clone());
        };
        let starts = self.starts(&known);
        let kept: Vec<usize> = (0..states.nrows())
            .filter(|&row| starts.contains_key(&bits(states.row(row))))
            .collect();
        Ok(match kept.len() {
            // They come from elsewhere.
            0 => task.initial_states.clone(),
            _ => InitialStates::Observed(states.select(Axis(0), &kept)),
        })
    }

    /// The rows of a logged episode for each of these states `[count, d_s]`: of the one that started there or, if
    /// none did, of one that started in the most similar circumstances.
    pub(crate) fn rows_from(
        &self,
        states: ArrayView2<'_, f32>,
        horizon: usize,
    ) -> Vec<Range<usize>> {
        let known = self.known(horizon);
        let starts = self.starts(&known);
        let mut taken: HashMap<Vec<u32>, usize> = HashMap::new();
        let of_state = |state: ArrayView1<'_, f32>| {
            let key = bits(state);
            let nth = taken.entry(key.clone()).or_default();
            *nth += 1;
            match starts.get(&key) {
                Some(mine) => mine[(*nth - 1) % mine.len()].clone(),
                None => self.most_similar(&known, state),
            }
        };
        states.rows().into_iter().map(of_state).collect()
    }

    /// First pieces of all episodes that are not cut short by a gap.
    fn known(&self, horizon: usize) -> Vec<Range<usize>> {
        let first = |episode: usize| {
            let pieces = self.episodes.pieces(episode);
            let is_whole = pieces.len() == 1 || pieces[0].len() >= horizon;
            (is_whole && self.episodes.shows_start(episode)).then(|| pieces[0].clone())
        };
        (0..self.episodes.len()).filter_map(first).collect()
    }

    fn starts(&self, known: &[Range<usize>]) -> HashMap<Vec<u32>, Vec<Range<usize>>> {
        let mut starts: HashMap<_, Vec<_>> = HashMap::new();
        for rows in known {
            let state = self.episodes.transitions.states.row(rows.start);
            starts.entry(bits(state)).or_default().push(rows.clone());
        }
        starts
    }

    fn most_similar(&self, known: &[Range<usize>], state: ArrayView1<'_, f32>) -> Range<usize> {
        let logged = &self.episodes.transitions.states;
        let firsts: Vec<usize> = known.iter().map(|rows| rows.start).collect();
        let distances = |column: usize| {
            let values = logged.column(column).select(Axis(0), &firsts);
            let scale = values.std(0.0).max(f32::MIN_POSITIVE);
            values.mapv(|value| ((value - state[column]) / scale).powi(2))
        };
        let sums = self.columns.iter().map(|&column| distances(column));
        let total = sums.reduce(|a, b| a + b).unwrap_or_default();
        let nearest = (0..known.len()).min_by(|&a, &b| total[a].total_cmp(&total[b]));
        nearest.map_or(0..0, |index| known[index].clone())
    }

    /// What the played episodes go through, by their rows.
    pub(crate) fn courses(&self, rows: Vec<Range<usize>>) -> Courses<'a> {
        Courses { columns: self.columns, next_states: &self.episodes.transitions.next_states, rows }
    }
}

/// Two states are the same if all of their bits are.
fn bits(state: ArrayView1<'_, f32>) -> Vec<u32> {
    state.iter().map(|value| (value + 0.0).to_bits()).collect()
}

/// What played episodes go through.
#[derive(Debug, Clone)]
pub(crate) struct Courses<'a> {
    columns: &'a [usize],
    next_states: &'a Array2<f32>,
    /// The logged rows of each episode.
    rows: Vec<Range<usize>>,
}

impl Courses<'_> {
    /// Puts what happens anyway into the next states of the running episodes.
    fn drive(&self, next_states: &mut Array2<f32>, at: &Moment<'_>) {
        for (mut next, &episode) in next_states.rows_mut().into_iter().zip(at.episodes) {
            let rows = &self.rows[episode];
            let row = (rows.start + at.time).min(rows.end.saturating_sub(1));
            for &column in self.columns {
                next[column] = self.next_states[[row, column]];
            }
        }
    }
}

/// A world in which some columns go their own way, and others are remembered.
pub(crate) struct Driven<'a, W> {
    pub(crate) world: W,
    pub(crate) courses: Option<Courses<'a>>,
    pub(crate) history: Option<&'a History>,
}

impl<W: TransitionModel> TransitionModel for Driven<'_, W> {
    fn state_dim(&self) -> usize {
        self.world.state_dim()
    }

    fn action_dim(&self) -> usize {
        self.world.action_dim()
    }

    fn step(
        &mut self,
        at: &Moment<'_>,
        noise: &mut Stream,
        choices: &mut Stream,
    ) -> Result<Outcome> {
        let mut outcome = self.world.step(at, noise, choices)?;
        if let Some(courses) = &self.courses {
            courses.drive(&mut outcome.next_states, at);
        }
        if let Some(history) = self.history {
            let next = outcome.next_states.view();
            outcome.next_states = history.go_on(at.states, at.actions, next);
        }
        Ok(outcome)
    }
}
