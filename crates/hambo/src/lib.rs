//! Lower bounds on the return of a policy that nobody has run yet, from logged transitions alone.
//!
//! The method is HAMBO (Rothfuss, Sukhija, Birchler, Kassraie and Krause, "Hallucinated Adversarial
//! Control for Conservative Offline Policy Evaluation", UAI 2023). Documentation cites the paper's
//! labels, such as `alg:SVGD`.
//!
//! The stages, in the order in which data passes them:
//!
//! 1. [`dataset`]: validated transitions in episodes
//! 2. [`task`]: the policy, its reward and where episodes start; built-in tasks to try things on
//! 3. [`dynamics`]: a model of the transitions that knows what it does not know
//! 4. [`calibration`]: is its uncertainty as large as its error?
//! 5. `hallucination`: that model in an adversary's hands, for [`rollout`]s
//! 6. `adversary`: adversaries that learn to hurt
//! 7. [`mod@bound`]: the Monte Carlo error of the returns
//!
//! [`Model::fit`] is the third and fourth step, [`Model::evaluate`] the rest.
//!
//! ```
//! use hambo::dynamics::ensemble::EnsembleSettings;
//! use hambo::task::pendulum::{self, Pendulum, SwingUp};
//! use hambo::{EvaluationSettings, Model, ModelSettings, Seed, Silent, Streams, Variant};
//!
//! # fn main() -> hambo::Result<()> {
//! let seed = Seed(0);
//! // Ten episodes of a mediocre controller stand in for your logs.
//! let task = pendulum::task(20);
//! let behaviour = SwingUp::DETUNED.noisy(0.5);
//! let logs = hambo::collect(&Pendulum, &task, &behaviour, 10, &mut Streams::new(seed, "logs"))?;
//!
//! // Tiny settings, so that this example takes a second; the defaults take minutes.
//! let ensemble = EnsembleSettings { hidden: vec![32; 2], max_steps: Some(100), ..Default::default() };
//! let model_settings = ModelSettings { ensemble, ..Default::default() };
//! let model = Model::fit(&logs, &model_settings, seed, &Silent)?;
//!
//! let settings = EvaluationSettings {
//!     variants: vec![Variant::DaInf, Variant::Ds],
//!     episodes: 200,
//!     ..Default::default()
//! };
//! let found = model.evaluate(&SwingUp::GOOD, &task, &settings, seed, &Silent)?;
//! println!("at least {:?}; {}", found.lower_bound, found.delta_covers);
//! for warning in &found.warnings {
//!     println!("warning: {warning}; {}", warning.help());
//! }
//! # assert!(found.lower_bound.is_some());
//! # Ok(())
//! # }
//! ```

// What the hidden module `internals` re-exports is reachable only with that feature.
#![cfg_attr(not(feature = "internals"), allow(unreachable_pub))]

pub mod bound;
pub mod calibration;
pub mod dataset;
pub mod dynamics;
pub mod progress;
pub mod rng;
pub mod rollout;
pub mod task;

mod actor_critic;
mod adversary;
mod attack;
mod backtest;
mod baselines;
mod checks;
mod confines;
mod cost;
mod error;
mod evaluate;
mod evaluation;
mod evidence;
mod exchange;
mod exogenous;
mod experience;
mod fingerprint;
mod game;
mod ground;
mod guarantee;
mod hallucination;
mod improvement;
mod learn;
mod logs;
mod model;
mod more;
mod nn;
mod opinions;
mod places;
mod processor;
mod ranking;
mod region;
mod replay;
mod screen;
mod settings;
mod side_by_side;
mod support;
mod thresholds;
mod unseen;
mod variant;
mod verdict;
mod warning;
mod watcher;
mod whereabouts;
mod worlds;

pub use adversary::{AdversarySettings, Round};
pub use attack::Finding;
pub use backtest::{backtest, backtest_part, backtest_parts};
pub use calibration::Calibration;
pub use cost::{Cost, Job};
pub use dataset::{Dataset, Transitions};
pub use dynamics::{Dynamics, Prediction};
pub use error::{BoxError, Error, Result};
pub use evaluation::{ConstraintResult, Evaluation, Reuse, VariantResult};
pub use evidence::{Costs, Evidence, HorizonPoint, Place, Trajectory};
pub use guarantee::Guarantee;
pub use improvement::Improvement;
pub use learn::{
    ActionLimits, ActionSpace, LearnAgainst, LearnRound, LearnSettings, Learned, LearnedPolicy,
    PolicyParts,
};
pub use logs::{Forgotten, LoggedActions, LoggedEpisodes, LoggedSample, Persistence};
pub use model::{FitReport, Model, ModelSettings};
pub use nn::{Activation, Device};
pub use opinions::{
    BaselineSettings, Baselines, Limit, LimitBy, Method, Opinion, PenaltyChoice, Unsaid,
};
pub use progress::{Event, Observer, Silent};
pub use ranking::{AmongFirst, Ranking, Standing};
pub use replay::{Backtest, Claim, Demand, Outcome, Replay, Replayed, ReplayedGroup};
pub use rng::{RowStreams, Seed, Stream};
pub use rollout::{Streams, collect};
pub use screen::{Look, Screened};
pub use settings::EvaluationSettings;
pub use task::{
    Against, Baseline, Constraint, InitialStates, Invariants, Policy, Reward, RewardLimits,
    StateBounds, StateLimits, Task, Termination,
};
pub use thresholds::Thresholds;
pub use unseen::Unseen;
pub use variant::Variant;
pub use verdict::Verdict;
pub use warning::{About, Warning, WeakerSetting};
pub use whereabouts::Whereabouts;
pub use worlds::WorldsLimit;

/// The machinery behind evaluations, for this repository's own tests, benchmarks and studies. It
/// changes without notice.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::adversary::{Dqn, Sac, Trained, train_dqn, train_sac};
    pub use crate::baselines::{Weighed, weighed_estimates};
    pub use crate::exogenous::Exogenous;
    pub use crate::game::{Game, Played};
    pub use crate::hallucination::{
        Choice, Errors, Hallucination, MemberAdversary, Noise, ShiftAdversary,
    };
    pub use crate::learn::{Arena, train};
    pub use crate::nn::{Layout, Mlps, Tensor};

    /// Rows where networks are evaluated.
    pub fn tensor(rows: ndarray::ArrayView2<'_, f32>) -> Tensor<2> {
        crate::nn::Device::Cpu.tensor(rows)
    }
}
