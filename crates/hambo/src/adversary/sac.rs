//! The continuous adversary: soft actor-critic over shifts in the confidence box (`alg:hambo_ca`).

use ndarray::{Array1, Array2};
use rand::RngExt;

use super::learner::{Learner, Scales, held, inputs};
use super::settings::AdversarySettings;
use crate::actor_critic::{ActorCritic, Experience, Head, Rates, column};
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::experience::ReplayBatch;
use crate::hallucination::{Choice, ShiftAdversary};
use crate::rng::Stream;
use crate::rollout::Moment;

/// An adversary that shifts next states.
#[derive(Debug, Clone)]
pub struct Sac {
    learner: ActorCritic,
    scales: Scales,
    settings: AdversarySettings,
    choice_dim: usize,
    /// How it acts.
    manner: Manner,
    /// Shifts that some episodes are pushed by from start to end, while exploring.
    held: Vec<Option<Array1<f32>>>,
}

/// How shifts follow from the Gaussian over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// A sample.
    Random,
    /// The mean.
    Greedy,
    /// The nearest corner of the box. A tanh never gets there, and harm that grows with the shift is
    /// largest there.
    Edge,
}

impl Learner for Sac {
    fn new(
        scales: Scales,
        choice_dim: usize,
        settings: &AdversarySettings,
        rng: &mut Stream,
    ) -> Self {
        let (columns, hidden) = (scales.inputs.mean().len(), &settings.hidden);
        let coef = settings.entropy_coef;
        Self {
            learner: ActorCritic::new(
                columns,
                columns,
                Head::Squashed(choice_dim),
                hidden,
                coef,
                scales.device,
                rng,
            ),
            scales,
            settings: settings.clone(),
            choice_dim,
            manner: Manner::Random,
            held: Vec::new(),
        }
    }

    fn greedy(&self) -> Self {
        Self { manner: Manner::Greedy, held: Vec::new(), ..self.clone() }
    }

    fn at_the_edge(&self) -> Option<Self> {
        Some(Self { manner: Manner::Edge, ..self.greedy() })
    }

    fn exploring(&self, round: usize, episodes: usize, rng: &mut Stream) -> Self {
        let held = held(&self.settings, round, episodes, rng, |rng| {
            (0..self.choice_dim).map(|_| rng.random_range(-1..=1) as f32).collect()
        });
        Self { manner: Manner::Random, held, ..self.clone() }
    }

    fn choice(&self) -> Choice<'_> {
        Choice::Shift(self)
    }

    fn learn(&mut self, batch: &ReplayBatch, rng: &mut Stream) {
        let device = self.scales.device;
        let inputs = device.tensor(self.scales.inputs.apply(batch.inputs.view()).view());
        let next = device.tensor(self.scales.inputs.apply(batch.next_inputs.view()).view());
        let batch = Experience {
            seen: inputs.clone(),
            known: inputs,
            choices: device.tensor(batch.choices.view()),
            // The adversary earns what the policy loses.
            rewards: column(device, &(&batch.rewards * -self.scales.reward)),
            next_seen: next.clone(),
            next_known: next,
            goes_on: column(device, &batch.goes_on),
        };
        let rates = Rates {
            critics: self.settings.learning_rate,
            actor: self.settings.learning_rate,
            entropy: self.settings.entropy_learning_rate,
            target: self.settings.target_rate,
            discount: f64::from(self.scales.discount),
        };
        self.learner.learn(&batch, rates, rng);
    }

    fn is_finite(&self) -> bool {
        self.learner.is_finite()
    }
}

impl Interruptible for Sac {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        self.learner.exchange(with)
    }
}

impl ShiftAdversary for Sac {
    fn shift(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Array2<f32>> {
        let inputs =
            self.scales.inputs.apply(inputs(at.states, at.actions, at.time, at.horizon).view());
        let inputs = self.scales.device.tensor(inputs.view());
        let mut shift = match self.manner {
            Manner::Random => self.learner.sample(inputs, rng),
            Manner::Greedy => self.learner.mean(inputs),
            Manner::Edge => self.learner.mean(inputs).mapv(f32::signum),
        };
        for (mut row, &episode) in shift.rows_mut().into_iter().zip(at.episodes) {
            if let Some(Some(held)) = self.held.get(episode) {
                row.assign(held);
            }
        }
        Ok(shift)
    }
}
