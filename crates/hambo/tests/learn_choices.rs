//! Policies that choose between two actions, where all of them can be tried.

use std::sync::Arc;

use hambo::dataset::{Batch, EpisodeMarks, Standardizer};
use hambo::dynamics::{Dynamics, MemberPrediction, Members, Prediction};
use hambo::internals::{Arena, Game, Noise, train};
use hambo::rollout::Limits;
use hambo::task::InitialStates;
use hambo::{
    ActionSpace, AdversarySettings, BoxError, LearnAgainst, LearnSettings, LearnedPolicy, Policy,
    Result, Reward, RowStreams, Seed, Silent, Task, Transitions,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, array};

const STATES: usize = 5;
const HORIZON: usize = 9;
const EARNED: [f64; STATES] = [1.0, 0.0, 3.0, 0.0, 8.0];

/// Five states in a row, a step to the left or to the right. What worlds disagree about is the step into the
/// last, where most is earned: it is taken, leads nowhere, or back to the first.
#[derive(Debug)]
struct Chains;

const BEYOND: [usize; 3] = [4, 3, 0];

fn next(world: usize, state: usize, goes_right: bool) -> usize {
    match (state, goes_right) {
        (3, true) => BEYOND[world],
        (state, true) => (state + 1).min(STATES - 1),
        (state, false) => state.saturating_sub(1),
    }
}

fn state_of(row: ndarray::ArrayView1<'_, f32>) -> usize {
    row.iter().position(|&value| value > 0.5).unwrap()
}

fn one_of(state: usize) -> impl Fn(usize) -> f32 {
    move |column| f32::from(u8::from(column == state))
}

impl Chains {
    fn mean(
        world: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Array2<f32> {
        Array2::from_shape_fn(states.dim(), |(row, column)| {
            let next = next(world, state_of(states.row(row)), actions[[row, 0]] > 0.5);
            one_of(next)(column)
        })
    }
}

impl Dynamics for Chains {
    fn state_dim(&self) -> usize {
        STATES
    }

    fn action_dim(&self) -> usize {
        1
    }

    fn predicts_reward(&self) -> bool {
        false
    }

    fn members(&self) -> usize {
        BEYOND.len()
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let all: Vec<Array2<f32>> =
            (0..BEYOND.len()).map(|world| Self::mean(world, states, actions)).collect();
        let means =
            Array3::from_shape_fn((all.len(), states.nrows(), STATES), |(k, row, column)| {
                all[k][[row, column]]
            });
        let stds = Array3::zeros(means.raw_dim());
        Ok(Prediction::of_members(Members { means, stds }))
    }

    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        let mean = Self::mean(member, states, actions);
        Ok(MemberPrediction { std: Array2::zeros(mean.raw_dim()), mean })
    }
}

/// By the state that is left.
struct Earned;

impl Reward for Earned {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let rows = transitions.states.rows().into_iter();
        Ok(rows.map(|row| EARNED[state_of(row)] as f32).collect())
    }
}

struct Nothing;

impl Policy for Nothing {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(Array2::zeros((states.nrows(), 1)))
    }
}

/// One of the 32 policies: where it goes right.
type Plan = [bool; STATES];

/// What it earns in every world, from the first and the third state.
fn earned(plan: &Plan) -> Vec<f64> {
    let from = |world: usize, start: usize| {
        let (mut state, mut earned) = (start, 0.0);
        for _ in 0..HORIZON {
            earned += EARNED[state];
            state = next(world, state, plan[state]);
        }
        earned
    };
    (0..BEYOND.len()).map(|world| (from(world, 0) + from(world, 2)) / 2.0).collect()
}

fn mean(returns: &[f64]) -> f64 {
    returns.iter().sum::<f64>() / returns.len() as f64
}

/// With Student's factor for three worlds and one more.
fn criterion(returns: &[f64]) -> f64 {
    let (count, mean) = (returns.len() as f64, mean(returns));
    let squares: f64 = returns.iter().map(|value| (value - mean).powi(2)).sum();
    mean - 2.919_986 * (1.0 + 1.0 / count).sqrt() * (squares / (count - 1.0)).sqrt()
}

fn plan_of(policy: &LearnedPolicy) -> Plan {
    let states = Array2::from_shape_fn((STATES, STATES), |(row, column)| one_of(row)(column));
    let draws = &mut RowStreams::new(&mut Seed(0).stream("none"), STATES);
    let actions = policy.act(states.view(), draws).unwrap();
    std::array::from_fn(|state| actions[[state, 0]] > 0.5)
}

#[test]
fn on_a_chain_the_safest_of_all_policies_is_found() {
    let all: Vec<Plan> =
        (0..32).map(|bits| std::array::from_fn(|state| (bits >> state) & 1 == 1)).collect();
    let best_by = |value: &dyn Fn(&[f64]) -> f64| {
        let better = |a: &&Plan, b: &&Plan| value(&earned(a)).total_cmp(&value(&earned(b)));
        *all.iter().max_by(better).unwrap()
    };
    let (safest, best_on_average) = (best_by(&criterion), best_by(&mean));
    let best = criterion(&earned(&safest));
    let risky = criterion(&earned(&best_on_average));
    assert!(risky < 0.5 * best, "{risky} of the best on average, {best} of the safest");

    let starts = array![[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]];
    let task = Task::new(InitialStates::Fixed(starts), Some(Arc::new(Earned)), HORIZON);
    let radius = Array1::ones(STATES);
    // Somebody who went anywhere.
    let states = Array2::from_shape_fn((400, STATES), |(row, column)| one_of(row % STATES)(column));
    let actions = Array2::from_shape_fn((400, 1), |(row, _)| (row / STATES % 2) as f32);
    // Where that led teaches nothing here.
    let (rewards, next_states) = (Array1::zeros(400), states.clone());
    let logged = Batch { states, actions, rewards, next_states };
    let arena = Arena {
        game: Game {
            dynamics: &Chains,
            radius: &radius,
            noise: Noise::None,
            task: &task,
            limits: Limits::default(),
            policy: &Nothing,
            exogenous: None,
            history: None,
        },
        actions: ActionSpace::OneOf(array![[0.0], [1.0]]),
        logged,
        states: Standardizer::of_scales(&[1.0; STATES]),
        learned_from: EpisodeMarks::default(),
        delta: 0.05,
        factor: 0.0,
        adversary: AdversarySettings::default(),
        referee: None,
    };
    let settings = LearnSettings {
        against: LearnAgainst::Worlds,
        hidden: vec![32; 2],
        clone_steps: 200,
        batch_size: 128,
        episodes: 40,
        gradient_steps: 300,
        judged_episodes: 2,
        max_rounds: 30,
        patience: 30,
        ..Default::default()
    };
    for seed in 0..5 {
        let learned = train(&arena, &settings, Seed(seed), &Silent).unwrap();
        let plan = plan_of(&learned.policy);
        let (found, said) = (criterion(&earned(&plan)), learned.rounds[learned.best_round].bound);
        println!("seed {seed}: {plan:?} {found:.3}, {best:.3}; round {}", learned.best_round);
        // States that are never seen do not count.
        assert!((found - best).abs() < 1e-9, "seed {seed}: {plan:?} earns {found}, not {best}");
        assert!((said - found).abs() < 1e-3, "seed {seed}: {said} is said, {found} is true");
    }
}
