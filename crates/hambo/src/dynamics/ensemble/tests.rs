//! What an ensemble promises.

use ndarray::{Array1, Array2};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::likelihood::MIN_STD;
use super::*;
use crate::dataset::{Dataset, Episode};
use crate::progress::Silent;

/// Short episodes of a noisy linear system with a reward.
fn data(episodes: usize) -> Dataset {
    let mut rng = Seed(7).stream("linear system");
    let mut normal = move || -> f32 { rng.sample(StandardNormal) };
    let episodes = (0..episodes).map(|_| {
        let mut states = Array2::zeros((21, 2));
        let actions = Array2::from_shape_simple_fn((20, 1), &mut normal);
        states.row_mut(0).assign(&Array1::from_shape_simple_fn(2, &mut normal));
        for t in 0..20 {
            let (x, v, a) = (states[[t, 0]], states[[t, 1]], actions[[t, 0]]);
            states[[t + 1, 0]] = x + 0.1 * v;
            states[[t + 1, 1]] = 0.9 * v + 0.2 * a - 0.1 * x + 0.05 * normal();
        }
        Episode {
            rewards: -states.slice(s![..20, 0]).mapv(f32::abs),
            next_states: states.slice(s![1.., ..]).to_owned(),
            states: states.slice(s![..20, ..]).to_owned(),
            actions,
            terminated: false,
            truncated: true,
        }
    });
    Dataset::from_episodes(episodes.collect()).unwrap()
}

fn quick() -> EnsembleSettings {
    EnsembleSettings {
        members: 3,
        hidden: vec![16, 16],
        batch_size: 64,
        max_steps: Some(300),
        evaluate_every: 20,
        learn_reward: false,
        ..Default::default()
    }
}

fn thorough() -> EnsembleSettings {
    EnsembleSettings { learning_rate: 5e-3, max_steps: Some(3000), ..quick() }
}

#[test]
fn the_parameters_kept_are_those_of_the_best_look() {
    let data = data(8);
    // A step this large and a set this small overfit within the run.
    let settings =
        EnsembleSettings { learning_rate: 0.02, patience: 5, bootstrap: false, ..quick() };
    let (model, report) = Ensemble::fit(&data.all(), &settings, Seed(1), &Silent).unwrap();
    let (best_step, best) =
        report.held_out.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap();
    assert_eq!(report.best_step, best_step);
    assert!(best_step < report.steps, "the run must go on past its best look");
    let bag = Bag::draw(&data.all(), &settings, Seed(1)).unwrap();
    let rows = bag.rows_to_look_at(&data.all(), settings.held_out, Seed(1));
    let found = model.log_likelihoods_unseen(&data, &rows, &bag);
    let mean = found.iter().map(|value| value.unwrap()).sum::<f64>() / found.len() as f64;
    assert_eq!(mean, best);
}

/// Log-likelihood plus tempered log-prior of one network, written out in float64.
fn log_posterior(
    theta: &[f64],
    sizes: &[usize],
    inputs: &Array2<f64>,
    targets: &Array2<f64>,
    prior_temperature: f64,
) -> f64 {
    let (mut x, mut start) = (inputs.clone(), 0);
    for (index, pair) in sizes.windows(2).enumerate() {
        let (bias_at, end) = (start + pair[0] * pair[1], start + (pair[0] + 1) * pair[1]);
        let weight = ArrayView2::from_shape((pair[0], pair[1]), &theta[start..bias_at]).unwrap();
        x = x.dot(&weight) + ndarray::ArrayView1::from(&theta[bias_at..end]);
        if index + 2 < sizes.len() {
            x.mapv_inplace(|value| value.max(0.0));
        }
        start = end;
    }
    let width = targets.ncols();
    let term = |(row, column): (usize, usize)| {
        let std = x[[row, width + column]].exp().ln_1p() + MIN_STD;
        -0.5 * ((targets[[row, column]] - x[[row, column]]) / std).powi(2) - std.ln()
    };
    let likelihood: f64 = ndarray::indices(targets.dim()).into_iter().map(term).sum();
    let norm: f64 = theta.iter().map(|t| t * t).sum();
    likelihood / targets.nrows() as f64 - 0.5 * prior_temperature * norm
}

#[test]
fn gradient_of_likelihood_plus_prior_agrees_with_finite_differences() {
    let data = data(4);
    let settings =
        EnsembleSettings { members: 1, hidden: vec![7, 5], random_functions: 0.0, ..quick() };
    let settings = EnsembleSettings { activation: Activation::Relu, ..settings };
    let model = Ensemble::untrained(&data.all(), &settings, Seed(2));
    let (inputs, targets) = model.standardized(&data.all().slice(0, 40));
    let gradient = model
        .networks
        .gradient(inputs.clone(), |o| log_likelihoods(o, targets.clone().autodiff()).sum() / 40.0);
    // A single particle feels no kernel: its direction is the score itself.
    let particle = array(model.networks.params().clone());
    let direction = svgd::direction(particle.as_slice().unwrap(), 1, 0.3, SteinKernel::default());
    let score = direction.of(&array(gradient), &particle);
    let theta: Vec<f64> =
        array(model.networks.params().clone()).iter().map(|&t| t.into()).collect();
    let targets = array(targets).index_axis_move(Axis(0), 0).mapv(f64::from);
    let inputs = array(inputs).mapv(f64::from);
    let scale = score.mapv(|s| s * s).mean().unwrap().sqrt();
    for index in 0..theta.len() {
        let at = |h: f64| {
            let mut moved = theta.clone();
            moved[index] += h;
            log_posterior(&moved, &[3, 7, 5, 4], &inputs, &targets, 0.3)
        };
        let expected = ((at(1e-6) - at(-1e-6)) / 2e-6) as f32;
        let error = (score[[0, index]] - expected).abs() / expected.abs().max(scale);
        assert!(error < 1e-3, "weight {index}: {} instead of {expected}", score[[0, index]]);
    }
}

#[test]
fn a_learned_reward_is_one_more_output() {
    let data = data(40);
    let settings = EnsembleSettings { learn_reward: true, ..thorough() };
    let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(4), &Silent).unwrap();
    let batch = data.all().slice(0, 400);
    let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
    assert_eq!((model.outputs(), prediction.mean.ncols()), (3, 3));
    let error = (&prediction.mean.index_axis(Axis(1), 2) - &batch.rewards).mapv(|e| e * e);
    assert!(error.mean().unwrap().sqrt() < 0.1 * batch.rewards.std(0.0));
}

#[test]
fn either_target_predicts_the_next_state() {
    let data = data(100);
    let batch = data.all().slice(0, 1000);
    for target in [Target::Difference, Target::NextState] {
        let settings = EnsembleSettings { target, ..thorough() };
        let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(8), &Silent).unwrap();
        let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
        let error = (&prediction.mean - &batch.next_states).std_axis(Axis(0), 0.0);
        // The noise of the velocity is 0.05, the position has none.
        assert!(error[0] < 0.02 && error[1] < 0.06, "{target:?}: {error}");
    }
}

#[test]
fn aleatoric_std_finds_the_noise_and_where_there_is_none() {
    let data = data(200);
    let (model, _) = Ensemble::fit(&data.all(), &thorough(), Seed(5), &Silent).unwrap();
    let batch = data.all().slice(0, 1000);
    let prediction = model.predict(batch.states.view(), batch.actions.view()).unwrap();
    let mean = prediction.aleatoric_std.mean_axis(Axis(0)).unwrap();
    assert!((mean[1] / 0.05 - 1.0).abs() < 0.1, "the noise has std 0.05, found {}", mean[1]);
    assert!(mean[0] < 0.005, "positions are noiseless, found {}", mean[0]);
}

#[test]
fn epistemic_std_grows_away_from_data() {
    let data = data(60);
    let (model, _) = Ensemble::fit(&data.all(), &thorough(), Seed(6), &Silent).unwrap();
    let batch = data.all().slice(0, 500);
    let mean_std = |scale: f32| {
        let (states, actions) = (&batch.states * scale, &batch.actions * scale);
        let prediction = model.predict(states.view(), actions.view()).unwrap();
        prediction.epistemic_std.mean_axis(Axis(0)).unwrap()
    };
    // Five standard deviations out; ReLU networks extrapolate linearly, and differently.
    let (inside, outside) = (mean_std(1.0), mean_std(5.0));
    assert!((&outside / &inside).iter().all(|&ratio| ratio > 5.0), "{inside} to {outside}");
}

#[test]
fn an_exploding_fit_is_reported_as_diverged() {
    let settings = EnsembleSettings { learning_rate: 1e30, ..quick() };
    let error = Ensemble::fit(&data(8).all(), &settings, Seed(0), &Silent).expect_err("diverged");
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
}

#[test]
fn the_observer_sees_every_step_and_can_stop_the_fit() {
    let stop_at = |event: &Event| {
        assert_eq!((event.stage, event.of), ("fit", 300));
        if event.step == 7 {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    };
    let error = Ensemble::fit(&data(8).all(), &quick(), Seed(0), &stop_at).expect_err("stopped");
    assert!(matches!(error, Error::Cancelled { stage: "fit", step: 7 }), "{error}");
}

#[test]
fn a_batch_of_another_width_is_refused() {
    let data = data(8);
    let settings = EnsembleSettings { max_steps: Some(1), ..quick() };
    let (model, _) = Ensemble::fit(&data.all(), &settings, Seed(0), &Silent).unwrap();
    let (states, actions) = (Array2::zeros((4, 3)), Array2::zeros((4, 1)));
    let error = model.predict(states.view(), actions.view()).expect_err("three columns");
    assert_eq!(error.to_string(), "states: got 3 columns, the model was fitted on 2");
}

#[test]
fn settings_out_of_range_are_named() {
    let cases = [
        (EnsembleSettings { members: 0, ..quick() }, "members"),
        (EnsembleSettings { hidden: vec![8, 0], ..quick() }, "hidden"),
        (EnsembleSettings { learning_rate: f64::NAN, ..quick() }, "learning_rate"),
        (EnsembleSettings { held_out: 1.0, ..quick() }, "held_out"),
        (EnsembleSettings { prior_temperature: Some(-1.0), ..quick() }, "prior_temperature"),
        (EnsembleSettings { kernel: SteinKernel::LengthScale(0.0), ..quick() }, "kernel"),
    ];
    for (settings, name) in cases {
        let error = settings.validate().expect_err(name);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn steps_grow_with_the_root_of_the_rows_within_limits() {
    let settings = EnsembleSettings::default();
    let steps = [10, 10_000, 40_000, 100_000_000].map(|rows| settings.steps(rows));
    assert_eq!(steps, [1_000, 2_500, 5_000, 25_000]);
    assert_eq!(quick().steps(100_000_000), 300);
}

#[test]
fn fewer_steps_or_smaller_networks_than_the_default_has_are_weaker() {
    let names = |settings: &EnsembleSettings, rows| -> Vec<String> {
        settings.weaker(rows).into_iter().map(|weaker| weaker.name).collect()
    };
    let given = |max_steps| EnsembleSettings { max_steps, ..EnsembleSettings::default() };
    let none: [&str; 0] = [];
    assert_eq!(names(&given(None), 100_000), none);
    assert_eq!(names(&given(Some(2_500)), 10_000), none);
    assert_eq!(names(&given(Some(2_000)), 100_000), ["max_steps"]);
    let wider = EnsembleSettings { hidden: vec![1024], ..given(None) };
    assert_eq!(names(&wider, 100_000), none);
    // A report says so, and one of an older version says nothing.
    let (_, report) = Ensemble::fit(&data(8).all(), &quick(), Seed(0), &Silent).unwrap();
    let said: Vec<&str> = report.weaker.iter().map(|weaker| &*weaker.name).collect();
    assert_eq!(said, ["max_steps", "hidden"]);
    let mut old = serde_json::to_value(&report).unwrap();
    old.as_object_mut().unwrap().remove("weaker");
    assert_eq!(serde_json::from_value::<EnsembleReport>(old).unwrap().weaker, []);
}

#[test]
fn the_prior_counts_for_ten_rows() {
    let settings = EnsembleSettings::default();
    assert_eq!([100, 10_000, 1_000_000].map(|rows| settings.prior(rows)), [1e-3, 1e-3, 1e-5]);
    let given = EnsembleSettings { prior_temperature: Some(0.5), ..settings };
    assert_eq!(given.prior(1_000_000), 0.5);
}

#[test]
fn what_a_fit_costs_is_known_beforehand() {
    let data = data(8);
    let cost_of = |width: usize| {
        let settings = EnsembleSettings { hidden: vec![width; 4], ..quick() };
        Ensemble::cost(&data.all(), &settings).unwrap()
    };
    let (small, large) = (cost_of(8), cost_of(256));
    assert_eq!((small.steps, large.steps), (300, 300));
    // A thousand times the work, but small networks are mostly overhead.
    assert!(large.time > 3 * small.time, "{:?}, {:?}", large.time, small.time);
}

#[test]
fn a_device_that_is_not_built_in_is_refused_by_name() {
    let all = [(Device::Wgpu, cfg!(feature = "wgpu")), (Device::Cuda, cfg!(feature = "cuda"))];
    for (device, _) in all.into_iter().filter(|(_, is_built_in)| !is_built_in) {
        let settings = EnsembleSettings { device, ..Default::default() };
        let message = settings.validate().unwrap_err().to_string();
        assert!(message.contains("build it with `--features"), "{message}");
    }
}
