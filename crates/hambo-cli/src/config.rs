//! `hambo.toml`: every setting, with its default, and how flags change them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hambo::{EvaluationSettings, LearnSettings, ModelSettings};
use hambo_io::read::Mapping;
use hambo_io::task::{BUILT_IN, Bounds, Starts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::args::Settings;
use crate::failure::{Exit, Failure, Result};
use crate::screen;

/// The file that is read when none is named.
pub(crate) const FILE: &str = "hambo.toml";

/// Settings of the `hambo` command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Seed of all randomness: the same seed gives the same bound. One beyond what TOML's integers
    /// can hold is written as text.
    #[serde(with = "seed")]
    #[schemars(with = "u64")]
    pub seed: u64,
    /// Other defaults of `model` and `evaluation`: `"paper"` for those of the paper, `"quick"` for a smaller model
    /// that is fitted for a shorter time, for a first look. What this file sets itself counts.
    pub preset: Option<Preset>,
    /// Which columns of a log hold what. A name stands for a column of any width, or for the columns
    /// `name_0`, `name_1`, and so on. What is left out is found by the names that libraries use.
    pub data: Mapping,
    /// What a return is made of.
    pub task: TaskSettings,
    /// What the policies look at.
    pub policy: PolicySettings,
    /// Named expressions, or ONNX files, whose mean over an episode must not be negative, such as
    /// `slow = "5 - abs(speed)"`. Each is bounded from below as the return is.
    pub constraints: BTreeMap<String, String>,
    /// How a model is made of data.
    pub model: ModelSettings,
    /// How a policy is evaluated.
    pub evaluation: EvaluationSettings,
    /// How a policy is learned.
    pub learn: LearnSettings,
}

/// What policies look at.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PolicySettings {
    /// The columns that a policy takes, by their names and in its order. If it is left out, it takes all columns
    /// of the state.
    pub inputs: Vec<String>,
    /// The logarithm of how probable an action is for the policy, or of its density, for estimators that weigh logged
    /// episodes (`--baselines`): an expression over columns of the state and the action, or an ONNX file that takes
    /// `state` and `action`. A policy that always chooses the same of a few actions needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_prob: Option<String>,
}

/// Other defaults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Preset {
    /// Five networks that see the same episodes; the smallest bound of CA, DA1 and DAinf.
    Paper,
    /// Smaller networks, fitted for a shorter time, and fewer episodes.
    Quick,
}

/// Where a return comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TaskSettings {
    /// Steps per episode.
    pub horizon: Option<usize>,
    /// What returns are counted in, such as `"EUR"`, for reports.
    pub unit: Option<String>,
    /// Weight of a reward relative to the one before it, in (0, 1]; 1 means none.
    pub discount: f32,
    /// An expression over the columns, such as `-(x^2) - 0.1*next_v^2`; an ONNX file; or a built-in
    /// task: `pendulum`, `point_env`, `point_safety`. If it is left out, it is learned from the data.
    pub reward: Option<String>,
    /// An expression that is true where an episode ends, such as `z < 0.7 || abs(angle) > 0.2`; an
    /// ONNX file; or a built-in task. If it is left out, episodes last to the horizon.
    pub termination: Option<String>,
    /// Where episodes start: `"data"`, where the logged ones did; a CSV file whose columns are the
    /// state's, as a sample of the starts; a list of states, as all the starts there are; or a
    /// built-in task.
    pub initial_states: Starts,
    /// What every state obeys: a table with `low`, `high` and `angles`, or a built-in task. If it is
    /// left out, states stay in the data's range, widened by `model.range_widening`.
    pub state_bounds: Option<Bounds>,
    /// Smallest and largest reward of a step, such as `[-10, 0]`, if the reward is learned. If it is
    /// left out, it stays in the logged range, widened by `model.range_widening`.
    pub reward_bounds: Option<[f32; 2]>,
    /// The least that a step can earn, such as `-10`. Episodes that leave the data then stop, and earn it in
    /// every step that is left, and no verdict abstains because of them. If it is left out, they go on.
    pub floor: Option<f32>,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            horizon: None,
            unit: None,
            discount: 1.0,
            reward: None,
            termination: None,
            initial_states: Starts::default(),
            state_bounds: None,
            reward_bounds: None,
            floor: None,
        }
    }
}

/// Settings, and where they came from.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub config: Config,
    /// Paths in the settings are relative to this.
    pub base: PathBuf,
    /// The file that was found without being named.
    pub found: Option<PathBuf>,
}

impl Loaded {
    /// Reads the file, if there is one, and applies `--set` and `--seed`.
    pub(crate) fn of(settings: &Settings) -> Result<Self> {
        let found = || Path::new(FILE).is_file().then(|| PathBuf::from(FILE));
        let found = if settings.config.is_none() { found() } else { None };
        let file = settings.config.clone().or_else(|| found.clone());
        let mut config = match &file {
            Some(file) => read(file)?,
            None => Config::default(),
        };
        if settings.quick {
            config = config.preset(Preset::Quick);
        }
        config = change(config, &settings.set)?;
        config.seed = settings.seed.unwrap_or(config.seed);
        let base = file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        Ok(Self { config, base, found })
    }
}

/// TOML's integers have a sign.
mod seed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Number(i64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let number = i64::try_from(*seed).map(Seed::Number);
        number.unwrap_or_else(|_| Seed::Text(seed.to_string())).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = match Seed::deserialize(deserializer)? {
            Seed::Number(number) => number.to_string(),
            Seed::Text(text) => text,
        };
        let expected = "a whole number from 0 to 18446744073709551615";
        let wrong =
            |_| serde::de::Error::custom(format!("the seed is `{text}`; expected {expected}"));
        text.parse().map_err(wrong)
    }
}

impl Config {
    /// Changed to what a preset says.
    fn preset(self, preset: Preset) -> Self {
        match preset {
            Preset::Paper => Self {
                preset: Some(preset),
                model: self.model.as_in_paper(),
                evaluation: self.evaluation.as_in_paper(),
                ..self
            },
            // There are always ten networks: with fewer worlds the limit over them says less.
            Preset::Quick => {
                let mut config = Self { preset: Some(preset), ..self };
                config.model.ensemble.hidden = vec![64, 64];
                config.model.ensemble.max_steps = Some(1_000);
                config.evaluation.episodes = 1_000;
                config.evaluation.cost_episodes = 50;
                config
            }
        }
    }

    /// How logs are read: a reward that is a rule needs no column.
    pub(crate) fn mapping(&self) -> Mapping {
        let is_formula =
            |text: &&String| !text.ends_with(".onnx") && !BUILT_IN.contains(&text.as_str());
        let reward_otherwise = self.task.reward.as_ref().filter(is_formula).cloned();
        Mapping { reward_otherwise, ..self.data.clone() }
    }

    pub(crate) fn to_toml(&self) -> Result<String> {
        toml::to_string(self)
            .map_err(|error| Failure::Internal(format!("the settings cannot be written: {error}")))
    }
}

/// Prints the settings that would be used.
pub(crate) fn show(config: &Config) -> Result<Exit> {
    screen::print(&config.to_toml()?)?;
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Config> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::io(file, "read the settings", &error))?;
    let wrong = |error: toml::de::Error| {
        let advice = suggestion(error.message());
        Failure::input(format!("{}: {}{advice}", file.display(), error.to_string().trim_end()))
    };
    let config: Config = toml::from_str(&text).map_err(wrong)?;
    let Some(preset) = config.preset else { return Ok(config) };
    let mut table: Table =
        toml::from_str(&Config::default().preset(preset).to_toml()?).map_err(wrong)?;
    overlay(&mut table, toml::from_str(&text).map_err(wrong)?);
    table.try_into().map_err(wrong)
}

/// Puts all values of one table over those of another.
fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Applies `key=value` pairs, whose keys are dotted and whose values are TOML or else text.
pub(crate) fn change(config: Config, pairs: &[String]) -> Result<Config> {
    let mut config = config;
    for pair in pairs {
        let wrong = |message: String| Failure::input(format!("--set {pair}: {message}"));
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| wrong("expected KEY=VALUE, such as evaluation.delta=0.1".into()))?;
        let value = value.trim();
        let parsed = toml::from_str::<Table>(&format!("value = {value}"));
        let value = parsed.ok().and_then(|mut table| table.remove("value"));
        let value = value.unwrap_or_else(|| Value::String(pair[key.len() + 1..].trim().into()));
        let mut table = Table::try_from(&config).map_err(|error| wrong(error.to_string()))?;
        let keys: Vec<&str> = key.trim().split('.').collect();
        insert(&mut table, &keys, value).map_err(wrong)?;
        config = table.try_into().map_err(|e: toml::de::Error| {
            wrong(format!("{}{}", e.message(), suggestion(e.message())))
        })?;
        if let (["preset"], Some(preset)) = (&keys[..], config.preset) {
            config = config.preset(preset);
        }
    }
    Ok(config)
}

fn insert(table: &mut Table, keys: &[&str], value: Value) -> Result<(), String> {
    match keys {
        [] => Ok(()),
        [last] => {
            table.insert((*last).into(), value);
            Ok(())
        }
        [first, rest @ ..] => {
            let inner = table.entry(*first).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => insert(inner, rest, value),
                _ => Err(format!("`{first}` is no section, so it has no `{}`", rest.join("."))),
            }
        }
    }
}

/// The nearest of the names that an error message says were expected.
fn suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_unknown = message.contains("unknown field") || message.contains("unknown variant");
    let Some(unknown) = quoted.next().filter(|_| is_unknown) else { return String::new() };
    let score = |name: &&str| (1000.0 * strsim::jaro_winkler(unknown, name)) as u64;
    match quoted.max_by_key(score).filter(|name| score(name) > 700) {
        Some(nearest) => format!("\ndid you mean `{nearest}`?"),
        None => String::new(),
    }
}

/// What differs between two settings, key by key.
pub(crate) fn differences(before: &str, now: &str) -> Vec<String> {
    let flat = |text: &str| {
        let mut flat = BTreeMap::new();
        let table = toml::from_str::<Table>(text).unwrap_or_default();
        flatten("", &Value::Table(table), &mut flat);
        flat
    };
    let (before, now) = (flat(before), flat(now));
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let shown = |value: Option<&String>| value.cloned().unwrap_or("not set".into());
    keys.into_iter()
        .filter(|key| before.get(*key) != now.get(*key))
        .map(|key| format!("`{key}` was {}, is {}", shown(before.get(key)), shown(now.get(key))))
        .collect()
}

fn flatten(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let dot = if prefix.is_empty() { "" } else { "." };
                flatten(&format!("{prefix}{dot}{key}"), value, into);
            }
        }
        other => {
            into.insert(prefix.into(), other.to_string());
        }
    }
}

/// Settings as JSON, in which infinite limits are text.
pub(crate) fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => number.into(),
            None => value.to_string().into(),
        },
        Value::Integer(number) => (*number).into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::String(text) => text.clone().into(),
        Value::Datetime(date) => date.to_string().into(),
        Value::Array(values) => values.iter().map(json).collect(),
        Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), json(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use hambo_io::task::Limits;

    use super::*;

    #[test]
    fn the_defaults_survive_being_written_and_read() {
        let text = Config::default().to_toml().unwrap();
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), Config::default());
        assert_eq!(toml::from_str::<Config>("").unwrap(), Config::default());
    }

    #[test]
    fn a_setting_can_be_changed_by_its_dotted_name() {
        let pairs = [
            "evaluation.adversary.max_rounds=7",
            "task.reward=-x^2",
            "task.state_bounds={low=[-inf],high=[1]}",
        ];
        let pairs: Vec<String> = pairs.iter().map(|pair| pair.to_string()).collect();
        let config = change(Config::default(), &pairs).unwrap();
        assert_eq!(config.evaluation.adversary.max_rounds, 7);
        assert_eq!(config.task.reward.as_deref(), Some("-x^2"));
        let Some(Bounds::Own(bounds)) = config.task.state_bounds else { panic!("no bounds") };
        assert_eq!(bounds.low, Limits::List(vec![f32::NEG_INFINITY]));
    }

    #[test]
    fn a_preset_changes_defaults_and_nothing_that_is_set() {
        let folder = std::env::temp_dir().join(format!("hambo-preset-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(FILE);
        let text = "preset = \"paper\"\n[model.ensemble]\nmembers = 7\n[task]\nhorizon = 3";
        std::fs::write(&file, text).unwrap();
        let config = read(&file).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(config.model.ensemble.members, 7);
        assert!(!config.model.ensemble.bootstrap && config.evaluation.narrow_box);
        assert_eq!(config.evaluation.variants.len(), 4);
        assert_eq!(config.task.horizon, Some(3));
        let pairs = ["preset=paper".to_owned(), "evaluation.narrow_box=false".to_owned()];
        let config = change(Config::default(), &pairs).unwrap();
        assert_eq!((config.model.ensemble.members, config.evaluation.narrow_box), (5, false));
    }

    #[test]
    fn every_seed_survives_being_written_and_read() {
        for seed in [0, 7, u64::from(u32::MAX) + 1, u64::MAX] {
            let config = Config { seed, ..Config::default() };
            let text = config.to_toml().unwrap();
            assert_eq!(toml::from_str::<Config>(&text).unwrap(), config);
        }
        assert!(toml::from_str::<Config>("seed = -1").is_err());
    }

    #[test]
    fn a_misspelt_setting_is_refused_with_the_nearest_name() {
        let error = change(Config::default(), &["evaluation.detla=0.1".into()]).unwrap_err();
        assert!(error.to_string().contains("did you mean `delta`?"), "{error}");
        let error = change(Config::default(), &["evaluation.delta.x=1".into()]).unwrap_err();
        assert!(error.to_string().contains("no section"), "{error}");
    }

    #[test]
    fn differences_name_the_settings_that_changed() {
        let now = Config { seed: 3, ..Config::default() };
        let found = differences(&Config::default().to_toml().unwrap(), &now.to_toml().unwrap());
        assert_eq!(found, ["`seed` was 0, is 3"]);
    }
}
