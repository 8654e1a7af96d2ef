"""Record latencies of two servers in rounds at one rate, for `replay_latency_rounds.py`.

    python bench/record_latency_rounds.py OUT.jsonl [--rounds 1500] [--rate 5000] [--null US US]

Two drives in the open model take turns on one embedded Redis (SET of 1 kB), so that they are alike; with `--null` on
two null servers that answer after so many microseconds. Lines: a group of rounds with the histograms of both (`span`,
`layout`, `a_places`, `a_counts`, ...), and a round with the sums of both (`round`, `sum_a`, `ended_a`, ...).
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hdrh.histogram import HdrHistogram

from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.histogram import decode, merge
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Command, Operation
from loadstone.experiment.plan.rounds import SETTLE_S, SLICE_S
from loadstone.judge.statistics.histogram_arrays import buckets_of
from loadstone.machine.placement import place
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

ROUNDS_OF_GROUP = 2
MEASURED_S = SLICE_S - SETTLE_S
SIDES = ("a", "b")


def plan(endpoint: Endpoint, rate_per_s: float, seed: int) -> Plan:
    """SET of 1 kB at a rate."""
    return Plan(
        endpoints=(endpoint,),
        model=Open(rate_per_s=rate_per_s),
        pool=Pool(connections=32),
        phases=Phases(warm_up_s=0, measure_s=1.0, drain_s=2.0),
        operations=(Operation(name="set", commands=(Command(args=("SET", "{key}", "{value}"), expect="ok"),)),),
        keys=Keys(prefix=f"loadstone:latencies:{seed}:", count=1000),
        interval_s=(ROUNDS_OF_GROUP - 0.5) * MEASURED_S,
        seed=seed,
    )


def recorded(plans: list[Plan], rounds: int) -> Iterator[dict[str, object]]:
    """The lines of a recording."""
    dice = random.Random(1)
    orders = tuple(tuple(dice.sample((0, 1), 2)) for _ in range(rounds))
    found: dict[tuple[int, int], dict[int, list[HdrHistogram]]] = defaultdict(lambda: defaultdict(list))

    def take(drive: int, interval: Interval) -> None:
        if interval.first_round is not None and interval.last_round is not None:
            histogram = decode(interval.operations["set"].response_histogram)
            found[interval.first_round, interval.last_round][drive].append(histogram)

    options = RoundsOptions(slice_s=MEASURED_S, settle_s=SETTLE_S, orders=orders)
    records = NativeDriver().drive(plans, take, options)
    yield from (_group(span, found[span]) for span in sorted(found))
    yield from _rounds(records)


def _group(span: tuple[int, int], drives: dict[int, list[HdrHistogram]]) -> dict[str, object]:
    line: dict[str, object] = {"span": span}
    for number, name in enumerate(SIDES):
        buckets = buckets_of(merge(drives[number]))
        line |= {
            "layout": buckets.layout,
            f"{name}_places": buckets.places.tolist(),
            f"{name}_counts": buckets.counts.tolist(),
        }
    return line


def _rounds(records: list[DriveRecord]) -> Iterator[dict[str, object]]:
    for both in zip(*(record.slices for record in records), strict=True):
        line: dict[str, object] = {"round": both[0].round}
        for name, one in zip(SIDES, both, strict=True):
            line |= {f"sum_{name}": one.response_sum_ns, f"ended_{name}": one.ended}
        yield line


def main() -> None:
    """Record and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=5000.0)
    parser.add_argument("--null", nargs=2, type=float, metavar="US")
    arguments = parser.parse_args()
    with ExitStack() as held:
        work = Path(held.enter_context(TemporaryDirectory()))
        context = DeployContext(cpus=place().server_cpus, work_root=work)
        if arguments.null:
            servers = [NullServerProcess({"delay_us": delay_us}) for delay_us in arguments.null]
            endpoints = [server.start(context) for server in servers]
        else:
            servers = [registry.server("redis", {"kind": "embedded"})]
            endpoints = [servers[0].start(context)] * 2
        for server in servers:
            held.callback(server.stop)
        plans = [plan(endpoint, arguments.rate, seed) for seed, endpoint in enumerate(endpoints, start=1)]
        lines = list(recorded(plans, arguments.rounds))
    arguments.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
