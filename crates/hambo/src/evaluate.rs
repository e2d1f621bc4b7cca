//! The whole line: a calibrated model and a policy go in, a lower bound on its return comes out,
//! with the evidence. Start reading here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ndarray::Array1;

use crate::adversary::{Game, Played, Trained, train_dqn, train_sac};
use crate::bound::{Estimate, paired_difference};
use crate::checkpoints::{Checkpoints, Finding, Forgetful};
use crate::dynamics::Confidence;
use crate::error::{Error, Result};
use crate::evaluation::{
    ConstraintResult, Evaluation, StateLimits, Variant, VariantResult, Warning,
};
use crate::evidence::{Costs, Watcher};
use crate::guarantee::Guarantee;
use crate::hallucination::Choice;
use crate::model::Model;
use crate::progress::Observer;
use crate::rng::Seed;
use crate::rollout::{Step, Streams};
use crate::second_opinion::{BorrowedErrors, Opinion};
use crate::settings::EvaluationSettings;
use crate::task::{Policy, Reward, Task};

/// Share of δ by which skewed returns may make the Monte Carlo limit fail more often, before it is a doubt.
const TOLERATED_EXCESS: f64 = 0.25;

/// Errors matter if their variance is more than this share of that of what is predicted.
const ERRORS_MATTER: f64 = 0.01;

/// Ends that are many, and so many times those in the logs that the logs say too little of them.
const MANY_ENDS: f64 = 0.05;
const MORE_ENDS: f64 = 2.0;

/// A constraint `E[c(s, a)] >= 0` (section 2 of the paper).
///
/// Its value is the undiscounted sum of `c` over the steps of an episode, divided by the horizon: the
/// mean over the steps when episodes last to the horizon, and of the same sign when they end before.
#[derive(Clone)]
pub struct Constraint {
    pub name: String,
    pub function: Arc<dyn Reward>,
}

impl std::fmt::Debug for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Constraint({})", self.name)
    }
}

/// Bounds the return of `policy` from below, and the mean of every constraint.
///
/// The learned adversaries (CA, DA1) take nearly all of the time, once more for each constraint:
/// rounds of `adversary.episodes` hallucinated episodes and `adversary.gradient_steps` steps. DAinf
/// and the neutral variants need `episodes` rollouts each.
pub fn evaluate(
    model: &Model,
    policy: &dyn Policy,
    task: &Task,
    constraints: &[Constraint],
    settings: &EvaluationSettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Evaluation> {
    let checkpoints = &Forgetful(observer);
    evaluate_resumable(model, policy, task, constraints, settings, seed, checkpoints)
}

/// [`evaluate()`] that goes on where an earlier one was interrupted, and finds the same to the bit.
pub fn evaluate_resumable(
    model: &Model,
    policy: &dyn Policy,
    task: &Task,
    constraints: &[Constraint],
    settings: &EvaluationSettings,
    seed: Seed,
    checkpoints: &dyn Checkpoints,
) -> Result<Evaluation> {
    settings.validate()?;
    task.validate()?;
    if let Some(bounds) = &task.state_bounds {
        let (expected, found) = (model.dynamics.state_dim(), bounds.low().len());
        if expected != found {
            return Err(Error::Dimension { part: "state bounds", expected, found });
        }
    }
    let (bounds, state_limits) = match &task.state_bounds {
        Some(bounds) => (bounds, StateLimits::Task),
        None => (&model.state_range, StateLimits::Data { widened: model.range_widening }),
    };
    let confidence = model.dynamics.confidence(settings.delta / 2.0);
    let (radius, delta) = match &confidence {
        Some(proven) => (proven.radius.iter().map(|&r| r as f32).collect(), settings.delta / 2.0),
        None => (model.calibration.box_factors(), settings.delta),
    };
    let radius: Array1<f32> = radius * settings.beta;
    let (dynamics, noise) = (&*model.dynamics, settings.noise);
    let game = Game { dynamics, radius: &radius, noise, task, bounds: Some(bounds), policy };
    let errors = &BorrowedErrors::new(dynamics, &model.logged)?;
    let attack = |name: &str, game: Game<'_>, timings: &mut BTreeMap<String, f64>| {
        Attack { name, game, model, errors, settings, delta, seed, checkpoints }.run(timings)
    };

    let mut timings = BTreeMap::new();
    let mut warnings = proof_warnings(confidence.as_ref());
    if model.calibration.error_after > settings.weak_calibration {
        warnings.push(Warning::WeakCalibration { error: model.calibration.error_after });
    }
    let terminated_episodes = model.data.terminated_episodes;
    if task.termination.is_none() && terminated_episodes > 0 {
        warnings.push(Warning::NoTermination { terminated_episodes });
    }
    // A learned reward does not matter beside a rule.
    let used = if task.reward.is_some() { dynamics.state_dim() } else { dynamics.outputs() };
    if let Some((output, autocorrelation)) = model.persistence.worst(used, ERRORS_MATTER)
        && autocorrelation > settings.persistent_errors
    {
        warnings.push(Warning::PersistentErrors { output, autocorrelation });
    }
    if !settings.rules_differ {
        warnings.extend(model.logged.contradictions(task)?);
    }
    let found = attack("return", game, &mut timings)?;
    warnings.extend(found.warnings);
    let delta_covers = what_delta_covers(confidence.is_some());
    let streams = &mut Streams::new(seed, "guarantee");
    let guarantee =
        confidence.map(|proven| Guarantee::measure(proven, &game, streams)).transpose()?;
    let mut constraint_results = Vec::new();
    for constraint in constraints {
        let reward = Some(per_step(constraint, task.horizon));
        let task = Task { reward, discount: 1.0, ..task.clone() };
        let found = attack(&constraint.name, Game { task: &task, ..game }, &mut timings)?;
        warnings.extend(found.warnings);
        constraint_results.push(ConstraintResult {
            name: constraint.name.clone(),
            lower_bound: smallest(&found.variants),
            variants: found.variants,
            second_opinion: found.second_opinion,
        });
    }
    Ok(Evaluation {
        lower_bound: smallest(&found.variants),
        delta: settings.delta,
        delta_covers: delta_covers.into(),
        variants: found.variants,
        second_opinion: found.second_opinion,
        constraints: constraint_results,
        calibration: model.calibration.clone(),
        guarantee,
        data: model.data.clone(),
        members: dynamics.members(),
        horizon: task.horizon,
        discount: task.discount,
        data_range: model.data_range(),
        state_limits,
        warnings,
        seed: seed.0,
        settings: settings.clone(),
        timings,
        version: env!("CARGO_PKG_VERSION").into(),
    })
}

fn what_delta_covers(proven: bool) -> &'static str {
    match proven {
        true => {
            "the model and the Monte Carlo error, one half each, provided that every output is a \
             function of its kernel's space with the stated norm, and its noise Gaussian"
        }
        false => {
            "the Monte Carlo error only: for an ensemble nothing is proven about the model, whose \
             uncertainty is a calibrated heuristic"
        }
    }
}

/// What a proof takes for granted and nobody has vouched for.
fn proof_warnings(confidence: Option<&Confidence>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(proven) = confidence {
        if proven.norm_is_estimated {
            let largest = proven.norm_bound.iter().copied().fold(0.0, f64::max);
            warnings.push(Warning::EstimatedNorm { largest });
        }
        if proven.hyperparameters_are_learned {
            warnings.push(Warning::LearnedKernel);
        }
    }
    warnings
}

/// The certificate is the smallest bound of the conservative variants.
fn smallest(variants: &[VariantResult]) -> Option<f64> {
    variants
        .iter()
        .filter(|variant| variant.name.is_conservative())
        .map(|variant| variant.lower_bound)
        .reduce(f64::min)
}

/// A constraint as a reward whose sum over the horizon is the mean over the steps.
fn per_step(constraint: &Constraint, horizon: usize) -> Arc<dyn Reward> {
    struct PerStep(Arc<dyn Reward>, f32);
    impl Reward for PerStep {
        fn reward(
            &self,
            states: ndarray::ArrayView2<'_, f32>,
            actions: ndarray::ArrayView2<'_, f32>,
            next_states: ndarray::ArrayView2<'_, f32>,
        ) -> Result<Array1<f32>, crate::BoxError> {
            Ok(self.0.reward(states, actions, next_states)? * self.1)
        }
    }
    Arc::new(PerStep(constraint.function.clone(), 1.0 / horizon as f32))
}

/// All variants against one objective.
struct Attack<'a> {
    name: &'a str,
    game: Game<'a>,
    model: &'a Model,
    errors: &'a Option<BorrowedErrors<'a>>,
    settings: &'a EvaluationSettings,
    /// The Monte Carlo limit's part of it.
    delta: f64,
    seed: Seed,
    checkpoints: &'a dyn Checkpoints,
}

/// What an attack found.
struct Found {
    variants: Vec<VariantResult>,
    second_opinion: Option<Estimate>,
    warnings: Vec<Warning>,
}

impl Attack<'_> {
    fn run(&self, timings: &mut BTreeMap<String, f64>) -> Result<Found> {
        let mut variants = Vec::new();
        let mut returns = BTreeMap::new();
        let suitable = Variant::suitable(self.game.dynamics.members());
        let asked = &self.settings.variants;
        for &variant in if asked.is_empty() { &suitable } else { asked } {
            let found = self.finding(variant)?;
            timings.insert(format!("{}: {variant}", self.name), found.seconds);
            returns.insert(variant.to_string(), found.returns);
            variants.push(found.result);
        }
        let mut warnings: Vec<Warning> =
            variants.iter().flat_map(|result| self.doubts(result)).collect();
        // On common random numbers: an adversary that may change its mind should not do less harm.
        if let (Some(per_step), Some(committed)) = (returns.get("DA1"), returns.get("DAinf")) {
            let difference = paired_difference(per_step, committed);
            if difference.mean > 2.0 * difference.std_error {
                warnings.push(Warning::UnderTrained {
                    objective: self.name.into(),
                    difference: difference.mean,
                    std_error: difference.std_error,
                });
            }
        }
        if let Some(result) = variants.first() {
            let observed = result.estimate.independent;
            if observed < self.settings.episodes.min(30) {
                warnings.push(Warning::FewStarts { observed });
            }
        }
        let start = Instant::now();
        let opinion = self.second_opinion()?;
        let seconds = start.elapsed().as_secs_f64();
        timings.insert(format!("{}: second opinion", self.name), seconds);
        warnings.extend(opinion.as_ref().into_iter().flat_map(|o| self.objections(o, &variants)));
        let second_opinion = opinion.map(|opinion| opinion.played.estimate());
        Ok(Found { variants, second_opinion, warnings })
    }

    /// The return with the model's errors on logged transitions.
    fn second_opinion(&self) -> Result<Option<Opinion>> {
        let streams = &mut Streams::new(self.seed, &format!("{}: second opinion", self.name));
        let on_step = |step: &Step<'_>| self.report("second opinion", step);
        self.errors.as_ref().map(|errors| errors.play(&self.game, streams, on_step)).transpose()
    }

    /// What the logs have against the bound.
    fn objections(&self, opinion: &Opinion, variants: &[VariantResult]) -> Vec<Warning> {
        let objective = || self.name.to_owned();
        let mut objections = Vec::new();
        let estimate = opinion.played.estimate();
        let margin = estimate.mean - estimate.lower_limit(self.delta);
        if let Some(bound) = smallest(variants).filter(|bound| estimate.mean + margin < *bound) {
            objections.push(Warning::SecondOpinion {
                objective: objective(),
                bound,
                estimate: estimate.mean,
                std_error: estimate.std_error,
            });
        }
        let conservative = variants.iter().filter(|result| result.name.is_conservative());
        let hallucinated = conservative.map(|result| result.ended).fold(opinion.ended, f64::max);
        let data = &self.model.data;
        let logged = data.terminated_episodes as f64 / data.episodes.max(1) as f64;
        let is_learned = self.game.task.reward.is_none();
        if is_learned && hallucinated > MANY_ENDS.max(MORE_ENDS * logged) {
            objections.push(Warning::MoreEnds { objective: objective(), hallucinated, logged });
        }
        objections
    }

    /// What the variant finds, or found before an interruption.
    fn finding(&self, variant: Variant) -> Result<Finding> {
        let failed = |source| {
            let objective = self.name.to_owned();
            Error::Checkpoint { objective, variant, source }
        };
        if let Some(found) = self.checkpoints.recall(self.name, variant).map_err(failed)? {
            return Ok(found);
        }
        let start = Instant::now();
        let (result, played) = self.variant(variant)?;
        let seconds = start.elapsed().as_secs_f64();
        let found = Finding { result, returns: played.returns, seconds };
        self.checkpoints.keep(self.name, variant, &found).map_err(failed)?;
        Ok(found)
    }

    fn variant(&self, variant: Variant) -> Result<(VariantResult, Played)> {
        match variant {
            Variant::Ca => self.best_attempt(variant, |seed| {
                let settings = &self.settings.adversary;
                let trained = train_sac(&self.game, settings, seed, self.checkpoints)?;
                self.judge(variant, trained.choice(), Some(&trained))
            }),
            Variant::Da1 => self.best_attempt(variant, |seed| {
                let settings = &self.settings.adversary;
                let trained = train_dqn(&self.game, settings, seed, self.checkpoints)?;
                self.judge(variant, trained.choice(), Some(&trained))
            }),
            Variant::DaInf => self.committed(),
            Variant::Ds => self.judge::<()>(variant, Choice::Distribution, None),
            Variant::Ts1 => self.judge::<()>(variant, Choice::RandomMemberPerStep, None),
            Variant::TsInf => self.judge::<()>(variant, Choice::RandomMember, None),
        }
    }

    /// Trains several adversaries; the one that does most harm counts.
    fn best_attempt(
        &self,
        variant: Variant,
        attempt: impl Fn(Seed) -> Result<(VariantResult, Played)>,
    ) -> Result<(VariantResult, Played)> {
        let mut best: Option<(VariantResult, Played)> = None;
        for index in 0..self.settings.attempts {
            let seed = self.seed.child(&format!("{}: {variant}, attempt {index}", self.name));
            let found = attempt(seed)?;
            if best.as_ref().is_none_or(|best| found.0.lower_bound < best.0.lower_bound) {
                best = Some(found);
            }
        }
        Ok(best.expect("at least one attempt is validated"))
    }

    /// The worst member for whole episodes. With more than twenty members the paper advises the
    /// delta-quantile instead of the minimum.
    fn committed(&self) -> Result<(VariantResult, Played)> {
        let mut found = Vec::new();
        for member in 0..self.game.dynamics.members() {
            found.push(self.judge::<()>(Variant::DaInf, Choice::Member(member), None)?);
        }
        let estimates: Vec<Estimate> = found.iter().map(|(result, _)| result.estimate).collect();
        found.sort_by(|a, b| a.0.lower_bound.total_cmp(&b.0.lower_bound));
        let skipped = match found.len() {
            0..=20 => 0,
            members => (self.settings.delta * members as f64).floor() as usize,
        };
        let none = || Error::NoMembers { variant: "DAinf".into(), members: 0 };
        let (result, played) = found.into_iter().nth(skipped).ok_or_else(none)?;
        Ok((VariantResult { members: estimates, ..result }, played))
    }

    /// The estimate on fresh rollouts, the same for all variants.
    fn judge<A>(
        &self,
        variant: Variant,
        choice: Choice<'_>,
        trained: Option<&Trained<A>>,
    ) -> Result<(VariantResult, Played)> {
        let mut streams = Streams::new(self.seed, &format!("{}: final", self.name));
        let starts = self.game.starts(self.settings.episodes, &mut streams)?;
        let mut watcher = Watcher::new(self.model, self.delta, starts.observed.clone());
        let played = self.game.play_from(starts, choice, &mut streams, |step| {
            self.report("final rollouts", step)?;
            watcher.watch(step)
        })?;
        let estimate = played.estimate();
        if estimate.independent < 2 {
            return Err(Error::TooFewStarts { observed: estimate.independent });
        }
        let outside_data = watcher.share_outside();
        let at_limits = watcher.share_at_limits();
        let foreign_actions = watcher.share_of_foreign_actions();
        let ended = watcher.ended() as f64 / self.settings.episodes as f64;
        let (worst, evidence) = watcher.finish(&played.returns, self.costs(choice)?);
        let result = VariantResult {
            name: variant,
            estimate,
            lower_bound: estimate.lower_limit(self.delta),
            members: Vec::new(),
            converged: trained.map(|trained| trained.converged),
            rounds: trained.map(|trained| trained.rounds.clone()).unwrap_or_default(),
            restarts_after_divergence: trained.map_or(0, |trained| trained.restarts),
            outside_data,
            at_limits,
            foreign_actions,
            ended,
            worst,
            evidence,
        };
        Ok((result, played))
    }

    /// Which output the adversary's harm comes from.
    fn costs(&self, choice: Choice<'_>) -> Result<Option<Costs>> {
        let episodes = self.settings.cost_episodes;
        if episodes == 0 {
            return Ok(None);
        }
        let streams = Streams::new(self.seed, &format!("{}: costs", self.name));
        let on_step = |step: &Step<'_>| self.report("costs", step);
        Costs::measure(&self.game, choice, episodes, &streams, on_step)
    }

    fn report(&self, stage: &'static str, step: &Step<'_>) -> Result<()> {
        let event = crate::Event { stage, step: step.time, of: step.horizon, metric: None };
        crate::progress::report(self.checkpoints, &event)
    }

    fn doubts(&self, result: &VariantResult) -> Vec<Warning> {
        let (objective, variant) = (self.name.to_string(), result.name);
        let mut doubts = Vec::new();
        if result.converged == Some(false) {
            let (objective, rounds) = (objective.clone(), result.rounds.len());
            doubts.push(Warning::NotConverged { objective, variant, rounds });
        }
        if result.restarts_after_divergence > 0 {
            let (objective, restarts) = (objective.clone(), result.restarts_after_divergence);
            doubts.push(Warning::Diverged { objective, variant, restarts });
        }
        let excess = result.estimate.excess_failures(self.delta);
        if excess > TOLERATED_EXCESS * self.delta {
            doubts.push(Warning::SkewedReturns {
                objective: objective.clone(),
                variant,
                observed: result.estimate.independent,
                skewness: result.estimate.skewness,
                failures: self.delta + excess,
            });
        }
        let most = self.settings.outside_data;
        let objective = || objective.clone();
        let share = result.outside_data;
        if share > most {
            doubts.push(Warning::OutsideData { objective: objective(), variant, share });
        }
        let share = result.foreign_actions;
        if share > most {
            doubts.push(Warning::ForeignActions { objective: objective(), variant, share });
        }
        let share = result.at_limits;
        // Limits that the task declares are no doubt: no true state leaves them.
        if share > most && self.game.task.state_bounds.is_none() {
            doubts.push(Warning::AtLimits { objective: objective(), variant, share });
        }
        doubts
    }
}
