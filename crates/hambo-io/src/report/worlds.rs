//! The limit over worlds, and what logged episodes say of them.

use hambo::{Backtest, Replay, ReplayedGroup, WorldsLimit};

use super::contents::Contents;
use super::markup::{NUMBER, TEXT, section, table};
use super::text::{escape, fixed, number, percent, rounded_down};

/// The limit of the variant that decides, if it is one over worlds.
pub(super) fn limit<'a>(contents: &Contents<'a>) -> Option<&'a WorldsLimit> {
    contents.deciding.and_then(|variant| variant.worlds.as_ref())
}

/// What would have been claimed of the logs.
pub(super) fn backtest<'a>(contents: &Contents<'a>) -> Option<&'a Backtest> {
    let replay = limit(contents).and_then(|limit| limit.replay.as_ref());
    replay.map(|replay| &replay.backtest).filter(|found| !found.claims.is_empty())
}

/// The limit, term by term.
pub(super) fn terms(contents: &Contents<'_>, limit: &WorldsLimit) -> String {
    let Some(variant) = contents.deciding else { return String::new() };
    // Two digits more than elsewhere, so that the sum can be done by hand.
    let decimals = contents.decimals + 2;
    let delta = contents.evaluation.monte_carlo_delta;
    let (estimate, worlds) = (&variant.estimate, variant.members.len());
    let offset = limit.replay.as_ref().map_or(0.0, |replay| replay.offset);
    let of_worlds = limit.factor * (1.0 + 1.0 / worlds as f64).sqrt() * limit.spread;
    let of_starts = estimate.mean - estimate.lower_limit(delta);
    let margin = estimate.mean - offset - variant.lower_bound;
    let of_replay = (margin.powi(2) - of_worlds.powi(2) - of_starts.powi(2)).max(0.0).sqrt();
    let columns = [
        ("Mean over worlds", NUMBER),
        ("Worlds", NUMBER),
        ("Their spread s", NUMBER),
        ("Factor q", NUMBER),
        ("q √(1 + 1/K) s", NUMBER),
        ("Of the starts", NUMBER),
        ("Of the replay", NUMBER),
        ("Lower bound", NUMBER),
    ];
    let row = vec![
        fixed(estimate.mean, decimals),
        worlds.to_string(),
        fixed(limit.spread, decimals),
        fixed(limit.factor, 3),
        fixed(of_worlds, decimals),
        fixed(of_starts, decimals),
        fixed(of_replay, decimals),
        rounded_down(variant.lower_bound, decimals),
    ];
    let taken_off = match offset > 0.0 {
        true => format!(" Before that {} is taken off.", fixed(offset, decimals)),
        false => String::new(),
    };
    format!(
        "<h3>The limit over worlds</h3>{}<p class=\"note\">The bound is the mean less the root of the three \
         squared margins.{taken_off} q is the larger of Student’s quantile for so many worlds, {}, and of what \
         the logs demand. The margin of the starts is the Monte Carlo error; that of the replay is what \
         the logged episodes are too few to tell.</p>",
        table(&columns, &[row], None),
        fixed(limit.student, 3)
    )
}

/// What logged episodes earned, and what the worlds made of them.
pub(super) fn replay(contents: &Contents<'_>) -> String {
    let Some(replay) = limit(contents).and_then(|limit| limit.replay.as_ref()) else {
        return String::new();
    };
    let rows: Vec<Vec<String>> =
        replay.groups().iter().map(|group| row(contents, replay, group)).collect();
    let main = replay.groups().iter().position(|group| group.name == replay.worst);
    let columns = [
        ("Episodes of", TEXT),
        ("Episodes", NUMBER),
        ("Earned", NUMBER),
        ("Worlds say", NUMBER),
        ("Too high by", NUMBER),
        ("At most by", NUMBER),
        ("Spread of worlds", NUMBER),
        ("Factor needed", NUMBER),
    ];
    let noise = match replay.noise {
        1.0 => "all of the model’s errors on the logs".to_owned(),
        0.0 => "no noise at all, which fits them best".into(),
        noise => format!(
            "{} of the model’s errors on the logs, which fits them best",
            number(f64::from(noise))
        ),
    };
    let content = format!(
        "{}<p class=\"note\">Every episode was played again, from its own start and with its own actions, in \
         the worlds that were not fitted on it, over {} of the horizon on average. Actions are corrected by \
         what a network learned of the logged policy. Worlds draw {noise}. “At most by” holds for all groups at \
         once with the confidence of the bound.</p>",
        table(&columns, &rows, main),
        percent(replay.covered)
    );
    let lead =
        "What logged episodes earned, and what worlds that never saw them would have promised.";
    section("replay", "The worlds against your own logs", lead, &content)
}

fn row(contents: &Contents<'_>, replay: &Replay, group: &ReplayedGroup) -> Vec<String> {
    let decimals = contents.decimals;
    let worlds = contents.deciding.map_or(1, |variant| variant.members.len());
    let spread = (1.0 + 1.0 / worlds as f64).sqrt() * group.spread;
    let factor = match spread > 0.0 && group.largest_bias > 0.0 {
        true => fixed(group.largest_bias / spread, 2),
        false => "–".into(),
    };
    let name = match group.name == replay.worst {
        true => format!("{} (worst)", escape(&group.name)),
        false => escape(&group.name),
    };
    vec![
        name,
        group.episodes.to_string(),
        fixed(group.earned, decimals),
        fixed(group.earned + group.bias, decimals),
        format!("{} ± {}", fixed(group.bias, decimals), fixed(group.std_error, decimals)),
        fixed(group.largest_bias, decimals),
        fixed(group.spread, decimals),
        factor,
    ]
}
