//! Which of many policies are worth a whole evaluation.
//!
//! All are played for a few episodes in every world, from the same starts and with the same draws. A policy is left out
//! if another one earns clearly more in every single world and if, with whatever factor up to twenty on the
//! worlds' disagreement, its limit is the higher one, too: limits are linear in that factor, so that both ends tell.

use serde::{Deserialize, Serialize};

use crate::bound::Estimate;
use crate::error::Result;
use crate::game::{Game, Played};
use crate::ground::Ground;
use crate::hallucination::{Choice, Noise};
use crate::model::Model;
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;
use crate::rollout::Streams;
use crate::settings::EvaluationSettings;
use crate::task::{Policy, Task};

/// Episodes of a policy in every world.
pub(crate) const SCREENED: usize = 200;

/// Standard errors by which a policy must be worse in every world.
const CLEARLY: f64 = 3.0;

/// Logged episodes rarely demand a larger factor on the worlds' disagreement.
const LARGEST_FACTOR: f64 = 20.0;

/// What a short look at a policy showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Screened {
    /// Mean return in every world.
    pub worlds: Vec<f64>,
    /// The number of a policy that earns clearly more in every world, if there is one.
    pub dominated_by: Option<usize>,
}

impl Screened {
    /// Mean over the worlds.
    pub fn mean(&self) -> f64 {
        self.worlds.iter().sum::<f64>() / self.worlds.len().max(1) as f64
    }
}

/// What a policy earned in a short look, world by world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Look(Vec<Played>);

impl Look {
    /// Who is dominated, of looks with the same model, task, settings and seed. Nobody is where a model has no worlds.
    pub fn compare(looks: &[Self]) -> Vec<Screened> {
        let mean = |played: &Played| played.estimate().mean;
        let means = |look: &Self| look.0.iter().map(mean).collect();
        let worlds: Vec<Vec<f64>> = looks.iter().map(means).collect();
        let is_better = |a: usize, b: usize| {
            worlds[a].len() > 1
                && least(&worlds[a]) > least(&worlds[b])
                && looks[a].0.iter().zip(&looks[b].0).all(|(a, b)| is_clearly_better(a, b))
        };
        let all = 0..looks.len();
        let of = |index: usize| Screened {
            worlds: worlds[index].clone(),
            dominated_by: all.clone().find(|&other| is_better(other, index)),
        };
        all.clone().map(of).collect()
    }
}

impl Model {
    /// A short look at each of these policies, to be [compared](Look::compare) with others.
    pub fn look(
        &self,
        policies: &[&dyn Policy],
        task: &Task,
        settings: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Look>> {
        self.look_for(SCREENED, policies, task, settings, seed, observer)
    }

    /// The same for so many episodes.
    pub(crate) fn look_for(
        &self,
        episodes: usize,
        policies: &[&dyn Policy],
        task: &Task,
        settings: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Look>> {
        let ground = Ground::new(self, task, settings)?;
        let mut found = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let (stage, of) = ("screening", policies.len());
            report(observer, &Event { stage, step: index, of, metric: None })?;
            let policy = self.asked(*policy);
            let game = ground.game(&policy);
            let noise = match (game.noise, &ground.errors) {
                (Noise::Gaussian, Some(errors)) => Noise::Borrowed { errors, scale: 1.0 },
                (own, _) => own,
            };
            let game = Game { noise, ..game };
            let play = |member| {
                let streams = &mut Streams::new(seed, "screening");
                game.play(Choice::Member(member), episodes, streams, |_| {
                    report(observer, &Event { stage, step: index, of, metric: None })
                })
            };
            found.push(Look(game.by_members(play)?));
        }
        Ok(found)
    }
}

/// The limit with the largest factor.
fn least(worlds: &[f64]) -> f64 {
    let (found, count) = (Estimate::of(worlds), worlds.len() as f64);
    found.mean - LARGEST_FACTOR * (1.0 + 1.0 / count).sqrt() * count.sqrt() * found.std_error
}

/// From the same starts, and with the same draws.
fn is_clearly_better(a: &Played, b: &Played) -> bool {
    let returns = a.returns.iter().zip(&b.returns).map(|(a, b)| a - b).collect();
    let difference = Played { returns, observed: a.observed.clone() }.estimate();
    difference.mean > CLEARLY * difference.std_error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(means: [f64; 2]) -> Look {
        let returns = |mean: f64| (0..50).map(|i| mean + f64::from(i % 5)).collect();
        Look(means.map(|mean| Played { returns: returns(mean), observed: None }).to_vec())
    }

    #[test]
    fn who_is_clearly_worse_in_every_world_is_dominated() {
        let (good, mixed, bad) = (look([5.0, 5.0]), look([6.0, 1.0]), look([4.0, 0.0]));
        let found = Look::compare(&[bad, good, mixed]);
        assert_eq!(found[0].dominated_by, Some(1));
        assert_eq!((found[1].dominated_by, found[2].dominated_by), (None, None));
        assert_eq!(found[1].mean(), 7.0);
    }

    #[test]
    fn who_is_worse_but_more_certain_is_not_dominated() {
        let (certain, better) = (look([1.0, 1.0]), look([2.0, 90.0]));
        assert!(Look::compare(&[certain, better]).iter().all(|found| found.dominated_by.is_none()));
    }
}
