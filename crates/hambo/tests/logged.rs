//! What the logs have to say against an evaluation: rules, actions and errors that contradict them.

use std::sync::Arc;

use crate::common::{LinearModel, LinearReward, exact_return, policy, reward};
use hambo::Transitions;
use hambo::dataset::Episode;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::{Members, Prediction};
use hambo::task::{InitialStates, Termination};
use hambo::{
    BoxError, Dataset, Dynamics, Evaluation, EvaluationSettings, LoggedSample, Model,
    ModelSettings, Policy, Result, Seed, Silent, Stream, Task, Unseen, Variant, Warning,
};
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, array, s};
use rand::RngExt;
use rand_distr::StandardNormal;

const HORIZON: usize = 8;

/// A perfectly calibrated model of these dynamics, with these logs.
fn model(dynamics: impl Dynamics, logs: &Dataset) -> Model {
    Model {
        data: logs.identity(),
        logged: LoggedSample::of(logs, &Unseen::by_all(logs.all()), &mut Seed(0).stream("sample")),
        ..crate::common::calibrated(dynamics)
    }
}

fn found(model: &Model, policy: &dyn Policy, task: &Task) -> Evaluation {
    let settings = EvaluationSettings {
        variants: vec![Variant::DaInf],
        episodes: 200,
        noise: false,
        accept_weaker: ["variants", "noise"].map(String::from).to_vec(),
        ..Default::default()
    };
    model.evaluate(policy, task, &settings, Seed(3), &Silent).unwrap()
}

fn has(evaluation: &Evaluation, wanted: fn(&Warning) -> bool) -> bool {
    evaluation.warnings.iter().any(wanted)
}

/// Single steps from states and actions drawn from the given boxes.
fn steps(
    rows: usize,
    states: [f32; 2],
    actions: [f32; 2],
    outcome: impl Fn(ArrayView2<'_, f32>, ArrayView2<'_, f32>) -> Array2<f32>,
    seed: u64,
) -> Vec<Episode> {
    let rng = &mut Seed(seed).stream("steps");
    let draw = |range: [f32; 2], shape, rng: &mut Stream| {
        Array2::from_shape_simple_fn(shape, || rng.random_range(range[0]..range[1]))
    };
    let one = |_| {
        let state = draw(states, (1, 2), rng);
        let action = draw(actions, (1, 1), rng);
        let next_states = outcome(state.view(), action.view());
        let rewards = state.dot(&array![1.0, -0.5]);
        Episode {
            states: state,
            actions: action,
            rewards,
            next_states,
            terminated: false,
            truncated: true,
        }
    };
    (0..rows).map(one).collect()
}

/// The mean of the linear model's members, moved by `bias`.
fn biased(
    bias: [f32; 2],
) -> impl Fn(ArrayView2<'_, f32>, ArrayView2<'_, f32>) -> Array2<f32> + Clone {
    move |s, a| {
        let model = LinearModel::three_members(0.0);
        model.predict(s, a).unwrap().mean + array![[bias[0], bias[1]]]
    }
}

fn linear_task() -> Task {
    let start = array![[1.0, -2.0]];
    Task::new(InitialStates::Fixed(start), reward(), HORIZON)
}

#[test]
fn a_second_opinion_is_the_return_of_the_system_that_was_logged() {
    let linear = LinearModel::three_members(0.0);
    let bias = array![-0.3_f32, 0.2];
    let logs = Dataset::from_episodes(steps(400, [-4.0, 4.0], [-1.0, 1.0], biased([-0.3, 0.2]), 0));
    let evaluation = found(&model(linear, &logs.unwrap()), &policy(), &linear_task());

    let linear = LinearModel::three_members(0.0);
    let mean = |parts: &[Array2<f32>]| (&parts[0] + &parts[1] + &parts[2]) / 3.0;
    let drift = (&linear.drifts[0] + &linear.drifts[1] + &linear.drifts[2]) / 3.0 + &bias;
    let start = array![1.0, -2.0];
    let exact = exact_return(&linear, &mean(&linear.matrices), &drift, &start, HORIZON);
    let opinion = evaluation.second_opinion.unwrap();
    // Sums of a few dozen float32 terms.
    assert!((opinion.mean - exact).abs() < 1e-4, "{} against {exact}", opinion.mean);
}

#[test]
fn a_bias_where_the_policy_goes_is_a_doubt_and_elsewhere_is_none() {
    // The policy's actions are between -0.6 and 0.
    for (biased_actions, doubtful) in [([-1.0, 0.2], true), ([0.6, 1.0], false)] {
        let harm = biased([-1.0, 0.5]);
        let mut logs = steps(300, [-4.0, 4.0], biased_actions, harm, 1);
        let honest = if doubtful { [0.6, 1.0] } else { [-1.0, 0.2] };
        logs.extend(steps(300, [-4.0, 4.0], honest, biased([0.0, 0.0]), 2));
        let logs = Dataset::from_episodes(logs).unwrap();
        let model = model(LinearModel::three_members(0.0), &logs);
        let evaluation = found(&model, &policy(), &linear_task());
        let opinion = evaluation.second_opinion.unwrap().mean;
        let bound = evaluation.lower_bound.unwrap();
        assert_eq!(opinion < bound, doubtful, "{opinion} against {bound}");
        let doubts = has(&evaluation, |w| matches!(w, Warning::SecondOpinion { .. }));
        assert_eq!(doubts, doubtful);
    }
}

/// One state that the action moves, and a learned reward that is always 0.1.
struct Blithe;

impl Dynamics for Blithe {
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
        1
    }
    fn predict(&self, s: ArrayView2<'_, f32>, a: ArrayView2<'_, f32>) -> Result<Prediction> {
        let mut means = Array3::from_elem((1, s.nrows(), 2), 0.1);
        means.slice_mut(s![0, .., ..1]).assign(&(&s + &a));
        let stds = Array3::from_elem(means.raw_dim(), 1e-3);
        Ok(Prediction::of_members(Members { means, stds }))
    }
    fn predict_member(
        &self,
        _member: usize,
        s: ArrayView2<'_, f32>,
        a: ArrayView2<'_, f32>,
    ) -> Result<hambo::dynamics::MemberPrediction> {
        let prediction = self.predict(s, a)?;
        let std = prediction.aleatoric_std;
        Ok(hambo::dynamics::MemberPrediction { mean: prediction.mean, std })
    }
}

/// Goes up by the same amount in every step.
struct Climb(f32);

impl Policy for Climb {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _draws: &mut hambo::rng::RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(Array2::from_elem((states.nrows(), 1), self.0))
    }
}

/// Ends where the next state exceeds a limit.
struct Above(f32);

impl Termination for Above {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        let Transitions { next_states, .. } = *transitions;
        Ok(next_states.column(0).mapv(|x| x > self.0))
    }
}

/// Climbs of ten steps from zero, which trip above one: reward 0.1, and -30 for the trip.
fn climbs(episodes: usize) -> Dataset {
    climbs_of(0..episodes)
}

fn climbs_of(numbers: impl Iterator<Item = usize>) -> Dataset {
    let rng = &mut Seed(4).stream("climbs");
    let one = |index: usize| {
        // One in twenty climbs fast enough to trip.
        let fast = index.is_multiple_of(20);
        let (mut x, mut rows) = (0.0_f32, Vec::new());
        let mut tripped = false;
        while rows.len() < 10 && !tripped {
            let action: f32 = if fast { 0.15 } else { rng.random_range(-0.05..0.05) };
            tripped = x + action > 1.0;
            rows.push([x, action, if tripped { -30.0 } else { 0.1 }, x + action]);
            x += action;
        }
        let column = |c: usize| Array1::from_iter(rows.iter().map(|row| row[c]));
        Episode {
            states: column(0).insert_axis(Axis(1)),
            actions: column(1).insert_axis(Axis(1)),
            rewards: column(2),
            next_states: column(3).insert_axis(Axis(1)),
            terminated: tripped,
            truncated: !tripped,
        }
    };
    Dataset::from_episodes(numbers.map(one).collect()).unwrap()
}

fn climbing_task(limit: f32) -> Task {
    let mut task = Task::new(InitialStates::Fixed(array![[0.0]]), None, 10);
    task.termination = Some(Arc::new(Above(limit)));
    task
}

#[test]
fn a_rare_penalty_that_the_learned_reward_ignores_is_a_doubt() {
    let model = model(Blithe, &climbs(200));
    let trips = found(&model, &Climb(0.15), &climbing_task(1.0));
    assert!(trips.lower_bound.unwrap() > 0.0);
    assert!(has(&trips, |w| matches!(w, Warning::SecondOpinion { .. })), "{:?}", trips.warnings);
    assert!(has(&trips, |w| matches!(w, Warning::MoreEnds { logged: 0.05, .. })));
    // In truth 0.6 - 30: six steps at 0.1, then the trip. The leaf of the trips holds other steps, too.
    let opinion = trips.second_opinion.unwrap().mean;
    assert!((-30.0..-10.0).contains(&opinion), "{opinion}");

    let stays = found(&model, &Climb(0.02), &climbing_task(1.0));
    assert!(stays.warnings.iter().all(|w| !w.disqualifies()), "{:?}", stays.warnings);
}

#[test]
fn a_termination_that_contradicts_the_logs_is_a_doubt() {
    let model = model(Blithe, &climbs(200));
    let contradicts = |limit| {
        let evaluation = found(&model, &Climb(0.02), &climbing_task(limit));
        evaluation.warnings.iter().find_map(|warning| match *warning {
            Warning::TerminationContradictsLogs { missed, terminal, invented, ongoing } => {
                Some([missed, terminal, invented, ongoing])
            }
            _ => None,
        })
    };
    assert_eq!(contradicts(1.0), None);
    // In degrees, nothing trips.
    let [missed, terminal, invented, _] = contradicts(57.3).unwrap();
    assert_eq!((missed, terminal, invented), (10, 10, 0));
    // Too early.
    let [missed, _, invented, ongoing] = contradicts(0.1).unwrap();
    assert!(missed == 0 && invented > 10 && ongoing > 1000, "{missed}, {invented} of {ongoing}");
}

#[test]
fn a_termination_that_no_logged_episode_met_is_said_without_a_doubt() {
    let never_trips = model(Blithe, &climbs_of((0..200).filter(|index| index % 20 != 0)));
    let about_ends = |model: &Model, limit| {
        let evaluation = found(model, &Climb(0.02), &climbing_task(limit));
        let mut warnings = evaluation.warnings.into_iter();
        warnings.find(|warning| matches!(warning, Warning::NoLoggedEnds { .. }))
    };
    let said = about_ends(&never_trips, 1.0).unwrap();
    assert!(!said.disqualifies());
    // 1 - .05^(1/190): so rare are ends that 190 episodes show none of them in one case of twenty.
    assert!(said.to_string().contains("none of 190 logged") && said.to_string().contains("1.6 %"));
    assert_eq!(about_ends(&model(Blithe, &climbs(200)), 1.0), None);
}

#[test]
fn a_reward_that_contradicts_the_logs_is_a_doubt_unless_it_is_meant() {
    let logs = steps(300, [-4.0, 4.0], [-1.0, 1.0], biased([0.0, 0.0]), 5);
    let model = model(LinearModel::three_members(0.0), &Dataset::from_episodes(logs).unwrap());
    let contradicts = |weights: Array1<f32>, rules_differ| {
        let reward: Option<Arc<dyn hambo::Reward>> = Some(Arc::new(LinearReward(weights)));
        let task = Task { reward, ..linear_task() };
        let variants = vec![Variant::DaInf];
        let settings =
            EvaluationSettings { variants, episodes: 50, rules_differ, ..Default::default() };
        let evaluation = model.evaluate(&policy(), &task, &settings, Seed(0), &Silent).unwrap();
        has(&evaluation, |w| matches!(w, Warning::RewardContradictsLogs { .. }))
    };
    assert!(!contradicts(array![1.0, -0.5], false));
    assert!(contradicts(array![-0.5, 1.0], false));
    assert!(!contradicts(array![-0.5, 1.0], true));
}

#[test]
fn actions_like_none_in_the_logs_are_a_doubt() {
    let foreign = |logs: &Dataset, action: f32| {
        let evaluation = found(&model(Blithe, logs), &Climb(action), &climbing_task(1.0));
        has(&evaluation, |w| matches!(w, Warning::ForeignActions { .. }))
    };
    let ranging = climbs(200);
    assert!(!foreign(&ranging, 0.15) && foreign(&ranging, 0.2));
    // Choices between two values: a probability is neither of them.
    let mut choices = climbs(200).to_episodes();
    for episode in &mut choices {
        episode.actions.mapv_inplace(|action| f32::from(action > 0.0));
    }
    let choices = Dataset::from_episodes(choices).unwrap();
    assert!(!foreign(&choices, 1.0) && foreign(&choices, 0.7));
}

/// Logs of `x' = 0.3 x + a + d`, where the disturbance is fresh noise or remembers itself.
fn disturbed(memory: f32) -> Dataset {
    let rng = &mut Seed(6).stream("disturbed");
    let one = |_| {
        let mut states = Array2::zeros((41, 1));
        let actions = Array2::from_shape_simple_fn((40, 1), || rng.random_range(-1.0..1.0));
        let mut disturbance = 0.0;
        for t in 0..40 {
            let fresh: f32 = rng.sample(StandardNormal);
            disturbance = memory * disturbance + 0.3 * (1.0 - memory * memory).sqrt() * fresh;
            states[[t + 1, 0]] = 0.3 * states[[t, 0]] + actions[[t, 0]] + disturbance;
        }
        Episode {
            next_states: states.slice(s![1.., ..]).to_owned(),
            rewards: Array1::zeros(40),
            states: states.slice(s![..40, ..]).to_owned(),
            actions,
            terminated: false,
            truncated: true,
        }
    };
    Dataset::from_episodes((0..200).map(one).collect()).unwrap()
}

#[test]
fn errors_that_follow_each_other_tell_that_the_state_lacks_something() {
    let ensemble = EnsembleSettings {
        hidden: vec![64, 64],
        max_steps: Some(1000),
        learn_reward: false,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let autocorrelation = |memory| {
        let model = Model::fit(&disturbed(memory), &settings, Seed(7), &Silent).unwrap();
        let persistence = &model.persistence;
        // The disturbance is a good part of what happens in a step.
        assert!(persistence.unexplained[0] > 0.05, "{persistence:?}");
        persistence.autocorrelation[0]
    };
    // 780 pairs scatter by 0.036. Of the disturbance's own 0.8 some is lost: the state that it has moved
    // tells the model of it.
    let (fresh, remembered) = (autocorrelation(0.0), autocorrelation(0.8));
    assert!(fresh.abs() < 0.15 && remembered > 0.5, "{fresh}, {remembered}");
}
