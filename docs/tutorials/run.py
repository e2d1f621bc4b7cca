"""Runs the tutorials and writes their outputs into them: `python run.py [NAME ...]`.

Needs hambo, `pip install nbclient ipykernel pandas "gymnasium[mujoco]" icu-sepsis`, and about a quarter of an hour.
"""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def run(path: Path) -> None:
    """Run a notebook from its start, and keep what its cells show."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(HERE)}}).execute()
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        if cell.cell_type == "code":
            # What packages log is about the machine, not about the tutorial.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            begun = time.monotonic()
            run(path)
            print(f"{path.stem}: {time.monotonic() - begun:.0f} s", flush=True)
