//! A result as one JSON document, whoever writes it: the command, Python or a program in Rust.

use hambo::dataset::{DataIdentity, Dataset};
use hambo::{Backtest, Evaluation, Seed, Task, Verdict};
use serde::{Deserialize, Serialize};

/// Raised whenever a field changes its meaning or disappears. Schema 1 was the command's own summary
/// of an evaluation.
pub const SCHEMA: u64 = 2;

/// An [`Evaluation`], with what it was about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultDocument {
    /// The version of this format.
    #[serde(default = "schema")]
    pub schema: u64,
    /// `certified`, `not_certified` or `inconclusive`; none without a threshold.
    #[serde(default)]
    pub verdict: Option<String>,
    /// The return that the policy should reach.
    #[serde(default)]
    pub threshold: Option<f64>,
    /// The policy, if it is a file.
    #[serde(default)]
    pub policy: Option<PolicyFile>,
    /// What the policy's file gives to think about.
    #[serde(default)]
    pub notes: Vec<FileNote>,
    /// All settings behind it, as `hambo.toml` has them.
    #[serde(default)]
    pub config: Option<serde_json::Value>,
    /// What was found.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}

/// A file, and what identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// Its path, as the user gave it.
    pub file: String,
    /// BLAKE3 of its content.
    pub blake3: String,
}

/// Something to think about in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileNote {
    /// A short name for programs.
    pub code: String,
    /// What it is.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl FileNote {
    /// Says that a model or an evaluation was made with the preset for a first look, if one was: a quick part makes
    /// all of it quick.
    pub fn on_quick(is_model_quick: bool, is_evaluation_quick: bool) -> Option<Self> {
        let what = match (is_model_quick, is_evaluation_quick) {
            (true, _) => "model: smaller, and fitted for less time",
            (false, true) => "evaluation: fewer episodes",
            (false, false) => return None,
        };
        Some(Self {
            code: "quick".into(),
            message: format!("this is a quick {what}"),
            help: "compare its bound with other quick ones only".into(),
        })
    }
}

fn schema() -> u64 {
    SCHEMA
}

impl ResultDocument {
    /// An evaluation alone.
    pub fn of(evaluation: Evaluation) -> Self {
        Self {
            schema: SCHEMA,
            verdict: None,
            threshold: None,
            policy: None,
            notes: Vec::new(),
            config: None,
            evaluation,
        }
    }

    /// The same with a threshold, and the verdict about it.
    pub fn with_threshold(mut self, threshold: Option<f64>) -> Self {
        let verdict = Verdict::of(&self.evaluation, threshold);
        self.verdict = (verdict != Verdict::NoThreshold).then(|| verdict.code().to_owned());
        self.threshold = threshold;
        self
    }

    /// Reads a document, or an [`Evaluation`] alone.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            #[serde(default = "schema")]
            schema: u64,
        }
        let Versioned { schema } =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if schema != SCHEMA {
            return Err(format!("written in schema {schema}, this version reads {SCHEMA}"));
        }
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }
}

/// Raised whenever a field of a backtest's document changes its meaning or disappears.
pub const BACKTEST_SCHEMA: u64 = 1;

/// A [`Backtest`], with what it was about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BacktestDocument {
    /// The version of this format.
    pub schema: u64,
    /// How many claims over the whole horizon did not hold.
    pub failed: usize,
    /// The probability that as many fail, or more, if each does with probability δ by itself.
    pub chance: f64,
    /// Steps of an episode, at most.
    pub horizon: usize,
    /// The logs.
    pub data: DataIdentity,
    /// The seed of all randomness.
    pub seed: u64,
    /// Version of hambo.
    pub version: String,
    /// What was found.
    #[serde(flatten)]
    pub backtest: Backtest,
}

impl BacktestDocument {
    /// Of a backtest on these logs.
    pub fn new(backtest: Backtest, data: &Dataset, task: &Task, seed: Seed) -> Self {
        Self {
            schema: BACKTEST_SCHEMA,
            failed: backtest.failed(),
            chance: backtest.chance(),
            horizon: task.horizon,
            data: data.identity(),
            seed: seed.0,
            version: env!("CARGO_PKG_VERSION").into(),
            backtest,
        }
    }
}
