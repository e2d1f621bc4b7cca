"""What importing costs, as medians over fresh processes, of processor time and of wall time.

`import hambo` loads nothing else; what it leaves for later is paid for on first use, which is measured, too.

Usage: import_time.py [PROCESSES]
"""

import resource
import statistics
import subprocess
import sys
import time

PROGRAMS = {
    "an empty program": "pass",
    "import numpy": "import numpy",
    "import hambo": "import hambo",
    "the native library alone": "import hambo._native",
    "import hambo, and everything in it": "from hambo import *",
}


def measure(program: str) -> tuple[float, float]:
    """Seconds of processor and of wall time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


processes = int(sys.argv[1]) if len(sys.argv) > 1 else 15
times: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
for _ in range(processes):
    for name, program in PROGRAMS.items():
        times[name].append(measure(program))
empty = [statistics.median(column) for column in zip(*times["an empty program"], strict=True)]
print(f"medians of {processes} processes, in ms; in brackets, without the empty program")
for name, found in times.items():
    cpu, wall = (statistics.median(column) for column in zip(*found, strict=True))
    print(
        f"{name:36} processor {1e3 * cpu:6.1f} ({1e3 * (cpu - empty[0]):6.1f})   "
        f"wall {1e3 * wall:6.1f} ({1e3 * (wall - empty[1]):6.1f})"
    )
