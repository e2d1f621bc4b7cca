//! A log and an ONNX policy in, a lower bound on the policy's return out: the whole line from Rust.
//!
//! `cargo run --example one_bound -- logs.csv policy.onnx 7` with the seed. Networks are small and rounds
//! few, so that it takes a second. The last line is the bound's bits, by which a test of the Python
//! package (`tests/test_same_bound.py`) tells that the library, the command and Python find the same.

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::{
    AdversarySettings, BoxError, EvaluationSettings, InitialStates, Model, ModelSettings, Seed,
    Silent, Task, Variant,
};
use hambo_io::onnx::OnnxPolicy;
use hambo_io::read::{self, Mapping};

/// Training allocates much, and the system's allocator halves its speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, policy, seed] = &*arguments else {
        return Err("give a log, a policy as an ONNX file and a seed".into());
    };
    let seed = Seed(seed.parse()?);
    let data = read::open(log, &Mapping::default())?.dataset;

    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![16, 16],
        max_steps: Some(200),
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&data, &settings, seed, &Silent)?;

    let policy = OnnxPolicy::load(policy, data.state_dim(), data.action_dim())?;
    let task = Task::new(InitialStates::of_episodes(&data), None, 10);
    let adversary = AdversarySettings {
        hidden: vec![16],
        batch_size: 64,
        episodes: 50,
        gradient_steps: 20,
        max_rounds: 2,
        ..Default::default()
    };
    let settings = EvaluationSettings {
        variants: vec![Variant::Ca, Variant::Da1, Variant::DaInf, Variant::Ds],
        episodes: 200,
        adversary,
        ..Default::default()
    };
    let found = model.evaluate(&policy, &task, &settings, seed, &Silent)?;
    let bound = found.lower_bound.ok_or("no conservative variant ran")?;
    println!("the return is at least {bound}; delta covers {}", found.delta_covers);
    println!("{:016x}", bound.to_bits());
    Ok(())
}
