"""Whether the true latency lies where an open load says it does, with the generator disturbed or not.

    python -m bench.engine.lateness [--rates 500,5000,50000] [--repeats 5] [--seconds 2] [--out FILE]

A null server in a thread of this process answers each request after a known time, and keeps how long each was with it:
from when the kernel had it until its reply had left. That is what a generator that is never late would see, but for
what the bytes are under way (`WIRE_NS`), which it adds.

Lateness makes none of them slower there, since any number may be pending: so its own record is the truth.

Disturbed is by a busy loop, 3 s on and 3 s off, on the CPU of the generator, of the server, or of both. For each drive
it is judged whether the truth of P50 and of P99 lies between what is left without the generator's own part and the
response time. The program fails where that is so in less than 95 of 100.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from loadstone import _engine
from loadstone.drivers.driver import drive_alone
from loadstone.drivers.histogram import measurable, rank_of
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import SPIN_US, Keys, Open, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.placement import place

WIRE_NS = 25_000
"""J: what the calls that send and receive take on loopback, which deliver as well: 8 us where nothing disturbs them."""
ON_S = OFF_S = 3.0
REQUIRED = 0.95
QUANTILES = {"p50": 500, "p99": 990}
DELAYS_US = (0.0, 200.0, 1000.0)
WARM_UP_S = 0.5
CONNECTIONS = 1000
"""So many that none is waited for while the server loses its CPU: that would be its doing, and not in its truth."""


@dataclass(frozen=True)
class Case:
    server: str
    us: float
    rate_per_s: float
    disturbed: str
    spin_us: float


@dataclass(frozen=True)
class Result:
    """One quantile of one drive, in microseconds; `own` is what is said to be the generator's at most."""

    server: str
    server_us: float
    rate_per_s: float
    disturbed: str
    awake: bool
    quantile: str
    response_us: float
    own_us: float
    true_us: float
    is_inside: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", default="500,5000,50000")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--disturb", default="none,generator,server,both")
    parser.add_argument("--out", type=Path, help="where the results are written, as JSON")
    options = parser.parse_args()
    require_release_engine()
    places = place()
    if places.shared:
        sys.exit("lateness: it needs two CPUs, one for the server and one for the generator")
    cpus = {"generator": places.generator_cpus[:1], "server": places.server_cpus[:1], "none": ()}
    cpus["both"] = cpus["generator"] + cpus["server"]
    results: list[Result] = []
    for _ in range(options.repeats):
        for rate in map(float, options.rates.split(",")):
            for disturbed in options.disturb.split(","):
                with busy_loops(cpus[disturbed]):
                    results += drives(rate, disturbed, options.seconds, cpus)
    table(results)
    inside = sum(one.is_inside for one in results) / len(results)
    print(f"the true quantile lies within what is printed in {100 * inside:.1f} % of {len(results)} (at least 95)")
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(as_data(results), indent=1) + "\n")
    sys.exit(inside < REQUIRED)


def drives(rate: float, disturbed: str, seconds: float, cpus: dict[str, Sequence[int]]) -> Iterator[Result]:
    """All servers at a rate, awake and asleep."""
    for spin_us in (SPIN_US, 0.0):
        for us in DELAYS_US:
            case = Case("delay", us, rate, disturbed, spin_us)
            yield from judged(case, *driven(case, seconds, cpus))


def driven(case: Case, seconds: float, cpus: dict[str, Sequence[int]]) -> tuple[DriveRecord, list[int]]:
    """One drive, and how long each of its requests was with the server, in ns, sorted."""
    server = _engine.NullServer(json.dumps({"cpu": cpus["server"][0], "record": True, "delay_us": case.us}))
    try:
        plan = Plan(
            endpoints=(Endpoint(port=server.port),),
            cpus=tuple(cpus["generator"]),
            model=Open(rate_per_s=case.rate_per_s, spin_us=case.spin_us),
            pool=Pool(connections=CONNECTIONS),
            phases=Phases(warm_up_s=WARM_UP_S, measure_s=seconds, drain_s=2),
            operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),)),),
            keys=Keys(prefix="loadstone:lateness:"),
            timeouts=Timeouts(request_ms=5000, gone_s=10),
        )
        record = drive_alone(NativeDriver(), plan)
        return record, sorted(server.residence_ns()[-round(case.rate_per_s * seconds) :])
    finally:
        server.stop()


def judged(case: Case, record: DriveRecord, truth: Sequence[int]) -> Iterator[Result]:
    operation = record.operations["get"]
    if operation.least_ns is None:
        raise SystemExit("lateness: this engine does not say what is its own")
    for name, per_mille in QUANTILES.items():
        if not measurable(per_mille, min(len(truth), operation.response_ns.count)):
            continue
        true_ns = truth[rank_of(per_mille, len(truth)) - 1]
        most, least = getattr(operation.response_ns, name), getattr(operation.least_ns, name)
        inside = least <= true_ns + WIRE_NS and true_ns <= 1.001 * most
        yield Result(
            case.server, case.us, case.rate_per_s, case.disturbed, case.spin_us > 0, name,
            most / 1e3, (most - least) / 1e3, true_ns / 1e3, inside,
        )  # fmt: skip


@contextmanager
def busy_loops(cpus: Sequence[int]) -> Iterator[None]:
    """A process on each of these CPUs that runs 3 s in every 6."""
    loops = [multiprocessing.Process(target=disturb, args=(cpu,), daemon=True) for cpu in cpus]
    for one in loops:
        one.start()
    try:
        yield
    finally:
        for one in loops:
            one.terminate()
            one.join()


def disturb(cpu: int) -> None:
    os.sched_setaffinity(0, {cpu})
    while True:
        until = time.monotonic() + ON_S
        while time.monotonic() < until:
            pass
        time.sleep(OFF_S)


def table(results: Sequence[Result]) -> None:
    """A line for each kind of drive: medians over the repeats, and how often the truth lies inside."""
    kinds: dict[tuple[object, ...], list[Result]] = {}
    for one in results:
        key = (one.server, one.server_us, one.rate_per_s, one.disturbed, one.awake, one.quantile)
        kinds.setdefault(key, []).append(one)
    figures = f"{'response':>11} {'own':>11} {'true':>11} inside"
    print(f"{'server':<12} {'rate/s':>7} {'disturbed':<10} {'':<6} {'':<4} {figures}")
    for (server, us, rate, disturbed, awake, quantile), found in sorted(kinds.items(), key=str):
        response, own, true = (
            sorted(getattr(one, name) for one in found)[len(found) // 2]
            for name in ("response_us", "own_us", "true_us")
        )
        inside = sum(one.is_inside for one in found)
        label, how = f"{server} {us:.0f}", "awake" if awake else "asleep"
        print(
            f"{label:<12} {rate:>7.0f} {disturbed:<10} {how:<6} {quantile:<4} {response:>8.1f} us {own:>8.1f} us "
            f"{true:>8.1f} us {inside}/{len(found)}"
        )


def as_data(results: Sequence[Result]) -> dict[str, object]:
    """The results with what they were measured on."""
    cpus = len(os.sched_getaffinity(0))
    return {
        "format": 1,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"a machine with {cpus} CPUs, {platform.system()} {platform.machine()}",
        "wire_us": WIRE_NS / 1e3,
        "results": [vars(one) for one in results],
    }


if __name__ == "__main__":
    main()
