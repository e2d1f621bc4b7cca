//! The whole line: a calibrated model and a policy go in, a lower bound on its return comes out,
//! with the evidence. Start reading here.

use std::time::Instant;

use crate::attack::{Attack, Attacked};
use crate::baselines;
use crate::checks;
use crate::error::Result;
use crate::evaluation::{ConstraintResult, Evaluation, Reuse, deciding};
use crate::game::Game;
use crate::ground::Ground;
use crate::guarantee::Guarantee;
use crate::model::Model;
use crate::processor;
use crate::progress::Observer;
use crate::rng::Seed;
use crate::rollout::{Limits, Streams};
use crate::settings::EvaluationSettings;
use crate::task::{Policy, Task};
use crate::warning::Warning;

impl Model {
    /// Bounds the return of `policy` from below, and the mean of every constraint of the task.
    ///
    /// The certificate over an ensemble's worlds needs `episodes` rollouts per member, once more for each
    /// constraint. The learned adversaries (CA, DA1), where they are asked for, take nearly all of the
    /// time: rounds of `adversary.episodes` hallucinated episodes and `adversary.gradient_steps` steps.
    ///
    /// An observer that keeps what was found makes an evaluation go on where it was interrupted, and
    /// end with the same bits.
    pub fn evaluate(
        &self,
        policy: &dyn Policy,
        task: &Task,
        settings: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Evaluation> {
        let ground = Ground::new(self, task, settings)?;
        let task: &Task = &ground.task;
        let policy: &dyn Policy = &self.asked(policy);
        let (game, region) = (ground.game(policy), &ground.region);
        let delta = region.monte_carlo_delta;
        let attack = |objective: &str, game: Game<'_>| {
            let (model, errors, support) = (self, ground.errors.as_ref(), &ground.support);
            Attack { objective, game, model, errors, support, settings, delta, seed, observer }
                .run()
        };

        checks::of_baseline(self, task)?;
        let mut warnings = checks::of_model(self, task, settings, region.confidence.as_ref())?;
        let Attacked { variants, second_opinion, improvement, warnings: of_return, mut timings } =
            attack("return", game)?;
        warnings.extend(of_return);
        let reuse = policy.learned_from().or(task.trained_on.as_ref()).map(|marks| {
            let fitted = &self.episodes.all;
            Reuse { shared: fitted.among(marks), of: fitted.len() }
        });
        if let Some(Reuse { shared, of }) = reuse.filter(|reuse| reuse.shared > 0) {
            let learned = policy.learned_from().is_some();
            warnings.push(Warning::SharedEpisodes { shared, of, learned });
        }
        if policy.learned_in_worlds() {
            warnings.push(Warning::LearnedInWorlds);
        }
        let mut constraints = Vec::new();
        for constraint in &task.constraints {
            let task = task.of_constraint(constraint);
            let limits = Limits { floor: None, ..game.limits };
            let attacked = attack(&constraint.name, Game { task: &task, limits, ..game })?;
            warnings.extend(attacked.warnings);
            timings.extend(attacked.timings);
            constraints.push(ConstraintResult::new(
                &constraint.name,
                attacked.variants,
                attacked.second_opinion,
            ));
        }
        let baselines = match &settings.baselines {
            Some(wanted) => {
                let begun = Instant::now();
                let said =
                    baselines::said(&ground, &self.episodes, policy, wanted, seed, observer)?;
                timings.insert("baselines".into(), begun.elapsed().as_secs_f64());
                let bound = deciding(&variants).map(|variant| variant.lower_bound);
                warnings.extend(checks::of_baselines(&said, bound, second_opinion.as_ref()));
                Some(said)
            }
            None => None,
        };
        let streams = &mut Streams::new(seed, "guarantee");
        let proven = region.proven();
        let guarantee =
            proven.map(|proven| Guarantee::measure(proven, &game, streams)).transpose()?;

        let decides = deciding(&variants);
        let limit = decides.and_then(|variant| variant.worlds.as_ref());
        let delta_covers = match limit {
            Some(limit) => limit.what_delta_covers(),
            None => region.what_delta_covers().into(),
        };
        Ok(Evaluation {
            lower_bound: decides.map(|variant| variant.lower_bound),
            deciding: decides.map(|variant| variant.variant),
            delta: settings.delta,
            monte_carlo_delta: delta,
            delta_covers,
            variants,
            second_opinion,
            improvement,
            reuse,
            baselines,
            constraints,
            calibration: self.calibration.clone(),
            guarantee,
            box_half_widths: region.radius.to_vec(),
            data: self.data.clone(),
            members: self.dynamics.members(),
            horizon: task.horizon,
            discount: task.discount,
            data_range: self.data_range.columns()[..self.present_dim()].to_vec(),
            floor: task.floor,
            state_limits: ground.confines.are.clone(),
            invariants: ground.confines.farthest.invariants(&self.data.names.states),
            reward_limits: ground.reward_limits,
            warnings,
            seed: seed.0,
            settings: settings.clone(),
            timings,
            version: env!("CARGO_PKG_VERSION").into(),
            instruction_set: processor::instruction_set().into(),
        })
    }
}
