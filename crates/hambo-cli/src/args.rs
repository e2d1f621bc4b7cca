//! What can be typed.

mod plan;
mod rank;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgGroup, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use hambo::Variant;

pub(crate) use plan::Plan;
pub(crate) use rank::Rank;

const ABOUT: &str = "From logs alone, how well will this policy do at the very least?";

const LONG_ABOUT: &str = "\
From logs alone, how well will this policy do at the very least?

Give logged transitions, and a policy as an ONNX file. hambo learns several
worlds from the logs, plays the policy in all of them, tests the worlds on the
logs, and reports a lower bound on the policy's return.

Start with `hambo demo`; then, on your own logs, `hambo inspect DATA` and
`hambo init DATA`.";

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  done; for `certify`: CERTIFIED; for `backtest`: every claim held
    1  internal failure (a full disk, a training that diverges)
    2  bad usage or input; the message says what to change
    3  `certify`: NOT CERTIFIED, the data does not prove it; `backtest`: a claim
       did not hold
    4  `certify`: INCONCLUSIVE, a warning makes the bound untrustworthy;
       `backtest`: the logs are too short for the horizon
  130  interrupted";

const BACKTEST_EXIT_CODES: &str = "\
Exit codes:
    0  every claim over the whole horizon held
    1  internal failure (a full disk, a training that diverges)
    2  bad usage or input; the message says what to change
    3  a claim did not hold
    4  the logs are too short to test the whole horizon
  130  interrupted";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// One call of the command.
#[derive(Debug, Parser)]
#[command(name = "hambo", version, about = ABOUT, long_about = LONG_ABOUT, styles = STYLES)]
#[command(after_help = EXIT_CODES, max_term_width = 80)]
pub(crate) struct Invocation {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub appearance: Appearance,

    /// The words of the call, to store with a run.
    #[arg(skip)]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Appearance {
    /// Print only warnings and the result
    #[arg(long, short, global = true, display_order = 900)]
    pub quiet: bool,

    /// Print without colours; also by the environment variable NO_COLOR
    #[arg(long, global = true, display_order = 901)]
    pub no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tell the whole story on a pendulum in about a minute: data, fit, bound, report
    Demo(Demo),
    /// Say what is in logs, and what is wrong with them
    Inspect(Inspect),
    /// Write a commented hambo.toml, filled from the data
    Init(Init),
    /// Fit and calibrate a model of the dynamics
    Fit(Fit),
    /// Write a log to a directory of columns, from which it is read without being loaded into memory
    Convert(Convert),
    /// Bound the return of a policy from below
    #[command(after_help = EXIT_CODES)]
    Evaluate(Evaluate),
    /// Bound the return, and say whether it reaches a threshold
    #[command(after_help = EXIT_CODES)]
    Certify(Certify),
    /// Compare what would have been certified of the logs themselves with what they earned
    #[command(after_help = BACKTEST_EXIT_CODES)]
    Backtest(Backtest),
    /// Bound many policies on one model, and rank them by their bounds
    Rank(Rank),
    /// Say what a fit and evaluations will cost on this machine, without doing them
    Plan(Plan),
    /// Learn a policy from logs, near what was done in them
    Learn(Learn),
    /// Draw the report of a finished run again, or its figures
    Report(Report),
    /// Say what a warning means, and what to do about it
    Explain {
        /// Its code, such as outside_data [default: list all]
        code: Option<String>,
    },
    /// About hambo.toml
    #[command(subcommand)]
    Config(Config),
    /// Print completions for a shell
    Completions { shell: Shell },
    /// Print the manual page
    Man {
        /// Write the pages of all commands to this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// New directory for everything that the demo makes
    #[arg(long, value_name = "DIR", default_value = "hambo-demo")]
    pub out: PathBuf,
}

/// Where settings come from: the file, then `--set`, then the other flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// File with settings [default: hambo.toml, if there is one]
    #[arg(long, value_name = "F")]
    pub config: Option<PathBuf>,

    /// Change one setting, such as evaluation.adversary.max_rounds=50; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Take a smaller model, fitted for a shorter time, and fewer episodes: for a first look. Such a model certifies nothing
    #[arg(long)]
    pub quick: bool,

    /// Seed of all randomness
    #[arg(long)]
    pub seed: Option<u64>,

    /// Print the settings that would be used as TOML, and stop
    #[arg(long)]
    pub show_config: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// Log: a file, a directory, a pattern such as 'logs/*.parquet', or a Minari dataset's id
    pub data: PathBuf,

    /// Write what was found as JSON
    #[arg(long, value_name = "F")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Log: a file, a directory, a pattern such as 'logs/*.parquet', or a Minari dataset's id
    pub data: PathBuf,

    /// New directory for the columns; commands take it in place of the log
    #[arg(long, value_name = "STORE")]
    pub out: PathBuf,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Log to fill the file from
    pub data: Option<PathBuf>,

    /// File to write; `-` prints it
    #[arg(long, value_name = "F", default_value = "hambo.toml")]
    pub out: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,

    /// Column mapping, such as --set 'data.state=["x","v"]'; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// Log: a file, a directory, a pattern such as 'logs/*.parquet', or a Minari dataset's id
    pub data: PathBuf,

    /// New directory for the model
    #[arg(long, value_name = "MODEL")]
    pub out: PathBuf,

    /// Fit Gaussian processes in place of the ensemble (up to 5,000 transitions)
    #[arg(long)]
    pub gp: bool,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Policy as an ONNX file: states in, actions out
    #[arg(long, value_name = "P.onnx")]
    pub policy: PathBuf,

    #[command(flatten)]
    pub basis: Basis,

    /// Log that the policy was trained on. A model is then fitted on other episodes if there are enough of
    /// them, and otherwise the result says how many it shares
    #[arg(long, value_name = "LOG")]
    pub trained_on: Option<PathBuf>,

    #[command(flatten)]
    pub bound: BoundFlags,

    #[command(flatten)]
    pub outputs: Outputs,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("goal").args(["threshold", "against"]).required(true).multiple(true)))]
pub(crate) struct Certify {
    /// The return that the policy must reach
    #[arg(long, value_name = "J0", allow_negative_numbers = true)]
    pub threshold: Option<f64>,

    /// How much more it must earn than what --against names [default: 0]
    #[arg(long, value_name = "M", allow_negative_numbers = true, requires = "against")]
    pub margin: Option<f64>,

    /// End with code 0 whatever the verdict is
    #[arg(long)]
    pub exit_zero: bool,

    #[command(flatten)]
    pub evaluate: Evaluate,
}

/// The model, or the data to fit one to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Basis {
    /// Log to fit a model to first; in place of --model
    pub data: Option<PathBuf>,

    /// Model that `hambo fit` has written
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct BoundFlags {
    /// Steps per episode [default: task.horizon of hambo.toml]
    #[arg(long, value_name = "T")]
    pub horizon: Option<usize>,

    /// What the policy is compared with: `logged` for the logged policy, or a policy as an ONNX
    /// file
    #[arg(long, value_name = "logged|P.onnx")]
    pub against: Option<PathBuf>,

    /// Columns that the policy takes, in its order [default: all columns of the state]
    #[arg(long, value_delimiter = ',', value_name = "COLUMN,...")]
    pub inputs: Vec<String>,

    /// Variants to play: worlds, or the paper's ca, da1, dainf (bounds); ds, ts1, tsinf (neutral)
    /// [default: worlds; for Gaussian processes ca,ds]
    #[arg(long, value_delimiter = ',', value_name = "V,...", value_parser = variant)]
    pub variants: Vec<Variant>,

    /// Play the paper's adversaries ca, da1 and dainf as well, as stress tests; takes much longer
    #[arg(long)]
    pub stress: bool,

    /// Say as well what the field's estimators make of the policy: FQE, MOPO, MOReL and, if the logs
    /// tell how probable their actions were, importance sampling and doubly robust ones
    #[arg(long)]
    pub baselines: bool,

    /// Probability with which the bound may fail [default: 0.05]
    #[arg(long)]
    pub delta: Option<f64>,

    /// Settings weaker than the defaults that may lead to CERTIFIED, such as beta or
    /// thresholds.outside_data; warnings name them
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub accept_weaker: Vec<String>,

    /// Warnings that may nevertheless lead to CERTIFIED, by code; the verdict names them
    #[arg(long, value_delimiter = ',', value_name = "WARNING,...")]
    pub allow: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Outputs {
    /// Keep the run in this directory, for `hambo report` and for --resume
    #[arg(long, value_name = "RUN")]
    pub out: Option<PathBuf>,

    /// Go on with the run in --out if it was interrupted; the result is bit for bit the same
    #[arg(long, requires = "out")]
    pub resume: bool,

    /// Write the result as JSON; `-` prints it in place of the text
    #[arg(long, value_name = "F")]
    pub json: Option<PathBuf>,

    /// Write a report that stands alone as HTML
    #[arg(long, value_name = "F.html")]
    pub report: Option<PathBuf>,

    /// Write a summary as Markdown, for a pipeline's page
    #[arg(long, value_name = "F.md")]
    pub markdown: Option<PathBuf>,

    /// Write the verdict as a JUnit test
    #[arg(long, value_name = "F.xml")]
    pub junit: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Learn {
    /// Log: a file, a directory, a pattern such as 'logs/*.parquet', or a Minari dataset's id
    pub data: PathBuf,

    /// File for the policy
    #[arg(long, value_name = "P.onnx")]
    pub out: PathBuf,

    /// Steps per episode [default: task.horizon of hambo.toml]
    #[arg(long, value_name = "T")]
    pub horizon: Option<usize>,

    /// Share of the logs that the policy is not learned from, so that it can be certified by them
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub hold_out: f64,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Backtest {
    /// Log: a file, a directory, a pattern such as 'logs/*.parquet', or a Minari dataset's id
    pub data: PathBuf,

    /// Steps per episode [default: task.horizon of hambo.toml]
    #[arg(long, value_name = "T")]
    pub horizon: Option<usize>,

    /// Column that says where each episode came from: a policy, a machine, a week [default: data.source of
    /// hambo.toml]
    #[arg(long, value_name = "COLUMN")]
    pub source: Option<String>,

    /// Probability with which a claim may fail [default: 0.05]
    #[arg(long)]
    pub delta: Option<f64>,

    /// Keep what was found here part by part; the same command then goes on from there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write what was found as JSON; `-` prints it in place of the text
    #[arg(long, value_name = "F")]
    pub json: Option<PathBuf>,

    /// Write a page that stands alone as HTML
    #[arg(long, value_name = "F.html")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Directory that `evaluate` or `certify` has written with --out, or one of those in `rank`'s
    pub run: PathBuf,

    #[command(flatten)]
    pub drawings: Drawings,
}

/// At least one of them.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Drawings {
    /// File to write the page to
    #[arg(long, value_name = "F.html")]
    pub out: Option<PathBuf>,

    /// Directory to write every figure to, as SVG and as PNG
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print the JSON Schema of hambo.toml
    Schema,
}

fn variant(name: &str) -> Result<Variant, String> {
    use Variant::{Ca, Da1, DaInf, Ds, Ts1, TsInf, Worlds};
    let all = [Worlds, Ca, Da1, DaInf, Ds, Ts1, TsInf];
    let found = all.into_iter().find(|variant| variant.to_string().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "the variants are worlds, ca, da1, dainf, ds, ts1 and tsinf".into())
}

impl Invocation {
    /// Reads the command line; help and mistakes come back as errors.
    pub(crate) fn read(words: Vec<OsString>) -> Result<Self, clap::Error> {
        // Help and mistakes are printed before anything is parsed.
        let plain = words.iter().any(|word| word == "--no-color");
        let color = if plain { ColorChoice::Never } else { ColorChoice::Auto };
        let matches = Self::command().color(color).try_get_matches_from(&words)?;
        let mut invocation = Self::from_arg_matches(&matches)?;
        if invocation.appearance.no_color {
            anstream::ColorChoice::Never.write_global();
        }
        invocation.words = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(invocation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Invocation::command().debug_assert();
    }

    #[test]
    fn variants_go_by_their_names_in_any_case() {
        assert_eq!(variant("CA"), Ok(Variant::Ca));
        assert_eq!(variant("dainf"), Ok(Variant::DaInf));
        assert!(variant("da2").is_err());
    }
}
