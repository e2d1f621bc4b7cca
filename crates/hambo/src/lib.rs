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
//! 5. [`hallucination`]: that model in an adversary's hands, for [`rollout`]s
//! 6. [`adversary`]: adversaries that learn to hurt
//! 7. [`mod@bound`]: the Monte Carlo error of the returns
//!
//! [`Model::fit`] is the third and fourth step, [`evaluate()`] the rest.
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
//! let ensemble = EnsembleSettings { hidden: vec![32; 2], max_steps: 100, ..Default::default() };
//! let model_settings = ModelSettings { ensemble, ..Default::default() };
//! let model = Model::fit(&logs, &model_settings, seed, &Silent)?;
//!
//! let settings = EvaluationSettings {
//!     variants: vec![Variant::DaInf, Variant::Ds],
//!     episodes: 200,
//!     ..Default::default()
//! };
//! let found = hambo::evaluate(&model, &SwingUp::GOOD, &task, &[], &settings, seed, &Silent)?;
//! println!("at least {:?}; {}", found.lower_bound, found.delta_covers);
//! for warning in &found.warnings {
//!     println!("warning: {warning}; {}", warning.help());
//! }
//! # assert!(found.lower_bound.is_some());
//! # Ok(())
//! # }
//! ```

pub mod adversary;
pub mod bound;
pub mod calibration;
pub mod dataset;
pub mod dynamics;
pub mod hallucination;
pub mod nn;
pub mod progress;
pub mod rng;
pub mod rollout;
pub mod task;

mod checkpoints;
mod error;
mod error_tree;
mod evaluate;
mod evaluation;
mod evidence;
mod guarantee;
mod logged;
mod model;
mod persistence;
mod second_opinion;
mod settings;

pub use calibration::Calibration;
pub use checkpoints::{Checkpoints, Finding};
pub use dataset::Dataset;
pub use dynamics::{Dynamics, Prediction};
pub use error::{BoxError, Error, Result};
pub use evaluate::{Constraint, evaluate, evaluate_resumable};
pub use evaluation::{
    ConstraintResult, Evaluation, StateLimits, Trajectory, Variant, VariantResult, Warning,
};
pub use evidence::{Costs, Evidence, HorizonPoint};
pub use guarantee::Guarantee;
pub use logged::{LoggedActions, LoggedSample};
pub use model::{Model, ModelSettings, Report};
pub use persistence::Persistence;
pub use progress::{Event, Observer, Silent};
pub use rng::{Seed, Stream};
pub use rollout::{Streams, collect};
pub use settings::EvaluationSettings;
pub use task::{InitialStates, Policy, Reward, StateBounds, Task, Termination};
