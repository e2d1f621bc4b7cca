//! Where a model errs, and how: a regression tree over its one-step errors on the logs.
//!
//! A branch is grown only where the mean error of some output differs on its two sides beyond chance.
//! So the errors in one leaf are alike, irrelevant columns do not matter, and a corner in which the
//! model is biased is a leaf of its own, however small its share of the logs.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rayon::prelude::*;

/// Least errors in a leaf.
const LEAST: usize = 5;

/// Least part of a branch's errors on either side of it, one in so many. Noise makes the most extreme
/// splits look best, and a tree that follows it cuts off a few rows at a time and never gets deep.
const LEAST_PART: usize = 10;

/// Most branchings between root and leaf.
const DEEPEST: usize = 30;

/// Squared standard errors by which means must differ. Of a million splits of pure noise the best
/// reaches about 2 ln 10^6 = 28.
const SIGNIFICANT: f64 = 30.0;

/// Errors below this share of an output's own scale are rounding.
const ROUNDING: f64 = 1e-4;

pub(crate) enum ErrorTree {
    Leaf(Leaf),
    Branch { feature: usize, at: f32, below: Box<Self>, above: Box<Self> },
}

/// Rows of the logs whose errors are alike.
pub(crate) struct Leaf {
    rows: Vec<usize>,
    /// Sums of the weights of the rows so far.
    up_to: Vec<f64>,
}

impl Leaf {
    /// One of the rows, by their weights; `draw` is uniform in [0, 1).
    pub(crate) fn drawn(&self, draw: f64) -> usize {
        self.rows[self.index(draw)]
    }

    /// As [`drawn`](Self::drawn), or the next row after it that may be taken, if there is one.
    pub(crate) fn drawn_of(&self, draw: f64, may_be_taken: impl Fn(usize) -> bool) -> usize {
        let first = self.index(draw);
        let (before, after) = self.rows.split_at(first);
        let taken = after.iter().chain(before).find(|&&row| may_be_taken(row));
        taken.copied().unwrap_or(self.rows[first])
    }

    fn index(&self, draw: f64) -> usize {
        let total = self.up_to.last().copied().unwrap_or(0.0);
        let index = self.up_to.partition_point(|&sum| sum <= draw * total);
        index.min(self.rows.len() - 1)
    }
}

/// What a tree is grown from.
struct Ground<'a> {
    /// `[rows, features]`
    features: &'a Array2<f32>,
    /// `[rows, outputs]`
    errors: Array2<f64>,
    /// Added to each output's variance.
    rounding: Array1<f64>,
    /// How many rows of the data each row stands for.
    weights: &'a Array1<f32>,
}

struct Split {
    gain: f64,
    feature: usize,
    at: f32,
}

impl ErrorTree {
    /// Of errors `[rows, outputs]` made at `features` `[rows, features]`; rows are drawn by their
    /// `weights`, and `scale` is how much each output itself varies.
    pub(crate) fn grow(
        features: &Array2<f32>,
        errors: &Array2<f32>,
        weights: &Array1<f32>,
        scale: ArrayView1<'_, f32>,
    ) -> Self {
        let rounding =
            scale.mapv(|scale| (ROUNDING * f64::from(scale)).powi(2).max(f64::MIN_POSITIVE));
        let ground = Ground { features, errors: errors.mapv(f64::from), rounding, weights };
        let in_order = |feature: ArrayView1<'_, f32>| {
            let mut order: Vec<usize> = (0..feature.len()).collect();
            order.sort_by(|&a, &b| feature[a].total_cmp(&feature[b]));
            order
        };
        let orders = features.columns().into_iter().map(in_order).collect();
        ground.grow(orders, 0)
    }

    /// The rows whose errors are like those at this place.
    pub(crate) fn alike(&self, features: ArrayView1<'_, f32>) -> &Leaf {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(leaf) => return leaf,
                Self::Branch { feature, at, below, above } => {
                    node = if features[*feature] <= *at { below } else { above };
                }
            }
        }
    }
}

impl Ground<'_> {
    /// `orders` are the same rows once per feature, in its order.
    fn grow(&self, orders: Vec<Vec<usize>>, depth: usize) -> ErrorTree {
        let rows = orders.first().map_or(0, Vec::len);
        let split =
            (depth < DEEPEST && rows >= 2 * LEAST).then(|| self.best_split(&orders)).flatten();
        let Some(Split { feature, at, .. }) = split else {
            let rows = orders.into_iter().next().unwrap_or_default();
            let sums = rows.iter().scan(0.0, |sum, &row| {
                *sum += f64::from(self.weights[row]);
                Some(*sum)
            });
            return ErrorTree::Leaf(Leaf { up_to: sums.collect(), rows });
        };
        let is_below = |row: &usize| self.features[[*row, feature]] <= at;
        let (below, above): (Vec<_>, Vec<_>) = orders
            .into_iter()
            .map(|order| order.into_iter().partition::<Vec<usize>, _>(is_below))
            .unzip();
        ErrorTree::Branch {
            feature,
            at,
            below: Box::new(self.grow(below, depth + 1)),
            above: Box::new(self.grow(above, depth + 1)),
        }
    }

    fn best_split(&self, orders: &[Vec<usize>]) -> Option<Split> {
        let errors = self.errors.select(Axis(0), &orders[0]);
        let variance = errors.var_axis(Axis(0), 0.0) + &self.rounding;
        let total = errors.sum_axis(Axis(0));
        let best_of = |(feature, order): (usize, &Vec<usize>)| {
            self.best_split_by(feature, order, &total, &variance)
        };
        let found: Vec<Split> = orders.par_iter().enumerate().filter_map(best_of).collect();
        // The first of equals, whatever the threads did.
        found.into_iter().reduce(|best, other| if other.gain > best.gain { other } else { best })
    }

    /// The significant split of one feature whose sides differ most.
    fn best_split_by(
        &self,
        feature: usize,
        order: &[usize],
        total: &Array1<f64>,
        variance: &Array1<f64>,
    ) -> Option<Split> {
        let count = order.len();
        let least = LEAST.max(count / LEAST_PART);
        let value = |index: usize| self.features[[order[index], feature]];
        let mut sum = Array1::<f64>::zeros(total.len());
        let mut best: Option<Split> = None;
        for (last, &row) in order[..count - least].iter().enumerate() {
            sum += &self.errors.row(row);
            let (at, next) = (value(last), value(last + 1));
            if last + 1 < least || at == next {
                continue;
            }
            let (below, above) = ((last + 1) as f64, (count - last - 1) as f64);
            let weight = below * above / count as f64;
            let gain = (0..total.len())
                .map(|j| {
                    let difference = sum[j] / below - (total[j] - sum[j]) / above;
                    weight * difference * difference / variance[j]
                })
                .fold(0.0, f64::max);
            if gain > best.as_ref().map_or(SIGNIFICANT, |best| best.gain) {
                best = Some(Split { gain, feature, at });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;
    use crate::rng::Seed;

    /// Two features in [0, 1), and errors of std 1 with this mean.
    fn grown(rows: usize, mean: impl Fn(f32, f32) -> f32) -> (ErrorTree, Array2<f32>) {
        let rng = &mut Seed(0).stream("errors");
        let features = Array2::from_shape_simple_fn((rows, 2), || rng.random_range(0.0..1.0));
        let errors = Array2::from_shape_fn((rows, 1), |(row, _)| {
            let noise: f32 = rng.sample(StandardNormal);
            noise + mean(features[[row, 0]], features[[row, 1]])
        });
        let weights = Array1::ones(rows);
        (ErrorTree::grow(&features, &errors, &weights, ndarray::aview1(&[1.0])), errors)
    }

    #[test]
    fn errors_without_a_pattern_stay_together() {
        let (tree, _) = grown(2_000, |_, _| 0.0);
        assert!(matches!(tree, ErrorTree::Leaf(leaf) if leaf.rows.len() == 2_000));
    }

    #[test]
    fn a_biased_corner_is_a_leaf_of_its_own() {
        let in_corner = |x, y| x > 0.9 && y < 0.2;
        let (tree, errors) = grown(4_000, |x, y| if in_corner(x, y) { 3.0 } else { 0.0 });
        let mean = |x, y| {
            let rows = &tree.alike(ndarray::aview1(&[x, y])).rows;
            rows.iter().map(|&row| errors[[row, 0]]).sum::<f32>() / rows.len() as f32
        };
        // Some 80 errors of std 1 scatter by 0.11.
        assert!((mean(0.95, 0.1) - 3.0).abs() < 0.5, "{}", mean(0.95, 0.1));
        assert!(mean(0.95, 0.6).abs() < 0.2 && mean(0.3, 0.1).abs() < 0.2);
    }

    #[test]
    fn rows_are_drawn_by_their_weights() {
        let leaf = Leaf { rows: vec![1, 2, 3], up_to: vec![1.0, 4.0, 9.0] };
        let count = |row: usize| {
            (0..900).filter(|&i| leaf.drawn((f64::from(i) + 0.5) / 900.0) == row).count()
        };
        assert_eq!([0, 1, 2, 3].map(count), [0, 100, 300, 500]);
    }
}
