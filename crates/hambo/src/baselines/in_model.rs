//! Estimators that play the policy in the model: MOPO's penalty and MOReL's halting.

use ndarray::ArrayView1;

use crate::bound::Estimate;
use crate::dynamics::largest_std;
use crate::error::Result;
use crate::game::{Game, Played};
use crate::ground::Ground;
use crate::hallucination::Choice;
use crate::opinions::BaselineSettings;
use crate::opinions::{Limit, LimitBy, Method, Opinion, PenaltyChoice};
use crate::progress::{Event, Observer, report};
use crate::replay::{Apart, Player};
use crate::rng::Seed;
use crate::rollout::{Floor, Limits, Step, Streams, Support};
use crate::support::DataSupport;
use crate::task::Policy;

/// Plays a policy in a model.
pub(super) struct InModel<'a> {
    pub ground: &'a Ground<'a>,
    pub policy: &'a dyn Policy,
    pub settings: &'a BaselineSettings,
    pub delta: f64,
    pub seed: Seed,
    pub observer: &'a dyn Observer,
}

impl InModel<'_> {
    /// MOPO (Yu et al., 2020): r - w max_k ‖σ_k(s, a)‖, over weights w. The weight changes no rollout, so that one
    /// set of them serves all.
    pub(super) fn penalised(&self) -> Result<Vec<Opinion>> {
        if self.settings.penalties.is_empty() {
            return Ok(Vec::new());
        }
        let game = self.game();
        let discount = f64::from(game.task.discount);
        let mut penalties = vec![0.0; self.settings.episodes];
        let played = self.play(&game, "MOPO", |step| {
            let largest = largest_std(game.dynamics, step.states.view(), step.actions.view())?;
            let weight = discount.powi(step.time as i32);
            for (&episode, std) in step.episodes.iter().zip(largest) {
                penalties[episode] += weight * f64::from(std);
            }
            Ok(())
        })?;
        let opinion = |&weight: &f64| {
            let less = played.returns.iter().zip(&penalties).map(|(earned, p)| earned - weight * p);
            let found =
                Played { returns: less.collect(), observed: played.observed.clone() }.estimate();
            Opinion { of: Some(Opinion::of_weight(weight)), ..said(Method::Mopo, &found) }
        };
        Ok(self.settings.penalties.iter().map(opinion).collect())
    }

    /// MOReL (Kidambi et al., 2020): where members disagree more than on any log, the episode halts, and earns the least
    /// in all steps that are left.
    pub(super) fn halted(&self, least: f64) -> Result<Opinion> {
        let game = self.game();
        let halting = Halting::of(self.ground)?;
        let floor = Floor { least: least as f32, patience: 0, support: &halting };
        // Only disagreement halts: rounding at the edge of what is possible does not.
        let limits = Limits { floor: Some(floor), usual: None, ..game.limits };
        let game = Game { limits, ..game };
        let played = self.play(&game, "MOReL", |_| Ok(()))?;
        Ok(said(Method::Morel, &played.estimate()))
    }

    /// The weight at which MOPO would have overestimated no group of logged episodes: what each is overestimated by, in
    /// units of the penalty along it.
    pub(super) fn choice(&self) -> Result<Option<PenaltyChoice>> {
        let model = self.ground.model;
        let player = Player {
            game: self.game(),
            episodes: &model.episodes,
            logged_actions: &model.logged.actions,
            apart: Apart::Policy(self.policy),
            errors: self.ground.errors.as_ref(),
            delta: self.delta,
            seed: self.seed.child("penalties of the logs"),
            observer: self.observer,
        };
        let logged = &model.episodes.transitions;
        let penalties = largest_std(&*model.dynamics, logged.states.view(), logged.actions.view())?;
        let demands = player.biases_beside(&penalties.mapv(f64::from))?;
        let needed = |(name, bias, penalty): (String, f64, f64)| {
            (name, if bias > 0.0 { bias / penalty.max(f64::MIN_POSITIVE) } else { 0.0 })
        };
        let worst = demands.into_iter().map(needed).max_by(|a, b| a.1.total_cmp(&b.1));
        Ok(worst.map(|(worst, needed)| {
            let enough = self.settings.penalties.iter().copied().filter(|&weight| weight >= needed);
            PenaltyChoice { needed, worst, chosen: enough.min_by(f64::total_cmp) }
        }))
    }

    fn game(&self) -> Game<'_> {
        self.ground.game(self.policy)
    }

    fn play(
        &self,
        game: &Game<'_>,
        name: &'static str,
        mut on_step: impl FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Played> {
        // Counted outcomes are drawn by members, not from a Gaussian.
        let choice = match game.dynamics.counted() {
            Some(_) => Choice::RandomMemberPerStep,
            None => Choice::Distribution,
        };
        let streams = &mut Streams::new(self.seed, "baselines: rollouts");
        game.play(choice, self.settings.episodes, streams, |step| {
            let (stage, of) = (name, step.horizon);
            report(self.observer, &Event { stage, step: step.time, of, metric: None })?;
            on_step(step)
        })
    }
}

/// Where members disagree more than on any log.
#[derive(Debug)]
struct Halting<'a> {
    support: &'a DataSupport<'a>,
    most: f64,
}

impl<'a> Halting<'a> {
    fn of(ground: &'a Ground<'a>) -> Result<Self> {
        let (model, support) = (ground.model, &ground.support);
        let logged = &model.logged.transitions;
        let said = model.dynamics.predict(logged.states.view(), logged.actions.view())?;
        let doubts = said.epistemic_std.rows().into_iter().map(|stds| support.doubt(stds));
        Ok(Self { support, most: doubts.fold(0.0, f64::max) })
    }
}

impl Support for Halting<'_> {
    fn holds(
        &self,
        state: ArrayView1<'_, f32>,
        action: ArrayView1<'_, f32>,
        epistemic_std: Option<ArrayView1<'_, f32>>,
    ) -> bool {
        self.support.is_counted(state, action)
            && epistemic_std.is_none_or(|stds| self.support.doubt(stds) <= self.most)
    }
}

/// An estimate that is meant as a lower limit itself.
fn said(method: Method, found: &Estimate) -> Opinion {
    Opinion {
        method,
        of: None,
        estimate: found.mean,
        std_error: Some(found.std_error),
        limits: vec![Limit { by: LimitBy::Itself, lower: found.mean }],
        effective_episodes: None,
        largest_share: None,
    }
}
