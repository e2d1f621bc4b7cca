//! What speaks against every bound of a model, a task and these settings, whatever the policy does.

use ndarray::{Array1, Array2, Axis};

use crate::bound::Estimate;
use crate::dynamics::Confidence;
use crate::error::{Error, Result};
use crate::model::{FitReport, Model};
use crate::opinions::{Baselines, Method};
use crate::settings::EvaluationSettings;
use crate::task::{self, Against, Baseline, InitialStates, StateBounds, Task};
use crate::variant::Variant;
use crate::warning::{Warning, WeakerSetting};

/// Pieces of episodes that last for less of the horizon do not show what errors lead to in all of it.
pub(crate) const ENOUGH_COVERED: f64 = 0.5;

/// Of the logged states, so many may lie beyond limits that the task gives, by so much of their width: sensors err.
const MOST_BEYOND: f64 = 1e-3;
const SLACK: f32 = 0.01;

/// Whether estimators that know nothing of the worlds say less than the bound.
pub(crate) fn of_baselines(
    said: &Baselines,
    bound: Option<f64>,
    second_opinion: Option<&Estimate>,
) -> Option<Warning> {
    let (bound, fqe) = (bound?, said.of(Method::Fqe)?.estimate);
    let second_opinion = second_opinion.map(|second| second.mean);
    let is_above = bound > fqe && second_opinion.is_none_or(|second| bound > second);
    is_above.then_some(Warning::OtherOpinions { bound, fqe, second_opinion })
}

/// Warnings that need no rollout.
pub(crate) fn of_model(
    model: &Model,
    task: &Task,
    settings: &EvaluationSettings,
    confidence: Option<&Confidence>,
) -> Result<Vec<Warning>> {
    let (dynamics, thresholds) = (&*model.dynamics, &settings.thresholds);
    let mut warnings = weaker_settings(settings, model);
    warnings.extend(confidence.into_iter().flat_map(of_proof));
    // Worlds draw no Gaussian noise and have no box to be calibrated, and logged episodes that are played
    // again tell what errors that follow each other do to a return.
    let has_worlds = settings.played(dynamics.members()).contains(&Variant::Worlds);
    let are_replayed = has_worlds
        && model.episodes.len() >= thresholds.few_calibration_episodes.max(2)
        && model.episodes.covered(task.horizon) >= ENOUGH_COVERED;
    if !has_worlds && model.calibration.error_after > thresholds.weak_calibration {
        warnings.push(Warning::WeakCalibration { error: model.calibration.error_after });
    }
    // None are known of a calibration that was made elsewhere.
    let episodes = model.calibration.episodes;
    if !has_worlds && episodes > 0 && episodes < thresholds.few_calibration_episodes {
        warnings.push(Warning::FewCalibrationEpisodes { episodes });
    }
    let terminated_episodes = model.data.terminated_episodes;
    if task.termination.is_none() && terminated_episodes > 0 {
        warnings.push(Warning::NoTermination { terminated_episodes });
    }
    let used = model.used_outputs(task);
    if let Some((output, autocorrelation)) = model.persistence.worst(used, thresholds.errors_matter)
        && autocorrelation > thresholds.persistent_errors
        && !are_replayed
    {
        let column = model.data.names.output(output).to_owned();
        warnings.push(Warning::PersistentErrors { column, autocorrelation });
    }
    warnings.extend(of_starts(model, task, thresholds.outside_data));
    warnings.extend(of_bounds(model, task));
    check_floor(model, task)?;
    let contradictions = model.logged.contradictions(task, thresholds)?;
    match settings.rules_differ {
        true if !contradictions.is_empty() => warnings.push(Warning::WeakerSetting {
            setting: "rules_differ".into(),
            value: "true".into(),
            default: "false".into(),
            // To set it is to say so by name.
            accepted: true,
        }),
        true => {}
        false => warnings.extend(contradictions),
    }
    Ok(warnings)
}

/// Initial states that no log has come near: those of another plant, or in another unit.
fn of_starts(model: &Model, task: &Task, most: f64) -> Option<Warning> {
    let (InitialStates::Observed(states) | InitialStates::Fixed(states)) = &task.initial_states
    else {
        return None;
    };
    let usual = model.data_range.widened(model.range_widening);
    if states.ncols() != usual.low().len() {
        return None;
    }
    let usual = where_courses_start(model, usual);
    let (column, share) = beyond(states, &usual)?;
    let column = model.names().output(column).to_owned();
    (share > most).then_some(Warning::ForeignStarts { column, share })
}

/// The same limits, except for what no action influences: that goes on from where logged episodes start.
fn where_courses_start(model: &Model, limits: StateBounds) -> StateBounds {
    let episodes = &model.episodes;
    let shown = (0..episodes.len()).filter(|&episode| episodes.shows_start(episode));
    let rows: Vec<usize> = shown.map(|episode| episodes.rows(episode).start).collect();
    let (mut low, mut high) = (limits.low().clone(), limits.high().clone());
    for &column in model.exogenous.iter().filter(|_| !rows.is_empty()) {
        let values = episodes.transitions.states.column(column).select(Axis(0), &rows);
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // Rounding must not matter where all start alike.
        let margin = model.range_widening * (most - least) + slack(model)[column];
        (low[column], high[column]) = (least - margin, most + margin);
    }
    StateBounds::new(low, high).unwrap_or(limits)
}

/// What sensors may be off by.
fn slack(model: &Model) -> Array1<f32> {
    (model.data_range.high() - model.data_range.low()) * SLACK
}

/// Limits that the logs themselves do not keep.
fn of_bounds(model: &Model, task: &Task) -> Option<Warning> {
    let bounds = task.state_bounds.as_ref()?;
    let slack = slack(model);
    let bounds = StateBounds::new(bounds.low() - &slack, bounds.high() + &slack).ok()?;
    let (column, share) = beyond(&model.logged.transitions.states, &bounds)?;
    let column = model.names().output(column).to_owned();
    (share > MOST_BEYOND).then_some(Warning::BoundsContradictLogs { column, share })
}

/// The column in which most states are beyond the limits, and the share of those that are in any.
fn beyond(states: &Array2<f32>, limits: &StateBounds) -> Option<(usize, f64)> {
    if states.ncols() != limits.low().len() {
        return None;
    }
    let all = limits.beyond(states).iter().filter(|&&beyond| beyond).count();
    let in_column = |column: &usize| {
        let (low, high) = (limits.low()[*column], limits.high()[*column]);
        states.column(*column).iter().filter(|value| !(low..=high).contains(*value)).count()
    };
    let worst = (0..states.ncols()).max_by_key(in_column)?;
    Some((worst, all as f64 / states.nrows().max(1) as f64))
}

/// A floor above what a logged step has earned is none.
fn check_floor(model: &Model, task: &Task) -> Result<()> {
    let Some(floor) = task.floor else { return Ok(()) };
    let transitions = model.logged.transitions.transitions();
    let least = match &task.reward {
        Some(rule) => {
            task::reward(&**rule, &transitions)?.iter().copied().fold(f32::INFINITY, f32::min)
        }
        None => model.reward_range[0],
    };
    if floor <= least || model.logged.rows() == 0 {
        return Ok(());
    }
    let value = format!("{floor}, but a logged step earned {least}");
    Err(Error::Setting { name: "floor", value, expected: "the least that any step can earn" })
}

/// Says early that what the logs earned over the horizon is not known.
pub(crate) fn of_baseline(model: &Model, task: &Task) -> Result<()> {
    let is_logged = matches!(&task.against, Some(Against { baseline: Baseline::Logged, .. }));
    // A rule of the task may end episodes that the logs do not mark.
    let are_short =
        task.termination.is_none() && model.episodes.covered(task.horizon) < ENOUGH_COVERED;
    if is_logged && are_short { Err(Error::LogsTooShort) } else { Ok(()) }
}

fn weaker_settings(settings: &EvaluationSettings, model: &Model) -> Vec<Warning> {
    let is_accepted = |name: &str| settings.accept_weaker.iter().any(|accepted| accepted == name);
    let weaker = settings.weaker(model.dynamics.members()).into_iter();
    weaker
        .chain(of_fit(&model.report))
        .map(|weaker| Warning::WeakerSetting {
            accepted: is_accepted(&weaker.name),
            setting: weaker.name,
            value: weaker.value,
            default: weaker.default,
        })
        .collect()
}

/// What the settings of its fit let a model know less of.
fn of_fit(report: &FitReport) -> Vec<WeakerSetting> {
    match report {
        FitReport::Ensemble(report) => report.weaker.clone(),
        FitReport::Table(_) | FitReport::Gp(_) => Vec::new(),
    }
}

/// What a proof takes for granted and nobody has vouched for.
fn of_proof(proven: &Confidence) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if proven.norm_is_estimated {
        let largest = proven.norm_bound.iter().copied().fold(0.0, f64::max);
        warnings.push(Warning::EstimatedNorm { largest });
    }
    if proven.hyperparameters_are_learned {
        warnings.push(Warning::LearnedKernel);
    }
    warnings
}
