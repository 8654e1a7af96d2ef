"""What a line adds to a round trip under load: loadstone's engine at a fixed rate through it and beside it, in turns.

    python -m bench.engine.link [--delay '1 ms'] [--rates 100,1000,10000,30000] [--pairs 24] [--seconds 1]

Two drives of an open model (Poisson arrivals) against the null server, one through the line and one straight to it, in
random order, are a pair; what the line added is the difference of their mean service times. Printed for each rate:
the median over the pairs with its interval (95 %, by ranks), how far that is from what was required, what the line
itself says of its lateness, and its own CPU. No other program polls meanwhile, so nothing but the load shares the
line's CPU.
"""

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.placement import place
from loadstone.measure.links import median_interval
from loadstone.servers.delay_line import DelayLine, LinkSettings
from loadstone.servers.server import DeployContext

RATES = "100,1000,10000,30000"
WARM_UP_S = 0.3


@dataclass(frozen=True)
class Pair:
    """Mean service times of both drives, and what the line did in its one, in nanoseconds."""

    through_ns: float
    beside_ns: float
    late_ns: float
    cpu_share: float
    busy_share: float
    """With the time for which its thread waited for a CPU."""
    achieved_per_s: float
    generator_share: float


def plan(endpoint: Endpoint, rate_per_s: float, seconds: float, cpus: tuple[int, ...], seed: int) -> Plan:
    """GETs at a rate."""
    return Plan(
        endpoints=(endpoint,),
        pool=Pool(connections=int(min(400, max(16, rate_per_s / 100)))),
        model=Open(rate_per_s=rate_per_s, arrivals="poisson"),
        phases=Phases(warm_up_s=WARM_UP_S, measure_s=seconds, drain_s=2.0),
        operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}"), expect="any"),)),),
        cpus=cpus,
        seed=seed,
    )


def service_ns(record: DriveRecord) -> float:
    """The mean service time of the measure phase."""
    return record.operations["get"].service_ns.mean


def pair(line: DelayLine, plans: tuple[Plan, Plan], first: int) -> Pair:
    """Both drives, `first` of them first: 0 through the line, 1 beside it."""
    records: list[DriveRecord | None] = [None, None]
    report: dict[str, Any] = {}
    for which in (first, 1 - first):
        line.report()
        records[which] = drive_alone(NativeDriver(), plans[which])
        if which == 0:
            report = line.report() or {}
    through, beside = records
    assert through is not None
    assert beside is not None
    ways = [report[way] for way in ("to_server", "to_client")]
    waited_ns = report.get("waited_ns") or 0
    return Pair(
        through_ns=service_ns(through),
        beside_ns=service_ns(beside),
        late_ns=sum(way["late_mean_ns"] for way in ways),
        cpu_share=report["cpu_ns"] / report["wall_ns"],
        busy_share=(report["cpu_ns"] + waited_ns) / report["wall_ns"],
        achieved_per_s=through.operations["get"].window_completed / through.measure_s,
        generator_share=max(thread.cpu_s / thread.wall_s for thread in through.threads),
    )


def row(rate_per_s: float, pairs: list[Pair], requested_ns: int) -> dict[str, object]:
    """What is printed of one rate."""
    added_us = [us / 1e3 for us in median_interval(sorted(one.through_ns - one.beside_ns for one in pairs))]
    required_us = requested_ns / 1e3
    return {
        "rate": round(rate_per_s),
        "achieved": round(mean(one.achieved_per_s for one in pairs)),
        "beside_us": round(median(one.beside_ns for one in pairs) / 1e3, 1),
        "added_us": [round(us, 1) for us in added_us],
        "off_percent": [round(100 * (us / required_us - 1), 1) for us in added_us] if required_us else None,
        "late_us": round(median(one.late_ns for one in pairs) / 1e3, 1),
        "line_cpu": round(median(one.cpu_share for one in pairs), 3),
        "line_busy": round(median(one.busy_share for one in pairs), 3),
        "generator_cpu": round(median(one.generator_share for one in pairs), 3),
        "pairs": len(pairs),
    }


def rows(options: argparse.Namespace, settings: LinkSettings) -> Iterator[dict[str, object]]:
    """A row for each rate."""
    placed = place()
    context = DeployContext(cpus=placed.server_cpus, generator_cpus=placed.generator_cpus)
    server, line = NullServerProcess(), DelayLine("null", settings, context.generator_cpus)
    dice = random.Random(options.seed)
    try:
        beside = server.start(context)
        ends = (line.reach(beside), beside)
        print(f"{placed.note}; required {settings.requested_ns / 1e3:.0f} us", flush=True)
        for rate_per_s in (float(text) for text in options.rates.split(",")):
            pairs = []
            for number in range(options.pairs):
                through, straight = (
                    plan(end, rate_per_s, options.seconds, placed.generator_cpus, number + 1) for end in ends
                )
                pairs.append(pair(line, (through, straight), dice.randrange(2)))
            yield row(rate_per_s, pairs, settings.requested_ns)
    finally:
        line.stop()
        server.stop()


def main() -> None:
    """Print a row for each rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", default="1 ms")
    parser.add_argument("--rates", default=RATES)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    require_release_engine()
    for found in rows(options, LinkSettings.model_validate(options.delay)):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
