//! What replayed groups demand of a limit over worlds.

use serde::{Deserialize, Serialize};

use super::replayed::ReplayedGroup;

/// A group whose worlds practically agree on something else than it earned. No factor on their
/// disagreement fixes that; the difference itself does.
const PRACTICALLY_AGREE: f64 = 1e-3;

/// What a group's episodes cannot tell counts as so many times its worlds' disagreement, at most.
const MOST_UNTOLD: f64 = 2.0;

/// What a limit needs so that no group is overestimated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// On the worlds' disagreement.
    pub factor: f64,
    /// What is taken off for groups on which all worlds practically agree.
    pub offset: f64,
    /// Largest standard error of a group's bias: what its episodes cannot tell.
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
            let bias = counted_bias(group, spread);
            let demanded = bias / spread.max(f64::MIN_POSITIVE);
            if demanded > worst.1 {
                worst = (&group.name, demanded);
            }
            if spread > PRACTICALLY_AGREE * bias {
                factor = f64::max(factor, demanded);
            } else {
                offset = f64::max(offset, bias);
            }
        }
        let first = groups.iter().filter(|group| !group.is_later);
        let episodes = first.map(|group| group.episodes).sum();
        let unresolved = groups.iter().map(|group| group.std_error).fold(0.0, f64::max);
        Self { factor, offset, unresolved, episodes, worst: worst.0.to_owned() }
    }
}

/// What a group's bias may be, where the factor is concerned.
///
/// What its episodes cannot tell counts as twice the worlds' disagreement at most, per standard error. The
/// better the worlds agree on the logs, the more would it be blown up by a division through their
/// disagreement, and that factor would then meet the far larger disagreement about a new policy. In full
/// it is added once, as it is ([`Demand::unresolved`]).
fn counted_bias(group: &ReplayedGroup, spread: f64) -> f64 {
    let untold = group.largest_bias - group.bias;
    let most = MOST_UNTOLD * spread;
    let share = if group.std_error > most { most / group.std_error } else { 1.0 };
    group.bias + share * untold
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(bias: f64, std_error: f64, spread: f64) -> ReplayedGroup {
        ReplayedGroup {
            name: "logs".into(),
            episodes: 30,
            is_later: false,
            earned: 100.0,
            bias,
            std_error,
            skewness: 0.0,
            absolute_error: 1.0,
            spread,
            largest_bias: bias + 2.0 * std_error,
        }
    }

    fn demand(group: &ReplayedGroup) -> Demand {
        // So many members that the spread of one more is that of these.
        Demand::of(&[group], usize::MAX)
    }

    #[test]
    fn what_few_episodes_cannot_tell_is_not_blown_up_by_worlds_that_agree() {
        // Worlds that disagree by more than the sampling error: all of it counts.
        assert_eq!(demand(&group(1.0, 0.5, 2.0)).factor, 1.0);
        // Ten times better worlds, the same episodes: four times their disagreement beside the bias.
        assert!((demand(&group(0.1, 0.5, 0.2)).factor - 4.5).abs() < 1e-12);
        // A bias that was seen counts in full.
        assert!((demand(&group(1.0, 0.5, 0.2)).factor - 9.0).abs() < 1e-12);
        assert_eq!(demand(&group(1.0, 0.5, 0.2)).unresolved, 0.5);
    }

    #[test]
    fn where_worlds_practically_agree_the_bias_itself_is_taken_off() {
        let Demand { factor, offset, .. } = demand(&group(1.0, 0.0, 1e-6));
        assert_eq!((factor, offset), (0.0, 1.0));
    }
}
