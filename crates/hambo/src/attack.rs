//! All variants against one objective: who does most harm, and what speaks against their bounds.

mod improve;
mod judge;

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::adversary::{train_dqn, train_sac};
use crate::bound::{Estimate, paired_difference};
use crate::checks;
use crate::error::{BoxError, Error, Result};
use crate::evaluation::{VariantResult, deciding};
use crate::game::{Game, Played};
use crate::hallucination::{Choice, Noise};
use crate::improvement::Improvement;
use crate::logs::{BorrowedErrors, Opinion};
use crate::model::Model;
use crate::progress::{Event, Observer, report};
use crate::replay::{Apart, Player, Replay};
use crate::rng::Seed;
use crate::rollout::{Step, Streams};
use crate::settings::EvaluationSettings;
use crate::support::DataSupport;
use crate::variant::Variant;
use crate::warning::Warning;
use crate::whereabouts::Whereabouts;
use crate::worlds::WorldsLimit;

/// What one variant found, with all that later stages need of it. An [`Observer`] keeps it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What the evaluation will say.
    pub result: VariantResult,
    /// Of the final rollouts, episode by episode.
    pub returns: Vec<f64>,
    /// How long it took.
    pub seconds: f64,
}

/// All variants against one objective.
#[derive(Clone, Copy)]
pub(crate) struct Attack<'a> {
    /// `"return"`, or the name of a constraint.
    pub(crate) objective: &'a str,
    pub(crate) game: Game<'a>,
    pub(crate) model: &'a Model,
    pub(crate) errors: Option<&'a BorrowedErrors>,
    pub(crate) support: &'a DataSupport<'a>,
    pub(crate) settings: &'a EvaluationSettings,
    /// The Monte Carlo limit's part of it.
    pub(crate) delta: f64,
    pub(crate) seed: Seed,
    pub(crate) observer: &'a dyn Observer,
}

/// What an attack found.
pub(crate) struct Attacked {
    pub(crate) variants: Vec<VariantResult>,
    pub(crate) second_opinion: Option<Estimate>,
    pub(crate) improvement: Option<Improvement>,
    pub(crate) warnings: Vec<Warning>,
    /// Seconds per stage.
    pub(crate) timings: BTreeMap<String, f64>,
}

impl Attack<'_> {
    pub(crate) fn run(&self) -> Result<Attacked> {
        let mut timings = BTreeMap::new();
        let mut findings = Vec::new();
        for variant in self.settings.played(self.game.dynamics.members()) {
            let finding = self.finding(variant)?;
            timings.insert(format!("{}: {variant}", self.objective), finding.seconds);
            findings.push(finding);
        }
        let has_worlds = findings.iter().any(|finding| finding.result.variant == Variant::Worlds);
        let variants: Vec<VariantResult> =
            findings.iter().map(|finding| finding.result.clone()).collect();
        let mut warnings: Vec<Warning> =
            concerning(&variants).flat_map(|result| self.warnings_of(result)).collect();
        if !has_worlds {
            warnings.extend(self.under_trained(&findings));
        }
        if let Some(finding) = findings.first() {
            let observed = finding.result.estimate.independent;
            if observed < self.settings.episodes.min(self.settings.thresholds.few_starts) {
                warnings.push(Warning::FewStarts { observed });
            }
        }
        let start = Instant::now();
        let opinion = self.second_opinion(&variants)?;
        let seconds = start.elapsed().as_secs_f64();
        timings.insert(format!("{}: second opinion", self.objective), seconds);
        warnings.extend(opinion.iter().flat_map(|opinion| self.against(opinion, &variants)));
        let second_opinion = opinion.map(|opinion| opinion.played.estimate());
        let worlds = findings.iter().find(|finding| finding.result.variant == Variant::Worlds);
        let improvement = match (&self.game.task.against, worlds) {
            (Some(against), Some(worlds)) => Some(self.improvement(against, worlds)?),
            (Some(_), None) => return Err(Error::NoWorlds),
            (None, _) => None,
        };
        Ok(Attacked { variants, second_opinion, improvement, warnings, timings })
    }

    /// On common random numbers an adversary that may change its mind should not do less harm.
    fn under_trained(&self, findings: &[Finding]) -> Option<Warning> {
        let returns = |variant: Variant| {
            let of_variant = |finding: &&Finding| finding.result.variant == variant;
            findings.iter().find(of_variant).map(|finding| &finding.returns)
        };
        let (per_step, committed) = (returns(Variant::Da1)?, returns(Variant::DaInf)?);
        let Estimate { mean: difference, std_error, .. } = paired_difference(per_step, committed);
        let objective = self.objective.into();
        (difference > self.settings.thresholds.under_trained * std_error)
            .then_some(Warning::UnderTrained { objective, difference, std_error })
    }

    /// The return with the model's errors on logged transitions, as large as replayed episodes say.
    fn second_opinion(&self, variants: &[VariantResult]) -> Result<Option<Opinion>> {
        let limit = variants.iter().find_map(|result| result.worlds.as_ref());
        let scale = limit.and_then(|limit| limit.replay.as_ref()).map_or(1.0, |found| found.noise);
        let streams = &mut Streams::new(self.seed, &format!("{}: second opinion", self.objective));
        let on_step = |step: &Step<'_>| self.report("second opinion", step);
        self.errors.map(|errors| errors.play(&self.game, scale, streams, on_step)).transpose()
    }

    /// What the logs say against the bound.
    fn against(&self, opinion: &Opinion, variants: &[VariantResult]) -> Vec<Warning> {
        let objective = || self.objective.to_owned();
        let mut warnings = Vec::new();
        let estimate = opinion.played.estimate();
        let margin = estimate.mean - estimate.lower_limit(self.delta);
        let bound = deciding(variants).map(|variant| variant.lower_bound);
        if let Some(bound) = bound.filter(|bound| estimate.mean + margin < *bound) {
            warnings.push(Warning::SecondOpinion {
                objective: objective(),
                bound,
                estimate: estimate.mean,
                std_error: estimate.std_error,
            });
        }
        let bounding = concerning(variants).filter(|result| result.variant.is_conservative());
        let hallucinated = bounding.map(|result| result.went.ended).fold(opinion.ended, f64::max);
        let data = &self.model.data;
        let logged = data.terminated_episodes as f64 / data.episodes.max(1) as f64;
        let is_learned = self.game.task.reward.is_none();
        let thresholds = &self.settings.thresholds;
        if is_learned && hallucinated > thresholds.many_ends.max(thresholds.more_ends * logged) {
            warnings.push(Warning::MoreEnds { objective: objective(), hallucinated, logged });
        }
        warnings
    }

    /// What the variant finds, or found before an interruption.
    fn finding(&self, variant: Variant) -> Result<Finding> {
        let part = format!("{}, {variant}", self.objective);
        let failed = |source: BoxError| Error::Kept { part: part.clone(), source };
        if let Some(kept) = self.observer.recall(&part).map_err(failed)? {
            return serde_json::from_slice(&kept).map_err(|error| failed(error.into()));
        }
        let start = Instant::now();
        let (result, played) = self.variant(variant)?;
        let seconds = start.elapsed().as_secs_f64();
        let finding = Finding { result, returns: played.returns, seconds };
        let found = serde_json::to_vec(&finding).map_err(|error| failed(error.into()))?;
        self.observer.keep(&part, &found).map_err(failed)?;
        Ok(finding)
    }

    fn variant(&self, variant: Variant) -> Result<(VariantResult, Played)> {
        match variant {
            Variant::Ca => self.best_attempt(variant, |seed| {
                let settings = &self.settings.adversary;
                let trained = train_sac(&self.game, settings, seed, self.observer)?;
                self.judge_alone(variant, trained.choice(), Some(&trained))
            }),
            Variant::Da1 => self.best_attempt(variant, |seed| {
                let settings = &self.settings.adversary;
                let trained = train_dqn(&self.game, settings, seed, self.observer)?;
                self.judge_alone(variant, trained.choice(), Some(&trained))
            }),
            Variant::Worlds => self.worlds(),
            Variant::DaInf => self.committed(),
            Variant::Ds => self.judge_alone::<()>(variant, Choice::Distribution, None),
            Variant::Ts1 => self.judge_alone::<()>(variant, Choice::RandomMemberPerStep, None),
            Variant::TsInf => self.judge_alone::<()>(variant, Choice::RandomMember, None),
        }
    }

    /// Trains several adversaries; the one that does most harm counts.
    fn best_attempt(
        &self,
        variant: Variant,
        attempt: impl Fn(Seed) -> Result<(VariantResult, Played)>,
    ) -> Result<(VariantResult, Played)> {
        let mut found = Vec::new();
        for index in 0..self.settings.attempts {
            let seed = self.seed.child(&format!("{}: {variant}, attempt {index}", self.objective));
            found.push(attempt(seed)?);
        }
        let attempts = found.iter().map(|(result, _)| result.estimate).collect();
        let best = found.into_iter().min_by(|a, b| a.0.lower_bound.total_cmp(&b.0.lower_bound));
        let (result, played) = best.expect("at least one attempt is validated");
        Ok((VariantResult { attempts, ..result }, played))
    }

    /// The limit over all members, each for whole episodes, with the logs' errors as noise.
    fn worlds(&self) -> Result<(VariantResult, Played)> {
        let members = self.game.dynamics.members();
        if members < 2 {
            return Err(Error::NoMembers { variant: "worlds".into(), members });
        }
        let replay = self.player().replay()?.map(|(replay, _)| replay);
        let scale = replay.as_ref().map_or(1.0, |replay| replay.noise);
        let found = self.in_all_worlds(scale)?;
        let estimates: Vec<Estimate> = found.iter().map(|(result, _)| result.estimate).collect();
        let went: Vec<Whereabouts> = found.iter().map(|(result, _)| result.went.clone()).collect();
        let played = mean_over_worlds(&found);
        let estimate = played.estimate();
        let means: Vec<f64> = estimates.iter().map(|estimate| estimate.mean).collect();
        let limit = WorldsLimit::new(&means, self.delta, replay);
        // The report shows the world in which the policy does worst.
        let worst =
            found.into_iter().min_by(|a, b| a.0.estimate.mean.total_cmp(&b.0.estimate.mean));
        let (worst, _) = worst.expect("at least two members");
        let result = VariantResult {
            estimate,
            lower_bound: limit.lower_limit(&estimate, members, self.delta),
            members: estimates,
            worlds: Some(limit),
            went: Whereabouts::mean(&went),
            ..worst
        };
        Ok((result, played))
    }

    /// What each world makes of the policy, with the logs' errors times a factor as noise.
    fn in_all_worlds(&self, scale: f32) -> Result<Vec<(VariantResult, Played)>> {
        let noise = match (self.game.noise, self.errors) {
            (Noise::None, _) => Noise::None,
            (_, Some(errors)) => Noise::Borrowed { errors, scale },
            (own, None) => own,
        };
        let attack = Self { game: Game { noise, ..self.game }, ..*self };
        attack.by_members(Variant::Worlds)
    }

    fn player(&self) -> Player<'_> {
        Player {
            game: self.game,
            episodes: &self.model.episodes,
            logged_actions: &self.model.logged.actions,
            apart: Apart::Policy(self.game.policy),
            errors: self.errors,
            delta: self.delta,
            seed: self.seed.child(&format!("{}: replay", self.objective)),
            observer: self.observer,
        }
    }

    /// The worst member for whole episodes or, of so many that one of the others bounds the next
    /// one with probability 1 - δ, that one.
    fn committed(&self) -> Result<(VariantResult, Played)> {
        let mut found = self.by_members(Variant::DaInf)?;
        let estimates: Vec<Estimate> = found.iter().map(|(result, _)| result.estimate).collect();
        found.sort_by(|a, b| a.0.lower_bound.total_cmp(&b.0.lower_bound));
        let skipped = members_below(found.len(), self.settings.delta);
        let none = || Error::NoMembers { variant: "DAinf".into(), members: 0 };
        let (result, played) = found.into_iter().nth(skipped).ok_or_else(none)?;
        Ok((VariantResult { members: estimates, ..result }, played))
    }

    fn report(&self, stage: &'static str, step: &Step<'_>) -> Result<()> {
        report(self.observer, &Event { stage, step: step.time, of: step.horizon, metric: None })
    }

    /// What a variant's own rollouts and training say against its bound.
    fn warnings_of(&self, result: &VariantResult) -> Vec<Warning> {
        let (objective, variant) = (self.objective.to_string(), result.variant);
        let thresholds = &self.settings.thresholds;
        let mut warnings = Vec::new();
        if result.converged == Some(false) {
            let (objective, rounds) = (objective.clone(), result.rounds.len());
            warnings.push(Warning::NotConverged { objective, variant, rounds });
        }
        if result.restarts_after_divergence > 0 {
            let (objective, restarts) = (objective.clone(), result.restarts_after_divergence);
            warnings.push(Warning::Diverged { objective, variant, restarts });
        }
        // Constraints are compared with the same episodes as the return.
        if let Some(limit) = result.worlds.as_ref().filter(|_| objective == "return") {
            let episodes = limit.replay.as_ref().map_or(0, Replay::episodes);
            if episodes == 0 || episodes < thresholds.few_calibration_episodes {
                warnings.push(Warning::FewReplayed { episodes });
            }
            let covered = limit.replay.as_ref().map_or(1.0, |replay| replay.covered);
            if covered < checks::ENOUGH_COVERED {
                warnings.push(Warning::Untested { covered });
            }
        }
        let correction = result.estimate.correction(self.delta);
        if correction > thresholds.skewed_returns {
            warnings.push(Warning::SkewedReturns {
                objective: objective.clone(),
                variant,
                observed: result.estimate.independent,
                skewness: result.estimate.skewness,
                correction,
            });
        }
        let names = &self.model.data.names;
        warnings.extend(result.went.warnings((&objective, variant), &self.game, names, thresholds));
        warnings
    }
}

/// The mean over worlds, episode by episode: all of them play the same.
fn mean_over_worlds(found: &[(VariantResult, Played)]) -> Played {
    let mean_of = |episode: usize| {
        found.iter().map(|(_, played)| played.returns[episode]).sum::<f64>() / found.len() as f64
    };
    let episodes = 0..found[0].1.returns.len();
    Played { returns: episodes.map(mean_of).collect(), observed: found[0].1.observed.clone() }
}

/// Those that the bound depends on: beside a limit over worlds all others are stress tests.
fn concerning(variants: &[VariantResult]) -> impl Iterator<Item = &VariantResult> {
    let has_worlds = variants.iter().any(|result| result.variant == Variant::Worlds);
    variants.iter().filter(move |result| !has_worlds || result.variant == Variant::Worlds)
}

/// How many of the lowest members may be skipped.
///
/// If the truth were one more draw from where the K members came from, each of the K + 1 ranks
/// would be as likely as the others, and the r-th lowest member would lie above it with probability
/// r / (K + 1). So r = ⌊δ (K + 1)⌋ is the highest rank that holds with 1 - δ. With K < 1/δ - 1 there
/// is none: the minimum is then the most cautious choice, but nothing that holds so often.
fn members_below(members: usize, delta: f64) -> usize {
    // 0.05 * 20 is one, and should not become zero by rounding.
    let rank = (delta * (members + 1) as f64 + 1e-9).floor() as usize;
    rank.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn the_chosen_member_lies_above_an_exchangeable_truth_as_rarely_as_delta_says() {
        let rng = &mut Seed(0).stream("members");
        for (members, delta) in [(19, 0.05), (39, 0.05), (40, 0.05), (59, 0.05), (25, 0.1)] {
            let trials = 20_000;
            let above = (0..trials)
                .filter(|_| {
                    let truth: f64 = rng.sample(StandardNormal);
                    let mut drawn: Vec<f64> =
                        (0..members).map(|_| rng.sample(StandardNormal)).collect();
                    drawn.sort_by(f64::total_cmp);
                    drawn[members_below(members, delta)] > truth
                })
                .count();
            let share = above as f64 / f64::from(trials);
            // Three standard errors of the share.
            let room = 3.0 * (delta * (1.0 - delta) / f64::from(trials)).sqrt();
            assert!(share < delta + room, "{members} members: {share}");
            // One rank more would be too often.
            assert!(share + 1.0 / (members + 1) as f64 > delta - room, "{members}: {share}");
        }
    }

    #[test]
    fn few_members_leave_the_minimum() {
        assert_eq!([1, 5, 18, 19, 38].map(|members| members_below(members, 0.05)), [0; 5]);
        assert_eq!([39, 59].map(|members| members_below(members, 0.05)), [1, 2]);
    }
}
