"""Capacity estimated where a server is nearly full, against the same server filled by another generator.

    scripts/bench capacity [--server redis|valkey|memcached-1|memcached-2 ...] [--file FILE]
    scripts/bench capacity --recorded RUN... [--file FILE]

Each server is loaded by loadstone at several numbers of users, some of whom pause, so that it is busy for half to all
of the time. At each level of 75 to 97 % the capacity is estimated from it and the levels below, as a run that ended
there would have it. Then a fresh server takes turns: the level itself; loadstone with eight users more, who do not
pause; and memtier_benchmark (redis-benchmark for documents, or where that is not installed) with eight connections
more, or with as many as fill it. A line a level goes into the file: by how much the costs differ, and by how much the
estimate says.

Of recorded runs each level of 4 and 8 users is taken as if no more users had been measured, whatever it was busy, and
held against what the levels of 8 and 16 (of 16) cost in the same rounds, those being as full as the run has them.
"""

import argparse
import json
import math
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from bench.peers.child import pinned_to
from loadstone.addons.capacity.full_server import (
    ESTIMATED_FROM,
    FULL,
    MODEL_SD,
    TAKEN_MAX,
    FullServer,
    ServerLoadLevel,
    Z,
    cost_when_full,
    level_of,
    servers_of,
    when_full,
)
from loadstone.addons.capacity.full_server_goal import drop_factors, load_factors
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.fixed_rates import own_load
from loadstone.judge.checks.checks import forbidding, judge_trial
from loadstone.machine.ports import free_port
from loadstone.run_folder.reading import read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers.redis.local import EmbeddedSettings, ValkeySettings
from loadstone.servers.server import DeployContext

FILE = Path("bench/results/capacity.jsonl")
LOADS = {
    "u2": (2, 0.0), "u3": (3, 0.0), "u4": (4, 0.0), "u6": (6, 0.0),
    "p12": (12, 0.1), "p16": (16, 0.1), "p24": (24, 0.2),
}  # fmt: skip
"""Name -> users, and for how many milliseconds each pauses."""
SIZES = {"100 B": 100, "1 kB": 1_000, "10 kB": 10_000}
KEYS = 1_000
RANDOM = "__rand_int__"
"""redis-benchmark puts twelve digits in its place."""
BEGIN_S, TRUTH_S = 0.4, 0.8
TURNS = 5
MORE_CONNECTIONS = (8, 24, 56, 120)
"""Those of the other generator beyond the level's users: as few as fill the server."""
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
    """What a reply costs a server that another generator fills, over what it costs at one of our levels: measured in
    turns, on one server. What the host does to the machine changes a cost by a quarter within seconds."""

    log_ratio: float
    se: float
    busy: float
    connections: int
    own_log_ratio: float
    """The same of loadstone, with eight users more."""
    own_se: float
    own_busy: float


def main() -> None:
    """Measure each server, and print a line a level."""
    parser = argparse.ArgumentParser(prog="capacity", description=__doc__.splitlines()[0])
    parser.add_argument("--server", nargs="*", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--operations", nargs="*", help="only these")
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
            server = SERVERS[name]
            if options.operations:
                server = replace(server, operations=tuple(options.operations))
            rows = list(_rows(name, server, options.memtier))
            file.writelines(json.dumps(row) + "\n" for row in rows)
            for whose, other in (("", "the other generator"), ("own_", "loadstone itself")):
                told = [row[f"{whose}inside"] for row in rows if row[f"{whose}inside"] is not None]
                print(
                    f"{name}: {len(rows)} levels, {len(told)} estimated where {other} filled it, {sum(told)} hold that"
                )


def _rows(name: str, server: Server, memtier: str | None) -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as made:
        places = _levels(server, Path(made))
    for place, levels in places.items():
        for level in sorted(levels, key=lambda one: one.busy):
            if not ESTIMATED_FROM <= level.busy < FULL or level.users == 1:
                continue
            found = when_full([one for one in levels if one.busy <= level.busy])
            assert found is not None
            operation, size = place.split(", ")
            row = _row(name, place, level, found, _truth(server, operation, SIZES[size], level.users, memtier), memtier)
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


def _recorded(folder: Path) -> dict[tuple[str, str], list[ServerLoadLevel]]:
    """Place and group of a run -> its levels."""
    run = read_run(folder)
    load, conditions = load_factors(run.experiment), dict[tuple[str, str], list[TrialRecord]]()
    for trial in own_load(run, [judge_trial(one) for one in run.trials]):
        if trial.block and not forbidding(trial):
            conditions.setdefault((identity(trial.condition), trial.group), []).append(trial)
    places: dict[tuple[str, str], list[ServerLoadLevel]] = {}
    for (_, group), trials in conditions.items():
        place = ", ".join(str(one) for one in drop_factors(trials[0].condition, load).values())
        for server in servers_of(trials[0]):
            if (level := level_of(trials, server)) is not None:
                places.setdefault((place, group), []).append(level)
    return places


def _row(
    name: str, place: str, level: ServerLoadLevel, found: FullServer, truth: Truth, memtier: str | None
) -> dict[str, object]:
    known = found.per_s is not None and found.low_per_s is not None and found.high_per_s is not None
    row = {
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
        "generator": "memtier_benchmark" if memtier and "json" not in place else "redis-benchmark",
        "truth": asdict(truth),
        "error": None,
        "inside": None,
        "own_error": None,
        "own_inside": None,
    }
    if known:
        share = math.log(1e9 / level.cost_ns / found.per_s)
        reach = (math.log(found.per_s / found.low_per_s), math.log(found.high_per_s / found.per_s))
        shown = (
            ("", truth.log_ratio, truth.se, truth.busy),
            ("own_", truth.own_log_ratio, truth.own_se, truth.own_busy),
        )
        for whose, log_ratio, se, busy in shown:
            if busy >= FULL - 0.02:
                row[f"{whose}error"] = round(error := share - log_ratio, 4)
                row[f"{whose}inside"] = abs(error) <= math.hypot(reach[error < 0], Z * se)
    return row


def _line(row: Mapping[str, object]) -> str:
    estimate, truth = row["estimate"], row["truth"]
    assert isinstance(estimate, dict)
    assert isinstance(truth, dict)
    ends = [estimate[key] for key in ("per_s", "low_per_s", "high_per_s")]
    said = "refused" if None in ends else "{:,.0f} [{:,.0f}, {:,.0f}]".format(*ends)
    one_over_cost = row["one_over_cost_per_s"]
    assert isinstance(one_over_cost, int)
    told, own = (
        f"{one_over_cost / math.exp(truth[f'{whose}log_ratio']):,.0f} +-{100 * Z * truth[f'{whose}se']:.1f} % busy "
        f"{truth[f'{whose}busy']:.2f} {row[f'{whose}inside']}"
        for whose in ("", "own_")
    )
    return (
        f"{row['server']:11} {row['place']:16} {row['users']:3} users busy {row['busy']:.2f}  1/D {one_over_cost:8,}  "
        f"{said:28} other, {truth['connections']:3} connections: {told}; own: {own}"
    )


def _levels(server: Server, folder: Path) -> dict[str, list[ServerLoadLevel]]:
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
            **({"load": [{"operation": "set", "when": {"operation": "get"}}]} if "get" in server.operations else {}),
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
    load, places = load_factors(run.experiment), dict[str, list[ServerLoadLevel]]()
    by_condition: dict[str, list] = {}
    for trial in own_load(run, run.trials):
        if trial.block:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    for trials in by_condition.values():
        level = level_of(trials, "server")
        if level is not None:
            place = ", ".join(str(one) for one in drop_factors(trials[0].condition, load).values())
            places.setdefault(place, []).append(level)
    return places


def _truth(server: Server, operation: str, size: int, level_users: int, memtier: str | None) -> Truth:
    """Our level and the other generator in turns, on a server of their own: by its own count of requests and of its
    CPU time, while they are at work."""
    users, pause_ms = next(load for load in LOADS.values() if load[0] == level_users)
    with _started(server) as (process, endpoint):
        if operation == "get":
            _finish(_drive(server, endpoint, "set", size, 8, memtier, requests=KEYS))
        counted = partial(_counted, process, server, endpoint)
        connections = next(
            (
                users + more
                for more in MORE_CONNECTIONS
                if _busy(*_other(server, endpoint, operation, size, users + more, memtier, counted)) >= FULL - 0.02
            ),
            users + MORE_CONNECTIONS[-1],
        )
        found = []
        for _ in range(TURNS):
            own = _own(server, endpoint, operation, size, users, pause_ms, counted)
            other = _other(server, endpoint, operation, size, connections, memtier, counted)
            more = _own(server, endpoint, operation, size, users + MORE_CONNECTIONS[0], 0.0, counted)
            found.append([(math.log(_cost(*full) / _cost(*own)), _busy(*full)) for full in (other, more)])
    (ratio, se, busy), own_full = (
        (fmean(ratios), stdev(ratios) / math.sqrt(TURNS), fmean(busy))
        for ratios, busy in (zip(*each, strict=True) for each in zip(*found, strict=True))
    )
    return Truth(ratio, se, busy, connections, *own_full)


Counted = tuple[float, float, float, float]
"""When, in seconds; requests that a server has served; seconds for which it ran, and was ready to."""


def _cost(before: Counted, after: Counted) -> float:
    return (after[2] - before[2]) / (after[1] - before[1])


def _busy(before: Counted, after: Counted) -> float:
    return (after[2] + after[3] - before[2] - before[3]) / (after[0] - before[0])


def _other(
    server: Server, endpoint: Endpoint, operation: str, size: int, connections: int, memtier: str | None,
    counted: Callable[[], Counted],
) -> tuple[Counted, Counted]:  # fmt: skip
    drive = _drive(server, endpoint, operation, size, connections, memtier)
    time.sleep(BEGIN_S)
    before = counted()
    time.sleep(TRUTH_S)
    after = counted()
    if drive.poll() is not None:
        raise SystemExit(f"the other generator ended too early, with status {drive.returncode}")
    drive.terminate()
    drive.wait()
    return before, after


def _own(
    server: Server, endpoint: Endpoint, operation: str, size: int, users: int, pause_ms: float,
    counted: Callable[[], Counted],
) -> tuple[Counted, Counted]:  # fmt: skip
    args, expect = (META if server.kind == "memcached" else RESP)[operation]
    command = ServerCommand(args=tuple(args.split()), expect=expect)  # type: ignore[arg-type]
    plan = Plan(
        seed=1,
        endpoints=(endpoint,),
        cpus=(GENERATOR_CPU,),
        **({"protocol": "memcached"} if server.kind == "memcached" else {}),
        model=Closed(users=users, think_time_ms=pause_ms),
        pool=Pool(connections=max(users, *(users for users, _ in LOADS.values()))),
        phases=Phases(warm_up_s=0.0, measure_s=2 * BEGIN_S + TRUTH_S, drain_s=1.0),
        operations=(
            Operation(name=operation, commands=(command,), writes="nothing" if operation == "get" else "document"),
        ),
        keys=Keys(prefix="loadstone:capacity:", count=KEYS),
        documents=Documents(payload_bytes=size),
        verify=Verify(count_mismatch=False, read_back_max=0),
    )  # fmt: skip
    if operation == "get":
        plan = plan.model_copy(update={"keys": Keys(prefix="memtier-", count=KEYS)})
    seen: list[Counted] = []
    timers = [threading.Timer(after, lambda: seen.append(counted())) for after in (BEGIN_S, BEGIN_S + TRUTH_S)]
    for timer in timers:
        timer.start()
    NativeDriver().drive([plan], lambda *_: None)
    for timer in timers:
        timer.join()
    return seen[0], seen[1]


def _counted(process: int, server: Server, endpoint: Endpoint) -> tuple[float, float, float, float]:
    """Now, in seconds; requests that the server has served; seconds that it ran and was ready to."""
    memcached = server.kind == "memcached"
    with socket.create_connection((endpoint.host, endpoint.port)) as asked:
        if endpoint.password:
            asked.sendall(f"AUTH {endpoint.password}\r\n".encode())
            asked.recv(100)
        asked.sendall(b"stats\r\n" if memcached else b"INFO stats\r\n")
        said = ""
        while not said.endswith("END\r\n" if memcached else "\r\n\r\n") and "total_commands" not in said:
            said += asked.recv(100_000).decode()
    ran, waited = _spent_s(process, server)
    names = ("cmd_get", "cmd_set", "cmd_meta") if memcached else ("total_commands_processed",)
    figures = dict(re.findall(r"(?:STAT )?([a-z_]+)[ :](\d+)\r", said))
    return time.monotonic(), sum(int(figures.get(name, 0)) for name in names), ran, waited


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
    *, requests: int = 0, out: Any = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:  # fmt: skip
    """Another generator, on its CPU: for so many requests, each key in its turn, or until it is stopped.

    Documents come from redis-benchmark: RedisJSON keeps equal strings once, and memtier_benchmark's are all equal.
    """
    if operation == "json-set":
        memtier = None
    pinned = ["taskset", "-c", str(GENERATOR_CPU)]
    password = ["-a", endpoint.password] if endpoint.password else []
    if memtier is None:
        if server.kind == "memcached":
            raise SystemExit("memcached needs memtier_benchmark")
        json_set = ["JSON.SET", f"key:{RANDOM}", "$", _document(size)]
        command = json_set if operation == "json-set" else ["-t", operation]
        number = ["-n", str(20 * requests or 100_000_000)]
        options = ["-p", str(endpoint.port), "-c", str(connections), "-d", str(size), "-r", str(KEYS), *number]
        return subprocess.Popen([*pinned, "redis-benchmark", *password, *options, *command], stdout=out, stderr=out)
    protocol = ["-P", "memcache_text" if server.kind == "memcached" else "redis"]
    what = ["--ratio", "0:1" if operation == "get" else "1:0", "--data-size", str(size),
            "--key-pattern", "S:S" if requests else "R:R"]  # fmt: skip
    length = ["-n", str(requests)] if requests else ["--test-time", "60"]
    options = ["-s", "127.0.0.1", "-p", str(endpoint.port), "-t", "1", "-c", str(connections), "--hide-histogram",
               "--key-maximum", str(KEYS), "--key-minimum", "1"]  # fmt: skip
    return subprocess.Popen([*pinned, memtier, *password, *protocol, *options, *what, *length], stdout=out, stderr=out)


def _finish(drive: "subprocess.Popen[bytes]") -> None:
    if drive.wait():
        raise SystemExit(f"the other generator failed, with status {drive.returncode}")


def _document(size: int) -> str:
    """As loadstone's documents are: the payload, a tenth of it in a field, and 122 bytes around it; no two alike."""
    field = (RANDOM + "x" * size)[: max(len(RANDOM), size // 10)]
    head = f'{{"id":"{RANDOM}","version":"0000000001","type":"document","author":"loadstone","state":"current",'
    body = RANDOM + "y" * (size - len(field) - len(RANDOM))
    return f'{head}"field":"{field}","body":"{body}"}}'


if __name__ == "__main__":
    main()
