//! What a policy earns in fresh rollouts, and how.

use super::Attack;
use crate::adversary::Trained;
use crate::error::{Error, Result};
use crate::evaluation::VariantResult;
use crate::evidence::Costs;
use crate::game::Played;
use crate::hallucination::Choice;
use crate::rollout::{Step, Streams};
use crate::side_by_side::Steps;
use crate::variant::Variant;
use crate::watcher::Watcher;

impl Attack<'_> {
    /// What each member makes of the policy for whole episodes.
    pub(super) fn by_members(&self, variant: Variant) -> Result<Vec<(VariantResult, Played)>> {
        let members = self.game.dynamics.members();
        let steps = self.final_steps(members);
        let judge = |member| self.judge::<()>(variant, Choice::Member(member), None, &steps);
        self.game.by_members(judge)
    }

    fn final_steps(&self, rollouts: usize) -> Steps<'_> {
        Steps::new(self.observer, "final rollouts", rollouts * self.game.task.horizon)
    }

    pub(super) fn judge_alone<A>(
        &self,
        variant: Variant,
        choice: Choice<'_>,
        trained: Option<&Trained<A>>,
    ) -> Result<(VariantResult, Played)> {
        self.judge(variant, choice, trained, &self.final_steps(1))
    }

    /// The estimate on fresh rollouts, the same for all variants.
    fn judge<A>(
        &self,
        variant: Variant,
        choice: Choice<'_>,
        trained: Option<&Trained<A>>,
        steps: &Steps<'_>,
    ) -> Result<(VariantResult, Played)> {
        let mut streams = Streams::new(self.seed, &format!("{}: final", self.objective));
        let starts = self.game.starts(self.settings.episodes, &mut streams)?;
        let horizon = self.game.task.horizon;
        let mut watcher =
            Watcher::new(self.model, self.support, horizon, self.delta, starts.observed.clone());
        let played = self.game.play_from(starts, choice, &mut streams, |step| {
            steps.report()?;
            watcher.watch(step)
        })?;
        let estimate = played.estimate();
        if estimate.independent < 2 {
            return Err(Error::TooFewStarts { observed: estimate.independent });
        }
        let went = watcher.whereabouts();
        let (worst, evidence) = watcher.finish(&played.returns, self.costs(choice)?);
        let result = VariantResult {
            variant,
            estimate,
            lower_bound: estimate.lower_limit(self.delta),
            members: Vec::new(),
            worlds: None,
            attempts: Vec::new(),
            converged: trained.map(|trained| trained.converged),
            rounds: trained.map(|trained| trained.rounds.clone()).unwrap_or_default(),
            restarts_after_divergence: trained.map_or(0, |trained| trained.restarts),
            went,
            worst,
            evidence,
        };
        Ok((result, played))
    }

    /// Which output the adversary's harm comes from.
    fn costs(&self, choice: Choice<'_>) -> Result<Option<Costs>> {
        let episodes = self.settings.cost_episodes;
        if episodes == 0 {
            return Ok(None);
        }
        let streams = Streams::new(self.seed, &format!("{}: costs", self.objective));
        let on_step = |step: &Step<'_>| self.report("costs", step);
        Costs::measure(&self.game, choice, episodes, &streams, on_step)
    }
}
