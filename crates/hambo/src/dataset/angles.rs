//! Angles among the columns of logged states.

use ndarray::ArrayView2;

/// How far from the circle a logged angle may be, as a difference of squares: some loggers keep three digits.
const OFF_CIRCLE: f32 = 2e-3;

/// An angle must point away from the axes in so many rows, with both parts at least this large. A column that is nearly
/// one beside one that is nearly zero is no angle.
const ENOUGH: usize = 10;
const AWAY: f32 = 0.1;

/// Pairs of columns that are the cosine and the sine of an angle in every row: neighbours where there is a choice.
pub(crate) fn angles(states: [ArrayView2<'_, f32>; 2]) -> Vec<(usize, usize)> {
    let columns = states[0].ncols();
    let is_pair = |&(one, other): &(usize, usize)| {
        let mut away = 0;
        let mut rows = states.iter().flat_map(|states| states.rows());
        let all_near = rows.all(|row| {
            let (x, y) = (row[one], row[other]);
            away += usize::from(x.abs().min(y.abs()) > AWAY);
            (x * x + y * y - 1.0).abs() < OFF_CIRCLE
        });
        all_near && away >= ENOUGH
    };
    let by_distance =
        (1..columns).flat_map(|apart| (apart..columns).map(move |other| (other - apart, other)));
    let mut found: Vec<(usize, usize)> = Vec::new();
    for pair in by_distance {
        let is_free = |column| found.iter().all(|&(one, other)| column != one && column != other);
        if is_free(pair.0) && is_free(pair.1) && is_pair(&pair) {
            found.push(pair);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, concatenate, s};

    use super::*;

    #[test]
    fn angles_are_found_also_if_they_are_rounded() {
        // Reacher's order: two cosines, then two sines.
        let states = Array2::from_shape_fn((50, 5), |(row, column)| {
            let (one, other) = (0.3 * row as f32, 1.7 + 0.11 * row as f32);
            let exact = [one.cos(), other.cos(), one.sin(), other.sin(), 0.2][column];
            (exact * 1000.0).round() / 1000.0
        });
        let halves = [states.slice(s![..25, ..]), states.slice(s![25.., ..])];
        assert_eq!(angles(halves), [(0, 2), (1, 3)]);
    }

    #[test]
    fn what_only_looks_like_an_angle_is_none() {
        // Two choices, one of which is taken; a valve that is open beside a small speed; a radius of two.
        let alike: [fn(f32) -> [f32; 2]; 3] = [
            |t| if t.sin() > 0.0 { [1.0, 0.0] } else { [0.0, 1.0] },
            |t| [1.0, 0.01 * t.sin()],
            |t| [2.0 * t.cos(), 2.0 * t.sin()],
        ];
        for columns in alike {
            let states =
                Array2::from_shape_fn((99, 2), |(row, column)| columns(row as f32)[column]);
            assert_eq!(angles([states.view(), states.view()]), []);
        }
        // One row off the circle is enough.
        let circle = Array2::from_shape_fn((99, 2), |(row, column)| {
            [(row as f32).cos(), (row as f32).sin()][column]
        });
        let with_centre = concatenate![ndarray::Axis(0), circle, Array2::<f32>::zeros((1, 2))];
        assert_eq!(angles([circle.view(), circle.view()]), [(0, 1)]);
        assert_eq!(angles([circle.view(), with_centre.view()]), []);
    }
}
