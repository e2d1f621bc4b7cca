//! Actions that are choices: columns of which one holds a one, and the others zeros.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use crate::error::BoxError;

/// How actions are made up of choices and numbers, as logged actions show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// The columns of every choice, and of every number one.
    parts: Vec<Range<usize>>,
    /// Columns of an action.
    columns: usize,
}

impl Choices {
    /// In logged actions `[rows, d_a]`: columns side by side, as few as possible, that hold a single one in every row
    /// and zeros otherwise. What was never chosen belongs to what stands before it.
    pub fn in_actions(logged: ArrayView2<'_, f32>) -> Self {
        let columns = logged.ncols();
        if logged.nrows() == 0 {
            return Self {
                parts: (0..columns).map(|column| column..column + 1).collect(),
                columns,
            };
        }
        let is_flag: Vec<bool> = logged
            .columns()
            .into_iter()
            .map(|column| column.iter().all(|&value| value == 0.0 || value == 1.0))
            .collect();
        let is_never = |column: usize| logged.column(column).iter().all(|&value| value == 0.0);
        let is_choice = |part: &Range<usize>| {
            let rows = logged.slice(s![.., part.clone()]);
            rows.rows().into_iter().all(|row| row.sum() == 1.0)
        };
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut first = 0;
        while first < columns {
            let flags = (first..columns).take_while(|&column| is_flag[column]).count();
            // A column that always holds a one is no choice.
            let ends = first + 2..=first + flags;
            let found = ends.map(|end| first..end).find(is_choice);
            let mut end = found.as_ref().map_or(first + 1, |part| part.end);
            while found.is_some() && end < columns && is_never(end) {
                end += 1;
            }
            parts.push(first..end);
            first = end;
        }
        Self { parts, columns }
    }

    /// How many values the choices have, one after the other; 0 for what is a number.
    pub fn sizes(&self) -> Vec<usize> {
        let size = |part: &Range<usize>| if part.len() > 1 { part.len() } else { 0 };
        self.parts.iter().map(size).collect()
    }

    /// Actions `[rows, d_a]` of a policy that may say the numbers of choices `[rows, parts]`, or a score for each.
    /// What is neither is left for others to refuse.
    pub(crate) fn understood(
        &self,
        actions: Array2<f32>,
        are_scores: bool,
    ) -> Result<Array2<f32>, BoxError> {
        let has_choices = self.parts.len() < self.columns;
        if !has_choices || actions.ncols() == self.columns && !are_scores {
            return Ok(actions);
        }
        let are_numbers = actions.ncols() == self.parts.len() && !are_scores;
        if !are_numbers && actions.ncols() != self.columns {
            return Ok(actions);
        }
        let mut found = Array2::zeros((actions.nrows(), self.columns));
        for (row, action) in actions.rows().into_iter().enumerate() {
            for (index, part) in self.parts.iter().enumerate() {
                match (part.len(), are_numbers) {
                    (1, true) => found[[row, part.start]] = action[index],
                    (1, false) => found[[row, part.start]] = action[part.start],
                    (size, true) => {
                        let chosen = action[index];
                        let is_choice = chosen >= 0.0 && chosen < size as f32;
                        if !is_choice || chosen.fract() != 0.0 {
                            let last = size - 1;
                            return Err(format!(
                                "it chose {chosen}, but the logs have the choices 0 to {last}"
                            )
                            .into());
                        }
                        found[[row, part.start + chosen as usize]] = 1.0;
                    }
                    (_, false) => {
                        // The first of equals, and never a NaN.
                        let is_better = |best: usize, other: &usize| {
                            action[*other] > action[best] || action[best].is_nan()
                        };
                        let best =
                            part.clone().reduce(
                                |best, other| {
                                    if is_better(best, &other) { other } else { best }
                                },
                            );
                        let best = best.unwrap_or(part.start);
                        found[[row, best]] = if action[best].is_nan() { f32::NAN } else { 1.0 };
                    }
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    /// A choice of three of which the last never occurs, a number, and a switch.
    fn logged() -> Array2<f32> {
        array![
            [1.0, 0.0, 0.0, 0.5, 0.0, 1.0],
            [0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        ]
    }

    #[test]
    fn choices_and_numbers_are_told_apart() {
        assert_eq!(Choices::in_actions(logged().view()).sizes(), [3, 0, 2]);
        // On and off as numbers are no choice by themselves, and neither is what is always on.
        assert_eq!(Choices::in_actions(array![[1.0, 0.0], [1.0, 1.0]].view()).sizes(), [0, 0]);
        assert_eq!(Choices::in_actions(array![[0.3], [1.0]].view()).sizes(), [0]);
        assert_eq!(Choices::in_actions(Array2::zeros((0, 2)).view()).sizes(), [0, 0]);
    }

    #[test]
    fn numbers_of_choices_and_scores_are_understood() {
        let choices = Choices::in_actions(logged().view());
        let expected = array![[0.0, 0.0, 1.0, 0.7, 1.0, 0.0]];
        let numbers = array![[2.0, 0.7, 0.0]];
        assert_eq!(choices.understood(numbers, false).unwrap(), expected);
        let scores = array![[-3.0, -2.0, -1.0, 0.7, 5.0, 4.0]];
        assert_eq!(choices.understood(scores.clone(), true).unwrap(), expected);
        // Nobody has said that they are scores.
        assert_eq!(choices.understood(scores.clone(), false).unwrap(), scores);
        for wrong in [3.0, -1.0, 0.5] {
            let message = choices.understood(array![[wrong, 0.0, 0.0]], false).unwrap_err();
            assert!(message.to_string().contains("choices 0 to 2"), "{message}");
        }
        let unknown = array![[f32::NAN, f32::NAN, f32::NAN, 0.0, 1.0, 0.0]];
        assert!(choices.understood(unknown, true).unwrap().iter().any(|value| value.is_nan()));
    }
}
