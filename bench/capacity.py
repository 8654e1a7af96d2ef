"""Capacity estimated where a server is nearly full, against the same server filled by another generator.

    scripts/bench capacity [--server redis|valkey|memcached-1|memcached-2 ...] [--file FILE]
    scripts/bench capacity --recorded RUN... [--file FILE]

Each server is loaded by loadstone at several numbers of users, some of whom pause, so that it is busy for half to all
of the time. At each level of 75 to 97 % the capacity is estimated from it and the levels below, as a run that ended
there would have it. Then a fresh server is filled by memtier_benchmark (redis-benchmark where that is not installed)
with eight connections more, twice. A line a level goes into the file.

Of recorded runs each level of 4 and 8 users is taken as if no more users had been measured, whatever it was busy, and
held against what the levels of 8 and 16 (of 16) cost in the same rounds, those being as full as the run has them.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from peers.child import pinned_to

from loadstone.analyse.fixed_rates import own_load
from loadstone.deploy.provider import DeployContext
from loadstone.goals.full_server import load_factors, without
from loadstone.judge.full_server import (
    ESTIMATED_FROM,
    FULL,
    MODEL_SD,
    MORE_USERS,
    TAKEN_MAX,
    FullServer,
    Level,
    Z,
    cost_when_full,
    level_of,
    servers_of,
    when_full,
)
from loadstone.judge.validity.checks import forbidding, judge_trial
from loadstone.machine.local_ports import free_port
from loadstone.plan.endpoints import Endpoint
from loadstone.record.reading import read_run
from loadstone.record.trial import TrialRecord
from loadstone.software.redis.local import EmbeddedSettings, ValkeySettings
from loadstone.spec.levels import identity

FILE = Path("bench/results/capacity.jsonl")
LOADS = {
    "u2": (2, 0.0), "u3": (3, 0.0), "u4": (4, 0.0), "u6": (6, 0.0),
    "p12": (12, 0.1), "p16": (16, 0.1), "p24": (24, 0.2),
}  # fmt: skip
"""Name -> users, and for how many milliseconds each pauses."""
SIZES = {"100 B": 100, "1 kB": 1_000, "10 kB": 10_000}
KEYS = 1_000
TRUTH_S = 2
SERVER_CPU, GENERATOR_CPU = 0, 1
RESP: dict[str, tuple[str, str]] = {
    "get": ("GET {key}", "value"),
    "set": ("SET {key} {value}", "ok"),
    "json-set": ("JSON.SET {key} $ {document}", "ok"),
}
META: dict[str, tuple[str, str]] = {"get": ("mg {key} v", "value"), "set": ("ms {key} {value}", "ok")}


@dataclass(frozen=True)
class Server:
    """What is measured."""

    kind: str
    operations: tuple[str, ...]
    threads: int = 1

    @property
    def declared(self) -> dict[str, object]:
        """As an experiment declares it."""
        if self.kind == "memcached":
            return {"kind": "memcached", "settings": {"threads": self.threads}}
        return {"kind": self.kind, **({"modules": ["json"]} if "json-set" in self.operations else {})}


SERVERS = {
    "redis": Server("embedded", ("get", "set", "json-set")),
    "valkey": Server("valkey", ("get", "set")),
    "memcached-1": Server("memcached", ("get", "set")),
    "memcached-2": Server("memcached", ("get", "set"), 2),
}


@dataclass(frozen=True)
class Truth:
    """What another generator made a server do."""

    per_s: float
    busy: float
    ran: float

    @property
    def own_per_s(self) -> float:
        """Had the server had its CPU for all of the time in which it had work."""
        return self.per_s * self.busy / self.ran if self.ran else self.per_s


def main() -> None:
    """Measure each server, and print a line a level."""
    parser = argparse.ArgumentParser(prog="capacity", description=__doc__.splitlines()[0])
    parser.add_argument("--server", nargs="*", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--recorded", type=Path, nargs="*", default=[], help="folders of runs; nothing is measured")
    parser.add_argument("--memtier", default=shutil.which("memtier_benchmark"))
    options = parser.parse_args()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    if options.recorded:
        _replay(options.recorded, options.file)
        return
    with options.file.open("a") as file:
        for name in options.server:
            rows = list(_rows(name, SERVERS[name], options.memtier))
            file.writelines(json.dumps(row) + "\n" for row in rows)
            answered = [row for row in rows if row["inside"] is not None]
            inside = sum(row["inside"] is True for row in answered)
            print(f"{name}: {len(rows)} levels; {len(answered)} estimated within 5 %, {inside} of them hold the truth")


def _rows(name: str, server: Server, memtier: str | None) -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as made:
        places = _levels(server, Path(made))
    truths: dict[tuple[str, int], Truth] = {}
    for place, levels in places.items():
        for level in sorted(levels, key=lambda one: one.busy):
            if not ESTIMATED_FROM <= level.busy < FULL or level.users == 1:
                continue
            found = when_full([one for one in levels if one.busy <= level.busy])
            assert found is not None
            users = level.users + MORE_USERS
            if (place, users) not in truths:
                operation, size = place.split(", ")
                truths[place, users] = _truth(server, operation, SIZES[size], users, memtier)
            row = _row(name, place, level, found, truths[place, users], memtier)
            print(_line(row), flush=True)
            yield row


def _replay(runs: Sequence[Path], path: Path) -> None:
    """Write a line a level of these runs, and print how many intervals hold what their fuller levels did."""
    rows = [row for run in runs for row in _replayed(run)]
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    errors = [row["error"] for row in rows]
    inside, median_reach = sum(row["inside"] for row in rows), median(row["reach"] for row in rows)
    of_cost = fmean(row["error_of_one_over_cost"] for row in rows)
    print(
        f"{len(rows)} levels of {len(runs)} runs: error {fmean(errors):+.3f}, sd {stdev(errors):.3f}; of 1/D "
        f"{of_cost:+.3f}; {inside} intervals hold it, half of them within +-{median_reach:.3f}"
    )


def _replayed(run: Path) -> Iterator[dict[str, Any]]:
    machine = json.loads((run / "environment.json").read_text())["machine"]
    for (place, group), levels in _recorded(run).items():
        by_users = {level.users: level for level in levels if level.taken <= TAKEN_MAX}
        for users, further in ((4, (8, 16)), (8, (16,))):
            fuller = [by_users[more] for more in further if more in by_users]
            if users not in by_users or 16 not in by_users:
                continue
            level, below = by_users[users], [one for one in levels if 1 < one.users <= users]
            full, error = cost_when_full(level, below)
            reach = Z * math.hypot(error / full, MODEL_SD)
            truth = fmean(one.cost_ns for one in fuller) / level.cost_ns
            noise = Z * math.hypot(*(one.spread for one in fuller)) / len(fuller)
            yield {
                "format": 1,
                "run": run.resolve().name,
                "machine": f"{machine['architecture']}, {machine['cpu_count']} CPUs",
                "group": group,
                "place": place,
                "users": users,
                "busy": round(level.busy, 4),
                "estimated_per_s": round(1e9 / (level.cost_ns * full)),
                "reach": round(reach, 4),
                "truth_per_s": round(1e9 / (level.cost_ns * truth)),
                "error": round(math.log(full / truth), 4),
                "error_of_one_over_cost": round(-math.log(truth), 4),
                "truth_reach": round(noise, 4),
                "inside": abs(math.log(full / truth)) <= math.hypot(reach, noise),
            }


def _recorded(folder: Path) -> dict[tuple[str, str], list[Level]]:
    """Place and group of a run -> its levels."""
    run = read_run(folder)
    load, conditions = load_factors(run.experiment), dict[tuple[str, str], list[TrialRecord]]()
    for trial in own_load(run, [judge_trial(one) for one in run.trials]):
        if trial.block and not forbidding(trial):
            conditions.setdefault((identity(trial.condition), trial.group), []).append(trial)
    places: dict[tuple[str, str], list[Level]] = {}
    for (_, group), trials in conditions.items():
        place = ", ".join(str(one) for one in without(trials[0].condition, load).values())
        for server in servers_of(trials[0]):
            if (level := level_of(trials, server)) is not None:
                places.setdefault((place, group), []).append(level)
    return places


def _row(
    name: str, place: str, level: Level, found: FullServer, truth: Truth, memtier: str | None
) -> dict[str, object]:
    known = found.low_per_s is not None and found.high_per_s is not None
    full = truth.busy >= FULL - 0.02
    return {
        "format": 1,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} CPUs, {os.uname().sysname} {os.uname().release}",
        "server": name,
        "place": place,
        "users": level.users,
        "busy": round(level.busy, 4),
        "taken": round(level.taken, 4),
        "one_over_cost_per_s": round(1e9 / level.cost_ns),
        "estimate": found.model_dump(mode="json", exclude={"why"}),
        "why": None if found.why is None else found.why.kind,
        "generator": "memtier_benchmark" if memtier else "redis-benchmark",
        "truth": asdict(truth) | {"own_per_s": round(truth.own_per_s)},
        "inside": (found.low_per_s or 0) <= truth.own_per_s <= (found.high_per_s or 0) if known and full else None,
    }


def _line(row: Mapping[str, object]) -> str:
    estimate, truth = row["estimate"], row["truth"]
    assert isinstance(estimate, dict)
    assert isinstance(truth, dict)
    ends = [estimate[key] for key in ("per_s", "low_per_s", "high_per_s")]
    said = "refused" if None in ends else "{:,.0f} [{:,.0f}, {:,.0f}]".format(*ends)
    return (
        f"{row['server']:11} {row['place']:16} {row['users']:3} users busy {row['busy']:.2f}  {said:32} "
        f"truth {truth['own_per_s']:,} (busy {truth['busy']:.2f})  1/D {row['one_over_cost_per_s']:,}  {row['inside']}"
    )


def _levels(server: Server, folder: Path) -> dict[str, list[Level]]:
    """Place -> what the server did at each load, in rounds of slices."""
    commands = META if server.kind == "memcached" else RESP
    operations = [
        {
            "name": name,
            "when": {"operation": name},
            "commands": [{"args": commands[name][0], "expect": commands[name][1]}],
            **({} if name == "get" else {"writes": "document"}),
        }
        for name in server.operations
    ]
    vary = {"operation": list(server.operations), "payload": list(SIZES), "load": list(LOADS)}
    factors = {name: {"levels": levels} for name, levels in vary.items()}
    factors["load"]["values"] = {name: {"users": users, "think": f"{ms} ms"} for name, (users, ms) in LOADS.items()}
    experiment = {
        "format": 1,
        "name": "capacity",
        "question": "What does one server do when it is full?",
        "factors": factors,
        "tables": [{"name": "levels", "title": "Levels", "vary": vary}],
        "servers": {"server": server.declared},
        "workload": {
            **({"protocol": "memcached"} if server.kind == "memcached" else {}),
            "model": {"kind": "closed", "users": "${load.users}", "think_time_ms": "${load.think}"},
            "pool": {"connections": max(users for users, _ in LOADS.values())},
            "phases": {"warm_up_s": "50 ms", "measure_s": "1 s"},
            "keys": {"count": KEYS},
            "documents": {"payload_bytes": "${payload}", "field_share": "10 %"},
            "operations": operations,
            "load": [{"operation": "set", "when": {"operation": "get"}}],
        },
        "design": {"table_blocks": 1, "at_rate": "never"},
    }
    file = folder / "capacity.yaml"
    file.write_text(json.dumps(experiment))
    program = Path(".venv/bin/loadstone").absolute()
    subprocess.run(
        [program, "run", file, "--out", folder / "runs", "--share-machine"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    run = read_run(next((folder / "runs").iterdir()))
    load, places = load_factors(run.experiment), dict[str, list[Level]]()
    by_condition: dict[str, list] = {}
    for trial in own_load(run, run.trials):
        if trial.block:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    for trials in by_condition.values():
        level = level_of(trials, "server")
        if level is not None:
            place = ", ".join(str(one) for one in without(trials[0].condition, load).values())
            places.setdefault(place, []).append(level)
    return places


def _truth(server: Server, operation: str, size: int, connections: int, memtier: str | None) -> Truth:
    """The mean of two, on a server of their own."""
    with _started(server) as (process, endpoint):
        if operation == "get":
            _drive(server, endpoint, "set", size, 8, memtier, requests=True)
        both = []
        for _ in range(2):
            before = _spent_s(process, server)
            per_s, seconds = _drive(server, endpoint, operation, size, connections, memtier)
            ran, waited = (now - then for now, then in zip(_spent_s(process, server), before, strict=True))
            both.append(Truth(per_s, (ran + waited) / seconds, ran / seconds))
    return Truth(*(fmean(getattr(one, name) for one in both) for name in ("per_s", "busy", "ran")))


@contextmanager
def _started(server: Server) -> Iterator[tuple[int, Endpoint]]:
    """Its process and where it listens. A memcached without a password, which memtier_benchmark cannot send to it."""
    if server.kind == "memcached":
        port = free_port()
        command = [
            "memcached",
            "-u",
            "nobody",
            "-l",
            "127.0.0.1",
            "-U",
            "0",
            "-p",
            str(port),
            "-t",
            str(server.threads),
        ]
        process = subprocess.Popen(command, preexec_fn=pinned_to((SERVER_CPU,)))
        try:
            time.sleep(0.5)
            yield process.pid, Endpoint(host="127.0.0.1", port=port)
        finally:
            process.terminate()
            process.wait()
        return
    declared = {name: value for name, value in server.declared.items() if name != "kind"}
    started = {"valkey": ValkeySettings, "embedded": EmbeddedSettings}[server.kind](**declared).server("server")
    try:
        endpoint = started.start(DeployContext(cpus=(SERVER_CPU,)))
        yield next(iter(started.pids.values())), endpoint
    finally:
        started.stop()


def _spent_s(process: int, server: Server) -> tuple[float, float]:
    """Seconds that its main thread ran and was ready to; of memcached's threads, which share a CPU, all that ran."""
    tasks = (
        [process] if server.kind != "memcached" else [int(one.name) for one in Path(f"/proc/{process}/task").iterdir()]
    )
    both = [Path(f"/proc/{process}/task/{task}/schedstat").read_text().split()[:2] for task in tasks]
    waited = 0 if server.kind == "memcached" else sum(int(one) for _, one in both)
    return sum(int(ran) for ran, _ in both) / 1e9, waited / 1e9


def _drive(
    server: Server, endpoint: Endpoint, operation: str, size: int, connections: int, memtier: str | None,
    *, requests: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """Operations a second of another generator on its CPU, and for how many seconds."""
    password = endpoint.password or ""
    pinned = ["taskset", "-c", str(GENERATOR_CPU)]
    if memtier is None:
        if server.kind == "memcached":
            raise SystemExit("memcached needs memtier_benchmark")
        json_set = ["JSON.SET", "key:__rand_int__", "$", _document(size)]
        command = json_set if operation == "json-set" else ["-t", operation]
        extra = ["-a", password] if password else []
        number = ["-n", "20000" if requests else "200000"]
        options = ["-p", str(endpoint.port), "-c", str(connections), "-d", str(size), "-r", str(KEYS), "--csv", *number]
        typed = [*pinned, "redis-benchmark", *extra, *options, *command]
        done = subprocess.run(typed, capture_output=True, text=True, check=True)
        per_s = float(done.stdout.strip().splitlines()[-1].split('","')[1].strip('"'))
        return per_s, int(number[1]) / per_s
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        protocol = ["-P", "memcache_text" if server.kind == "memcached" else "redis"]
        what = (
            ["--command", f"JSON.SET __key__ $ {json.dumps(_document(size))}", "--command-key-pattern", "R"]
            if operation == "json-set"
            else ["--ratio", "0:1" if operation == "get" else "1:0", "--data-size", str(size),
                  "--key-pattern", "S:S" if requests else "R:R"]
        )  # fmt: skip
        length = ["-n", str(KEYS)] if requests else ["--test-time", str(TRUTH_S)]
        options = ["-s", "127.0.0.1", "-p", str(endpoint.port), "-t", "1", "-c", str(connections), "--hide-histogram",
                   "--key-maximum", str(KEYS), "--key-minimum", "1", "--json-out-file", out.name]  # fmt: skip
        extra = ["-a", password] if password else []
        subprocess.run([*pinned, memtier, *extra, *protocol, *options, *what, *length], capture_output=True, check=True)
        totals = json.loads(Path(out.name).read_text())["ALL STATS"]["Totals"]
        return float(totals["Ops/sec"]), totals["Count"] / totals["Ops/sec"]


def _document(size: int) -> str:
    """As loadstone's documents are: the payload, a tenth of it in a field, and 122 bytes around it."""
    field = "x" * (size // 10)
    head = f'{{"id":1,"version":1,"type":"document","author":"loadstone","state":"current","field":"{field}",'
    return f'{head}"body":"{"y" * (size - len(field))}"}}'


if __name__ == "__main__":
    main()
