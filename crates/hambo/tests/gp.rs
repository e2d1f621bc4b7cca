//! Gaussian processes against scikit-learn, second formulas, and the lemmas that they rest on.

use hambo::AdversarySettings;
use hambo::dynamics::gp::{
    GaussianProcess, GpScales, GpSettings, Hyperparameters, Regression, most_likely,
};
use hambo::dynamics::kernel::{Kernel, KernelKind};
use hambo::dynamics::theory;
use hambo::task::pendulum::{self, Pendulum};
use hambo::task::point_env::{self, PointEnv, Proportional};
use hambo::{
    Dataset, Dynamics, Evaluation, EvaluationSettings, Model, ModelSettings, Seed, Silent, Streams,
    Variant, Warning, collect,
};
use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::Deserialize;

const KINDS: [KernelKind; 5] = [
    KernelKind::Linear,
    KernelKind::Rbf,
    KernelKind::Matern12,
    KernelKind::Matern32,
    KernelKind::Matern52,
];

/// Written by `sklearn/gp.py`.
#[derive(Deserialize)]
struct Reference {
    variance: f64,
    noise_variance: f64,
    length_scales: Vec<f64>,
    inputs: Vec<[f64; 3]>,
    targets: Vec<f64>,
    points: Vec<[f64; 3]>,
    cases: std::collections::BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    mean: Vec<f64>,
    std: Vec<f64>,
    log_likelihood: f64,
    gradient: Option<Vec<f64>>,
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{what}: {found}, not {expected}");
    }
}

#[test]
fn posterior_likelihood_and_gradient_agree_with_scikit_learn() {
    let reference: Reference = serde_json::from_str(include_str!("sklearn/gp.json")).unwrap();
    let (x, points) = (Array2::from(reference.inputs), Array2::from(reference.points));
    let y = Array1::from(reference.targets);
    for kind in KINDS {
        let name = serde_json::to_value(kind).unwrap();
        let name = name.as_str().unwrap();
        let case = &reference.cases[name];
        let kernel = Kernel {
            kind,
            variance: reference.variance,
            length_scales: reference.length_scales.clone(),
        };
        let fitted = Regression::fit(kernel, reference.noise_variance, x.view(), y.view()).unwrap();
        assert_eq!(fitted.jitter(), 0.0);
        let (mean, std) = fitted.predict(points.view());
        assert_close(&mean, &case.mean, &format!("{name}: mean"));
        assert_close(&std, &case.std, &format!("{name}: std"));
        assert_close(&[fitted.log_likelihood()], &[case.log_likelihood], name);
        if let Some(gradient) = &case.gradient {
            assert_close(&fitted.log_likelihood_gradient(), gradient, &format!("{name}: gradient"));
        }
    }
}

/// Points uniform in a box around zero.
fn uniform(rows: usize, columns: usize, reach: f64, seed: u64) -> Array2<f64> {
    let mut rng = Seed(seed).stream("uniform");
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(-reach..reach))
}

fn normal(length: usize, seed: u64) -> Array1<f64> {
    let mut rng = Seed(seed).stream("normal");
    Array1::from_shape_simple_fn(length, || rng.sample(StandardNormal))
}

/// A linear kernel is linear regression with prior weights N(0, variance / ℓ²): two weights, so that the
/// posterior can be written down.
#[test]
fn the_linear_kernel_is_bayesian_linear_regression() {
    let (x, noise) = (uniform(30, 2, 2.0, 1), 0.2);
    let y = x.column(0).to_owned() * 0.7 - &x.column(1) * 0.4 + normal(30, 2) * noise;
    let kernel = Kernel { kind: KernelKind::Linear, variance: 1.5, length_scales: vec![0.5, 2.0] };
    let fitted = Regression::fit(kernel, noise * noise, x.view(), y.view()).unwrap();

    let gram = x.t().dot(&x) / (noise * noise);
    let (a, b, d) = (gram[[0, 0]] + 0.25 / 1.5, gram[[0, 1]], gram[[1, 1]] + 4.0 / 1.5);
    let covariance = ndarray::array![[d, -b], [-b, a]] / (a * d - b * b);
    let weights = covariance.dot(&x.t().dot(&y)) / (noise * noise);

    let points = uniform(20, 2, 3.0, 3);
    let (mean, std) = fitted.predict(points.view());
    let expected: Vec<f64> =
        points.rows().into_iter().map(|p| p.dot(&covariance.dot(&p)).sqrt()).collect();
    assert_close(&mean, points.dot(&weights).as_slice().unwrap(), "mean");
    // A difference of nearly equal numbers: what is left of the prior variance.
    for (found, expected) in std.iter().zip(&expected) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
    }
}

#[test]
fn the_likelihoods_gradient_agrees_with_finite_differences() {
    let (x, y) = (uniform(25, 2, 2.0, 4), normal(25, 5));
    let logs = [0.3, -0.2, 0.4, -2.0];
    for kind in KINDS {
        let fit = |logs: &[f64]| {
            let length_scales = logs[1..3].iter().map(|log| log.exp()).collect();
            let kernel = Kernel { kind, variance: logs[0].exp(), length_scales };
            Regression::fit(kernel, logs[3].exp(), x.view(), y.view()).unwrap()
        };
        let gradient = fit(&logs).log_likelihood_gradient();
        for index in 0..4 {
            let moved = |by: f64| {
                let mut logs = logs;
                logs[index] += by;
                fit(&logs).log_likelihood()
            };
            let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            // Likelihoods near 40 with 1e-16 relative rounding, over 2e-5: good to about 1e-9.
            assert!((gradient[index] - numeric).abs() < 1e-6, "{kind:?}, parameter {index}");
        }
    }
}

#[test]
fn information_gain_and_norm_agree_with_eigenvalues_of_two_points() {
    // Two points with k = 1 on the diagonal and c beside it: eigenvalues 1 + c and 1 - c.
    let x = ndarray::array![[0.0], [1.0]];
    let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 1.0, 1);
    let (c, noise) = ((-0.5_f64).exp(), 0.1);
    let fitted =
        Regression::fit(kernel, noise, x.view(), ndarray::array![1.0, 1.0].view()).unwrap();
    let gain = 0.5 * ((1.0 + (1.0 + c) / noise).ln() + (1.0 + (1.0 - c) / noise).ln());
    assert!((fitted.information_gain() - gain).abs() < 1e-12);
    // y is the first eigenvector: α = y / (1 + c + noise), ‖μ‖² = αᵀ K α.
    let norm = (2.0 * (1.0 + c)).sqrt() / (1.0 + c + noise);
    assert!((fitted.mean_norm() - norm).abs() < 1e-12);
}

#[test]
fn maximum_likelihood_finds_the_scales_that_made_the_data() {
    let (rows, scales, noise) = (300, [0.7, 2.0], 0.1);
    let x = uniform(rows, 2, 3.0, 6);
    let kernel = Kernel { kind: KernelKind::Rbf, variance: 2.0, length_scales: scales.to_vec() };
    let y = sample(&kernel, &x, 7) + normal(rows, 8) * noise;
    let mut rng = Seed(9).stream("starts");
    let found = most_likely(KernelKind::Rbf, 3, x.view(), y.view(), &mut rng).unwrap();
    for (found, truth) in found.kernel.length_scales.iter().zip(scales) {
        // 300 points leave an uncertainty of a few percent.
        assert!((found / truth - 1.0).abs() < 0.2, "{found}, not {truth}");
    }
    assert!((found.noise_variance.sqrt() / noise - 1.0).abs() < 0.2, "{}", found.noise_variance);
    let planted = Regression::fit(kernel, noise * noise, x.view(), y.view()).unwrap();
    let best = Regression::fit(found.kernel, found.noise_variance, x.view(), y.view()).unwrap();
    assert!(best.log_likelihood() >= planted.log_likelihood());
}

/// A sample of the process itself at `points`: L z with a Cholesky factor written out.
fn sample(kernel: &Kernel, points: &Array2<f64>, seed: u64) -> Array1<f64> {
    let (rows, u) = (points.nrows(), kernel.scale(points.view()));
    let mut factor = Array2::<f64>::zeros((rows, rows));
    for i in 0..rows {
        for j in 0..=i {
            let known = factor.row(i).dot(&factor.row(j));
            let left = kernel.of_scaled(u.row(i), u.row(j)) - known;
            factor[[i, j]] = if i == j { (left + 1e-9).sqrt() } else { left / factor[[j, j]] };
        }
    }
    factor.dot(&normal(rows, seed))
}

/// A function of the kernel's space at `points`: a sum of kernels at twenty centres.
fn draw(kernel: &Kernel, points: &Array2<f64>, seed: u64) -> Array1<f64> {
    let (centres, weights) = (uniform(20, points.ncols(), 3.0, seed), normal(20, seed + 1000));
    let (u, v) = (kernel.scale(points.view()), kernel.scale(centres.view()));
    let value = |u: ndarray::ArrayView1<'_, f64>| -> f64 {
        v.rows().into_iter().zip(&weights).map(|(v, w)| w * kernel.of_scaled(u, v)).sum()
    };
    u.rows().into_iter().map(value).collect()
}

/// ‖f‖_k² = Σ w_i w_j k(c_i, c_j) of the function that [`draw`] draws.
fn norm_of_drawn(kernel: &Kernel, columns: usize, seed: u64) -> f64 {
    let centres = uniform(20, columns, 3.0, seed);
    let weights = normal(20, seed + 1000);
    weights.dot(&draw(kernel, &centres, seed)).sqrt()
}

/// `lem:gp_calibrated`: functions of known norm, two outputs each, 60 noisy values; on a fine grid the
/// truth must lie within β σ everywhere for at least a share 1 - δ of them. They are scaled to norm 1,
/// where noise matters most.
#[test]
fn the_truth_lies_in_the_confidence_region() {
    const FUNCTIONS: u64 = 200;
    let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 0.8, 2);
    let side = 41;
    let grid = Array2::from_shape_fn((side * side, 2), |(i, j)| {
        let step = [i % side, i / side][j];
        -3.0 + 6.0 * step as f64 / (side - 1) as f64
    });
    for (noise, delta) in [(0.05, 0.05), (0.05, 0.2), (0.5, 0.05), (0.5, 0.2)] {
        let (mut inside, mut inside_as_printed) = (0, 0);
        for function in 0..FUNCTIONS {
            let x = uniform(60, 2, 3.0, 10_000 + function);
            let (mut worst, mut limit, mut printed) = (0.0_f64, 0.0, 0.0);
            for output in 0..2 {
                let seed = 2 * function + output;
                let scale = norm_of_drawn(&kernel, 2, seed);
                let truth = draw(&kernel, &grid, seed) / scale;
                let y = draw(&kernel, &x, seed) / scale + normal(60, 50_000 + seed) * noise;
                let fitted =
                    Regression::fit(kernel.clone(), noise * noise, x.view(), y.view()).unwrap();
                let (mean, std) = fitted.predict(grid.view());
                for ((mean, std), truth) in mean.iter().zip(&std).zip(&truth) {
                    worst = worst.max((mean - truth).abs() / std);
                }
                let gain = fitted.information_gain();
                limit = theory::beta(1.0, 1.0, gain, 2, delta);
                printed = theory::beta(1.0, noise, gain, 2, delta);
            }
            inside += usize::from(worst <= limit);
            inside_as_printed += usize::from(worst <= printed);
        }
        println!(
            "noise {noise}, delta {delta}: {inside} of {FUNCTIONS} inside; \
             with the paper's beta {inside_as_printed}"
        );
        assert!(inside as f64 >= (1.0 - delta) * FUNCTIONS as f64);
    }
}

/// `lemma:lip_f_sigma_gp` for one output; 10^5 pairs per kernel.
#[test]
fn the_posterior_std_is_lipschitz_with_the_kernels_constant() {
    let x = uniform(60, 2, 2.0, 11);
    let y = normal(60, 12);
    for kind in KINDS {
        let kernel = Kernel { kind, variance: 1.4, length_scales: vec![0.7, 1.3] };
        let Some(constant) = kernel.lipschitz() else { continue };
        let fitted = Regression::fit(kernel, 0.01, x.view(), y.view()).unwrap();
        let first = uniform(100_000, 2, 2.5, 13);
        // Partners at distances from 0.0001 to 1.
        let mut rng = Seed(14).stream("distances");
        let second = Array2::from_shape_fn(first.raw_dim(), |at| {
            first[at] + 10.0_f64.powf(rng.random_range(-4.0..0.0)) * rng.random_range(-1.0..1.0)
        });
        let (stds, others) = (fitted.predict(first.view()).1, fitted.predict(second.view()).1);
        let distances = (&first - &second).mapv(|d| d * d).sum_axis(Axis(1)).mapv(f64::sqrt);
        let slopes = stds.iter().zip(&others).zip(&distances).map(|((a, b), d)| (a - b).abs() / d);
        let steepest = slopes.fold(0.0, f64::max);
        println!("{kind:?}: steepest {steepest:.3}, constant {constant:.3}");
        assert!(steepest <= constant, "{kind:?}: {steepest} > {constant}");
    }
}

#[test]
fn ill_conditioned_kernels_end_in_a_reported_jitter() {
    let mut x = uniform(40, 2, 1.0, 15);
    for row in 20..40 {
        let copy = x.row(row - 20).to_owned();
        x.row_mut(row).assign(&copy);
    }
    for kind in KINDS {
        for y in [normal(40, 16), Array1::zeros(40), Array1::from_elem(40, 3.0)] {
            let kernel = Kernel::isotropic(kind, 1.0, 50.0, 2);
            let fitted = Regression::fit(kernel, 0.0, x.view(), y.view()).unwrap();
            assert!(fitted.jitter() > 0.0, "{kind:?}: duplicates cannot be factorised exactly");
            let (mean, std) = fitted.predict(uniform(50, 2, 3.0, 17).view());
            assert!(mean.iter().chain(&std).all(|value| value.is_finite()), "{kind:?}");
            let gradient = fitted.log_likelihood_gradient();
            assert!(gradient.iter().all(|value| value.is_finite()), "{kind:?}");
        }
    }
}

#[test]
fn what_cannot_be_factorised_is_an_error() {
    let mut x = uniform(10, 2, 1.0, 18);
    x[[3, 1]] = f64::NAN;
    let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 1.0, 2);
    let error = Regression::fit(kernel, 0.1, x.view(), normal(10, 19).view()).unwrap_err();
    assert!(error.to_string().contains("10 rows could not be factorised"), "{error}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (x, y) = (uniform(700, 3, 2.0, 20), normal(700, 21));
    let points = uniform(500, 3, 2.0, 22);
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 1.0, 3);
            let fitted = Regression::fit(kernel, 0.01, x.view(), y.view()).unwrap();
            (fitted.predict(points.view()), fitted.log_likelihood_gradient())
        })
    };
    assert_eq!(with_threads(1), with_threads(2));
    assert_eq!(with_threads(1), with_threads(3));
}

/// Transitions of the pendulum at uniform states and actions, one per episode.
fn uniform_pendulum(rows: usize, seed: u64) -> Dataset {
    let (task, policy) = pendulum::everywhere();
    let streams = &mut Streams::new(Seed(seed), "logs");
    collect(&Pendulum, &task, &policy, rows, streams).unwrap()
}

#[test]
fn a_policy_can_be_evaluated_on_gaussian_processes() {
    let (everywhere, behaviour) = point_env::everywhere();
    let streams = &mut Streams::new(Seed(0), "logs");
    let data = collect(&PointEnv, &everywhere, &behaviour, 40, streams).unwrap();
    let gp = Some(GpSettings { learn_reward: false, ..Default::default() });
    let settings = ModelSettings { gp, ..Default::default() };
    let model = Model::fit(&data, &settings, Seed(0), &Silent).unwrap();
    let task = point_env::task(15);
    let adversary = AdversarySettings {
        hidden: vec![32; 2],
        batch_size: 64,
        episodes: 50,
        gradient_steps: 200,
        max_rounds: 4,
        ..Default::default()
    };
    let settings = EvaluationSettings { episodes: 100, adversary, ..Default::default() };
    let evaluation =
        model.evaluate(&Proportional::default(), &task, &settings, Seed(1), &Silent).unwrap();
    let names: Vec<Variant> = evaluation.variants.iter().map(|result| result.variant).collect();
    assert_eq!(names, [Variant::Ca, Variant::Ds]);
    // The adversary is small and hardly trained, but on common random numbers it must do some harm.
    let rounds = &evaluation.variants[0].rounds;
    assert!(rounds.iter().any(|round| round.effect.mean < -2.0 * round.effect.std_error));
    let guarantee = evaluation.guarantee.as_ref().unwrap();
    assert_eq!(guarantee.confidence.radius.len(), 2);
    assert!(guarantee.log10_worst_gap.is_some_and(f64::is_finite));
    assert!(evaluation.delta_covers.starts_with("the model and the Monte Carlo error"));
    let warnings = &evaluation.warnings;
    assert!(warnings.iter().any(|w| matches!(w, Warning::EstimatedNorm { .. })));
    assert!(warnings.contains(&Warning::LearnedKernel));
    let text = serde_json::to_string(&evaluation).unwrap();
    assert_eq!(serde_json::from_str::<Evaluation>(&text).unwrap(), evaluation);
}

#[test]
fn a_kernel_without_a_lipschitz_constant_has_no_gap() {
    let data = uniform_pendulum(40, 2);
    let settings = GpSettings { kernel: KernelKind::Matern12, starts: 1, ..Default::default() };
    let (model, _) = GaussianProcess::fit(&data.all(), &settings, Seed(4), &Silent).unwrap();
    let confidence = model.confidence(0.05).unwrap();
    assert_eq!((confidence.lipschitz_dynamics, confidence.lipschitz_std), (None, None));
    assert!(confidence.radius.iter().all(|radius| radius.is_finite()));
}

#[test]
fn saved_processes_predict_the_same_bits() {
    let data = uniform_pendulum(80, 3);
    let (model, _) =
        GaussianProcess::fit(&data.all(), &GpSettings::default(), Seed(4), &Silent).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let loaded: GaussianProcess = serde_json::from_str(&text).unwrap();
    let predict = |model: &GaussianProcess| model.predict(data.states(), data.actions()).unwrap();
    assert_eq!(predict(&model), predict(&loaded));
}

#[test]
fn too_many_rows_name_the_alternative() {
    let data = uniform_pendulum(6000, 5);
    let error = GaussianProcess::fit(&data.all(), &GpSettings::default(), Seed(6), &Silent)
        .expect_err("too many rows");
    assert!(error.to_string().contains("fit an ensemble"), "{error}");
}

#[test]
fn a_learned_reward_is_one_more_process() {
    let data = uniform_pendulum(300, 7);
    let settings = GpSettings { learn_reward: true, ..Default::default() };
    let (model, report) = GaussianProcess::fit(&data.all(), &settings, Seed(8), &Silent).unwrap();
    assert_eq!((model.outputs(), report.hyperparameters.len()), (4, 4));
    let fresh = uniform_pendulum(200, 9);
    let prediction = model.predict(fresh.states(), fresh.actions()).unwrap();
    let error = (&prediction.mean.column(3) - &fresh.rewards()).mapv(|e| e * e).mean().unwrap();
    assert!(error.sqrt() < 0.05 * fresh.rewards().std(0.0), "{}", error.sqrt());
}

#[test]
fn constant_targets_and_duplicate_rows_are_no_problem() {
    let mut episodes = uniform_pendulum(30, 10).to_episodes();
    for episode in &mut episodes {
        // The first state never changes.
        let states = episode.states.clone();
        episode.next_states.column_mut(0).assign(&states.column(0));
    }
    let doubled: Vec<_> = episodes.iter().chain(&episodes).cloned().collect();
    let data = Dataset::from_episodes(doubled).unwrap();
    let kernel = Kernel::isotropic(KernelKind::Rbf, 1.0, 2.0, 4);
    let fixed = Some(Hyperparameters { kernel, noise_variance: 0.0 });
    for settings in [GpSettings { fixed, ..Default::default() }, GpSettings::default()] {
        let (model, report) =
            GaussianProcess::fit(&data.all(), &settings, Seed(11), &Silent).unwrap();
        let prediction = model.predict(data.states(), data.actions()).unwrap();
        let all = [&prediction.mean, &prediction.epistemic_std, &prediction.aleatoric_std];
        assert!(all.iter().all(|values| values.iter().all(|value| value.is_finite())));
        let jittered = report.jitters.iter().all(|&jitter| jitter > 0.0);
        assert_eq!(jittered, settings.fixed.is_some(), "{:?}", report.jitters);
    }
}

/// A kernel that was chosen before the data was seen must not change with the data.
#[test]
fn a_fixed_kernel_in_given_units_is_the_same_whatever_the_data() {
    let (task, policy) = pendulum::everywhere();
    let kernel = Kernel { kind: KernelKind::Rbf, variance: 1.0, length_scales: vec![1.0; 4] };
    let fixed = Some(Hyperparameters { kernel, noise_variance: 1e-4 });
    let scales =
        Some(GpScales { inputs: vec![1.0, 1.0, 8.0, 2.0], outputs: vec![0.3, 0.3, 1.0, 10.0] });
    let fitted = |scales: Option<GpScales>, seed: u64| {
        let logs = collect(&Pendulum, &task, &policy, 40, &mut Streams::new(Seed(seed), "logs"));
        let settings = GpSettings { fixed: fixed.clone(), scales, ..Default::default() };
        GaussianProcess::fit(&logs.unwrap().all(), &settings, Seed(0), &Silent)
    };
    let confidence =
        |scales: Option<GpScales>, seed| fitted(scales, seed).unwrap().0.confidence(0.05).unwrap();
    assert!(confidence(None, 0).hyperparameters_are_learned, "the data has chosen the units");
    assert!(!confidence(scales.clone(), 0).hyperparameters_are_learned);
    // The steepness that the kernel allows is in the units of the data.
    let steepness = |scales: Option<GpScales>, seed| confidence(scales, seed).lipschitz_std;
    assert_eq!(steepness(scales.clone(), 0), steepness(scales.clone(), 1));
    assert_ne!(steepness(None, 0), steepness(None, 1));
    let few = scales.map(|scales| GpScales { outputs: vec![1.0], ..scales });
    let message = fitted(few, 0).err().unwrap().to_string();
    assert!(message.contains("scales of the outputs"), "{message}");
}
