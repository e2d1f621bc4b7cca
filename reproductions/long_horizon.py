"""How often is the default certificate wrong over 1,000 steps, of policies that hambo did not learn?

    python reproductions/long_horizon.py --seeds 35 [--only halfcheetah] [--policies 120000 bc]

Every committed policy, judged by worlds of medium data (10^5 transitions, fitted as by default) in 200 episodes each;
400 episodes of the environment tell the truth. The models are those with which `learners_judged.py` judges. One row
each in `results/long_horizon.csv`, from which a stopped run goes on.
"""

import argparse
from pathlib import Path

# Sets the threads before anything is imported that counts them.
from learners_judged import LATER, OF_JUDGE, OF_TRUTH, earned, model_of, said

# isort: split
from environments import ENVIRONMENTS, Actor
from learners import REFERENCES
from tidy import Row, read_rows, write_rows

RESULTS = Path(__file__).parent / "results" / "long_horizon.csv"
COLUMNS = ["environment", "seed", "policy", "logged", *OF_TRUTH, *OF_JUDGE]


def place(row: Row) -> tuple[int, int, str, str]:
    policy = str(row["policy"])
    return list(REFERENCES).index(row["environment"]), int(row["seed"]), policy.zfill(8), policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=REFERENCES, default=["halfcheetah"])
    parser.add_argument("--seeds", nargs="*", type=int, required=True)
    parser.add_argument("--policies", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("reproductions-out"), help="keeps the models")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    for seed in arguments.seeds:
        for name in arguments.only:
            environment = ENVIRONMENTS[name]
            judge = None
            for policy in environment.policies():
                unit: Row = {"environment": name, "seed": seed, "policy": policy}
                is_known = place(unit) in {place(row) for row in read_rows(arguments.results)}
                if is_known or (arguments.policies and str(policy) not in arguments.policies):
                    continue
                judge = judge or model_of(name, LATER + seed, seed, arguments.out / "learners_judged_default", False)
                row = unit | {"logged": judge[1]} | said(judge[0], environment.policy(policy), name, seed)
                row |= earned(Actor(environment, policy), name, 9_000_000)
                write_rows(arguments.results, [*read_rows(arguments.results), row], COLUMNS, place)
                print(row, flush=True)


if __name__ == "__main__":
    main()
