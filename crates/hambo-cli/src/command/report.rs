//! `hambo report`: the page of a finished run, or its figures, drawn again.

use std::fs;
use std::path::Path;

use hambo::Evaluation;
use hambo_io::report::{self, Doubt, ReportOptions};

use crate::args::Report;
use crate::atomic;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::run::{Run, Subject};

pub fn run(args: &Report, progress: &Progress) -> Result<Exit> {
    let run = Run::open(&args.run)?;
    let subject = run.subject()?;
    let evaluation = run.evaluation()?.ok_or_else(|| {
        Failure::input(format!(
            "{} is not finished; finish it with\n  {} --resume",
            args.run.display(),
            subject.command
        ))
    })?;
    if let Some(file) = &args.into.out {
        atomic::write(file, page(&evaluation, &subject).as_bytes())?;
        progress.note(&format!("report written to {}", file.display()));
    }
    if let Some(directory) = &args.into.figures {
        let written = figures(&evaluation, &subject, directory)?;
        let name = directory.display();
        progress.note(&format!("{written} figures written to {name}, each as SVG and PNG"));
    }
    Ok(Exit::Done)
}

/// The report as HTML.
pub fn page(evaluation: &Evaluation, subject: &Subject) -> String {
    report::html(evaluation, &options(subject))
}

/// Writes every figure, and says how many there are.
fn figures(evaluation: &Evaluation, subject: &Subject, directory: &Path) -> Result<usize> {
    fs::create_dir_all(directory).map_err(|error| Failure::io(directory, "create it", &error))?;
    let figures = report::figures(evaluation, &options(subject));
    for (name, svg) in &figures {
        let png = report::png(svg).map_err(|error| Failure::Internal(error.to_string()))?;
        atomic::write(&directory.join(format!("{name}.svg")), svg.as_bytes())?;
        atomic::write(&directory.join(format!("{name}.png")), &png)?;
    }
    Ok(figures.len())
}

fn options(subject: &Subject) -> ReportOptions {
    let doubt = |row: &crate::json::WarningRow| Doubt {
        message: row.message.clone(),
        help: row.help.clone(),
    };
    ReportOptions {
        title: format!("Lower bound for {}", file_name(&subject.policy)),
        policy: Some(subject.policy.clone()),
        data: Some(subject.source.clone()).filter(|source| !source.is_empty()),
        date: Some(readable(&subject.begun)),
        threshold: subject.threshold,
        command: Some(subject.command.clone()),
        state_names: subject.state_names.clone(),
        action_names: subject.action_names.clone(),
        summary: subject.summary.clone(),
        doubts: subject.warnings.iter().map(doubt).collect(),
        settings_in_file: true,
    }
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
