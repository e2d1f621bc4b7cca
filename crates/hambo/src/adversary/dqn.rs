//! The discrete adversary: clipped double deep Q-learning over the members of an ensemble.
//!
//! Twin critics give every member a value; the adversary picks the member whose smaller value is
//! largest (`alg:hambo_da-1`; Fujimoto et al., 2018).

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;

use super::learner::{Learner, Scales, held, inputs};
use super::settings::AdversarySettings;
use crate::error::{BoxError, Result};
use crate::exchange::{Exchange, Interruptible};
use crate::experience::ReplayBatch;
use crate::hallucination::{Choice, MemberAdversary};
use crate::nn::{Adam, Layout, Mlps, array};
use crate::rng::Stream;
use crate::rollout::Moment;

/// An adversary that picks members.
#[derive(Debug, Clone)]
pub struct Dqn {
    critics: Mlps,
    targets: Mlps,
    adam: Adam,
    scales: Scales,
    settings: AdversarySettings,
    members: usize,
    /// Chance of a random pick.
    exploration: f64,
    /// Members that some episodes keep from start to end, while exploring.
    held: Vec<Option<usize>>,
}

impl Dqn {
    /// The smaller of the twin critics' values, `[rows, members]`, for raw inputs.
    fn values(&self, critics: &Mlps, inputs: &Array2<f32>) -> Array2<f32> {
        let values = critics.predict(self.scales.inputs.apply(inputs.view()).view());
        let (first, second) = (values.index_axis(Axis(0), 0), values.index_axis(Axis(0), 1));
        ndarray::Zip::from(&first).and(&second).map_collect(|a, b| a.min(*b))
    }
}

fn best(values: ndarray::ArrayView1<'_, f32>) -> usize {
    let better = |best: usize, next: usize| if values[next] > values[best] { next } else { best };
    (1..values.len()).fold(0, better)
}

impl Learner for Dqn {
    fn new(scales: Scales, members: usize, settings: &AdversarySettings, rng: &mut Stream) -> Self {
        let layout = Layout::new(scales.inputs.mean().len(), &settings.hidden, members);
        let critics = Mlps::random(layout, 2, scales.device, rng);
        Self {
            targets: critics.clone(),
            critics,
            adam: Adam::default(),
            scales,
            settings: settings.clone(),
            members,
            exploration: 0.0,
            held: Vec::new(),
        }
    }

    fn greedy(&self) -> Self {
        Self { exploration: 0.0, held: Vec::new(), ..self.clone() }
    }

    fn exploring(&self, round: usize, episodes: usize, rng: &mut Stream) -> Self {
        let exploration = self.settings.exploration.max(1.0 / (round + 1) as f64);
        let held =
            held(&self.settings, round, episodes, rng, |rng| rng.random_range(0..self.members));
        Self { exploration, held, ..self.clone() }
    }

    fn choice(&self) -> Choice<'_> {
        Choice::MemberPerStep(self)
    }

    /// Regresses both critics on
    ///
    ///   y = -r + γ min_i Q'_i(s', a', k*)      k* = argmax_k min_i Q'_i(s', a', k)
    ///
    /// for the member that was picked.
    fn learn(&mut self, batch: &ReplayBatch, _rng: &mut Stream) {
        let next_values = self.values(&self.targets, &batch.next_inputs);
        let next_best: Array1<f32> =
            next_values.rows().into_iter().map(|values| values[best(values)]).collect();
        let target = &batch.rewards * -self.scales.reward
            + next_best * &batch.goes_on * self.scales.discount;
        let rows = target.len();
        // One in the column of the member that was picked, and the target there.
        let picked = Array2::from_shape_fn((rows, self.members), |(row, member)| {
            f32::from(batch.choices[[row, 0]] as usize == member)
        });
        let targets = &picked * &target.insert_axis(Axis(1));
        let device = self.scales.device;
        let (picked, targets) = (device.tensor(picked.view()), device.tensor(targets.view()));
        let inputs = device.tensor(self.scales.inputs.apply(batch.inputs.view()).view());
        let gradient = self.critics.gradient(inputs, |values| {
            let values = values * picked.autodiff().unsqueeze_dim::<3>(0);
            (values - targets.autodiff().unsqueeze_dim::<3>(0)).square().sum() / rows as f64
        });
        let (rate, adam) = (self.settings.learning_rate, &mut self.adam);
        self.critics.update_params(|params| adam.step(params, gradient, rate));
        let (rate, critics) = (self.settings.target_rate, self.critics.params().clone());
        self.targets.update_params(|params| params * (1.0 - rate) + critics * rate);
    }

    fn is_finite(&self) -> bool {
        array(self.critics.params().clone().sum())[0].is_finite()
    }
}

impl Interruptible for Dqn {
    fn exchange(&mut self, with: &mut Exchange<'_>) -> Result<(), BoxError> {
        with.networks("critics", &mut self.critics)?;
        with.networks("target critics", &mut self.targets)?;
        with.adam("adam", &mut self.adam, &self.critics)
    }
}

impl MemberAdversary for Dqn {
    fn pick(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Vec<usize>> {
        let values =
            self.values(&self.critics, &inputs(at.states, at.actions, at.time, at.horizon));
        let mut picked: Vec<usize> = values.rows().into_iter().map(best).collect();
        for (member, &episode) in picked.iter_mut().zip(at.episodes) {
            if self.exploration > 0.0 && rng.random_bool(self.exploration) {
                *member = rng.random_range(0..self.members);
            }
            if let Some(Some(held)) = self.held.get(episode) {
                *member = *held;
            }
        }
        Ok(picked)
    }
}
