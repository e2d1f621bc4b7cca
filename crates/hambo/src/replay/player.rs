//! Plays logged episodes again, in all worlds.

use ndarray::{Array1, Array2};

use super::claims::{Backtest, CHANCE};
use super::compare::Comparison;
use super::course::Course;
use super::demand::Demand;
use super::groups::{Apart, Group, first_and_later, groups};
use super::outcome::Replay;
use super::replayed::{AtHorizon, Replayed, ReplayedGroup};
use super::windows::{MOST_WINDOWS, Window, windows};
use crate::bound::Estimate;
use crate::error::Result;
use crate::exogenous::{Driven, Exogenous};
use crate::game::Game;
use crate::hallucination::{Choice, Hallucination, Noise};
use crate::logs::{BorrowedErrors, ErrorsOfOthers, LoggedActions, LoggedEpisodes};
use crate::progress::Observer;
use crate::rng::Seed;
use crate::rollout::{self, Limits, Streams, Turn};
use crate::side_by_side::{Steps, side_by_side};
use crate::task::Starts;

/// Factors on the noise that are tried, the usual one first.
const NOISES: [f32; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// How often few pieces are played again at the noise that was chosen, at most.
const MOST_TIMES: usize = 8;

/// Parts of the horizon about which claims are made.
const PARTS: [usize; 4] = [8, 4, 2, 1];

/// Share of the first pieces that must last for the horizon, so that what the logs earned is known.
const LASTING: f64 = 0.9;

/// What is played again, and how.
pub(crate) struct Player<'a> {
    pub(crate) game: Game<'a>,
    pub(crate) episodes: &'a LoggedEpisodes,
    pub(crate) logged_actions: &'a [LoggedActions],
    /// How episodes without sources are told apart.
    pub(crate) apart: Apart<'a>,
    pub(crate) errors: Option<&'a BorrowedErrors>,
    pub(crate) delta: f64,
    pub(crate) seed: Seed,
    pub(crate) observer: &'a dyn Observer,
}

/// A policy and the logs, from the same starts.
pub(crate) struct AgainstLogs {
    /// What the policy earns more than the logs, start by start, according to worlds that have not seen them.
    pub(crate) differences: Vec<f64>,
    /// The same on average, world by world.
    pub(crate) of_worlds: Vec<f64>,
    /// What the logs earned.
    pub(crate) earned: Estimate,
}

impl Player<'_> {
    /// `None` with fewer than two episodes, or a model without worlds.
    pub(crate) fn replay(&self) -> Result<Option<(Replay, Vec<AtHorizon>)>> {
        if self.episodes.len() < 2 || self.game.dynamics.members() < 2 {
            return Ok(None);
        }
        let windows = self.windows()?;
        let course = self.course(&windows);
        let groups = first_and_later(groups(self.episodes, self.apart, self.seed)?, &windows);
        let noises: &[f32] = match (self.game.noise, self.errors) {
            (Noise::None, _) => &[0.0],
            (_, None) => &[1.0],
            (_, Some(_)) => &NOISES,
        };
        let horizon = self.game.task.horizon;
        // Every group must hold.
        let delta = self.delta / groups.len() as f64;
        // Another noise than the usual one is searched for on these episodes, and pays for that.
        let searched = delta / noises.len() as f64;
        let mut tried: Vec<Replayed> = Vec::new();
        for &noise in noises {
            let returns = self.play(&course, noise, 1, &[horizon])?;
            let delta = if tried.is_empty() { delta } else { searched };
            let compare = self.comparison(&windows, horizon, &returns[0], delta);
            let groups = groups.iter().map(|group| compare.of(group)).collect();
            tried.push(Replayed { noise, groups });
        }
        let members = self.game.dynamics.members();
        let best = least_biased(&tried);
        let delta = if best == 0 { delta } else { searched };
        let horizons = horizons(horizon);
        let returns = self.play(&course, noises[best], times(&windows), &horizons)?;
        let at = self.over_horizons(&windows, &groups, &horizons, &returns, delta);
        let whole = &at[at.len() - 1];
        let compare = self.comparison(&windows, horizon, &returns[returns.len() - 1], delta);
        let Demand { factor, offset, unresolved, worst, .. } =
            Demand::of(&whole.groups.iter().collect::<Vec<_>>(), members);
        tried[best].groups = whole.groups.clone();
        let replay = Replay {
            noise: noises[best],
            factor,
            // Biases of shorter pieces add up over the horizon.
            offset: offset / whole.covered,
            unresolved: unresolved / whole.covered,
            covered: whole.covered,
            worst,
            tried,
            of_differences: compare.of_differences(&groups),
            earned: lasting(&windows, horizon).map(|lasting| earned(&lasting, horizon)),
            backtest: Backtest::within(&at, members, self.delta),
        };
        Ok(Some((replay, at)))
    }

    /// All episodes as one group, at a noise that was chosen elsewhere.
    pub(crate) fn replay_as(&self, name: &str, noise: f32) -> Result<Vec<AtHorizon>> {
        let windows = self.windows()?;
        let course = self.course(&windows);
        let groups = first_and_later(vec![Group::of_all(name, self.episodes)], &windows);
        let horizons = horizons(self.game.task.horizon);
        let returns = self.play(&course, noise, times(&windows), &horizons)?;
        Ok(self.over_horizons(&windows, &groups, &horizons, &returns, self.delta))
    }

    /// The policy against the logs, from their starts. `None` if too few of them last for the horizon.
    pub(crate) fn against_logs(&self, noise: f32) -> Result<Option<AgainstLogs>> {
        let (horizon, members) = (self.game.task.horizon, self.game.dynamics.members());
        let Some(windows) = lasting(&self.windows()?, horizon) else { return Ok(None) };
        let course = self.course(&windows);
        let times = times(&windows);
        let replayed = &self.play(&course, noise, times, &[horizon])?[0];
        let own = own(&course, times);
        let others = self.errors.map(|all| ErrorsOfOthers { all, own: &own });
        let (noise, exogenous) = (self.noise(others.as_ref(), noise), self.exogenous());
        let game = Game { noise, exogenous, ..self.game };
        let mut more = Array2::zeros((members, windows.len()));
        for member in 0..members {
            let (states, logged) = (course.starts(times), course.rows(times));
            let starts = Starts { states, observed: None, logged };
            let streams = &mut Streams::new(self.seed, "replay");
            let played = game.play_from(starts, Choice::Member(member), streams, |_| Ok(()))?;
            for (index, &earned) in played.returns.iter().enumerate() {
                more[[member, index % windows.len()]] += earned / times as f64;
            }
        }
        more -= replayed;
        let difference = |(index, window): (usize, &Window)| {
            let unseen = self.episodes.unseen_by(window.episode, members);
            let blind = (0..members).filter(|&member| unseen[member]);
            let found: Vec<f64> = blind.map(|member| more[[member, index]]).collect();
            found.iter().sum::<f64>() / found.len().max(1) as f64
        };
        Ok(Some(AgainstLogs {
            differences: windows.iter().enumerate().map(difference).collect(),
            of_worlds: more.rows().into_iter().map(|row| row.sum() / row.len() as f64).collect(),
            earned: earned(&windows, horizon),
        }))
    }

    /// By how much unseeing worlds overestimate each group of episodes at the usual noise, with confidence, and what
    /// numbers of the logged rows sum to along its pieces, discounted as rewards are.
    pub(crate) fn biases_beside(&self, of_rows: &Array1<f64>) -> Result<Vec<(String, f64, f64)>> {
        if self.episodes.len() < 2 || self.game.dynamics.members() < 2 {
            return Ok(Vec::new());
        }
        let windows = self.windows()?;
        let groups = first_and_later(groups(self.episodes, self.apart, self.seed)?, &windows);
        let horizon = self.game.task.horizon;
        let returns = self.play(&self.course(&windows), 1.0, 1, &[horizon])?;
        let delta = self.delta / groups.len() as f64;
        let compare = self.comparison(&windows, horizon, &returns[0], delta);
        let discount = f64::from(self.game.task.discount);
        let sum_of = |window: &Window| {
            let rows = window.rows.clone().take(window.earned.len()).enumerate();
            rows.map(|(t, row)| discount.powi(t as i32) * of_rows[row]).sum::<f64>()
        };
        let beside = |group: &Group| {
            let of_episode = |&episode: &usize| {
                let pieces = group.pieces(&windows, episode);
                let sum: f64 = pieces.iter().map(|&piece| sum_of(&windows[piece])).sum();
                sum / pieces.len().max(1) as f64
            };
            let sum: f64 = group.episodes.iter().map(of_episode).sum();
            let found = compare.of(group);
            (found.name, found.largest_bias, sum / group.episodes.len().max(1) as f64)
        };
        Ok(groups.iter().map(beside).collect())
    }

    fn windows(&self) -> Result<Vec<Window>> {
        let rng = &mut self.seed.stream("pieces of episodes");
        windows(self.episodes, self.game.task, rng)
    }

    fn course<'w>(&'w self, windows: &'w [Window]) -> Course<'w> {
        Course::new(windows, self.episodes, self.logged_actions)
    }

    fn comparison<'c>(
        &'c self,
        windows: &'c [Window],
        horizon: usize,
        returns: &'c Array2<f64>,
        delta: f64,
    ) -> Comparison<'c> {
        Comparison { episodes: self.episodes, windows, horizon, returns, delta }
    }

    /// All groups over every horizon, given what was played.
    fn over_horizons(
        &self,
        windows: &[Window],
        groups: &[Group],
        horizons: &[usize],
        returns: &[Array2<f64>],
        delta: f64,
    ) -> Vec<AtHorizon> {
        let over = |(&horizon, returns): (&usize, &Array2<f64>)| {
            let compare = self.comparison(windows, horizon, returns, delta);
            let groups = groups.iter().map(|group| compare.of(group)).collect();
            AtHorizon { horizon, covered: covered(windows, horizon), groups }
        };
        horizons.iter().zip(returns).map(over).collect()
    }

    /// As the episodes show it that are played again, which need not be the model's.
    fn exogenous(&self) -> Option<Exogenous<'_>> {
        self.game.exogenous.map(|exogenous| exogenous.shown_by(self.episodes))
    }

    fn noise<'n>(&'n self, others: Option<&'n ErrorsOfOthers<'n>>, scale: f32) -> Noise<'n> {
        match others {
            Some(errors) if scale > 0.0 => Noise::Borrowed { errors, scale },
            Some(_) => Noise::None,
            None => self.game.noise,
        }
    }

    /// What every world makes of every window within each horizon, `[members, windows]`, on average over so
    /// many times.
    fn play(
        &self,
        course: &Course<'_>,
        scale: f32,
        times: usize,
        horizons: &[usize],
    ) -> Result<Vec<Array2<f64>>> {
        let (members, count) = (self.game.dynamics.members(), course.len());
        let own = own(course, times);
        let others = self.errors.map(|all| ErrorsOfOthers { all, own: &own });
        let noise = self.noise(others.as_ref(), scale);
        let task = self.game.task;
        let steps = Steps::new(self.observer, "replay", members * task.horizon);
        let in_world = |member| {
            let choice = Choice::Member(member);
            let radius = self.game.radius.clone();
            let world = Hallucination::new(self.game.dynamics, choice, radius, noise)?;
            let courses = self.exogenous().map(|exogenous| exogenous.courses(course.rows(times)));
            let mut world = Driven { world, courses, history: self.game.history };
            let streams = &mut Streams::new(self.seed, "replay");
            // Logged episodes are the data.
            let limits = Limits { floor: None, ..self.game.limits };
            let starts = course.starts(times);
            let mut counted: Vec<Vec<Option<f64>>> =
                vec![vec![None; count * times]; horizons.len()];
            let mut rng = self.seed.stream("replay: corrections");
            let act = |turn: &Turn<'_>| Ok(course.actions(turn, count * times, &mut rng));
            let returns =
                rollout::run_by(&mut world, task, limits, act, starts, streams, |step| {
                    steps.report()?;
                    for (counted, &horizon) in counted.iter_mut().zip(horizons) {
                        for &index in step.episodes {
                            if step.time + 1 == course.window(index).steps_within(horizon) {
                                counted[index] = Some(step.returns[index]);
                            }
                        }
                    }
                    Ok(())
                })?;
            let whole = |(counted, &all): (Option<f64>, &f64)| counted.unwrap_or(all);
            let within = |counted: Vec<Option<f64>>| -> Vec<f64> {
                counted.into_iter().zip(&returns).map(whole).collect()
            };
            Ok(counted.into_iter().map(within).collect::<Vec<_>>())
        };
        let mut found = vec![Array2::zeros((members, count)); horizons.len()];
        for (member, of_horizons) in side_by_side(members, in_world)?.into_iter().enumerate() {
            for (found, returns) in found.iter_mut().zip(of_horizons) {
                for (index, earned) in returns.into_iter().enumerate() {
                    found[[member, index % count]] += earned / times as f64;
                }
            }
        }
        Ok(found)
    }
}

/// The episode of the data that each played episode is.
fn own(course: &Course<'_>, times: usize) -> Vec<usize> {
    (0..course.len() * times).map(|index| course.number(index)).collect()
}

/// How often pieces are played: how far worlds differ by chance must not pass for their disagreement.
fn times(windows: &[Window]) -> usize {
    (MOST_WINDOWS / windows.len().max(1)).clamp(1, MOST_TIMES)
}

/// About which claims are made, the whole one last.
fn horizons(horizon: usize) -> Vec<usize> {
    let mut parts: Vec<usize> = PARTS.iter().map(|part| horizon.div_ceil(*part)).collect();
    parts.dedup();
    parts
}

/// How much of a horizon pieces last, on average.
fn covered(windows: &[Window], horizon: usize) -> f64 {
    let steps: usize = windows.iter().map(|window| window.steps_within(horizon)).sum();
    steps as f64 / (windows.len() * horizon) as f64
}

/// First pieces that last for the horizon, if nearly all do.
fn lasting(windows: &[Window], horizon: usize) -> Option<Vec<Window>> {
    let first: Vec<&Window> = windows.iter().filter(|window| window.is_first).collect();
    let lasts = |window: &&&Window| window.steps >= horizon;
    let lasting: Vec<Window> =
        first.iter().filter(lasts).map(|window| (**window).clone()).collect();
    (lasting.len() >= 2 && lasting.len() as f64 >= LASTING * first.len() as f64).then_some(lasting)
}

fn earned(windows: &[Window], horizon: usize) -> Estimate {
    let earned: Vec<f64> = windows.iter().map(|window| window.earned_within(horizon)).collect();
    Estimate::of(&earned)
}

/// The usual noise unless the logs contradict it, otherwise the noise with the least bias. Whose errors per
/// episode are least would not do: where failures are rare, that is the world without them.
fn least_biased(tried: &[Replayed]) -> usize {
    let in_errors =
        |group: &ReplayedGroup| group.bias.abs() / group.std_error.max(f64::MIN_POSITIVE);
    let is_contradicted = tried[0].groups.iter().any(|group| in_errors(group) > CHANCE);
    if !is_contradicted {
        return 0;
    }
    let bias = |index: usize| -> f64 {
        tried[index].groups.iter().map(|group| in_errors(group).powi(2)).sum()
    };
    (1..tried.len()).fold(0, |best, next| if bias(next) < bias(best) { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of which the standard error is 1.
    fn at(noise: f32, biases: [f64; 2]) -> Replayed {
        let group = |bias: f64| ReplayedGroup {
            name: "logs".into(),
            episodes: 30,
            is_later: false,
            earned: 100.0,
            bias,
            std_error: 1.0,
            skewness: 0.0,
            absolute_error: bias.abs(),
            spread: 1.0,
            largest_bias: bias,
        };
        Replayed { noise, groups: biases.map(group).into() }
    }

    fn chosen(tried: &[Replayed]) -> f32 {
        tried[least_biased(tried)].noise
    }

    #[test]
    fn the_usual_noise_stays_unless_the_logs_contradict_it() {
        assert_eq!(chosen(&[at(1.0, [2.9, -2.9]), at(0.5, [0.0, 0.0])]), 1.0);
    }

    #[test]
    fn a_noise_that_is_contradicted_gives_way_to_the_one_with_the_least_bias() {
        let tried = [at(1.0, [0.0, -4.0]), at(0.5, [0.5, -2.0]), at(0.0, [1.0, 1.0])];
        assert_eq!(chosen(&tried), 0.0);
    }

    #[test]
    fn a_noise_that_is_contradicted_stays_if_all_others_are_worse() {
        assert_eq!(chosen(&[at(1.0, [0.0, -4.0]), at(0.5, [5.0, 0.0])]), 1.0);
    }
}
