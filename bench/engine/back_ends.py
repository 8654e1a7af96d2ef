"""The engine's two back ends beside each other: the same load on the same server, by io_uring and by epoll in turn.

    python -m bench.engine.back_ends [--rounds 8] [--seconds 2] [--cases get-1,...] [--json FILE]

Each round runs every case with both, in random order. A case's figures are medians over rounds, with their ranges:
CPU of the engine's thread a request and rate, with their ratios io_uring / epoll within a round, and of the open load
how late a request was picked up (P99) and its response time (P99). The server has one CPU, the engine's thread another.
"""

import argparse
import json
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.null_server import NullServerProcess
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Open, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import HttpRequest, Operation, ServerCommand
from loadstone.machine.placement import place
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

BackEnd = Literal["io_uring", "epoll"]
BACK_ENDS: tuple[BackEnd, ...] = ("io_uring", "epoll")
CONNECTIONS = 50
VALUE_BYTES = 100
KEYS = 1000
RATE_PER_S = 20_000.0
BODY_BYTES = 100

GET = Operation(name="operation", commands=(ServerCommand(args=("GET", "{key}"), expect="value"),))
SET = Operation(name="operation", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),))
HTTP = Operation(name="operation", requests=(HttpRequest(path="/"),))


@dataclass(frozen=True)
class Case:
    """What is requested, and how."""

    operation: Operation
    pipeline: int = 1
    connections: int = CONNECTIONS
    rate_per_s: float | None = None
    spin_us: float = 0.0


CASES = {
    "set-1": Case(SET),
    "get-1": Case(GET),
    "set-16": Case(SET, 16),
    "get-16": Case(GET, 16),
    "set-1-alone": Case(SET, connections=1),
    "get-1-alone": Case(GET, connections=1),
    "set-16-alone": Case(SET, 16, connections=1),
    "get-16-alone": Case(GET, 16, connections=1),
    "http": Case(HTTP),
    "open": Case(GET, rate_per_s=RATE_PER_S),
    "open-precise": Case(GET, rate_per_s=RATE_PER_S, spin_us=30.0),
}


@dataclass(frozen=True)
class Figure:
    """What the engine did once."""

    cpu_us: float
    """Of its thread, a request."""
    rate_per_s: float
    lag_p99_us: float
    response_p99_us: float


def drive(case: Case, endpoint: Endpoint, cpus: tuple[int, ...], seconds: float, back_end: BackEnd) -> Figure:
    """Drive a case once; every reply is decoded and checked."""
    closed, rate = Closed(users=case.connections), case.rate_per_s
    plan = Plan(
        protocol="http1" if case.operation.requests else "resp2",
        endpoints=(endpoint,),
        cpus=cpus[:1],
        back_end=back_end,
        model=closed if rate is None else Open(kind="open", rate_per_s=rate, spin_us=case.spin_us),
        pool=Pool(connections=case.connections),
        pipeline_depth=case.pipeline,
        phases=Phases(warm_up_s=0.2, measure_s=seconds, drain_s=2),
        operations=(case.operation,),
        keys=Keys(prefix="loadstone:", count=KEYS),
        documents=Documents(payload_bytes=VALUE_BYTES, field_bytes=1),
        verify=Verify(read_back_max=0),
    )
    record = drive_alone(NativeDriver(), plan)
    done = record.operations["operation"]
    if record.total.ok != record.total.sent or record.back_end is None or record.back_end.name != back_end:
        sys.exit(f"{case}: {record.total}, {record.back_end}")
    return Figure(
        cpu_us=sum(thread.cpu_s for thread in record.threads) / done.window_completed * 1e6,
        rate_per_s=done.window_completed / record.measure_s,
        lag_p99_us=record.schedule_lag_ns.p99 / 1e3,
        response_p99_us=done.response_ns.p99 / 1e3,
    )


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median and the range."""
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def tell(figures: Mapping[str, Sequence[Mapping[str, Figure]]]) -> None:
    """Print a row a case and back end, and the ratio."""
    print(
        f"\n{'case':<14}{'back end':<10}{'CPU us':<22}{'ratio':<20}{'rate':<10}{'ratio':<20}{'lag P99 us':<22}"
        "response P99 us"
    )
    for name, rounds in figures.items():
        for back_end in BACK_ENDS:
            of = [one[back_end] for one in rounds]
            ratio, rates = [], []
            if back_end == "io_uring":
                ratio = [one["io_uring"].cpu_us / one["epoll"].cpu_us for one in rounds]
                rates = [one["io_uring"].rate_per_s / one["epoll"].rate_per_s for one in rounds]
            print(
                f"{name:<14}{back_end:<10}{spread([one.cpu_us for one in of]):<22}{spread(ratio) if ratio else '':<20}"
                f"{statistics.median(one.rate_per_s for one in of):<10.0f}{spread(rates) if rates else '':<20}"
                f"{spread([one.lag_p99_us for one in of], 0):<22}{spread([one.response_p99_us for one in of], 0)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    require_release_engine()
    placement = place()
    context, cpus = DeployContext(cpus=placement.server_cpus), placement.generator_cpus
    redis, web = EmbeddedSettings().server("redis"), NullServerProcess({"protocol": "http1", "body_bytes": BODY_BYTES})
    try:
        keys, pages = redis.start(context), web.start(context)
        names = arguments.cases.split(",")
        ends = {name: pages if CASES[name].operation.requests else keys for name in names}
        for name in ("set-1", *names):  # fills the keys, and warms both up
            drive(CASES[name], ends.get(name, keys), cpus, 0.3, "epoll")
        figures: dict[str, list[dict[str, Figure]]] = {name: [] for name in names}
        for _ in range(arguments.rounds):
            for name in random.sample(names, len(names)):
                order = random.sample(BACK_ENDS, len(BACK_ENDS))
                figures[name].append(
                    {one: drive(CASES[name], ends[name], cpus, arguments.seconds, one) for one in order}
                )
    finally:
        redis.stop()
        web.stop()
    tell(figures)
    if arguments.json:
        text = {name: [{key: vars(one) for key, one in pair.items()} for pair in v] for name, v in figures.items()}
        arguments.json.write_text(json.dumps(text))


if __name__ == "__main__":
    main()
