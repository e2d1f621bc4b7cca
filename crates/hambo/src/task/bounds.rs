//! Where states can be.

use ndarray::{Array1, Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::dataset::{self, Dataset, Usual};
use crate::error::{Error, Result};

/// Share of the values that may be like nothing else without being a part of the range.
const FEW: f64 = 0.001;

/// So many are few in any data.
const LEAST_FEW: f64 = 3.0;

/// What every state obeys: limits per column, and pairs of columns that are an angle's cosine and sine.
///
/// Whatever the true next state is, it obeys them, and moving it into them leaves it where it is; so an
/// adversary that is confined to them can still choose the truth, and its return is still a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedBounds")]
pub struct StateBounds {
    pub(super) low: Array1<f32>,
    pub(super) high: Array1<f32>,
    pub(super) angles: Vec<(usize, usize)>,
}

/// Bounds as they stand in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedBounds {
    low: Array1<f32>,
    high: Array1<f32>,
    angles: Vec<(usize, usize)>,
}

impl TryFrom<UncheckedBounds> for StateBounds {
    type Error = Error;

    fn try_from(from: UncheckedBounds) -> Result<Self> {
        let bounds = Self::new(from.low, from.high)?;
        from.angles.into_iter().try_fold(bounds, |bounds, (c, s)| bounds.with_angle(c, s))
    }
}

impl StateBounds {
    /// `low <= high` in every column; infinite limits are allowed, NaN is not.
    pub fn new(low: Array1<f32>, high: Array1<f32>) -> Result<Self> {
        let ordered = low.iter().zip(&high).all(|(low, high)| low <= high);
        if low.len() != high.len() || !ordered {
            let value = format!("{low} to {high}");
            let expected = "equally many limits, low <= high in every column";
            return Err(Error::Setting { name: "state_bounds", value, expected });
        }
        Ok(Self { low, high, angles: Vec::new() })
    }

    /// Says that two columns are the cosine and the sine of an angle.
    pub fn with_angle(mut self, cosine: usize, sine: usize) -> Result<Self> {
        let columns = self.low.len();
        if cosine.max(sine) >= columns || cosine == sine {
            let value = format!("{cosine} and {sine}");
            let expected = "two different columns of the state";
            return Err(Error::Setting { name: "angle", value, expected });
        }
        self.angles.push((cosine, sine));
        Ok(self)
    }

    /// The range of a dataset's states and next states, which a few readings that are like nothing else do not
    /// stretch; and the angles among them.
    pub fn of_data(dataset: &Dataset) -> Self {
        let (states, next_states) = (dataset.states(), dataset.next_states());
        let range = |column: usize| {
            let all =
                || states.column(column).into_iter().chain(next_states.column(column)).copied();
            let usual = Usual::of(states.column(column).iter().copied());
            let is_odd = |value: f32| usual.is_some_and(|usual| usual.is_far(value));
            let odd = states.column(column).iter().filter(|value| is_odd(**value)).count();
            let are_few = odd as f64 <= (FEW * states.nrows() as f64).max(LEAST_FEW);
            let counted = all().filter(|&value| !are_few || !is_odd(value));
            let none = (f32::INFINITY, f32::NEG_INFINITY);
            counted.fold(none, |(low, high), value| (low.min(value), high.max(value)))
        };
        let (low, high): (Vec<f32>, Vec<f32>) = (0..dataset.state_dim()).map(range).unzip();
        let angles = dataset::angles([states, next_states]);
        Self { low: low.into(), high: high.into(), angles }
    }

    /// Widened on both sides by `share` of their width.
    pub fn widened(&self, share: f32) -> Self {
        let margin = (&self.high - &self.low) * share;
        Self { low: &self.low - &margin, high: &self.high + &margin, ..self.clone() }
    }

    /// With what is the same in all data: what never changes stays, and angles stay angles.
    pub(crate) fn obeying(mut self, data: &Self) -> Self {
        for column in data.constants() {
            self.low[column] = data.low[column];
            self.high[column] = data.high[column];
        }
        let declared = self.angles.clone();
        let is_new = |pair: &&(usize, usize)| {
            declared.iter().all(|&(c, s)| ![c, s].contains(&pair.0) && ![c, s].contains(&pair.1))
        };
        self.angles.extend(data.angles.iter().filter(is_new));
        self
    }

    /// Columns that have one value.
    pub fn constants(&self) -> impl Iterator<Item = usize> {
        (0..self.low.len()).filter(|&column| self.low[column] == self.high[column])
    }

    /// Pairs of columns that are an angle's cosine and sine.
    pub fn angles(&self) -> &[(usize, usize)] {
        &self.angles
    }

    /// With one column's limits moved outwards to these, where there are any.
    pub(crate) fn extended(mut self, column: usize, [low, high]: [Option<f32>; 2]) -> Self {
        self.low[column] = low.unwrap_or(self.low[column]).min(self.low[column]);
        self.high[column] = high.unwrap_or(self.high[column]).max(self.high[column]);
        self
    }

    /// Without limits where there is only one value, which no model predicts exactly.
    pub(crate) fn of_what_varies(mut self) -> Self {
        for column in self.constants().collect::<Vec<_>>() {
            (self.low[column], self.high[column]) = (f32::NEG_INFINITY, f32::INFINITY);
        }
        self
    }

    /// Which of the states are beyond a limit.
    pub fn beyond(&self, states: &Array2<f32>) -> Array1<bool> {
        let is_beyond = |row: ArrayView1<'_, f32>| {
            let limits = self.low.iter().zip(&self.high);
            row.iter().zip(limits).any(|(value, (low, high))| value < low || value > high)
        };
        states.rows().into_iter().map(is_beyond).collect()
    }

    /// Smallest and largest value of every column.
    pub fn columns(&self) -> Vec<[f32; 2]> {
        self.low.iter().zip(&self.high).map(|(&low, &high)| [low, high]).collect()
    }

    /// The smallest allowed value of every column.
    pub fn low(&self) -> &Array1<f32> {
        &self.low
    }

    /// The largest allowed value of every column.
    pub fn high(&self) -> &Array1<f32> {
        &self.high
    }

    /// Moves every state to the nearest one within the limits, and then onto the circles of its
    /// angles.
    pub fn clamp(&self, states: &mut Array2<f32>) {
        for mut row in states.rows_mut() {
            ndarray::Zip::from(&mut row)
                .and(&self.low)
                .and(&self.high)
                .for_each(|value, &low, &high| *value = value.clamp(low, high));
            for &(cosine, sine) in &self.angles {
                let length = row[cosine].hypot(row[sine]);
                // At the centre all directions are equally near.
                let (x, y) = if length > 0.0 {
                    (row[cosine] / length, row[sine] / length)
                } else {
                    (1.0, 0.0)
                };
                (row[cosine], row[sine]) = (x, y);
            }
        }
    }
}

/// Where hallucinated states may go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateLimits {
    /// The limits that the task declares.
    Task,
    /// The range of the data, widened on both sides by this share of its width.
    Data {
        /// The share.
        widened: f32,
        /// Columns whose limits reach further, because an episode ends a little beyond them.
        #[serde(default)]
        extended: Vec<String>,
    },
}

/// Where learned rewards may be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RewardLimits {
    /// The smallest reward of a step.
    pub low: f32,
    /// The largest.
    pub high: f32,
    /// They are the logged range, widened on both sides by this share of its width; none if the task
    /// declares them.
    pub widened: Option<f32>,
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// A speed, a cosine, a sine and a constant.
    fn shown() -> StateBounds {
        let (low, high) = (array![-5.0, -1.0, -1.0, 3.0], array![5.0, 1.0, 1.0, 3.0]);
        StateBounds::new(low, high).unwrap().with_angle(1, 2).unwrap()
    }

    #[test]
    fn what_holds_in_all_data_holds_in_every_state() {
        let mut states = array![[0.3, 3.0, 4.0, 2.9], [-99.0, 0.0, 0.0, 7.0]];
        shown().widened(0.5).clamp(&mut states);
        let diagonal = 0.5_f32.sqrt();
        let expected = array![[0.3, diagonal, diagonal, 3.0], [-10.0, 1.0, 0.0, 3.0]];
        let apart = (&states - &expected).mapv(f32::abs).into_iter().fold(0.0, f32::max);
        assert!(apart < 1e-6, "{states}");
    }

    #[test]
    fn declared_limits_are_joined_by_what_the_data_shows() {
        let (low, high) = (array![-4.0, -2.0, -2.0, -9.0], array![4.0, 2.0, 2.0, 9.0]);
        let declared = StateBounds::new(low, high).unwrap();
        let joined = declared.clone().obeying(&shown());
        assert_eq!(joined.columns()[2..], [[-2.0, 2.0], [3.0, 3.0]]);
        assert_eq!(joined.angles(), [(1, 2)]);
        // What is declared comes first.
        let other = declared.with_angle(2, 0).unwrap();
        assert_eq!(other.obeying(&shown()).angles(), [(2, 0)]);
        // A constant is no limit that could be exceeded.
        let drifted = array![[0.0, 0.0, 0.0, 3.001]];
        assert_eq!(joined.beyond(&drifted), array![true]);
        assert_eq!(joined.of_what_varies().beyond(&drifted), array![false]);
    }
}
