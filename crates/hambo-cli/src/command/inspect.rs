//! `hambo inspect`: what is in logs, and what is wrong with them.

use hambo::Invariants;
use hambo::dataset::Summary;
use hambo_io::inspect::{self, Inspection};
use hambo_io::profile::{self, ColumnProfile, Profile, Proposal};
use hambo_io::read::Mapping;
use hambo_io::{Error, atomic};
use serde_json::json;

use crate::args::Inspect;
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen::{BAD, BOLD, NOTICE, count, number, styled, table, wrap};
use crate::{config, screen};

/// All that was found.
struct Found {
    profile: Option<Profile>,
    /// Whether the mapping is a proposal.
    is_proposed: bool,
    inspection: Result<Inspection, Error>,
}

pub(crate) fn run(args: &Inspect, quiet: bool, progress: &Progress) -> Result<Exit> {
    let loaded = Loaded::of(&args.settings)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    if let Some(file) = &loaded.found {
        progress.note(&format!("settings are those of {}", file.display()));
    }
    progress.begin("read");
    let found = Found::of(args, &loaded)?;
    progress.end();
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&found.as_json())
            .map_err(|error| Failure::Internal(format!("the result: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    let name = args.data.display().to_string();
    let text = if quiet { found.conclusion() } else { found.describe(&name) };
    screen::print(&text)?;
    Ok(if found.is_usable() { Exit::Done } else { Exit::Input })
}

impl Found {
    fn of(args: &Inspect, loaded: &Loaded) -> Result<Self> {
        let profile = profile::profile(&args.data)?;
        let mapping = loaded.config.mapping();
        let inspection = inspect::inspect(&args.data, &mapping);
        let proposal = profile.as_ref().map(|profile| &profile.proposal);
        let has_none = loaded.config.data == Mapping::default();
        // Without a table there is nothing to add to an error.
        match (inspection, proposal) {
            (Err(error), None) => Err(error.into()),
            (Err(error), Some(proposal)) if has_none && error.lacks_columns() => {
                let mapping = Mapping {
                    reward_otherwise: mapping.reward_otherwise,
                    ..proposal.mapping.clone()
                };
                let inspection = match proposal.is_complete() {
                    true => inspect::inspect(&args.data, &mapping),
                    false => Err(error),
                };
                Ok(Self { profile, is_proposed: true, inspection })
            }
            (inspection, _) => Ok(Self { profile, is_proposed: false, inspection }),
        }
    }

    fn is_usable(&self) -> bool {
        self.inspection.as_ref().is_ok_and(|found| found.problems.rows == 0 && found.rows > 0)
    }

    fn describe(&self, name: &str) -> String {
        let mut text = String::new();
        if let Some(profile) = &self.profile {
            text += &about_table(name, profile);
            if self.is_proposed {
                text += &about_proposal(name, &profile.proposal);
            }
        }
        if let Ok(found) = &self.inspection {
            text += &about_episodes(name, found);
        }
        for remark in self.profile.iter().flat_map(|profile| &profile.remarks) {
            text += &line(NOTICE, "look at this:", remark);
        }
        text + &self.conclusion()
    }

    fn conclusion(&self) -> String {
        match &self.inspection {
            Ok(found) => conclusion(found),
            Err(error) => line(BAD, "problem:", &error.to_string()),
        }
    }

    fn as_json(&self) -> serde_json::Value {
        let mut value = match &self.inspection {
            Ok(found) => as_json(found),
            Err(error) => json!({ "schema": 1, "error": error.to_string() }),
        };
        if let Some(profile) = &self.profile {
            value["columns"] = json!(profile.columns);
            value["times"] = json!(profile.times);
            value["remarks"] = json!(profile.remarks);
            if self.is_proposed {
                value["proposed"] = json!(profile.proposal.roles);
            }
        }
        value
    }
}

fn line(style: anstyle::Style, word: &str, message: &str) -> String {
    format!("{}\n", wrap(&format!("{} {message}", styled(style, word)), 0, 2))
}

/// Every column of a table.
fn about_table(name: &str, profile: &Profile) -> String {
    let (rows, columns) = (count(profile.rows), profile.columns.len());
    let mut text = format!("{name}: {}, {rows} rows, {columns} columns", profile.format);
    if let Some(times) = &profile.times {
        text += &format!("\none row every {}, from {} to {}", times.period, times.from, times.to);
    }
    if let Some(writing) = &profile.writing {
        text += &format!("\n{writing}");
    }
    let mut table_rows = vec![
        ["column", "holds", "unit", "missing", "smallest", "largest"].map(String::from).to_vec(),
    ];
    table_rows.extend(profile.columns.iter().map(row));
    format!("{text}\n\n{}\n", table(&table_rows, 3))
}

fn row(column: &ColumnProfile) -> Vec<String> {
    let shown = |value: Option<f64>| value.map(number).unwrap_or_default();
    vec![
        column.name.clone(),
        column.kind.clone(),
        column.unit.clone().unwrap_or_default(),
        if column.missing > 0 { count(column.missing) } else { String::new() },
        shown(column.range.map(|[low, _]| low)),
        shown(column.range.map(|[_, high]| high)),
    ]
}

/// What the columns are probably for, and how to say so.
fn about_proposal(name: &str, proposal: &Proposal) -> String {
    let mut text = format!(
        "{}\n",
        styled(BOLD, "nobody has said what the columns are for; this is a proposal:")
    );
    let mut rows = vec![["column", "use as", "because"].map(String::from).to_vec()];
    let shown =
        |role: &profile::Role| vec![role.column.clone(), role.role.into(), role.why.clone()];
    rows.extend(proposal.roles.iter().map(shown));
    text += &table(&rows, 3);
    if let Some(cut) = proposal.mapping.cut {
        let cut = format!("{cut:?}").to_lowercase();
        text += &format!("one episode per {cut}\n");
    }
    if !proposal.unused.is_empty() {
        text += &line(BOLD, "not used:", &proposal.unused.join(", "));
    }
    if proposal.is_complete() {
        text +=
            &format!("\nif that is right, go on with `hambo init {name}`; to change it, with\n");
        text += &format!("{}\n\n", init_command(name, &proposal.mapping));
    }
    text
}

/// The whole mapping, to be changed and typed.
fn init_command(name: &str, mapping: &Mapping) -> String {
    let table = toml::Table::try_from(mapping).unwrap_or_default();
    let is_said = |key: &str, value: &toml::Value| {
        key != "missing" && value.as_array().is_none_or(|list| !list.is_empty())
    };
    let sets = table.iter().filter(|(key, value)| is_said(key, value));
    let set = |(key, value): (&String, &toml::Value)| format!(" \\\n  --set 'data.{key}={value}'");
    format!("  hambo init {name}{}", sets.map(set).collect::<String>())
}

fn about_episodes(name: &str, found: &Inspection) -> String {
    let (rows, episodes) = (count(found.rows), count(found.episodes));
    let mut text = format!("{name}: {}, {rows} transitions in {episodes} episodes\n", found.format);
    if let Some(summary) = &found.summary {
        let (terminated, truncated) = (summary.terminated_episodes, summary.truncated_episodes);
        text += &format!(
            "{} episodes terminated, {} were cut off\n\n",
            count(terminated),
            count(truncated)
        );
        text += &table(&ranges(found, summary), 1);
    }
    text.push('\n');
    for problem in &found.problems.first {
        text += &line(BAD, "problem:", &problem.to_string());
    }
    for mistake in &found.mistakes {
        text += &line(NOTICE, "likely mistake:", &format!("{mistake}; {}", mistake.help()));
    }
    for warning in &found.warnings {
        text += &line(NOTICE, "note:", &warning.to_string());
    }
    // What is constant has a note of its own.
    let others = Invariants { constant: Vec::new(), ..found.invariants.clone() };
    for sentence in others.sentences() {
        text += &line(BOLD, "note:", &sentence);
    }
    for note in &found.notes {
        text += &line(BOLD, "note:", &format!("{note}; {}", note.help()));
    }
    text
}

/// Smallest, mean and largest of everything.
fn ranges(found: &Inspection, summary: &Summary) -> Vec<Vec<String>> {
    let mut named = vec![
        ("steps per episode".to_owned(), summary.lengths),
        ("return per episode".to_owned(), summary.returns),
        ("reward".to_owned(), summary.rewards),
    ];
    let states = found.names.states.iter().map(|name| format!("state {name}"));
    named.extend(states.zip(summary.states.iter().copied()));
    let actions = found.names.actions.iter().map(|name| format!("action {name}"));
    named.extend(actions.zip(summary.actions.iter().copied()));
    let mut rows = vec![["", "smallest", "mean", "largest"].map(String::from).to_vec()];
    rows.extend(
        named.into_iter().map(|(name, range)| {
            vec![name, number(range.min), number(range.mean), number(range.max)]
        }),
    );
    rows
}

fn conclusion(found: &Inspection) -> String {
    let problems = &found.problems;
    match (problems.rows, found.mistakes.len()) {
        (0, _) if found.rows == 0 => "there is nothing in it to learn from\n".into(),
        (0, 0) => "no problems found\n".into(),
        (0, likely) => format!("no problems found; likely mistakes: {likely}\n"),
        (rows, _) => {
            let (rows, episodes) = (count(rows), count(problems.episodes));
            let advice = "remove those episodes, or repair the values";
            format!("problems in {rows} rows of {episodes} episodes; {advice}\n")
        }
    }
}

fn as_json(found: &Inspection) -> serde_json::Value {
    let told = |message: String, help: &str| json!({ "message": message, "help": help });
    json!({
        "schema": 1,
        "format": found.format.to_string(),
        "rows": found.rows,
        "episodes": found.episodes,
        "state_names": found.names.states,
        "action_names": found.names.actions,
        "summary": found.summary,
        "problems": {
            "rows": found.problems.rows,
            "episodes": found.problems.episodes,
            "first": found.problems.first.iter().map(ToString::to_string).collect::<Vec<_>>(),
        },
        "mistakes": found.mistakes,
        "notes": found.notes.iter().map(|n| told(n.to_string(), n.help())).collect::<Vec<_>>(),
        "invariants": found.invariants,
        "warnings": found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
