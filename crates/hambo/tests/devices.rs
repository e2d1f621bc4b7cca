//! A model on another device says what it says on the processor.

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    Activation, Device, EvaluationSettings, Model, ModelSettings, Seed, Silent, Streams, Variant,
    collect,
};

fn fitted(device: Device, activation: Activation, steps: usize) -> Model {
    let task = pendulum::task(50);
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let streams = &mut Streams::new(Seed(1), "logs");
    let data = collect(&Pendulum, &task, &behaviour, 40, streams).unwrap();
    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![32; 2],
        activation,
        max_steps: Some(steps),
        device,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    Model::fit(&data, &settings, Seed(2), &Silent).unwrap()
}

/// Elsewhere sums have another order, and exponentials another last digit. Adam divides by a root that may be as
/// small as that, so differences grow with every step; after a few of them they are still those of float32.
#[test]
fn a_fit_and_its_predictions_are_those_of_the_processor() {
    for activation in [Activation::Relu, Activation::Silu] {
        let [here, there] =
            [Device::Cpu, crate::common::device()].map(|at| fitted(at, activation, 20));
        assert_eq!(there.dynamics.device(), crate::common::device());
        let rows = &here.logged.transitions;
        let said = |model: &Model| {
            model.dynamics.predict(rows.states.view(), rows.actions.view()).unwrap()
        };
        let (here, there) = (said(&here), said(&there));
        for (here, there) in [
            (here.mean, there.mean),
            (here.epistemic_std, there.epistemic_std),
            (here.aleatoric_std, there.aleatoric_std),
        ] {
            let scale = here.iter().fold(0.0_f32, |scale, value| scale.max(value.abs()));
            let worst = (&here - &there).iter().fold(0.0_f32, |worst, d| worst.max(d.abs()));
            assert!(worst < 1e-3 * scale, "differs by {worst}, scale {scale}");
        }
    }
}

/// The same draws, and episodes of fifty steps in which rounding grows.
#[test]
fn an_evaluation_is_that_of_the_processor() {
    let task = pendulum::task(50);
    let settings = EvaluationSettings {
        variants: vec![Variant::Worlds],
        episodes: 200,
        ..EvaluationSettings::default()
    };
    let [here, there] = [Device::Cpu, crate::common::device()].map(|at| {
        let model = fitted(at, Activation::Silu, 20);
        model.evaluate(&SwingUp::GOOD, &task, &settings, Seed(3), &Silent).unwrap()
    });
    let (here, there) = (&here.variants[0], &there.variants[0]);
    let error = here.estimate.std_error;
    let apart = (here.estimate.mean - there.estimate.mean).abs();
    assert!(
        apart < 0.1 * error,
        "{} and {}, each ± {error}",
        here.estimate.mean,
        there.estimate.mean
    );
    let apart = (here.lower_bound - there.lower_bound).abs() / here.lower_bound.abs();
    assert!(apart < 0.01, "bounds {} and {}", here.lower_bound, there.lower_bound);
}
