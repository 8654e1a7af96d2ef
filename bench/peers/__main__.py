"""loadstone beside redis-benchmark, valkey-benchmark, memtier_benchmark, wrk, oha, hey and k6.

Those that are installed. Every generator runs on one CPU and every server on another; all that stand in one row of a
table were measured in turn, in random order. Each figure goes into a file of lines at once; the tables are made from
the file.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.peers import added, freezes, network, page, picture, punctual, ratios, threaded, throughput
from bench.peers.generators import PEERS, Peer, installed
from bench.peers.load import UnreadableOutput
from bench.peers.own import OwnDriver
from bench.peers.results import Machine, Result, Throughput, add, read
from bench.peers.servers import nginx_program
from loadstone.drivers.native import engine_build
from loadstone.machine.hardware import kernel, machine
from loadstone.machine.placement import Placement, place
from loadstone.safety.errors import LoadstoneError

PARTS = ("throughput", "sizes", "freezes", "users", "delay", "added", "threads")
ROUNDS, QUICK_ROUNDS = 8, 3
SECONDS, QUICK_SECONDS = 2.0, 1.0
FREEZE_S, QUICK_FREEZE_S = freezes.SECONDS, 20.0
DELAY_S, QUICK_DELAY_S = 5.0, 2.0
FILE = Path("runs/bench.jsonl")
Took = Callable[[Result], None]


def main() -> None:
    """Measure what is requested, print the tables, and put them into a page."""
    options = _options()
    parts, placement = options.parts or PARTS, place()
    try:
        if not options.tables:
            options.file.parent.mkdir(parents=True, exist_ok=True)
            if not options.more:
                options.file.unlink(missing_ok=True)
            in_own = not options.machine_network and network.enter()
            _measure(options, parts, placement, network.describe(in_own))
        results = read(options.file)
        print(page.document(results))
        if options.picture is not None:
            picture.draw(options.picture, ratios.rows(one for one in results if isinstance(one, Throughput)))
        if options.page is not None:
            page.put(options.page, results)
    except (LoadstoneError, UnreadableOutput, ValueError, OSError) as error:
        sys.exit(f"bench: {error}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), help="all of them if none is named")
    parser.add_argument("--quick", action="store_true", help="3 rounds of a second each, 20 s of freezes")
    parser.add_argument("--rounds", type=int, help=f"of `throughput` ({ROUNDS})")
    parser.add_argument("--seconds", type=float, help="of each measurement")
    parser.add_argument("--generators", default="", help="names, with commas; all that are installed without it")
    parser.add_argument(
        "--loads",
        default="",
        help="of `throughput` and `sizes`: GET, SET, GET and SET, JSON.SET, HTTP, HTTP chunked, HTTPS",
    )
    parser.add_argument("--connections", default="", help="of both: 1, 8, 50, 500, with commas")
    parser.add_argument("--sizes", default="", help="of `sizes`: bytes of a value, with commas")
    parser.add_argument("--machine-network", action="store_true", help="not in a network namespace (as root: in one)")
    parser.add_argument("--file", type=Path, default=FILE, help=f"where the figures go ({FILE})")
    parser.add_argument("--more", action="store_true", help="add to the file; without it, it begins anew")
    parser.add_argument("--tables", action="store_true", help="measure nothing: only the tables, from the file")
    parser.add_argument("--picture", type=Path, help="draw the ratios by size into this SVG")
    parser.add_argument("--page", type=Path, help="put the tables into this page, as bench/results/peers.md")
    return parser.parse_args()


def _measure(options: argparse.Namespace, parts: Sequence[str], placement: Placement, through: str) -> None:
    names = tuple(filter(None, options.generators.split(",")))
    peers = installed(names)
    for peer in PEERS:
        if peer not in peers and (not names or peer.name in names):
            _say(f"{peer.name} is not installed; scripts/peers installs what there are packages of")
    cpus = placement.server_cpus, placement.generator_cpus
    with OwnDriver(placement.generator_cpus) as driver:
        add(options.file, _machine(peers, driver, through))
        took = _Shown(options.file).took
        for part in parts:
            _part(part, options, peers, driver, cpus, took)


def _part(
    part: str,
    options: argparse.Namespace,
    peers: Sequence[Peer],
    driver: OwnDriver,
    cpus: tuple[Sequence[int], Sequence[int]],
    took: Took,
) -> None:
    quick = options.quick

    def seconds(usual: float, short: float) -> float:
        return options.seconds or (short if quick else usual)

    if part == "throughput":
        count = options.rounds or (QUICK_ROUNDS if quick else ROUNDS)
        rounds = [f"{time.time():.0f}-{number}" for number in range(count)]
        throughput.measure(peers, driver, cpus, rounds, seconds(SECONDS, QUICK_SECONDS), took, _cases(options))
    elif part == "sizes":
        count = options.rounds or (QUICK_ROUNDS if quick else ROUNDS)
        for cases in _by_size(options, peers):
            rounds = [f"{time.time():.0f}-{number}" for number in range(count)]
            throughput.measure(peers, driver, cpus, rounds, seconds(SECONDS, QUICK_SECONDS), took, cases)
    elif part == "freezes":
        own = not options.generators or "loadstone" in options.generators.split(",")
        freezes.measure(peers, driver, cpus, took, seconds(FREEZE_S, QUICK_FREEZE_S), own=own)
    else:
        for _ in range(options.rounds or (QUICK_ROUNDS if quick else ROUNDS)):
            if part == "users":
                punctual.users(cpus, took, seconds(DELAY_S, QUICK_DELAY_S))
            elif part == "added":
                added.measure(peers, driver, cpus, took, seconds(SECONDS, QUICK_SECONDS))
            elif part == "threads":
                threaded.measure(peers, [*cpus[0], *cpus[1]], took, seconds(SECONDS, QUICK_SECONDS))
            else:
                punctual.delays(driver, cpus, took, seconds(DELAY_S, QUICK_DELAY_S))


def _cases(options: argparse.Namespace) -> list[throughput.Case]:
    loads = [load for load in options.loads.split(",") if load]
    connections = [int(count) for count in options.connections.split(",") if count] or throughput.CONNECTIONS
    return [case for case in throughput.cases_of(connections) if not loads or case.kind in loads]


def _by_size(options: argparse.Namespace, peers: Sequence[Peer]) -> Iterator[list[throughput.Case]]:
    sizes = [int(size) for size in options.sizes.split(",") if size] or throughput.SIZES
    loads = [load for load in options.loads.split(",") if load] or [kind for peer in peers for kind in peer.kinds]
    connections = [int(count) for count in options.connections.split(",") if count] or throughput.CONNECTIONS
    for cases in throughput.cases_by_size(sizes, connections):
        if chosen := [case for case in cases if not loads or case.kind in loads]:
            yield chosen


def _machine(peers: Sequence[Peer], driver: OwnDriver, through: str) -> Machine:
    found = machine()
    nginx = nginx_program()
    return Machine(
        datetime.now(UTC).date().isoformat(),
        found["cpu_model"] or found["architecture"],
        found["cpu_count"],
        kernel()["release"],
        {peer.name: peer.version_text() for peer in peers},
        engine_build(),
        "nginx, one worker" if nginx else "the null server of the engine (no nginx is installed)",
        driver.start_cpu_s,
        through,
    )


class _Shown:
    """Writes each result into the file, and a line of it for who waits."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def took(self, result: Result) -> None:
        """A result."""
        add(self._file, result)
        _say(", ".join(f"{name} {_short(value)}" for name, value in vars(result).items()))


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
