//! What speaks against every bound of a model, a task and these settings, whatever the policy does.

use crate::dynamics::Confidence;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::settings::EvaluationSettings;
use crate::task::{Against, Baseline, InitialStates, Task};
use crate::variant::Variant;
use crate::warning::Warning;

/// Pieces of episodes that last for less of the horizon do not show what errors lead to in all of it.
const ENOUGH_COVERED: f64 = 0.5;

/// Warnings that need no rollout.
pub(crate) fn of_model(
    model: &Model,
    task: &Task,
    settings: &EvaluationSettings,
    confidence: Option<&Confidence>,
) -> Result<Vec<Warning>> {
    let (dynamics, thresholds) = (&*model.dynamics, &settings.thresholds);
    let mut warnings = weaker_settings(settings, dynamics.members());
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
    let share = |beyond: usize| beyond as f64 / states.nrows().max(1) as f64;
    let all = usual.beyond(states).iter().filter(|&&beyond| beyond).count();
    let in_column = |column: &usize| {
        let (low, high) = (usual.low()[*column], usual.high()[*column]);
        states.column(*column).iter().filter(|value| !(low..=high).contains(*value)).count()
    };
    let worst = (0..states.ncols()).max_by_key(in_column)?;
    let column = model.data.names.output(worst).to_owned();
    (share(all) > most).then(|| Warning::ForeignStarts { column, share: share(all) })
}

/// Says early that what the logs earned over the horizon is not known.
pub(crate) fn of_baseline(model: &Model, task: &Task) -> Result<()> {
    let is_logged = matches!(&task.against, Some(Against { baseline: Baseline::Logged, .. }));
    // A rule of the task may end episodes that the logs do not mark.
    let are_short =
        task.termination.is_none() && model.episodes.covered(task.horizon) < ENOUGH_COVERED;
    if is_logged && are_short { Err(Error::LogsTooShort) } else { Ok(()) }
}

fn weaker_settings(settings: &EvaluationSettings, members: usize) -> Vec<Warning> {
    let is_accepted = |name: &str| settings.accept_weaker.iter().any(|accepted| accepted == name);
    let weaker = settings.weaker(members).into_iter();
    weaker
        .map(|weaker| Warning::WeakerSetting {
            accepted: is_accepted(weaker.name),
            setting: weaker.name.into(),
            value: weaker.value,
            default: weaker.default,
        })
        .collect()
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
