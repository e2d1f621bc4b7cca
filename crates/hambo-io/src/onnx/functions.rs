//! Rewards and terminations.

use std::path::Path;

use hambo::task::{Reward, Termination};
use hambo::{BoxError, Transitions};
use ndarray::{Array1, Array2};

use super::error::{OnnxError, OnnxProblem};
use super::file::OnnxFile;
use super::network::{Network, Output};
use super::probe::Probe;

/// A reward in an ONNX file: one value per transition.
#[derive(Debug)]
pub struct OnnxReward(Function);

/// A termination in an ONNX file: true or false per transition, or 1 and 0.
#[derive(Debug)]
pub struct OnnxTermination(Function);

/// One value per transition.
#[derive(Debug)]
struct Function {
    network: Network,
    /// What each input takes, in the file's order.
    inputs: Vec<Part>,
}

/// A part of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    State,
    Action,
    NextState,
}

impl OnnxReward {
    /// Reads a reward over states and actions of the given widths.
    pub fn load(
        path: impl AsRef<Path>,
        state_dim: usize,
        action_dim: usize,
    ) -> Result<Self, OnnxError> {
        let names = ["reward", "rewards"];
        Function::load(path.as_ref(), state_dim, action_dim, &names).map(|loaded| Self(loaded.0))
    }
}

impl OnnxTermination {
    /// Reads a termination over states and actions of the given widths.
    pub fn load(
        path: impl AsRef<Path>,
        state_dim: usize,
        action_dim: usize,
    ) -> Result<Self, OnnxError> {
        let names = ["terminated", "termination", "terminal", "done"];
        let (function, tried) = Function::load(path.as_ref(), state_dim, action_dim, &names)?;
        function.truths(&tried)?;
        Ok(Self(function))
    }
}

impl Reward for OnnxReward {
    fn reward(&self, transitions: &Transitions<'_>) -> Result<Array1<f32>, BoxError> {
        let values = self.0.values(transitions)?;
        Ok(values.into_iter().collect())
    }
}

impl Termination for OnnxTermination {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        Ok(self.0.truths(&self.0.values(transitions)?)?)
    }
}

impl Function {
    /// The function, and what it said to a few transitions. It need not be finite on them: unlike a
    /// policy's, its domain may be small.
    fn load(
        path: &Path,
        state_dim: usize,
        action_dim: usize,
        output_names: &[&str],
    ) -> Result<(Self, Array2<f32>), OnnxError> {
        let at = |problem: OnnxProblem| problem.at(path);
        let file = OnnxFile::read(path).map_err(at)?;
        let inputs = parts(&file).map_err(at)?;
        let widths: Vec<usize> = inputs
            .iter()
            .map(|part| if *part == Part::Action { action_dim } else { state_dim })
            .collect();
        for ((input, part), &width) in file.inputs.iter().zip(&inputs).zip(&widths) {
            let quantity = if *part == Part::Action { "action" } else { "state" };
            input.check_input(width, quantity).map_err(at)?;
        }
        let output = Output {
            name: choose_output(&file, output_names).map_err(at)?,
            width: 1,
            reason: "one value per transition",
            may_be_shared: false,
            may_be_bool: true,
            may_be_choices: false,
        };
        let network = Network::prepare(path, &file, widths.clone(), vec![output]).map_err(at)?;
        let mut probe = Probe::run(&network, &widths)?;
        Ok((Self { network, inputs }, probe.outputs.swap_remove(0)))
    }

    fn values(&self, transitions: &Transitions<'_>) -> Result<Array2<f32>, OnnxError> {
        let given = self.inputs.iter().map(|part| match part {
            Part::State => transitions.states,
            Part::Action => transitions.actions,
            Part::NextState => transitions.next_states,
        });
        Ok(self.network.run(&given.collect::<Vec<_>>())?.swap_remove(0))
    }

    /// 1 and 0 as true and false. Anything else may be a probability or a distance, for which nobody
    /// has said where true begins.
    fn truths(&self, values: &Array2<f32>) -> Result<Array1<bool>, OnnxError> {
        match values.iter().find(|value| **value != 0.0 && **value != 1.0) {
            Some(&value) => {
                let output = self.network.outputs()[0].name.clone();
                Err(OnnxProblem::NotTruth { output, value }.at(self.network.path()))
            }
            None => Ok(values.iter().map(|&value| value == 1.0).collect()),
        }
    }
}

/// What the inputs take, by their names.
fn parts(file: &OnnxFile) -> Result<Vec<Part>, OnnxProblem> {
    let part = |name: &str| match name {
        "state" | "states" | "obs" | "observation" | "observations" => Some(Part::State),
        "action" | "actions" => Some(Part::Action),
        "next_state" | "next_states" | "next_obs" | "next_observation" | "next_observations" => {
            Some(Part::NextState)
        }
        _ => None,
    };
    let found = file.input_names();
    let parts: Option<Vec<Part>> = found.iter().map(|name| part(name)).collect();
    let distinct = |parts: &Vec<Part>| {
        (1..parts.len()).all(|index| !parts[..index].contains(&parts[index])) && !parts.is_empty()
    };
    parts.filter(distinct).ok_or_else(|| {
        let expected = "some of `state`, `action` and `next_state`, each once; rename them when \
                        exporting (torch: `input_names`)";
        OnnxProblem::Inputs { found, expected: expected.to_owned() }
    })
}

fn choose_output(file: &OnnxFile, names: &[&str]) -> Result<String, OnnxProblem> {
    let found = file.output_names();
    let mut matching = found.iter().filter(|name| names.contains(&name.as_str()));
    match (&*found, matching.next(), matching.next()) {
        ([only], _, _) => Ok(only.clone()),
        (_, Some(name), None) => Ok(name.clone()),
        _ => {
            let expected = "one, or one called `reward` or `terminated`; drop the others when \
                            exporting";
            Err(OnnxProblem::Outputs { found, expected })
        }
    }
}
