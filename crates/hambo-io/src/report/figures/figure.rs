//! A figure, and what all kinds of them share.

use crate::report::plot::Drawing;

pub(in crate::report) const STYLE: &str = include_str!("../figure.css");

/// Size of a figure that stands alone, except for its height, and of one of many panels.
pub(super) const WIDTH: f64 = 440.0;
pub(super) const PANEL: [f64; 2] = [200.0, 150.0];

/// Dimensions with a panel of their own, at most.
pub(super) const MOST_PANELS: usize = 16;

/// Points of a line at most.
const MOST_POINTS: usize = 120;

/// One drawing, or panels of the same kind.
#[derive(Debug)]
pub(in crate::report) struct Figure {
    pub(in crate::report) name: &'static str,
    pub(in crate::report) heading: &'static str,
    pub(in crate::report) caption: String,
    pub(in crate::report) drawings: Vec<Drawing>,
}

/// Every n-th of many points, and the last.
pub(super) fn thinned<T: Copy>(points: &[T]) -> Vec<T> {
    let stride = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = |index: &usize| index.is_multiple_of(stride) || *index == last;
    (0..points.len()).filter(kept).map(|index| points[index]).collect()
}

/// The `MOST_PANELS` indices with the largest scores, in their own order, and a sentence about the
/// rest.
pub(super) fn most_telling(scores: &[f64], what: &str) -> (Vec<usize>, String) {
    let mut indices: Vec<usize> = (0..scores.len()).collect();
    if scores.len() <= MOST_PANELS {
        return (indices, String::new());
    }
    indices.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    indices.truncate(MOST_PANELS);
    indices.sort_unstable();
    let sentence =
        format!(" Of {} dimensions the {MOST_PANELS} with {what} are shown.", scores.len());
    (indices, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends_and_its_limit() {
        let points: Vec<usize> = (0..1001).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS + 1);
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, 1000));
        assert_eq!(thinned(&[1, 2, 3]), [1, 2, 3]);
    }

    #[test]
    fn of_many_dimensions_the_most_telling_are_kept_in_order() {
        let scores: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 40)).collect();
        let (kept, sentence) = most_telling(&scores, "the largest score");
        assert_eq!(kept.len(), MOST_PANELS);
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(kept.iter().all(|&index| scores[index] >= 24.0));
        assert!(sentence.contains("40 dimensions"));
    }
}
