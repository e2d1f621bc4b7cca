//! Which logged episodes belong together.

use ndarray::Axis;

use super::windows::Window;
use crate::error::Result;
use crate::logs::LoggedEpisodes;
use crate::rng::{RowStreams, Seed};
use crate::task::{self, Policy};

/// Sources of fewer episodes are put together.
const LEAST_IN_GROUP: usize = 5;

/// More sources are put together. What each of many demands is mostly chance: few episodes say what it earned,
/// and few worlds have not seen it.
const MOST_SOURCES: usize = 5;

/// Without sources, episodes are told apart in other ways if there are as many.
const LEAST_TO_TELL_APART: usize = 30;

/// Episodes that have something in common, and which pieces of them are looked at.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) episodes: Vec<usize>,
    /// Those that do not start where their episode did.
    pub(super) is_later: bool,
}

/// How episodes without sources are told apart.
#[derive(Clone, Copy)]
pub(crate) enum Apart<'a> {
    /// By how close they are to a policy.
    Policy(&'a dyn Policy),
    /// By when they were logged.
    Order,
}

impl Group {
    pub(super) fn of_all(name: &str, episodes: &LoggedEpisodes) -> Self {
        Self { name: name.into(), episodes: (0..episodes.len()).collect(), is_later: false }
    }

    /// The numbers of an episode's pieces; windows are in the order of the episodes.
    pub(super) fn pieces(&self, windows: &[Window], episode: usize) -> Vec<usize> {
        let first = windows.partition_point(|window| window.episode < episode);
        let last = windows.partition_point(|window| window.episode <= episode);
        (first..last).filter(|&index| windows[index].is_first != self.is_later).collect()
    }
}

/// The sources, thirds of many of them or, without sources of some episodes each, thirds of all episodes.
pub(super) fn groups(
    episodes: &LoggedEpisodes,
    apart: Apart<'_>,
    seed: Seed,
) -> Result<Vec<Group>> {
    let (mut groups, others) = by_source(episodes);
    if groups.len() > MOST_SOURCES {
        let small = others.into_iter().map(|episode| vec![episode]);
        let units = groups.into_iter().map(|group| group.episodes).chain(small);
        groups = thirds(units.collect(), " of the sources", episodes, apart, seed)?;
    } else if groups.is_empty() && episodes.len() >= LEAST_TO_TELL_APART {
        let units = (0..episodes.len()).map(|episode| vec![episode]);
        groups = thirds(units.collect(), "", episodes, apart, seed)?;
    } else if groups.is_empty() {
        groups.push(Group::of_all("all", episodes));
    } else {
        match others.len() {
            0 => {}
            1 => groups[0].episodes.extend(others),
            _ => groups.push(Group {
                name: "other sources".into(),
                episodes: others,
                is_later: false,
            }),
        }
    }
    groups.retain(|group| !group.episodes.is_empty());
    Ok(groups)
}

/// Sources with enough episodes, and the episodes of all others.
fn by_source(episodes: &LoggedEpisodes) -> (Vec<Group>, Vec<usize>) {
    let (mut groups, mut others) = (Vec::new(), Vec::new());
    let Some(sources) = &episodes.sources else { return (groups, others) };
    for (source, name) in sources.names().iter().enumerate() {
        let of = (0..episodes.len()).filter(|&episode| sources.of(episode) == source);
        let mine: Vec<usize> = of.collect();
        match mine.len() >= LEAST_IN_GROUP {
            true => groups.push(Group { name: name.clone(), episodes: mine, is_later: false }),
            false => others.extend(mine),
        }
    }
    (groups, others)
}

/// Thirds of units, each of one or more episodes that stay together.
fn thirds(
    mut units: Vec<Vec<usize>>,
    of_what: &str,
    episodes: &LoggedEpisodes,
    apart: Apart<'_>,
    seed: Seed,
) -> Result<Vec<Group>> {
    let names = match apart {
        Apart::Policy(policy) => {
            let distances = distances(episodes, policy, seed)?;
            let mean = |unit: &Vec<usize>| {
                unit.iter().map(|&episode| distances[episode]).sum::<f64>() / unit.len() as f64
            };
            units.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
            ["closest third", "middle third", "furthest third"]
        }
        Apart::Order => ["first third", "second third", "last third"],
    };
    let third = units.len().div_ceil(3);
    let named = names.into_iter().zip(units.chunks(third));
    let group = |(name, units): (&str, &[Vec<usize>])| Group {
        name: format!("{name}{of_what}"),
        episodes: units.concat(),
        is_later: false,
    };
    Ok(named.map(group).collect())
}

/// How far the policy's actions are from the logged ones, per episode, in standard deviations of the
/// logged ones.
fn distances(episodes: &LoggedEpisodes, policy: &dyn Policy, seed: Seed) -> Result<Vec<f64>> {
    let logged = &episodes.transitions;
    let draws = &mut RowStreams::new(&mut seed.stream("distances"), logged.rewards.len());
    let (states, columns) = (logged.states.view(), logged.actions.ncols());
    let actions = task::act(policy, states, columns, draws)?;
    let scale = logged.actions.std_axis(Axis(0), 0.0);
    let scale = scale.mapv(|std| if std > 0.0 { std } else { 1.0 });
    let apart = ((actions - &logged.actions) / &scale).mapv(f32::abs).sum_axis(Axis(1));
    let of_episode = |episode| {
        let rows = episodes.rows(episode);
        let count = rows.len() as f64;
        rows.map(|row| f64::from(apart[row])).sum::<f64>() / count
    };
    Ok((0..episodes.len()).map(of_episode).collect())
}

/// Policies are evaluated from the start of an episode, and what is true there need not be later: where
/// episodes are longer than the horizon, their later pieces are groups of their own.
pub(super) fn first_and_later(groups: Vec<Group>, windows: &[Window]) -> Vec<Group> {
    let mut all = Vec::new();
    for mut group in groups {
        let later =
            Group { name: format!("{}, later", group.name), episodes: Vec::new(), is_later: true };
        let has_later = |episode: &usize| !later.pieces(windows, *episode).is_empty();
        let episodes: Vec<usize> = group.episodes.iter().copied().filter(has_later).collect();
        let first = Group { name: String::new(), episodes: Vec::new(), is_later: false };
        group.episodes.retain(|&episode| !first.pieces(windows, episode).is_empty());
        if !group.episodes.is_empty() {
            all.push(group);
        }
        if episodes.len() >= LEAST_IN_GROUP {
            all.push(Group { episodes, ..later });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of ten steps, as many per episode as given.
    fn windows(pieces: &[usize]) -> Vec<Window> {
        let of_episode = |(episode, &count): (usize, &usize)| {
            (0..count).map(move |piece| Window {
                episode,
                is_first: piece == 0,
                rows: 0..10,
                steps: 10,
                earned: vec![0.0; 10],
            })
        };
        pieces.iter().enumerate().flat_map(of_episode).collect()
    }

    fn split(pieces: &[usize]) -> Vec<(String, Vec<usize>, Vec<usize>)> {
        let windows = windows(pieces);
        let all =
            Group { name: "all".into(), episodes: (0..pieces.len()).collect(), is_later: false };
        let groups = first_and_later(vec![all], &windows);
        let last = pieces.len() - 1;
        let shown = |group: Group| (group.pieces(&windows, last), group);
        let plain = |(mine, group): (Vec<usize>, Group)| (group.name, group.episodes, mine);
        groups.into_iter().map(shown).map(plain).collect()
    }

    #[test]
    fn later_pieces_are_a_group_of_their_own() {
        let found = split(&[3, 1, 3, 3, 3, 3]);
        assert_eq!(found[0], ("all".into(), vec![0, 1, 2, 3, 4, 5], vec![13]));
        assert_eq!(found[1], ("all, later".into(), vec![0, 2, 3, 4, 5], vec![14, 15]));
    }

    #[test]
    fn few_episodes_with_later_pieces_are_none() {
        assert_eq!(split(&[1, 1, 2, 1, 1, 1]).len(), 1);
    }
}
