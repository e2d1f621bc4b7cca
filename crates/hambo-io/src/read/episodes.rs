//! From rows to episodes: where one ends, and what follows each step. Wrong boundaries are the most
//! common silent error in logged data, so everything that contradicts itself is refused.
//!
//! Where a value or a step is missing, the log has a gap: what was before it is not joined with what comes after.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hambo::dataset::{ColumnNames, Transition};

use super::mapping::Missing;
use super::rows::{Rows, Rules};
use super::table::Key;
use crate::error::{Error, Result};

/// Times may be so much earlier or later than they should, as a share of the time between steps.
const JITTER: f64 = 0.1;

/// Takes transitions and the ends of episodes, in order. Only episodes with transitions end.
pub(crate) trait Sink {
    fn push(&mut self, transition: Transition<'_>) -> Result<()>;

    /// The log has a gap before the next transition; before the first one of an episode, it does not show how
    /// that began.
    fn gap(&mut self);

    /// `source` is where the episode came from, if the log says it.
    fn end(&mut self, terminated: bool, truncated: bool, source: Option<Key>) -> Result<()>;
}

/// What had to be decided on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Last rows of episodes, dropped because nothing says where they led.
    pub dropped_rows: u64,
    /// How many of those were marked as terminated.
    pub dropped_terminations: u64,
    /// Episodes that end without a mark, and count as cut off.
    pub unmarked_ends: u64,
    /// Rows in which a value is missing.
    pub missing_rows: u64,
    /// In which columns, of states, actions and the reward, in this order.
    pub missing: Vec<u64>,
    /// Places at which steps are missing.
    pub step_gaps: u64,
    /// Rows that came once more, with the same step and values.
    pub repeated: u64,
    /// By how much steps grow.
    pub stride: Option<i64>,
}

/// Turns rows into episodes.
#[derive(Debug)]
pub(crate) struct Assembler {
    names: ColumnNames,
    rules: Rules,
    open: Option<OpenEpisode>,
    closed: Closed,
    /// The last transition that was handed on is not followed by the next one.
    after_gap: bool,
    pub tally: Tally,
}

/// Episodes that are over. There may be as many as rows, and most have numbers.
#[derive(Debug, Default)]
struct Closed {
    numbers: HashSet<i64>,
    texts: HashSet<String>,
}

impl Closed {
    fn contains(&self, key: &Key) -> bool {
        match key {
            Key::Number(number) => self.numbers.contains(number),
            Key::Text(text) => self.texts.contains(text),
        }
    }

    fn insert(&mut self, key: Option<Key>) {
        match key {
            Some(Key::Number(number)) => {
                self.numbers.insert(number);
            }
            Some(Key::Text(text)) => {
                self.texts.insert(text);
            }
            None => {}
        }
    }
}

#[derive(Debug)]
struct OpenEpisode {
    key: Option<Key>,
    source: Option<Key>,
    /// The last row's step number.
    step: Option<i64>,
    /// Where the log was cut last, if it is cut.
    since: Option<i64>,
    /// Transitions handed to the sink.
    pushed: usize,
    /// The last row, while its next state is still unknown.
    waiting: Option<Waiting>,
    terminated: bool,
    truncated: bool,
    path: PathBuf,
    last_row: u64,
}

#[derive(Debug)]
struct Waiting {
    state: Vec<f32>,
    action: Vec<f32>,
    reward: f32,
    others: Vec<f32>,
    log_prob: f64,
}

/// One row of a file.
struct Row<'a> {
    at: At<'a>,
    state: &'a [f32],
    action: &'a [f32],
    reward: f32,
    others: &'a [f32],
    log_prob: f64,
    next_state: Option<&'a [f32]>,
    terminated: bool,
    truncated: bool,
    key: Option<&'a Key>,
    step: Option<i64>,
    /// Where the log was cut last, if it is cut.
    since: Option<i64>,
    source: Option<&'a Key>,
}

#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a Path,
    row: u64,
}

fn is_known(values: &[f32]) -> bool {
    !values.iter().any(|value| value.is_nan())
}

impl Assembler {
    pub(crate) fn new(names: ColumnNames, rules: Rules) -> Self {
        let missing = vec![0; names.states.len() + names.actions.len() + 1];
        let tally = Tally { missing, ..Tally::default() };
        Self { names, rules, open: None, closed: Closed::default(), after_gap: false, tally }
    }

    /// Takes the next rows, of which the first is row `first_row` of the file at `path`.
    pub(crate) fn add(
        &mut self,
        path: &Path,
        first_row: u64,
        rows: &Rows,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (ds, da) = (self.names.states.len(), self.names.actions.len());
        let others = self.rules.reward.as_ref().map_or(0, |formula| formula.others);
        self.tally.stride = self.tally.stride.or_else(|| usual_stride(rows));
        for index in 0..rows.count {
            let states = index * ds..(index + 1) * ds;
            let flag = |flags: &Option<Vec<bool>>| flags.as_ref().is_some_and(|f| f[index]);
            let step = rows.step.as_ref().map(|steps| steps[index]);
            let last_cut = |step: i64| self.rules.cut.map(|cut| step - cut.since(step));
            let row = Row {
                at: At { path, row: first_row + index as u64 },
                state: &rows.states[states.clone()],
                action: &rows.actions[index * da..(index + 1) * da],
                reward: rows.rewards[index],
                others: &rows.others[index * others..(index + 1) * others],
                log_prob: rows.log_probs.as_ref().map_or(f64::NAN, |values| values[index]),
                next_state: rows.next_states.as_ref().map(|next| &next[states]),
                terminated: flag(&rows.terminated),
                truncated: flag(&rows.truncated),
                key: rows.episode.as_ref().map(|keys| &keys[index]),
                step,
                since: step.and_then(last_cut),
                source: rows.source.as_ref().map(|sources| &sources[index]),
            };
            self.row(row, sink)?;
        }
        Ok(())
    }

    /// The log is over.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.close(sink)
    }

    fn row(&mut self, row: Row<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.open.as_ref().is_some_and(|open| open.is_repeated_by(&row)) {
            self.tally.repeated += 1;
            return Ok(());
        }
        self.count_missing(&row)?;
        match self.open.as_ref().map(|open| open.is_over_at(&row, self.rules.times)) {
            Some(Over::Yes) => self.close(sink)?,
            Some(Over::ByCut) => self.cut(&row, sink)?,
            Some(Over::No) => self.check_goes_on(&row)?,
            None => {}
        }
        if self.open.is_none() {
            self.open = Some(self.begin(&row)?);
            self.after_gap = !self.shows_start(&row);
        }
        self.hand_on_waiting(row.state, sink)?;
        let Row { state, action, reward, others, log_prob, .. } = row;
        let waiting = || Waiting {
            state: state.to_vec(),
            action: action.to_vec(),
            reward,
            others: others.to_vec(),
            log_prob,
        };
        let is_usable = is_known(state) && is_known(action) && !reward.is_nan() && is_known(others);
        match row.next_state {
            _ if !is_usable => self.after_gap = true,
            Some(next_state) => self.hand_on(waiting(), next_state, sink)?,
            None => self.opened().waiting = Some(waiting()),
        }
        let open = self.opened();
        (open.terminated, open.truncated) = (row.terminated, row.truncated);
        (open.step, open.last_row) = (row.step, row.at.row);
        Ok(())
    }

    fn opened(&mut self) -> &mut OpenEpisode {
        self.open.as_mut().expect("an episode was begun")
    }

    /// The row before, if this state follows it.
    fn hand_on_waiting(&mut self, state: &[f32], sink: &mut dyn Sink) -> Result<()> {
        match self.opened().waiting.take() {
            Some(waiting) => self.hand_on(waiting, state, sink),
            None => Ok(()),
        }
    }

    fn hand_on(&mut self, waiting: Waiting, next_state: &[f32], sink: &mut dyn Sink) -> Result<()> {
        let Waiting { state, action, reward, others, log_prob } = &waiting;
        let reward = match &self.rules.reward {
            Some(formula) if is_known(next_state) => {
                formula.reward(state, action, others, next_state)?
            }
            _ => *reward,
        };
        if !is_known(next_state) || reward.is_nan() {
            self.after_gap = true;
            return Ok(());
        }
        if std::mem::take(&mut self.after_gap) {
            sink.gap();
        }
        sink.push(Transition { state, action, reward, next_state, log_prob: *log_prob })?;
        self.opened().pushed += 1;
        Ok(())
    }

    /// Counts what is missing, or refuses it.
    fn count_missing(&mut self, row: &Row<'_>) -> Result<()> {
        let others = if is_known(row.others) { row.reward } else { f32::NAN };
        let values = row.state.iter().chain(row.action).copied().chain([others]);
        let mut is_missing = row.next_state.is_some_and(|next| !is_known(next));
        for (column, _) in values.enumerate().filter(|(_, value)| value.is_nan()) {
            is_missing = true;
            self.tally.missing[column] += 1;
            if self.rules.missing == Missing::Refuse {
                let (path, row) = (row.at.path.to_owned(), row.at.row);
                let mut names = self.names.states.iter().chain(&self.names.actions);
                let column = names.nth(column).cloned().unwrap_or_else(|| "reward".into());
                let advice =
                    "with `data.missing = \"split\"` the log goes on after it as after a gap";
                return Err(Error::Value { path, row, column, value: "missing".into(), advice });
            }
        }
        self.tally.missing_rows += u64::from(is_missing);
        Ok(())
    }

    /// Where a log is cut into days, an episode that begins at noon does not show its start.
    fn shows_start(&self, row: &Row<'_>) -> bool {
        match (row.step, row.since) {
            (Some(step), Some(since)) => step - since < self.tally.stride.unwrap_or(1),
            _ => true,
        }
    }

    fn begin(&self, row: &Row<'_>) -> Result<OpenEpisode> {
        let key = match (row.key.cloned(), row.since) {
            (Some(key), Some(since)) => Some(key.with(Key::Number(since))),
            (None, Some(since)) => Some(Key::Number(since)),
            (key, None) => key,
        };
        if let Some(key) = key.as_ref().filter(|key| self.closed.contains(key)) {
            let path = row.at.path.to_owned();
            let began = || row.since.map(super::time::moment);
            let named = row.key.map(Key::to_string);
            let episode = named.or_else(began).unwrap_or_else(|| key.to_string());
            return Err(Error::EpisodeReturns { path, row: row.at.row, episode });
        }
        Ok(OpenEpisode {
            key: row.key.cloned(),
            source: row.source.cloned(),
            step: row.step,
            since: row.since,
            pushed: 0,
            waiting: None,
            terminated: false,
            truncated: false,
            path: row.at.path.to_owned(),
            last_row: row.at.row,
        })
    }

    /// The log goes on, but the episode ends: the next state of its last row is known.
    fn cut(&mut self, row: &Row<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.follows(row) {
            self.hand_on_waiting(row.state, sink)?;
        }
        let open = self.opened();
        open.waiting = None;
        open.truncated = !open.terminated;
        self.close(sink)
    }

    fn close(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.closed.insert(match (open.key, open.since) {
            (Some(key), Some(since)) => Some(key.with(Key::Number(since))),
            (None, Some(since)) => Some(Key::Number(since)),
            (key, None) => key,
        });
        let marked = open.terminated || open.truncated;
        // Without its last row, an episode that terminated is one that was cut off before.
        let (terminated, truncated) = match open.waiting {
            Some(_) => {
                self.tally.dropped_rows += 1;
                self.tally.dropped_terminations += u64::from(open.terminated);
                (false, true)
            }
            None => (open.terminated, open.truncated || !marked),
        };
        self.tally.unmarked_ends += u64::from(!marked);
        match open.pushed {
            0 => Ok(()),
            _ => sink.end(terminated, truncated, open.source),
        }
    }

    /// Whether a row is one step after the last one of its episode.
    fn follows(&self, row: &Row<'_>) -> bool {
        let last = self.open.as_ref().and_then(|open| open.step);
        let (Some(last), Some(found), Some(stride)) = (last, row.step, self.tally.stride) else {
            return true;
        };
        let room = if self.rules.times { JITTER * stride as f64 } else { 0.0 };
        (found.wrapping_sub(last).wrapping_sub(stride) as f64).abs() <= room
    }

    /// The row belongs to the episode that is open: nothing may say otherwise.
    fn check_goes_on(&mut self, row: &Row<'_>) -> Result<()> {
        let follows = self.follows(row);
        let Some(open) = self.open.as_mut() else { return Ok(()) };
        let flags = [("terminated", open.terminated), ("truncated", open.truncated)];
        if let Some((flag, _)) = flags.into_iter().find(|(_, set)| *set) {
            let (path, row) = (open.path.clone(), open.last_row);
            let episode = open.key.as_ref().map(Key::to_string).unwrap_or_default();
            return Err(Error::GoesOn { path, row, flag, episode });
        }
        if let (Some(own), Some(other)) = (&open.source, row.source)
            && own != other
        {
            let (path, row) = (row.at.path.to_owned(), row.at.row);
            let (source_before, found) = (own.to_string(), other.to_string());
            return Err(Error::SourceChanges { path, row, source_before, found });
        }
        if let (Some(last), Some(found)) = (open.step, row.step)
            && (found <= last || (!follows && self.rules.missing == Missing::Refuse))
        {
            let path = row.at.path.to_owned();
            let shown = |step: i64| match self.rules.times {
                true => super::time::moment(step),
                false => step.to_string(),
            };
            let (last, found) = (shown(last), shown(found));
            return Err(Error::StepGap { path, row: row.at.row, last, found });
        }
        if !follows {
            self.tally.step_gaps += 1;
            open.waiting = None;
            self.after_gap = true;
        }
        Ok(())
    }
}

/// By how much most steps grow.
fn usual_stride(rows: &Rows) -> Option<i64> {
    let steps = rows.step.as_ref()?;
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for index in 1..steps.len() {
        let same = rows.episode.as_ref().is_none_or(|keys| keys[index - 1] == keys[index]);
        let grown = steps[index].wrapping_sub(steps[index - 1]);
        if same && grown > 0 {
            *counts.entry(grown).or_default() += 1;
        }
    }
    // The smaller of equals.
    counts
        .into_iter()
        .max_by_key(|&(grown, count)| (count, std::cmp::Reverse(grown)))
        .map(|(g, _)| g)
}

/// Whether an episode ends before a row.
enum Over {
    Yes,
    /// The log goes on, but is cut here.
    ByCut,
    No,
}

impl OpenEpisode {
    /// Whether a row is the last one once more, with the same step and the same values.
    fn is_repeated_by(&self, row: &Row<'_>) -> bool {
        let is_same_step =
            self.step.is_some() && self.step == row.step && self.key.as_ref() == row.key;
        let has_same_values = |last: &Waiting| {
            last.state == row.state
                && last.action == row.action
                && last.reward == row.reward
                && last.others == row.others
        };
        is_same_step && self.waiting.as_ref().is_some_and(has_same_values)
    }

    /// Numbers begin again in every episode; time does not.
    fn is_over_at(&self, row: &Row<'_>, times: bool) -> Over {
        let is_over = match (&self.key, row.key) {
            (Some(own), Some(next)) => own != next,
            _ => {
                let starts_again =
                    matches!((self.step, row.step), (Some(last), Some(next)) if next <= last);
                self.terminated || self.truncated || (starts_again && !times)
            }
        };
        match is_over {
            true => Over::Yes,
            false if self.since != row.since => Over::ByCut,
            false => Over::No,
        }
    }
}
