//! Columns that no action influences: played episodes go through them as logged ones did.

use std::sync::Arc;

use crate::common::{LinearModel, calibrated};
use hambo::dataset::FlatColumns;
use hambo::task::InitialStates;
use hambo::{
    BoxError, Dataset, Error, Evaluation, EvaluationSettings, LoggedEpisodes, Model, Policy,
    Reward, RowStreams, Seed, Silent, Task, Transitions, Unseen,
};
use ndarray::{Array1, Array2, ArrayView2, array};

const STEPS: usize = 10;
const EPISODES: usize = 20;

/// The weather of an episode after so many steps.
fn weather(episode: usize, step: usize) -> f32 {
    episode as f32 + 0.1 * step as f32
}

/// Two columns, of which the second is the weather. `gaps` are rows before which the log has a gap.
fn data(gaps: Vec<usize>) -> Dataset {
    let rows = EPISODES * STEPS;
    let at = |row: usize, later: usize| {
        [0.01 * (row + later) as f32, weather(row / STEPS, row % STEPS + later)]
    };
    let is_last = |row: usize| row % STEPS == STEPS - 1;
    let columns = FlatColumns {
        state_dim: 2,
        action_dim: 1,
        states: (0..rows).flat_map(|row| at(row, 0)).collect::<Vec<_>>().into(),
        actions: (0..rows).map(|row| 0.1 * (row % STEPS) as f32).collect::<Vec<_>>().into(),
        rewards: vec![0.0; rows].into(),
        next_states: (0..rows).flat_map(|row| at(row, 1)).collect::<Vec<_>>().into(),
        terminated: vec![false; rows],
        truncated: (0..rows).map(is_last).collect(),
        episode_ends: (1..=EPISODES).map(|episode| episode * STEPS).collect(),
        gaps,
    };
    // An episode's last next state is not the next one's first state: that is allowed.
    Dataset::from_columns(columns, None).unwrap().with_exogenous(vec![1]).unwrap()
}

fn model(data: &Dataset) -> Model {
    let rng = &mut Seed(0).stream("episodes");
    Model {
        exogenous: data.exogenous().to_vec(),
        history: None,
        episodes: LoggedEpisodes::of(data, &Unseen::by_all(data.all()), rng),
        ..calibrated(LinearModel::three_members(0.1))
    }
}

struct Still;

impl Policy for Still {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        _: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        Ok(Array2::from_elem((states.nrows(), 1), 0.5))
    }
}

/// Earns the weather.
struct Weather;

impl Reward for Weather {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        Ok(transitions.next_states.column(1).to_owned())
    }
}

fn evaluate(data: &Dataset, starts: InitialStates, horizon: usize) -> hambo::Result<Evaluation> {
    let task = Task::new(starts, Some(Arc::new(Weather)), horizon);
    let settings = EvaluationSettings { episodes: 40 * EPISODES, ..Default::default() };
    model(data).evaluate(&Still, &task, &settings, Seed(1), &Silent)
}

/// What an episode earns of the weather in its first steps.
fn earned(episode: usize, steps: usize) -> f64 {
    (1..=steps).map(|step| f64::from(weather(episode, step))).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn starts_at_another_hour_than_the_logs_are_noticed() {
    let data = data(Vec::new());
    let mut noon = data.initial_states();
    let codes = |starts: &Array2<f32>| {
        let found = evaluate(&data, InitialStates::Observed(starts.clone()), STEPS).unwrap();
        found.warnings.iter().map(|warning| warning.code()).collect::<Vec<_>>()
    };
    assert!(!codes(&noon).contains(&"foreign_starts"));
    // The weather of no logged start: it would go on from another one.
    noon.column_mut(1).fill(-40.0);
    assert!(codes(&noon).contains(&"foreign_starts"));
}

#[test]
fn the_weather_is_the_logged_one_whatever_members_say() {
    let data = data(Vec::new());
    let found = evaluate(&data, InitialStates::of_episodes(&data), STEPS).unwrap();
    let expected = mean(&(0..EPISODES).map(|episode| earned(episode, STEPS)).collect::<Vec<_>>());
    let worlds = &found.variants[0];
    // float32 rewards, of which ten are added up.
    for member in &worlds.members {
        assert!((member.mean - expected).abs() < 1e-3, "{} for {expected}", member.mean);
    }
    // What is done is shown beside what was done in the same steps of the logs.
    for (step, point) in worlds.evidence.over_horizon.iter().enumerate() {
        assert!((point.actions[0] - 0.5).abs() < 1e-6, "{point:?}");
        assert!((point.logged_actions[0] - 0.1 * step as f64).abs() < 1e-6, "{point:?}");
    }
    // Days are the units: twenty of them, not eight hundred rollouts.
    assert_eq!(worlds.estimate.independent, EPISODES);
    // Replayed in its own weather, no episode is judged wrongly.
    let replay = worlds.worlds.as_ref().unwrap().replay.as_ref().unwrap();
    assert!(replay.groups().iter().all(|group| group.bias.abs() < 1e-3), "{:?}", replay.groups());
}

#[test]
fn days_that_a_gap_cuts_short_are_no_starts() {
    // In the middle of episode 3, and before all that is known of episode 5.
    let data = data(vec![3 * STEPS + 4, 5 * STEPS]);
    let found = evaluate(&data, InitialStates::of_episodes(&data), STEPS).unwrap();
    let whole = (0..EPISODES).filter(|episode| ![3, 5].contains(episode));
    let expected = mean(&whole.map(|episode| earned(episode, STEPS)).collect::<Vec<_>>());
    let estimate = &found.variants[0].estimate;
    assert_eq!(estimate.independent, EPISODES - 2);
    // Eight hundred episodes go eighteen times 44 times, and 8 more.
    assert!((estimate.mean - expected).abs() < 0.02 * expected, "{} for {expected}", estimate.mean);
}

#[test]
fn starts_from_elsewhere_take_the_most_similar_day() {
    let data = data(Vec::new());
    // The first column is none that decides.
    let starts = InitialStates::Fixed(array![[100.0, 7.2], [-100.0, 11.6]]);
    let found = evaluate(&data, starts, STEPS).unwrap();
    let expected = mean(&[earned(7, STEPS), earned(12, STEPS)]);
    assert!((found.variants[0].estimate.mean - expected).abs() < 1e-3);
}

#[test]
fn a_horizon_beyond_the_logged_days_is_refused() {
    let data = data(Vec::new());
    let found = evaluate(&data, InitialStates::of_episodes(&data), STEPS + 5);
    assert!(matches!(found, Err(Error::CoursesTooShort { whole: EPISODES, .. })), "{found:?}");
    // A step more than the log shows keeps the last weather.
    let found = evaluate(&data, InitialStates::of_episodes(&data), STEPS + 1).unwrap();
    let last = |episode| earned(episode, STEPS) + f64::from(weather(episode, STEPS));
    let expected = mean(&(0..EPISODES).map(last).collect::<Vec<_>>());
    assert!((found.variants[0].estimate.mean - expected).abs() < 1e-3);
}

#[test]
fn a_column_that_is_none_is_refused() {
    let message = data(Vec::new()).with_exogenous(vec![2]).unwrap_err().to_string();
    assert!(message.contains("state column 2 is said to be exogenous"), "{message}");
}
