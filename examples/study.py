"""Are the certificates of the three plants true, and is today's controller certified on its own logs?

Every data set is 60 days from a seed of its own, every setting but the plant's own `hambo.toml` a default. A run that
was interrupted goes on with the same command. Needs numpy, onnx and the `hambo` command.

    python study.py --work work --out results.jsonl --seeds 200 212
    python study.py --summary results.jsonl
"""

import argparse
import importlib
import json
import math
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PLANTS = ("heating", "warehouse", "pump")
POLICIES = ("today", "better", "risky")
DAYS = 60
LOWER = 0.05  # the threshold is this share below what the policy truly earns


def plant_module(name):
    """The plant's simulator and policies, imported from its own folder."""
    for module in ("plant", "policies"):
        sys.modules.pop(module, None)
    sys.path.insert(0, str(HERE / name))
    try:
        return importlib.import_module("plant"), importlib.import_module("policies")
    finally:
        sys.path.pop(0)


def truth(name, policy):
    """What a policy truly earns a day, and the standard error; the seed is no data set's."""
    plant, policies = plant_module(name)
    if name == "heating":
        return plant.true_return(policies.POLICIES[policy], 20_000, 99_999)
    return plant.true_return(policies.POLICIES[policy], seed=99_999)


def run(words, **options):
    """The command's exit code, or an error if it did not understand what it was asked."""
    finished = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if finished.returncode not in (0, 3, 4):
        raise RuntimeError(f"{' '.join(map(str, words))}: {finished.stderr[-2000:]}")
    return finished.returncode


def evaluate(hambo, folder, name, policy, seed, true):
    """One row of the results."""
    config = ["--config", HERE / name / "hambo.toml", "--seed", str(seed)]
    threshold = true[0] - LOWER * abs(true[0])
    certify = [hambo, "certify", "--model", folder / "model", "--policy", folder / f"{policy}.onnx", *config]
    certify += ["--out", folder / policy, "--resume", "--quiet"]
    began = time.perf_counter()
    verdict = run([*certify, "--threshold", f"{threshold:.4f}", "--json", folder / f"{policy}.json"])
    seconds = time.perf_counter() - began
    # A threshold that every bound reaches shows whether any warning forbids a certificate.
    is_trusted = run([*certify, "--threshold", "-1e9"]) == 0
    found = json.loads((folder / f"{policy}.json").read_text())
    row = {"plant": name, "seed": seed, "policy": policy, "truth": true[0], "truth_std_error": true[1]}
    row |= {"bound": found["lower_bound"], "is_trusted": is_trusted, "threshold": threshold}
    row |= {"verdict": {0: "certified", 3: "not certified", 4: "inconclusive"}[verdict], "seconds": seconds}
    return row | {"warnings": [warning["code"] for warning in found["warnings"]]}


def study(arguments):
    """All plants, seeds and policies that are not in the results yet."""
    done = set()
    if arguments.out.exists():
        rows = map(json.loads, arguments.out.read_text().splitlines())
        done = {(row["plant"], row["seed"], row["policy"]) for row in rows}
    truths = {}
    for seed in range(*arguments.seeds):
        for name in arguments.plants:
            left = [policy for policy in POLICIES if (name, seed, policy) not in done]
            if not left:
                continue
            folder = (arguments.work / f"{name}-{seed}").absolute()
            folder.mkdir(parents=True, exist_ok=True)
            script = (HERE / name).absolute()
            run([sys.executable, script / "plant.py", "--days", str(DAYS), "--seed", str(seed)], cwd=folder)
            run([sys.executable, script / "policies.py"], cwd=folder)
            config = ["--config", HERE / name / "hambo.toml", "--seed", str(seed)]
            began = time.perf_counter()
            if not (folder / "model").exists():
                run([arguments.hambo, "fit", folder / "logs.csv", "--out", folder / "model", "--quiet", *config])
            fit_seconds = time.perf_counter() - began
            for policy in left:
                truths.setdefault((name, policy), truth(name, policy))
                row = evaluate(arguments.hambo, folder, name, policy, seed, truths[name, policy])
                with arguments.out.open("a") as file:
                    file.write(json.dumps(row | {"fit_seconds": fit_seconds}) + "\n")
                print(row, flush=True)


def interval(count, of):
    """Clopper and Pearson's 95 % limits of a share, by bisection."""

    def at_most(k, share):
        return sum(math.comb(of, i) * share**i * (1 - share) ** (of - i) for i in range(k + 1))

    def solve(wanted, k):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(k, middle) > wanted else (low, middle)
        return low

    return (0.0 if count == 0 else solve(0.975, count - 1)), (1.0 if count == of else solve(0.025, count))


def summary(file):
    """How many certificates are wrong, and how often today's controller is certified."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for name in (*PLANTS, "all"):
        mine = [row for row in rows if name in (row["plant"], "all")]
        trusted = [row for row in mine if row["is_trusted"]]
        wrong = sum(row["bound"] > row["truth"] for row in trusted)
        today = [row for row in mine if row["policy"] == "today"]
        certified = sum(row["verdict"] == "certified" for row in today)
        low, high = interval(wrong, len(trusted)) if trusted else (0.0, 1.0)
        print(f"{name}: {len(mine)} evaluations, {len(trusted)} certificates, {wrong} wrong", end=" ")
        print(f"({100 * low:.0f} to {100 * high:.0f} %); today certified {certified} of {len(today)}")


def main():
    """Run the study, or sum it up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "END"), default=(100, 112))
    parser.add_argument("--plants", nargs="+", choices=PLANTS, default=PLANTS)
    parser.add_argument("--hambo", default="hambo")
    parser.add_argument("--summary", type=Path)
    arguments = parser.parse_args()
    if arguments.summary:
        summary(arguments.summary)
    else:
        study(arguments)


if __name__ == "__main__":
    main()
