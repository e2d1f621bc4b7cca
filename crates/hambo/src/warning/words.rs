//! Warnings in words: what was found, what to do about it, and which setting that is about.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Warning;

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConverged { objective, variant, rounds } => write!(
                f,
                "{objective}, {variant}: the adversary still improved after {rounds} rounds"
            ),
            Self::UnderTrained { objective, difference, std_error } => write!(
                f,
                "{objective}: DA1 lies above DAinf by {difference:.3} ± {std_error:.3}, \
                 so its adversary is under-trained"
            ),
            Self::OutsideData { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: {:.1} % of the steps go where the logs hardly were: less certain than \
                 99 % of the calibration points, or never logged",
                100.0 * share
            ),
            Self::UnlikeLogs { objective, variant, column, times } => write!(
                f,
                "{objective}, {variant}: in a typical step the members disagree {times:.1} times as much about \
                 `{column}` as they do on the logs"
            ),
            Self::WeakCalibration { error } => {
                write!(f, "the calibration error is {error:.4} even with the best temperatures")
            }
            Self::PersistentErrors { column, autocorrelation } => write!(
                f,
                "the model's errors in `{column}` follow each other (correlation \
                 {autocorrelation:.2}), but it takes them for fresh noise: the state leaves out \
                 something that matters, or the model is not trained enough"
            ),
            Self::SecondOpinion { objective, bound, estimate, std_error } => write!(
                f,
                "{objective}: with the errors that the model made on similar logged transitions it is \
                 {estimate:.3} ± {std_error:.3}, below the bound of {bound:.3}"
            ),
            Self::MoreEnds { objective, hallucinated, logged } => write!(
                f,
                "{objective}: {:.0} % of the episodes end before the horizon, of the logged ones \
                 {:.1} %: too few to learn what an end costs",
                100.0 * hallucinated,
                100.0 * logged
            ),
            Self::TerminationContradictsLogs { missed, terminal, invented, ongoing } => write!(
                f,
                "the termination contradicts the logs: it goes on at {missed} of {terminal} logged \
                 ends, and ends at {invented} of {ongoing} other steps"
            ),
            Self::NoLoggedEnds { episodes } => write!(
                f,
                "none of {episodes} logged episodes ends by the termination, so that no world knows what leads to \
                 one: of the logged policies' episodes at most {:.1} % do (95 % confidence), of this one's \
                 perhaps more",
                100.0 * unseen_share(*episodes)
            ),
            Self::RewardContradictsLogs { difference, varies, higher } => {
                let direction = if *higher > 0.0 { "higher" } else { "lower" };
                write!(
                    f,
                    "the reward contradicts the logs: it differs by {difference:.4} on average, where \
                     the logged one varies by {varies:.4}, and is {direction} by {:.4}",
                    higher.abs()
                )
            }
            Self::ForeignActions { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: in {:.1} % of the steps the policy's action is like none in \
                 the data",
                100.0 * share
            ),
            Self::AtLimits { objective, variant, share } => write!(
                f,
                "{objective}, {variant}: {:.1} % of the episodes go further beyond the data's range than the \
                 limits of the states",
                100.0 * share
            ),
            Self::EstimatedNorm { largest } => write!(
                f,
                "the norms that the guarantee assumes were estimated from the model itself \
                 (the largest is {largest:.1})"
            ),
            Self::LearnedKernel => f.write_str(
                "the kernel's hyper-parameters were learned from the data, which the guarantee \
                 does not allow for",
            ),
            Self::FewCalibrationEpisodes { episodes } => {
                write!(
                    f,
                    "the calibration rests on only {episodes} episodes, whose steps are alike"
                )
            }
            Self::FewReplayed { episodes: 0 } => f.write_str(
                "no logged episode could be played again, so that nothing tells how wrong the model's \
                 worlds are",
            ),
            Self::FewReplayed { episodes } => write!(
                f,
                "only {episodes} logged episodes tell how wrong the model's worlds are; the bound is lower \
                 for it"
            ),
            Self::SharedEpisodes { shared, of, learned } => write!(
                f,
                "the policy was {} {shared} of the {of} episodes that the model was fitted on, so that \
                 what it takes for good may be the model's own error",
                if *learned { "chosen by worlds of" } else { "trained on" }
            ),
            Self::LearnedInWorlds => f.write_str(
                "the policy was learned in worlds: learning finds what all of them get wrong, those of other \
                 episodes included, and no other doubt tells",
            ),
            Self::ForeignStarts { column, share } => write!(
                f,
                "{:.1} % of the initial states lie beyond all that was logged, most of them in `{column}`",
                100.0 * share
            ),
            Self::Untested { covered } => write!(
                f,
                "logged episodes last for {:.0} % of the horizon on average, so that nothing tests a bound on all \
                 of it",
                100.0 * covered
            ),
            Self::BoundsContradictLogs { column, share } => write!(
                f,
                "{:.1} % of the logged states lie beyond the limits that the task gives, most of them in `{column}`",
                100.0 * share
            ),
            Self::OtherOpinions { bound, fqe, second_opinion } => {
                write!(f, "fitted Q evaluation says {fqe:.3}")?;
                if let Some(second) = second_opinion {
                    write!(f, ", and rollouts with the model's errors on the logs {second:.3}")?;
                }
                write!(f, ": less than the bound of {bound:.3}")
            }
            Self::OnFloor { share, floor } => write!(
                f,
                "{:.0} % of the episodes leave the data, and earn the floor of {floor} in every step that is left: \
                 the bound rests on it",
                100.0 * share
            ),
            Self::FewStarts { observed } => {
                write!(f, "the Monte Carlo error rests on only {observed} observed initial states")
            }
            Self::SkewedReturns { objective, variant, observed, skewness, correction } => write!(
                f,
                "{objective}, {variant}: {observed} independent returns with a skewness of {skewness:.1} \
                 are too few for the Monte Carlo limit, which is {:.0} % wider for it and still doubtful",
                100.0 * correction
            ),
            Self::NoTermination { terminated_episodes } => write!(
                f,
                "{terminated_episodes} logged episodes terminated, but the task has no termination: \
                 hallucinated episodes go on to the horizon"
            ),
            Self::WeakerSetting { setting, value, default, accepted } => {
                let accepted = if *accepted { ", which was accepted" } else { "" };
                write!(f, "`{setting}` is {value}, weaker than the default {default}{accepted}")
            }
            Self::Diverged { objective, variant, restarts } => write!(
                f,
                "{objective}, {variant}: training diverged {restarts} times and began again \
                 with a smaller step"
            ),
        }
    }
}

/// Which share of all episodes something may be in, if it is in none of so many: 95 % sure.
fn unseen_share(episodes: usize) -> f64 {
    1.0 - 0.05_f64.powf(1.0 / episodes.max(1) as f64)
}

impl Warning {
    /// What to try next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotConverged { .. } => {
                "let it train for more rounds; until then the bound may be too high"
            }
            Self::UnderTrained { .. } => {
                "let it train for more rounds, and be more patient with it"
            }
            Self::OutsideData { .. } => {
                "collect data where the policy goes, shorten the horizon, or declare the least reward of a \
                 step as the task's floor"
            }
            Self::UnlikeLogs { .. } => {
                "collect data with actions like this policy's; logs of a controller that always does the same say \
                 little about doing something else"
            }
            Self::WeakCalibration { .. } => {
                "give more calibration data, or look for heavy-tailed errors"
            }
            Self::PersistentErrors { .. } => {
                "add to the state whatever has a memory (the hour, a valve's position), let the model see earlier \
                 steps (`history`), or train longer"
            }
            Self::SecondOpinion { .. } => {
                "write a discontinuous reward as an expression, collect data where the policy goes, \
                 or train the model longer"
            }
            Self::MoreEnds { .. } => "write the reward as an expression",
            Self::TerminationContradictsLogs { .. } => {
                "check its columns and units, and `next_` for the next state; if it differs on \
                 purpose, say so"
            }
            Self::NoLoggedEnds { .. } => {
                "if an end does harm, give logs in which some episodes end, or make sure that this policy stays as \
                 far from one as the logs"
            }
            Self::RewardContradictsLogs { .. } => {
                "check its columns and units; if it differs on purpose, say so"
            }
            Self::ForeignActions { .. } => {
                "check the units of the policy's actions; for choices, that it gives one of the \
                 logged values, not a score"
            }
            Self::AtLimits { .. } => {
                "give the task its state bounds or a floor, or shorten the horizon"
            }
            Self::EstimatedNorm { .. } => "give a bound on the norms if you know one",
            Self::LearnedKernel => {
                "fix the kernel if you know it; otherwise trust the calibration, not the proof"
            }
            Self::NoTermination { .. } => "give the task its termination; it is not learned",
            Self::FewStarts { .. } | Self::SkewedReturns { .. } => {
                "give a sampler of initial states, or logs with more episodes"
            }
            Self::FewCalibrationEpisodes { .. } => {
                "give logs with more episodes, or set aside more of them for calibration"
            }
            Self::FewReplayed { .. } => "give logs with more episodes",
            Self::ForeignStarts { .. } => {
                "check the units and columns of the initial states; what no action influences goes on as in logged \
                 episodes, from their start"
            }
            Self::Untested { .. } => "shorten the horizon, or give logs with longer episodes",
            Self::BoundsContradictLogs { .. } => {
                "give limits that no state can exceed, or none; check their units and columns"
            }
            Self::OtherOpinions { .. } => {
                "the worlds may share an error: collect data where the policy goes, and test the bound with \
                 `hambo backtest`"
            }
            Self::OnFloor { .. } => "make sure that no step can earn less, whatever happens",
            Self::SharedEpisodes { .. } => {
                "fit the model on episodes that the policy was not trained on, if there are enough"
            }
            Self::LearnedInWorlds => {
                "learn it from the logged steps, or try it where it can do no harm"
            }
            Self::Diverged { .. } => "lower the adversary's learning rate",
            Self::WeakerSetting { .. } => {
                "return to the default, or accept the weaker setting by its name"
            }
        }
    }

    /// The setting that the help is about, by its name in `hambo.toml`, if there is one.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Self::NotConverged { .. } | Self::UnderTrained { .. } => {
                Some("evaluation.adversary.max_rounds")
            }
            Self::Diverged { .. } => Some("evaluation.adversary.learning_rate"),
            Self::SecondOpinion { .. } => Some("model.ensemble.max_steps"),
            Self::PersistentErrors { .. } => Some("evaluation.thresholds.persistent_errors"),
            Self::WeakCalibration { .. } | Self::FewCalibrationEpisodes { .. } => {
                Some("model.calibration_share")
            }
            Self::OutsideData { .. } | Self::ForeignActions { .. } => {
                Some("evaluation.thresholds.outside_data")
            }
            Self::UnlikeLogs { .. } => Some("evaluation.thresholds.unlike_logs"),
            Self::AtLimits { .. } => Some("task.state_bounds"),
            Self::MoreEnds { .. } => Some("task.reward"),
            Self::NoTermination { .. } => Some("task.termination"),
            Self::TerminationContradictsLogs { .. } | Self::RewardContradictsLogs { .. } => {
                Some("evaluation.rules_differ")
            }
            Self::EstimatedNorm { .. } => Some("model.gp.norm_bound"),
            Self::LearnedKernel => Some("model.gp.fixed"),
            Self::FewStarts { .. } | Self::ForeignStarts { .. } | Self::SkewedReturns { .. } => {
                Some("task.initial_states")
            }
            Self::FewReplayed { .. } => Some("evaluation.thresholds.few_calibration_episodes"),
            Self::Untested { .. } => Some("task.horizon"),
            Self::BoundsContradictLogs { .. } => Some("task.state_bounds"),
            Self::OnFloor { .. } => Some("task.floor"),
            Self::OtherOpinions { .. } | Self::NoLoggedEnds { .. } => None,
            Self::WeakerSetting { .. } => Some("evaluation.accept_weaker"),
            Self::LearnedInWorlds => Some("learn.against"),
            Self::SharedEpisodes { .. } => None,
        }
    }
}

/// Warnings with their texts, so that readers of a file need not know them by heart.
pub(crate) fn with_texts<S: Serializer>(
    warnings: &[Warning],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithTexts<'a> {
        #[serde(flatten)]
        warning: &'a Warning,
        message: String,
        help: &'static str,
        governed_by: Option<&'static str>,
        disqualifies: bool,
    }
    serializer.collect_seq(warnings.iter().map(|warning| WithTexts {
        warning,
        message: warning.to_string(),
        help: warning.help(),
        governed_by: warning.setting(),
        disqualifies: warning.disqualifies(),
    }))
}
