//! What the worlds made of a group of episodes, against what it earned.

use ndarray::Array2;

use super::demand::Demand;
use super::groups::Group;
use super::replayed::ReplayedGroup;
use super::windows::Window;
use crate::bound::Estimate;
use crate::logs::LoggedEpisodes;

/// What was played again, over a horizon.
pub(super) struct Comparison<'a> {
    pub(super) episodes: &'a LoggedEpisodes,
    pub(super) windows: &'a [Window],
    pub(super) horizon: usize,
    /// What every world makes of every window, `[members, windows]`.
    pub(super) returns: &'a Array2<f64>,
    /// Of every limit by itself.
    pub(super) delta: f64,
}

/// A group, episode by episode and world by world.
struct Compared {
    earned: Vec<f64>,
    /// What worlds that have not seen an episode make of it, less what it earned.
    differences: Vec<f64>,
    /// Means over the group, of the worlds that are asked.
    of_worlds: Vec<f64>,
}

impl Comparison<'_> {
    /// Episodes are the units.
    pub(super) fn of(&self, group: &Group) -> ReplayedGroup {
        let Compared { earned, differences, of_worlds } = self.compared(group, &self.asked(group));
        let count = group.episodes.len() as f64;
        let difference = Estimate::of(&differences);
        let found = ReplayedGroup {
            name: group.name.clone(),
            episodes: group.episodes.len(),
            is_later: group.is_later,
            earned: earned.iter().sum::<f64>() / count,
            bias: difference.mean,
            std_error: difference.std_error,
            skewness: difference.skewness,
            absolute_error: differences.iter().map(|d| d.abs()).sum::<f64>() / count,
            spread: standard_deviation(&of_worlds),
            largest_bias: 0.0,
        };
        ReplayedGroup { largest_bias: found.largest_bias_at(self.delta), ..found }
    }

    /// What the differences between each group and all others demand.
    pub(super) fn of_differences(&self, groups: &[Group]) -> Option<Demand> {
        let first: Vec<&Group> = groups.iter().filter(|group| !group.is_later).collect();
        if first.len() < 2 {
            return None;
        }
        let against_others = |group: &&Group| {
            let is_other = |other: &&&Group| !std::ptr::eq(**other, *group);
            let others = first.iter().filter(is_other).flat_map(|other| other.episodes.clone());
            let others = Group { name: String::new(), episodes: others.collect(), is_later: false };
            self.difference(group, &others)
        };
        let found: Vec<ReplayedGroup> = first.iter().map(against_others).collect();
        Some(Demand::of(&found.iter().collect::<Vec<_>>(), self.returns.nrows()))
    }

    /// How wrong the worlds are about what a group earned more than others.
    fn difference(&self, group: &Group, others: &Group) -> ReplayedGroup {
        let (mine, theirs) = (self.of(group), self.of(others));
        let asked = self.asked(group);
        let (my_worlds, their_worlds) =
            (self.compared(group, &asked).of_worlds, self.compared(others, &asked).of_worlds);
        let of_worlds: Vec<f64> = my_worlds.iter().zip(&their_worlds).map(|(a, b)| a - b).collect();
        let bias = mine.bias - theirs.bias;
        // What raises the difference: mine is higher than it seems, or theirs lower.
        let lower =
            ReplayedGroup { bias: -theirs.bias, skewness: -theirs.skewness, ..theirs.clone() };
        let mine_may = mine.largest_bias_at(self.delta) - mine.bias;
        let theirs_may = lower.largest_bias_at(self.delta) - lower.bias;
        ReplayedGroup {
            earned: mine.earned - theirs.earned,
            bias,
            std_error: mine.std_error.hypot(theirs.std_error),
            spread: standard_deviation(&of_worlds),
            largest_bias: bias + mine_may.hypot(theirs_may),
            ..mine
        }
    }

    fn compared(&self, group: &Group, asked: &[bool]) -> Compared {
        let members = self.returns.nrows();
        let (mut earned, mut differences) = (Vec::new(), Vec::new());
        let mut of_worlds = vec![0.0; members];
        for &episode in &group.episodes {
            let mine = group.pieces(self.windows, episode);
            let mean = |value: &dyn Fn(usize) -> f64| {
                mine.iter().map(|&window| value(window)).sum::<f64>() / mine.len() as f64
            };
            let unseen = self.episodes.unseen_by(episode, members);
            let by_worlds: Vec<f64> =
                (0..members).map(|member| mean(&|window| self.returns[[member, window]])).collect();
            let blind: Vec<f64> =
                (0..members).filter(|&k| unseen[k]).map(|k| by_worlds[k]).collect();
            let did_earn = mean(&|window| self.windows[window].earned_within(self.horizon));
            differences.push(blind.iter().sum::<f64>() / blind.len().max(1) as f64 - did_earn);
            earned.push(did_earn);
            of_worlds.iter_mut().zip(&by_worlds).for_each(|(sum, value)| *sum += value);
        }
        let count = group.episodes.len() as f64;
        let of_worlds = of_worlds.into_iter().zip(asked).filter(|(_, asked)| **asked);
        Compared { earned, differences, of_worlds: of_worlds.map(|(sum, _)| sum / count).collect() }
    }

    /// The worlds whose disagreement about a group counts. Where a whole group was drawn or left out
    /// together, those who have seen it agree on it, and their distance from the others is no
    /// disagreement that a new policy would meet.
    fn asked(&self, group: &Group) -> Vec<bool> {
        let members = self.returns.nrows();
        let everybody = vec![true; members];
        let mut all = group.episodes.iter().map(|&e| self.episodes.unseen_by(e, members));
        let Some(first) = all.next() else { return everybody };
        let differs_by_world = first.contains(&true) && first.contains(&false);
        let is_whole = group.episodes.len() > 1 && all.all(|unseen| unseen == first);
        if differs_by_world && is_whole { first } else { everybody }
    }
}

/// Zero of fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    match values.len() {
        0 | 1 => 0.0,
        count => Estimate::of(values).std_error * (count as f64).sqrt(),
    }
}
