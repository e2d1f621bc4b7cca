//! What the targets share.

use std::fs;
use std::io::Write;
use std::sync::OnceLock;

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Model, ModelSettings, Seed, Silent, Streams};
use hambo_io::expression::{Expression, numbered_names};
use hambo_io::inspect::inspect;
use hambo_io::onnx::{OnnxPolicy, OnnxReward};
use hambo_io::read::{self, Mapping};

/// Reads bytes as a file of data, whatever comes of it.
pub fn read_file(bytes: &[u8]) {
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
    let directory = tempfile::tempdir().expect("a temporary directory");
    let episode = directory.path().join("data").join("0");
    fs::create_dir_all(&episode).expect("room for it");
    fs::write(episode.join("part-0.arrow"), bytes).expect("room for it");
    let _ = read::open(directory.path(), &Mapping::default());
}

/// Loads a model of which one file is `bytes` and the checksums are right.
pub fn load_model(document: &[u8], networks: Option<&[u8]>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut checksums = format!("{}  model.json\n", blake3::hash(document));
    fs::write(directory.path().join("model.json"), document).expect("room for it");
    if let Some(networks) = networks {
        checksums += &format!("{}  networks.safetensors\n", blake3::hash(networks));
        fs::write(directory.path().join("networks.safetensors"), networks).expect("room for it");
    }
    fs::write(directory.path().join("checksums.txt"), checksums).expect("room for it");
    let _ = hambo_io::model::load(directory.path());
}

/// Loads a good model with other networks.
pub fn load_networks(bytes: &[u8]) {
    static DOCUMENT: OnceLock<Vec<u8>> = OnceLock::new();
    load_model(
        DOCUMENT.get_or_init(|| small_model().expect("a small model can be made")),
        Some(bytes),
    );
}

/// The document of a tiny fitted model.
fn small_model() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (seed, task) = (Seed(0), pendulum::task(10));
    let policy = SwingUp::DETUNED.noisy(0.5);
    let logs = hambo::collect(&Pendulum, &task, &policy, 10, &mut Streams::new(seed, "logs"))?;
    let ensemble = EnsembleSettings { hidden: vec![4], max_steps: 5, ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent)?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("model");
    hambo_io::model::save(&model, &path)?;
    Ok(fs::read(path.join("model.json"))?)
}

/// Loads bytes as a policy and as a reward.
pub fn load_onnx(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let _ = OnnxPolicy::load(file.path(), 3, 1);
    let _ = OnnxReward::load(file.path(), 3, 1);
}

/// Parses and evaluates text.
pub fn evaluate(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = Expression::parse(text, &numbered_names(2, 1));
}
