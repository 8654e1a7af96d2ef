"""How many agents one command can follow: with the real driver of a fleet, agents that are simulated.

    python -m bench.fleet.scale [--agents 10,100,1000,10000] [--seconds 5] [--groups 100] [--out FILE]
    python -m bench.fleet.scale --cluster [--agents 4] [--messages 400]

The intervals and the record that each simulated agent delivers were made by the engine. All agents deliver an interval
at the same time, once a second, since they began at one instant; heartbeats come in between. Each number of agents has
a process of its own, and the figures are of the thread that follows them: its CPU time for a second of load, how long
after an interval ended it was shown, the memory that the process took for it, the bytes that came, and what it took to
merge the records at the end. `--groups` adds a tree of two levels: a merger for each group, and the command, which gets
what they merged. `--cluster` measures a real cluster on this machine: CPU time of the command and of the scheduler for
an order to an agent, and for a message from one.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from loadstone import _engine
from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet.cluster_seam import ClockOffset, Heard, Member, say
from loadstone.addons.fleet.dask_cluster import open_cluster
from loadstone.addons.fleet.driver import FleetDriver
from loadstone.addons.fleet.merging import merged_interval, merged_record
from loadstone.addons.fleet.serving import ping
from loadstone.addons.fleet.spec import FleetSpec
from loadstone.drivers.outcome import DriveRecord, Interval, read_interval, read_record
from loadstone.experiment.plan.drive_plan import Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand

RATE_PER_S = 5000.0
"""Of each agent. A histogram of a second has some 1,000 bytes then."""
SAMPLES = 5
MIB = 2**20


def plan(endpoint: Endpoint, **more: object) -> Plan:
    """Two operations at a rate."""
    return Plan(
        **{  # type: ignore[arg-type]
            "endpoints": (endpoint,),
            "model": Open(rate_per_s=RATE_PER_S, arrivals="poisson"),
            "pool": Pool(connections=50),
            "phases": Phases(warm_up_s=0, measure_s=SAMPLES, drain_s=1),
            "operations": tuple(
                Operation(name=name, commands=(ServerCommand(args=args),))
                for name, args in (("get", ("GET", "{key}")), ("set", ("SET", "{key}", "{value}")))
            ),
            "keys": Keys(prefix="loadstone:scale:"),
            **more,
        }
    )


def of_the_engine() -> tuple[list[str], str]:
    """Intervals of a second and a record, as the engine writes them. Its server is a queue that is half full."""
    server = _engine.NullServer(json.dumps({"queue": {"servers": 1, "service_us": 100, "seed": 1}}))
    try:
        engine = _engine.Engine(plan(Endpoint(port=server.port)).model_dump_json())
        engine.start()
        intervals = []
        while not engine.finished():
            if (text := engine.next_interval(0.2)) is not None and json.loads(text)["phase"] == "measure":
                intervals.append(text)
        return intervals[:SAMPLES], engine.result()
    finally:
        server.stop()


class SimulatedCluster:
    """Agents of which none exists: they deliver what they are given, at the time when real ones would."""

    def __init__(self, agents: int, seconds: int, intervals: Sequence[str], record: str) -> None:
        self.members = tuple(Member(f"agent-{number:05d}", "", "agent", f"host-{number}") for number in range(agents))
        self.sent_bytes = 0
        """Of one second: intervals and heartbeats."""
        self.due_s: list[float] = []
        """When each interval was delivered by all."""
        self._seconds, self._intervals, self._record = seconds, intervals, record
        self._heard: list[Heard] = []
        self._begun = False

    def call(self, member: Member, function: Callable[..., Any], *args: object, timeout_s: float) -> Any:  # noqa: ARG002
        """The answer of an agent whose connections are open."""
        return {"type": "opened", "drive": args[0], "pid": 0, "cpus": 2}

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None:  # noqa: ARG002
        """The order to begin begins it; others have no effect."""
        if function is on_agent.begin and not self._begun:
            self._begun = True
            threading.Thread(target=self._deliver, args=args, daemon=True).start()

    def send_all(self, members: Sequence[Member], function: Callable[..., object], *args: object) -> None:
        """One message, whatever their number."""

    def listen(self, topic: str, heard: Heard) -> None:  # noqa: ARG002
        """See `Cluster`."""
        self._heard.append(heard)

    def lost(self) -> Mapping[str, str]:
        """None ever is."""
        return {}

    def close(self) -> None:
        """Nothing is open."""

    def _deliver(self, drive: object, at_monotonic_ns: int) -> None:
        texts = [json.loads(text) for text in self._intervals]
        for second in range(self._seconds):
            told = [
                json.dumps({**text, "index": second, "start_s": float(second), "duration_s": 1.0}) for text in texts
            ]
            self._wait(at_monotonic_ns / 1e9 + second + 0.5)
            heartbeats = self._say_all(lambda _: f'{{"type": "heartbeat", "drive": "{drive}", "sent": 123456}}')
            self._wait(at_monotonic_ns / 1e9 + second + 1)
            self.due_s.append(time.monotonic())
            intervals = self._say_all(
                lambda number: f'{{"type": "interval", "drive": "{drive}", "interval": {told[number % len(told)]}}}'  # noqa: B023
            )
            self.sent_bytes = heartbeats + intervals
        self._say_all(lambda _: f'{{"type": "records", "drive": "{drive}", "records": [{self._record}]}}')

    def _say_all(self, line_of: Callable[[int], str]) -> int:
        """What all agents say at once; so many bytes."""
        said = 0
        for number, member in enumerate(self.members):
            line = line_of(number)
            said += len(line)
            self._heard[0](member.name, line)
        return said

    @staticmethod
    def _wait(until_s: float) -> None:
        time.sleep(max(0.0, until_s - time.monotonic()))


class OneClock:
    """All agents have this machine's."""

    def measure(self, members: Sequence[Member]) -> None:
        """There is nothing to compare."""

    def offset(self, member: Member, at_ns: int | None = None) -> ClockOffset:  # noqa: ARG002
        """None."""
        return ClockOffset(0, 20_000)

    def moved_ns(self, member: Member) -> int:  # noqa: ARG002
        """It never does."""
        return 0


def followed(agents: int, seconds: int, intervals: Sequence[str], record: str) -> dict[str, Any]:
    """Follow so many agents for so long, as a command does."""
    cluster = SimulatedCluster(agents, seconds, intervals, record)
    before_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shown: list[tuple[float, float]] = []
    driver = FleetDriver(cluster, OneClock(), one_machine=False)
    kept = plan(Endpoint(), pool=Pool(connections=max(50, agents)))
    begin_cpu_s = time.thread_time()
    (merged,) = driver.drive([kept], lambda _, __: shown.append((time.monotonic(), time.thread_time())))
    all_cpu_s = time.thread_time() - begin_cpu_s
    delays_s = [at_s - due_s for (at_s, _), due_s in zip(shown, cluster.due_s, strict=True)]
    used_s = [later - earlier for (_, earlier), (_, later) in pairwise(shown)]
    return {
        "agents": agents,
        "kib_per_s": round(cluster.sent_bytes / 1024, 1),
        "interval_bytes": round(statistics.fmean(map(len, intervals))),
        "cpu_s_per_s": round(statistics.median(used_s), 4),
        "delay_s": round(statistics.median(delays_s), 4),
        "last_delay_s": round(delays_s[-1], 4),
        "records_cpu_s": round(all_cpu_s - (shown[-1][1] - begin_cpu_s), 4),
        "record_kib": round(len(_kept(merged)) / 1024, 1),
        "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before_mib, 1),
    }


def _kept(record: DriveRecord) -> str:
    """About as a run's folder keeps it, without histograms."""
    emptied = {"response_histogram": "", "service_histogram": "", "least_histogram": None}
    lags = ("pool_wait_histogram", "schedule_lag_histogram", "notice_lag_histogram")
    operations = {name: one.model_copy(update=emptied) for name, one in record.operations.items()}
    return record.model_copy(update={**dict.fromkeys(lags), "operations": operations}).model_dump_json()


def merged_texts(agents: int, intervals: Sequence[str], record: str) -> tuple[list[str], str]:
    """What the merger of a group of so many agents hands on."""
    each: list[Interval] = [read_interval(text) for text in intervals]
    groups = [[each[(start + number) % len(each)] for number in range(agents)] for start in range(len(each))]
    texts = [merged_interval(group).model_dump_json() for group in groups]
    whole = merged_record([read_record(record)] * agents)
    return texts, whole.model_dump_json()


def in_processes(counts: Sequence[int], groups: int, seconds: int) -> list[dict[str, Any]]:
    """Each number of agents in a process of its own."""
    intervals, record = of_the_engine()
    cases: list[tuple[str, int, list[str], str]] = [("agents", count, intervals, record) for count in counts]
    if groups:
        size = max(counts) // groups
        cases.append((f"the merger of {size}", size, intervals, record))
        cases.append((f"{groups} mergers of {size}", groups, *merged_texts(size, intervals, record)))
    results = []
    for name, agents, texts, whole in cases:
        length = seconds if agents <= 1000 else 3
        given = json.dumps({"agents": agents, "seconds": length, "intervals": texts, "record": whole})
        ended = subprocess.run([sys.executable, __file__, "--one"], input=given, stdout=subprocess.PIPE, text=True)
        if ended.returncode:
            raise SystemExit(f"fleet_scale: {name}, {agents}: it failed")
        results.append({"case": name, **json.loads(ended.stdout)})
        print(results[-1], file=sys.stderr)
    return results


def of_the_cluster(agents: int, messages: int) -> list[dict[str, Any]]:
    """Orders and messages through a real cluster on this machine, each as long as an interval's line."""
    line = "x" * len(of_the_engine()[0][0])
    came = threading.Semaphore(0)
    cluster = open_cluster(FleetSpec(f"local:{agents}", "local", agents=agents))
    try:
        cluster.listen("scale", lambda _, __: came.release())
        own = psutil.Process()
        started = {child.pid: child for child in own.children(recursive=True)}
        results = []
        for name, function, args in (("order", ping, ()), ("order and message", say, ("scale", line))):
            before = {pid: _cpu_s(process) for pid, process in {own.pid: own, **started}.items()}
            began_s = time.monotonic()
            order_all = partial(_orders, cluster, function, args, messages)
            with ThreadPoolExecutor(agents) as callers:
                list(callers.map(order_all, cluster.members))
            if args:
                for _ in range(agents * messages):
                    came.acquire(timeout=30)
            took_s = time.monotonic() - began_s
            spent = {pid: _cpu_s(process) - before[pid] for pid, process in {own.pid: own, **started}.items()}
            commands = {pid: " ".join(process.cmdline()) for pid, process in started.items()}
            scheduler = sum(spent[pid] for pid, command in commands.items() if "scheduler" in command)
            results.append(
                {
                    "case": name,
                    "messages": agents * messages,
                    "command_us": round(1e6 * spent[own.pid] / (agents * messages)),
                    "scheduler_us": round(1e6 * scheduler / (agents * messages)),
                    "per_s": round(agents * messages / took_s),
                }
            )
        return results
    finally:
        cluster.close()


def _orders(cluster: Any, function: Callable[..., Any], args: Sequence[object], number: int, member: Member) -> None:
    """One after the other: the answer of each is waited for, so that none is lost."""
    for _ in range(number):
        cluster.call(member, function, *args, timeout_s=10)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", default="")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="where the results are written, as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(followed(**json.load(sys.stdin))))
        return
    if options.cluster:
        results = of_the_cluster(int(options.agents or 4), options.messages)
    else:
        counts = [int(number) for number in (options.agents or "10,100,1000,10000").split(",")]
        results = in_processes(counts, options.groups, options.seconds)
    for one in results:
        print(json.dumps(one))
    if options.out is not None:
        machine = {"cpus": os.cpu_count(), "kernel": platform.release()}
        whole = {"format": 1, "date": datetime.now(UTC).date().isoformat(), "machine": machine, "results": results}
        options.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
