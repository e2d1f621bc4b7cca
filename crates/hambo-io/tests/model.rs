//! Saved models: the same predictions bit for bit wherever they are loaded, and no damage goes unnoticed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hambo::dataset::ColumnNames;
use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::dynamics::gp::GpSettings;
use hambo::task::pendulum::{self, Pendulum};
use hambo::{Dataset, Dynamics, Model, ModelSettings, Prediction, Seed, Silent, Streams, collect};
use hambo_io::Error;
use hambo_io::model::{Origin, SavedModel};
use ndarray::ArrayView2;

fn data() -> Dataset {
    let (task, policy) = pendulum::everywhere();
    collect(&Pendulum, &task, &policy, 60, &mut Streams::new(Seed(1), "logs")).unwrap()
}

fn ensemble(learn_reward: bool) -> Model {
    with_history(learn_reward, 0)
}

fn with_history(learn_reward: bool, history: usize) -> Model {
    let ensemble = EnsembleSettings {
        members: 3,
        hidden: vec![8, 6],
        max_steps: Some(30),
        learn_reward,
        ..Default::default()
    };
    let settings = ModelSettings { ensemble, history, ..Default::default() };
    Model::fit(&data(), &settings, Seed(2), &Silent).unwrap()
}

fn processes() -> Model {
    let gp = Some(GpSettings { starts: 1, likelihood_rows: 30, ..Default::default() });
    let settings = ModelSettings { gp, ..Default::default() };
    Model::fit(&data(), &settings, Seed(3), &Silent).unwrap()
}

fn predict(model: &Model) -> Prediction {
    let data = data();
    let states = model.begin(data.states());
    model.dynamics.predict(states.view(), data.actions()).unwrap()
}

fn save(model: &Model, path: &Path) -> hambo_io::Result<()> {
    let origin = Origin::of(&data(), Path::new("logs.csv"), String::new());
    SavedModel { model: model.clone(), origin }.save(path)
}

fn load(path: &Path) -> hambo_io::Result<Model> {
    Ok(SavedModel::load(path)?.model)
}

/// Saves to a place that ends with the test.
fn saved(model: &Model) -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("model");
    save(model, &path).unwrap();
    (place, path)
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_moved_model_predicts_the_same_bits() {
    for original in [ensemble(false), ensemble(true), with_history(true, 2), processes()] {
        let (place, path) = saved(&original);
        let moved = place.path().join("deeper").join("elsewhere");
        fs::create_dir(moved.parent().unwrap()).unwrap();
        fs::rename(&path, &moved).unwrap();
        let loaded = load(&moved).unwrap();
        assert_eq!(predict(&loaded), predict(&original));
        assert_eq!(loaded.calibration, original.calibration);
        assert_eq!(loaded.data_range, original.data_range);
        assert_eq!(loaded.report, original.report);
        assert_eq!(loaded.history, original.history);
        assert_eq!(loaded.data, data().identity());
        // Saved again, it is the same files.
        let (_place, again) = saved(&loaded);
        for file in files(&moved) {
            let other = again.join(file.file_name().unwrap());
            assert_eq!(fs::read(&file).unwrap(), fs::read(other).unwrap(), "{file:?}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_detected() {
    for original in [ensemble(false), processes()] {
        let (_place, path) = saved(&original);
        let mut tried = 0;
        for file in files(&path) {
            let bytes = fs::read(&file).unwrap();
            // Every byte of small files, every few of large ones.
            for index in (0..bytes.len()).step_by(bytes.len().div_ceil(600)) {
                let mut damaged = bytes.clone();
                damaged[index] ^= 1 << (index % 8);
                fs::write(&file, &damaged).unwrap();
                let error = load(&path).err().map(|error| error.to_string());
                let message = error.unwrap_or_else(|| panic!("{file:?}, byte {index}"));
                assert!(message.contains(path.to_str().unwrap()), "{message}");
                tried += 1;
            }
            fs::write(&file, &bytes).unwrap();
        }
        assert!(tried > 500, "{tried}");
        load(&path).unwrap();
    }
}

#[test]
fn what_is_wrong_with_a_directory_is_said() {
    let (place, path) = saved(&ensemble(false));
    let message = |path: &Path| load(path).err().unwrap().to_string();

    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(message(&empty).contains("is not a saved model: it has no `checksums.txt`"));
    assert!(message(&place.path().join("nowhere")).contains("is not a saved model"));
    assert!(matches!(save(&ensemble(false), &path), Err(Error::Exists { .. })));

    let networks = path.join("networks.safetensors");
    let bytes = fs::read(&networks).unwrap();
    fs::write(&networks, &bytes[..bytes.len() / 2]).unwrap();
    assert!(
        message(&path).contains("`networks.safetensors` has changed since"),
        "{}",
        message(&path)
    );
    fs::remove_file(&networks).unwrap();
    assert!(load(&path).is_err());
    fs::write(&networks, &bytes).unwrap();

    let document = path.join("model.json");
    let text = fs::read_to_string(&document).unwrap();
    fs::write(&document, text.replacen("\"schema\": 7", "\"schema\": 8", 1)).unwrap();
    assert!(message(&path).contains("written in schema 8, this version reads 7"));
    fs::write(&document, "{").unwrap();
    assert!(message(&path).contains("`model.json` cannot be understood"));
}

/// Checksums that match do not make nonsense a model.
#[test]
fn consistent_nonsense_is_refused() {
    for original in [ensemble(false), processes()] {
        let (_place, path) = saved(&original);
        let text = fs::read_to_string(path.join("model.json")).unwrap();
        let replacements = [
            ("\"state_dim\": 3", "\"state_dim\": 2"),
            ("\"state_dim\": 3", "\"state_dim\": 0"),
            ("\"hidden\": [\n        8,", "\"hidden\": [\n        0,"),
            ("\"hidden\": [\n        8,", "\"hidden\": [\n        9,"),
            ("\"members\": 3", "\"members\": 4"),
            ("\"variance\": ", "\"variance\": -"),
            ("\"range_widening\": ", "\"range_narrowing\": "),
        ];
        let mut tried = 0;
        for (from, to) in replacements.into_iter().filter(|(from, _)| text.contains(from)) {
            rewrite(&path, &text.replace(from, to));
            let error = load(&path).err();
            let message = error.unwrap_or_else(|| panic!("{to} was accepted")).to_string();
            assert!(message.contains("cannot be understood"), "{to}: {message}");
            tried += 1;
        }
        assert!(tried >= 4, "only {tried} replacements applied");
    }
}

/// Writes `model.json` with checksums to match.
fn rewrite(path: &Path, text: &str) {
    fs::write(path.join("model.json"), text).unwrap();
    let list = fs::read_to_string(path.join("checksums.txt")).unwrap();
    let others: String = list.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let hash = blake3::hash(text.as_bytes());
    fs::write(path.join("checksums.txt"), format!("{hash}  model.json\n{others}")).unwrap();
}

#[test]
fn a_model_and_its_origin_are_saved_together_and_damage_to_either_is_noticed() {
    let (_place, path) = saved(&ensemble(true));
    let loaded = SavedModel::load(&path).unwrap();
    assert_eq!(loaded.origin.source, "logs.csv");
    assert_eq!(loaded.origin.starts, data().initial_states());
    assert_eq!(loaded.model.data.names, ColumnNames::numbered(3, 1));
    fs::remove_file(path.join("data.json")).unwrap();
    let error = SavedModel::load(&path).err().unwrap().to_string();
    assert!(error.contains("it has no `data.json`"), "{error}");
}

/// A model of the user's own.
struct Still;

impl Dynamics for Still {
    fn state_dim(&self) -> usize {
        3
    }

    fn action_dim(&self) -> usize {
        1
    }

    fn predicts_reward(&self) -> bool {
        false
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        _actions: ArrayView2<'_, f32>,
    ) -> hambo::Result<Prediction> {
        let mean = states.to_owned();
        let zeros = &mean * 0.0;
        Ok(Prediction { mean, epistemic_std: zeros.clone(), aleatoric_std: zeros, members: None })
    }
}

#[test]
fn a_model_of_another_kind_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let model = Model { dynamics: Arc::new(Still), ..ensemble(false) };
    let path = place.path().join("model");
    assert!(matches!(save(&model, &path), Err(Error::Unsupported)));
    assert!(files(place.path()).is_empty());
}
