//! Rows of parameters, combined.

use ndarray::Array2;
use rayon::prelude::*;

/// Columns that are worked on at a time.
const CHUNK: usize = 4 * 1024;

/// `A x + C y` for small square matrices A and C `[k, k]` and wide ones x and y `[k, len]`. Weights that are zero cost
/// nothing.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    pub(crate) a: Array2<f32>,
    pub(crate) c: Array2<f32>,
}

impl Mix {
    /// k
    pub(super) fn rows(&self) -> usize {
        self.a.nrows()
    }

    /// Some columns of one row of the result, from the same columns of all rows of `x` and `y`.
    pub(super) fn row(
        &self,
        row: usize,
        x: &[impl AsRef<[f32]>],
        y: &[impl AsRef<[f32]>],
        into: &mut [f32],
    ) {
        into.fill(0.0);
        add(into, &self.a, row, x);
        add(into, &self.c, row, y);
    }

    /// All rows of the result.
    #[cfg(test)]
    pub(crate) fn of(&self, x: &Array2<f32>, y: &Array2<f32>) -> Array2<f32> {
        let rows = |of: &Array2<f32>| -> Vec<Vec<f32>> {
            of.rows().into_iter().map(|row| row.to_vec()).collect()
        };
        let (x, y) = (rows(x), rows(y));
        let mut mixed = Array2::zeros((x.len(), x[0].len()));
        for (row, mut into) in mixed.rows_mut().into_iter().enumerate() {
            self.row(row, &x, &y, into.as_slice_mut().expect("a row of a new array"));
        }
        mixed
    }
}

fn add(into: &mut [f32], weights: &Array2<f32>, row: usize, from: &[impl AsRef<[f32]>]) {
    for (values, &weight) in from.iter().zip(weights.row(row)) {
        if weight != 0.0 {
            into.iter_mut().zip(values.as_ref()).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

/// Products `[k, k]` of all pairs of rows of a wide matrix, row by row. Partial sums are added in a fixed order.
pub(crate) fn gram(values: &[f32], rows: usize) -> Array2<f64> {
    let len = values.len() / rows.max(1);
    let part = |first: usize| {
        let columns = first..len.min(first + CHUNK);
        let of = |row: usize| &values[row * len..][columns.clone()];
        Array2::from_shape_fn((rows, rows), |(row, other)| {
            if other > row { 0.0 } else { f64::from(dot(of(row), of(other))) }
        })
    };
    let parts: Vec<Array2<f64>> =
        (0..len.div_ceil(CHUNK)).into_par_iter().map(|index| part(index * CHUNK)).collect();
    let lower = parts.into_iter().fold(Array2::zeros((rows, rows)), |sum, part| sum + part);
    Array2::from_shape_fn((rows, rows), |(row, other)| lower[[row.max(other), row.min(other)]])
}

/// In sixteen sums at a time, as wide registers add.
fn dot(x: &[f32], y: &[f32]) -> f32 {
    const WIDE: usize = 16;
    let mut sums = [0.0_f32; WIDE];
    let ((x, rest_of_x), (y, rest_of_y)) = (x.as_chunks::<WIDE>(), y.as_chunks::<WIDE>());
    for (x, y) in x.iter().zip(y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    let rest: f32 = rest_of_x.iter().zip(rest_of_y).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn wide() -> Array2<f32> {
        Array2::from_shape_fn((2, 10_001), |(i, j)| ((i * 7 + j) as f32 * 0.01).sin())
    }

    #[test]
    fn mixing_is_two_matrix_products() {
        let (a, c) = (array![[1.0, 0.0], [2.0, -1.0]], array![[0.0, 0.5], [0.0, 3.0]]);
        let (x, y) = (wide(), wide().mapv(f32::cos));
        let expected = a.dot(&x) + c.dot(&y);
        assert_eq!(Mix { a, c }.of(&x, &y), expected);
    }

    #[test]
    fn products_of_pairs_are_a_matrix_product() {
        let x = wide();
        let found = gram(x.as_slice().unwrap(), 2);
        let exact = x.mapv(f64::from);
        let difference = (found - exact.dot(&exact.t())).mapv(f64::abs);
        // Sums of 4,096 squares below one in float32, which is exact to 6e-8 of each partial sum.
        assert!(difference.iter().all(|&difference| difference < 1e-2), "{difference}");
    }
}
