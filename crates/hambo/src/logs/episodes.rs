//! Whole logged episodes that a model keeps, to be played again in its worlds.

use std::ops::Range;
use std::sync::OnceLock;

use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;

use super::behaviour::Behaviour;
use super::tensors::{Read, Written};
use crate::dataset::{Batch, Dataset, EpisodeMarks, FlatColumns, Sources};
use crate::error::Result;
use crate::rng::Stream;
use crate::unseen::Unseen;

/// Transitions kept at most, unless the first episode is longer.
const MOST_ROWS: usize = 100_000;

/// Episodes that some of the model has not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEpisodes {
    /// All transitions, one episode after the other.
    pub transitions: Batch,
    /// Which episode of the data each is.
    pub numbers: Vec<usize>,
    /// Exclusive end row of each episode.
    pub ends: Vec<usize>,
    /// Rows before which the log has a gap, increasing.
    pub gaps: Vec<usize>,
    /// Which episodes terminated.
    pub terminated: Vec<bool>,
    /// Which members were not fitted on each, `[episodes, members]`; one column if that is the same for
    /// all.
    pub unseen: Array2<bool>,
    /// Where they came from, if somebody has said it.
    pub sources: Option<Sources>,
    /// Logarithms of the probabilities of the logged actions, one per row, if somebody has said them.
    pub log_probs: Option<Vec<f64>>,
    /// All episodes of the data, these and others.
    pub all: EpisodeMarks,
    behaviour: WhenAsked,
}

/// Learned from the rest, once, when somebody needs it.
#[derive(Debug, Clone, Default)]
struct WhenAsked(OnceLock<Behaviour>);

impl PartialEq for WhenAsked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl LoggedEpisodes {
    /// All of them, which no member has seen for all that is known.
    pub(crate) fn all_of(dataset: &Dataset) -> Self {
        Self::kept_of(
            dataset,
            &Unseen::by_all(dataset.all()),
            (0..dataset.episodes().len()).collect(),
        )
    }

    /// Random ones of those that are unseen.
    pub fn of(dataset: &Dataset, unseen: &Unseen<'_>, rng: &mut Stream) -> Self {
        let mut order = unseen.data().episodes().to_vec();
        order.shuffle(rng);
        let span = |episode: usize| dataset.episodes()[episode].rows.clone();
        let mut rows = 0;
        let fits = |episode: &usize| {
            let more = span(*episode).len();
            let fits = rows == 0 || rows + more <= MOST_ROWS;
            rows += if fits { more } else { 0 };
            fits
        };
        let mut kept: Vec<usize> = order.into_iter().filter(fits).collect();
        kept.sort_unstable();
        Self::kept_of(dataset, unseen, kept)
    }

    fn kept_of(dataset: &Dataset, unseen: &Unseen<'_>, kept: Vec<usize>) -> Self {
        let span = |episode: usize| dataset.episodes()[episode].rows.clone();
        let firsts: Vec<usize> = kept.iter().map(|&episode| span(episode).start).collect();
        let ends = kept.iter().scan(0, |end, &episode| {
            *end += span(episode).len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let moved = |(&episode, &end): (&usize, &usize)| {
            let span = dataset.episodes()[episode].clone();
            let first = end - span.rows.len();
            span.gaps.into_iter().map(move |gap| gap - span.rows.start + first)
        };
        Self {
            gaps: kept.iter().zip(&ends).flat_map(moved).collect(),
            ends,
            terminated: kept.iter().map(|&e| dataset.episodes()[e].terminated).collect(),
            unseen: unseen.of_rows(dataset, &firsts),
            sources: dataset.sources().map(|sources| sources.only(&kept)),
            log_probs: dataset
                .log_probs()
                .map(|values| kept.iter().flat_map(|&e| values[span(e)].iter().copied()).collect()),
            transitions: dataset.gather(&kept.iter().flat_map(|&e| span(e)).collect::<Vec<_>>()),
            all: EpisodeMarks::of(dataset),
            numbers: kept,
            behaviour: WhenAsked::default(),
        }
    }

    /// The same as episodes that are none of the `count` of other data.
    pub(crate) fn not_among(mut self, count: usize) -> Self {
        self.numbers.iter_mut().for_each(|number| *number += count);
        self
    }

    /// Of data that nobody has kept.
    pub fn none(state_dim: usize, action_dim: usize) -> Self {
        Self {
            transitions: Batch::none(state_dim, action_dim),
            numbers: Vec::new(),
            ends: Vec::new(),
            gaps: Vec::new(),
            terminated: Vec::new(),
            unseen: Array2::default((0, 1)),
            sources: None,
            log_probs: None,
            all: EpisodeMarks::default(),
            behaviour: WhenAsked::default(),
        }
    }

    /// As a dataset of their own, without the columns' names.
    pub(crate) fn to_dataset(&self) -> Result<Dataset> {
        let Batch { states, actions, rewards, next_states } = self.transitions.clone();
        let rows = rewards.len();
        let (mut terminated, mut truncated) = (vec![false; rows], vec![false; rows]);
        for (&end, &ended) in self.ends.iter().zip(&self.terminated) {
            terminated[end - 1] = ended;
            truncated[end - 1] = !ended;
        }
        let columns = FlatColumns {
            state_dim: states.ncols(),
            action_dim: actions.ncols(),
            states: states.into_raw_vec_and_offset().0.into(),
            actions: actions.into_raw_vec_and_offset().0.into(),
            rewards: rewards.into_raw_vec_and_offset().0.into(),
            next_states: next_states.into_raw_vec_and_offset().0.into(),
            terminated,
            truncated,
            episode_ends: self.ends.clone(),
            gaps: self.gaps.clone(),
        };
        Ok(Dataset::from_columns(columns, None)?)
    }

    /// The policies that made them.
    pub(crate) fn behaviour(&self) -> &Behaviour {
        let source = |episode| self.sources.as_ref().map_or(0, |sources| sources.of(episode));
        let sources = || (0..self.len()).flat_map(|e| vec![source(e); self.rows(e).len()]);
        self.behaviour.0.get_or_init(|| Behaviour::learn(&self.transitions, sources().collect()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How much of a horizon they last, on average. Those that terminated have nothing left to show.
    pub(crate) fn covered(&self, horizon: usize) -> f64 {
        let of = |episode: usize| match self.terminated[episode] {
            true => 1.0,
            false => self.rows(episode).len().min(horizon) as f64 / horizon as f64,
        };
        (0..self.len()).map(of).sum::<f64>() / self.len().max(1) as f64
    }

    /// The rows of an episode.
    pub(crate) fn rows(&self, episode: usize) -> Range<usize> {
        let start = if episode == 0 { 0 } else { self.ends[episode - 1] };
        start..self.ends[episode]
    }

    /// The rows of an episode between gaps.
    pub(crate) fn pieces(&self, episode: usize) -> Vec<Range<usize>> {
        let rows = self.rows(episode);
        let gaps = self.gaps.iter().copied().filter(|gap| rows.contains(gap) && *gap > rows.start);
        let bounds: Vec<usize> = [rows.start].into_iter().chain(gaps).chain([rows.end]).collect();
        bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The mean action in each step of the horizon, as far as episodes that show their start last without a gap.
    pub(crate) fn mean_actions(&self, horizon: usize) -> Vec<Array1<f64>> {
        let actions = &self.transitions.actions;
        let shown = (0..self.len()).filter(|&episode| self.shows_start(episode));
        let pieces: Vec<Range<usize>> =
            shown.filter_map(|episode| self.pieces(episode).into_iter().next()).collect();
        let mean = |step: usize| {
            let rows = pieces.iter().filter(|piece| step < piece.len());
            let rows: Vec<usize> = rows.map(|piece| piece.start + step).collect();
            actions.select(Axis(0), &rows).mapv(f64::from).mean_axis(Axis(0))
        };
        (0..horizon).map_while(mean).collect()
    }

    /// Whether an episode's first row is where it began.
    pub(crate) fn shows_start(&self, episode: usize) -> bool {
        self.gaps.binary_search(&self.rows(episode).start).is_err()
    }

    /// Which of `members` members have not seen an episode.
    pub(crate) fn unseen_by(&self, episode: usize, members: usize) -> Vec<bool> {
        let flags = self.unseen.index_axis(Axis(0), episode);
        (0..members).map(|member| flags[if flags.len() == members { member } else { 0 }]).collect()
    }

    /// The arrays in the safetensors format; `sources` are not among them.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let written = Written::default().batch(&self.transitions).counts("ends", &self.ends);
        let written = written.counts("numbers", &self.numbers).marks("all", self.all.as_slice());
        let written = written.counts("gaps", &self.gaps);
        let shape = [self.terminated.len()];
        let written = written.flags("terminated", &shape, self.terminated.iter());
        let written = written.flags("unseen", self.unseen.shape(), self.unseen.iter());
        match &self.log_probs {
            Some(values) => written.exact("log_probs", values).to_bytes(),
            None => written.to_bytes(),
        }
    }

    /// Reads what [`to_safetensors`](Self::to_safetensors) wrote.
    pub fn from_safetensors(bytes: &[u8], sources: Option<Sources>) -> Result<Self> {
        let read = Read::new(bytes)?;
        Ok(Self {
            transitions: read.batch()?,
            numbers: read.counts("numbers")?,
            ends: read.counts("ends")?,
            gaps: read.counts("gaps")?,
            terminated: read.flags("terminated")?,
            unseen: read.matrix_of_flags("unseen")?,
            log_probs: read.exact_if_there("log_probs")?,
            all: EpisodeMarks::new(read.marks("all")?),
            behaviour: WhenAsked::default(),
            sources,
        })
    }

    /// Whether the parts belong together and to a model of these widths: needed after loading.
    pub fn fits(&self, state_dim: usize, action_dim: usize, members: usize) -> bool {
        let is_increasing = self.ends.is_sorted_by(|before, after| before < after)
            && self.ends.first().is_none_or(|&first| first > 0);
        let (rows, episodes) = (self.ends.last().copied().unwrap_or(0), self.len());
        is_increasing
            && self.gaps.is_sorted_by(|before, after| before < after)
            && self.gaps.last().is_none_or(|&last| last < rows)
            && self.transitions.fits(rows, state_dim, action_dim)
            && self.log_probs.as_ref().is_none_or(|values| values.len() == rows)
            && self.numbers.len() == episodes
            && self.terminated.len() == episodes
            && self.unseen.nrows() == episodes
            && [1, members].contains(&self.unseen.ncols())
            && self.unseen.rows().into_iter().all(|row| row.iter().any(|&unseen| unseen))
            && self.sources.as_ref().is_none_or(|sources| sources.fits(episodes))
    }
}
