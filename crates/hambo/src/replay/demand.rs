//! What replayed groups demand of a limit over worlds.

use serde::{Deserialize, Serialize};

use super::replayed::ReplayedGroup;

/// A group whose worlds practically agree on something else than it earned. No factor on their
/// disagreement fixes that; the difference itself does.
const PRACTICALLY_AGREE: f64 = 1e-3;

/// What a limit needs so that no group is overestimated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// On the worlds' disagreement.
    pub factor: f64,
    /// What is taken off for groups on which all worlds practically agree.
    pub offset: f64,
    /// Standard error of the bias over all groups.
    pub unresolved: f64,
    /// Episodes behind it.
    pub episodes: usize,
    /// The group that needs the most.
    pub worst: String,
}

impl Demand {
    pub(crate) fn of(groups: &[&ReplayedGroup], members: usize) -> Self {
        let (mut factor, mut offset, mut worst) = (0.0, 0.0, ("", f64::NEG_INFINITY));
        for group in groups {
            let spread = (1.0 + 1.0 / members as f64).sqrt() * group.spread;
            let demanded = group.largest_bias / spread.max(f64::MIN_POSITIVE);
            if demanded > worst.1 {
                worst = (&group.name, demanded);
            }
            if spread > PRACTICALLY_AGREE * group.largest_bias {
                factor = f64::max(factor, demanded);
            } else {
                offset = f64::max(offset, group.largest_bias);
            }
        }
        let first: Vec<_> = groups.iter().filter(|group| !group.is_later).collect();
        let episodes: usize = first.iter().map(|group| group.episodes).sum();
        let share = |group: &ReplayedGroup| group.episodes as f64 / episodes as f64;
        let variance = first.iter().map(|group| (share(group) * group.std_error).powi(2));
        let unresolved = variance.sum::<f64>().sqrt();
        Self { factor, offset, unresolved, episodes, worst: worst.0.to_owned() }
    }
}
