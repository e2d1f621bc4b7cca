//! Values of pairs that were counted, for states that are names: exact for the transitions that each member has seen.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView1};

use super::fitting::{Fitting, Questions};
use crate::error::Result;
use crate::progress::{Event, report};

type Pair = Vec<i64>;

/// Values that differ by less are the same.
const ROUNDING: f64 = 1e-4;

fn pair(state: ArrayView1<'_, f32>, action: ArrayView1<'_, f32>) -> Pair {
    state.iter().chain(action).map(|&value| (f64::from(value) / ROUNDING).round() as i64).collect()
}

pub(super) fn answers(
    fitting: &Fitting<'_>,
    next: &[Array2<f32>],
    questions: &Questions,
) -> Result<Array2<f64>> {
    let logs = fitting.logs;
    let logged = &logs.kept.transitions;
    let rows = logs.rewards.len();
    let mut numbers: HashMap<Pair, usize> = HashMap::new();
    let of_rows: Vec<usize> = (0..rows)
        .map(|row| {
            let count = numbers.len();
            *numbers.entry(pair(logged.states.row(row), logged.actions.row(row))).or_insert(count)
        })
        .collect();
    let number = |state, action| numbers.get(&pair(state, action)).copied();
    // What may follow each row: pairs, or none of those that were logged.
    let follows: Vec<Vec<Option<usize>>> = (0..rows)
        .map(|row| {
            let state = || logged.next_states.row(row);
            next.iter().map(|actions| number(state(), actions.row(row))).collect()
        })
        .collect();
    let asked: Vec<Option<usize>> = (0..questions.len())
        .map(|index| number(questions.states.row(index), questions.actions.row(index)))
        .collect();
    let (weights, goes_on) = (fitting.weights(), fitting.goes_on());
    let discount = f64::from(logs.task.discount);
    let mut found = Array2::zeros((weights.nrows(), questions.len()));
    for (member, weights) in weights.rows().into_iter().enumerate() {
        report(fitting.observer, &members(fitting.bag.nrows(), member))?;
        let mut seen = vec![0.0; numbers.len()];
        of_rows.iter().zip(weights).for_each(|(&pair, &weight)| seen[pair] += f64::from(weight));
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        // Of a pair that a member has not seen it knows what a step earns on average.
        let average = (0..rows).map(|row| f64::from(weights[row] * logs.rewards[row])).sum::<f64>()
            / total.max(f64::MIN_POSITIVE);
        let mut values = vec![0.0; numbers.len()];
        for left in 1..=logs.task.horizon {
            let unknown = average * logs.weight_of(left - 1);
            let mut sums = vec![0.0; numbers.len()];
            for row in (0..rows).filter(|&row| weights[row] > 0.0) {
                let value = |pair: &Option<usize>| pair.map_or(unknown, |pair| values[pair]);
                let after = follows[row].iter().map(value).sum::<f64>() / follows[row].len() as f64;
                let target =
                    f64::from(logs.rewards[row]) + discount * f64::from(goes_on[row]) * after;
                sums[of_rows[row]] += f64::from(weights[row]) * target;
            }
            let unknown = average * logs.weight_of(left);
            let mean = |(sum, seen): (&f64, &f64)| if *seen > 0.0 { sum / seen } else { unknown };
            values = sums.iter().zip(&seen).map(mean).collect();
            for index in (0..questions.len()).filter(|&index| questions.left[index] == left) {
                found[[member, index]] = asked[index].map_or(unknown, |pair| values[pair]);
            }
        }
    }
    Ok(found)
}

fn members(of: usize, step: usize) -> Event {
    Event { stage: "fitted Q evaluation", step, of, metric: None }
}
