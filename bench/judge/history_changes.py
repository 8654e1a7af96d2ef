"""How well hints find where a figure changed: on synthetic histories of known truth, and on real runs.

    scripts/bench history-changes                    200 histories of each kind: false hints, found, at the right place
    scripts/bench history-changes --real DIR         20 runs of a Redis in DIR, from run 12 on with another setting;
                                                     then the gate that the hint names. A second time the setting is
                                                     harmless, and from run 12 on a neighbour takes a CPU

Writes a line of JSON each.
"""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from loadstone.addons.history.change_points import LEVEL, changes

OWN, BETWEEN = 0.01, 0.02
"""Standard errors of a run's own interval (they vary by 1.5 times), and of what runs of the same thing differ by."""
EDGE = 5
"""Runs at least on both sides of a planted change."""
PLANTED_AT = 12
RUNS = 20
EXPERIMENT = """\
format: 1
name: planted
question: How fast does Redis take values of 100 bytes?
factors:
  operation: {levels: [set]}
tables:
  - {name: results, title: Results, vary: {operation: [set]}}
servers:
  redis: {kind: embedded, settings: {io-threads: 1, hz: 10}}
workload:
  model: {kind: closed, users: 16}
  pool: {connections: 16}
  documents: {payload_bytes: 100}
  keys: {count: 1000}
  phases: {warm_up_s: 0.05, measure_s: 0.2}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
design: {budget: 1 min, table_blocks: 6, at_rate: never}
"""
SLOWER, HARMLESS = "servers.redis.settings.io-threads=2", "servers.redis.settings.hz=11"
NEIGHBOUR = "while True: pass"
METRIC = "cpu_ns.redis"


def synthetic(histories: int) -> Iterator[dict[str, Any]]:
    """Each kind of history, so many times."""
    for runs in (20, 60):
        for rho, tails in ((0.0, "normal"), (0.0, "t3"), (0.3, "normal"), (0.6, "normal")):
            for change in (0.0, -0.03, -0.05, -0.10):
                if change and (tails == "t3" or rho == 0.6):
                    continue
                yield counted(histories, runs, change, rho, tails)


def counted(histories: int, runs: int, change: float, rho: float, tails: str) -> dict[str, Any]:
    random = np.random.default_rng(20261126)
    found = {"hints": 0, "exact": 0, "within_one": 0, "place_held": 0, "size_held": 0, "more_than_one": 0}
    began = time.perf_counter()
    for _ in range(histories):
        own = np.exp(random.normal(math.log(OWN), 0.4, runs))
        drawn = random.normal(0, 1, runs) if tails == "normal" else random.standard_t(3, runs) / math.sqrt(3)
        drift = np.empty(runs)
        drift[0] = drawn[0]
        for number in range(1, runs):
            drift[number] = rho * drift[number - 1] + math.sqrt(1 - rho * rho) * drawn[number]
        at = int(random.integers(EDGE, runs - EDGE + 1))
        logs = BETWEEN * drift + own * random.normal(0, 1, runs) + np.where(np.arange(runs) >= at, change, 0.0)
        hints = changes([float(one) for one in logs], [float(one) for one in own], LEVEL)
        if not hints:
            continue
        found["hints"] += 1
        best = min(hints, key=lambda hint: abs(hint.at - at))
        found["exact"] += best.at == at
        found["within_one"] += abs(best.at - at) <= 1
        found["place_held"] += best.earliest <= at <= best.latest
        found["size_held"] += best.low <= change <= best.high
        found["more_than_one"] += len(hints) > 1
    if not change:
        found = {"hints": found["hints"]}
    took = round((time.perf_counter() - began) * 1e3 / histories, 1)
    what = {"runs": runs, "log_change": change, "neighbours_correlate": rho, "tails": tails}
    return {"kind": "synthetic", **what, "histories": histories, "level": LEVEL, **found, "ms_each": took}


def real(folder: Path, *, harmless: bool, confirms: int, pause_s: float, beside: str) -> dict[str, Any]:
    """Real runs with a planted change, what `history` says of them, and what the gate of its hint says."""
    place = folder / ("machine" if harmless else "program")
    place.mkdir(parents=True, exist_ok=True)
    (place / "planted.yaml").write_text(EXPERIMENT)
    neighbour: subprocess.Popen[bytes] | None = None
    try:
        for number in range(len(list((place / "runs").glob("*"))) + 1, RUNS + 1):
            later = number >= PLANTED_AT
            if later and harmless and neighbour is None:
                neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR])
            given = ["--set", HARMLESS if harmless else SLOWER] if later else []
            loadstone(place, "run", "planted.yaml", "--quiet", beside, *given)
            time.sleep(pause_s)
        said = loadstone(place, "history", "planted", "--metric", METRIC, "--json").stdout
        hints = json.loads(said)["figures"][0]["hints"]
        outcomes = []
        for _ in range(confirms if hints else 0):
            load = ("-t", "set", "-d", "100", "-c", "16", "-r", "1000", "--quiet", "--budget", "25s", beside)
            done = loadstone(place, *shlex.split(hints[-1]["gate"])[1:], *load)
            outcomes.append({"status": done.returncode, "said": done.stdout.splitlines()[-1:]})
    finally:
        if neighbour is not None:
            neighbour.kill()
            neighbour.wait()
    what = "a neighbour, and hz=11" if harmless else SLOWER
    seen = [{name: hint[name] for name in ("earliest", "latest", "ratio", "low", "high", "p_value")}
            | {"before": hint["before"]["number"], "after": hint["after"]["number"]} for hint in hints]  # fmt: skip
    return {"kind": "real", "planted": what, "at": PLANTED_AT, "runs": RUNS, "hints": seen, "confirmed": outcomes}


def loadstone(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("loadstone")), *arguments]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def main() -> None:
    """Prints a line of JSON for each kind of history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--real", type=Path, metavar="DIR")
    parser.add_argument("--only", choices=("program", "machine"), help="of --real")
    parser.add_argument("--confirms", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="between two runs")
    parser.add_argument("--share-machine", action="store_true", help="do not wait for other runs on this machine")
    options = parser.parse_args()
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "cpus": os.cpu_count()}
    if options.real is None:
        for found in synthetic(options.histories):
            print(json.dumps({**about, **found}), flush=True)
        return
    for name in ("program", "machine"):
        if options.only in (None, name):
            found = real(
                options.real,
                harmless=name == "machine",
                confirms=options.confirms,
                pause_s=options.pause,
                beside="--share-machine" if options.share_machine else "--wait",
            )
            print(json.dumps({**about, **found}), flush=True)


if __name__ == "__main__":
    main()
