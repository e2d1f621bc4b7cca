//! The built-in tasks are what they say they are, and their controllers do what they are for.

use hambo::Error;
use hambo::Transitions;
use hambo::rng::{RowStreams, Seed, Stream};
use hambo::rollout::{Streams, collect, simulate};
use hambo::task::point_safety::{self, PointSafety, ViaPoint, is_dangerous};
use hambo::task::{
    InitialStates, NoisyPolicy, Policy, Reward, Simulator, StateBounds, Termination,
};
use hambo::task::{pendulum, point_env};
use ndarray::{Array1, Array2, ArrayView2, array, s};

fn rng() -> Stream {
    Seed(0).stream("tests")
}

fn streams() -> Streams {
    Streams::new(Seed(0), "tests")
}

/// `gymnasium/pendulum.py` made the file.
#[test]
fn pendulum_agrees_with_gymnasium_step_by_step() {
    let text = include_str!("gymnasium/pendulum.csv");
    let values: Vec<f32> =
        text.lines().skip(1).flat_map(|line| line.split(',')).map(|v| v.parse().unwrap()).collect();
    let rows = Array2::from_shape_vec((values.len() / 8, 8), values).unwrap();
    assert_eq!(rows.nrows(), 1000);
    let (states, actions) = (rows.slice(s![.., 0..3]), rows.slice(s![.., 3..4]));
    let next_states = pendulum::Pendulum.next_states(states, actions, &mut rng());
    let transitions = Transitions { states, actions, next_states: next_states.view() };
    let rewards = pendulum::Pendulum.reward(&transitions).unwrap();
    let worst = |difference: f32, worst: f32| worst.max(difference.abs());
    // Gymnasium keeps the angle in float64, we recover it from a float32 sine and cosine.
    let state_error =
        (&next_states - &rows.slice(s![.., 5..8])).iter().fold(0.0, |w, &d| worst(d, w));
    let reward_error = (&rewards - &rows.column(4)).iter().fold(0.0, |w, &d| worst(d, w));
    assert!(state_error < 1e-5, "states differ by {state_error}");
    assert!(reward_error < 1e-5, "rewards differ by {reward_error}");
}

fn mean_return(task: &hambo::task::Task, simulator: &dyn Simulator, policy: &dyn Policy) -> f64 {
    simulate(simulator, task, policy, 2000, &mut streams(), |_| Ok(())).unwrap().mean().unwrap()
}

#[test]
fn the_good_swing_up_beats_the_detuned_one_and_noise_makes_either_worse() {
    let task = pendulum::task(200);
    let of = |policy: &dyn Policy| mean_return(&task, &pendulum::Pendulum, policy);
    let good = of(&pendulum::SwingUp::GOOD);
    let detuned = of(&pendulum::SwingUp::DETUNED);
    assert!((-160.0..-140.0).contains(&good), "good: {good}");
    assert!(detuned < good - 50.0, "detuned: {detuned}");
    assert!(of(&pendulum::SwingUp::GOOD.noisy(1.0)) < good - 10.0);
    assert!(of(&pendulum::SwingUp::DETUNED.noisy(1.0)) < detuned - 100.0);
}

#[test]
fn the_proportional_controller_reaches_the_origin() {
    let task = point_env::task(40);
    let mut last = Array2::zeros((0, 2));
    let policy = point_env::Proportional::default();
    simulate(&point_env::PointEnv, &task, &policy, 100, &mut streams(), |step| {
        last = step.next_states.clone();
        Ok(())
    })
    .unwrap();
    assert!(last.iter().all(|value| value.abs() < 1e-3));
}

/// The positions that π_y visits, in continuous time: the segments between its steps.
fn touches_danger(y: f32) -> bool {
    let mut dangerous = false;
    simulate(&PointSafety, &point_safety::task(12), &ViaPoint { y }, 1, &mut streams(), |step| {
        for part in 0..=100 {
            let at = part as f32 / 100.0;
            let position = step.states * (1.0 - at) + step.next_states * at;
            dangerous |= is_dangerous([position[[0, 0]], position[[0, 1]]]);
        }
        Ok(())
    })
    .unwrap();
    dangerous
}

#[test]
fn via_points_are_unsafe_exactly_below_two_over_root_three() {
    assert!(touches_danger(1.1));
    assert!(touches_danger(1.15));
    assert!(!touches_danger(1.16));
    assert!(!touches_danger(1.6));
}

#[test]
fn via_point_walks_end_at_the_goal() {
    let mut last = Array2::zeros((0, 2));
    let policy = ViaPoint { y: 1.6 };
    simulate(&PointSafety, &point_safety::task(14), &policy, 1, &mut streams(), |step| {
        last = step.next_states.clone();
        Ok(())
    })
    .unwrap();
    assert!((last - Array1::from_vec(point_safety::GOAL.to_vec())).iter().all(|d| d.abs() < 1e-4));
}

/// Ends an episode once the first coordinate passes one.
struct PastOne;

impl Termination for PastOne {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, hambo::BoxError> {
        let Transitions { next_states, .. } = *transitions;
        Ok(next_states.column(0).mapv(|x| x > 1.0))
    }
}

/// One step to the right, whatever the state.
struct Right(f32);

impl Policy for Right {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut hambo::rng::RowStreams,
    ) -> Result<Array2<f32>, hambo::BoxError> {
        Ok(Array2::from_shape_fn((states.nrows(), 2), |(_, j)| if j == 0 { self.0 } else { 0.0 }))
    }
}

#[test]
fn terminated_episodes_leave_the_batch_and_their_last_reward_counts() {
    let mut task = point_env::task(4);
    task.initial_states = InitialStates::Fixed(array![[0.0, 0.0]]);
    task.termination = Some(std::sync::Arc::new(PastOne));
    let mut sizes = Vec::new();
    let returns = simulate(&point_env::PointEnv, &task, &Right(0.75), 3, &mut streams(), |step| {
        sizes.push(step.episodes.len());
        Ok(())
    })
    .unwrap();
    // 0 -> 0.75 -> 1.5: two steps, rewards 0 and -0.75.
    assert_eq!(sizes, [3, 3]);
    assert_eq!(returns, array![-0.75, -0.75, -0.75]);
    let data = collect(&point_env::PointEnv, &task, &Right(0.75), 3, &mut streams()).unwrap();
    assert!(data.episodes().iter().all(|e| e.terminated && !e.truncated && e.rows.len() == 2));
}

#[test]
fn discount_weighs_the_later_rewards_less() {
    let mut task = point_env::task(3);
    task.initial_states = InitialStates::Fixed(array![[1.0, 0.0]]);
    task.discount = 0.5;
    let returns =
        simulate(&point_env::PointEnv, &task, &Right(1.0), 1, &mut streams(), |_| Ok(())).unwrap();
    assert_eq!(returns, array![-(1.0 + 0.5 * 2.0 + 0.25 * 3.0)]);
}

#[test]
fn what_a_policy_gets_wrong_is_said_with_its_place() {
    let task = point_env::task(3);
    let run = |policy: &dyn Policy| {
        let error = simulate(&point_env::PointEnv, &task, policy, 5, &mut streams(), |_| Ok(()));
        error.map(drop).expect_err("a broken policy").to_string()
    };
    assert_eq!(
        run(&Right(f32::NAN)),
        "the policy returned NaN at row 0, column 0; \
         return finite numbers for every state it may be asked about"
    );
    assert_eq!(
        run(&pendulum::SwingUp::GOOD),
        "the policy failed on a batch of 5 rows: it needs states of 3 values, got 2"
    );
    struct TooFew;
    impl Policy for TooFew {
        fn act(
            &self,
            _states: ArrayView2<'_, f32>,
            _draws: &mut hambo::rng::RowStreams,
        ) -> Result<Array2<f32>, hambo::BoxError> {
            Ok(Array2::zeros((1, 2)))
        }
    }
    assert_eq!(
        run(&TooFew),
        "the policy has shape [1, 2] where [5, 2] is needed; \
         check its number of rows and columns"
    );
}

#[test]
fn horizon_zero_and_odd_discounts_are_refused() {
    let mut task = point_env::task(0);
    assert!(matches!(task.validate(), Err(Error::Setting { name: "horizon", .. })));
    task.horizon = 1;
    for discount in [0.0, -1.0, 1.5, f32::NAN] {
        task.discount = discount;
        assert!(matches!(task.validate(), Err(Error::Setting { name: "discount", .. })));
    }
}

#[test]
fn bounds_clamp_states_and_must_be_ordered() {
    let bounds = StateBounds::new(array![-1.0, f32::NEG_INFINITY], array![1.0, 2.0]).unwrap();
    let mut states = array![[5.0, 5.0], [-5.0, -5.0]];
    bounds.clamp(&mut states);
    assert_eq!(states, array![[1.0, 2.0], [-1.0, -5.0]]);
    assert!(StateBounds::new(array![1.0], array![0.0]).is_err());
    assert!(StateBounds::new(array![f32::NAN], array![0.0]).is_err());
    assert!(StateBounds::new(array![0.0], array![0.0, 1.0]).is_err());
}

#[test]
fn initial_states_come_from_the_data_a_set_or_a_sampler() {
    let task = pendulum::task(5);
    let policy = pendulum::SwingUp::GOOD;
    let data = collect(&pendulum::Pendulum, &task, &policy, 7, &mut streams()).unwrap();
    let starts = InitialStates::of_episodes(&data).draw(50, 3, &mut rng()).unwrap();
    let first = data.initial_states();
    let known = |row: ndarray::ArrayView1<'_, f32>| first.rows().into_iter().any(|f| f == row);
    assert!(starts.states.rows().into_iter().all(known));
    assert_eq!(starts.observed.unwrap().len(), 50);
    let none = InitialStates::Fixed(Array2::zeros((0, 3)));
    assert!(none.draw(1, 3, &mut rng()).is_err());
    let wrong = InitialStates::sampler(|count, _| Ok(Array2::zeros((count, 2))));
    assert!(matches!(wrong.draw(4, 3, &mut rng()), Err(Error::SuppliedShape { .. })));
}

#[test]
fn noisy_policies_stay_within_the_limit() {
    let policy = NoisyPolicy { policy: Right(0.4), noise_std: 1.0, limit: 0.5 };
    let actions = policy
        .act(Array2::zeros((1000, 2)).view(), &mut RowStreams::new(&mut rng(), 1000))
        .unwrap();
    assert!(actions.iter().all(|action| action.abs() <= 0.5));
    assert!(actions.column(0).std(0.0) > 0.1);
}

#[test]
fn declared_angles_stay_on_the_circle() {
    let limit = array![1.0, 1.0, 8.0];
    let bounds = StateBounds::new(-&limit, limit).unwrap().with_angle(0, 1).unwrap();
    let mut states = array![[3.0, 0.4, 9.0], [0.6, -0.8, 1.0], [0.0, 0.0, 0.0]];
    bounds.clamp(&mut states);
    let length = 1.0_f32.hypot(0.4);
    let expected = array![[1.0 / length, 0.4 / length, 8.0], [0.6, -0.8, 1.0], [1.0, 0.0, 0.0]];
    assert!((&states - &expected).iter().all(|difference| difference.abs() < 1e-6), "{states}");
    let bounds = StateBounds::new(array![0.0, 0.0], array![1.0, 1.0]).unwrap();
    for (cosine, sine) in [(0, 2), (1, 1)] {
        let error = bounds.clone().with_angle(cosine, sine).unwrap_err();
        assert!(error.to_string().contains("two different columns"), "{error}");
    }
}

#[test]
fn data_from_everywhere_covers_the_space_in_single_steps() {
    let (task, policy) = pendulum::everywhere();
    let data = collect(&pendulum::Pendulum, &task, &policy, 2000, &mut streams()).unwrap();
    assert_eq!((data.rows(), data.episodes().len()), (2000, 2000));
    let (states, actions) = (data.states(), data.actions());
    let spread = |values: ndarray::ArrayView1<'_, f32>| values.std(0.0);
    // Standard deviations of uniform values are the half-width over √3.
    assert!((spread(states.column(2)) - 8.0 / 3.0_f32.sqrt()).abs() < 0.2);
    assert!((spread(actions.column(0)) - 2.0 / 3.0_f32.sqrt()).abs() < 0.05);
    let (task, policy) = point_env::everywhere();
    let data = collect(&point_env::PointEnv, &task, &policy, 2000, &mut streams()).unwrap();
    assert!((spread(data.states().column(0)) - 40.0 / 3.0_f32.sqrt()).abs() < 1.0);
}
