//! The engine's door: its model of a graph, and its errors and panics as messages.

use tract_onnx::pb::ModelProto;
use tract_onnx::prelude::{DatumExt, Framework, InferenceModel, TractResult};

use super::error::OnnxProblem;
use crate::guard::caught;

/// Rows that are run together. Every chunk has this size, the last one filled up, so that all rows go
/// the same way through the engine.
pub(super) const CHUNK: usize = 128;

/// Longest message of the engine that is passed on: some quote whole graphs.
const MAX_MESSAGE: usize = 400;

/// The engine's model of a graph with inputs `[CHUNK, width]`. Shapes that the file declares for
/// anything else are ignored: they may hold for a batch of one only.
pub(super) fn inference_model(proto: &ModelProto, widths: &[usize]) -> TractResult<InferenceModel> {
    let onnx = tract_onnx::onnx().with_ignore_output_shapes(true).with_ignore_value_info(true);
    let mut model = onnx.model_for_proto_model(proto)?;
    for (index, &width) in widths.iter().enumerate() {
        model.set_input_fact(index, f32::fact([CHUNK, width]).into())?;
    }
    Ok(model)
}

/// Runs the engine, and makes its errors and panics messages of one line.
pub(super) fn guarded<T>(work: impl FnOnce() -> TractResult<T>) -> Result<T, String> {
    let message = match caught(work) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => format!("{error:#}"),
        Err(reason) => format!("the engine stopped: {reason}"),
    };
    let one_line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    Err(one_line.chars().take(MAX_MESSAGE).collect())
}

pub(super) fn engine(message: String) -> OnnxProblem {
    OnnxProblem::Engine { rows: CHUNK, message }
}

#[cfg(test)]
mod tests {
    use tract_onnx::prelude::TractError;

    use super::*;

    #[test]
    fn a_panic_of_the_engine_becomes_a_message() {
        let found = guarded(|| -> TractResult<()> { panic!("slot {} is empty", 3) });
        assert_eq!(found, Err("the engine stopped: slot 3 is empty".to_owned()));
        let found = guarded(|| -> TractResult<()> { panic!("unexpected") });
        assert_eq!(found, Err("the engine stopped: unexpected".to_owned()));
    }

    #[test]
    fn messages_of_the_engine_are_one_short_line() {
        let long = "a word\n".repeat(1000);
        let found = guarded(|| -> TractResult<()> { Err(TractError::msg(long)) });
        let message = found.expect_err("it failed");
        assert_eq!(message.len(), MAX_MESSAGE);
        assert!(message.starts_with("a word a word"), "{message}");
    }
}
