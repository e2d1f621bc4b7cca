//! What a policy may do, and how a learner sees it.

use std::collections::BTreeSet;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::actor_critic::Head;
use crate::error::{Error, Result};
use crate::logs::LoggedActions;

/// Different actions that a learner chooses from, at most.
const MOST_CHOICES: usize = 256;

/// What a policy may do.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionSpace {
    /// Anything within limits.
    Within(ActionLimits),
    /// One of these rows, `[choices, d_a]`.
    OneOf(Array2<f32>),
}

/// Smallest and largest action, per column.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionLimits {
    /// The smallest.
    pub low: Array1<f32>,
    /// The largest.
    pub high: Array1<f32>,
}

impl ActionSpace {
    /// What was done in logs: one of a few things in every column, or anything in between.
    pub fn of(columns: &[LoggedActions], logged: ArrayView2<'_, f32>) -> Result<Self> {
        if columns.is_empty() || logged.nrows() == 0 {
            return Err(Error::TooFewEpisodes { found: 0 });
        }
        let chooses = |column: &LoggedActions| matches!(column, LoggedActions::Choices(_));
        if columns.iter().all(chooses) {
            // By their bits, which order as the numbers do, or as good as that.
            let bits = |row: ArrayView1<'_, f32>| row.iter().map(|v| v.to_bits()).collect();
            let rows: BTreeSet<Vec<u32>> = logged.rows().into_iter().map(bits).collect();
            if rows.len() > MOST_CHOICES {
                return Err(Error::Choices { choices: rows.len(), most: MOST_CHOICES });
            }
            let values = rows.iter().flatten().map(|&bits| f32::from_bits(bits)).collect();
            let shape = (rows.len(), columns.len());
            return Ok(Self::OneOf(Array2::from_shape_vec(shape, values).expect("rows alike")));
        }
        let range = |(column, logged): (usize, &LoggedActions)| match logged {
            LoggedActions::Range(low, high) => Ok((*low, *high)),
            LoggedActions::Choices(values) if values.len() == 1 => Ok((values[0], values[0])),
            LoggedActions::Choices(values) => {
                Err(Error::MixedActions { column: column + 1, choices: values.len() })
            }
        };
        let ranges: Vec<(f32, f32)> =
            columns.iter().enumerate().map(range).collect::<Result<_>>()?;
        let column = |of: fn(&(f32, f32)) -> f32| ranges.iter().map(of).collect::<Array1<f32>>();
        Ok(Self::Within(ActionLimits {
            low: column(|range| range.0),
            high: column(|range| range.1),
        }))
    }

    /// Columns of an action.
    pub fn columns(&self) -> usize {
        match self {
            Self::Within(limits) => limits.low.len(),
            Self::OneOf(actions) => actions.ncols(),
        }
    }

    /// How a learner chooses.
    pub(super) fn head(&self) -> Head {
        match self {
            Self::Within(limits) => Head::Squashed(limits.low.len()),
            Self::OneOf(actions) => Head::Categorical(actions.nrows()),
        }
    }

    /// Actions as a learner sees them: in [-1, 1], or a one and zeros for the nearest.
    pub(super) fn choices(&self, actions: &Array2<f32>) -> Array2<f32> {
        match self {
            Self::Within(limits) => limits.choices(actions),
            Self::OneOf(all) => {
                let mut choices = Array2::zeros((actions.nrows(), all.nrows()));
                for (row, action) in actions.rows().into_iter().enumerate() {
                    let distance = |other: usize| (&all.row(other) - &action).mapv(f32::abs).sum();
                    let nearer = |a: &usize, b: &usize| distance(*a).total_cmp(&distance(*b));
                    let nearest = (0..all.nrows()).min_by(nearer).expect("something was done");
                    choices[[row, nearest]] = 1.0;
                }
                choices
            }
        }
    }
}

impl ActionLimits {
    /// What choices in [-1, 1] are multiplied by.
    pub fn half_width(&self) -> Array1<f32> {
        (&self.high - &self.low) / 2.0
    }

    /// What is added to them.
    pub fn middle(&self) -> Array1<f32> {
        (&self.low + &self.high) / 2.0
    }

    /// Actions for choices in [-1, 1].
    pub(super) fn actions(&self, choices: &Array2<f32>) -> Array2<f32> {
        choices * &self.half_width() + &self.middle()
    }

    /// Choices in [-1, 1] for actions; zero where there is nothing to choose.
    fn choices(&self, actions: &Array2<f32>) -> Array2<f32> {
        let half = self.half_width().mapv(|half| if half > 0.0 { half } else { 1.0 });
        ((actions - &self.middle()) / &half).mapv(|choice| choice.clamp(-1.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn columns_of_few_values_are_choices_between_the_rows_that_were_logged() {
        let columns = vec![LoggedActions::Choices(vec![0.0, 1.0]); 2];
        let logged = array![[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        let space = ActionSpace::of(&columns, logged.view()).unwrap();
        assert_eq!(space, ActionSpace::OneOf(array![[0.0, 1.0], [1.0, 0.0]]));
        let choices = space.choices(&array![[0.9, 0.2], [0.0, 1.0]]);
        assert_eq!(choices, array![[0.0, 1.0], [1.0, 0.0]]);
    }

    #[test]
    fn a_constant_column_beside_a_range_stays_as_it_is() {
        let columns = [LoggedActions::Range(-2.0, 4.0), LoggedActions::Choices(vec![3.0])];
        let space = ActionSpace::of(&columns, array![[0.0, 3.0]].view()).unwrap();
        assert_eq!(space.choices(&array![[4.0, 3.0]]), array![[1.0, 0.0]]);
        assert_eq!(space.columns(), 2);
    }

    #[test]
    fn ranges_beside_choices_are_refused() {
        let columns = [LoggedActions::Range(-2.0, 4.0), LoggedActions::Choices(vec![3.0, 4.0])];
        let error = ActionSpace::of(&columns, array![[0.0, 3.0]].view()).unwrap_err();
        assert!(error.to_string().contains("column 2"), "{error}");
        assert!(ActionSpace::of(&[], Array2::zeros((0, 1)).view()).is_err());
    }
}
