//! `hambo evaluate` and `hambo certify`: a policy and a model, or data, in; a bound and a verdict out.

use std::path::{Path, PathBuf};

use hambo::dataset::{ColumnNames, EpisodeMarks};
use hambo::{Dataset, Evaluation, Verdict};
use hambo_io::model::{self, Origin, SavedModel};
use hambo_io::report::ReportOptions;
use hambo_io::{atomic, report};

use crate::args::{Evaluate, Outputs};
use crate::assess::{self, Candidate, Kept, assess, document, record, resumable, with_baseline};
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::halves::Halves;
use crate::progress::Progress;
use crate::run::{Run, RunRecord};
use crate::screen::count;
use crate::{config, describe, logs, screen, task};

/// Episodes on which a model is rather fitted than on those that the policy was trained on.
const LEAST_LEFT: usize = 20;

/// What was asked for.
pub(crate) struct Call<'a> {
    pub args: &'a Evaluate,
    pub threshold: Option<f64>,
    /// How much better than a baseline the policy must be.
    pub margin: Option<f64>,
    pub words: &'a [String],
}

pub(crate) fn run(call: &Call<'_>, quiet: bool, progress: &Progress) -> Result<Exit> {
    let (args, threshold) = (call.args, call.threshold);
    let loaded = assess::settings(&args.settings, &args.bound)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    check_threshold(threshold)?;
    check_outputs(&args.outputs)?;
    let mut basis = Basis::of(args, &loaded, progress)?;
    let names = basis.names();
    let inputs = &loaded.config.policy.inputs;
    let mut policy = Candidate::load(&args.policy, inputs, &names)?;
    let trained_on = match &args.trained_on {
        Some(path) => Some(EpisodeMarks::of(&logs::read(path, &loaded, progress)?)),
        None => None,
    };
    for marks in trained_on.iter().chain(policy.learned_from()) {
        basis.leave_out(marks, progress);
    }
    let defined = task::define(&loaded, &names, basis.origin())?;
    let mut defined = with_baseline(defined, &args.bound, call.margin, inputs, &names)?;
    defined.task.trained_on = trained_on;
    let record = RunRecord {
        threshold,
        ..record(&policy, &basis.identity()?, basis.origin(), &defined, call.words)
    };
    let settings = loaded.config.to_toml()?;
    let run = match &args.outputs.out {
        Some(out) => Some(Run::begin(out, &record, &settings, args.outputs.resume)?),
        None => None,
    };
    let saved = basis.model(&loaded, run.as_ref(), progress)?;
    policy.compare(&saved, &loaded.config)?;
    let kept = Kept { run: run.as_ref(), ..Kept::default() };
    let found = assess(&saved, &policy, &defined, &loaded, kept, progress, "")?;

    let verdict = Verdict::of(&found, threshold);
    let document = document(found, &policy, threshold, &loaded)?;
    let json = assess::to_json(&document)?;
    if let Some(run) = &run {
        run.finish(&json)?;
    }
    let to_stdout = args.outputs.json.as_deref() == Some(Path::new("-"));
    if let Some(file) = args.outputs.json.as_ref().filter(|_| !to_stdout) {
        atomic::write(file, &json)?;
    }
    let options = super::report::options(&record, &document);
    let pages: [(&Option<PathBuf>, Page); 3] = [
        (&args.outputs.report, report::html),
        (&args.outputs.markdown, report::markdown),
        (&args.outputs.junit, report::junit),
    ];
    for (file, page) in pages {
        if let Some(file) = file {
            atomic::write(file, page(&document.evaluation, &options).as_bytes())?;
        }
    }
    let text = match to_stdout {
        true => String::from_utf8_lossy(&json).into_owned(),
        false => describe::result(&document, &verdict, quiet),
    };
    screen::print(&text)?;
    for (what, path) in [("run", &args.outputs.out), ("report", &args.outputs.report)] {
        if let Some(path) = path {
            progress.note(&format!("{what} written to {}", path.display()));
        }
    }
    Ok(describe::exit(&verdict))
}

/// A result for somebody to read.
type Page = fn(&Evaluation, &ReportOptions) -> String;

fn check_threshold(threshold: Option<f64>) -> Result<()> {
    match threshold {
        Some(value) if !value.is_finite() => {
            Err(Failure::input(format!("--threshold {value}: give a finite number")))
        }
        _ => Ok(()),
    }
}

/// Hours of work should not end in a file that cannot be written.
fn check_outputs(outputs: &Outputs) -> Result<()> {
    let files = [&outputs.json, &outputs.report, &outputs.markdown, &outputs.junit];
    let files = files.into_iter().flatten();
    let mut written = files.filter(|file| *file != Path::new("-"));
    Ok(written.try_for_each(|file| atomic::check_writable(file))?)
}

/// What the evaluation stands on.
enum Basis<'a> {
    Model { saved: Box<SavedModel>, directory: &'a Path },
    Data { dataset: Box<Dataset>, origin: Box<Origin>, path: &'a Path },
}

impl<'a> Basis<'a> {
    fn of(args: &'a Evaluate, loaded: &Loaded, progress: &Progress) -> Result<Self> {
        match (&args.basis.model, &args.basis.data) {
            (Some(directory), _) => {
                Ok(Self::Model { saved: Box::new(logs::load(directory)?), directory })
            }
            (None, Some(path)) => {
                let dataset = Box::new(logs::read(path, loaded, progress)?);
                let origin = Box::new(Origin::of(&dataset, path, loaded.config.to_toml()?));
                Ok(Self::Data { dataset, origin, path })
            }
            (None, None) => Err(Failure::input("give --model MODEL, or data to fit one to")),
        }
    }

    /// Goes without the episodes that the policy was trained on, if enough others are left.
    fn leave_out(&mut self, marks: &EpisodeMarks, progress: &Progress) {
        let Self::Data { dataset, .. } = self else { return };
        let all = dataset.episodes().len();
        let Some(others) = dataset.without(marks) else { return };
        let left = others.episodes().len();
        if left < all && left >= LEAST_LEFT {
            progress.note(&format!(
                "the model is fitted on the {} of {} episodes that the policy was not trained on",
                count(left),
                count(all)
            ));
            **dataset = others;
        }
    }

    fn origin(&self) -> &Origin {
        match self {
            Self::Model { saved, .. } => &saved.origin,
            Self::Data { origin, .. } => origin,
        }
    }

    fn names(&self) -> ColumnNames {
        match self {
            Self::Model { saved, .. } => saved.model.data.names.clone(),
            Self::Data { dataset, .. } => dataset.names_or_numbers(),
        }
    }

    fn identity(&self) -> Result<String> {
        match self {
            Self::Model { directory, .. } => Ok(model::fingerprint(directory)?),
            Self::Data { dataset, .. } => Ok(dataset.identity().fingerprint),
        }
    }

    /// The model: loaded, fitted, or fitted before the run was interrupted.
    fn model(self, loaded: &Loaded, run: Option<&Run>, progress: &Progress) -> Result<SavedModel> {
        let (dataset, path) = match self {
            Self::Model { saved, .. } => return Ok(*saved),
            Self::Data { dataset, path, .. } => (dataset, path),
        };
        let place = run.map(Run::model);
        if let Some(place) = place.as_ref().filter(|place| place.exists()) {
            return logs::load(place);
        }
        let saved = logs::fit(&dataset, path, &loaded.config, place.as_deref(), progress)
            .map_err(|failure| resumable(failure, run.is_some()))?;
        if let Some(place) = &place {
            saved.save(place)?;
            Halves::beside(place, progress).forget();
        }
        Ok(saved)
    }
}
