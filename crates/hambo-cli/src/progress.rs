//! Signs of life on standard error: a bar on a terminal, a line every ten seconds in a log.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hambo::{Event, Observer};
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt;
use crate::screen::{number, wrap};

const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows what the work is at, and asks it to stop when the user does.
pub(crate) struct Progress {
    way: Way,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Quiet,
    Bar,
    Lines,
}

struct State {
    /// What is being worked on, such as `return, CA`.
    label: String,
    stage: &'static str,
    stage_begun: Instant,
    /// Where the stage was then: not at its start if it goes on after an interruption.
    first_step: usize,
    last_step: usize,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let way = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Way::Quiet,
            (false, true) => Way::Bar,
            (false, false) => Way::Lines,
        };
        let now = Instant::now();
        let state = State {
            label: String::new(),
            stage: "",
            stage_begun: now,
            first_step: 0,
            last_step: 0,
            last_line: now,
            bar: None,
        };
        Self { way, state: Mutex::new(state) }
    }

    /// Something else is being worked on from now.
    pub(crate) fn begin(&self, label: &str) {
        let mut state = self.state();
        state.clear();
        state.label = label.into();
        if self.way == Way::Bar {
            let bar = ProgressBar::new(0);
            bar.set_style(style(false));
            bar.set_prefix(state.label.clone());
            bar.enable_steady_tick(Duration::from_millis(120));
            state.bar = Some(bar);
        }
    }

    /// Nothing is being worked on.
    pub(crate) fn end(&self) {
        self.state().clear();
    }

    /// A line that stays.
    pub(crate) fn note(&self, line: &str) {
        if self.way == Way::Quiet {
            return;
        }
        let state = self.state();
        let print = || anstream::eprintln!("{}", wrap(line, 0, 2));
        match &state.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.stage = "";
    }

    fn show(&mut self, event: &Event, way: Way) {
        let now = Instant::now();
        if event.stage != self.stage || event.step < self.last_step {
            (self.stage, self.stage_begun, self.first_step) = (event.stage, now, event.step);
            if let Some(bar) = &self.bar {
                bar.set_style(style(true));
            }
        }
        self.last_step = event.step;
        let text = text(event, self.first_step, now - self.stage_begun);
        if let Some(bar) = &self.bar {
            bar.set_length(event.of as u64);
            bar.set_position(event.step as u64);
            bar.set_message(text);
        } else if way == Way::Lines && now - self.last_line >= BETWEEN_LINES {
            self.last_line = now;
            eprintln!("{}: {text}", self.label);
        }
    }
}

impl Observer for Progress {
    fn observe(&self, event: &Event) -> ControlFlow<()> {
        if interrupt::requested() {
            return ControlFlow::Break(());
        }
        if self.way != Way::Quiet {
            self.state().show(event, self.way);
        }
        ControlFlow::Continue(())
    }
}

fn style(with_bar: bool) -> ProgressStyle {
    let template = match with_bar {
        true => "{spinner} {prefix} {bar:10.cyan/dim} {wide_msg}",
        false => "{spinner} {prefix} {wide_msg}",
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸━")
}

/// `round 4 of 30, at -312.4, 5.0/min, < 5 min 24 s left`; a stage may end earlier
fn text(event: &Event, first_step: usize, elapsed: Duration) -> String {
    let Event { stage, step, of, metric } = event;
    let mut text = match *stage {
        "adversary" => format!("round {} of {of}", step + 1),
        "fit" => format!("step {step} of {of}"),
        _ => format!("{stage} {step} of {of}"),
    };
    if let Some((name, value)) = metric {
        // Short, so that the time left is still on the line.
        let name = match *name {
            "held-out log-likelihood" => "likelihood",
            "attained return" => "at",
            name => name,
        };
        text += &format!(", {name} {}", number(*value));
    }
    let seconds = elapsed.as_secs_f64();
    if *step > first_step && seconds > 1.0 {
        let rate = (*step - first_step) as f64 / seconds;
        let left = (of.saturating_sub(*step)) as f64 / rate;
        text += &match rate {
            rate if rate >= 1.0 => format!(", {rate:.0}/s"),
            rate => format!(", {:.1}/min", 60.0 * rate),
        };
        text += &format!(", < {} left", duration(left.max(1.0)));
    }
    text
}

/// `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..600 => format!("{} min {} s", whole / 60, whole % 60),
        600..3600 => format!("{} min", whole / 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_of_life_has_stage_metric_rate_and_time_left() {
        let metric = Some(("attained return", -312.4));
        let event = Event { stage: "adversary", step: 3, of: 30, metric };
        let shown = text(&event, 0, Duration::from_secs(36));
        assert_eq!(shown, "round 4 of 30, at -312.4, 5.0/min, < 5 min 24 s left");
        let event = Event { stage: "fit", step: 100, of: 500, metric: None };
        let shown = text(&event, 0, Duration::from_secs(2));
        assert_eq!(shown, "step 100 of 500, 50/s, < 8 s left");
        // What was done before an interruption took none of this time.
        let shown = text(&event, 80, Duration::from_secs(2));
        assert_eq!(shown, "step 100 of 500, 10/s, < 40 s left");
    }

    #[test]
    fn durations_are_as_precise_as_anyone_cares() {
        let shown = [0.4, 59.0, 200.0, 1800.0, 7500.0].map(duration);
        assert_eq!(shown, ["0 s", "59 s", "3 min 20 s", "30 min", "2 h 5 min"]);
    }
}
