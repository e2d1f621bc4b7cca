//! ONNX policies, rewards and terminations: exported files agree with torch, rows do not see each other.

use std::path::{Path, PathBuf};

use crate::onnx_builder::{FREE, bytes, floats, linear, load, node, port, with_int, written};
use hambo::dataset::{ColumnNames, Dataset, Episode};
use hambo::task::{Policy, Reward, Termination};
use hambo::{LoggedSample, RowStreams, Seed, Transitions, Unseen};
use hambo_io::onnx::{OnnxPolicy, OnnxReward, OnnxTermination, RangeDifference};
use ndarray::{Array1, Array2, Axis, array, s};
use rand::RngExt;
use rand_distr::StandardNormal;
use tract_onnx::pb::GraphProto;
use tract_onnx::pb::tensor_proto::DataType;

/// Files exported from stable-baselines3 and d3rlpy, with inputs and torch's own outputs; see
/// `make/` for the scripts. `HAMBO_POLICIES` names a directory with more of the kind.
fn exported() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/policies");
    std::env::var_os("HAMBO_POLICIES").map_or(own, PathBuf::from)
}

struct Exported {
    path: PathBuf,
    state_dim: usize,
    action_dim: usize,
    inputs: Vec<f32>,
    expected: Vec<f32>,
}

impl Exported {
    fn open(name: &str) -> Self {
        let file = |ending: &str| exported().join(format!("{name}.{ending}"));
        let declared: serde_json::Value =
            serde_json::from_slice(&std::fs::read(file("json")).unwrap()).unwrap();
        let number = |key: &str| declared[key].as_u64().unwrap() as usize;
        Self {
            path: file("onnx"),
            state_dim: number("state_dim"),
            action_dim: number("action_dim"),
            inputs: read_floats(&file("inputs.bin")),
            expected: read_floats(&file("expected.bin")),
        }
    }

    fn policy(&self) -> OnnxPolicy {
        OnnxPolicy::load(&self.path, self.state_dim, self.action_dim).unwrap()
    }

    fn states(&self) -> Array2<f32> {
        let rows = self.inputs.len() / self.state_dim;
        Array2::from_shape_vec((rows, self.state_dim), self.inputs.clone()).unwrap()
    }

    /// States, actions and next states, which stand in the file one array after the other.
    fn transitions(&self) -> [Array2<f32>; 3] {
        let rows = self.inputs.len() / (2 * self.state_dim + self.action_dim);
        let mut rest = &*self.inputs;
        [self.state_dim, self.action_dim, self.state_dim].map(|width| {
            let (own, after) = rest.split_at(rows * width);
            rest = after;
            Array2::from_shape_vec((rows, width), own.to_vec()).unwrap()
        })
    }
}

fn read_floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn largest_difference<'a>(
    found: impl IntoIterator<Item = &'a f32>,
    expected: impl IntoIterator<Item = &'a f32>,
) -> f32 {
    found.into_iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

const POLICIES: [&str; 8] = [
    "d3rlpy_td3_plus_bc",
    "d3rlpy_td3_plus_bc_batch_one",
    "ppo_hopper_normalised",
    "ppo_pendulum",
    "ppo_pendulum_gaussian",
    "sac_hopper_256",
    "sac_pendulum",
    "td3_pendulum",
];

#[test]
fn exported_policies_agree_with_torch() {
    for name in POLICIES {
        let exported = Exported::open(name);
        let actions = exported.policy().mean_actions(exported.states().view()).unwrap();
        assert_eq!(actions.len(), exported.expected.len(), "{name}");
        let difference = largest_difference(&actions, &exported.expected);
        println!("{name}: largest difference {difference:e} over {} rows", actions.nrows());
        assert!(difference < 1e-5, "{name}: {difference}");
    }
}

#[test]
fn exported_rewards_agree_with_torch() {
    for name in ["reward", "reward_pendulum"] {
        let exported = Exported::open(name);
        let reward =
            OnnxReward::load(&exported.path, exported.state_dim, exported.action_dim).unwrap();
        let [states, actions, next_states] = exported.transitions();
        let found = reward
            .reward(&Transitions {
                states: states.view(),
                actions: actions.view(),
                next_states: next_states.view(),
            })
            .unwrap();
        assert_eq!(found.len(), exported.expected.len(), "{name}");
        let difference = largest_difference(&found, &exported.expected);
        println!("{name}: largest difference {difference:e} over {} rows", found.len());
        assert!(difference < 1e-5, "{name}: {difference}");
    }
}

#[test]
fn exported_terminations_agree_with_torch() {
    for name in ["termination", "termination_float"] {
        let exported = Exported::open(name);
        let termination =
            OnnxTermination::load(&exported.path, exported.state_dim, exported.action_dim).unwrap();
        let [states, actions, next_states] = exported.transitions();
        let found = termination
            .terminated(&Transitions {
                states: states.view(),
                actions: actions.view(),
                next_states: next_states.view(),
            })
            .unwrap();
        let expected: Array1<bool> = exported.expected.iter().map(|&value| value != 0.0).collect();
        assert_eq!(found, expected, "{name}");
        assert!(found.iter().any(|&ended| ended) && found.iter().any(|&ended| !ended), "{name}");
    }
}

#[test]
fn a_row_has_the_same_bits_in_every_batch_and_place() {
    for name in POLICIES {
        let exported = Exported::open(name);
        let (policy, states) = (exported.policy(), exported.states());
        let all = policy.mean_actions(states.view()).unwrap();
        let backwards = policy.mean_actions(states.slice(s![..;-1, ..])).unwrap();
        assert_eq!(backwards.slice(s![..;-1, ..]), all, "{name}: backwards");
        for batch in [1, 2, 15, 16, 17, 127, 128, 129] {
            let parts =
                states.axis_chunks_iter(Axis(0), batch).zip(all.axis_chunks_iter(Axis(0), batch));
            for (states, expected) in parts.take(20) {
                assert_eq!(policy.mean_actions(states).unwrap(), expected, "{name}: {batch} rows");
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let exported = Exported::open("sac_hopper_256");
    let (policy, states) = (exported.policy(), exported.states());
    let on_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| policy.mean_actions(states.view()).unwrap())
    };
    assert_eq!(on_threads(1), on_threads(2));
    assert_eq!(on_threads(1), on_threads(5));
}

#[test]
fn a_gaussian_policy_draws_from_its_mean_and_std_with_the_given_stream() {
    let exported = Exported::open("ppo_pendulum_gaussian");
    let log_std =
        read_floats(&exported.path.with_file_name("ppo_pendulum_gaussian.expected_log_std.bin"));
    let (policy, states) = (exported.policy(), exported.states());
    assert!(policy.is_stochastic());
    let actions = policy.act(states.view(), &mut draws(Seed(3), states.nrows())).unwrap();
    let mut draws = draws(Seed(3), states.nrows());
    let rows = actions.iter().zip(&exported.expected).zip(log_std).enumerate();
    for (row, ((action, mean), log_std)) in rows {
        let noise: f32 = draws.row(row).sample(StandardNormal);
        assert!((action - (mean + log_std.exp() * noise)).abs() < 1e-5);
    }
    let means = policy.mean_actions(states.view()).unwrap();
    assert!(largest_difference(&actions, &means) > 0.1);
}

#[test]
fn one_std_may_serve_all_states() {
    // log_std = ln 2 for every state, as PPO's parameter is.
    let mut graph = linear();
    graph.output = vec![port("mean", &[FREE, 1]), port("log_std", &[1])];
    graph.node = vec![
        node("Gemm", &["state", "weight", "bias"], &["mean"]),
        node("Identity", &["constant"], &["log_std"]),
    ];
    graph.initializer.push(floats("constant", &[1], &[2f32.ln()]));
    let policy = load(&bytes(graph), 2, 1).unwrap();
    let states = Array2::zeros((20_000, 2));
    let actions = policy.act(states.view(), &mut draws(Seed(0), states.nrows())).unwrap();
    // The mean's standard error is 2 / sqrt(20,000) = 0.014, that of the deviation 0.01.
    assert!((actions.mean().unwrap() - 0.5).abs() < 0.06);
    assert!((actions.std(1.0) - 2.0).abs() < 0.04);
}

#[test]
fn a_linear_policy_gives_hand_computed_actions() {
    let policy = load(&bytes(linear()), 2, 1).unwrap();
    assert!(!policy.is_stochastic());
    let states = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-2.0, 3.0]];
    let actions = policy.act(states.view(), &mut draws(Seed(0), states.nrows())).unwrap();
    assert_eq!(actions, array![[0.5], [2.5], [-0.5], [-6.5]]);
    assert_eq!(policy.mean_actions(Array2::zeros((0, 2)).view()).unwrap().dim(), (0, 1));
}

#[test]
fn the_number_of_a_choice_may_be_given() {
    // Three scores, of which the file itself takes the highest: whole numbers without a second axis.
    let mut graph = linear();
    graph.output = vec![port("action", &[FREE])];
    graph.initializer[0] = floats("weight", &[2, 3], &[1.0, 0.0, -1.0, 0.0, 1.0, -1.0]);
    graph.initializer[1] = floats("bias", &[3], &[0.0; 3]);
    let best = with_int(node("ArgMax", &["scores"], &["action"]), "axis", 1);
    graph.node = vec![
        node("Gemm", &["state", "weight", "bias"], &["scores"]),
        with_int(best, "keepdims", 0),
    ];
    let policy = load(&bytes(graph), 2, 3).unwrap();
    let states = array![[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
    assert_eq!(policy.mean_actions(states.view()).unwrap(), array![[0.0], [1.0], [2.0]]);
    // What is cast to whole numbers is of another kind to the engine.
    let mut graph = linear();
    graph.node[0].output = vec!["plain".into()];
    let cast = node("Cast", &["plain"], &["action"]);
    graph.node.push(with_int(cast, "to", DataType::Int64 as i64));
    let policy = load(&bytes(graph), 2, 1).unwrap();
    let states = array![[0.0, 0.0], [1.0, 0.0], [-2.0, 3.0]];
    assert_eq!(policy.mean_actions(states.view()).unwrap(), array![[0.0], [2.0], [-6.0]]);
}

#[test]
fn states_of_another_width_are_an_error() {
    let policy = load(&bytes(linear()), 2, 1).unwrap();
    let error = policy.mean_actions(Array2::zeros((4, 3)).view()).unwrap_err().to_string();
    assert!(error.contains("rows of [3] values, it takes [2]"), "{error}");
}

#[test]
fn rewards_take_what_their_inputs_are_called() {
    // r = next_state . (1, 10) - action, under other common names.
    let graph = GraphProto {
        input: vec![port("next_obs", &[FREE, 2]), port("action", &[FREE, 1])],
        output: vec![port("value", &[FREE, 1])],
        initializer: vec![floats("weight", &[2, 1], &[1.0, 10.0])],
        node: vec![
            node("MatMul", &["next_obs", "weight"], &["product"]),
            node("Sub", &["product", "action"], &["value"]),
        ],
        ..GraphProto::default()
    };
    let file = written(&bytes(graph));
    let reward = OnnxReward::load(file.path(), 2, 1).unwrap();
    let (states, actions) = (array![[9.0, 9.0], [9.0, 9.0]], array![[0.5], [1.0]]);
    let next_states = array![[1.0, 2.0], [3.0, 4.0]];
    let found = reward
        .reward(&Transitions {
            states: states.view(),
            actions: actions.view(),
            next_states: next_states.view(),
        })
        .unwrap();
    assert_eq!(found, array![20.5, 42.0]);
}

#[test]
fn a_policy_that_is_not_scaled_is_doubted() {
    let notes = |scale: f32, data_limit: f32| {
        // action = scale tanh(3 s0)
        let graph = GraphProto {
            input: vec![port("state", &[FREE, 1])],
            output: vec![port("action", &[FREE, 1])],
            initializer: vec![floats("gain", &[1], &[3.0]), floats("scale", &[1], &[scale])],
            node: vec![
                node("Mul", &["state", "gain"], &["steep"]),
                node("Tanh", &["steep"], &["squashed"]),
                node("Mul", &["squashed", "scale"], &["action"]),
            ],
            ..GraphProto::default()
        };
        let dataset = uniform_actions(data_limit);
        let (logged, names) = (
            LoggedSample::of(
                &dataset,
                &Unseen::by_all(dataset.all()),
                &mut Seed(0).stream("sample"),
            ),
            dataset.names_or_numbers(),
        );
        load(&bytes(graph), 1, 1).unwrap().action_range_notes(&logged, &names).unwrap()
    };
    let kind = |scale, data_limit| notes(scale, data_limit).first().map(|note| note.kind);
    assert_eq!(kind(1.0, 2.0), Some(RangeDifference::Unscaled), "tanh against [-2, 2]");
    assert_eq!(kind(1.0, 100.0), Some(RangeDifference::Unscaled), "tanh against [-100, 100]");
    assert_eq!(kind(2.0, 1.0), Some(RangeDifference::Outside), "scaled against normalised data");
    assert_eq!(kind(1.0, 1.0), None, "the same scale");
    assert_eq!(kind(2.0, 2.0), None, "the same scale");
    assert_eq!(kind(0.2, 2.0), None, "a gentle policy, not an unscaled one");
    assert_eq!(kind(1.5, 2.0), None, "a policy that leaves [-1, 1] is scaled somehow");
    let note = &notes(1.0, 2.0)[0];
    let text = note.to_string();
    assert!(text.starts_with("action `torque`: on logged states"), "{text}");
    assert!(text.contains("the logged ones in [-2, 2]"), "{text}");
    assert!(note.help().contains("export it with"), "{}", note.help());
}

/// One episode along s = -1 .. 1, with actions over [-limit, limit].
fn uniform_actions(limit: f32) -> Dataset {
    let rows = 201;
    let states = Array2::from_shape_fn((rows, 1), |(row, _)| row as f32 / 100.0 - 1.0);
    let episode = Episode {
        actions: states.mapv(|state| -limit * state),
        rewards: Array1::zeros(rows),
        next_states: states.mapv(|state| state + 0.01),
        states,
        terminated: false,
        truncated: true,
    };
    let names = ColumnNames { states: vec!["angle".into()], actions: vec!["torque".into()] };
    let next = |episode: &Episode| {
        let mut next_states = episode.next_states.clone();
        let after = episode.states.slice(s![1.., ..]).to_owned();
        next_states.slice_mut(s![..rows - 1, ..]).assign(&after);
        next_states
    };
    let episode = Episode { next_states: next(&episode), ..episode };
    Dataset::from_episodes(vec![episode]).unwrap().with_names(names).unwrap()
}

fn draws(seed: Seed, rows: usize) -> RowStreams {
    RowStreams::new(&mut seed.stream("draw"), rows)
}

#[test]
fn an_output_of_scores_says_so_by_its_name() {
    for (name, are_scores) in
        [("scores", true), ("logits", true), ("q_values", true), ("output", false)]
    {
        let mut graph = linear();
        graph.output = vec![port(name, &[FREE, 1])];
        graph.node[0].output = vec![name.into()];
        assert_eq!(load(&bytes(graph), 2, 1).unwrap().gives_scores(), are_scores, "{name}");
    }
}

#[test]
fn noise_is_drawn_for_a_policy_that_takes_some() {
    let mut graph = linear();
    graph.input.push(port("noise", &[FREE, 1]));
    graph.node[0].output = vec!["best".into()];
    graph.node.push(node("Add", &["best", "noise"], &["action"]));
    let policy = load(&bytes(graph.clone()), 2, 1).unwrap();
    assert!(policy.is_stochastic());
    let states = array![[1.0, 0.0], [0.0, 1.0]];
    let best = array![[2.5], [-0.5]];
    assert_eq!(policy.mean_actions(states.view()).unwrap(), best);
    let stream = || RowStreams::new(&mut Seed(0).stream("draws"), 2);
    let drawn = policy.act(states.view(), &mut stream()).unwrap();
    let expected = |row| best[[row, 0]] + stream().row(row).sample::<f32, _>(StandardNormal);
    assert_eq!(drawn, array![[expected(0)], [expected(1)]]);
    // Nobody knows how much of it.
    graph.input[1] = port("noise", &[FREE, FREE]);
    assert!(
        load(&bytes(graph), 2, 1).unwrap_err().to_string().contains("`noise` of a known width")
    );
}
