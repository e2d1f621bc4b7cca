//! An expression as a list of steps on a stack, run over blocks of rows.

use ndarray::{ArrayView2, s};

/// Rows that pass a step together: enough to hide the cost of choosing the step, few enough for the
/// stack to stay in the cache.
const BLOCK: usize = 128;

/// Steps in the order in which they are taken; the last one leaves the result alone on the stack.
#[derive(Debug, Clone, Default)]
pub(super) struct Program(pub(super) Vec<Step>);

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Constant(f64),
    Column(Source, usize),
    Unary(fn(f64) -> f64),
    /// Takes the two uppermost values, the left operand from below.
    Binary(fn(f64, f64) -> f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    State,
    Action,
    NextState,
}

impl Program {
    /// One value per row. The widths must be those that the program was made for.
    pub(super) fn run(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        next_states: ArrayView2<'_, f32>,
    ) -> Vec<f64> {
        let rows = states.nrows();
        let mut values = Vec::with_capacity(rows);
        let mut stack: Vec<[f64; BLOCK]> = vec![[0.0; BLOCK]; self.deepest()];
        for start in (0..rows).step_by(BLOCK) {
            let end = rows.min(start + BLOCK);
            let mut top = 0;
            for step in &self.0 {
                match *step {
                    Step::Constant(value) => {
                        stack[top].fill(value);
                        top += 1;
                    }
                    Step::Column(source, column) => {
                        let table = match source {
                            Source::State => states,
                            Source::Action => actions,
                            Source::NextState => next_states,
                        };
                        let read = table.slice_move(s![start..end, column]);
                        stack[top].iter_mut().zip(read).for_each(|(to, &from)| *to = from.into());
                        top += 1;
                    }
                    Step::Unary(function) => {
                        stack[top - 1].iter_mut().for_each(|value| *value = function(*value));
                    }
                    Step::Binary(function) => {
                        let (below, above) = stack.split_at_mut(top - 1);
                        let (left, right) = (&mut below[top - 2], &above[0]);
                        left.iter_mut().zip(right).for_each(|(a, &b)| *a = function(*a, b));
                        top -= 1;
                    }
                }
            }
            values.extend_from_slice(&stack[0][..end - start]);
        }
        values
    }

    /// Most values that are on the stack at once.
    fn deepest(&self) -> usize {
        let mut height = 0;
        let heights = self.0.iter().map(|step| {
            match step {
                Step::Constant(_) | Step::Column(..) => height += 1,
                Step::Unary(_) => (),
                Step::Binary(_) => height -= 1,
            }
            height
        });
        heights.max().unwrap_or(0)
    }
}

/// A function of one argument by its name.
pub(super) fn unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "sqrt" => f64::sqrt,
        "exp" => f64::exp,
        "ln" => f64::ln,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "sign" => sign,
        _ => return None,
    })
}

/// Every function's name, for messages.
pub(super) const FUNCTIONS: [&str; 18] = [
    "abs", "sqrt", "exp", "ln", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "atan2",
    "min", "max", "floor", "ceil", "sign", "clip",
];

/// Of 0 it is 0, unlike `f64::signum`'s 1.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// NaN if either is, unlike `f64::max`, which would hide it.
pub(super) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// NaN if either is.
pub(super) fn minimum(a: f64, b: f64) -> f64 {
    -maximum(-a, -b)
}

/// The comparison called `symbol`, at the columns' precision; NaN if either side is.
pub(super) fn comparison(symbol: &str) -> Option<fn(f64, f64) -> f64> {
    fn compare(a: f64, b: f64, holds: fn(&f32, &f32) -> bool) -> f64 {
        if a.is_nan() || b.is_nan() { f64::NAN } else { truth(holds(&(a as f32), &(b as f32))) }
    }
    Some(match symbol {
        "<" => |a, b| compare(a, b, f32::lt),
        "<=" => |a, b| compare(a, b, f32::le),
        ">" => |a, b| compare(a, b, f32::gt),
        ">=" => |a, b| compare(a, b, f32::ge),
        "==" => |a, b| compare(a, b, f32::eq),
        "!=" => |a, b| compare(a, b, f32::ne),
        _ => return None,
    })
}

/// False if either side is, otherwise NaN if either is: what is false does not depend on the unknown.
pub(super) fn both(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        0.0
    } else if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        1.0
    }
}

/// True if either side is, otherwise NaN if either is.
pub(super) fn either(a: f64, b: f64) -> f64 {
    not(both(not(a), not(b)))
}

pub(super) fn not(value: f64) -> f64 {
    if value.is_nan() { value } else { truth(value == 0.0) }
}

/// Squares by a product, because they are the usual power and `powf` takes many times as long.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 2.0 { base * base } else { base.powf(exponent) }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
