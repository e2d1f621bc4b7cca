"""The paper's toy figure and its figure on Gaussian processes, by the studies of the Rust library."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def example(name: str, *arguments: str) -> str:
    """What a study prints. It needs Rust, and builds the library the first time."""
    command = ["cargo", "run", "--quiet", "-p", "hambo-studies", "--bin", name, "--", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def toy(folder: Path, *, seeds: int) -> None:
    """Is the policy that cuts the corner safe? The true walk, the mean model's and the adversary's."""
    walks = example("point_safety", "0", str(seeds))
    (folder / "toy.txt").write_text(walks, encoding="utf-8")
    example("point_safety", "0", "1", "next_state", "1", str((folder / "toy.svg").resolve()))
    print(walks, end="")


def gaussian_processes(folder: Path, *, sizes: str, seeds: int) -> None:
    """Bounds with a proof approach the true return as data grows."""
    tables = []
    for system in ["pendulum", "point_env"]:
        table = (folder / f"gp_{system}.csv").resolve()
        if not table.exists():
            table.write_text(example("gp_convergence", system, sizes, "0", str(seeds)), encoding="utf-8")
        tables.append(str(table))
    figure = folder / "gp.svg"
    example("gp_figure", str(figure.resolve()), *tables)
    print(f"{figure} written")


def write_toys(folder: Path, names: list[str], *, quick: bool) -> None:
    """`toy` and `gp`, if they are asked for; a few minutes and an hour, or a minute each when quick."""
    if not names:
        return
    if shutil.which("cargo") is None:
        print(f"{' and '.join(names)}: left out, they need Rust (cargo)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if "toy" in names:
        toy(folder, seeds=1 if quick else 5)
    if "gp" in names:
        gaussian_processes(folder, sizes="50,100" if quick else "50,100,150,200,300,500,1000", seeds=1 if quick else 5)
