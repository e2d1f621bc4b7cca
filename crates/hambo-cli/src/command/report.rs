//! `hambo report`: the page of a finished run, drawn again.

use hambo::Evaluation;
use hambo_io::report::{self, ReportOptions};

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
    atomic::write(&args.out, page(&evaluation, &subject).as_bytes())?;
    progress.note(&format!("report written to {}", args.out.display()));
    Ok(Exit::Done)
}

/// The report as HTML.
pub fn page(evaluation: &Evaluation, subject: &Subject) -> String {
    let options = ReportOptions {
        title: format!("Lower bound for {}", subject.policy),
        policy: Some(subject.policy.clone()),
        data: Some(subject.source.clone()).filter(|source| !source.is_empty()),
        date: Some(subject.begun.clone()),
        threshold: subject.threshold,
        command: Some(subject.command.clone()),
        state_names: subject.state_names.clone(),
    };
    report::html(evaluation, &options)
}
