//! Other opinions: what the field's estimators say of the same policy, from the same logs.
//!
//! A bound convinces when unlike methods agree, and warns when they do not. None of these decides anything: each comes
//! with its claim and with what it takes for granted.

mod fqe;
mod in_model;
mod limits;
mod logged;
mod propensity;
mod refitted;
mod weighing;

use std::borrow::Cow;

use ndarray::{Array2, ArrayView1, Axis};

#[cfg(feature = "internals")]
pub use weighing::{Weighed, weighed_estimates};

use self::fqe::{Fitting, Questions};
use self::in_model::InModel;
use self::logged::Logs;
use self::weighing::Weighing;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::game::Played;
use crate::ground::Ground;
use crate::logs::{LoggedActions, LoggedEpisodes};
use crate::model::Model;
use crate::opinions::{BaselineSettings, Baselines, Limit, LimitBy, Method, Opinion, Unsaid};
use crate::progress::Observer;
use crate::rng::Seed;
use crate::rollout::Streams;
use crate::settings::EvaluationSettings;
use crate::task::{self, Policy, Task};
use crate::worlds::WorldsLimit;

impl Model {
    /// What the field's estimators say of a policy, from logs with the model's columns or, without any, from the
    /// episodes that the model keeps. Of the settings, `delta` and `baselines` matter.
    pub fn baselines(
        &self,
        policy: &dyn Policy,
        task: &Task,
        logs: Option<&Dataset>,
        settings: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Baselines> {
        let ground = Ground::new(self, task, settings)?;
        let wanted = settings.baselines.clone().unwrap_or_default();
        let policy: &dyn Policy = &self.asked(policy);
        let Some(logs) = logs else {
            return said(&ground, &self.episodes, policy, &wanted, seed, observer);
        };
        let logs = self.seen(logs);
        self.check_columns(&logs)?;
        said(&ground, &LoggedEpisodes::all_of(&logs), policy, &wanted, seed, observer)
    }

    fn check_columns(&self, logs: &Dataset) -> Result<()> {
        let widths = [
            ("states of the logs", self.dynamics.state_dim(), logs.state_dim()),
            ("actions of the logs", self.dynamics.action_dim(), logs.action_dim()),
        ];
        match widths.into_iter().find(|(_, expected, found)| expected != found) {
            Some((part, expected, found)) => Err(Error::Dimension { part, expected, found }),
            None => Ok(()),
        }
    }
}

/// What the field's estimators say of a policy, at the probability of failure that a ground's settings have.
pub(crate) fn said(
    ground: &Ground<'_>,
    episodes: &LoggedEpisodes,
    policy: &dyn Policy,
    settings: &BaselineSettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Baselines> {
    let (model, delta, seed) = (ground.model, ground.settings.delta, seed.child("baselines"));
    let logs = &Logs::new(episodes, &ground.task)?;
    Asking { model, ground, logs, policy, settings, delta, seed, observer }.all()
}

/// All that an opinion depends on.
struct Asking<'a> {
    model: &'a Model,
    ground: &'a Ground<'a>,
    logs: &'a Logs<'a>,
    policy: &'a dyn Policy,
    settings: &'a BaselineSettings,
    delta: f64,
    seed: Seed,
    observer: &'a dyn Observer,
}

impl Asking<'_> {
    fn all(&self) -> Result<Baselines> {
        let mut found = Baselines {
            delta: self.delta,
            episodes: self.logs.whole.len(),
            left_out: self.logs.left_out,
            estimated_probabilities: false,
            opinions: Vec::new(),
            unsaid: Vec::new(),
            penalty: None,
        };
        if self.logs.rewards.is_empty() {
            let methods = Method::ALL.to_vec();
            let why = "the model keeps no logged episodes; fit it again".into();
            found.unsaid.push(Unsaid { methods, why });
            return Ok(found);
        }
        found.opinions = self.logs.means(self.delta);
        self.add_values_and_weights(&mut found)?;
        if let Some(ensemble) = &self.settings.refit {
            let said = or_why(self.refitted(ensemble).map(|said| vec![said]))?;
            found.add(&[Method::ModelBootstrap], said);
        }
        self.add_rollouts(&mut found)?;
        found.keep_numbers();
        Ok(found)
    }

    fn add_values_and_weights(&self, found: &mut Baselines) -> Result<()> {
        let ratios = or_why(self.log_ratios())?.and_then(|ratios| ratios);
        let log_ratios = ratios.as_deref().unwrap_or_default();
        found.estimated_probabilities = ratios.is_ok() && self.logs.kept.log_probs.is_none();
        match (or_why(self.fitted_values(log_ratios))?, ratios) {
            (Ok((values, weighed)), Ok(_)) => {
                found.opinions.push(values);
                found.add(&Method::WEIGHING, self.weighed_by(weighed));
            }
            (Ok((values, _)), Err(why)) => {
                found.opinions.push(values);
                found.add(&Method::WEIGHING, Err(why));
            }
            (Err(why), _) => {
                let methods: Vec<Method> =
                    std::iter::once(Method::Fqe).chain(Method::WEIGHING).collect();
                found.add(&methods, Err(why));
            }
        }
        Ok(())
    }

    fn add_rollouts(&self, found: &mut Baselines) -> Result<()> {
        let in_model = InModel {
            ground: self.ground,
            policy: self.policy,
            settings: self.settings,
            delta: self.delta,
            seed: self.seed,
            observer: self.observer,
        };
        if self.model.dynamics.members() < 2 {
            let why = "it asks several members, which this model does not have".into();
            found.add(&[Method::Mopo, Method::Morel], Err(why));
            return Ok(());
        }
        let halted = in_model.halted(self.logs.reward_range()[0]).map(|said| vec![said]);
        found.add(&[Method::Morel], or_why(halted)?);
        if self.model.dynamics.counted().is_some() {
            let why = "states are names here, whose standard deviation means nothing".into();
            found.add(&[Method::Mopo], Err(why));
        } else if !self.settings.penalties.is_empty() {
            found.add(&[Method::Mopo], or_why(in_model.penalised())?);
            found.penalty = or_why(in_model.choice())?.unwrap_or_default();
        }
        Ok(())
    }

    /// log(π / π_b) of the logged rows, or why nobody knows.
    fn log_ratios(&self) -> Result<Result<Vec<f64>, String>> {
        let kept = self.logs.kept;
        let logged = match (&kept.log_probs, self.settings.estimate_probabilities) {
            (Some(logged), _) => Cow::Borrowed(&logged[..]),
            (None, true) => match propensity::estimated(kept, &self.model.logged.actions) {
                Ok(estimated) => Cow::Owned(estimated),
                Err(why) => return Ok(Err(why)),
            },
            (None, false) => {
                let why = "the logs do not say how probable their actions were; name the column that does, \
                           `data.probability` or `data.log_probability`";
                return Ok(Err(why.into()));
            }
        };
        let known = self.logs.known(&logged).len();
        if known < 2 {
            let horizon = self.logs.task.horizon;
            return Ok(Err(format!(
                "{known} logged episodes show their start, last for {horizon} steps and say how probable every \
                 action was; two are needed"
            )));
        }
        let (states, actions) = (kept.transitions.states.view(), kept.transitions.actions.view());
        let own = match task::log_probs(self.policy, states, actions)? {
            Some(own) => own.to_vec(),
            None => match self.of_choices()? {
                Some(own) => own,
                None => {
                    let why =
                        "the policy does not say how probable its actions are; give it `log_prob`";
                    return Ok(Err(why.into()));
                }
            },
        };
        Ok(Ok(own.iter().zip(&*logged).map(|(own, logged)| own - logged).collect()))
    }

    /// A policy that always chooses the same of a few does so with probability one.
    fn of_choices(&self) -> Result<Option<Vec<f64>>> {
        let is_choice = |column: &LoggedActions| matches!(column, LoggedActions::Choices(_));
        let columns = &self.model.logged.actions;
        if columns.is_empty() || !columns.iter().all(is_choice) {
            return Ok(None);
        }
        let logged = &self.logs.kept.transitions;
        let drawn = self.logs.actions(self.policy, &logged.states, self.seed.child("choices"))?;
        let [chosen] = &drawn[..] else { return Ok(None) };
        let same = |row: usize| {
            let apart = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-5;
            !chosen.row(row).iter().zip(logged.actions.row(row)).any(apart)
        };
        let log_prob = |row: usize| if same(row) { 0.0 } else { f64::NEG_INFINITY };
        Ok(Some((0..chosen.nrows()).map(log_prob).collect()))
    }

    /// What fitted Q evaluation says, and logged episodes with their weights and values if there are ratios.
    fn fitted_values(&self, log_ratios: &[f64]) -> Result<(Opinion, Vec<weighing::Weighed>)> {
        let (logs, horizon) = (self.logs, self.ground.task.horizon);
        let streams = &mut Streams::new(self.seed, "baselines: fitted Q evaluation");
        let starts = self.ground.game(self.policy).starts(self.settings.episodes, streams)?;
        let of_starts =
            logs.actions(self.policy, &starts.states, self.seed.child("first actions"))?;
        let mut questions: Vec<Questions> = of_starts
            .into_iter()
            .map(|actions| Questions {
                left: vec![horizon; actions.nrows()],
                states: starts.states.clone(),
                actions,
            })
            .collect();
        let of_starts = questions.len();
        let mut rows: Vec<usize> = Vec::new();
        if !log_ratios.is_empty() {
            let mut left = Vec::new();
            for whole in logs.known(log_ratios) {
                rows.extend(whole.rows.clone());
                left.extend((0..whole.rows.len()).map(|t| horizon - t));
            }
            let (states, actions) = logs.pairs(&rows);
            let drawn = logs.actions(self.policy, &states, self.seed.child("logged states"))?;
            for actions in std::iter::once(actions).chain(drawn) {
                questions.push(Questions { states: states.clone(), actions, left: left.clone() });
            }
        }
        let bag = &logs.bag(self.settings.members, &mut self.seed.stream("bag of episodes"));
        let fitting = Fitting {
            logs,
            bag,
            names: self.model.dynamics.counted().is_some(),
            settings: self.settings,
            seed: self.seed,
            observer: self.observer,
        };
        let answers = fitting.answers(self.policy, &Questions::together(&questions))?;
        let count = starts.states.nrows();
        let returns = mean_of_blocks(&answers, 0, of_starts, count);
        let opinion = over_members(Method::Fqe, &returns, starts.observed, self.delta);
        let at = of_starts * count;
        let of_pairs = mean_of_blocks(&answers, at, 1, rows.len());
        let blocks = questions.len() - of_starts;
        let of_states =
            mean_of_blocks(&answers, at + rows.len(), blocks.saturating_sub(1), rows.len());
        let weighed = match log_ratios.is_empty() {
            true => Vec::new(),
            false => self.weighed(log_ratios, bag, &of_pairs, &of_states),
        };
        Ok((opinion, weighed))
    }

    /// Logged episodes with their weights, and with values by members that have not seen them.
    fn weighed(
        &self,
        log_ratios: &[f64],
        bag: &Array2<f32>,
        of_pairs: &Array2<f64>,
        of_states: &Array2<f64>,
    ) -> Vec<weighing::Weighed> {
        let discount = f64::from(self.ground.task.discount);
        let mut first = 0;
        let mut found = Vec::new();
        for whole in self.logs.known(log_ratios) {
            let unseeing: Vec<usize> =
                (0..bag.nrows()).filter(|&member| bag[[member, whole.episode]] == 0.0).collect();
            let values = |of: &Array2<f64>| -> Vec<f64> {
                let value = |t: usize| {
                    let said = unseeing.iter().map(|&member| of[[member, first + t]]);
                    discount.powi(t as i32) * said.sum::<f64>() / unseeing.len() as f64
                };
                (0..whole.rows.len()).map(value).collect()
            };
            found.push(weighing::Weighed {
                log_ratios: log_ratios[whole.rows.clone()].to_vec(),
                rewards: whole.rewards.clone(),
                of_pairs: values(of_pairs),
                of_states: values(of_states),
            });
            first += whole.rows.len();
        }
        found
    }

    fn weighed_by(&self, episodes: Vec<weighing::Weighed>) -> Result<Vec<Opinion>, String> {
        let weighing = Weighing::new(episodes, self.ground.task.horizon);
        if let Some(step) = weighing.weightless_step() {
            return Err(format!(
                "after {} steps the policy has done something else than every logged episode",
                step + 1
            ));
        }
        let least = self.logs.reward_range()[0] * self.logs.weight_of(self.ground.task.horizon);
        let (delta, resamples) = (self.delta, self.settings.resamples);
        let opinion = |&method| weighing.opinion(method, least, delta, resamples, self.seed);
        Ok(Method::WEIGHING.iter().map(opinion).collect())
    }
}

/// What went wrong, in words: no opinion is worth a bound that was found already. Who wants to stop may do so.
fn or_why<T>(found: Result<T>) -> Result<Result<T, String>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(stopped @ Error::Cancelled { .. }) => Err(stopped),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// A limit over members, `[members, episodes]`, as over worlds that nothing was replayed in.
fn over_members(
    method: Method,
    returns: &Array2<f64>,
    observed: Option<Vec<usize>>,
    delta: f64,
) -> Opinion {
    let mean_of = |row: ArrayView1<'_, f64>| row.sum() / row.len() as f64;
    let members: Vec<f64> = returns.rows().into_iter().map(mean_of).collect();
    let means = returns.mean_axis(Axis(0)).expect("at least two members").to_vec();
    let mean = Played { returns: means, observed }.estimate();
    let limit = WorldsLimit::new(&members, delta, None);
    let lower = limit.lower_limit(&mean, members.len(), delta);
    Opinion {
        method,
        of: None,
        estimate: mean.mean,
        std_error: Some(limit.spread.hypot(mean.std_error)),
        limits: vec![Limit { by: LimitBy::Student, lower }],
        effective_episodes: None,
        largest_share: None,
    }
}

/// Means over blocks of `count` columns, from column `first` on, `[rows, count]`.
fn mean_of_blocks(of: &Array2<f64>, first: usize, blocks: usize, count: usize) -> Array2<f64> {
    let mut mean = Array2::zeros((of.nrows(), count));
    for block in 0..blocks {
        let start = first + block * count;
        mean += &of.slice(ndarray::s![.., start..start + count]);
    }
    mean / blocks.max(1) as f64
}
