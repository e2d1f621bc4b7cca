//! Which of many policies are worth a whole evaluation.
//!
//! All are played for a few episodes in every world, from the same starts and with the same draws. A policy that earns
//! clearly less than another one in every single world cannot have the higher mean, nor, by much, the higher bound.

use serde::{Deserialize, Serialize};

use crate::bound::{Estimate, paired_difference};
use crate::error::Result;
use crate::game::Game;
use crate::ground::Ground;
use crate::hallucination::{Choice, Noise};
use crate::model::Model;
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;
use crate::rollout::Streams;
use crate::settings::EvaluationSettings;
use crate::task::{Policy, Task};

/// Episodes of a policy in every world.
const EPISODES: usize = 200;

/// Standard errors by which a policy must be worse in every world.
const CLEARLY: f64 = 3.0;

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

impl Model {
    /// A short look at many policies. None is dominated where a model has no worlds.
    pub fn screen(
        &self,
        policies: &[&dyn Policy],
        task: &Task,
        settings: &EvaluationSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Screened>> {
        let ground = Ground::new(self, task, settings)?;
        let members = self.dynamics.members();
        let mut found: Vec<Vec<Vec<f64>>> = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let (stage, of) = ("screening", policies.len());
            report(observer, &Event { stage, step: index, of, metric: None })?;
            let game = ground.game(*policy);
            let noise = match (game.noise, &ground.errors) {
                (Noise::Gaussian, Some(errors)) => Noise::Borrowed { errors, scale: 1.0 },
                (own, _) => own,
            };
            let game = Game { noise, ..game };
            let play = |member| {
                let streams = &mut Streams::new(seed, "screening");
                let played = game.play(Choice::Member(member), EPISODES, streams, |_| {
                    report(observer, &Event { stage, step: index, of, metric: None })
                })?;
                Ok(played.returns)
            };
            found.push((0..members).map(play).collect::<Result<_>>()?);
        }
        Ok(dominated(&found))
    }
}

/// `returns` of every policy in every world.
fn dominated(returns: &[Vec<Vec<f64>>]) -> Vec<Screened> {
    let mean = |returns: &Vec<f64>| Estimate::of(returns).mean;
    let worlds: Vec<Vec<f64>> =
        returns.iter().map(|worlds| worlds.iter().map(mean).collect()).collect();
    let is_better = |a: usize, b: usize| {
        !returns[a].is_empty()
            && returns[a].iter().zip(&returns[b]).all(|(a, b)| {
                let difference = paired_difference(a, b);
                difference.mean > CLEARLY * difference.std_error
            })
    };
    let all = 0..returns.len();
    let of = |index: usize| Screened {
        worlds: worlds[index].clone(),
        dominated_by: all.clone().find(|&other| is_better(other, index)),
    };
    all.clone().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_clearly_worse_in_every_world_is_dominated() {
        let world = |mean: f64| (0..50).map(|i| mean + f64::from(i % 5)).collect::<Vec<f64>>();
        let (good, mixed, bad) = (
            vec![world(5.0), world(5.0)],
            vec![world(6.0), world(1.0)],
            vec![world(4.0), world(0.0)],
        );
        let found = dominated(&[bad, good, mixed]);
        assert_eq!(found[0].dominated_by, Some(1));
        assert_eq!((found[1].dominated_by, found[2].dominated_by), (None, None));
        assert_eq!(found[1].mean(), 7.0);
    }
}
