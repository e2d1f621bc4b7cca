//! How much each world counts.

use ndarray::Array1;

use crate::bound::Estimate;

/// How much each world counts: the derivative of the criterion by its return, not below zero, as a share.
pub(super) fn derivative(worlds: &[f64], factor: f64) -> Array1<f64> {
    let (count, of) = (worlds.len() as f64, Estimate::of(worlds));
    let spread = of.std_error * count.sqrt();
    let pull = |value: f64| match spread > 0.0 {
        true => factor * (value - of.mean) / ((count - 1.0) * spread),
        false => 0.0,
    };
    let weights: Array1<f64> =
        worlds.iter().map(|&value| (1.0 / count - pull(value)).max(0.0)).collect();
    let total = weights.sum();
    weights / total
}

/// Whole episodes in proportion to weights, as many as are wanted.
pub(super) fn shares(weights: &Array1<f64>, episodes: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let mut given = 0;
    let share = |weight: &f64| {
        sum += weight;
        let until = (sum * episodes as f64).round() as usize;
        let mine = until.saturating_sub(given);
        given = until.max(given);
        mine
    };
    weights.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn weights_are_the_derivative_of_the_criterion() {
        let (worlds, factor) = ([3.0, 4.0, 5.5, 6.0], 0.6);
        let criterion = |worlds: &[f64]| {
            let of = Estimate::of(worlds);
            of.mean - factor * of.std_error * (worlds.len() as f64).sqrt()
        };
        let found = derivative(&worlds, factor);
        let h = 1e-6;
        for index in 0..worlds.len() {
            let moved = |by: f64| {
                let mut moved = worlds;
                moved[index] += by;
                criterion(&moved)
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            // All are above zero here, and sum to one.
            assert!((found[index] - slope).abs() < 1e-8, "{} instead of {slope}", found[index]);
        }
    }

    #[test]
    fn worlds_that_promise_too_much_do_not_count() {
        assert_eq!(derivative(&[0.0, 10.0, 10.0], 5.0), array![1.0, 0.0, 0.0]);
        assert_eq!(derivative(&[2.0, 2.0], 5.0), array![0.5, 0.5]);
    }

    #[test]
    fn shares_are_as_many_as_wanted() {
        assert_eq!(shares(&array![0.5, 0.3, 0.2], 10), [5, 3, 2]);
        assert_eq!(shares(&Array1::from_elem(3, 1.0 / 3.0), 10).iter().sum::<usize>(), 10);
        assert_eq!(shares(&array![0.0, 1.0], 7), [0, 7]);
    }
}
