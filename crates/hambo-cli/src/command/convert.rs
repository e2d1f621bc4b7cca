//! `hambo convert`: a log as columns that are mapped, for data larger than memory.

use hambo_io::store;

use crate::args::Convert;
use crate::config::{self, Loaded};
use crate::failure::{Exit, Result};
use crate::progress::Progress;
use crate::screen::{self, count};

pub(crate) fn run(args: &Convert, progress: &Progress) -> Result<Exit> {
    let loaded = Loaded::of(&args.settings)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    progress.begin("convert");
    let found = store::convert(&args.data, &loaded.config.mapping(), &args.out)?;
    progress.end();
    for note in &found.notes {
        progress.note(&format!("note: {note}; {}", note.help()));
    }
    let (rows, episodes) = (count(found.data.rows), count(found.data.episodes));
    let out = args.out.display();
    screen::print(&format!(
        "{rows} transitions in {episodes} episodes written to {out}; give it in place of the log\n"
    ))?;
    Ok(Exit::Done)
}
