//! `hambo backtest`: would the bound have held for the logs themselves?

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hambo::{Backtest, BoxError, Event, Observer, Outcome, Seed};
use hambo_io::model::Origin;
use hambo_io::result::BacktestDocument;
use hambo_io::{atomic, report};

use crate::args::Backtest as Arguments;
use crate::config::{self, Loaded};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen::{BAD, GOOD, NOTICE, styled, table, wrap};
use crate::{logs, screen, task};

pub(crate) fn run(args: &Arguments, quiet: bool, progress: &Progress) -> Result<Exit> {
    let loaded = settings(args)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    let is_printed = args.json.as_deref() == Some(Path::new("-"));
    let json_file = args.json.as_ref().filter(|_| !is_printed);
    [json_file, args.report.as_ref()]
        .into_iter()
        .flatten()
        .try_for_each(|file| atomic::check_writable(file))?;
    let data = logs::read(&args.data, &loaded, progress)?;
    let toml = loaded.config.to_toml()?;
    let origin = Origin::of(&data, &args.data, toml.clone());
    let defined = task::define(&loaded, &data.names_or_numbers(), &origin)?;
    if data.sources().is_none_or(|sources| sources.names().len() < 2) {
        progress.note(
            "note: the logs do not tell episodes of several sources apart, so parts of them are left out in their \
             order; `--source COLUMN` leaves out one source after the other",
        );
    }
    let about = format!(
        "{}\n{}\n{toml}\n{:?}",
        env!("CARGO_PKG_VERSION"),
        data.identity().fingerprint,
        defined.files
    );
    let keeper = Keeper::new(args.out.as_deref(), &about, progress)?;
    let (config, seed) = (&loaded.config, Seed(loaded.config.seed));
    let found =
        hambo::backtest(&data, &config.model, &defined.task, &config.evaluation, seed, &keeper);
    progress.end();
    let found =
        found.map_err(|error| crate::assess::resumable(error.into(), args.out.is_some()))?;
    let document = BacktestDocument::new(found, &data, &defined.task, seed);
    let mut json = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::Internal(format!("the backtest: {error}")))?;
    json.push('\n');
    if let Some(file) = json_file {
        atomic::write(file, json.as_bytes())?;
    }
    if let Some(file) = &args.report {
        let title = format!("Backtest of {}", args.data.display());
        atomic::write(file, report::backtest_html(&document, &title).as_bytes())?;
        progress.note(&format!("report written to {}", file.display()));
    }
    screen::print(&if is_printed { json } else { describe(&document.backtest, quiet) })?;
    Ok(match document.backtest.outcome {
        Outcome::Held => Exit::Done,
        Outcome::Failed => Exit::NotCertified,
        Outcome::TooShort => Exit::Inconclusive,
    })
}

fn settings(args: &Arguments) -> Result<Loaded> {
    let mut loaded = Loaded::of(&args.settings)?;
    let config = &mut loaded.config;
    config.task.horizon = args.horizon.or(config.task.horizon);
    config.evaluation.delta = args.delta.unwrap_or(config.evaluation.delta);
    if let Some(column) = &args.source {
        config.data.source = Some(column.clone());
    }
    config.evaluation.validate()?;
    config.model.validate()?;
    Ok(loaded)
}

/// The table, and what it comes to; if `quiet`, only the last line.
fn describe(found: &Backtest, quiet: bool) -> String {
    let decimals = report::backtest_decimals(found);
    let style = match found.outcome {
        Outcome::Held => GOOD,
        Outcome::Failed => BAD,
        Outcome::TooShort => NOTICE,
    };
    let word = found.outcome.word();
    let conclusion =
        format!("{}\n", wrap(&format!("{}: {}", styled(style, word), found.summary), 0, 2));
    if quiet {
        return conclusion;
    }
    let header = ["left out", "episodes", "steps", "lasting", "claimed", "earned", "held"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for claim in &found.claims {
        let held = if claim.held { "yes" } else { "NO" };
        rows.push(vec![
            claim.group.clone(),
            claim.episodes.to_string(),
            claim.horizon.to_string(),
            format!("{:.0} %", 100.0 * claim.covered),
            format!("{:.decimals$}", report::floor(claim.claimed, decimals)),
            format!("{:.decimals$}", claim.earned),
            held.to_owned(),
        ]);
    }
    format!("{}\n{conclusion}", table(&rows, 1))
}

/// Keeps what was found about each part, under a name that changes with everything it depends on.
struct Keeper<'a> {
    directory: Option<&'a Path>,
    about: blake3::Hash,
    progress: &'a Progress,
}

impl<'a> Keeper<'a> {
    fn new(directory: Option<&'a Path>, about: &str, progress: &'a Progress) -> Result<Self> {
        if let Some(directory) = directory {
            fs::create_dir_all(directory)
                .map_err(|error| Failure::io(directory, "create it", &error))?;
        }
        Ok(Self { directory, about: blake3::hash(about.as_bytes()), progress })
    }

    fn place(&self, part: &str) -> Option<PathBuf> {
        let name = blake3::hash(format!("{}\n{part}", self.about).as_bytes()).to_hex();
        self.directory.map(|directory| directory.join(format!("part-{}.json", &name[..16])))
    }
}

impl Observer for Keeper<'_> {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        self.progress.observe(event)
    }

    fn recall(&self, part: &str) -> Result<Option<Vec<u8>>, BoxError> {
        self.progress.begin(part);
        let Some(path) = self.place(part).filter(|path| path.is_file()) else { return Ok(None) };
        Ok(Some(fs::read(&path).map_err(|error| Failure::io(&path, "read it", &error))?))
    }

    fn keep(&self, part: &str, found: &[u8]) -> Result<(), BoxError> {
        self.progress.end();
        let Some(path) = self.place(part) else { return Ok(()) };
        Ok(atomic::write(&path, found).map_err(Failure::from)?)
    }
}
