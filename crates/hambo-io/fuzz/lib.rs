//! What the targets share.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::task::{Reward, Termination};
use hambo::{Model, ModelSettings, Seed, Silent, Streams, Transitions};
use hambo::dataset::ColumnNames;
use hambo_io::expression::Expression;
use hambo_io::inspect::inspect;
use hambo_io::model::{Origin, SavedModel};
use hambo_io::onnx::{OnnxPolicy, OnnxReward};
use hambo_io::read::{self, Mapping};
use ndarray::array;

/// Readers and loaders catch panics of the libraries below them, which libFuzzer's hook would take for a crash. A panic
/// that leaves them still is one. `HAMBO_FUZZ_PANICS` shows the others, too.
fn let_panics_be_caught() {
    static NO_HOOK: Once = Once::new();
    NO_HOOK.call_once(|| {
        if std::env::var_os("HAMBO_FUZZ_PANICS").is_none() {
            std::panic::set_hook(Box::new(|_| {}));
        }
    });
}

/// Reads bytes as a file of data, whatever comes of it.
pub fn read_file(bytes: &[u8]) {
    let_panics_be_caught();
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let mapping = Mapping::default();
    let _ = read::open(file.path(), &mapping);
    let _ = inspect(file.path(), &mapping);
}

/// Reads bytes that start as files of a format do, so that no run is spent on recognising it.
pub fn read_as(magic: &[u8], bytes: &[u8]) {
    match bytes.starts_with(magic) {
        true => read_file(bytes),
        false => read_file(&[magic, bytes].concat()),
    }
}

/// Reads a folder of these files.
fn read_folder(files: &[(&str, &[u8])]) {
    let_panics_be_caught();
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("room for it");
        fs::write(path, bytes).expect("room for it");
    }
    let _ = read::open(directory.path(), &Mapping::default());
}

/// Reads bytes as the one Arrow file of a Minari dataset.
pub fn read_minari_arrow(bytes: &[u8]) {
    read_folder(&[("data/0/part-0.arrow", bytes)]);
}

/// Reads bytes as the one Parquet file of a Minari dataset.
pub fn read_minari_parquet(bytes: &[u8]) {
    read_folder(&[("data/0/part-0.parquet", bytes)]);
}

/// Reads bytes as what a LeRobot dataset tells of itself.
pub fn read_lerobot(bytes: &[u8]) {
    let data = include_bytes!("../tests/data/datasets/0/lerobot/data/chunk-000/episode_000000.parquet");
    read_folder(&[("meta/info.json", bytes), ("data/chunk-000/file-000.parquet", data)]);
}

/// Loads a model of these files, with checksums that are right.
fn load_model(document: &[u8], networks: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rest = small_model();
    // In the order in which they are written.
    let files = [
        ("model.json", Some(document)),
        ("networks.safetensors", Some(networks)),
        ("random.safetensors", rest.random.as_deref()),
        ("logged.safetensors", Some(&*rest.logged)),
        ("episodes.safetensors", Some(&*rest.episodes)),
        ("data.json", Some(&*rest.origin)),
    ];
    let mut checksums = String::new();
    for (name, bytes) in files {
        let Some(bytes) = bytes else { continue };
        checksums += &format!("{}  {name}\n", blake3::hash(bytes));
        fs::write(directory.path().join(name), bytes).expect("room for it");
    }
    fs::write(directory.path().join("checksums.txt"), checksums).expect("room for it");
    let _ = SavedModel::load(directory.path());
}

/// Loads a small model with another document.
pub fn load_document(bytes: &[u8]) {
    load_model(bytes, &small_model().networks);
}

/// Loads a small model with other networks.
pub fn load_networks(bytes: &[u8]) {
    load_model(&small_model().document, bytes);
}

struct Files {
    document: Vec<u8>,
    networks: Vec<u8>,
    logged: Vec<u8>,
    episodes: Vec<u8>,
    random: Option<Vec<u8>>,
    origin: Vec<u8>,
}

/// A tiny fitted model. It goes to the folder `HAMBO_FUZZ_SEEDS`, too, for fuzzing to start from.
fn small_model() -> &'static Files {
    static MODEL: OnceLock<Files> = OnceLock::new();
    MODEL.get_or_init(|| {
        let model = make_small_model().expect("a small model can be made");
        if let Some(seeds) = std::env::var_os("HAMBO_FUZZ_SEEDS").map(PathBuf::from) {
            fs::write(seeds.join("model_document/small"), &model.document).expect("room for it");
            fs::write(seeds.join("networks/small"), &model.networks).expect("room for it");
        }
        model
    })
}

fn make_small_model() -> Result<Files, Box<dyn std::error::Error>> {
    let (seed, task) = (Seed(0), pendulum::task(10));
    let policy = SwingUp::DETUNED.noisy(0.5);
    let logs = hambo::collect(&Pendulum, &task, &policy, 10, &mut Streams::new(seed, "logs"))?;
    let ensemble = EnsembleSettings { hidden: vec![4], max_steps: Some(5), ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent)?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("model");
    let origin = Origin::of(&logs, Path::new("logs"), String::new());
    SavedModel { model, origin }.save(&path)?;
    let document = fs::read(path.join("model.json"))?;
    let networks = fs::read(path.join("networks.safetensors"))?;
    let logged = fs::read(path.join("logged.safetensors"))?;
    let episodes = fs::read(path.join("episodes.safetensors"))?;
    let random = fs::read(path.join("random.safetensors")).ok();
    let origin = fs::read(path.join("data.json"))?;
    Ok(Files { document, networks, logged, episodes, random, origin })
}

/// Loads bytes as a policy and as a reward.
pub fn load_onnx(bytes: &[u8]) {
    let_panics_be_caught();
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let _ = OnnxPolicy::load(file.path(), 3, 1);
    let _ = OnnxReward::load(file.path(), 3, 1);
}

/// Parses and evaluates text.
pub fn evaluate(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(expression) = Expression::parse(text, &ColumnNames::numbered(2, 1)) else { return };
    let states = array![[0.0, -1.5], [f32::NAN, f32::INFINITY], [f32::MAX, f32::MIN_POSITIVE]];
    let actions = array![[2.0], [-0.0], [f32::NEG_INFINITY]];
    let _ = expression.reward(&Transitions { states: states.view(), actions: actions.view(), next_states: states.view() });
    let _ = expression.terminated(&Transitions { states: states.view(), actions: actions.view(), next_states: states.view() });
}
