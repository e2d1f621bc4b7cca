//! `hambo plan`: what work will cost, before it is done.

use std::fs;
use std::thread::available_parallelism;
use std::time::Instant;

use hambo::dataset::ColumnNames;
use hambo::{Cost, Job, Policy, Seed};
use hambo_io::atomic;
use hambo_io::onnx::OnnxPolicy;
use serde::Serialize;

use crate::args::Plan;
use crate::config::{self, Loaded};
use crate::failure::{Exit, Failure, Result};
use crate::progress::{Progress, duration};
use crate::screen::{self, count, table, wrap};

/// The share of several machines' time that is work.
const EFFICIENCY: f64 = 0.9;

#[derive(Serialize)]
struct Planned {
    rows: usize,
    policies: usize,
    cores: usize,
    #[serde(flatten)]
    cost: Cost,
    /// Of all evaluations, one after the other.
    all_policies: f64,
    /// Bytes that the logs take, in memory or in a store.
    data_bytes: usize,
    /// Bytes besides, at most, as far as this system tells.
    memory_bytes: Option<usize>,
    /// So many machines like this one finish in time.
    machines: Option<usize>,
}

pub(crate) fn run(args: &Plan, progress: &Progress) -> Result<Exit> {
    let loaded = Loaded::of(&args.settings)?;
    if args.settings.show_config {
        return config::show(&loaded.config);
    }
    let config = &loaded.config;
    let widths = [args.states, args.actions, args.horizon, args.episode_steps.unwrap_or(1)];
    if widths.contains(&0) || args.within.is_some_and(|hours| !(hours > 0.0 && hours.is_finite())) {
        let message =
            "--states, --actions, --horizon, --episode-steps and --within must be above zero";
        return Err(Failure::input(message));
    }
    config.model.validate()?;
    config.evaluation.validate()?;
    args.json.iter().try_for_each(|file| atomic::check_writable(file))?;
    let columns = ColumnNames::numbered(args.states, args.actions);
    let policy = match &args.policy {
        Some(path) => Some(OnnxPolicy::load_for(path, &config.policy.inputs, &columns)?),
        None => None,
    };
    let job = Job {
        rows: args.rows,
        state_dim: args.states,
        action_dim: args.actions,
        episode_steps: args.episode_steps.unwrap_or(args.horizon),
        horizon: args.horizon,
        model: config.model.clone(),
        evaluation: config.evaluation.clone(),
    };
    let begun = Instant::now();
    let policy = policy.as_ref().map(|policy| policy as &dyn Policy);
    progress.begin("plan");
    let cost = job.cost(policy, Seed(config.seed), progress);
    progress.end();
    let cost = cost?;
    let took = begun.elapsed().as_secs_f64();
    let all_policies = cost.evaluation * args.policies as f64;
    let planned = Planned {
        rows: args.rows,
        policies: args.policies,
        cores: available_parallelism().map_or(1, usize::from),
        cost,
        all_policies,
        data_bytes: args.rows.saturating_mul(4 * (2 * args.states + args.actions + 1)),
        memory_bytes: peak_memory(),
        machines: args.within.map(|hours| machines(all_policies, hours)),
    };
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&planned)
            .map_err(|error| Failure::Internal(format!("the plan: {error}")))?;
        atomic::write(file, format!("{text}\n").as_bytes())?;
    }
    screen::print(&describe(&planned, took, args.within))?;
    Ok(Exit::Done)
}

/// None of them works on more than one policy at a time.
fn machines(seconds: f64, hours: f64) -> usize {
    (seconds / (hours * 3600.0 * EFFICIENCY)).ceil().max(1.0) as usize
}

/// Most memory that this process has had, in bytes.
fn peak_memory() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

fn describe(planned: &Planned, took: f64, within: Option<f64>) -> String {
    let Planned { cost, policies, .. } = planned;
    let row = |name: &str, value: String, about: String| vec![name.to_owned(), value, about];
    let several = if *policies == 1 { "policy" } else { "policies" };
    let rows = [
        row(
            "fit",
            duration(cost.fit),
            format!("up to {} gradient steps on {} rows", count(cost.steps), count(planned.rows)),
        ),
        row("evaluation", duration(cost.evaluation), "of one policy".into()),
        row(
            "evaluations",
            duration(planned.all_policies),
            format!("of {} {several}, one after the other", count(*policies)),
        ),
        row(
            "short look",
            duration(cost.look),
            "at one policy: who is dominated is not evaluated".into(),
        ),
        row("logs", bytes(planned.data_bytes), "in memory, or mapped from a store".into()),
        row("memory", planned.memory_bytes.map_or("-".into(), bytes), "besides, at most".into()),
    ];
    let mut text = table(&rows, 1);
    if let (Some(machines), Some(hours)) = (planned.machines, within) {
        let evaluations = format!(
            "{} like this one do all evaluations within {hours} h, by `--shard` or on Ray",
            if machines == 1 {
                "1 machine".into()
            } else {
                format!("{} machines", count(machines))
            }
        );
        text += &format!("{}\n", wrap(&evaluations, 0, 2));
    }
    let measured = format!(
        "measured in {} on this machine, with {} cores, on made-up data of these widths; episodes that end early, \
         and a fit that stops early, cost less",
        duration(took),
        planned.cores
    );
    text + &format!("{}\n", wrap(&measured, 0, 2))
}

/// `1.2 GB`
fn bytes(count: usize) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 99.95);
    format!("{value:.decimals$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let shown = [512, 1_500, 32_000_000, 3_200_000_000, 999_999].map(bytes);
        assert_eq!(shown, ["512 B", "1.5 kB", "32.0 MB", "3.2 GB", "1.0 MB"]);
    }

    #[test]
    fn machines_are_enough() {
        assert_eq!(
            [machines(10.0, 1.0), machines(3600.0, 1.0), machines(36_000.0, 1.0)],
            [1, 2, 12]
        );
    }
}
