"""The `hambo` command that comes with the package: it ends as the program of its own does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hambo

FIXTURE = Path(__file__).parents[2] / "crates" / "hambo-cli" / "tests" / "fixture"
MODULE = [sys.executable, "-m", "hambo"]
CERTIFY = "certify logs.csv --policy policy.onnx --quiet"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, policies and tiny settings."""
    folder = tmp_path_factory.mktemp("command")
    for name in ("logs.csv", "policy.onnx", "hambo.toml"):
        shutil.copy(FIXTURE / name, folder)
    return folder


def run(arguments: str, place: Path, command: list[str] = MODULE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *arguments.split()], cwd=place, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("--version", 0, "hambo "),
        (f"{CERTIFY} --threshold -1e6", 0, "CERTIFIED"),
        (f"{CERTIFY} --threshold 1000", 3, "NOT CERTIFIED"),
        (f"{CERTIFY} --threshold -1e6 --variants ca", 4, "INCONCLUSIVE"),
    ],
)
def test_verdicts_are_exit_codes(place: Path, arguments: str, code: int, says: str) -> None:
    found = run(arguments, place)
    assert (found.returncode, found.stderr) == (code, "")
    # Warnings may stand before it.
    assert any(line.startswith(says) for line in found.stdout.splitlines())


@pytest.mark.parametrize("arguments", ["certified", "inspect nothing.csv", "certify logs.csv --policy policy.onnx"])
def test_mistakes_end_with_2_and_say_what_to_change(place: Path, arguments: str) -> None:
    found = run(arguments, place)
    assert (found.returncode, found.stdout) == (2, "")
    assert any(line.startswith("error:") for line in found.stderr.splitlines()) and "Traceback" not in found.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_ends_with_1(place: Path) -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run([*MODULE, "man"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("error: cannot write to standard output")


def test_a_reader_that_goes_away_is_no_failure(place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run([*MODULE, "man"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (found.returncode, found.stderr) == (0, "")


def started(place: Path, out: str) -> subprocess.Popen[str]:
    """A run that would take hours, once it is training adversaries."""
    settings = "--set evaluation.adversary.max_rounds=100000 --set evaluation.adversary.patience=100000"
    words = f"evaluate logs.csv --policy policy.onnx --variants ca --out {out} {settings}".split()
    child = subprocess.Popen([*MODULE, *words], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while not (place / out / "model").exists():
        assert child.poll() is None and time.monotonic() - begun < 120, child.communicate()
        time.sleep(0.01)
    return child


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_ends_with_130(place: Path, sent: signal.Signals) -> None:
    child = started(place, f"run-{sent.name}")
    child.send_signal(sent)
    begun = time.monotonic()
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130 and time.monotonic() - begun < 5
    assert "--resume" in errors and "Traceback" not in errors


def on_a_terminal(place: Path, arguments: str, **environment: str) -> str:
    """What a command prints to a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    variables |= {"TERM": "xterm-256color", **environment}
    child = subprocess.Popen(
        [*MODULE, *arguments.split()], cwd=place, stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when nobody is left to write.
            piece = b""
        if not piece:
            break
        text += piece
    os.close(ours)
    child.wait()
    return text.decode()


def test_colours_and_bars_are_for_terminals(place: Path) -> None:
    certify = CERTIFY.removesuffix(" --quiet") + " --threshold -1e6 --variants ca"
    shown = on_a_terminal(place, certify)
    assert "\x1b[1m\x1b[33mINCONCLUSIVE" in shown and "\r" in shown.replace("\r\n", "")
    assert "\x1b[1m" not in on_a_terminal(place, certify, NO_COLOR="1")
    found = run(certify, place)
    assert "\x1b" not in found.stdout + found.stderr


def test_the_program_of_its_own_says_and_does_the_same(place: Path) -> None:
    program = os.environ.get("HAMBO_COMMAND")
    if not program:
        pytest.skip("HAMBO_COMMAND does not name the program; `just python` sets it")
    for arguments in (
        "--help",
        "certify --help",
        "evaluate --help",
        "config schema",
        "certified",
        "fit nothing.csv --out model",
        f"{CERTIFY} --threshold 1000",
    ):
        ours, its = run(arguments, place), run(arguments, place, [program])
        assert (ours.returncode, ours.stdout, ours.stderr) == (its.returncode, its.stdout, its.stderr), arguments


def test_the_command_and_python_use_each_others_models(place: Path) -> None:
    assert run("fit logs.csv --out fitted", place).returncode == 0
    model = hambo.load(place / "fitted")
    assert model.initial_states is not None and len(model.initial_states) == 12
    assert (model.state_names, model.action_names) == (["cos", "sin", "speed"], ["torque"])
    options: dict[str, Any] = {"horizon": 5, "reward": "pendulum", "episodes": 50}
    found = hambo.evaluate(model, place / "policy.onnx", **options).lower_bound
    model.save(place / "saved")
    for name in ("fitted", "saved"):
        evaluated = run(f"evaluate --model {name} --policy policy.onnx --json -", place)
        assert json.loads(evaluated.stdout)["lower_bound"] == found


def test_a_result_is_one_document_whoever_wrote_it(place: Path) -> None:
    evaluate = "evaluate logs.csv --policy policy.onnx --out one --json result.json"
    assert run(evaluate, place).returncode == 0
    written, kept = (hambo.Evaluation.load(place / name) for name in ("result.json", "one/result.json"))
    assert written == kept
    assert hambo.Evaluation.from_json(written.to_json()) == written
    assert written.variants["worlds"].lower_bound == written.lower_bound
    assert written.verdict(1e9) == "not_certified"
    verdict = run(f"{CERTIFY} --threshold 1e9 --json -", place)
    assert json.loads(verdict.stdout)["verdict"] == "not_certified"


def test_the_package_installs_the_command(place: Path) -> None:
    script = Path(sys.executable).parent / "hambo"
    if not script.exists():
        pytest.skip("the package was not installed from a wheel, so there is no script")
    for arguments in ("--help", "certified", f"{CERTIFY} --threshold 1000"):
        ours, its = run(arguments, place), run(arguments, place, [str(script)])
        assert (ours.returncode, ours.stdout, ours.stderr) == (its.returncode, its.stdout, its.stderr), arguments


def test_the_command_needs_no_numpy(place: Path) -> None:
    program = "import sys, hambo.__main__ as command; command.main(); print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "False"
