"""loadstone beside redis-benchmark: the same load on the same server, in turn, in one run.

    python bench/peers.py [--rounds 8] [--seconds 3] [--json FILE]

Each round runs every case with both, in random order; a case's figure is the median over rounds of
the ratio loadstone / redis-benchmark within a round, with its range. The server is pinned to one CPU
and both generators to another. CPU is that of the whole generator process (user + system) over the
run, divided by the requests that it made; loadstone's includes its collector thread and Python.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from loadstone.deploy.embedded import EmbeddedSettings
from loadstone.deploy.placement import place
from loadstone.deploy.provider import DeployContext
from loadstone.drive.native import NativeDriver, require_release_engine
from loadstone.plan.model import Closed, Command, Documents, Endpoint, Keys, Operation, Phases, Plan, Pool, Verify

VALUE_BYTES = 100
KEYS = 1000


@dataclass(frozen=True)
class Case:
    command: str
    connections: int
    pipeline: int

    @property
    def label(self) -> str:
        return f"{self.command} c={self.connections} P={self.pipeline}"


@dataclass(frozen=True)
class Figure:
    rate_per_s: float
    cpu_us: float
    """Generator CPU in microseconds a request."""


def redis_benchmark(case: Case, endpoint: Endpoint, cpus: tuple[int, ...], requests: int) -> Figure:
    """Run redis-benchmark for `requests` requests; its own rate, and its process's CPU."""
    command = ["redis-benchmark", "-h", endpoint.host, "-p", str(endpoint.port), "-c", str(case.connections),
               "-P", str(case.pipeline), "-n", str(requests), "-r", str(KEYS), "-d", str(VALUE_BYTES),
               "-t", case.command.lower(), "--csv", "-a", endpoint.password or ""]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus) if cpus else None,
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = float(text.strip().splitlines()[-1].split(",")[1].strip('"'))
    return Figure(rate, cpu_s / requests * 1e6)


def loadstone(case: Case, endpoint: Endpoint, cpus: tuple[int, ...], seconds: float) -> Figure:
    """Drive the same commands with the native engine; replies are decoded and checked for errors."""
    if case.command == "GET":
        operation = Operation(name="get", commands=(Command(args=("GET", "{key}"), expect="value"),))
    else:
        operation = Operation(name="set", commands=(Command(args=("SET", "{key}", "{value}"), expect="ok"),))
    plan = Plan(
        endpoints=(endpoint,),
        cpus=cpus[:1],
        model=Closed(users=case.connections),
        pool=Pool(connections=case.connections),
        pipeline_depth=case.pipeline,
        phases=Phases(warm_up_s=0, measure_s=seconds, drain_s=1),
        operations=(operation,),
        keys=Keys(prefix="key:", count=KEYS),
        documents=Documents(payload_bytes=VALUE_BYTES, field_bytes=1),
        verify=Verify(read_back_max=0),
    )
    before = time.process_time()
    record = NativeDriver().drive(plan, lambda _: None)
    cpu_s = time.process_time() - before
    done = record.operations[operation.name]
    if record.total.ok != record.total.sent:
        sys.exit(f"{case.label}: {record.total}")
    return Figure(done.window_completed / record.measure_s, cpu_s / record.total.ok * 1e6)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    require_release_engine()
    placement = place()
    server = EmbeddedSettings().server("redis")
    endpoint = server.start(DeployContext(cpus=placement.server_cpus))
    cases = [Case(command, c, p) for command in ("GET", "SET") for c in (1, 16, 64) for p in (1, 16)]
    figures: dict[str, list[tuple[Figure, Figure]]] = {case.label: [] for case in cases}
    try:
        for case in cases:  # fills the keys, and warms both up
            loadstone(case, endpoint, placement.generator_cpus, 0.3)
        for number in range(options.rounds):
            for case in random.sample(cases, len(cases)):
                print(f"round {number + 1}/{options.rounds}: {case.label}        ", end="\r", file=sys.stderr)
                guess = loadstone(case, endpoint, placement.generator_cpus, 0.2).rate_per_s
                runs = {
                    "ours": lambda case=case: loadstone(case, endpoint, placement.generator_cpus, options.seconds),
                    "theirs": lambda case=case, guess=guess: redis_benchmark(
                        case, endpoint, placement.generator_cpus, max(1000, int(guess * options.seconds * 0.8))
                    ),
                }
                done = {name: runs[name]() for name in random.sample(list(runs), 2)}
                figures[case.label].append((done["ours"], done["theirs"]))
    finally:
        server.stop()
    print(f"\n{'case':<16} {'rate, ratio':<22} {'CPU a request, ratio':<22} {'our us':<20} their us")
    for label, pairs in figures.items():
        print(
            f"{label:<16} {spread([a.rate_per_s / b.rate_per_s for a, b in pairs]):<22} "
            f"{spread([a.cpu_us / b.cpu_us for a, b in pairs]):<22} "
            f"{spread([a.cpu_us for a, _ in pairs]):<20} {spread([b.cpu_us for _, b in pairs])}"
        )
    if options.json:
        options.json.write_text(json.dumps({k: [[vars(a), vars(b)] for a, b in v] for k, v in figures.items()}))


if __name__ == "__main__":
    main()
