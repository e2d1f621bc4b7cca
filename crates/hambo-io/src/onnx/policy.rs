//! Policies.

use std::path::Path;

use hambo::dataset::{ColumnNames, EpisodeMarks};
use hambo::task::Policy;
use hambo::{BoxError, RowStreams};
use ndarray::{Array2, ArrayView2, Axis, Zip};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::error::{OnnxError, OnnxProblem};
use super::file::{OnnxFile, Port};
use super::network::{Network, Output};
use super::probe::Probe;
use super::write::{learned_from, learned_in_worlds};

/// What an output is called that holds a score for each choice.
const SCORES: [&str; 3] = ["scores", "logits", "q_values"];

/// What a second input is called that takes standard normal draws, and how wide it may be.
const NOISE: &str = "noise";
const MOST_NOISE: usize = 1 << 16;

/// A policy in an ONNX file: an action for every state, or a Gaussian from which it is drawn.
#[derive(Debug)]
pub struct OnnxPolicy {
    network: Network,
    kind: Kind,
    /// Columns of standard normal noise that it takes beside the state; 0 if it takes none.
    noise: usize,
    /// The columns of the state that it takes, in its order; all of them if there are none.
    inputs: Vec<usize>,
    /// The episodes that it was learned from, if the file tells.
    learned_from: Option<EpisodeMarks>,
    learned_in_worlds: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Deterministic,
    /// A score for each choice, of which the highest is meant.
    Scores,
    /// With the standard deviation itself as second output, or its logarithm.
    Gaussian {
        logarithm: bool,
    },
}

impl OnnxPolicy {
    /// Reads a policy for states and actions of the given widths, and tries it on a few states.
    pub fn load(
        path: impl AsRef<Path>,
        state_dim: usize,
        action_dim: usize,
    ) -> Result<Self, OnnxError> {
        let path = path.as_ref();
        let at = |problem: OnnxProblem| problem.at(path);
        let file = OnnxFile::read(path).map_err(at)?;
        let noise = check_inputs(&file, state_dim).map_err(at)?;
        let widths: Vec<usize> = if noise > 0 { vec![state_dim, noise] } else { vec![state_dim] };
        let (kind, names) = choose_outputs(&file).map_err(at)?;
        let outputs = names.iter().enumerate().map(|(index, name)| Output {
            name: name.clone(),
            width: action_dim,
            reason: "one column per action column of the data",
            may_be_shared: index > 0,
            may_be_bool: false,
            may_be_choices: kind == Kind::Deterministic,
        });
        let network =
            Network::prepare(path, &file, widths.clone(), outputs.collect()).map_err(at)?;
        let probe = Probe::run(&network, &widths)?;
        probe.check_finite(&network)?;
        if kind == (Kind::Gaussian { logarithm: false }) {
            let negative = probe.outputs[1].indexed_iter().find(|(_, std)| **std < 0.0);
            if let Some(((_, column), &value)) = negative {
                return Err(at(OnnxProblem::NegativeStd { column, value }));
            }
        }
        Ok(Self {
            network,
            kind,
            noise,
            inputs: Vec::new(),
            learned_from: learned_from(&file.proto),
            learned_in_worlds: learned_in_worlds(&file.proto),
        })
    }

    /// Reads a policy that takes only some columns of the state, by their names and in this order; all of them if
    /// none are named.
    pub fn load_for(
        path: impl AsRef<Path>,
        inputs: &[String],
        columns: &ColumnNames,
    ) -> Result<Self, OnnxError> {
        let path = path.as_ref();
        let inputs = Self::input_columns(inputs, columns).map_err(|problem| problem.at(path))?;
        let width = if inputs.is_empty() { columns.states.len() } else { inputs.len() };
        Ok(Self { inputs, ..Self::load(path, width, columns.actions.len())? })
    }

    /// Where the columns are that a policy takes, before there is a file.
    pub fn input_columns(
        inputs: &[String],
        columns: &ColumnNames,
    ) -> Result<Vec<usize>, OnnxProblem> {
        let states = &columns.states;
        let index = |name: &String| {
            let unknown =
                || OnnxProblem::NoColumn { name: name.clone(), columns: states.join("`, `") };
            states.iter().position(|column| column == name).ok_or_else(unknown)
        };
        inputs.iter().map(index).collect()
    }

    /// What the file is asked, given whole states and what it draws.
    fn asked(
        &self,
        states: ArrayView2<'_, f32>,
        noise: impl FnMut((usize, usize)) -> f32,
    ) -> Result<Vec<Array2<f32>>, OnnxError> {
        let chosen;
        let seen = match self.inputs.is_empty() {
            true => states,
            false => {
                chosen = states.select(Axis(1), &self.inputs);
                chosen.view()
            }
        };
        match self.noise {
            0 => self.network.run(&[seen]),
            width => {
                let noise = Array2::from_shape_fn((states.nrows(), width), noise);
                self.network.run(&[seen, noise.view()])
            }
        }
    }

    /// Whether actions are drawn at random.
    pub fn is_stochastic(&self) -> bool {
        self.noise > 0 || matches!(self.kind, Kind::Gaussian { .. })
    }

    /// Actions `[batch, d_a]` or numbers of choices, of a Gaussian policy the means, and of one that takes noise those
    /// without any.
    pub fn mean_actions(&self, states: ArrayView2<'_, f32>) -> Result<Array2<f32>, OnnxError> {
        Ok(self.asked(states, |_| 0.0)?.swap_remove(0))
    }
}

impl Policy for OnnxPolicy {
    fn act(
        &self,
        states: ArrayView2<'_, f32>,
        draws: &mut RowStreams,
    ) -> Result<Array2<f32>, BoxError> {
        let mut outputs = self.asked(states, |(row, _)| draws.row(row).sample(StandardNormal))?;
        let Kind::Gaussian { logarithm } = self.kind else {
            return Ok(outputs.swap_remove(0));
        };
        let (mut actions, spread) = (outputs.swap_remove(0), outputs.swap_remove(0));
        Zip::indexed(&mut actions).and(&spread).for_each(|(row, _), action, &spread| {
            let noise: f32 = draws.row(row).sample(StandardNormal);
            *action += noise * if logarithm { spread.exp() } else { spread };
        });
        Ok(actions)
    }

    fn gives_scores(&self) -> bool {
        self.kind == Kind::Scores
    }

    fn learned_from(&self) -> Option<&EpisodeMarks> {
        self.learned_from.as_ref()
    }

    fn learned_in_worlds(&self) -> bool {
        self.learned_in_worlds
    }
}

/// How many columns of noise it takes beside the state.
fn check_inputs(file: &OnnxFile, state_dim: usize) -> Result<usize, OnnxProblem> {
    let known_width = |port: &Port| match port.shape.as_deref() {
        Some([_, Some(width)]) => usize::try_from(*width).ok().filter(|&width| width <= MOST_NOISE),
        _ => None,
    };
    match &*file.inputs {
        [state] => state.check_input(state_dim, "state").map(|()| 0),
        [state, noise] if noise.name == NOISE && known_width(noise).is_some() => {
            state.check_input(state_dim, "state")?;
            let width = known_width(noise).unwrap_or_default();
            noise.check_input(width, "noise").map(|()| width)
        }
        _ => {
            let expected = format!(
                "one, the state ([batch, {state_dim}]), and perhaps `noise` of a known width; a policy with a \
                 memory cannot be evaluated"
            );
            Err(OnnxProblem::Inputs { found: file.input_names(), expected })
        }
    }
}

/// Which outputs the actions come from.
fn choose_outputs(file: &OnnxFile) -> Result<(Kind, Vec<String>), OnnxProblem> {
    let found = file.output_names();
    let has = |name: &str| found.iter().any(|output| output == name);
    let chosen: (Kind, &[&str]) = match (has("action"), has("mean"), has("log_std"), has("std")) {
        (false, true, true, false) => (Kind::Gaussian { logarithm: true }, &["mean", "log_std"]),
        (false, true, false, true) => (Kind::Gaussian { logarithm: false }, &["mean", "std"]),
        (true, false, false, false) => (Kind::Deterministic, &["action"]),
        (false, false, false, false) if found.len() == 1 => {
            let are_scores = SCORES.contains(&found[0].as_str());
            let kind = if are_scores { Kind::Scores } else { Kind::Deterministic };
            return Ok((kind, found));
        }
        _ => {
            let expected = "either `action` (or one output of another name; `scores` or `logits` where \
                            the highest is chosen), or `mean` with one of `log_std` and `std`; rename or drop the others when exporting \
                            (torch: `output_names`)";
            return Err(OnnxProblem::Outputs { found, expected });
        }
    };
    Ok((chosen.0, chosen.1.iter().map(|&name| name.to_owned()).collect()))
}
