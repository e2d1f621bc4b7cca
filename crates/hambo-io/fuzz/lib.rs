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

/// Reads bytes as the one Arrow file of a Minari dataset.
pub fn read_minari_arrow(bytes: &[u8]) {
    let_panics_be_caught();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let episode = directory.path().join("data").join("0");
    fs::create_dir_all(&episode).expect("room for it");
    fs::write(episode.join("part-0.arrow"), bytes).expect("room for it");
    let _ = read::open(directory.path(), &Mapping::default());
}

/// Loads a model of these files, with checksums that are right.
fn load_model(document: &[u8], networks: Option<&[u8]>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut checksums = format!("{}  model.json\n", blake3::hash(document));
    fs::write(directory.path().join("model.json"), document).expect("room for it");
    if let Some(networks) = networks {
        checksums += &format!("{}  networks.safetensors\n", blake3::hash(networks));
        fs::write(directory.path().join("networks.safetensors"), networks).expect("room for it");
    }
    let logged = &small_model().logged;
    checksums += &format!("{}  logged.safetensors\n", blake3::hash(logged));
    fs::write(directory.path().join("logged.safetensors"), logged).expect("room for it");
    let origin = &small_model().origin;
    checksums += &format!("{}  data.json\n", blake3::hash(origin));
    fs::write(directory.path().join("data.json"), origin).expect("room for it");
    fs::write(directory.path().join("checksums.txt"), checksums).expect("room for it");
    let _ = SavedModel::load(directory.path());
}

/// Loads a small model with another document.
pub fn load_document(bytes: &[u8]) {
    load_model(bytes, Some(&small_model().networks));
}

/// Loads a small model with other networks.
pub fn load_networks(bytes: &[u8]) {
    load_model(&small_model().document, Some(bytes));
}

struct Files {
    document: Vec<u8>,
    networks: Vec<u8>,
    logged: Vec<u8>,
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
    let origin = fs::read(path.join("data.json"))?;
    Ok(Files { document, networks, logged, origin })
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
