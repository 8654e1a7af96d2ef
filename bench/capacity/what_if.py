"""Does the model behind `loadstone capacity` foretell what it was not fitted on? Live, and of runs that are there.

    python -m bench.capacity.what_if [--cases redis,lines,nest,lock,pool,timer] [--out FILE] [--runs DIR]
    python -m bench.capacity.what_if --again CASE=RUN [CASE=RUN...]
    python -m bench.capacity.what_if --simulate 60

Each case is a search for a saturation point, which measures some ten numbers of users:

redis   an embedded Redis
lines   the same behind delay lines of .5 and 2 ms
nest    the Nest application with Redis and MariaDB, in one process and in two
lock, pool, timer   `breaking_server.py`: what no cost of a CPU explains

From every second number of users, with the least and the most, the others are predicted, by exactly what the command
does: the model is held to these levels, and where it fails there it predicts nothing. Where half of the levels are too
few for that, as of a system that one user fills, only whether it is refused is seen. A line for each prediction is
appended to `--out`, and one for each model that was refused; printed are, of what was predicted, how often the measured
rate is inside of the interval, and the median error. `--simulate`: the same of so many random systems for each of three
sizes of noise and two kinds of arrivals, without anything that runs.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.capacity.saturation_run import LONGEST_S, ROOT
from bench.common.result_lines import add_line
from loadstone.addons.capacity.capacities import ConditionCapacity, find_capacities
from loadstone.addons.capacity.model.findings import capacity_of
from loadstone.addons.capacity.model.load_levels import LoadLevel, PartLoad
from loadstone.addons.capacity.model.model import LEVELS_MIN, rate_of
from loadstone.addons.capacity.model.network import Network, QueueStation
from loadstone.judge.checks.checks import judge_trial
from loadstone.machine.ports import free_port
from loadstone.run_folder.reading import read_run

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
SIMULATED_USERS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
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


def _of_condition(case: str, folder: Path, found: ConditionCapacity) -> Iterator[dict[str, Any]]:
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


def simulate(number: int) -> None:
    """Random systems of one to three parts and a generator, whose costs fall with the load."""
    for noise, even in itertools.product((0.01, 0.03, 0.06), (1.0, 0.5)):
        lines = [line for seed in range(number) for line in _of_system(seed, noise, even)]
        _show(f"noise {100 * noise:g} %, {'exponential' if even == 1 else 'even'} arrivals", lines)


def _of_system(seed: int, noise: float, even: float) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    parts = rng.integers(1, 4)
    demands, servers = np.exp(rng.normal(math.log(1e-4), 1, parts)), rng.choice([1, 1, 1, 2, 4], parts)
    delay_s, fall = float(rng.choice([0, 1e-4, 1e-3, 5e-3])), rng.uniform(0, 1)
    stations = [QueueStation(f"part-{at}", demands[at], float(servers[at])) for at in range(parts)]
    stations.append(QueueStation("generator", 2e-5))

    def level(users: int) -> LoadLevel:
        cheaper = [replace(one, demand_s=one.demand_s * (1 + fall / users)) for one in stations]
        per_s = rate_of(Network(tuple(cheaper), delay_s), users, even) * math.exp(rng.normal(0, noise))
        loads = {
            one.name: PartLoad(one.demand_s * math.exp(rng.normal(0, noise / 2)), one.servers, False, 1, "own")
            for one in cheaper
        }
        return LoadLevel(users, 0.0, per_s, users, loads, {}, (), noise)

    levels = tuple(level(users) for users in SIMULATED_USERS)
    capacity, checked = capacity_of({}, "", levels)
    yield from _of_condition("simulated", Path(f"{seed}"), ConditionCapacity(capacity, levels, checked))


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
    arguments.add_argument("--again", nargs="+", metavar="CASE=RUN", default=[])
    arguments.add_argument("--state", default="", help="What else the machine did, for the record.")
    arguments.add_argument("--simulate", type=int, metavar="SYSTEMS")
    given = arguments.parse_args()
    if given.simulate:
        simulate(given.simulate)
        return
    runs = [(case, Path(folder)) for case, _, folder in (word.partition("=") for word in given.again)]
    if not runs:
        given.runs.mkdir(parents=True, exist_ok=True)
        runs = [(case, measured(case, given.runs)) for case in given.cases.split(",")]
    lines = [line for case, folder in runs for line in predictions(case, folder)]
    for line in lines:
        if given.out is not None:
            add_line(given.out, {**line, "state": given.state})
        else:
            print(json.dumps(line))
    show(lines)


if __name__ == "__main__":
    main()
