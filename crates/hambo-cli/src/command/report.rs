//! `hambo report`: the page of a finished run, or its figures, drawn again.

use std::fs;
use std::path::Path;

use hambo_io::atomic;
use hambo_io::report::{self, ReportOptions};
use hambo_io::result::ResultDocument;

use crate::args::Report;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::run::{Run, RunRecord};

pub(crate) fn run(args: &Report, progress: &Progress) -> Result<Exit> {
    let run = Run::open(&args.run)?;
    let record = run.record()?;
    let document = run.result()?.ok_or_else(|| {
        Failure::input(format!(
            "{} is not finished; finish it with\n  {} --resume",
            args.run.display(),
            record.command
        ))
    })?;
    let options = options(&record, &document);
    if let Some(file) = &args.drawings.out {
        atomic::write(file, report::html(&document.evaluation, &options).as_bytes())?;
        progress.note(&format!("report written to {}", file.display()));
    }
    if let Some(directory) = &args.drawings.figures {
        let written = figures(&document, &options, directory)?;
        let name = directory.display();
        let formats = if cfg!(feature = "png") { "each as SVG and PNG" } else { "as SVG" };
        progress.note(&format!("{written} figures written to {name}, {formats}"));
    }
    Ok(Exit::Done)
}

/// Writes every figure, and says how many there are.
fn figures(document: &ResultDocument, options: &ReportOptions, directory: &Path) -> Result<usize> {
    fs::create_dir_all(directory).map_err(|error| Failure::io(directory, "create it", &error))?;
    let figures = report::figures(&document.evaluation, options);
    for (name, svg) in &figures {
        atomic::write(&directory.join(format!("{name}.svg")), svg.as_bytes())?;
        #[cfg(feature = "png")]
        {
            let png = report::png(svg).map_err(|error| Failure::Internal(error.to_string()))?;
            atomic::write(&directory.join(format!("{name}.png")), &png)?;
        }
    }
    Ok(figures.len())
}

/// What the page says beside the result.
pub(crate) fn options(record: &RunRecord, document: &ResultDocument) -> ReportOptions {
    ReportOptions {
        title: format!("Lower bound for {}", file_name(&record.policy.file)),
        policy: Some(record.policy.file.clone()),
        data: Some(record.source.clone()).filter(|source| !source.is_empty()),
        date: Some(readable(&record.begun)),
        threshold: record.threshold,
        command: Some(record.command.clone()),
        summary: record.summary.clone(),
        notes: document.notes.clone(),
        unit: setting(document, "task", "unit"),
        per: per(record, document),
        reward: setting(document, "task", "reward"),
    }
}

/// A text among the settings of a run.
fn setting(document: &ResultDocument, section: &str, key: &str) -> Option<String> {
    document.config.as_ref()?[section][key].as_str().map(ToOwned::to_owned)
}

/// What an episode is, if the log was cut into episodes of the horizon.
fn per(record: &RunRecord, document: &ResultDocument) -> Option<String> {
    let longest = record.summary.as_ref()?.lengths.max;
    let is_whole = longest as usize == document.evaluation.horizon;
    setting(document, "data", "cut").filter(|_| is_whole)
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// `2026-03-01 12:30 UTC` for `2026-03-01T12:30:59Z`; anything else stays as it is.
fn readable(begun: &str) -> String {
    match (begun.get(..10), begun.get(11..16), begun.ends_with('Z')) {
        (Some(date), Some(time), true) => format!("{date} {time} UTC"),
        _ => begun.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn a_point_in_time_is_shown_to_the_minute() {
        assert_eq!(readable("2026-03-01T12:30:59Z"), "2026-03-01 12:30 UTC");
        assert_eq!(readable("today"), "today");
        assert_eq!(readable("…"), "…");
    }
}
