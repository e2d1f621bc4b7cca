//! Values by networks.
//!
//! With n_h the weight of h rewards (h itself without a discount), a network q gives the mean reward of a step that is
//! left, in standard deviations σ of the logged ones from their mean m:
//!
//!   Q(s, a, h) = n_h (m + σ q(s, a, h / T))
//!
//! so that values of all horizons are of one size, and a network that knows nothing says what is usual.

use ndarray::{Array1, Array2, Axis, concatenate, s};
use rand::RngExt;

use super::fitting::{Fitting, Questions};
use crate::dataset::Standardizer;
use crate::error::{Error, Result};
use crate::nn::{Activation, Adam, Device, Layout, Mlps, array};
use crate::progress::{Event, report};

/// Questions that are asked at once.
const AT_ONCE: usize = 4_096;

/// How often values are carried over the whole horizon: from one number of steps that are left to the next, targets lag
/// behind by one over their rate.
const TIMES_OVER_HORIZON: f64 = 5.0;

/// Of the targets.
const LEAST_RATE: f64 = 0.02;

/// Steps between signs of life.
const BETWEEN_REPORTS: usize = 20;

pub(super) fn answers(
    fitting: &Fitting<'_>,
    next: &[Array2<f32>],
    questions: &Questions,
) -> Result<Array2<f64>> {
    let scales = Scales::of(fitting);
    let networks = fitted(fitting, &scales, next)?;
    let mut found = Array2::zeros((networks.members(), questions.len()));
    for first in (0..questions.len()).step_by(AT_ONCE) {
        let part = first..questions.len().min(first + AT_ONCE);
        let rows = s![part.clone(), ..];
        let left = &questions.left[part.clone()];
        let inputs = scales.inputs(
            questions.states.slice(rows).to_owned(),
            questions.actions.slice(rows).to_owned(),
            left,
        );
        let outputs = networks.predict(inputs.view());
        for (member, outputs) in outputs.outer_iter().enumerate() {
            for (row, &left) in left.iter().enumerate() {
                let of_step = scales.mean + scales.std * f64::from(outputs[[row, 0]]);
                found[[member, first + row]] = fitting.logs.weight_of(left) * of_step;
            }
        }
    }
    Ok(found)
}

/// The units of the networks.
struct Scales {
    states: Standardizer,
    actions: Standardizer,
    mean: f64,
    std: f64,
    /// What a step earns at least and at most, so that no value can be beyond.
    low: f64,
    high: f64,
    horizon: f32,
}

impl Scales {
    fn of(fitting: &Fitting<'_>) -> Self {
        let logged = &fitting.logs.kept.transitions;
        let standard = |columns: &Array2<f32>| {
            Standardizer::fit(columns.ncols(), std::iter::once(columns.clone()))
        };
        let [low, high] = fitting.logs.reward_range();
        let rewards = standard(&fitting.logs.rewards.clone().insert_axis(Axis(1)));
        Self {
            states: standard(&logged.states),
            actions: standard(&logged.actions),
            mean: f64::from(rewards.mean()[0]),
            std: f64::from(rewards.std()[0]),
            low,
            high,
            horizon: fitting.logs.task.horizon as f32,
        }
    }

    fn inputs(&self, states: Array2<f32>, actions: Array2<f32>, left: &[usize]) -> Array2<f32> {
        let share = |&left: &usize| 2.0 * left as f32 / self.horizon - 1.0;
        let left = Array1::from_iter(left.iter().map(share)).insert_axis(Axis(1));
        let (states, actions) =
            (self.states.apply(states.view()), self.actions.apply(actions.view()));
        concatenate(Axis(1), &[states.view(), actions.view(), left.view()]).expect("as many rows")
    }
}

fn fitted(fitting: &Fitting<'_>, scales: &Scales, next: &[Array2<f32>]) -> Result<Mlps> {
    let (logs, settings) = (fitting.logs, fitting.settings);
    let logged = &logs.kept.transitions;
    let (weights, goes_on) = (fitting.weights(), fitting.goes_on());
    let discount = f64::from(logs.task.discount);
    let rng = &mut fitting.seed.stream("fqe: networks");
    let width = logged.states.ncols() + logged.actions.ncols() + 1;
    let layout = Layout::new(width, &settings.hidden, 1).with(Activation::Silu);
    let mut networks = Mlps::random(layout, settings.members, Device::Cpu, rng);
    let (mut targets, mut adam) = (networks.clone(), Adam::default());
    let often = TIMES_OVER_HORIZON * logs.task.horizon as f64 / settings.steps as f64;
    let target_rate = settings.target_rate.unwrap_or(often.clamp(LEAST_RATE, 1.0));
    let rng = &mut fitting.seed.stream("fqe: mini-batches");
    for step in 0..settings.steps {
        let draw = |_| rng.random_range(0..logs.rewards.len());
        let rows: Vec<usize> = (0..settings.batch_size).map(draw).collect();
        let left: Vec<usize> =
            rows.iter().map(|_| rng.random_range(1..=logs.task.horizon)).collect();
        let actions = &next[rng.random_range(0..next.len())];
        let less: Vec<usize> = left.iter().map(|left| left - 1).collect();
        let after = targets.outputs(
            Device::Cpu.tensor(
                scales
                    .inputs(
                        logged.next_states.select(Axis(0), &rows),
                        actions.select(Axis(0), &rows),
                        &less,
                    )
                    .view(),
            ),
        );
        let mut wanted = array(after).index_axis_move(Axis(2), 0);
        for (index, &row) in rows.iter().enumerate() {
            let (all, rest) = (logs.weight_of(left[index]), logs.weight_of(less[index]));
            let following = discount * rest * f64::from(goes_on[row]);
            let reward = f64::from(logs.rewards[row]);
            for value in wanted.column_mut(index) {
                let of_step = scales.mean + scales.std * f64::from(*value);
                let mean = ((reward + following * of_step) / all).clamp(scales.low, scales.high);
                *value = ((mean - scales.mean) / scales.std) as f32;
            }
        }
        let as_outputs = |values: Array2<f32>| {
            Device::Cpu.tensor(values.view()).autodiff().unsqueeze_dim::<3>(2)
        };
        let (wanted, counted) = (as_outputs(wanted), as_outputs(weights.select(Axis(1), &rows)));
        let (states, actions) = logs.pairs(&rows);
        let inputs = Device::Cpu.tensor(scales.inputs(states, actions, &left).view());
        let gradient = networks.gradient(inputs, |values| {
            ((values - wanted).square() * counted).sum() / settings.batch_size as f64
        });
        let progress = step as f64 / settings.steps as f64;
        let rate = settings.learning_rate * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        let kept = 1.0 - rate * settings.weight_decay;
        networks.update_params(|params| adam.step(params * kept, gradient, rate));
        let values = networks.params().clone();
        let share = target_rate;
        targets.update_params(|params| params * (1.0 - share) + values * share);
        if step % BETWEEN_REPORTS == 0 {
            let of = settings.steps;
            let event = Event { stage: "fitted Q evaluation", step, of, metric: None };
            report(fitting.observer, &event)?;
        }
    }
    let total = array(networks.params().clone().sum())[0];
    if !total.is_finite() {
        let (step, metric, value) = (settings.steps, "value", f64::from(total));
        return Err(Error::Diverged { step, metric, value });
    }
    Ok(networks)
}
