//! A table of what followed, for logs whose states are names.
//!
//! Fields of a board, modes of a machine and classes of patients are names, and a network that takes them
//! for numbers walks between them over values that do not exist, however many logs there are. So outcomes are
//! counted: member k draws what follows a pair of a state and an action from the logged outcomes of that
//! pair, by how often its own draw of the episodes holds them. Pairs that it has not seen may lead to
//! anything that was logged anywhere.
//!
//! Of numbers, such as stocks and queues, a table makes too little: beyond what was logged it knows no
//! direction.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis, concatenate, s};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use super::ensemble::Bag;
use super::{Counted, Dynamics, MemberPrediction, Members, Prediction, check_batch};
use crate::dataset::{Subset, Target};
use crate::error::{Error, Result};
use crate::rng::Seed;

/// Different values of a column, at most.
const MOST_VALUES: usize = 1_000;

/// Smallest standard deviation of what follows a pair, as a share of that of everything.
const MIN_STD: f32 = 1e-4;

/// Values that differ by less than this, relative to their size if that is above one, are the same.
const ROUNDING: f32 = 1e-3;

/// What followed each pair of a state and an action, by how often each member has seen it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "SavedTable", into = "SavedTable")]
pub struct Table {
    saved: SavedTable,
    /// The rows of outcomes of each pair, by the numbers of its values.
    rows: HashMap<Vec<u16>, Range<usize>>,
    /// Of the outcomes before each, `[members, outcomes + 1]`.
    cumulative: Array2<f64>,
}

/// A table as it stands in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTable {
    state_dim: usize,
    predicts_reward: bool,
    /// The values of every column of the state and of the action, in increasing order.
    values: Vec<Vec<f32>>,
    /// Numbers of the values of every pair.
    pairs: Vec<Vec<u16>>,
    /// Exclusive end row of the outcomes of each pair.
    ends: Vec<usize>,
    /// `[outcomes, outputs]`
    outcomes: Array2<f32>,
    /// How often each member has seen each, `[members, outcomes]`.
    counts: Array2<f32>,
}

/// An outcome of a pair: where it was logged first, and how often each member has seen it.
struct Seen {
    first: usize,
    times: Array1<f32>,
}

/// How large a table is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    /// Different pairs of a state and an action.
    pub pairs: usize,
    /// Transitions that were counted.
    pub rows: usize,
}

impl Table {
    /// Counts what followed, as each member of the bag has seen it.
    pub(crate) fn count(
        data: &Subset<'_>,
        bag: &Bag,
        learn_reward: bool,
    ) -> Result<(Self, TableReport)> {
        let dataset = data.dataset();
        let inputs = concatenate(Axis(1), &[dataset.states().view(), dataset.actions().view()])
            .expect("one action per state");
        let values: Vec<Vec<f32>> = inputs.columns().into_iter().map(distinct).collect();
        if values.iter().any(|values| values.len() > MOST_VALUES) {
            let (name, value) = ("tables", "true".into());
            let expected = "states and actions of at most 1,000 different values per column";
            return Err(Error::Setting { name, value, expected });
        }
        let rows: Vec<usize> = (0..data.rows()).map(|index| data.row(index)).collect();
        let outcomes =
            dataset.gather(&rows).targets(Target::NextState, dataset.next_dim(), learn_reward);
        let weights = bag.weights(dataset, &rows);
        // Equal outcomes of a pair are one, in the same order whatever was logged first.
        let mut found: BTreeMap<(Vec<u16>, Vec<u32>), Seen> = BTreeMap::new();
        for (index, &row) in rows.iter().enumerate() {
            let pair = numbers(&values, inputs.row(row)).expect("all values were listed");
            let bits = outcomes.row(index).iter().map(|value| value.to_bits()).collect();
            let entry = found.entry((pair, bits));
            let none = || Seen { first: index, times: Array1::zeros(weights.nrows()) };
            entry.or_insert_with(none).times += &weights.column(index);
        }
        let (mut pairs, mut ends) = (Vec::<Vec<u16>>::new(), Vec::new());
        let mut counts = Array2::zeros((weights.nrows(), found.len()));
        let mut first = Vec::new();
        for (outcome, ((pair, _), seen)) in found.into_iter().enumerate() {
            if pairs.last() != Some(&pair) {
                pairs.push(pair);
                ends.push(outcome);
            }
            *ends.last_mut().expect("one end per pair") = outcome + 1;
            counts.column_mut(outcome).assign(&seen.times);
            first.push(seen.first);
        }
        let report = TableReport { pairs: pairs.len(), rows: rows.len() };
        let saved = SavedTable {
            state_dim: dataset.state_dim(),
            predicts_reward: learn_reward,
            values,
            pairs,
            ends,
            outcomes: outcomes.select(Axis(0), &first),
            counts,
        };
        Ok((Self::of(saved), report))
    }

    fn of(saved: SavedTable) -> Self {
        let starts = std::iter::once(0).chain(saved.ends.iter().copied());
        let ranges = starts.zip(&saved.ends).map(|(start, &end)| start..end);
        let rows = saved.pairs.iter().cloned().zip(ranges).collect();
        let (members, outcomes) = saved.counts.dim();
        let mut cumulative = Array2::zeros((members, outcomes + 1));
        for ((member, outcome), &count) in saved.counts.indexed_iter() {
            cumulative[[member, outcome + 1]] = cumulative[[member, outcome]] + f64::from(count);
        }
        Self { saved, rows, cumulative }
    }

    /// The outcomes of a pair, if any log holds it.
    fn logged(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
    ) -> Option<Range<usize>> {
        let values = state.iter().chain(action).copied().collect::<Array1<f32>>();
        self.rows.get(&numbers(&self.saved.values, values.view())?).cloned()
    }

    /// The outcomes of a pair, if the member has seen it.
    fn seen(
        &self,
        member: usize,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
    ) -> Option<Range<usize>> {
        let rows = self.logged(state, action)?;
        let times = self.cumulative[[member, rows.end]] - self.cumulative[[member, rows.start]];
        (times > 0.0).then_some(rows)
    }

    /// Mean and standard deviation of some outcomes, as a member has seen them.
    fn moments(&self, member: usize, rows: Range<usize>) -> (Array1<f32>, Array1<f32>) {
        let outputs = self.saved.outcomes.ncols();
        let (mut sum, mut squares) = (Array1::<f32>::zeros(outputs), Array1::<f32>::zeros(outputs));
        let mut total = 0.0;
        for outcome in rows {
            let (count, values) =
                (self.saved.counts[[member, outcome]], self.saved.outcomes.row(outcome));
            total += count;
            sum.scaled_add(count, &values);
            squares.scaled_add(count, &(&values * &values));
        }
        let mean = sum / total;
        let variance = squares / total - &mean * &mean;
        (mean, variance.mapv(|variance| variance.max(0.0).sqrt()))
    }
}

impl Counted for Table {
    fn is_logged(&self, state: ArrayView1<'_, f32>, action: ArrayView1<'_, f32>) -> bool {
        self.logged(state, action).is_some()
    }

    fn draw(
        &self,
        members: &[usize],
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        draws: &[f64],
    ) -> Array2<f32> {
        let drawn: Vec<usize> = (0..states.nrows())
            .map(|row| {
                let cumulative = self.cumulative.row(members[row]);
                let known = self.seen(members[row], states.row(row), actions.row(row));
                let among = known.unwrap_or(0..self.saved.outcomes.nrows());
                let (low, high) = (cumulative[among.start], cumulative[among.end]);
                let wanted = low + draws[row] * (high - low);
                let ends = cumulative.slice(s![among.start + 1..among.end]).to_vec();
                among.start + ends.partition_point(|&end| end <= wanted)
            })
            .collect();
        self.saved.outcomes.select(Axis(0), &drawn)
    }
}

impl Dynamics for Table {
    fn state_dim(&self) -> usize {
        self.saved.state_dim
    }

    fn action_dim(&self) -> usize {
        self.saved.values.len() - self.saved.state_dim
    }

    fn next_dim(&self) -> usize {
        self.saved.outcomes.ncols() - usize::from(self.saved.predicts_reward)
    }

    fn predicts_reward(&self) -> bool {
        self.saved.predicts_reward
    }

    fn members(&self) -> usize {
        self.saved.counts.nrows()
    }

    fn counted(&self) -> Option<&dyn Counted> {
        Some(self)
    }

    /// Of a pair that the member has not seen: what it has seen anywhere, moved at random, so that members
    /// disagree about it.
    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        check_batch(self, states, actions)?;
        let shape = (states.nrows(), self.outputs());
        let (mut mean, mut std) = (Array2::zeros(shape), Array2::zeros(shape));
        let anything = self.moments(member, 0..self.saved.outcomes.nrows());
        for row in 0..states.nrows() {
            let (state, action) = (states.row(row), actions.row(row));
            let (its_mean, its_std) = match self.seen(member, state, action) {
                Some(rows) => self.moments(member, rows),
                None => {
                    let rng = &mut Seed(member as u64).stream(&format!("{state} {action}"));
                    let moved = anything.1.mapv(|std| std * rng.sample::<f32, _>(StandardNormal));
                    (&anything.0 + &moved, anything.1.clone())
                }
            };
            mean.row_mut(row).assign(&its_mean);
            // What always followed is known as well as the data is rounded.
            let least = anything.1.mapv(|std| (MIN_STD * std).max(f32::MIN_POSITIVE.sqrt()));
            std.row_mut(row).assign(
                &ndarray::Zip::from(&its_std)
                    .and(&least)
                    .map_collect(|&std, &least| std.max(least)),
            );
        }
        Ok(MemberPrediction { mean, std })
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let shape = (self.members(), states.nrows(), self.outputs());
        let (mut means, mut stds) = (Array3::zeros(shape), Array3::zeros(shape));
        for member in 0..self.members() {
            let predicted = self.predict_member(member, states, actions)?;
            means.index_axis_mut(Axis(0), member).assign(&predicted.mean);
            stds.index_axis_mut(Axis(0), member).assign(&predicted.std);
        }
        Ok(Prediction::of_members(Members { means, stds }))
    }
}

impl TryFrom<SavedTable> for Table {
    type Error = String;

    fn try_from(saved: SavedTable) -> std::result::Result<Self, String> {
        let (outcomes, columns) = (saved.outcomes.nrows(), saved.values.len());
        let next_dim = saved.outcomes.ncols().saturating_sub(usize::from(saved.predicts_reward));
        let are_numbers = |pair: &Vec<u16>| {
            pair.len() == columns
                && pair.iter().zip(&saved.values).all(|(&n, values)| usize::from(n) < values.len())
        };
        let fits = (1..columns).contains(&saved.state_dim)
            && (1..=saved.state_dim).contains(&next_dim)
            && saved.outcomes.iter().all(|value| value.is_finite())
            && saved.counts.ncols() == outcomes
            && saved.counts.nrows() >= 1
            && saved.counts.iter().all(|&count| count.is_finite() && count >= 0.0)
            && saved.counts.rows().into_iter().all(|row| row.sum() > 0.0)
            && saved.pairs.len() == saved.ends.len()
            && saved.pairs.iter().all(are_numbers)
            && saved.values.iter().all(|values| values.is_sorted_by(|a, b| a < b))
            && saved.ends.is_sorted_by(|before, after| before < after)
            && saved.ends.first().is_some_and(|&first| first > 0)
            && saved.ends.last() == Some(&outcomes);
        if fits { Ok(Self::of(saved)) } else { Err("the table's parts do not fit together".into()) }
    }
}

impl From<Table> for SavedTable {
    fn from(table: Table) -> Self {
        table.saved
    }
}

fn distinct(column: ArrayView1<'_, f32>) -> Vec<f32> {
    // Zero has two signs.
    let mut values: Vec<f32> = column.iter().map(|value| value + 0.0).collect();
    values.sort_unstable_by(f32::total_cmp);
    values.dedup();
    values
}

/// The number of each column's value; none if one of them was never logged.
fn numbers(values: &[Vec<f32>], row: ArrayView1<'_, f32>) -> Option<Vec<u16>> {
    let number = |(values, &value): (&Vec<f32>, &f32)| {
        let above = values.partition_point(|&logged| logged < value);
        let near = [above.checked_sub(1), Some(above)].into_iter().flatten();
        let apart = |&index: &usize| (values[index] - value).abs();
        let nearest = near
            .filter(|&index| index < values.len())
            .min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        (apart(&nearest) <= ROUNDING * value.abs().max(1.0)).then_some(nearest as u16)
    };
    values.iter().zip(row).map(number).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::dataset::{Dataset, Episode};
    use crate::dynamics::ensemble::EnsembleSettings;

    /// From field 0, action 1 leads to 5 in every third episode and to 9 in all others; action 0 to 0.
    fn table(episodes: usize, members: usize) -> Table {
        let one = |index: usize| {
            let end = if index.is_multiple_of(3) { 5.0 } else { 9.0 };
            Episode {
                states: array![[0.0], [0.0]],
                actions: array![[0.0], [1.0]],
                rewards: array![0.0, end],
                next_states: array![[0.0], [end]],
                terminated: true,
                truncated: false,
            }
        };
        let data = Dataset::from_episodes((0..episodes).map(one).collect()).unwrap();
        let settings = EnsembleSettings { members, ..Default::default() };
        let bag = Bag::draw(&data.all(), &settings, Seed(0)).unwrap();
        Table::count(&data.all(), &bag, true).unwrap().0
    }

    #[test]
    fn members_draw_what_they_have_seen_as_often_as_they_have_seen_it() {
        let table = table(900, 4);
        let draws: Vec<f64> = (0..1_000).map(|index| (f64::from(index) + 0.5) / 1_000.0).collect();
        let (states, actions) = (Array2::zeros((1_000, 1)), Array2::ones((1_000, 1)));
        let drawn = table.draw(&[2; 1_000], states.view(), actions.view(), &draws);
        let fives = drawn.column(0).iter().filter(|&&field| field == 5.0).count();
        assert!(drawn.column(0).iter().all(|&field| field == 5.0 || field == 9.0));
        // A bootstrap of 900 episodes: a third, give or take four times sqrt(2/9 / 900 * 2).
        assert!((244..422).contains(&fives), "{fives}");
        assert_eq!(drawn.column(0), drawn.column(1), "the reward is that of the same outcome");
        let stays = table.draw(&[0; 1_000], states.view(), states.view(), &draws);
        assert!(stays.iter().all(|&value| value == 0.0));
    }

    #[test]
    fn a_pair_that_was_never_logged_may_lead_anywhere_and_is_doubtful() {
        let table = table(300, 4);
        let draws: Vec<f64> = (0..100).map(|index| (f64::from(index) + 0.5) / 100.0).collect();
        let (states, actions) = (Array2::from_elem((100, 1), 3.0), Array2::zeros((100, 1)));
        let drawn = table.draw(&[0; 100], states.view(), actions.view(), &draws);
        for field in [0.0, 5.0, 9.0] {
            assert!(drawn.column(0).iter().any(|&value| value == field), "{field}");
        }
        let known = table.predict(array![[0.0]].view(), array![[1.0]].view()).unwrap();
        let unknown = table.predict(array![[3.0]].view(), array![[1.0]].view()).unwrap();
        assert!(unknown.epistemic_std[[0, 0]] > 3.0 * known.epistemic_std[[0, 0]]);
    }

    #[test]
    fn a_table_survives_being_written_and_a_damaged_one_is_refused() {
        let table = table(30, 3);
        let text = serde_json::to_string(&table).unwrap();
        let read: Table = serde_json::from_str(&text).unwrap();
        let [states, actions] = [array![[0.0], [7.0]], array![[1.0], [1.0]]];
        let draw = |table: &Table| table.draw(&[0, 1], states.view(), actions.view(), &[0.4, 0.7]);
        assert_eq!(draw(&read), draw(&table));
        let damaged = text.replacen("\"state_dim\":1", "\"state_dim\":2", 1);
        assert!(serde_json::from_str::<Table>(&damaged).is_err());
    }
}
