"""The front page shows what its commands print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "console.py"


def test_the_commands_print_what_the_front_page_shows() -> None:
    pytest.importorskip("onnx")
    if "HAMBO_COMMAND" not in os.environ:
        pytest.skip("HAMBO_COMMAND does not say where the command is")
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
