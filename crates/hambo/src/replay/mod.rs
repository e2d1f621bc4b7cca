//! Logged episodes, played again in the worlds that have not seen them.
//!
//! What an episode earned is known, so the worlds can be asked how wrong they are about returns, not
//! only about single steps. The logged actions alone would not do: a world that drifts off the logged
//! course would get actions for states that it is not in. So they are corrected by what whoever acted
//! would have done about it, as a network π_b learned it:
//!
//!   a_t = a_t(logged) + π_b(s~_t) - π_b(s_t(logged))
//!
//! A choice between a few is the logged one with probability min(1, π_b(a | s~_t) / π_b(a | s_t)), and
//! otherwise drawn so that all of them are as likely as π_b(s~_t) says.
//!
//! The replay chooses how much of the logs' errors worlds draw as noise, λ, and by which factor ρ their
//! disagreement is too small: with D = (mean over unseeing worlds) - (earned), per episode,
//!
//!   U_g = mean_g D + t_{1-δ/S} se_g      ρ = max_g U_g / (√(1 + 1/K) s_g)
//!
//! (δ / 4S if another noise than the usual one was chosen on the same episodes)
//! over S groups of episodes, first and later pieces apart, where s_g is the standard deviation of the worlds' means over group g.

mod behaviour;
mod course;
mod windows;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use self::course::Course;
use self::windows::{MOST_WINDOWS, Window, windows};
use crate::bound::Estimate;
use crate::error::Result;
use crate::game::Game;
use crate::hallucination::{Choice, Hallucination, Noise};
use crate::logs::{BorrowedErrors, ErrorsOfOthers, LoggedActions, LoggedEpisodes};
use crate::rng::{RowStreams, Seed};
use crate::rollout::{self, Limits, Streams, Turn};
use crate::task;

/// Factors on the noise that are tried, the usual one first.
const NOISES: [f32; 4] = [1.0, 0.5, 0.25, 0.0];

/// How often few pieces are played again at the noise that was chosen, at the most.
const MOST_TIMES: usize = 8;

/// Sources of fewer episodes are put together.
const LEAST_IN_GROUP: usize = 5;

/// Without sources, episodes are told apart by how close they are to the policy if there are as many.
const LEAST_TO_TELL_APART: usize = 30;

/// Standard errors within which a bias may be chance.
const CHANCE: f64 = 3.0;

/// A group whose worlds practically agree on something else than it earned. No factor on their
/// disagreement mends that; the difference itself does.
const PRACTICALLY_AGREE: f64 = 1e-3;

/// What logged episodes say of a model's worlds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Factor on the errors that worlds draw as noise, λ.
    pub noise: f32,
    /// The factor that the worlds' disagreement needs so that no group of episodes is overestimated, ρ.
    pub factor: f64,
    /// What is taken off for groups on which all worlds practically agree.
    pub offset: f64,
    /// Standard error of the bias over all groups, over the whole horizon: what episodes so few cannot tell.
    pub unresolved: f64,
    /// Steps that were replayed on average, as a share of the horizon.
    pub covered: f64,
    /// The group that needs the most.
    pub worst: String,
    /// What every tried factor on the noise led to.
    pub tried: Vec<Replayed>,
}

/// What a replay with one factor on the noise showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The factor.
    pub noise: f32,
    /// Group by group.
    pub groups: Vec<ReplayedGroup>,
}

/// Episodes that have something in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayedGroup {
    /// Their source, or how close they are to the policy.
    pub name: String,
    /// How many.
    pub episodes: usize,
    /// Whether these are pieces of them that do not start where they did.
    #[serde(default)]
    pub is_later: bool,
    /// What they earned on average, in pieces of at most the horizon.
    pub earned: f64,
    /// By how much worlds that have not seen them overestimate that.
    pub bias: f64,
    /// Standard error of the bias.
    pub std_error: f64,
    /// Mean absolute error per episode.
    pub absolute_error: f64,
    /// Standard deviation of the worlds' means over the group.
    pub spread: f64,
    /// What the bias may be, with confidence.
    pub largest_bias: f64,
}

impl Replay {
    /// The groups at the noise that was chosen.
    pub fn groups(&self) -> &[ReplayedGroup] {
        let chosen = self.tried.iter().find(|tried| tried.noise == self.noise);
        chosen.map_or(&[], |tried| &tried.groups)
    }

    /// Episodes that it rests on.
    pub fn episodes(&self) -> usize {
        self.groups().iter().filter(|group| !group.is_later).map(|group| group.episodes).sum()
    }
}

/// What is played again, and how.
pub(crate) struct Player<'a> {
    pub(crate) game: Game<'a>,
    pub(crate) episodes: &'a LoggedEpisodes,
    pub(crate) logged_actions: &'a [LoggedActions],
    pub(crate) errors: Option<&'a BorrowedErrors>,
    pub(crate) delta: f64,
    pub(crate) seed: Seed,
}

impl Player<'_> {
    /// `None` with fewer than two episodes, or a model without worlds.
    pub(crate) fn replay(&self) -> Result<Option<Replay>> {
        if self.episodes.len() < 2 || self.game.dynamics.members() < 2 {
            return Ok(None);
        }
        let rng = &mut self.seed.stream("pieces of episodes");
        let windows = windows(self.episodes, self.game.task, rng)?;
        let course = Course::new(&windows, self.episodes, self.logged_actions, self.seed);
        let groups = first_and_later(self.groups()?, &windows);
        let noises: &[f32] = match (self.game.noise, self.errors) {
            (Noise::None, _) => &[0.0],
            (_, None) => &[1.0],
            (_, Some(_)) => &NOISES,
        };
        let replayed = |noise: f32, times: usize, delta: f64| -> Result<Replayed> {
            let returns = self.play(&course, noise, times)?;
            let compare = |group: &Group| self.compare(group, &windows, &returns, delta);
            Ok(Replayed { noise, groups: groups.iter().map(compare).collect() })
        };
        // Every group must hold.
        let delta = self.delta / groups.len() as f64;
        let mut tried = Vec::new();
        for &noise in noises {
            tried.push(replayed(noise, 1, delta)?);
        }
        let best = least_biased(&tried);
        // Another noise than the usual one was searched for on these episodes, and pays for that.
        let delta = if best == 0 { delta } else { delta / noises.len() as f64 };
        // How far worlds differ by chance must not pass for their disagreement.
        let times = (MOST_WINDOWS / windows.len()).clamp(1, MOST_TIMES);
        tried[best] = replayed(noises[best], times, delta)?;
        let steps: usize = windows.iter().map(|window| window.steps).sum();
        let covered = steps as f64 / (windows.len() * self.game.task.horizon) as f64;
        Ok(Some(demanded(tried, best, self.game.dynamics.members(), covered)))
    }

    /// What every world makes of every window, `[members, windows]`, on average over so many times.
    fn play(&self, course: &Course<'_>, scale: f32, times: usize) -> Result<Array2<f64>> {
        let (members, count) = (self.game.dynamics.members(), course.len());
        let own: Vec<usize> = (0..count * times).map(|index| course.number(index)).collect();
        let others = self.errors.map(|all| ErrorsOfOthers { all, own: &own });
        let noise = match &others {
            Some(errors) if scale > 0.0 => Noise::Borrowed { errors, scale },
            Some(_) => Noise::None,
            None => self.game.noise,
        };
        let mut found = Array2::zeros((members, count));
        for member in 0..members {
            let choice = Choice::Member(member);
            let radius = self.game.radius.clone();
            let mut world = Hallucination::new(self.game.dynamics, choice, radius, noise)?;
            let streams = &mut Streams::new(self.seed, "replay");
            // Logged episodes are the data.
            let limits = Limits { floor: None, ..self.game.limits };
            let (task, starts) = (self.game.task, course.starts(times));
            let mut counted: Vec<Option<f64>> = vec![None; count * times];
            let mut rng = self.seed.stream("replay: corrections");
            let act = |turn: &Turn<'_>| Ok(course.actions(turn, count * times, &mut rng));
            let returns =
                rollout::run_by(&mut world, task, limits, act, starts, streams, |step| {
                    for &index in step.episodes {
                        if step.time + 1 == course.window(index).steps {
                            counted[index] = Some(step.returns[index]);
                        }
                    }
                    Ok(())
                })?;
            for (index, (counted, &all)) in counted.into_iter().zip(&returns).enumerate() {
                found[[member, index % count]] += counted.unwrap_or(all) / times as f64;
            }
        }
        Ok(found)
    }

    /// Holds what the worlds make of a group against what it earned. Episodes are the units.
    fn compare(
        &self,
        group: &Group,
        windows: &[Window],
        returns: &Array2<f64>,
        delta: f64,
    ) -> ReplayedGroup {
        let members = returns.nrows();
        let (mut earned, mut differences) = (Vec::new(), Vec::new());
        let mut of_worlds = vec![0.0; members];
        for &episode in &group.episodes {
            let mine = group.pieces(windows, episode);
            let mean = |value: &dyn Fn(usize) -> f64| {
                mine.iter().map(|&window| value(window)).sum::<f64>() / mine.len() as f64
            };
            let unseen = self.episodes.unseen_by(episode, members);
            let by_worlds: Vec<f64> =
                (0..members).map(|member| mean(&|window| returns[[member, window]])).collect();
            let blind: Vec<f64> =
                (0..members).filter(|&k| unseen[k]).map(|k| by_worlds[k]).collect();
            let did_earn = mean(&|window| windows[window].earned);
            differences.push(blind.iter().sum::<f64>() / blind.len().max(1) as f64 - did_earn);
            earned.push(did_earn);
            of_worlds.iter_mut().zip(&by_worlds).for_each(|(sum, value)| *sum += value);
        }
        let count = group.episodes.len() as f64;
        // Where a whole group was drawn or left out together, those who have seen it agree on it, and
        // their distance from the others is no disagreement that a new policy would meet.
        let seen_alike = self.seen_alike(group, members);
        let is_asked = |member: &usize| seen_alike.as_ref().is_none_or(|unseen| unseen[*member]);
        let asked = (0..members).filter(is_asked);
        let of_worlds: Vec<f64> = asked.map(|member| of_worlds[member] / count).collect();
        let spread = match of_worlds.len() {
            0 | 1 => 0.0,
            asked => Estimate::of(&of_worlds).std_error * (asked as f64).sqrt(),
        };
        let difference = Estimate::of(&differences);
        let negative: Vec<f64> = differences.iter().map(|difference| -difference).collect();
        let largest_bias = -Estimate::of(&negative).lower_limit(delta);
        ReplayedGroup {
            name: group.name.clone(),
            episodes: group.episodes.len(),
            is_later: group.is_later,
            earned: earned.iter().sum::<f64>() / count,
            bias: difference.mean,
            std_error: difference.std_error,
            absolute_error: differences.iter().map(|d| d.abs()).sum::<f64>() / count,
            spread,
            largest_bias,
        }
    }

    /// Who has not seen the group, if that is the same for all of its episodes and not for all worlds.
    fn seen_alike(&self, group: &Group, members: usize) -> Option<Vec<bool>> {
        let mut all = group.episodes.iter().map(|&e| self.episodes.unseen_by(e, members));
        let first = all.next()?;
        let differs_by_world = first.contains(&true) && first.contains(&false);
        (group.episodes.len() > 1 && differs_by_world && all.all(|unseen| unseen == first))
            .then_some(first)
    }

    /// The sources, or how close episodes are to the policy.
    fn groups(&self) -> Result<Vec<Group>> {
        let all: Vec<usize> = (0..self.episodes.len()).collect();
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        let mut others = Vec::new();
        if let Some(sources) = &self.episodes.sources {
            for (source, name) in sources.names().iter().enumerate() {
                let of = all.iter().copied().filter(|&episode| sources.of(episode) == source);
                let mine: Vec<usize> = of.collect();
                match mine.len() >= LEAST_IN_GROUP {
                    true => groups.push((name.clone(), mine)),
                    false => others.extend(mine),
                }
            }
        }
        // Without sources, or with such that have a few episodes each, how close they are to the policy.
        if groups.is_empty() && all.len() >= LEAST_TO_TELL_APART {
            let distances = self.distances()?;
            let mut order = all;
            order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
            let third = order.len().div_ceil(3);
            let names = ["closest third", "middle third", "furthest third"].map(String::from);
            groups = names.into_iter().zip(order.chunks(third).map(Vec::from)).collect();
        } else if groups.is_empty() {
            groups.push(("all".into(), all));
        } else {
            match others.len() {
                0 => {}
                1 => groups[0].1.extend(others),
                _ => groups.push(("other sources".into(), others)),
            }
        }
        groups.retain(|(_, episodes)| !episodes.is_empty());
        let is_later = false;
        Ok(groups.into_iter().map(|(name, episodes)| Group { name, episodes, is_later }).collect())
    }

    /// How far the policy's actions are from the logged ones, per episode, in standard deviations of the
    /// logged ones.
    fn distances(&self) -> Result<Vec<f64>> {
        let logged = &self.episodes.transitions;
        let draws = &mut RowStreams::new(&mut self.seed.stream("distances"), logged.rewards.len());
        let (states, columns) = (logged.states.view(), logged.actions.ncols());
        let actions = task::act(self.game.policy, states, columns, draws)?;
        let scale = logged.actions.std_axis(Axis(0), 0.0);
        let scale = scale.mapv(|std| if std > 0.0 { std } else { 1.0 });
        let apart = ((actions - &logged.actions) / &scale).mapv(f32::abs).sum_axis(Axis(1));
        let of_episode = |episode| {
            let rows = self.episodes.rows(episode);
            let count = rows.len() as f64;
            rows.map(|row| f64::from(apart[row])).sum::<f64>() / count
        };
        Ok((0..self.episodes.len()).map(of_episode).collect())
    }
}

/// The noise with the least bias that is beyond chance, the usual noise among equals. Whose errors per
/// episode are least would not do: where failures are rare, that is the world without them.
fn least_biased(tried: &[Replayed]) -> usize {
    let bias = |replayed: &Replayed| {
        let beyond = |group: &ReplayedGroup| group.bias.abs() - CHANCE * group.std_error;
        replayed.groups.iter().map(|group| beyond(group).max(0.0).powi(2)).sum::<f64>()
    };
    let less = |best: usize, next: usize| {
        if bias(&tried[next]) < bias(&tried[best]) { next } else { best }
    };
    (1..tried.len()).fold(0, less)
}

/// What the groups demand at the noise that was chosen.
fn demanded(tried: Vec<Replayed>, best: usize, members: usize, covered: f64) -> Replay {
    let (mut factor, mut offset, mut worst) = (0.0, 0.0, ("", f64::NEG_INFINITY));
    for group in &tried[best].groups {
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
    let groups: Vec<_> = tried[best].groups.iter().filter(|group| !group.is_later).collect();
    let episodes: usize = groups.iter().map(|group| group.episodes).sum();
    let variance = |g: &&ReplayedGroup| (g.episodes as f64 / episodes as f64 * g.std_error).powi(2);
    // Biases of shorter pieces add up over the horizon.
    let (worst, offset) = (worst.0.to_owned(), offset / covered);
    let unresolved = groups.iter().map(variance).sum::<f64>().sqrt() / covered;
    Replay { noise: tried[best].noise, factor, offset, unresolved, covered, worst, tried }
}

/// Episodes that have something in common, and which pieces of them are looked at.
struct Group {
    name: String,
    episodes: Vec<usize>,
    /// Those that do not start where their episode did.
    is_later: bool,
}

impl Group {
    /// The numbers of an episode's pieces; windows are in the order of the episodes.
    fn pieces(&self, windows: &[Window], episode: usize) -> Vec<usize> {
        let first = windows.partition_point(|window| window.episode < episode);
        let last = windows.partition_point(|window| window.episode <= episode);
        (first..last).filter(|&index| windows[index].is_first != self.is_later).collect()
    }
}

/// Policies are evaluated from the start of an episode, and what is true there need not be later: where
/// episodes are longer than the horizon, their later pieces are groups of their own.
fn first_and_later(groups: Vec<Group>, windows: &[Window]) -> Vec<Group> {
    let mut all = Vec::new();
    for group in groups {
        let later =
            Group { name: format!("{}, later", group.name), episodes: Vec::new(), is_later: true };
        let has_later = |episode: &usize| !later.pieces(windows, *episode).is_empty();
        let episodes: Vec<usize> = group.episodes.iter().copied().filter(has_later).collect();
        all.push(group);
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
                earned: 0.0,
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
