"""The code of the tutorials runs. Fits and evaluations are small ones; `just tutorials` makes the real outputs."""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hambo

from .conftest import TINY

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_output_is_that_of_its_cell(notebook: Path) -> None:
    """Nothing was run out of order, and nothing failed."""
    found = cells(notebook)
    assert [cell["execution_count"] for cell in found] == list(range(1, len(found) + 1))
    outputs = [output for cell in found for output in cell["outputs"]]
    assert all(output["output_type"] != "error" for output in outputs)
    assert len(outputs) >= 4
    # What packages log names paths of the machine that it ran on.
    assert all(output.get("name") != "stderr" for output in outputs)
    assert "site-packages" not in json.dumps(outputs)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = ["".join(cell["source"]) for cell in cells(notebook)]
    for package in re.findall(r"^import (gymnasium|icu_sepsis|pandas|mujoco)", "\n".join(sources), re.MULTILINE):
        pytest.importorskip(package)
    if "Reacher-v5" in "".join(sources):
        pytest.importorskip("mujoco")
    small: dict[str, Any] = {"episodes": 40}
    fit = hambo.fit
    monkeypatch.setattr(hambo, "fit", lambda data, settings=TINY, **options: fit(data, settings, **options))
    monkeypatch.setattr(hambo, "evaluate", partial(hambo.evaluate, **small))
    monkeypatch.setattr(hambo, "rank", partial(hambo.rank, **small))
    # Where the notebooks find the examples, and may leave files.
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tutorials").mkdir()
    (tmp_path / "examples").symlink_to(TUTORIALS.parents[1] / "examples")
    monkeypatch.chdir(tmp_path / "docs" / "tutorials")
    monkeypatch.setattr(sys, "path", list(sys.path))
    names: dict[str, Any] = {}
    for source in sources:
        exec(source, names)
