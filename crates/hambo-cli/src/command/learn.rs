//! `hambo learn`: data in, a policy out.

use std::collections::BTreeSet;

use hambo::{Learned, Seed, Warning};
use hambo_io::{atomic, onnx};

use crate::args::Learn;
use crate::config::Loaded;
use crate::failure::{Exit, Failure, Result};
use crate::halves::Halves;
use crate::progress::Progress;
use crate::screen::{count, number};
use crate::{config, logs, screen, task};

pub(crate) fn run(args: &Learn, quiet: bool, progress: &Progress) -> Result<Exit> {
    let mut loaded = Loaded::of(&args.settings)?;
    loaded.config.task.horizon = args.horizon.or(loaded.config.task.horizon);
    let config = &loaded.config;
    if args.settings.show_config {
        return config::show(config);
    }
    config.model.validate()?;
    config.evaluation.validate()?;
    config.learn.validate()?;
    atomic::check_writable(&args.out)?;
    if !(0.0..1.0).contains(&args.hold_out) {
        let message = format!("--hold-out {}: give a share from 0 to below 1", args.hold_out);
        return Err(Failure::input(message));
    }
    let all = logs::read(&args.data, &loaded, progress)?;
    let seed = Seed(config.seed);
    let teaching = match args.hold_out > 0.0 {
        true => all.all().split(args.hold_out, &mut seed.stream("learn: held out"))?.0.to_dataset(),
        false => all.clone(),
    };
    let (used, of) = (teaching.episodes().len(), all.episodes().len());
    progress.note(&format!(
        "learning from {} of {} episodes; the others are left to certify by",
        count(used),
        count(of)
    ));
    let goes_on = |failure| match failure {
        Failure::Interrupted(_) => failure.with_advice("the same command goes on from here"),
        other => other,
    };
    let saved =
        logs::fit(&teaching, &args.data, config, Some(&args.out), progress).map_err(goes_on)?;
    let names = saved.model.data.names.clone();
    let defined = task::define(&loaded, &names, &saved.origin)?;
    progress.begin("learn");
    let halves = Halves::beside(&args.out, progress);
    let learned = saved
        .model
        .learn(&defined.task, &config.learn, &config.evaluation, seed, &halves)
        .map_err(|error| goes_on(error.into()))?;
    progress.end();
    onnx::write_policy(&args.out, &learned.policy)?;
    halves.forget();
    let mut text = if quiet { String::new() } else { described(&learned) };
    text += &format!("policy written to {}\n", args.out.display());
    screen::print(&text)?;
    Ok(Exit::Done)
}

/// How it went.
fn described(learned: &Learned) -> String {
    let Learned { rounds, best_round, .. } = learned;
    let (first, best) = (&rounds[0], &rounds[*best_round]);
    let mut went = match best_round {
        0 => "no round was better than the copy of the logged policy, which is kept".to_owned(),
        round => format!("the best of {} rounds is number {round}", rounds.len() - 1),
    };
    let own = codes(&best.doubts);
    if !own.is_empty() {
        went += &format!("\nit leaves the data itself ({own})");
    }
    let promised_more =
        rounds.iter().filter(|round| round.bound > best.bound && !round.doubts.is_empty());
    let doubts = codes(promised_more.clone().flat_map(|round| &round.doubts));
    if !doubts.is_empty() {
        let rounds = promised_more.count();
        went += &format!("\nrounds that promised more and left the data: {rounds} ({doubts})");
    }
    format!(
        "{went}\nin the worlds of the same episodes: at least {}, {} on average\n\
         the copy of the logged policy:      at least {}, {} on average\n\
         These worlds know the episodes that taught it. To certify it, give the same logs: what it was not learned from is used.\n",
        number(best.bound),
        number(best.mean.mean),
        number(first.bound),
        number(first.mean.mean),
    )
}

/// Every code once.
fn codes<'a>(doubts: impl IntoIterator<Item = &'a Warning>) -> String {
    let codes: BTreeSet<&str> = doubts.into_iter().map(Warning::code).collect();
    Vec::from_iter(codes).join(", ")
}
