"""A fleet on hosts of its own, against what others count: four agents, a server, a monitor, a scheduler, this command.

    scripts/bench fleet-hosts [offered] [shape] [starts] [shares] [alone] [--out FILE]

Each host is a network namespace with an address of its own (`bench/fleet/namespaces.py`); they share one kernel.

- `offered`: requests that Redis counted (INFO commandstats), against those of the plan.
- `shape`: response times of four agents against one agent with as many threads, in pairs of random order. Counts are
  compared exactly. Of the shape: the Kolmogorov-Smirnov distance between all of one kind and all of the other, against
  what it is with the labels of pairs swapped, in all 2^pairs ways. Whole drives are swapped, since latencies within one
  are not independent: the test for independent samples would see a difference between two halves of one drive.
- `starts`: of 50 drives, how much later than ordered each agent began, as the fleet says and by how much that may be
  wrong, beside the truth: what each engine read on the one clock that all have. And when its first request was seen on
  the server's card, by the kernel.
- `shares`: 1, 2 and 4 agents, each limited to .2 CPU by the kernel's scheduler (a quota of a control group).
- `alone`: CPU a request of a fleet of one, and of none, in turns.

As root, with redis-server, iproute2 and util-linux.
"""

import argparse
import itertools
import json
import os
import random
import re
import select
import socket
import statistics
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.fleet.driving import Drives, Some, opened
from bench.fleet.members import LOADSTONE, Members, members
from bench.fleet.namespaces import Network
from loadstone.addons.fleet.dask_cluster import open_cluster
from loadstone.addons.fleet.spec import read_fleet
from loadstone.drivers.histogram import Histogram, added
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand

AGENTS = ("agent-1", "agent-2", "agent-3", "agent-4")
HOSTS = (*AGENTS, "db-1", "scheduler")
PORT = 6379
DEFAULT = Path(__file__).parents[1] / "results" / f"fleet-hosts-{datetime.now(UTC):%Y-%m-%d}.jsonl"
PARTS = ("offered", "shape", "starts", "shares", "alone")
ETH_P_ALL, SO_TIMESTAMPNS = 0x0003, 35


def plan(host: str, model: Any, seconds: float, **more: Any) -> Plan:
    """SETs; nothing else touches these keys."""
    fields = {
        "endpoints": (Endpoint(host=host, port=PORT),),
        "model": model,
        "pool": Pool(connections=16),
        "threads": 1,
        "phases": Phases(warm_up_s=0.5, measure_s=seconds, drain_s=2),
        "operations": (
            Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
        ),
        "keys": Keys(prefix="loadstone:hosts:", count=1000),
        **more,
    }
    return Plan(**fields)


class Redis:
    """A Redis on a host, and what it counts."""

    def __init__(self, network: Network, host: str) -> None:
        self.address = network.address(host)
        command = ["redis-server", "--bind", self.address, "--port", str(PORT), "--save", "", "--protected-mode", "no"]
        self.process = network.start(host, command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            with suppress(OSError):
                self._ask("PING")
                return
            if time.monotonic() > deadline:
                raise RuntimeError("redis-server does not answer")
            time.sleep(0.05)

    def sets(self) -> int:
        """SETs so far, by its own count."""
        lines = self._ask("INFO commandstats").splitlines()
        return next(
            (int(line.split("calls=")[1].split(",")[0]) for line in lines if line.startswith("cmdstat_set:")), 0
        )

    def _ask(self, words: str) -> str:
        with socket.create_connection((self.address, PORT), 5) as way:
            way.sendall(words.encode() + b"\r\n")
            answer = b""
            while True:
                answer += way.recv(65536)
                if answer.startswith(b"+") or (answer.endswith(b"\r\n") and len(answer) > 100):
                    return answer.decode()


# --- offered ---------------------------------------------------------------------------------------------------------


def offered(network: Network, fleet: Members, redis: Redis) -> Iterator[dict[str, Any]]:
    """Plans in three models, and a command as users type it."""
    models = {
        "4,000 a second, constant": Open(rate_per_s=4000),
        "4,000 a second, Poisson": Open(rate_per_s=4000, arrivals="poisson"),
        "16 users": Closed(users=16),
    }
    with opened(fleet) as cluster:
        drives = Drives(cluster)
        for name, model in models.items():
            before = redis.sets()
            merged, own = drives.drive(plan(redis.address, model, 3))
            counted = redis.sets() - before
            each = {agent.name: agent.counts.offered for agent in merged.agents}
            whole = {name: record["total"]["offered"] for name, record in own.items()}
            yield {
                "part": "offered",
                "load": name,
                "planned": 14000 if name.endswith("constant") else None,
                "offered": merged.total.offered,
                "sent": merged.total.sent,
                "ok": merged.total.ok,
                "counted_by_redis": counted,
                "agents_in_measure": each,
                "agents_in_all": whole,
            }
    yield _by_a_command(network, fleet, redis)


def _by_a_command(network: Network, fleet: Members, redis: Redis) -> dict[str, Any]:
    out = fleet.folder / "runs"
    words = ["-t", "set", "--rate", "4000", "--duration", "5", "--out", str(out), "--no-load", "--seed", "7"]
    done = _command(network, fleet, [f"redis://{redis.address}:{PORT}", *words])
    lines = [json.loads(line) for path in out.rglob("trials.jsonl") for line in path.read_text().splitlines()]
    samples = [json.loads(line) for path in out.rglob("samples.jsonl") for line in path.read_text().splitlines()]
    parts = sorted({f"{one.get('part')}" for one in samples})
    last = lines[-1] if lines else {}
    return {
        "part": "offered",
        "load": "loadstone redis --rate 4000 --duration 5",
        "status": done.returncode,
        "printed": done.stdout.strip().splitlines()[:6],
        "remarks": done.stderr.strip().splitlines()[-8:],
        "trials": len(lines),
        "offered": last.get("offered"),
        "observed": parts,
    }


# --- shape -----------------------------------------------------------------------------------------------------------


def shape(fleet: Members, redis: Redis, pairs: int, seconds: float, rate: float) -> Iterator[dict[str, Any]]:
    """Pairs in random order, and the test over all."""
    work = plan(redis.address, Open(rate_per_s=rate, arrivals="poisson"), seconds)
    chosen = random.Random(29)
    kept: list[tuple[Histogram, Histogram]] = []
    counts = []
    with opened(fleet) as cluster:
        ways = {
            4: (Drives(Some(cluster, AGENTS)), work),
            1: (Drives(Some(cluster, AGENTS[:1])), work.model_copy(update={"threads": len(AGENTS)})),
        }
        for number in range(pairs):
            seeded = {"seed": number}
            found: dict[int, DriveRecord] = {}
            for agents in chosen.sample(sorted(ways), 2):
                drives, own = ways[agents]
                found[agents] = drives.drive(own.model_copy(update=seeded))[0]
            kept.append(tuple(_responses(found[agents]) for agents in (4, 1)))  # type: ignore[arg-type]
            counts.append([found[agents].operations["set"].counts.offered for agents in (4, 1)])
            yield {
                "part": "shape",
                "pair": number,
                "offered": counts[-1],
                "in_histogram": [one.total for one in kept[-1]],
                **{f"{name}_us": [getattr(one.summary(), name) / 1e3 for one in kept[-1]] for name in ("p50", "p99")},
            }
    yield {
        "part": "shape",
        "pairs": pairs,
        "rate_per_s": rate,
        "counts_equal": all(a == b for a, b in counts),
        **judged(kept),
    }


def _responses(record: DriveRecord) -> Histogram:
    return Histogram.read(record.operations["set"].response_histogram)


def judged(pairs: Sequence[tuple[Histogram, Histogram]]) -> dict[str, Any]:
    """The distance between all of one kind and all of the other, and how often it is as large by chance."""
    places = np.unique(np.concatenate([one.places for pair in pairs for one in pair]))
    shares = np.zeros((len(pairs), 2, len(places)))
    for number, pair in enumerate(pairs):
        for side, one in enumerate(pair):
            shares[number, side, np.searchsorted(places, one.places)] = one.counts / one.total
    differences = (shares[:, 0] - shares[:, 1]).cumsum(axis=1)
    found = np.abs(differences.mean(axis=0)).max()
    signs = np.array(list(itertools.product((1, -1), repeat=len(pairs))))
    swapped = np.abs(signs @ differences / len(pairs)).max(axis=1)
    both = [added(pair[side] for pair in pairs).summary() for side in (0, 1)]
    return {
        "distance": round(float(found), 4),
        "p": round(float((swapped >= found - 1e-12).mean()), 4),
        "distance_by_chance_median_and_95": [round(float(x), 4) for x in np.quantile(swapped, (0.5, 0.95))],
        **{f"{name}_us": [getattr(one, name) / 1e3 for one in both] for name in ("p50", "p90", "p99", "p999")},
    }


# --- starts ----------------------------------------------------------------------------------------------------------


class Card:
    """The first SET of each host that the kernel saw on the server's card, on CLOCK_MONOTONIC."""

    def __init__(self, card: str, sources: Sequence[str]) -> None:
        self.first_ns: dict[str, int] = {}
        self._wanted = set(sources)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.bind((card, ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Until every host was seen, or 5 s."""
        self._thread.join(5)
        self._socket.close()

    def _read(self) -> None:
        while self._wanted - self.first_ns.keys():
            if not select.select([self._socket], [], [], 5)[0]:
                return
            packet, beside, _, _ = self._socket.recvmsg(2048, 64)
            if b"\r\nSET\r\n" not in packet[14:]:
                continue
            source = socket.inet_ntoa(packet[26:30])
            seconds, ns = struct.unpack("qq", beside[0][2])
            ahead_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            self.first_ns.setdefault(source, seconds * 1_000_000_000 + ns - ahead_ns)


def starts(network: Network, fleet: Members, redis: Redis, number: int) -> Iterator[dict[str, Any]]:
    """Real drives; the truth is what each engine read, since all hosts have one clock."""
    rate = 2000.0
    work = plan(redis.address, Open(rate_per_s=rate), 0.5, phases=Phases(warm_up_s=0, measure_s=0.5, drain_s=1))
    addresses = {agent: network.address(agent) for agent in AGENTS}
    every: list[tuple[int, int, int]] = []
    wires = []
    with opened(fleet) as cluster:
        drives = Drives(Some(cluster, AGENTS))
        for at in range(number):
            card = Card(network.card("db-1"), list(addresses.values()))
            merged, own = drives.drive(work)
            card.close()
            line = {}
            for place, agent in enumerate(merged.agents):
                began_ns = int(own[agent.name]["started_monotonic_ns"])
                truth_ns = began_ns - drives.clocks.begin_ns
                first_ns = began_ns + round(1e9 * place / rate)  # what its share intends first
                seen_ns = card.first_ns.get(addresses[agent.name])
                assert agent.skew_ns is not None
                assert agent.skew_bound_ns is not None
                line[agent.name] = {
                    "said_us": agent.skew_ns / 1e3,
                    "bound_us": agent.skew_bound_ns / 1e3,
                    "truth_us": truth_ns / 1e3,
                    "on_the_wire_after_intended_us": None if seen_ns is None else (seen_ns - first_ns) / 1e3,
                }
                every.append((agent.skew_ns, agent.skew_bound_ns, truth_ns))
                if seen_ns is not None:
                    wires.append((seen_ns - first_ns) / 1e3)
            yield {"part": "starts", "start": at, "agents": line}
    errors = [abs(said - truth) / 1e3 for said, _, truth in every]
    within = [abs(said - truth) <= bound for said, bound, truth in every]
    truths = [[truth for _, _, truth in every[at : at + 4]] for at in range(0, len(every), 4)]
    by_start = [all(within[at : at + 4]) for at in range(0, len(within), 4)]
    yield {
        "part": "starts",
        "starts": number,
        "within_the_bound": sum(by_start),
        "agents_within": [sum(within), len(within)],
        "bound_us": _range([bound / 1e3 for _, bound, _ in every]),
        "error_us": _range(errors),
        "truth_us": _range([truth / 1e3 for _, _, truth in every]),
        "on_the_wire_after_intended_us": _range(wires),
        "apart_us": _range([(max(t) - min(t)) / 1e3 for t in truths]),
    }


def _range(values: Sequence[float]) -> list[float]:
    """Least, median, greatest."""
    return [round(each, 2) for each in (min(values), statistics.median(values), max(values))]


# --- shares of a CPU -------------------------------------------------------------------------------------------------


class Quota:
    """A control group whose processes get a share of one CPU together; of version 1 or 2, whichever this kernel has."""

    def __init__(self, name: str, cpus: float) -> None:
        root, own = Path("/sys/fs/cgroup"), f"loadstone-{os.getpid()}-{name}"
        self._two = (root / "cgroup.controllers").exists()
        self._paths = [root / own] if self._two else [root / "cpu" / own, root / "cpuacct" / own]
        for path in self._paths:
            path.mkdir(exist_ok=True)
        if self._two:
            (self._paths[0] / "cpu.max").write_text(f"{round(100_000 * cpus)} 100000")
        else:
            (self._paths[0] / "cpu.cfs_quota_us").write_text(f"{round(100_000 * cpus)}")

    def hold(self, process: psutil.Process) -> None:
        """It, and what it started and will start."""
        for one in (process, *process.children(recursive=True)):
            for path in self._paths:
                (path / "cgroup.procs").write_text(str(one.pid))

    def let_go(self, process: psutil.Process) -> None:
        """Of it alone."""
        for path in self._paths:
            (path.parent / "cgroup.procs").write_text(str(process.pid))

    def used_s(self) -> float:
        """CPU time of its processes."""
        if self._two:
            return int((self._paths[0] / "cpu.stat").read_text().split()[1]) / 1e6
        return int((self._paths[1] / "cpuacct.usage").read_text()) / 1e9

    def throttled(self) -> int:
        """In how many periods it was held back."""
        words = (self._paths[0] / "cpu.stat").read_text().split()
        return int(words[words.index("nr_throttled") + 1])

    def close(self) -> None:
        """Once its processes ended."""
        for path in self._paths:
            with suppress(OSError):
                path.rmdir()


SHARE = 0.2
"""Of a CPU, for each agent."""


def shares(network: Network, fleet: Members, redis: Redis, seconds: float) -> Iterator[dict[str, Any]]:
    """Full load by 4, 2, 1, 2, 4 agents; then with a server that gets no more than an agent."""
    for server in (None, SHARE):
        with ExitStack() as held:
            quotas = {name: held.enter_context(closing(Quota(name, SHARE))) for name in AGENTS}
            for name in AGENTS:
                quotas[name].hold(fleet.processes[name])
            of_server = held.enter_context(closing(Quota("db-1", server or 100.0)))
            of_server.hold(redis.process)
            for number in (4, 2, 1, 2, 4):
                _have(fleet, quotas, number)
                yield _with_shares(network, fleet, redis, quotas, of_server, seconds) | {"server_cpus": server}
            for name in AGENTS:
                fleet.end(name)
            of_server.let_go(redis.process)
        for name in AGENTS:
            fleet.join(name)


def _have(fleet: Members, quotas: dict[str, Quota], number: int) -> None:
    """So many agents, each in its group."""
    for place, name in enumerate(AGENTS):
        if place < number and name not in fleet.processes:
            fleet.join(name)
            quotas[name].hold(fleet.processes[name])
        elif place >= number and name in fleet.processes:
            fleet.end(name)


def _with_shares(
    network: Network, fleet: Members, redis: Redis, quotas: dict[str, Quota], of_server: Quota, seconds: float
) -> dict[str, Any]:
    there = [name for name in AGENTS if name in fleet.processes]
    out = fleet.folder / f"shares-{time.monotonic_ns()}"
    more = ["-t", "set", "-c", "64", "--duration", f"{seconds:g}", "--repeat", "1", "--no-load", "--out", f"{out}"]
    used_s = {name: quotas[name].used_s() for name in there}
    held = {name: quotas[name].throttled() for name in there}
    server_s, sets = of_server.used_s(), redis.sets()
    done = _command(network, fleet, [f"redis://{redis.address}:{PORT}", *more])
    said = [json.loads(path.read_text()) for path in out.rglob("analysis.json")]
    trials = [json.loads(line) for path in out.rglob("trials.jsonl") for line in path.read_text().splitlines()]
    gain = next((check for trial in trials for check in trial["checks"] if check["name"] == "gain"), {})
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return {
        "part": "shares",
        "agents": len(there),
        "status": done.returncode,
        "sets": redis.sets() - sets,
        "row": next((line for line in lines if re.match(r"[✓!✗] set ", line)), ""),
        "gain": [gain.get("verdict"), gain.get("measured")],
        "named": next((line for line in lines if "Agent agent-" in line), ""),
        "bottleneck": [(limit.get("message") or {}).get("text") for one in said for limit in _bottlenecks(one)],
        "cpu_of_agents_s": {name: round(quotas[name].used_s() - used_s[name], 2) for name in there},
        "periods_held_back": {name: quotas[name].throttled() - held[name] for name in there},
        "server_cpu_s": round(of_server.used_s() - server_s, 2),
        "remarks": [] if done.returncode == 0 else done.stderr.strip().splitlines()[-3:],
    }


def _bottlenecks(analysis: dict[str, Any]) -> list[dict[str, Any]]:
    return [row["bottleneck"] or {} for table in analysis["tables"] for row in table["rows"]]


def _command(network: Network, fleet: Members, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """`loadstone redis` on the scheduler's host, with the fleet."""
    return subprocess.run(
        [*network.enter("scheduler"), *LOADSTONE, "redis", *words, "--fleet", fleet.address, "--share-machine"],
        env={**os.environ, **fleet.environment},
        capture_output=True,
        text=True,
        check=False,
    )


# --- a fleet of one --------------------------------------------------------------------------------------------------


def alone(redis: Redis, pairs: int, seconds: float) -> Iterator[dict[str, Any]]:
    """The same plan by the engine here, and by a fleet of one that is started here; pairs in random order."""
    cpus = sorted(os.sched_getaffinity(0))
    redis.process.cpu_affinity(cpus[:1])
    work = plan(redis.address, Closed(users=16), seconds, cpus=tuple(cpus[-1:]))
    chosen, native = random.Random(29), NativeDriver()
    cluster = open_cluster(read_fleet("local:1"))
    ratios = []
    try:
        drives = Drives(cluster, one_machine=True)
        for number in range(pairs):
            cost: dict[str, dict[str, float]] = {}
            for kind in chosen.sample(["none", "one"], 2):
                before = redis.sets(), _all_s()
                if kind == "none":
                    (record,) = native.drive([work], lambda _, __: None)
                else:
                    record = drives.drive(work)[0]
                sent = record.total.sent
                assert redis.sets() - before[0] == sent
                threads_s = sum(thread.cpu_s for thread in record.threads)
                all_s = {name: spent - before[1].get(name, 0.0) for name, spent in _all_s().items()}
                cost[kind] = {
                    "engine_us": 1e6 * threads_s / record.operations["set"].window_completed,
                    "requests": sent,
                    "rate_per_s": record.operations["set"].window_ok / record.measure_s,
                    **{f"{name}_us": 1e6 * spent / sent for name, spent in all_s.items()},
                    "processes_us": 1e6 * sum(all_s.values()) / sent,
                }
            ratios.append([cost["one"][of] / cost["none"][of] for of in ("engine_us", "processes_us", "rate_per_s")])
            yield {"part": "alone", "pair": number, **{kind: _rounded(of) for kind, of in cost.items()}}
    finally:
        cluster.close()
    logs = np.log(np.array(ratios))
    yield {
        "part": "alone",
        "pairs": pairs,
        **{
            f"{name}_one_against_none": _interval(logs[:, place])
            for place, name in enumerate(("engine", "processes", "rate"))
        },
    }


def _all_s() -> dict[str, float]:
    """CPU time of this process and of what it started, by what each is."""
    spent: dict[str, float] = {}
    own = psutil.Process()
    for one in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            words = " ".join(one.cmdline())
            name = (
                "command"
                if one.pid == own.pid
                else next((n for n in ("engine_process", "scheduler", "agent") if n in words), None)
            )
            if name is not None:
                times = one.cpu_times()
                spent[name] = spent.get(name, 0.0) + times.user + times.system
    return spent


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


def _interval(logs: Any) -> list[float]:
    """Ratio with the 95 % interval of Student's t over pairs."""
    from scipy import stats

    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
    return [round(float(np.exp(each)), 4) for each in (logs.mean(), logs.mean() - half, logs.mean() + half)]


# --- all -------------------------------------------------------------------------------------------------------------


@contextmanager
def hosts() -> Iterator[tuple[Network, Members, Redis]]:
    """Four agents, a Redis with a monitor beside it, and the scheduler."""
    with Network(HOSTS) as network:
        redis = Redis(network, "db-1")
        with members(network, "scheduler", AGENTS, {"monitor-1": "db-1"}) as fleet:
            yield network, fleet, redis


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"which (default: {' '.join(PARTS)})")
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rate", type=float, default=4000)
    parser.add_argument("--out", type=Path, default=DEFAULT, help="results are added there, a line each")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("fleet_hosts: needs root for network namespaces")
    with hosts() as (network, fleet, redis), options.out.open("a") as out:
        measured = {
            "offered": lambda: offered(network, fleet, redis),
            "shape": lambda: shape(fleet, redis, options.pairs, options.seconds, options.rate),
            "starts": lambda: starts(network, fleet, redis, options.starts),
            "shares": lambda: shares(network, fleet, redis, options.seconds),
            "alone": lambda: alone(redis, options.pairs, options.seconds),
        }
        for part in options.parts:
            for line in measured[part]():
                print(json.dumps(line))
                out.write(json.dumps({"unix_s": round(time.time()), **line}) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
