//! Reasons to doubt a bound, each with what to do about it.

mod words;

use serde::{Deserialize, Serialize};

use crate::variant::Variant;

pub(crate) use words::with_texts;

/// A reason to doubt a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Warning {
    /// The last rounds of an adversary's training still did more harm.
    NotConverged {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// Rounds of training.
        rounds: usize,
    },
    /// An adversary that may change its mind did less harm than one that may not.
    UnderTrained {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// By how much the return that it leaves is higher.
        difference: f64,
        /// Standard error of the difference.
        std_error: f64,
    },
    /// The policy goes where the model is less certain than it is on the data.
    OutsideData {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// Share of the steps.
        share: f64,
    },
    /// In a typical step of the policy, the model is far less certain than in a typical step of the logs.
    UnlikeLogs {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// The column of the state that it is least certain of, or `reward`.
        column: String,
        /// How many times as uncertain.
        times: f64,
    },
    /// The model's uncertainty is not as large as its error.
    WeakCalibration {
        /// Calibration error.
        error: f64,
    },
    /// Errors of the model that others like them follow: the state may lack something, or the model be
    /// trained too little.
    PersistentErrors {
        /// The column of the state, or `reward`.
        column: String,
        /// Correlation of an error with the one in the step before.
        autocorrelation: f64,
    },
    /// Rollouts with the errors that the model made on similar logged transitions fall below the bound.
    SecondOpinion {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// The bound.
        bound: f64,
        /// The second opinion.
        estimate: f64,
        /// Standard error of the second opinion.
        std_error: f64,
    },
    /// Episodes end far more often than the logged ones did, and what an end costs is learned from those.
    MoreEnds {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Share of the hallucinated episodes that terminate.
        hallucinated: f64,
        /// Share of the logged episodes that terminated.
        logged: f64,
    },
    /// The termination does not end the logged episodes where they ended.
    TerminationContradictsLogs {
        /// Logged ends at which the rule says that it goes on.
        missed: usize,
        /// Logged ends that were looked at.
        terminal: usize,
        /// Other logged steps at which the rule says that it ends.
        invented: usize,
        /// Other logged steps that were looked at.
        ongoing: usize,
    },
    /// No logged episode ended as the termination says, so that no world knows what leads to that.
    NoLoggedEnds {
        /// How many episodes were looked at.
        episodes: usize,
    },
    /// The reward is not the logged one.
    RewardContradictsLogs {
        /// Mean absolute difference from the logged reward.
        difference: f64,
        /// Mean absolute difference of the logged reward from its own mean.
        varies: f64,
        /// By how much the rule is higher on average.
        higher: f64,
    },
    /// The policy does what nobody did in the data.
    ForeignActions {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// Share of the steps.
        share: f64,
    },
    /// Many episodes leave the data's range, however widened, so that harm beyond it is not seen.
    AtLimits {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// Share of the episodes.
        share: f64,
    },
    /// Nobody said how large the functions' norms may be.
    EstimatedNorm {
        /// The largest of them.
        largest: f64,
    },
    /// The data chose the kernel that the proof takes as given.
    LearnedKernel,
    /// The calibration rests on few episodes.
    FewCalibrationEpisodes {
        /// How many.
        episodes: usize,
    },
    /// Few logged episodes could be played again in the model's worlds, or none.
    FewReplayed {
        /// How many.
        episodes: usize,
    },
    /// The policy was trained on episodes that the model was fitted on.
    SharedEpisodes {
        /// How many.
        shared: usize,
        /// Of how many.
        of: usize,
        /// Whether worlds that were fitted on them chose it.
        #[serde(default)]
        learned: bool,
    },
    /// Worlds taught the policy: learning finds what all of them get wrong.
    LearnedInWorlds,
    /// Initial states lie where no logged state is: another unit, perhaps.
    ForeignStarts {
        /// The column in which most of them do.
        column: String,
        /// Share of the initial states.
        share: f64,
    },
    /// Logged episodes last for so little of the horizon that they do not test a bound on all of it.
    Untested {
        /// How much of the horizon they last, on average.
        covered: f64,
    },
    /// Logged states lie beyond the limits that the task gives them.
    BoundsContradictLogs {
        /// The column in which most of them do.
        column: String,
        /// Share of the logged states.
        share: f64,
    },
    /// Episodes leave the data and earn the floor from there on, so that the bound rests on it.
    OnFloor {
        /// Share of the episodes.
        share: f64,
        /// What each step that is left earns.
        floor: f64,
    },
    /// Estimators that know nothing of the worlds say less than the bound.
    OtherOpinions {
        /// The bound.
        bound: f64,
        /// What fitted Q evaluation says.
        fqe: f64,
        /// What rollouts with the logs' errors say, if there are any.
        second_opinion: Option<f64>,
    },
    /// Few initial states were observed.
    FewStarts {
        /// Independent observations.
        observed: usize,
    },
    /// So few returns, some of them so low, that the Monte Carlo limit is doubtful.
    SkewedReturns {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// Independent observations.
        observed: usize,
        /// Their skewness.
        skewness: f64,
        /// How much wider the limit is for it, as a share of its margin.
        correction: f64,
    },
    /// Logged episodes terminated, but the task does not say when.
    NoTermination {
        /// How many.
        terminated_episodes: usize,
    },
    /// An adversary's training diverged, and began again.
    Diverged {
        /// `"return"`, or the name of a constraint.
        objective: String,
        /// Whose rollouts.
        variant: Variant,
        /// How often.
        restarts: usize,
    },
    /// A setting is weaker than its default: bounds are higher for it, or warnings rarer.
    WeakerSetting {
        /// Its name.
        setting: String,
        /// What it is set to.
        value: String,
        /// What it is by default.
        default: String,
        /// Whether the user has accepted that by name.
        accepted: bool,
    },
}

/// A setting with which a bound is higher, or a warning rarer, than with the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeakerSetting {
    /// Its name.
    pub name: String,
    /// What it is set to.
    pub value: String,
    /// What it is by default.
    pub default: String,
}

impl WeakerSetting {
    pub(crate) fn new(
        name: &str,
        value: impl std::fmt::Display,
        default: impl std::fmt::Display,
    ) -> Self {
        Self { name: name.into(), value: value.to_string(), default: default.to_string() }
    }
}

/// What a warning is about, as far as it is about one thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// `"return"`, or the name of a constraint.
    pub objective: Option<&'a str>,
    /// Whose rollouts showed it.
    pub variant: Option<Variant>,
    /// A column of the state, or `reward`.
    pub column: Option<&'a str>,
}

impl Warning {
    /// All short names.
    pub const CODES: [&str; 29] = [
        "not_converged",
        "under_trained",
        "outside_data",
        "unlike_logs",
        "weak_calibration",
        "persistent_errors",
        "second_opinion",
        "more_ends",
        "termination_contradicts_logs",
        "no_logged_ends",
        "reward_contradicts_logs",
        "foreign_actions",
        "at_limits",
        "estimated_norm",
        "learned_kernel",
        "few_calibration_episodes",
        "few_replayed",
        "shared_episodes",
        "learned_in_worlds",
        "foreign_starts",
        "untested",
        "bounds_contradict_logs",
        "on_floor",
        "other_opinions",
        "few_starts",
        "skewed_returns",
        "no_termination",
        "diverged",
        "weaker_setting",
    ];

    /// A short name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotConverged { .. } => "not_converged",
            Self::UnderTrained { .. } => "under_trained",
            Self::OutsideData { .. } => "outside_data",
            Self::UnlikeLogs { .. } => "unlike_logs",
            Self::WeakCalibration { .. } => "weak_calibration",
            Self::PersistentErrors { .. } => "persistent_errors",
            Self::SecondOpinion { .. } => "second_opinion",
            Self::MoreEnds { .. } => "more_ends",
            Self::TerminationContradictsLogs { .. } => "termination_contradicts_logs",
            Self::NoLoggedEnds { .. } => "no_logged_ends",
            Self::RewardContradictsLogs { .. } => "reward_contradicts_logs",
            Self::ForeignActions { .. } => "foreign_actions",
            Self::AtLimits { .. } => "at_limits",
            Self::EstimatedNorm { .. } => "estimated_norm",
            Self::LearnedKernel => "learned_kernel",
            Self::FewCalibrationEpisodes { .. } => "few_calibration_episodes",
            Self::FewReplayed { .. } => "few_replayed",
            Self::SharedEpisodes { .. } => "shared_episodes",
            Self::LearnedInWorlds => "learned_in_worlds",
            Self::ForeignStarts { .. } => "foreign_starts",
            Self::Untested { .. } => "untested",
            Self::BoundsContradictLogs { .. } => "bounds_contradict_logs",
            Self::OnFloor { .. } => "on_floor",
            Self::OtherOpinions { .. } => "other_opinions",
            Self::FewStarts { .. } => "few_starts",
            Self::SkewedReturns { .. } => "skewed_returns",
            Self::NoTermination { .. } => "no_termination",
            Self::Diverged { .. } => "diverged",
            Self::WeakerSetting { .. } => "weaker_setting",
        }
    }

    /// What it is about.
    pub fn about(&self) -> About<'_> {
        match self {
            Self::NotConverged { objective, variant, .. }
            | Self::OutsideData { objective, variant, .. }
            | Self::ForeignActions { objective, variant, .. }
            | Self::AtLimits { objective, variant, .. }
            | Self::SkewedReturns { objective, variant, .. }
            | Self::Diverged { objective, variant, .. } => {
                About { objective: Some(objective), variant: Some(*variant), column: None }
            }
            Self::UnlikeLogs { objective, variant, column, .. } => {
                About { objective: Some(objective), variant: Some(*variant), column: Some(column) }
            }
            Self::UnderTrained { objective, .. } => {
                let variant = Some(Variant::Da1);
                About { objective: Some(objective), variant, column: None }
            }
            Self::SecondOpinion { objective, .. } | Self::MoreEnds { objective, .. } => {
                About { objective: Some(objective), ..About::default() }
            }
            Self::PersistentErrors { column, .. } => {
                About { column: Some(column), ..About::default() }
            }
            Self::WeakCalibration { .. }
            | Self::FewCalibrationEpisodes { .. }
            | Self::TerminationContradictsLogs { .. }
            | Self::NoLoggedEnds { .. }
            | Self::RewardContradictsLogs { .. }
            | Self::EstimatedNorm { .. }
            | Self::LearnedKernel
            | Self::FewReplayed { .. }
            | Self::FewStarts { .. }
            | Self::ForeignStarts { .. }
            | Self::Untested { .. }
            | Self::BoundsContradictLogs { .. }
            | Self::OnFloor { .. }
            | Self::OtherOpinions { .. }
            | Self::SharedEpisodes { .. }
            | Self::LearnedInWorlds
            | Self::NoTermination { .. }
            | Self::WeakerSetting { .. } => About::default(),
        }
    }

    /// Whether the bound may be too high for it, so that the verdict cannot be CERTIFIED.
    ///
    /// | warning | disqualifies | because |
    /// |---|---|---|
    /// | `not_converged`, `under_trained` | yes | a stronger adversary would have found a lower bound |
    /// | `outside_data`, `unlike_logs` | yes, of conservative variants | no data says whether the model knows its error there |
    /// | `weak_calibration` | yes | the box is not as wide as the model's error; worlds have no box |
    /// | `persistent_errors` | yes | true errors add up, where the model's cancel; with enough replayed episodes worlds are compared with returns, which tell |
    /// | `second_opinion` | yes | the model's own errors on the logs lead below the bound |
    /// | `more_ends` | yes | the cost of terminating is learned from too few terminations |
    /// | `termination_contradicts_logs`, `reward_contradicts_logs` | yes | the bound is on another task than the logged one |
    /// | `no_logged_ends` | no | logs of those who never end are common, and say how often that was at most |
    /// | `foreign_actions`, `at_limits` | yes, of conservative variants | no data says what follows there |
    /// | `untested` | yes | nothing was asked of the worlds over most of the horizon |
    /// | `bounds_contradict_logs` | yes | states are kept where real ones do not stay |
    /// | `on_floor` | no | the user has vouched for the floor |
    /// | `other_opinions` | no | they are estimates without a test, and asking for them must not change a verdict |
    /// | `foreign_starts` | yes | no data says what follows there, or the units differ |
    /// | `no_termination` | yes | the bound is on episodes that go on where real ones end |
    /// | `estimated_norm`, `learned_kernel` | no | the proof no longer applies, but the bound stands where an ensemble's stands: on calibration |
    /// | `few_calibration_episodes` | no | the calibration is rougher for it, in either direction |
    /// | `few_replayed` | if there are none | nothing was asked of the worlds; a few widen the limit already |
    /// | `shared_episodes` | if worlds of these episodes chose it | their errors did; policies that were trained otherwise are certified wrongly no more often than others |
    /// | `learned_in_worlds` | yes | it was chosen for what all worlds get wrong, other ones included, and for raising no doubts |
    /// | `few_starts` | no | the limit is wider for it already |
    /// | `skewed_returns` | yes, of conservative variants | the limit may fail more often than δ says |
    /// | `diverged` | no | training began again, and `not_converged` says whether it then converged |
    /// | `weaker_setting` | unless it was accepted by name | the default would have found a lower bound, or a warning |
    ///
    /// Neutral variants bound nothing, so warnings about them do not matter to a bound.
    pub fn disqualifies(&self) -> bool {
        match self {
            Self::NotConverged { variant, .. }
            | Self::OutsideData { variant, .. }
            | Self::UnlikeLogs { variant, .. }
            | Self::ForeignActions { variant, .. }
            | Self::AtLimits { variant, .. }
            | Self::SkewedReturns { variant, .. } => variant.is_conservative(),
            Self::UnderTrained { .. }
            | Self::WeakCalibration { .. }
            | Self::PersistentErrors { .. }
            | Self::SecondOpinion { .. }
            | Self::MoreEnds { .. }
            | Self::TerminationContradictsLogs { .. }
            | Self::RewardContradictsLogs { .. }
            | Self::ForeignStarts { .. }
            | Self::Untested { .. }
            | Self::BoundsContradictLogs { .. }
            | Self::LearnedInWorlds
            | Self::NoTermination { .. } => true,
            Self::WeakerSetting { accepted, .. } => !accepted,
            Self::FewReplayed { episodes } => *episodes == 0,
            Self::SharedEpisodes { learned, .. } => *learned,
            Self::NoLoggedEnds { .. }
            | Self::EstimatedNorm { .. }
            | Self::LearnedKernel
            | Self::FewCalibrationEpisodes { .. }
            | Self::FewStarts { .. }
            | Self::OnFloor { .. }
            | Self::OtherOpinions { .. }
            | Self::Diverged { .. } => false,
        }
    }
}
