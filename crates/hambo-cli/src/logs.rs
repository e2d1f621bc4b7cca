//! Logs that are read, and models that are fitted to them.

use std::path::Path;

use hambo::dynamics::ensemble::{Ensemble, FitCost};
use hambo::{Dataset, Model, Observer, Seed};
use hambo_io::model::{Origin, SavedModel};
use hambo_io::profile::{self, Proposal};
use hambo_io::read::{self, Mapping};

use crate::config::{Config, Loaded};
use crate::failure::{Failure, Result};
use crate::halves::Halves;
use crate::interrupt;
use crate::progress::{Progress, duration};
use crate::screen::count;

/// Reads a log, and tells what the reader had to decide.
pub(crate) fn read(data: &Path, loaded: &Loaded, progress: &Progress) -> Result<Dataset> {
    if let Some(file) = &loaded.found {
        progress.note(&format!("settings are those of {}", file.display()));
    }
    progress.begin("read");
    let opened = read::open(data, &loaded.config.mapping())?;
    progress.end();
    interrupt::check("read")?;
    let dataset = opened.dataset;
    let (rows, episodes) = (count(dataset.rows()), count(dataset.episodes().len()));
    let (name, format) = (data.display(), opened.format);
    let with_gaps = dataset.episodes().iter().filter(|episode| !episode.gaps.is_empty()).count();
    let gaps = match with_gaps {
        0 => String::new(),
        some => format!(", {} of them with gaps", count(some)),
    };
    progress.note(&format!("{name}: {format}, {rows} transitions in {episodes} episodes{gaps}"));
    for remark in profile::remarks(data) {
        progress.note(&format!("look at this: {remark}"));
    }
    for note in &opened.notes {
        progress.note(&format!("note: {note}; {}", note.help()));
    }
    for note in dataset.notes() {
        progress.note(&format!("note: {note}"));
    }
    Ok(dataset)
}

/// What the columns of a log are probably for, if the settings do not say enough and libraries use other names.
/// Columns that the settings name are theirs.
pub(crate) fn proposal(data: &Path, config: &Config) -> Result<Option<Proposal>> {
    match read::open(data, &config.mapping()) {
        Err(error) if error.lacks_columns() => {
            let found = profile::profile(data)?.map(|profile| profile.proposal);
            let is_plain = config.data == Mapping::default();
            let mut found = found.filter(|found| !is_plain || found.is_complete());
            if let Some(Proposal { mapping, .. }) = &mut found {
                let Mapping { state, exogenous, action, .. } = &config.data;
                let said: Vec<&String> = state.iter().chain(exogenous).chain(action).collect();
                mapping.state.retain(|name| !said.contains(&name));
                mapping.exogenous.retain(|name| !said.contains(&name));
            }
            Ok(found)
        }
        // Whatever else is wrong is told by who reads it.
        _ => Ok(None),
    }
}

/// Fits a model to logs that the user calls `from`. A fit that is interrupted goes on the next time, if it is said
/// where the model is to be.
pub(crate) fn fit(
    data: &Dataset,
    from: &Path,
    config: &Config,
    into: Option<&Path>,
    progress: &Progress,
) -> Result<SavedModel> {
    progress.begin("fit");
    let halves = into.map(|place| Halves::beside(place, progress));
    let observer: &dyn Observer = match &halves {
        Some(halves) => halves,
        None => progress,
    };
    let ensemble = &config.model.ensemble;
    if config.model.gp.is_none() && !ensemble.tables {
        let FitCost { steps, time } = Ensemble::cost(&data.all(), ensemble)?;
        progress.note(&format!(
            "Fitting {} networks to {} transitions takes at most {} steps, {}.",
            ensemble.members,
            count(data.rows()),
            count(steps),
            duration(time.as_secs_f64()),
        ));
    }
    let model = Model::fit(data, &config.model, Seed(config.seed), observer)?;
    progress.end();
    let origin = Origin::of(data, from, config.to_toml()?);
    Ok(SavedModel { model, origin })
}

/// Loads a model that was saved.
pub(crate) fn load(directory: &Path) -> Result<SavedModel> {
    if !directory.is_dir() {
        let what = if directory.exists() { "is not a directory" } else { "does not exist" };
        let message = format!(
            "{} {what}; give the directory that `hambo fit --out` has written",
            directory.display()
        );
        return Err(Failure::input(message));
    }
    Ok(SavedModel::load(directory)?)
}
