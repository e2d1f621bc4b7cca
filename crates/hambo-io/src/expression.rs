//! Rewards and terminations written as text over named columns: `-(theta^2) - 0.1*theta_dot^2`,
//! `z < 0.7 || abs(angle) > 0.2`.
//!
//! Columns go by the dataset's names, or `state_0`, `action_0` without any; those of the next state
//! by `next_` and the state's name. A name that is no plain word stands in braces: `{x-velocity}`.
//!
//! | loosest to tightest | meaning |
//! |---|---|
//! | `\|\|` or `or` | either |
//! | `&&` or `and` | both |
//! | `!` or `not` | not; what it negates is a name, a call or in parentheses |
//! | `<` `<=` `>` `>=` `==` `!=` | 1 if true, 0 if not; `a < b < c` is refused |
//! | `+` `-` | |
//! | `*` `/` | |
//! | `-` `+` in front | `-x^2` is `-(x^2)` |
//! | `^` or `**` | power, from the right: `2^3^2` is `2^(3^2)` |
//!
//! Functions: `abs sqrt exp ln sin cos tan tanh asin acos atan atan2(y, x) min(a, b, ...)
//! max(a, b, ...) floor ceil sign clip(x, low, high)`; the constant `pi`, unless a column is called so.
//!
//! Arithmetic is f64. Comparisons round both sides to f32, the precision of the columns: a column
//! that holds 0.7 is not below `0.7`, as it would be if its rounding were taken for a difference.
//! A comparison with NaN is NaN, and `&&` and `||` let it through unless the other side decides.

mod error;
mod parse;
mod program;

use hambo::dataset::ColumnNames;
use hambo::task::{Reward, Termination};
use hambo::{BoxError, Transitions};
use ndarray::Array1;

pub use error::{ExpressionError, MAX_CHARACTERS, MAX_NESTING};

use program::Program;

/// A formula over the columns of a transition: a [`Reward`] by its value, a [`Termination`] where it
/// is not 0.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    state_dim: usize,
    action_dim: usize,
    program: Program,
}

impl Expression {
    /// Reads a formula over the columns called `names`; see
    /// [`Dataset::names_or_numbers`](hambo::Dataset::names_or_numbers).
    pub fn parse(text: &str, names: &ColumnNames) -> Result<Self, ExpressionError> {
        Ok(Self {
            text: text.to_owned(),
            state_dim: names.states.len(),
            action_dim: names.actions.len(),
            program: parse::parse(text, names)?,
        })
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// One value per row.
    fn values(&self, transitions: &Transitions<'_>) -> Result<Vec<f64>, BoxError> {
        let Transitions { states, actions, next_states } = *transitions;
        let rows = states.nrows();
        let given = [states.dim(), actions.dim(), next_states.dim()];
        let (d_s, d_a) = (self.state_dim, self.action_dim);
        if given != [(rows, d_s), (rows, d_a), (rows, d_s)] {
            return Err(format!(
                "`{}` is over {d_s} state and {d_a} action columns, got states, actions and next \
                 states of shapes {given:?}",
                self.text
            )
            .into());
        }
        Ok(self.program.run(states, actions, next_states))
    }
}

impl Reward for Expression {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let values = self.values(transitions)?;
        Ok(values.into_iter().map(|value| value as f32).collect())
    }
}

impl Termination for Expression {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        let values = self.values(transitions)?;
        if let Some(row) = values.iter().position(|value| value.is_nan()) {
            return Err(format!(
                "row {row}: `{}` is not a number; guard it, as in `x > 0 && sqrt(x) < 2`",
                self.text
            )
            .into());
        }
        Ok(values.into_iter().map(|value| value != 0.0).collect())
    }
}
