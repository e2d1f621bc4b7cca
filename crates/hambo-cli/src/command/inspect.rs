//! `hambo inspect`: what is in logs, and what is wrong with them.

use hambo::dataset::Summary;
use hambo_io::atomic;
use hambo_io::inspect::{self, Inspection};
use serde_json::json;

use crate::args::Inspect;
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen::{BAD, NOTICE, count, number, styled, table, wrap};
use crate::{config, screen};

pub(crate) fn run(args: &Inspect, quiet: bool, progress: &Progress) -> Result<Exit> {
    let loaded = Loaded::of(&args.settings)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    progress.begin("read");
    let found = inspect::inspect(&args.data, &loaded.config.data)?;
    progress.end();
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&as_json(&found))
            .map_err(|error| Failure::Internal(format!("the result: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    let name = args.data.display().to_string();
    let text = if quiet { conclusion(&found) } else { describe(&name, &found) };
    screen::print(&text)?;
    Ok(if found.problems.rows > 0 { Exit::Input } else { Exit::Done })
}

fn describe(name: &str, found: &Inspection) -> String {
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
    let mut line = |style, word: &str, message: String| {
        text += &format!("{}\n", wrap(&format!("{} {message}", styled(style, word)), 0, 2));
    };
    for problem in &found.problems.first {
        line(BAD, "problem:", problem.to_string());
    }
    for mistake in &found.mistakes {
        line(NOTICE, "likely mistake:", format!("{mistake}; {}", mistake.help()));
    }
    for warning in &found.warnings {
        line(NOTICE, "note:", warning.to_string());
    }
    for note in &found.notes {
        line(screen::BOLD, "note:", format!("{note}; {}", note.help()));
    }
    text + &conclusion(found)
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
        "warnings": found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
