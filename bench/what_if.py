"""Does the model behind `loadstone capacity` foretell what it was not fitted on? Live, and of runs that are there.

    python bench/what_if.py [--cases redis,lines,nest,lock,pool,timer] [--out FILE] [--runs DIR]
    python bench/what_if.py --again RUN [RUN...]

Each case is a search for a saturation point, which measures some ten numbers of users:

redis   an embedded Redis
lines   the same behind delay lines of .5 and 2 ms
nest    the Nest application with Redis and MariaDB, in one process and in two
lock, pool, timer   `breaking_server.py`: what no cost of a CPU explains

From every second number of users, with the least and the most, the others are predicted, by exactly what the command
does: the model is held to these levels, and where it fails there it predicts nothing. Where half of the levels are too
few for that, as of a system that one user fills, only whether it is refused is seen. A line for each prediction is
appended to `--out`, and one for each model that was refused; printed are, of what was predicted, how often the measured
rate is inside of the interval, and the median error.
"""

import argparse
import contextlib
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from saturation_run import LONGEST_S, ROOT, add_line

from loadstone.analyse.capacity import Found, find_capacities
from loadstone.judge.capacity.findings import capacity_of
from loadstone.judge.capacity.model import LEVELS_MIN
from loadstone.judge.validity.checks import judge_trial
from loadstone.machine.local_ports import free_port
from loadstone.record.reading import read_run

EXPERIMENTS = Path(__file__).parent / "experiments"
BREAKING = ("lock", "pool", "timer")
COMMANDS = {
    "redis": ["saturate", "redis", "--users-max", "64", "--budget", "60s"],
    "lines": ["run", str(EXPERIMENTS / "what-if-redis.yaml"), "--quick"],
    "nest": ["run", str(EXPERIMENTS / "what-if-nest.yaml"), "--quick"],
}
BREAKS = ["--users-max", "64", "--quick", "--budget", "60s"]


@contextlib.contextmanager
def command_of(case: str) -> Iterator[list[str]]:
    """What measures a case, and the server that it needs meanwhile."""
    if case not in BREAKING:
        yield COMMANDS[case]
        return
    port = free_port()
    program = [sys.executable, str(Path(__file__).parent / "breaking_server.py"), str(port), case]
    server = subprocess.Popen(program)
    try:
        time.sleep(1.0)
        yield ["saturate", "http", f"http://127.0.0.1:{port}/", *BREAKS]
    finally:
        server.terminate()
        server.wait()


def measured(case: str, runs: Path) -> Path:
    """The folder of a new run of a case. Exits where it fails."""
    before = set(runs.iterdir()) if runs.is_dir() else set()
    with command_of(case) as words:
        command = [sys.executable, "-m", "loadstone", *words, "--wait", "--trust", "--out", str(runs)]
        command = [word for word in command if words[0] == "run" or word != "--trust"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, env=os.environ)
    (folder, *_) = [*(set(runs.iterdir()) - before), None]
    if folder is None or not (folder / "trials.jsonl").is_file():
        sys.exit(f"{case}: exit status {done.returncode}\n{done.stderr[-500:]}")
    return folder


def predictions(case: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Of each condition of a run: a line for each level that was left out."""
    run = read_run(folder)
    for found in find_capacities(run, [judge_trial(trial) for trial in run.trials]):
        yield from _of_condition(case, folder, found)


def _of_condition(case: str, folder: Path, found: Found) -> Iterator[dict[str, Any]]:
    levels = found.levels
    known = [*levels[:-1:2], levels[-1]]
    if len(known) < LEVELS_MIN:
        known = list(levels)
    capacity, checked = capacity_of(found.capacity.condition, found.capacity.label, known)
    head = {
        "format": 1,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "run": folder.name,
        "case": case,
        "condition": found.capacity.label,
        "known": [level.users for level in known],
    }
    if checked is None:
        why = capacity.refusal
        kind = None if why is None else getattr(why.figures.get("why"), "kind", why.kind)
        yield {**head, "refused": kind}
        return
    for level in levels:
        if level in known:
            continue
        if (one := checked.predict(level.users)) is None:
            yield {**head, "users": level.users, "measured_per_s": round(level.per_s, 1), "left_out": True}
            continue
        yield {
            **head,
            "users": level.users,
            "measured_per_s": round(level.per_s, 1),
            "predicted_per_s": round(one.per_s, 1),
            "low_per_s": round(one.low_per_s, 1),
            "high_per_s": round(one.high_per_s, 1),
            "inside": one.low_per_s <= level.per_s <= one.high_per_s,
            "error": round(math.log(one.per_s / level.per_s), 4),
        }


def show(lines: Sequence[dict[str, Any]]) -> None:
    """By case and condition, and over all that were not built to break the model."""
    for case, condition in dict.fromkeys((line["case"], line["condition"]) for line in lines):
        of_one = [line for line in lines if (line["case"], line["condition"]) == (case, condition)]
        _show(f"{case} {condition}".strip(), of_one)
    _show("all but those that break it", [line for line in lines if line["case"] not in BREAKING])


def _show(name: str, lines: Sequence[dict[str, Any]]) -> None:
    made, refused = [line for line in lines if "error" in line], [line for line in lines if "refused" in line]
    said = [f"{name}:"]
    if made:
        error = median(abs(line["error"]) for line in made)
        said.append(f"{sum(line['inside'] for line in made)} of {len(made)} inside, median error {100 * error:.1f} %")
    if left := sum("left_out" in line for line in lines):
        said.append(f"({left} left out, below the users from which a model holds)")
    if refused:
        said.append(f"refused ({', '.join(line['refused'] for line in refused)})")
    print(*said)


def main() -> None:
    """Measure, predict, append, print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", default=",".join([*COMMANDS, *BREAKING]))
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--runs", type=Path, default=Path("runs/what-if"))
    arguments.add_argument("--again", nargs="+", type=Path, metavar="RUN", default=[])
    given = arguments.parse_args()
    runs = [(folder.name, folder) for folder in given.again]
    if not runs:
        given.runs.mkdir(parents=True, exist_ok=True)
        runs = [(case, measured(case, given.runs)) for case in given.cases.split(",")]
    lines = [line for case, folder in runs for line in predictions(case, folder)]
    for line in lines:
        if given.out is not None:
            add_line(given.out, line)
        else:
            print(json.dumps(line))
    show(lines)


if __name__ == "__main__":
    main()
