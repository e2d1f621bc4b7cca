//! Learned policies as files.

use hambo::dataset::EpisodeMarks;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::UniformPolicy;
use hambo::task::point_env::{self, PointEnv};
use hambo::{
    BoxError, EvaluationSettings, LearnAgainst, LearnSettings, Model, ModelSettings, Policy,
    RowStreams, Seed, Silent, Streams, collect,
};
use hambo_io::onnx::{OnnxPolicy, write_policy};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

/// What a policy does that was learned from somebody's logs, and what its file does.
fn learned_from(logged: &dyn Policy) -> [Array2<f32>; 2] {
    let task = point_env::task(8);
    let data = collect(&PointEnv, &task, logged, 30, &mut Streams::new(Seed(0), "logs")).unwrap();
    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![16],
        max_steps: Some(100),
        learn_reward: false,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&data, &settings, Seed(1), &Silent).unwrap();
    let quick = LearnSettings {
        hidden: vec![16, 8],
        clone_steps: 50,
        batch_size: 32,
        episodes: 6,
        gradient_steps: 20,
        judged_episodes: 4,
        max_rounds: 2,
        ..Default::default()
    };
    let evaluation = EvaluationSettings::default();
    let learned = model.learn(&task, &quick, &evaluation, Seed(2), &Silent).unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".onnx").unwrap();
    write_policy(file.path(), &learned.policy).unwrap();
    let read = OnnxPolicy::load(file.path(), 2, 2).unwrap();
    assert_eq!(read.learned_from(), Some(&EpisodeMarks::of(&data)));
    assert!(!read.learned_in_worlds());
    // The policy rests in the first round, so that one round leaves the copy.
    for (max_rounds, is_copy) in [(quick.max_rounds, false), (1, true)] {
        let in_worlds =
            LearnSettings { against: LearnAgainst::Worlds, max_rounds, ..quick.clone() };
        let taught = model.learn(&task, &in_worlds, &evaluation, Seed(2), &Silent).unwrap();
        assert_eq!(taught.best_round == 0, is_copy);
        let other = tempfile::NamedTempFile::with_suffix(".onnx").unwrap();
        write_policy(other.path(), &taught.policy).unwrap();
        assert_eq!(OnnxPolicy::load(other.path(), 2, 2).unwrap().learned_in_worlds(), !is_copy);
    }
    assert!(!read.is_stochastic());
    let states = data.all().slice(0, 200).states;
    let act = |policy: &dyn Policy| {
        let draws = &mut RowStreams::new(&mut Seed(3).stream("draws"), states.nrows());
        policy.act(states.view(), draws).unwrap()
    };
    [act(&learned.policy), act(&read)]
}

#[test]
fn a_learned_policy_does_the_same_from_its_file_and_the_file_knows_its_episodes() {
    let [own, from_file] = learned_from(&UniformPolicy { action_dim: 2, limit: 0.7 });
    // The same sums in another order.
    assert!((&own - &from_file).iter().all(|difference| difference.abs() < 1e-5));
    assert!(own.iter().all(|action| action.abs() <= 0.7));
    assert!(own.std(0.0) > 1e-3, "it does the same everywhere");
}

const WAYS: [[f32; 2]; 4] = [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]];

/// Goes into one of four directions.
struct Compass;

impl Policy for Compass {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let ways: Vec<[f32; 2]> = (0..states.nrows())
            .map(|row| WAYS[draws.row(row).random_range(0..WAYS.len())])
            .collect();
        Ok(ways.into())
    }
}

#[test]
fn a_policy_that_chooses_between_logged_actions_does_so_from_its_file() {
    let [own, from_file] = learned_from(&Compass);
    assert_eq!(own, from_file);
    let is_way = |row: ndarray::ArrayView1<'_, f32>| WAYS.iter().any(|way| row.to_vec() == way);
    assert!(own.rows().into_iter().all(is_way), "{own}");
    assert!(own.std(0.0) > 1e-3, "it does the same everywhere");
}
