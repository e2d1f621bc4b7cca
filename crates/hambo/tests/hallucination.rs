//! The transition models against a linear-Gaussian system, where every mean return is known.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::common::{LinearModel, constant_std, exact_return, policy, reward};
use hambo::Transitions;
use hambo::bound::{Estimate, paired_difference};
use hambo::dynamics::{MemberPrediction, Members};
use hambo::internals::{Choice, Hallucination, MemberAdversary, Noise, ShiftAdversary};
use hambo::rng::Stream;
use hambo::rollout::{Limits, Moment, run};
use hambo::task::InitialStates;
use hambo::{BoxError, Dynamics, Error, Prediction, Result, Seed, Streams, Task, Termination};
use ndarray::{Array1, Array2, Array3, ArrayView2, array};

const HORIZON: usize = 8;
const EPISODES: usize = 100_000;

fn start() -> Array1<f32> {
    array![1.0, -2.0]
}

fn task() -> Task {
    let starts = Array2::from_shape_fn((1, 2), |(_, j)| start()[j]);
    Task::new(InitialStates::Fixed(starts), reward(), HORIZON)
}

fn returns_of(model: &LinearModel, choice: Choice<'_>, task: &Task, seed: u64) -> Vec<f64> {
    let mut transition =
        Hallucination::new(model, choice, array![1.0, 1.0], Noise::Gaussian).unwrap();
    let starts = Array2::from_shape_fn((EPISODES, 2), |(_, j)| start()[j]);
    let mut streams = Streams::new(Seed(seed), "returns");
    let returns =
        run(&mut transition, task, Limits::default(), &policy(), starts, &mut streams, |_| Ok(()))
            .unwrap();
    returns.to_vec()
}

fn assert_mean(returns: &[f64], exact: f64, what: &str) {
    let estimate = Estimate::of(returns);
    let off = (estimate.mean - exact) / estimate.std_error;
    assert!(off.abs() < 3.0, "{what}: {} instead of {exact}, {off:.1} errors off", estimate.mean);
}

fn average(model: &LinearModel) -> (Array2<f32>, Array1<f32>) {
    let k = model.matrices.len() as f32;
    let matrix = model.matrices.iter().fold(Array2::zeros((2, 2)), |sum, m| sum + m) / k;
    let drift = model.drifts.iter().fold(Array1::zeros(2), |sum, d| sum + d) / k;
    (matrix, drift)
}

#[test]
fn neutral_variants_have_the_exact_mean_on_a_linear_gaussian_system() {
    let model = LinearModel::three_members(0.3);
    let (matrix, drift) = average(&model);
    // A member drawn anew in every step is independent of the state, so means use the mean matrix.
    let per_step = exact_return(&model, &matrix, &drift, &start(), HORIZON);
    let of_member =
        |k: usize| exact_return(&model, &model.matrices[k], &model.drifts[k], &start(), HORIZON);
    let committed = (0..3).map(of_member).sum::<f64>() / 3.0;
    assert!((per_step - committed).abs() > 0.05, "the two must be distinguishable");
    for seed in 0..5 {
        let returns = |choice| returns_of(&model, choice, &task(), seed);
        assert_mean(&returns(Choice::Distribution), per_step, "DS");
        assert_mean(&returns(Choice::RandomMemberPerStep), per_step, "TS1");
        assert_mean(&returns(Choice::RandomMember), committed, "TSinf");
        for k in 0..3 {
            assert_mean(&returns(Choice::Member(k)), of_member(k), "DAinf");
        }
    }
}

/// Always the same corner of the box.
struct Corner([f32; 2]);

impl ShiftAdversary for Corner {
    fn shift(&self, at: &Moment<'_>, _rng: &mut Stream) -> Result<Array2<f32>> {
        Ok(Array2::from_shape_fn((at.states.nrows(), 2), |(_, j)| self.0[j]))
    }
}

#[test]
fn a_constant_shift_moves_the_return_by_what_the_linear_system_says() {
    let model = constant_std([0.2, 0.1], 0.3);
    let matrix = model.matrices[0].clone();
    for corner in [[1.0, 1.0], [-1.0, 0.5]] {
        let drift = array![0.2 * corner[0], 0.1 * corner[1]];
        let exact = exact_return(&model, &matrix, &drift, &start(), HORIZON);
        let returns = returns_of(&model, Choice::Shift(&Corner(corner)), &task(), 0);
        assert_mean(&returns, exact, "CA");
    }
}

#[test]
fn common_random_numbers_leave_only_the_adversarys_effect() {
    let model = constant_std([0.2, 0.1], 0.3);
    let shifted = returns_of(&model, Choice::Shift(&Corner([1.0, -1.0])), &task(), 3);
    let neutral = returns_of(&model, Choice::Shift(&Corner([0.0, 0.0])), &task(), 3);
    let difference = paired_difference(&shifted, &neutral);
    assert!(difference.mean.abs() > 1.0);
    // Same noise in both, and the system is linear: every pair differs by the same amount.
    assert!(difference.std_error < 1e-6, "{}", difference.std_error);
}

/// Ends the episodes whose first coordinate falls below zero.
struct Negative;

impl Termination for Negative {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        let Transitions { next_states, .. } = *transitions;
        Ok(next_states.column(0).mapv(|x| x < 0.0))
    }
}

#[test]
fn an_episode_sees_the_same_noise_whatever_happens_to_the_others() {
    let model = constant_std([0.0, 0.0], 0.5);
    let mut ending = task();
    ending.termination = Some(Arc::new(Negative));
    let trajectories = |task: &Task| {
        let mut last = vec![None; 50];
        let still = Corner([0.0, 0.0]);
        let mut transition =
            Hallucination::new(&model, Choice::Shift(&still), array![1.0, 1.0], Noise::Gaussian)
                .unwrap();
        let starts = Array2::from_shape_fn((50, 2), |(_, j)| start()[j]);
        let mut streams = Streams::new(Seed(1), "noise");
        run(&mut transition, task, Limits::default(), &policy(), starts, &mut streams, |step| {
            for (row, &episode) in step.episodes.iter().enumerate() {
                if step.time == 5 {
                    last[episode] = Some(step.next_states.row(row).to_vec());
                }
            }
            Ok(())
        })
        .unwrap();
        last
    };
    let (ending, endless) = (trajectories(&ending), trajectories(&task()));
    let survivors = ending.iter().filter(|state| state.is_some()).count();
    assert!((5..45).contains(&survivors), "{survivors} of 50 must be a real mix");
    let agree = |(ending, endless): (&Option<Vec<f32>>, &Option<Vec<f32>>)| {
        ending.is_none() || ending == endless
    };
    assert!(ending.iter().zip(&endless).all(agree));
}

/// Always the same member.
struct Always(usize);

impl MemberAdversary for Always {
    fn pick(&self, at: &Moment<'_>, _rng: &mut Stream) -> Result<Vec<usize>> {
        Ok(vec![self.0; at.states.nrows()])
    }
}

#[test]
fn an_adversary_that_never_changes_its_pick_is_the_committed_one() {
    let model = LinearModel::three_members(0.3);
    let per_step = returns_of(&model, Choice::MemberPerStep(&Always(2)), &task(), 2);
    let committed = returns_of(&model, Choice::Member(2), &task(), 2);
    let worst = per_step.iter().zip(&committed).fold(0.0_f64, |w, (a, b)| w.max((a - b).abs()));
    assert!(worst < 1e-6, "differs by {worst}");
}

#[test]
fn variants_of_members_evaluate_one_member_per_row() {
    let model = LinearModel::three_members(0.3);
    let rows = |choice| {
        let before = model.rows_predicted.load(Ordering::Relaxed);
        returns_of(&model, choice, &task(), 0);
        model.rows_predicted.load(Ordering::Relaxed) - before
    };
    let one = EPISODES * HORIZON;
    assert_eq!(rows(Choice::Member(1)), one);
    assert_eq!(rows(Choice::RandomMember), one);
    assert_eq!(rows(Choice::RandomMemberPerStep), one);
    assert_eq!(rows(Choice::MemberPerStep(&Always(2))), one);
    assert_eq!(rows(Choice::Distribution), 3 * one);
}

#[test]
fn without_noise_a_rollout_repeats_itself() {
    let model = LinearModel::three_members(0.3);
    let mut transition =
        Hallucination::new(&model, Choice::Member(0), array![1.0, 1.0], Noise::None).unwrap();
    let starts = Array2::from_shape_fn((3, 2), |(_, j)| start()[j]);
    let mut streams = Streams::new(Seed(0), "quiet");
    let returns =
        run(&mut transition, &task(), Limits::default(), &policy(), starts, &mut streams, |_| {
            Ok(())
        })
        .unwrap();
    let exact = exact_return(&model, &model.matrices[0], &model.drifts[0], &start(), HORIZON);
    assert!(returns.iter().all(|r| (r - exact).abs() < 1e-4));
}

#[test]
fn impossible_variants_are_refused() {
    let model = LinearModel::three_members(0.3);
    let new =
        |choice, radius| Hallucination::new(&model, choice, radius, Noise::Gaussian).map(drop);
    assert!(matches!(
        new(Choice::Member(3), array![1.0, 1.0]),
        Err(Error::NoMembers { members: 3, .. })
    ));
    assert!(matches!(new(Choice::Distribution, array![1.0]), Err(Error::Dimension { .. })));
    let mut task = task();
    task.reward = None;
    let mut transition =
        Hallucination::new(&model, Choice::Distribution, array![1.0, 1.0], Noise::Gaussian)
            .unwrap();
    let starts = Array2::zeros((3, 2));
    let mut streams = Streams::new(Seed(0), "none");
    let error =
        run(&mut transition, &task, Limits::default(), &policy(), starts, &mut streams, |_| Ok(()));
    assert!(matches!(error, Err(Error::NoReward)));
}

/// One state that stays where it is, and a reward on which two members disagree: 1 ± 0.5.
struct DisputedReward;

impl Dynamics for DisputedReward {
    fn state_dim(&self) -> usize {
        1
    }

    fn action_dim(&self) -> usize {
        1
    }

    fn predicts_reward(&self) -> bool {
        true
    }

    fn members(&self) -> usize {
        2
    }

    fn predict(&self, s: ArrayView2<'_, f32>, a: ArrayView2<'_, f32>) -> Result<Prediction> {
        let members: Vec<_> =
            (0..2).map(|k| self.predict_member(k, s, a)).collect::<Result<_>>()?;
        let means =
            Array3::from_shape_fn((2, s.nrows(), 2), |(k, row, j)| members[k].mean[[row, j]]);
        let stds = Array3::from_elem(means.raw_dim(), 0.7);
        Ok(Prediction::of_members(Members { means, stds }))
    }

    fn predict_member(
        &self,
        member: usize,
        s: ArrayView2<'_, f32>,
        _a: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let reward = [1.5, 0.5][member];
        let mean = Array2::from_shape_fn((s.nrows(), 2), |(i, j)| [s[[i, 0]], reward][j]);
        Ok(MemberPrediction { std: Array2::from_elem(mean.raw_dim(), 0.7), mean })
    }
}

/// Over ten steps: CA takes the lowest reward of its interval, 1 - 3 · 0.5 with a radius of 3, whatever
/// it does to the states; DA takes the member's own; noise in the reward is left out.
#[test]
fn learned_rewards_are_pessimistic_under_the_continuous_adversary() {
    let start = InitialStates::Fixed(array![[0.3]]);
    let task = Task::new(start, None, 10);
    let total = |choice: Choice<'_>| {
        let radius = array![0.2, 3.0];
        let mut transition =
            Hallucination::new(&DisputedReward, choice, radius, Noise::Gaussian).unwrap();
        let streams = &mut Streams::new(Seed(1), "reward");
        let policy = crate::common::LinearPolicy(array![0.0]);
        let starts = array![[0.3], [0.1]];
        run(&mut transition, &task, Limits::default(), &policy, starts, streams, |_| Ok(()))
            .unwrap()
    };
    struct Up;
    impl ShiftAdversary for Up {
        fn shift(&self, at: &Moment<'_>, _rng: &mut Stream) -> Result<Array2<f32>> {
            Ok(Array2::ones(at.states.raw_dim()))
        }
    }
    let expect = |found: Array1<f64>, each: f64| {
        assert!(found.iter().all(|total| (total - 10.0 * each).abs() < 1e-5), "{found}, {each}");
    };
    expect(total(Choice::Shift(&Up)), 1.0 - 3.0 * 0.5);
    expect(total(Choice::MemberPerStep(&Always(1))), 0.5);
    expect(total(Choice::Member(0)), 1.5);
    expect(total(Choice::Distribution), 1.0);
}

/// Members that are all alike make every choice between them the same, so that whatever differs would
/// be the noise.
#[test]
fn who_decides_leaves_the_noise_as_it_was() {
    let mut model = LinearModel::three_members(0.3);
    model.matrices = vec![model.matrices[0].clone(); 3];
    model.drifts = vec![model.drifts[0].clone(); 3];
    let committed = returns_of(&model, Choice::Member(0), &task(), 3);
    for choice in [Choice::RandomMemberPerStep, Choice::RandomMember, Choice::Distribution] {
        let returns = returns_of(&model, choice, &task(), 3);
        // The mean over three equal members is off by rounding.
        let worst = returns.iter().zip(&committed).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{choice:?}: {worst}");
    }
}

/// A policy that shakes, in two rollouts of which one ends every other episode at once.
#[test]
fn a_stochastic_policy_draws_the_same_whoever_ends_earlier() {
    struct Even;
    impl Termination for Even {
        fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
            let starts = transitions.states.column(1);
            Ok(starts.iter().map(|&state| state > 0.0).collect())
        }
    }
    let model = LinearModel::three_members(0.0);
    let policy = hambo::task::NoisyPolicy { policy: policy(), noise_std: 0.5, limit: 9.0 };
    let starts = Array2::from_shape_fn((40, 2), |(row, column)| match (row % 2, column) {
        (1, 1) => 5.0,
        (_, 1) => -5.0,
        _ => 1.0,
    });
    let returns = |termination: Option<Arc<dyn Termination>>| {
        let radius = array![1.0, 1.0];
        let choice = Choice::Member(0);
        let mut transition = Hallucination::new(&model, choice, radius, Noise::None).unwrap();
        let task = Task { termination, horizon: 3, ..task() };
        let (limits, streams) = (Limits::default(), &mut Streams::new(Seed(2), "policy"));
        run(&mut transition, &task, limits, &policy, starts.clone(), streams, |_| Ok(())).unwrap()
    };
    let (whole, some) = (returns(None), returns(Some(Arc::new(Even))));
    for row in (0..40).step_by(2) {
        assert_eq!(whole[row], some[row], "episode {row}");
    }
    assert_ne!(whole[1], some[1]);
}
