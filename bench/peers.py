"""loadstone beside redis-benchmark: the same load on the same server, in turn, in one run.

    python bench/peers.py [--rounds 8] [--seconds 3] [--json FILE]

Each round runs every case with both, in random order; a case's figure is the median over rounds of
the ratio loadstone / redis-benchmark within a round, with its range. The server is pinned to one CPU
and both generators to another. CPU is that of the whole generator process (user + system) over the
run, divided by the requests that it made; loadstone's includes its collector thread and Python.
"""

import sys
import time
from dataclasses import dataclass

from ratios import Figure, Pair, in_turn, options, rounds_of, run_peer, tell

from loadstone.deploy.placement import place
from loadstone.deploy.provider import DeployContext
from loadstone.drive.native import NativeDriver, require_release_engine
from loadstone.plan.drive_plan import Closed, Command, Documents, Endpoint, Keys, Operation, Phases, Plan, Pool, Verify
from loadstone.software.redis.embedded import EmbeddedSettings

VALUE_BYTES = 100
KEYS = 1000


@dataclass(frozen=True)
class Case:
    command: str
    connections: int
    pipeline: int

    def __str__(self) -> str:
        return f"{self.command} c={self.connections} P={self.pipeline}"


def redis_benchmark(case: Case, endpoint: Endpoint, cpus: tuple[int, ...], requests: int) -> Figure:
    """Run redis-benchmark for `requests` requests; its own rate, and its process's CPU."""
    command = ["redis-benchmark", "-h", endpoint.host, "-p", str(endpoint.port), "-c", str(case.connections),
               "-P", str(case.pipeline), "-n", str(requests), "-r", str(KEYS), "-d", str(VALUE_BYTES),
               "-t", case.command.lower(), "--csv", "-a", endpoint.password or ""]  # fmt: skip
    text, cpu_s = run_peer(command, cpus)
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
        sys.exit(f"{case}: {record.total}")
    return Figure(done.window_completed / record.measure_s, cpu_s / record.total.ok * 1e6)


def main() -> None:
    arguments = options(__doc__).parse_args()
    require_release_engine()
    placement = place()
    server = EmbeddedSettings().server("redis")
    endpoint, cpus = server.start(DeployContext(cpus=placement.server_cpus)), placement.generator_cpus

    def measure(case: Case) -> Pair:
        guess = loadstone(case, endpoint, cpus, 0.2).rate_per_s
        requests = max(1000, int(guess * arguments.seconds * 0.8))
        return in_turn(
            lambda: loadstone(case, endpoint, cpus, arguments.seconds),
            lambda: redis_benchmark(case, endpoint, cpus, requests),
        )

    cases = [Case(command, c, p) for command in ("GET", "SET") for c in (1, 16, 64) for p in (1, 16)]
    try:
        for case in cases:  # fills the keys, and warms both up
            loadstone(case, endpoint, cpus, 0.3)
        figures = rounds_of(cases, arguments.rounds, measure)
    finally:
        server.stop()
    tell("case", "their", figures, arguments.json)


if __name__ == "__main__":
    main()
