//! What tests of the command have in common.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A place of its own with the fixture's files in it.
#[derive(Debug)]
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().expect("a place to work");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
        for file in ["logs.csv", "policy.onnx", "linear.onnx", "hambo.toml"] {
            fs::copy(fixture.join(file), place.path().join(file)).expect("a copy");
        }
        Self(place)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hambo"));
        command.current_dir(self.0.path()).args(arguments.split(' ')).env("NO_COLOR", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    pub(crate) fn start(&self, arguments: &str) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    pub(crate) fn result(&self, run: &str) -> Value {
        let text = fs::read(self.path(run).join("result.json")).expect("a result");
        let mut result: Value = serde_json::from_slice(&text).expect("JSON");
        assert!(result["timings"].take().is_object());
        result
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn assert_done(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// What a command that has to succeed prints.
pub(crate) fn done(output: &Output) -> String {
    assert_done(output);
    text(&output.stdout)
}
