//! `hambo fit`: data in, a calibrated model out.

use hambo::dynamics::gp::GpSettings;
use hambo_io::atomic;

use crate::args::Fit;
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::halves::Halves;
use crate::progress::Progress;
use crate::{config, describe, logs, screen, task};

pub(crate) fn run(args: &Fit, quiet: bool, progress: &Progress) -> Result<Exit> {
    let mut loaded = Loaded::of(&args.settings)?;
    if args.gp {
        loaded.config.model.gp.get_or_insert(GpSettings::default());
    }
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    loaded.config.model.validate()?;
    if args.out.exists() {
        let message =
            format!("{} exists already; remove it, or choose another --out", args.out.display());
        return Err(Failure::input(message));
    }
    atomic::check_new_directory(&args.out)?;
    let dataset = logs::read(&args.data, &loaded, progress)?;
    task::check_names(&loaded, &dataset.names_or_numbers())?;
    let saved = logs::fit(&dataset, &args.data, &loaded.config, Some(&args.out), progress)
        .map_err(|failure| match failure {
            Failure::Interrupted(_) => failure.with_advice("the same command goes on from here"),
            other => other,
        })?;
    saved.save(&args.out)?;
    Halves::beside(&args.out, progress).forget();
    let has_rule = loaded.config.task.reward.is_some();
    let mut text = if quiet { String::new() } else { describe::model(&saved.model, has_rule) };
    text += &format!("model written to {}\n", args.out.display());
    screen::print(&text)?;
    Ok(Exit::Done)
}
