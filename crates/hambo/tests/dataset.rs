//! What a dataset promises: located errors for broken data, episodes that stay whole, and no copies.

use hambo::dataset::{
    Buffer, ColumnNames, Dataset, DatasetError, DatasetNote, Episode, FlatColumns, Quantity,
    Standardizer, Target,
};
use hambo::rng::Seed;
use ndarray::{Array1, Array2, s};
use proptest::prelude::*;

/// Episodes of a two-dimensional walk whose every value is different.
fn walk(lengths: &[usize]) -> Vec<Episode> {
    lengths
        .iter()
        .enumerate()
        .map(|(episode, &steps)| {
            let at = |step: usize, column: usize| {
                (episode * 1000 + step) as f32 + 0.1 * column as f32 * (step * step) as f32
            };
            Episode {
                states: Array2::from_shape_fn((steps, 2), |(t, j)| at(t, j)),
                actions: Array2::from_shape_fn((steps, 1), |(t, _)| (t as f32).sin()),
                rewards: Array1::from_shape_fn(steps, |t| -(t as f32)),
                next_states: Array2::from_shape_fn((steps, 2), |(t, j)| at(t + 1, j)),
                terminated: episode % 2 == 0,
                truncated: episode % 2 == 1,
            }
        })
        .collect()
}

/// Six rows, two episodes of three steps.
fn flat() -> FlatColumns {
    let states = vec![0.0, 5.0, 1.0, 4.0, 2.0, 2.0, 7.0, 1.0, 8.0, 3.0, 9.0, 4.0];
    let next_states = vec![1.0, 4.0, 2.0, 2.0, 3.0, 3.0, 8.0, 3.0, 9.0, 4.0, 6.0, 6.0];
    FlatColumns {
        state_dim: 2,
        action_dim: 1,
        states: states.into(),
        actions: vec![0.1, 0.2, 0.3, 0.4, 0.5, 0.6].into(),
        rewards: vec![1.0; 6].into(),
        next_states: next_states.into(),
        terminated: vec![false, false, true, false, false, false],
        truncated: vec![false, false, false, false, false, true],
        episode_ends: vec![3, 6],
        gaps: Vec::new(),
    }
}

/// Breaks one thing, and what must be said about it.
type Broken = (&'static str, fn(&mut FlatColumns), &'static str);

fn edit(buffer: &mut Buffer, change: impl FnOnce(&mut Vec<f32>)) {
    let mut values = buffer.to_vec();
    change(&mut values);
    *buffer = values.into();
}

const BROKEN_COLUMNS: &[Broken] = &[
    (
        "a state is NaN",
        |c| edit(&mut c.states, |v| v[9] = f32::NAN),
        "episode 1, step 1: state column 1 is NaN; \
         remove the episode, or repair the value before loading",
    ),
    (
        "an action is infinite",
        |c| edit(&mut c.actions, |v| v[2] = f32::INFINITY),
        "episode 0, step 2: action column 0 is inf; \
         remove the episode, or repair the value before loading",
    ),
    (
        "a reward is NaN",
        |c| edit(&mut c.rewards, |v| v[3] = f32::NAN),
        "episode 1, step 0: reward is NaN; \
         remove the episode, or repair the value before loading",
    ),
    (
        "a next state is infinite",
        |c| edit(&mut c.next_states, |v| v[11] = f32::NEG_INFINITY),
        "episode 1, step 2: next state column 1 is -inf; \
         remove the episode, or repair the value before loading",
    ),
    (
        "a state was lost",
        |c| edit(&mut c.states, |v| v.truncate(11)),
        "state holds 11 values, 6 rows (one per reward) of 2 need 12; \
         check that the arrays are complete and row by row",
    ),
    (
        "actions are wider than declared",
        |c| edit(&mut c.actions, |v| v.extend([0.0; 6])),
        "action holds 12 values, 6 rows (one per reward) of 1 need 6; \
         check that the arrays are complete and row by row",
    ),
    (
        "no state columns",
        |c| c.state_dim = 0,
        "the dataset declares state vectors of length 0; give at least one column",
    ),
    (
        "a flag column is short",
        |c| c.truncated.truncate(5),
        "flag `truncated` has 5 rows, the dataset has 6; give one flag per step",
    ),
    (
        "an episode jumps",
        |c| edit(&mut c.next_states, |v| v[3] = 2.5),
        "episode 0: the next state of step 1 is not the state of step 2: \
         state column 1 is 2.5 in the one and 2 in the other; \
         an episode boundary may be missing, or the rows may be in another order",
    ),
    (
        "an episode goes on after its end",
        |c| c.terminated[4] = true,
        "episode 1, step 1: marked terminated, but the episode goes on for 1 more steps; \
         end the episode there",
    ),
    (
        "an episode goes on after its time limit",
        |c| c.truncated[0] = true,
        "episode 0, step 0: marked truncated, but the episode goes on for 2 more steps; \
         end the episode there",
    ),
    (
        "an episode without steps",
        |c| c.episode_ends = vec![3, 3, 6],
        "episode 1 has no steps; drop it, or check how episode boundaries were computed",
    ),
    (
        "boundaries out of order",
        |c| c.episode_ends = vec![3, 2, 6],
        "episode 1 ends at row 2, before the previous end 3; \
         boundaries are exclusive ends in increasing order",
    ),
    (
        "a boundary past the end",
        |c| c.episode_ends = vec![3, 7],
        "episode 1 ends at row 7, after the last row 6; \
         boundaries are exclusive ends in increasing order",
    ),
    (
        "rows that belong to no episode",
        |c| c.episode_ends = vec![3],
        "the last episode ends at row 3, but there are 6 rows (one per reward); \
         the rows after it belong to no episode",
    ),
];

#[test]
fn each_kind_of_broken_column_has_its_own_located_error() {
    assert!(Dataset::from_columns(flat(), None).is_ok());
    for (what, break_it, message) in BROKEN_COLUMNS {
        let mut columns = flat();
        break_it(&mut columns);
        let error = Dataset::from_columns(columns, None).expect_err(what);
        assert_eq!(&error.to_string(), message, "{what}");
    }
}

#[test]
fn each_kind_of_broken_episode_has_its_own_located_error() {
    type BrokenEpisode = (&'static str, fn(&mut Vec<Episode>), &'static str);
    let cases: &[BrokenEpisode] = &[
        ("no episodes", |e| e.clear(), "the dataset has no episodes; give at least one transition"),
        (
            "an episode of other width",
            |e| e[1].actions = Array2::zeros((4, 3)),
            "episode 1: action has 3 columns, the dataset declares 1; check the action columns",
        ),
        (
            "one reward short",
            |e| e[1].rewards = Array1::zeros(3),
            "episode 1: reward has 3 rows, the states have 4; \
             every step needs one (drop a final observation that has no action)",
        ),
        (
            "an empty episode",
            |e| {
                e[0] = Episode {
                    states: Array2::zeros((0, 2)),
                    actions: Array2::zeros((0, 1)),
                    rewards: Array1::zeros(0),
                    next_states: Array2::zeros((0, 2)),
                    ..e[0].clone()
                }
            },
            "episode 0 has no steps; drop it, or check how episode boundaries were computed",
        ),
    ];
    for (what, break_it, message) in cases {
        let mut episodes = walk(&[3, 4]);
        break_it(&mut episodes);
        let error = Dataset::from_episodes(episodes).expect_err(what);
        assert_eq!(&error.to_string(), message, "{what}");
    }
}

#[test]
fn names_appear_in_errors_and_warnings() {
    let names = || ColumnNames {
        states: vec!["angle".into(), "speed".into()],
        actions: vec!["torque".into()],
    };
    let mut columns = flat();
    edit(&mut columns.states, |v| v[9] = f32::NAN);
    let error = Dataset::from_columns(columns, Some(names())).expect_err("NaN");
    assert!(error.to_string().contains("state column 1 (`speed`) is NaN"), "{error}");

    let mut columns = flat();
    edit(&mut columns.actions, |v| v.fill(0.5));
    let dataset = Dataset::from_columns(columns, None).unwrap().with_names(names()).unwrap();
    assert_eq!(
        dataset.notes()[0].to_string(),
        "action column 0 (`torque`) is 0.5 in every row; \
         nothing tells what another value would do"
    );

    let twice = ColumnNames { states: vec!["x".into(), "x".into()], ..names() };
    assert_eq!(
        Dataset::from_columns(flat(), Some(twice)).expect_err("two of a name"),
        DatasetError::NameTwice { name: "x".into() }
    );
    let short = ColumnNames { states: vec!["x".into()], ..names() };
    assert_eq!(
        Dataset::from_columns(flat(), Some(short)).expect_err("a name is missing"),
        DatasetError::NameCount { quantity: Quantity::State, expected: 2, found: 1 }
    );
}

#[test]
fn duplicate_columns_are_a_warning() {
    let mut columns = flat();
    edit(&mut columns.states, |v| (0..6).for_each(|row| v[2 * row + 1] = v[2 * row]));
    edit(&mut columns.next_states, |v| (0..6).for_each(|row| v[2 * row + 1] = v[2 * row]));
    let dataset = Dataset::from_columns(columns, None).unwrap();
    let [DatasetNote::DuplicateColumns { first, second }] = dataset.notes() else {
        panic!("expected one note, got {:?}", dataset.notes());
    };
    assert_eq!((first.index, second.index), (0, 1));
}

#[test]
fn rounding_between_steps_is_not_a_teleport() {
    let mut columns = flat();
    edit(&mut columns.next_states, |v| v[3] = 2.000_01);
    assert!(Dataset::from_columns(columns, None).is_ok());
}

#[test]
fn columns_are_not_copied() {
    let columns = flat();
    let before = columns.states.as_ptr();
    let dataset = Dataset::from_columns(columns, None).unwrap();
    assert_eq!(dataset.states().as_ptr(), before);
}

#[test]
fn a_split_keeps_episodes_whole_and_every_row_once() {
    let dataset = Dataset::from_episodes(walk(&[5, 1, 9, 3, 7, 2, 8, 4])).unwrap();
    let mut rng = Seed(3).stream("split");
    let (train, held_out) = dataset.all().split(0.25, &mut rng).unwrap();
    assert_eq!(train.rows() + held_out.rows(), dataset.rows());
    assert!(held_out.rows() * 4 >= dataset.rows());
    let mut episodes = [train.episodes(), held_out.episodes()].concat();
    episodes.sort_unstable();
    assert_eq!(episodes, (0..8).collect::<Vec<_>>());

    let rows: Vec<usize> = (0..train.rows()).map(|index| train.row(index)).collect();
    let expected: Vec<usize> =
        train.episodes().iter().flat_map(|&e| dataset.episodes()[e].rows.clone()).collect();
    assert_eq!(rows, expected);
}

#[test]
fn one_episode_cannot_be_split() {
    let dataset = Dataset::from_episodes(walk(&[50])).unwrap();
    let error = dataset.all().split(0.5, &mut Seed(0).stream("split")).expect_err("one episode");
    assert!(error.to_string().contains("a split never cuts one"), "{error}");
}

#[test]
fn batches_visit_every_row_in_order() {
    let dataset = Dataset::from_episodes(walk(&[5, 6])).unwrap();
    let seen: Vec<f32> =
        dataset.all().batches(4).flat_map(|batch| batch.states.column(0).to_vec()).collect();
    assert_eq!(seen, dataset.states().column(0).to_vec());
}

#[test]
fn targets_are_state_differences_then_the_reward() {
    let dataset = Dataset::from_columns(flat(), None).unwrap();
    let batch = dataset.gather(&[0, 4]);
    assert_eq!(
        batch.targets(Target::Difference, 2, true),
        ndarray::array![[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]
    );
    assert_eq!(batch.targets(Target::NextState, 2, false), batch.next_states);
    assert_eq!(
        batch.targets(Target::Difference, 2, false),
        batch.targets(Target::Difference, 2, true).slice(s![.., ..2])
    );
    assert_eq!(batch.inputs().row(1).to_vec(), vec![8.0, 3.0, 0.5]);
}

#[test]
fn initial_states_are_the_first_of_each_episode() {
    let dataset = Dataset::from_columns(flat(), None).unwrap();
    assert_eq!(dataset.initial_states(), ndarray::array![[0.0, 5.0], [7.0, 1.0]]);
}

#[test]
fn episodes_copied_out_make_the_same_dataset() {
    let dataset = Dataset::from_columns(flat(), None).unwrap();
    let again = Dataset::from_episodes(dataset.to_episodes()).unwrap();
    assert_eq!(again.episodes(), dataset.episodes());
    assert_eq!(again.gather(&[0, 1, 2, 3, 4, 5]), dataset.gather(&[0, 1, 2, 3, 4, 5]));
}

#[test]
fn summary_counts_ends_and_returns() {
    let summary = Dataset::from_episodes(walk(&[3, 5, 2])).unwrap().summary();
    assert_eq!((summary.rows, summary.episodes), (10, 3));
    assert_eq!((summary.terminated_episodes, summary.truncated_episodes), (2, 1));
    assert_eq!((summary.returns.min, summary.returns.max), (-10.0, -1.0));
    assert_eq!(summary.lengths.mean, 10.0 / 3.0);
}

#[test]
fn summary_tells_sources_apart_and_counts_no_days_with_gaps() {
    let columns =
        FlatColumns { gaps: vec![4], rewards: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into(), ..flat() };
    let data = Dataset::from_columns(columns, None).unwrap();
    let summary = data.summary();
    assert_eq!((summary.returns.min, summary.returns.max), (6.0, 6.0), "the second has a gap");
    assert!(summary.sources.is_empty());
    let summary = data.with_sources(vec!["b".into(), "a".into()]).unwrap().summary();
    let told: Vec<_> =
        summary.sources.iter().map(|s| (&*s.name, s.episodes, s.returns.mean)).collect();
    assert_eq!(told, [("a", 1, 15.0), ("b", 1, 6.0)], "where all have gaps, all count");
}

#[test]
fn standardizing_gives_zero_mean_and_unit_variance_despite_a_large_offset() {
    let rows =
        Array2::from_shape_fn(
            (1000, 2),
            |(i, j)| {
                if j == 0 { 1e4 + ((i * 37) % 101) as f32 } else { 3.0 }
            },
        );
    let chunks = (0..10).map(|c| rows.slice(s![c * 100..(c + 1) * 100, ..]).to_owned());
    let standardizer = Standardizer::fit(2, chunks);
    let standardized = standardizer.apply(rows.view());
    let column = standardized.column(0);
    // float32 rounds values near 1e4 to 1e-3, which is 3e-5 of the column's spread.
    assert!(column.mean().unwrap().abs() < 1e-4);
    assert!((column.var(0.0) - 1.0).abs() < 1e-4);
    assert_eq!(standardizer.std()[1], 1.0, "a constant column is only shifted");
    assert!(standardized.column(1).iter().all(|&value| value == 0.0));
}

fn any_value() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -2.0f32..2.0, 1 => any::<f32>(), 1 => Just(f32::NAN)]
}

fn any_columns() -> impl Strategy<Value = FlatColumns> {
    let values = || prop::collection::vec(any_value(), 0..10);
    let flags = || prop::collection::vec(any::<bool>(), 0..5);
    let ends = prop::collection::vec(0usize..6, 0..4);
    let dims = (prop_oneof![0usize..4, Just(usize::MAX)], 0usize..3);
    (dims, values(), values(), values(), values(), flags(), flags(), ends).prop_map(
        |((state_dim, action_dim), s, a, r, n, terminated, truncated, episode_ends)| FlatColumns {
            state_dim,
            action_dim,
            states: s.into(),
            actions: a.into(),
            rewards: r.into(),
            next_states: n.into(),
            terminated,
            truncated,
            episode_ends,
            gaps: Vec::new(),
        },
    )
}

/// Mostly consistent columns, so that the checks behind the shapes are reached as well.
fn plausible_columns() -> impl Strategy<Value = FlatColumns> {
    (1usize..6, 1usize..3, 1usize..3).prop_flat_map(|(rows, state_dim, action_dim)| {
        let values = |count: usize| prop::collection::vec(any_value(), count);
        let flags = || prop::collection::vec(prop::bool::weighted(0.1), rows);
        (
            values(rows * state_dim),
            values(rows * action_dim),
            values(rows),
            values(rows * state_dim),
            flags(),
            flags(),
            prop::collection::vec(0..rows + 2, 0..4),
        )
            .prop_map(move |(s, a, r, n, terminated, truncated, mut ends)| {
                ends.push(rows);
                FlatColumns {
                    state_dim,
                    action_dim,
                    states: s.into(),
                    actions: a.into(),
                    rewards: r.into(),
                    next_states: n.into(),
                    terminated,
                    truncated,
                    episode_ends: ends,
                    gaps: Vec::new(),
                }
            })
    })
}

/// Builds, and uses what was built.
fn build_and_use(columns: FlatColumns) {
    if let Ok(dataset) = Dataset::from_columns(columns, None) {
        let summary = dataset.summary();
        assert_eq!(summary.rows, dataset.rows());
        assert!(dataset.states().iter().all(|value| value.is_finite()));
        let all = dataset.all();
        assert_eq!(all.slice(0, usize::MAX / 2).rewards.len(), dataset.rows());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500_000, ..ProptestConfig::default() })]

    #[test]
    fn no_builder_input_panics(columns in any_columns()) {
        build_and_use(columns);
    }

    #[test]
    fn no_plausible_builder_input_panics(columns in plausible_columns()) {
        build_and_use(columns);
    }
}
