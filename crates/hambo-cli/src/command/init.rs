//! `hambo init`: a `hambo.toml` in which every setting is explained.
//!
//! The explanations are the settings' own documentation, by way of their JSON Schema.

use std::collections::BTreeSet;
use std::path::Path;

use hambo::Dataset;
use hambo::dataset::ValueRange;
use hambo::dynamics::gp::GpSettings;
use hambo_io::atomic;
use hambo_io::profile::Proposal;
use hambo_io::read::{self, Cut, DiscreteActions, Mapping, Note};
use hambo_io::task::{Bounds, ColumnReference, Limits, OwnBounds};
use serde_json::Value;

use crate::args::Init;
use crate::config::{Config, TaskSettings, change};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen::{self, count};
use crate::{interrupt, logs};

pub(crate) fn run(args: &Init, progress: &Progress) -> Result<Exit> {
    let printed = args.out == Path::new("-");
    if args.out.exists() && !args.force && !printed {
        let message = format!("{} exists already; add --force to replace it", args.out.display());
        return Err(Failure::input(message));
    }
    let mut config = change(Config::default(), &args.set)?;
    let data = match &args.data {
        Some(path) => {
            progress.begin("read");
            if let Some(Proposal { mapping, horizon, .. }) = logs::proposal(path, &config)? {
                progress.note(
                    "the mapping of the columns is a proposal: look at [data] before you use it",
                );
                let horizon = config.task.horizon.or(horizon);
                (config.data, config.task.horizon) = (mapping, horizon);
                // What the user says of a column counts.
                config = change(config, &args.set)?;
            }
            let opened = read::open(path, &config.mapping())?;
            progress.end();
            interrupt::check("read")?;
            if config.task.horizon.is_none() && is_cut_short(&opened) {
                progress.note(
                    "no next state follows the last row of an episode, so that it is dropped: the horizon is \
                     one step shorter than the episodes of the file",
                );
            }
            Some((path.display().to_string(), opened.dataset))
        }
        None => None,
    };
    let data = data.as_ref().map(|(path, dataset)| (path.as_str(), dataset));
    let text = filled(config, data, &args.set)?;
    if printed {
        screen::print(&text)?;
    } else {
        atomic::write(&args.out, text.as_bytes())?;
        progress.note(&format!("settings written to {}", args.out.display()));
    }
    Ok(Exit::Done)
}

/// The file's text. Settings that the data or the user decided are active, all others comments.
fn filled(mut config: Config, data: Option<(&str, &Dataset)>, set: &[String]) -> Result<String> {
    let mut active: BTreeSet<String> = ["seed"].map(String::from).into();
    let mapped = toml::Table::try_from(&config.data).unwrap_or_default();
    let is_set = |value: &toml::Value| value.as_array().is_none_or(|list| !list.is_empty());
    let said = mapped.iter().filter(|(_, value)| is_set(value));
    active.extend(said.map(|(key, _)| format!("data.{key}")));
    let mut about = String::new();
    let mut about_bounds = "";
    let mut template = TaskSettings {
        horizon: Some(200),
        unit: Some("EUR".into()),
        reward: Some("-(x^2) - 0.1*next_v^2".into()),
        termination: Some("abs(x) > 10".into()),
        state_bounds: Some(Bounds::Own(OwnBounds {
            low: Limits::List(vec![-1.0, -1.0, f32::NEG_INFINITY]),
            high: Limits::List(vec![1.0, 1.0, f32::INFINITY]),
            angles: vec![["cos", "sin"].map(|name| ColumnReference::Name(name.into()))],
        })),
        reward_bounds: Some([-10.0, 0.0]),
        floor: Some(-10.0),
        ..config.task.clone()
    };
    if let Some((path, dataset)) = data {
        let summary = dataset.summary();
        let names = dataset.names_or_numbers();
        about = format!(
            "{path}: {} transitions in {} episodes, {} of them terminated.\nStates: {}.\nActions: {}.",
            count(summary.rows),
            count(summary.episodes),
            count(summary.terminated_episodes),
            names.states.join(", "),
            names.actions.join(", ")
        );
        if summary.terminated_episodes > 0 {
            about +=
                "\nEpisodes terminate, and when they do is not learned: give `termination` below.";
        }
        template.horizon = config.task.horizon.or(Some(summary.lengths.max as usize));
        active.insert("task.horizon".into());
        about_bounds =
            "The numbers are the data's own range, which is no limit of the system: replace them.";
        let limits = |of: fn(&ValueRange) -> f64| {
            Limits::List(summary.states.iter().map(|range| of(range) as f32).collect())
        };
        template.state_bounds = Some(Bounds::Own(OwnBounds {
            low: limits(|range| range.min),
            high: limits(|range| range.max),
            angles: Vec::new(),
        }));
        template.reward_bounds = Some([summary.rewards.min as f32, summary.rewards.max as f32]);
        // The least that was logged is not the least that can be.
        template.floor = Some(-1e6);
        let first = &names.states[0];
        template.reward = Some(format!("-({{{first}}}^2)"));
        template.termination = Some(format!("abs({{{first}}}) > 10"));
    }
    config.task = template;
    // What the user has said replaces every example.
    config = change(config, set)?;
    let key = |pair: &String| pair.split_once('=').map(|(key, _)| key.trim().to_owned());
    active.extend(set.iter().filter_map(key));
    config.data = example_mapping(&config.data);
    config.constraints.entry("example".into()).or_insert("1 - abs(x)".into());
    config.model.gp.get_or_insert(GpSettings::default());
    config.evaluation.baselines.get_or_insert_default();
    config.policy.log_prob.get_or_insert("ln(0.5)".into());
    Ok(commented(&config.to_toml()?, &active, &about, about_bounds))
}

/// Names in place of what is not mapped, to show how it is done.
fn example_mapping(mapped: &Mapping) -> Mapping {
    let list = |given: &Vec<String>, name: &str| match given.is_empty() {
        true => vec![name.to_owned()],
        false => given.clone(),
    };
    let one = |given: &Option<String>, name: &str| Some(given.clone().unwrap_or(name.into()));
    Mapping {
        state: list(&mapped.state, "observation"),
        exogenous: list(&mapped.exogenous, "outdoor_temperature"),
        action: list(&mapped.action, "action"),
        reward: one(&mapped.reward, "reward"),
        reward_otherwise: None,
        next_state: list(&mapped.next_state, "next_observation"),
        terminated: one(&mapped.terminated, "terminated"),
        truncated: one(&mapped.truncated, "truncated"),
        episode: list(&mapped.episode, "episode"),
        step: one(&mapped.step, "step"),
        source: one(&mapped.source, "source"),
        probability: one(&mapped.probability, "action_prob"),
        log_probability: one(&mapped.log_probability, "action_logp"),
        cut: mapped.cut.or(Some(Cut::Day)),
        missing: mapped.missing,
        discrete_actions: mapped.discrete_actions.clone().or(Some(DiscreteActions::Single(2))),
    }
}

/// Whether every episode has lost its last row, so that none lasts as long as it did.
fn is_cut_short(opened: &read::Opened) -> bool {
    let episodes = opened.dataset.episodes().len() as u64;
    let lost =
        |note: &Note| matches!(note, Note::LastRowsDropped { rows, .. } if *rows >= episodes);
    opened.notes.iter().any(lost)
}

/// Sections that may stand in a file without any of their settings.
const SECTIONS: [&str; 7] = [
    "data",
    "task",
    "model",
    "model.ensemble",
    "evaluation",
    "evaluation.adversary",
    "evaluation.thresholds",
];

/// The settings with their documentation, as comments unless they are `active`.
fn commented(settings: &str, active: &BTreeSet<String>, about: &str, about_bounds: &str) -> String {
    let schema = serde_json::to_value(schemars::schema_for!(Config)).unwrap_or_default();
    let mut text = String::from(
        "# Settings of hambo. Lines that begin with `# key =` show defaults or examples: remove the `#`\n\
         # to change them. `hambo config schema` prints the schema of this file for editors.\n",
    );
    comment(&mut text, about);
    let mut section = String::new();
    for line in settings.lines().filter(|line| !line.is_empty()) {
        text.push('\n');
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.to_owned();
            comment(&mut text, &documentation(&schema, name));
            comment(&mut text, if name == "task.state_bounds" { about_bounds } else { "" });
            let shown = SECTIONS.contains(&name) || active.iter().any(|key| key.starts_with(name));
            text += &format!("{}{line}\n", if shown { "" } else { "# " });
        } else if let Some((key, _)) = line.split_once(" = ") {
            let dot = if section.is_empty() { "" } else { "." };
            let path = format!("{section}{dot}{key}");
            comment(&mut text, &documentation(&schema, &path));
            text += &format!("{}{line}\n", if active.contains(&path) { "" } else { "# " });
        }
    }
    text
}

fn comment(text: &mut String, documentation: &str) {
    let options =
        textwrap::Options::new(98).initial_indent("# ").subsequent_indent("# ").break_words(false);
    for line in documentation.lines() {
        *text += &format!("{}\n", textwrap::fill(line, &options));
    }
}

/// The description of a setting, by its dotted name.
fn documentation(schema: &Value, path: &str) -> String {
    let mut node = schema;
    for key in path.split('.') {
        let Some(inner) = resolve(schema, node).get("properties").and_then(|p| p.get(key)) else {
            return String::new();
        };
        node = inner;
    }
    let own = node.get("description").or_else(|| resolve(schema, node).get("description"));
    own.and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

/// Follows references, also those of optional settings.
fn resolve<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let options = node.get("anyOf").or_else(|| node.get("allOf")).and_then(Value::as_array);
    let reference = |node: &'a Value| node.get("$ref").and_then(Value::as_str);
    let inner = options.and_then(|options| options.iter().find_map(reference));
    let Some(reference) = reference(node).or(inner) else { return node };
    schema.pointer(reference.trim_start_matches('#')).unwrap_or(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_holds_the_defaults() {
        let text = filled(Config::default(), None, &[]).unwrap();
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), Config::default(), "{text}");
    }

    #[test]
    fn what_was_set_is_active() {
        let set = ["task.reward=-cost", "policy.inputs=[\"x\"]", "task.unit=EUR"].map(String::from);
        let config = change(Config::default(), &set).unwrap();
        let text = filled(config, None, &set).unwrap();
        let read: Config = toml::from_str(&text).unwrap();
        assert_eq!(read.task.reward.as_deref(), Some("-cost"), "{text}");
        assert_eq!(
            (read.policy.inputs, read.task.unit.as_deref()),
            (vec!["x".into()], Some("EUR"))
        );
        assert_eq!(read.task.termination, None);
    }

    #[test]
    fn every_line_but_the_header_can_be_made_active() {
        let text = filled(Config::default(), None, &[]).unwrap();
        let active: String = text
            .lines()
            .filter_map(|line| {
                let bare = line.strip_prefix("# ").unwrap_or(line);
                let is_setting = bare.split_once(" = ").is_some_and(|(key, _)| {
                    key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                });
                (is_setting || bare.starts_with('[')).then(|| format!("{bare}\n"))
            })
            .collect();
        let config: Config = toml::from_str(&active).unwrap();
        assert_eq!(config.task.horizon, Some(200), "{active}");
        assert!(config.model.gp.is_some());
    }

    #[test]
    fn every_setting_is_explained_by_its_documentation() {
        let text = filled(Config::default(), None, &[]).unwrap();
        for part in
            ["Steps per episode.", "Most rounds.", "Probability with which the bound may fail"]
        {
            assert!(text.contains(part), "{part}");
        }
    }
}
