//! All that a game needs of a model, a task and settings, whoever plays.

use std::borrow::Cow;

use crate::confines::Confines;
use crate::error::Result;
use crate::exogenous::Exogenous;
use crate::game::Game;
use crate::hallucination::Noise;
use crate::logs::BorrowedErrors;
use crate::model::Model;
use crate::region::Region;
use crate::rollout::{Floor, Limits};
use crate::settings::EvaluationSettings;
use crate::support::DataSupport;
use crate::task::{Policy, RewardLimits, Task};

/// Where games are played.
pub(crate) struct Ground<'a> {
    pub(crate) model: &'a Model,
    pub(crate) task: Cow<'a, Task>,
    pub(crate) exogenous: Option<Exogenous<'a>>,
    pub(crate) settings: &'a EvaluationSettings,
    pub(crate) confines: Confines,
    pub(crate) reward_limits: Option<RewardLimits>,
    pub(crate) region: Region,
    pub(crate) support: DataSupport<'a>,
    /// The model's errors on the logs; none for members that draw themselves, whose noise is in them.
    pub(crate) errors: Option<BorrowedErrors>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(
        model: &'a Model,
        task: &'a Task,
        settings: &'a EvaluationSettings,
    ) -> Result<Self> {
        settings.validate()?;
        task.validate()?;
        let task = model.translated(task);
        let exogenous = Exogenous::new(&model.exogenous, &model.episodes);
        let task = match exogenous {
            Some(exogenous) => {
                let initial_states = exogenous.with_known_courses(&task)?;
                Cow::Owned(Task { initial_states, ..task.into_owned() })
            }
            None => task,
        };
        Ok(Self {
            confines: model.confines(&task)?,
            reward_limits: model.reward_limits(&task),
            region: Region::of(model, settings),
            support: DataSupport::new(model, &task)?,
            errors: match model.dynamics.counted() {
                Some(_) => None,
                None => BorrowedErrors::new(&*model.dynamics, &model.logged)?,
            },
            model,
            task,
            exogenous,
            settings,
        })
    }

    pub(crate) fn game<'g>(&'g self, policy: &'g dyn Policy) -> Game<'g> {
        let patience = self.settings.thresholds.outside_data * self.task.horizon as f64;
        Game {
            dynamics: &*self.model.dynamics,
            radius: &self.region.radius,
            noise: if self.settings.noise { Noise::Gaussian } else { Noise::None },
            task: &self.task,
            limits: Limits {
                states: Some(&self.confines.farthest),
                usual: Some(&self.confines.usual),
                reward: self.reward_limits.map(|limits| [limits.low, limits.high]),
                floor: self.task.floor.map(|least| Floor {
                    least,
                    patience: patience as usize,
                    support: &self.support,
                }),
            },
            policy,
            exogenous: self.exogenous,
            history: self.model.history.as_ref(),
        }
    }
}
