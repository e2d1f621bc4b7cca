//! The model that an evaluation stands on: loaded, or fitted to data first.

use std::path::Path;

use hambo::{Dataset, Model, Seed};
use hambo_io::{model, read};

use crate::config::{Config, Loaded};
use crate::failure::{Failure, Result};
use crate::origin::Origin;
use crate::progress::Progress;
use crate::screen::count;
use crate::{atomic, interrupt};

/// A model, and what is known of its data.
pub struct Source {
    pub model: Model,
    pub origin: Origin,
}

impl Source {
    /// Loads what [`Source::save`] wrote.
    pub fn load(directory: &Path) -> Result<Self> {
        if !directory.is_dir() {
            let what = if directory.exists() { "is not a directory" } else { "does not exist" };
            let message = format!(
                "{} {what}; give the directory that `hambo fit --out` has written",
                directory.display()
            );
            return Err(Failure::input(message));
        }
        let model = model::load(directory)?;
        let origin = Origin::load(directory, &model)?;
        Ok(Self { model, origin })
    }

    pub fn fit(data: &Dataset, from: &Path, config: &Config, progress: &Progress) -> Result<Self> {
        progress.begin("fit");
        let model = Model::fit(data, &config.model, Seed(config.seed.into()), progress)?;
        progress.end();
        let origin = Origin::of(data, from, config.to_toml()?);
        Ok(Self { model, origin })
    }

    /// Writes a new directory, which appears when it is complete.
    pub fn save(&self, directory: &Path) -> Result<()> {
        atomic::directory(directory, |unfinished| {
            model::save(&self.model, unfinished)?;
            self.origin.save(unfinished)
        })
    }
}

/// Reads a log, and tells what the reader had to decide.
pub fn read(data: &Path, loaded: &Loaded, progress: &Progress) -> Result<Dataset> {
    progress.begin("read");
    let opened = read::open(data, &loaded.config.data)?;
    progress.end();
    interrupt::check("read")?;
    let dataset = opened.dataset;
    let (rows, episodes) = (count(dataset.rows()), count(dataset.episodes().len()));
    let (name, format) = (data.display(), opened.format);
    progress.note(&format!("{name}: {format}, {rows} transitions in {episodes} episodes"));
    for note in &opened.notes {
        progress.note(&format!("note: {note}; {}", note.help()));
    }
    for warning in dataset.warnings() {
        progress.note(&format!("warning: {warning}"));
    }
    Ok(dataset)
}
