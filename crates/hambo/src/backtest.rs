//! Does the certificate tell the truth about this system? Episodes whose return is known are left out,
//! worlds are fitted on the others, and what would have been certified is compared with what was earned.

use ndarray::{Array2, ArrayView2};

use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result};
use crate::ground::Ground;
use crate::logs::LoggedEpisodes;
use crate::model::{Model, ModelSettings};
use crate::progress::Observer;
use crate::replay::{Apart, Backtest, Claim, Demand, Player};
use crate::rng::{RowStreams, Seed};
use crate::settings::EvaluationSettings;
use crate::task::{Policy, Task};
use crate::unseen::Unseen;

/// Parts that are left out, one after the other, at most.
const MOST_PARTS: usize = 5;

/// Parts of logs without sources, in the order of the episodes, if there are enough; otherwise two.
const PARTS_IN_ORDER: usize = 3;

/// Sources that a part of several is named after.
const MOST_NAMED: usize = 3;

/// Episodes of a part that is left out, at the least.
const LEAST_IN_PART: usize = 5;

/// Leaves out one source of the logs after the other, fits worlds on the rest, and compares what they would
/// have certified of its policy with what was earned there. Several sources are left out
/// together if there are more than five; logs without sources are left out in thirds, in their order.
///
/// It takes as long as so many fits. An observer that keeps what was found makes an interrupted backtest
/// go on.
pub fn backtest(
    data: &Dataset,
    model_settings: &ModelSettings,
    task: &Task,
    settings: &EvaluationSettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Backtest> {
    let mut claims = Vec::new();
    for (index, part) in backtest_parts(data)?.iter().enumerate() {
        let name = format!("backtest, {part}");
        let failed = |source: BoxError| Error::Kept { part: name.clone(), source };
        let kept = observer.recall(&name).map_err(failed)?;
        let of_part: Vec<Claim> = match kept {
            Some(kept) => serde_json::from_slice(&kept).map_err(|error| failed(error.into()))?,
            None => {
                let found =
                    backtest_part(data, index, model_settings, task, settings, seed, observer)?;
                let bytes = serde_json::to_vec(&found).map_err(|error| failed(error.into()))?;
                observer.keep(&name, &bytes).map_err(failed)?;
                found
            }
        };
        claims.extend(of_part);
    }
    Ok(Backtest::of_claims(claims, settings.delta))
}

/// What [`backtest`] leaves out, part by part, by name.
pub fn backtest_parts(data: &Dataset) -> Result<Vec<String>> {
    Ok(parts(data)?.into_iter().map(|part| part.name).collect())
}

/// What worlds that were fitted without one of the parts claim about it. [`Backtest::of_claims`] makes a backtest of
/// the claims about all of them.
pub fn backtest_part(
    data: &Dataset,
    part: usize,
    model_settings: &ModelSettings,
    task: &Task,
    settings: &EvaluationSettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Vec<Claim>> {
    if model_settings.gp.is_some() {
        return Err(Error::NoWorlds);
    }
    let parts = parts(data)?;
    let asked = Asked { data, model_settings, task, settings, seed, observer };
    parts.get(part).map_or(Ok(Vec::new()), |part| asked.without(part))
}

/// Episodes that are left out together.
struct Part {
    name: String,
    /// Increasing.
    episodes: Vec<usize>,
}

/// The sources or, if they do not tell episodes apart, parts of the logs in their order.
fn parts(data: &Dataset) -> Result<Vec<Part>> {
    let all = data.episodes().len();
    // A part that is too small to be judged still teaches the others.
    let is_enough =
        |part: &Part| part.episodes.len() >= LEAST_IN_PART && all - part.episodes.len() >= 2;
    for parts in [by_source(data), in_order(all)] {
        let enough: Vec<Part> = parts.into_iter().filter(is_enough).collect();
        if enough.len() >= 2 {
            return Ok(enough);
        }
    }
    Err(Error::NothingToLeaveOut { episodes: all, least: LEAST_IN_PART })
}

/// One part per source, or several sources in each.
fn by_source(data: &Dataset) -> Vec<Part> {
    let Some(sources) = data.sources() else { return Vec::new() };
    let count = sources.names().len();
    let of_part = |part: usize| {
        let mine: Vec<&str> = (part..count)
            .step_by(MOST_PARTS)
            .map(|source| sources.names()[source].as_str())
            .collect();
        let name = match mine.len() {
            ..=MOST_NAMED => mine.join(", "),
            several => {
                let more = several - MOST_NAMED;
                format!("{} and {more} more", mine[..MOST_NAMED].join(", "))
            }
        };
        let is_mine = |&episode: &usize| sources.of(episode) % MOST_PARTS == part;
        Part { name, episodes: (0..data.episodes().len()).filter(is_mine).collect() }
    };
    (0..count.min(MOST_PARTS)).map(of_part).collect()
}

fn in_order(all: usize) -> Vec<Part> {
    let count = if all >= PARTS_IN_ORDER * LEAST_IN_PART { PARTS_IN_ORDER } else { 2 };
    let of_part = |part: usize| {
        let episodes = part * all / count..(part + 1) * all / count;
        let name = format!("episodes {} to {}", episodes.start + 1, episodes.end);
        Part { name, episodes: episodes.collect() }
    };
    (0..count).map(of_part).collect()
}

/// What a backtest is about.
struct Asked<'a> {
    data: &'a Dataset,
    model_settings: &'a ModelSettings,
    task: &'a Task,
    settings: &'a EvaluationSettings,
    seed: Seed,
    observer: &'a dyn Observer,
}

impl Asked<'_> {
    /// What worlds that were fitted without a part claim about it.
    fn without(&self, part: &Part) -> Result<Vec<Claim>> {
        let is_left_out = |episode: usize| part.episodes.binary_search(&episode).is_ok();
        let rest = self.data.all().only(|episode| !is_left_out(episode)).to_dataset();
        let left_out = self.data.all().only(is_left_out).to_dataset();
        let model = Model::fit(&rest, self.model_settings, self.seed, self.observer)?;
        let left_out = model.seen(&left_out);
        let rng = &mut self.seed.stream("backtest: episodes");
        let unseen = Unseen::by_all(left_out.all());
        let episodes = LoggedEpisodes::of(&left_out, &unseen, rng).not_among(rest.episodes().len());
        let ground = Ground::new(&model, self.task, self.settings)?;
        let delta = self.settings.delta;
        let player = Player {
            game: ground.game(&Nobody),
            episodes: &model.episodes,
            logged_actions: &model.logged.actions,
            apart: Apart::Order,
            errors: ground.errors.as_ref(),
            delta,
            seed: self.seed.child("backtest"),
            observer: self.observer,
        };
        let (replay, known) = player.replay()?.ok_or(Error::NoWorlds)?;
        let left_out = Player { episodes: &episodes, ..player };
        let found = left_out.replay_as(&part.name, replay.noise)?;
        let members = model.dynamics.members();
        let claims = found.iter().zip(&known).flat_map(|(at, known)| {
            let demand = Demand::of(&known.groups.iter().collect::<Vec<_>>(), members);
            at.groups.iter().map(move |group| Claim::new(group, at, &demand, members, delta))
        });
        Ok(claims.collect())
    }
}

/// The logged policy acts again; nobody else does.
struct Nobody;

impl Policy for Nobody {
    fn act(&self, _: ArrayView2<'_, f32>, _: &mut RowStreams) -> Result<Array2<f32>, BoxError> {
        Err("nobody acts in a backtest except the logged policy".into())
    }
}
