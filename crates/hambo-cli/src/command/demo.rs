//! `hambo demo`: the whole story on Gymnasium's Pendulum, with files that the user can play with.

use std::fmt::Write;
use std::path::Path;

use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{Dataset, Seed, Streams, collect, rollout};
use hambo_io::atomic;
use hambo_io::onnx::OnnxPolicy;

use super::evaluate::Call;
use super::{evaluate, fit, inspect};
use crate::args::{Basis, BoundFlags, Certify, Demo, Evaluate, Fit, Inspect, Outputs, Settings};
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::screen::{self, BOLD, count, number, styled, wrap};

/// The policy: `SwingUp::GOOD` as a network.
const POLICY: &[u8] = include_bytes!("../../assets/swing_up.onnx");
const SETTINGS: &str = include_str!("../../assets/demo.toml");
const HORIZON: usize = 100;
const EPISODES: usize = 80;
/// Episodes of the true dynamics behind the true return.
const TRUE_EPISODES: usize = 10_000;

pub(crate) fn run(args: &Demo, quiet: bool, progress: &Progress) -> Result<Exit> {
    let out = &args.out;
    if out.exists() {
        let message =
            format!("{} exists already; remove it, or choose another --out", out.display());
        return Err(Failure::input(message));
    }
    let (logs, policy) = (out.join("logs.csv"), out.join("policy.onnx"));
    let (config, model) = (out.join("hambo.toml"), out.join("model"));
    let (run, report) = (out.join("run"), out.join("report.html"));

    say(
        "A pendulum hangs from a hinge. Somebody has logged a mediocre controller that swings it up \
         late or not at all. You have a new controller, and want to know before you run it: is it \
         better?",
    )?;
    let dataset = mediocre_logs()?;
    let logged = dataset.summary().returns.mean;
    std::fs::create_dir_all(out).map_err(|error| Failure::io(out, "create it", &error))?;
    atomic::write(&logs, csv(&dataset).as_bytes())?;
    atomic::write(&policy, POLICY)?;
    atomic::write(&config, SETTINGS.as_bytes())?;

    let flags = format!("--config {}", config.display());
    step("1. The logs", &[&"inspect", &logs.display(), &flags])?;
    let settings = Settings { config: Some(config.clone()), ..Settings::default() };
    let asked = Inspect { data: logs.clone(), json: None, settings: settings.clone() };
    inspect::run(&asked, quiet, progress)?;

    let to = format!("--out {}", model.display());
    step("2. A model that knows what it does not know", &[&"fit", &logs.display(), &to, &flags])?;
    let asked = Fit { data: logs, out: model.clone(), gp: false, settings: settings.clone() };
    fit::run(&asked, quiet, progress)?;

    // As it is printed, so that the printed command does the same.
    let threshold: f64 = format!("{logged:.1}").parse().unwrap_or(logged);
    let words = [
        "certify".into(),
        format!("--model {}", model.display()),
        format!("--policy {}", policy.display()),
        format!("--threshold {threshold}"),
        flags,
        format!("--out {}", run.display()),
        format!("--report {}", report.display()),
    ];
    let shown: Vec<&dyn std::fmt::Display> = words.iter().map(|w| w as _).collect();
    step("3. The worst that the logs still allow, against what the old controller got", &shown)?;
    say(
        "The demo's settings are reduced, to fit into a minute: small networks, few episodes. The \
         defaults are larger, and take some minutes.",
    )?;
    let outputs = Outputs {
        out: Some(run),
        resume: false,
        json: Some(out.join("result.json")),
        report: Some(report.clone()),
        markdown: None,
        junit: None,
    };
    let basis = Basis { data: None, model: Some(model) };
    let bound = BoundFlags::default();
    let asked = Certify {
        exit_zero: false,
        threshold: Some(threshold),
        margin: None,
        evaluate: Evaluate {
            policy: policy.clone(),
            basis,
            trained_on: None,
            bound,
            outputs,
            settings,
        },
    };
    let mut typed: Vec<String> = vec!["hambo".into()];
    typed.extend(words.iter().flat_map(|word| word.split(' ').map(String::from)));
    let threshold = asked.threshold;
    let call = Call { args: &asked.evaluate, threshold, margin: None, words: &typed };
    evaluate::run(&call, quiet, progress)?;

    let truth = true_return(&policy)?;
    screen::print(&format!(
        "\n{}\n",
        styled(BOLD, "4. The truth, which nobody knows outside a demo")
    ))?;
    say(&format!(
        "In {} episodes of the true pendulum the new controller gets {} on average; the old one got \
         {}. Open {} for the evidence behind the bound.",
        count(TRUE_EPISODES),
        number(truth),
        number(logged),
        report.display()
    ))?;
    Ok(Exit::Done)
}

fn say(text: &str) -> Result<()> {
    screen::print(&format!("{}\n", wrap(text, 0, 0)))
}

/// A heading, and the command that does the same.
fn step(heading: &str, words: &[&dyn std::fmt::Display]) -> Result<()> {
    // Each flag stays with its value.
    let mut lines = vec![String::from("$ hambo")];
    for word in words {
        let word = word.to_string();
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < screen::WIDTH - 4 => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(format!("    {word}")),
        }
    }
    screen::print(&format!("\n{}\n{}\n", styled(BOLD, heading), lines.join(" \\\n")))
}

/// Half of the episodes with little noise on the torque, half with much.
fn mediocre_logs() -> Result<Dataset> {
    let task = pendulum::task(HORIZON);
    let mut episodes = Vec::new();
    for noise in [0.5, 1.0] {
        let behaviour = SwingUp::DETUNED.noisy(noise);
        let streams = &mut Streams::new(Seed(0), &format!("demo logs with noise {noise}"));
        let part = collect(&Pendulum, &task, &behaviour, EPISODES / 2, streams)?;
        episodes.extend(part.to_episodes());
    }
    Ok(Dataset::from_episodes(episodes).map_err(hambo::Error::from)?)
}

fn csv(dataset: &Dataset) -> String {
    let mut text = String::from(
        "episode,step,cos,sin,speed,torque,reward,next_cos,next_sin,next_speed,terminated,truncated\n",
    );
    let (states, actions, next) = (dataset.states(), dataset.actions(), dataset.next_states());
    for (episode, span) in dataset.episodes().iter().enumerate() {
        for (step, row) in span.rows.clone().enumerate() {
            let (s, n) = (states.row(row), next.row(row));
            let last = row + 1 == span.rows.end;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{episode},{step},{},{},{},{},{},{},{},{},false,{}",
                s[0],
                s[1],
                s[2],
                actions[[row, 0]],
                dataset.rewards()[row],
                n[0],
                n[1],
                n[2],
                last
            );
        }
    }
    text
}

fn true_return(policy: &Path) -> Result<f64> {
    let policy = OnnxPolicy::load(policy, pendulum::STATE_DIM, pendulum::ACTION_DIM)?;
    let streams = &mut Streams::new(Seed(0), "demo truth");
    let task = pendulum::task(HORIZON);
    let returns = rollout::simulate(&Pendulum, &task, &policy, TRUE_EPISODES, streams, |_| Ok(()))?;
    Ok(returns.mean().unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use hambo::{Policy, RowStreams};
    use ndarray::Array2;

    use super::*;

    #[test]
    fn the_network_is_the_controller() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("policy.onnx");
        std::fs::write(&path, POLICY).unwrap();
        let network = OnnxPolicy::load(&path, 3, 1).unwrap();
        let mut states = Array2::zeros((4000, 3));
        for (row, mut state) in states.rows_mut().into_iter().enumerate() {
            let (angle, speed) = (0.0031 * row as f32 - 6.0, (row % 17) as f32 - 8.0);
            state.assign(&ndarray::array![angle.cos(), angle.sin(), speed]);
        }
        let draws = &mut RowStreams::new(&mut Seed(0).stream("unused"), states.nrows());
        let expected = SwingUp::GOOD.act(states.view(), draws).unwrap();
        let found = network.act(states.view(), draws).unwrap();
        for (row, (a, b)) in expected.iter().zip(&found).enumerate() {
            assert!((a - b).abs() < 1e-4, "{}: {a}, not {b}", states.row(row));
        }
    }

    #[test]
    fn the_demos_settings_can_be_read() {
        let config: crate::config::Config = toml::from_str(SETTINGS).unwrap();
        assert_eq!(config.task.horizon, Some(HORIZON));
    }
}
