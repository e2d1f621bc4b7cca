"""Runs the commands of the README on the logs of the heating example, and writes what they print into it.

python docs/console.py          # writes; needs numpy, onnx, and `hambo` on the path
python docs/console.py --check  # fails if the text would differ, except for digits, which depend on the processor
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```console\n(\$ hambo inspect.*?)```", re.DOTALL)
"""The block that begins with `hambo inspect`."""


def heating(folder: Path) -> None:
    """The logs and the policies of the example."""
    example = ROOT / "examples" / "heating"
    (folder / "hambo.toml").write_bytes((example / "hambo.toml").read_bytes())
    for script in ("plant.py", "policies.py"):
        subprocess.run([sys.executable, example / script], cwd=folder, check=True, capture_output=True)


def run(command: str, folder: Path) -> str:
    """The command and what a terminal shows of it, with its exit code if that is not 0."""
    found = subprocess.run(
        command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    code = f"(exit code {found.returncode})\n" if found.returncode else ""
    return f"$ {command}\n{found.stdout}{code}"


def renewed(text: str, folder: Path) -> str:
    """The README with what its commands print now."""
    block = BLOCK.search(text)
    if block is None:
        raise SystemExit("the README has no block of commands that begins with `$ hambo inspect`")
    commands = re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)
    shown = "\n".join(run(command, folder) for command in commands)
    return text[: block.start(1)] + shown + text[block.end(1) :]


def without_digits(text: str) -> str:
    """What must be the same on every processor."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.]+", "0", text))


def main() -> None:
    """Write or check."""
    if "HAMBO_COMMAND" in os.environ:
        os.environ["PATH"] = f"{Path(os.environ['HAMBO_COMMAND']).parent}{os.pathsep}{os.environ['PATH']}"
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        heating(Path(folder))
        now = renewed(text, Path(folder))
    if "--check" not in sys.argv:
        readme.write_text(now, encoding="utf-8")
    elif without_digits(now) != without_digits(text):
        raise SystemExit(f"the README shows something else than its commands print; run docs/console.py:\n{now}")


if __name__ == "__main__":
    main()
