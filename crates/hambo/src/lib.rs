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
//!
//! 5. [`hallucination`]: that model in an adversary's hands, for [`rollout`]s
//! 6. [`adversary`]: adversaries that learn to hurt
//! 7. [`mod@bound`]: the Monte Carlo error of the returns
//!
//! The evaluation that puts all of this together is still to come.
//!
//! ```
//! use hambo::calibration::TemperatureKind;
//! use hambo::dynamics::ensemble::{Ensemble, EnsembleSettings};
//! use hambo::task::pendulum::{self, Pendulum, SwingUp};
//! use hambo::{Calibration, Dynamics, Seed, Silent, Streams};
//!
//! # fn main() -> hambo::Result<()> {
//! let seed = Seed(0);
//! // Ten episodes of a mediocre controller stand in for your logs.
//! let behaviour = SwingUp::DETUNED.noisy(0.5);
//! let task = pendulum::task(50);
//! let logs = hambo::collect(&Pendulum, &task, &behaviour, 10, &mut Streams::new(seed, "logs"))?;
//!
//! let (train, rest) = logs.all().split(0.1, &mut seed.stream("calibration split"))?;
//! let settings = EnsembleSettings { hidden: vec![32; 2], max_steps: 50, ..Default::default() };
//! let (model, _report) = Ensemble::fit(&train, &settings, seed, &Silent)?;
//! let calibration = Calibration::fit(&model, &rest, TemperatureKind::PerOutput)?;
//!
//! let prediction = model.predict(logs.states(), logs.actions())?;
//! assert_eq!(prediction.epistemic_std.dim(), (500, 3));
//! assert_eq!(calibration.temperatures.len(), 3);
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

mod error;

pub use calibration::Calibration;
pub use dataset::Dataset;
pub use dynamics::{Dynamics, Prediction};
pub use error::{BoxError, Error, Result};
pub use progress::{Event, Observer, Silent};
pub use rng::Seed;
pub use rollout::{Streams, collect};
pub use task::{Policy, Reward, Task, Termination};
