//! Trained adversaries against optimal ones that are known exactly.

use std::sync::Arc;

use crate::common::{LinearModel, constant_std, exact_return, policy, reward};
use hambo::AdversarySettings;
use hambo::Transitions;
use hambo::internals::{Choice, Game, Hallucination, Noise, ShiftAdversary, train_dqn, train_sac};
use hambo::rollout::{Limits, Moment, run};
use hambo::task::InitialStates;
use hambo::{BoxError, Policy, Result, Reward, Seed, Silent, Stream, Streams, Task};
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

fn start() -> Array1<f32> {
    array![1.0, -2.0]
}

fn task(horizon: usize) -> Task {
    Task::new(InitialStates::Fixed(start().insert_axis(Axis(0))), reward(), horizon)
}

/// Everything given, without bounds or noise.
fn game<'a>(
    dynamics: &'a LinearModel,
    radius: &'a Array1<f32>,
    task: &'a Task,
    policy: &'a dyn Policy,
) -> Game<'a> {
    Game {
        dynamics,
        radius,
        noise: Noise::None,
        task,
        limits: Limits::default(),
        policy,
        exogenous: None,
        history: None,
    }
}

fn quick() -> AdversarySettings {
    AdversarySettings {
        hidden: vec![64; 2],
        batch_size: 256,
        episodes: 200,
        gradient_steps: 500,
        max_rounds: 20,
        ..Default::default()
    }
}

/// The largest possible decrease of the mean return, T steps, when every step may be shifted by at
/// most `std`: a shift at time t moves the later rewards by `std · Σ_i M^i w`, so the best shift
/// takes the sign of each component.
fn optimal_decrease(model: &LinearModel, std: [f32; 2], horizon: usize) -> f64 {
    let gain = policy().0.insert_axis(Axis(1));
    let closed_loop = (&model.matrices[0] + &gain.dot(&model.action_matrix)).mapv(f64::from);
    let weights = array![1.0, -0.5];
    let (mut sum, mut power) = (Array1::<f64>::zeros(2), weights);
    let mut decrease = 0.0;
    for _later_steps in 1..horizon {
        sum += &power;
        power = closed_loop.dot(&power);
        decrease += f64::from(std[0]) * sum[0].abs() + f64::from(std[1]) * sum[1].abs();
    }
    decrease
}

#[test]
fn the_continuous_adversary_attains_the_optimal_decrease_on_a_linear_system() {
    let std = [0.2, 0.1];
    let model = constant_std(std, 0.1);
    let task = task(20);
    let radius = array![1.0, 1.0];
    let policy = policy();
    let game = Game { noise: Noise::Gaussian, ..game(&model, &radius, &task, &policy) };
    let neutral =
        exact_return(&model, &model.matrices[0], &array![0.0, 0.0], &array![1.0, -2.0], 20);
    let optimal = optimal_decrease(&model, std, 20);
    for seed in 0..5 {
        let trained = train_sac(&game, &quick(), Seed(seed), &Silent).unwrap();
        let mut streams = Streams::new(Seed(seed), "final");
        let choice = Choice::Shift(&trained.adversary);
        let estimate = game.play(choice, 2000, &mut streams, |_| Ok(())).unwrap().estimate();
        let share = (neutral - estimate.mean) / optimal;
        let error = 3.0 * estimate.std_error / optimal;
        println!("seed {seed}: {share:.3} of {optimal:.2}, {} rounds", trained.rounds.len());
        assert!(share > 0.95, "seed {seed}: {share} of the optimal decrease");
        assert!(share < 1.0 + error, "seed {seed}: {share} is more than possible");
        assert!(trained.converged, "seed {seed} did not converge");
    }
}

/// A small cost of moving right, and a cliff on the left.
struct Cliff;

impl Reward for Cliff {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        let cost = |x: &f32| if *x < -2.5 { 100.0 } else { 0.1 * x.max(0.0) };
        Ok(states.column(0).mapv(|x| -cost(&x)))
    }
}

/// Thirty steps of at most 0.1 lead to the cliff only if nearly all go there, and every hint leads
/// away.
#[test]
fn adversaries_find_a_distant_cliff() {
    let model = LinearModel {
        matrices: vec![array![[1.0, 0.0], [0.0, 1.0]]; 2],
        drifts: vec![array![0.1, 0.1], array![-0.1, -0.1]],
        ..LinearModel::three_members(0.0)
    };
    let start = InitialStates::Fixed(array![[0.0, 0.0]]);
    let task = Task::new(start, Some(Arc::new(Cliff)), 30);
    let radius = array![1.0, 1.0];
    let policy = crate::common::LinearPolicy(array![0.0, 0.0]);
    let game = game(&model, &radius, &task, &policy);
    for seed in 0..5 {
        let worst = |choice: Choice<'_>| {
            let streams = &mut Streams::new(Seed(seed), "final");
            game.play(choice, 1, streams, |_| Ok(())).unwrap().returns[0]
        };
        let shifts = train_sac(&game, &quick(), Seed(seed), &Silent).unwrap();
        let members = train_dqn(&game, &quick(), Seed(seed), &Silent).unwrap();
        let (shifts, members) = (worst(shifts.choice()), worst(members.choice()));
        println!("seed {seed}: CA {shifts}, DA1 {members}");
        // Four steps are spent beyond the cliff at most.
        assert!(shifts <= -300.0, "seed {seed}: CA {shifts}");
        assert!(members <= -300.0, "seed {seed}: DA1 {members}");
    }
}

/// `r = -‖s‖²`: being pushed outwards hurts.
struct Distance;

impl Reward for Distance {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let Transitions { states, .. } = *transitions;
        Ok(-states.map_axis(Axis(1), |state| state.dot(&state)))
    }
}

const SHORT: u32 = 6;

/// Three noiseless members that push in three directions; which of them hurts most depends on the
/// state.
fn three_ways() -> LinearModel {
    let matrix = array![[0.9, 0.0], [0.0, 0.9]];
    LinearModel {
        matrices: vec![matrix.clone(), matrix.clone(), matrix],
        drifts: vec![array![0.3, 0.0], array![-0.15, 0.26], array![-0.15, -0.26]],
        ..LinearModel::three_members(0.0)
    }
}

/// Eight starts around the origin.
fn ring() -> Array2<f32> {
    Array2::from_shape_fn((8, 2), |(i, j)| {
        let angle = (i as f32 + 0.3) * std::f32::consts::TAU / 8.0;
        if j == 0 { angle.cos() } else { angle.sin() }
    })
}

/// The return of [`three_ways`] from `start` along a sequence of members.
fn return_along(model: &LinearModel, start: ArrayView1<'_, f32>, members: &[usize]) -> f64 {
    let gain = policy().0.insert_axis(Axis(1));
    let mut state = start.to_owned().insert_axis(Axis(0));
    let mut total = 0.0;
    for &member in members {
        total -= f64::from(state.iter().map(|x| x * x).sum::<f32>());
        let push = state.dot(&gain).dot(&model.action_matrix) + &model.drifts[member];
        state = state.dot(&model.matrices[member]) + push;
    }
    total
}

/// All sequences of three members.
fn sequences() -> impl Iterator<Item = Vec<usize>> {
    (0..3_u32.pow(SHORT))
        .map(|index| (0..SHORT).map(|step| (index / 3_u32.pow(step) % 3) as usize).collect())
}

#[test]
fn the_discrete_adversary_attains_the_exhaustive_minimum_over_all_sequences() {
    let model = three_ways();
    let reward: Arc<dyn Reward> = Arc::new(Distance);
    let task = Task::new(InitialStates::Fixed(ring()), Some(reward), SHORT as usize);
    let radius = array![1.0, 1.0];
    let policy = policy();
    let game = game(&model, &radius, &task, &policy);
    // A member drawn at random in every step makes all sequences equally likely.
    let (mut neutral, mut minimum) = (0.0, 0.0);
    for start in ring().rows() {
        let returns: Vec<f64> =
            sequences().map(|members| return_along(&model, start, &members)).collect();
        neutral += returns.iter().sum::<f64>() / returns.len() as f64 / 8.0;
        minimum += returns.iter().copied().fold(f64::INFINITY, f64::min) / 8.0;
    }
    for seed in 0..5 {
        let trained = train_dqn(&game, &quick(), Seed(seed), &Silent).unwrap();
        let mut transition = Hallucination::new(
            &model,
            Choice::MemberPerStep(&trained.adversary),
            radius.clone(),
            Noise::None,
        )
        .unwrap();
        let mut streams = Streams::new(Seed(seed), "final");
        let returns =
            run(&mut transition, &task, Limits::default(), &policy, ring(), &mut streams, |_| {
                Ok(())
            })
            .unwrap();
        let share = (neutral - returns.mean().unwrap()) / (neutral - minimum);
        println!("seed {seed}: {share:.4}, {} rounds", trained.rounds.len());
        assert!(share > 0.97, "seed {seed}: {share} of the possible decrease");
        assert!(share < 1.0 + 1e-5, "seed {seed}: {share} is more than possible");
        assert!(trained.converged, "seed {seed} did not converge");
    }
}

#[test]
fn committed_returns_are_those_of_the_constant_sequences() {
    let model = three_ways();
    let reward: Arc<dyn Reward> = Arc::new(Distance);
    let task = Task::new(InitialStates::Fixed(ring()), Some(reward), SHORT as usize);
    for member in 0..3 {
        let mut transition =
            Hallucination::new(&model, Choice::Member(member), array![1.0, 1.0], Noise::None)
                .unwrap();
        let mut streams = Streams::new(Seed(0), "committed");
        let returns =
            run(&mut transition, &task, Limits::default(), &policy(), ring(), &mut streams, |_| {
                Ok(())
            })
            .unwrap();
        for (found, start) in returns.iter().zip(ring().rows()) {
            let exact = return_along(&model, start, &[member; SHORT as usize]);
            assert!((found - exact).abs() < 1e-5, "member {member}: {found}, not {exact}");
        }
    }
}

/// Always zero.
struct Still;

impl ShiftAdversary for Still {
    fn shift(&self, at: &Moment<'_>, _rng: &mut Stream) -> Result<Array2<f32>> {
        Ok(Array2::zeros(at.states.raw_dim()))
    }
}

#[test]
fn an_adversary_that_learned_nothing_never_raises_the_return() {
    let model = constant_std([0.2, 0.1], 0.1);
    let task = task(20);
    let radius = array![1.0, 1.0];
    let policy = policy();
    let game = Game { noise: Noise::Gaussian, ..game(&model, &radius, &task, &policy) };
    // One gradient step leaves the networks as random as they began.
    let untrained = AdversarySettings { gradient_steps: 1, max_rounds: 1, ..quick() };
    let mut unused = 0;
    for seed in 0..10 {
        let trained = train_sac(&game, &untrained, Seed(seed), &Silent).unwrap();
        unused += usize::from(trained.best_round.is_none());
        let mean = |choice: Choice<'_>| {
            let mut streams = Streams::new(Seed(seed), "final");
            game.play(choice, 500, &mut streams, |_| Ok(())).unwrap().estimate().mean
        };
        // The system is linear: what does harm on some noise does harm on all.
        assert!(mean(trained.choice()) <= mean(Choice::Shift(&Still)) + 1e-3, "seed {seed}");
    }
    assert!(unused > 0, "some random adversary must help the policy, or nothing was tested");
}
