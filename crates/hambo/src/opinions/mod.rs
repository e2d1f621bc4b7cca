//! What the field's estimators say, and what they take for granted.

mod settings;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use settings::BaselineSettings;

/// An estimator of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// What the logs earned, which is about other policies.
    Logged,
    /// Fitted Q evaluation by networks, or by counting, each on a draw of the episodes.
    Fqe,
    /// The return in worlds that were fitted again, without random functions.
    ModelBootstrap,
    /// Rollouts with the reward less a penalty on what the model does not know.
    Mopo,
    /// Rollouts that end where the model does not know, and earn the least from there on.
    Morel,
    /// Importance sampling of whole episodes.
    Is,
    /// Importance sampling of every reward by the steps before it.
    Pdis,
    /// Importance sampling of whole episodes, with weights that sum to one.
    Wis,
    /// Importance sampling of every reward, with weights that sum to one in every step.
    Pdwis,
    /// Importance sampling of what fitted Q evaluation leaves unexplained.
    Dr,
    /// The same, with weights that sum to one in every step.
    Wdr,
}

impl Method {
    /// What it promises if its assumption holds.
    pub fn claim(self) -> &'static str {
        match self {
            Self::Logged => {
                "what the logged policies earned, not this one; the limit holds for many episodes"
            }
            Self::Fqe => {
                "right for many logs, if the networks can express the values; the limit is a bootstrap's"
            }
            Self::ModelBootstrap => {
                "right for many logs, if the networks can express what follows; the limit is a bootstrap's"
            }
            Self::Mopo => {
                "a lower bound, if the penalty exceeds the model's error; nothing says which weight does"
            }
            Self::Morel => "a lower bound, if the model is right wherever its members agree",
            Self::Is | Self::Pdis => "unbiased",
            Self::Wis | Self::Pdwis => "right for many episodes; biased towards the logs with few",
            Self::Dr => "unbiased, whatever the values are",
            Self::Wdr => "right for many episodes, whatever the values are",
        }
    }

    /// What it takes for granted.
    pub fn assumption(self) -> &'static str {
        match self {
            Self::Logged => "episodes are alike",
            Self::Fqe => "the logs hold what the policy does, wherever it leads",
            Self::ModelBootstrap => {
                "the logs hold what the policy does, and members err apart from each other"
            }
            Self::Mopo => "members know how large the errors of all are",
            Self::Morel => "members disagree wherever they err",
            Self::Is | Self::Pdis | Self::Wis | Self::Pdwis | Self::Dr | Self::Wdr => {
                "logged probabilities are true, and positive for all that the policy does; episodes start as \
                 the logged ones did"
            }
        }
    }

    /// Whether it is about the policy that is evaluated.
    pub fn is_about_policy(self) -> bool {
        self != Self::Logged
    }

    /// Whether it needs the probabilities of logged actions.
    pub fn needs_probabilities(self) -> bool {
        Self::WEIGHING.contains(&self)
    }

    /// All of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::Logged,
        Self::Fqe,
        Self::ModelBootstrap,
        Self::Mopo,
        Self::Morel,
        Self::Is,
        Self::Pdis,
        Self::Wis,
        Self::Pdwis,
        Self::Dr,
        Self::Wdr,
    ];

    /// Those that weigh logged episodes.
    pub(crate) const WEIGHING: [Self; 6] =
        [Self::Is, Self::Pdis, Self::Wis, Self::Pdwis, Self::Dr, Self::Wdr];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logged => "logged",
            Self::Fqe => "FQE",
            Self::ModelBootstrap => "model bootstrap",
            Self::Mopo => "MOPO",
            Self::Morel => "MOReL",
            Self::Is => "IS",
            Self::Pdis => "PDIS",
            Self::Wis => "WIS",
            Self::Pdwis => "PDWIS",
            Self::Dr => "DR",
            Self::Wdr => "WDR",
        })
    }
}

/// How a limit was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitBy {
    /// Student's quantile: holds for many episodes without heavy tails.
    Student,
    /// Maurer and Pontil's inequality on weights that are cut off (HCOPE): holds for any number of episodes.
    Bernstein,
    /// Quantiles of resampled episodes, corrected for bias and skewness (BCa): holds for many episodes.
    Bootstrap,
    /// The estimate itself is meant as a limit, without any allowance for its own error.
    Itself,
}

/// What the return exceeds with probability 1 - δ, if the claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// How it was found.
    pub by: LimitBy,
    /// The number.
    pub lower: f64,
}

/// What an estimator says of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The estimator.
    pub method: Method,
    /// Which of several: a source of logs, or a weight on the penalty.
    pub of: Option<String>,
    /// Its estimate of the return.
    pub estimate: f64,
    /// Standard error of the estimate, if there is one.
    pub std_error: Option<f64>,
    /// Lower limits at 1 - δ.
    pub limits: Vec<Limit>,
    /// How many equally weighted episodes would say as much; for weighed episodes only.
    pub effective_episodes: Option<f64>,
    /// Share of all weight that the largest has.
    pub largest_share: Option<f64>,
}

impl Opinion {
    /// The estimator, and which of several.
    pub fn name(&self) -> String {
        match &self.of {
            Some(of) => format!("{}, {of}", self.method),
            None => self.method.to_string(),
        }
    }

    /// Of a weight on MOPO's penalty.
    pub(crate) fn of_weight(weight: f64) -> String {
        format!("w = {weight}")
    }

    /// Whether it is of this weight on MOPO's penalty.
    pub fn is_of_weight(&self, weight: f64) -> bool {
        self.of.as_ref() == Some(&Self::of_weight(weight))
    }

    /// The limit that was found in this way.
    pub fn limit(&self, by: LimitBy) -> Option<f64> {
        self.limits.iter().find(|limit| limit.by == by).map(|limit| limit.lower)
    }

    /// The lowest of its limits.
    pub fn lowest(&self) -> Option<f64> {
        self.limits.iter().map(|limit| limit.lower).min_by(f64::total_cmp)
    }
}

/// What an estimator cannot say, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unsaid {
    /// The estimators.
    pub methods: Vec<Method>,
    /// Why not, and what would help.
    pub why: String,
}

/// Which weight on the penalty the logs would have asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PenaltyChoice {
    /// The least weight at which no group of logged episodes would have been overestimated.
    pub needed: f64,
    /// The group that needs it.
    pub worst: String,
    /// The least of the tried weights that is as large, if one is.
    pub chosen: Option<f64>,
}

/// What the field's estimators say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// Probability with which each limit may fail.
    pub delta: f64,
    /// Logged episodes that last for the horizon, and are averaged or weighed.
    pub episodes: usize,
    /// Logged episodes that are too short, or whose beginning is not shown.
    pub left_out: usize,
    /// Whether the probabilities of logged actions were estimated: estimators that weigh are then as wrong as these.
    #[serde(default)]
    pub estimated_probabilities: bool,
    /// What each says.
    pub opinions: Vec<Opinion>,
    /// What cannot be said.
    pub unsaid: Vec<Unsaid>,
    /// Which weight on MOPO's penalty the logs would have asked for.
    pub penalty: Option<PenaltyChoice>,
}

impl Baselines {
    /// What some estimators say, or why they do not.
    pub(crate) fn add(&mut self, methods: &[Method], said: Result<Vec<Opinion>, String>) {
        match said {
            Ok(said) => self.opinions.extend(said),
            Err(why) => self.unsaid.push(Unsaid { methods: methods.to_vec(), why }),
        }
    }

    /// Leaves out what is no number, such as weights beyond all.
    pub(crate) fn keep_numbers(&mut self) {
        for opinion in &mut self.opinions {
            opinion.std_error = opinion.std_error.filter(|error| error.is_finite());
            opinion.limits.retain(|limit| limit.lower.is_finite());
        }
        let beyond = self.opinions.extract_if(.., |opinion| !opinion.estimate.is_finite());
        let methods: Vec<Method> = beyond.map(|opinion| opinion.method).collect();
        if !methods.is_empty() {
            let why = "its weights are beyond all numbers".into();
            self.unsaid.push(Unsaid { methods, why });
        }
        self.penalty = self.penalty.take().filter(|penalty| penalty.needed.is_finite());
    }

    /// What one estimator says, the first if there are several.
    pub fn of(&self, method: Method) -> Option<&Opinion> {
        self.opinions.iter().find(|opinion| opinion.method == method)
    }
}
