"""Saturation points of servers whose truth is known, live: queues behind a real TCP port, searched as a user does it.

    python -m bench.capacity.saturation_live [--runs 20] [--whole] [--servers m/m/1,m/m/8,retrograde] [--minutes 40]

The servers are the engine's null server with a queue, which waits and uses no CPU: M/M/1 whose users think, M/M/8, and
one that loses throughput by the Universal Scalability Law. Each run is `loadstone saturate http URL --quick` in a
process of its own (`--whole`: without `--quick`); the servers take turns. A line a run is appended to
`--out`/saturation-live.jsonl; those that are there are not measured again. The folders of runs that missed the truth
stay in `--out`/runs.

The truth is that of the closed queueing model with a round trip that is measured beside each run, on the same
kind of connection: one user against a server that answers after exactly the service time. M/M/m: X_max = m / S,
as exact mean value analysis has it from twice the point on (`tail` says how near), N* = X_max (S + round trip + Z).
The users pause there as they do in the run. USL: the peak of the law. A part of the way is the server's thread waking
up late, during which a command is still there and makes others slower; the truth of the rate is the middle between
all of the way and none of it.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from bench.capacity.queues import ClosedQueue, UslServer
from bench.capacity.saturation_run import ROOT, counted, estimate, searched
from bench.common.result_lines import add_line, read_lines
from loadstone.addons.saturation.closed_estimate import TAIL_FROM, Usl
from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.null_server import NullServerProcess
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import HttpRequest, Operation
from loadstone.machine.placement import place
from loadstone.servers.server import DeployContext

ROUND_TRIP_S, STRETCHES = 0.3, 3
"""Measured for so long and so often before a run, and after it; the median counts, as stalls do little to a run."""
SERVICE_S = 2.0
"""And the queue's service times for so long, before it."""
MANY_SERVERS = 1000
BIAS_MAX, COVERAGE_MIN = 0.03, 0.93
MINUTES_A_RUN = 0.7


@dataclass(frozen=True)
class KnownServer:
    """A queue, and the users' pause."""

    name: str
    model: ClosedQueue | UslServer

    @property
    def service_s(self) -> float:
        """Mean, with one command there."""
        return self.model.service_s if isinstance(self.model, ClosedQueue) else 1 / self.model.law.rate

    @property
    def kind(self) -> str:
        """What the answer should be."""
        return "plateau" if isinstance(self.model, ClosedQueue) else "peak"

    def options(self, seed: int) -> dict[str, Any]:
        """Of the null server."""
        queue: dict[str, Any] = {"service_us": 1e6 * self.service_s, "seed": seed}
        if isinstance(self.model, ClosedQueue):
            queue["servers"] = self.model.servers
        else:
            law = self.model.law
            queue |= {"servers": MANY_SERVERS, "sigma": law.contention, "kappa": law.coherency}
        return {"protocol": "http1", "queue": queue}

    def truth(self, round_trip_s: float) -> tuple[float, float]:
        """Users and throughput at the saturation point or the peak, with so long a way to the server and back."""
        if isinstance(self.model, ClosedQueue):
            most = self.model.servers / self.service_s
            return most * (self.service_s + round_trip_s + self.model.think_s), most
        users, most = self._way_inside(round_trip_s)
        outside = self.model.truth(1.0)[1]
        return users, math.sqrt(most * outside)

    def unsure(self, round_trip_s: float) -> float:
        """How far the truth of the throughput may be off, as a share: how much of the way is inside is not known."""
        if isinstance(self.model, ClosedQueue):
            return 0.0
        return math.sqrt(self.model.truth(1.0)[1] / self._way_inside(round_trip_s)[1]) - 1

    def _way_inside(self, round_trip_s: float) -> tuple[float, float]:
        """The law's peak if commands on their way count as being there; the users are the same if they do not.

        N / X = S (1 + sigma (N - 1) + kappa N (N - 1)) + round trip, which is such a law again.
        """
        assert isinstance(self.model, UslServer)
        law, slower = self.model.law, 1 + round_trip_s / self.service_s
        inside = Usl(law.rate / slower, law.contention / slower, law.coherency / slower)
        users = inside.peak_users
        assert users is not None
        return users, float(inside.throughput(np.asarray(users)))

    def tail(self, levels: Sequence[int], round_trip_s: float) -> float | None:
        """Exact throughput over the levels from twice the point on, as a share of X_max; None of the law's."""
        if not isinstance(self.model, ClosedQueue):
            return None
        point, most = self.truth(round_trip_s)
        pause_s = self.model.think_s + round_trip_s
        with_way = ClosedQueue(self.name, self.model.servers, self.service_s, pause_s)
        rates = [float(with_way.throughput(n, np.ones(1))[0]) for n in levels if n >= TAIL_FROM * point]
        return math.exp(fmean(math.log(rate / most) for rate in rates)) if rates else None


SERVERS = (
    KnownServer("m/m/1", ClosedQueue("M/M/1, S = 1 ms, Z = 2 ms", 1, 0.001, 0.002)),
    KnownServer("m/m/8", ClosedQueue("M/M/8, S = 4 ms", 8, 0.004, 0.0)),
    KnownServer("retrograde", UslServer("USL .02, .01, S = 2 ms", Usl(500.0, 0.02, 0.01))),
)


@dataclass(frozen=True)
class Found:
    """One run. Users, and replies a second: value, low, high; None where the run gave none."""

    server: str
    number: int
    whole: bool
    kind: str
    said: str
    users: tuple[float, float, float] | None
    per_s: tuple[float, float, float] | None
    true_users: float
    true_per_s: float
    tail: float | None
    """Exact throughput of the levels that X_max rests on, over X_max."""
    unloaded_s: float | None
    """R_0 as the run has it."""
    round_trip_s: float
    service_s: float
    """Mean response of one user to the queue, less the round trip."""
    services: int
    sweeps: int
    levels: int
    seconds: float

    @property
    def right_kind(self) -> bool:
        """Whether it says that throughput levels off, or falls, where it does."""
        return self.kind == known(self.server).kind and self.users is not None

    def covers(self, what: str) -> bool:
        """Whether the interval of `users` or `per_s` holds the truth."""
        low, high = getattr(self, what)[1:]
        return bool(low <= getattr(self, f"true_{what}") <= high)

    def ratio(self, what: str) -> float:
        """Estimate over truth."""
        return float(getattr(self, what)[0] / getattr(self, f"true_{what}"))


def known(name: str) -> KnownServer:
    """The server of that name."""
    return next(one for one in SERVERS if one.name == name)


@contextmanager
def listening(options: Mapping[str, Any]) -> Iterator[Endpoint]:
    """A null server by these options."""
    server = NullServerProcess(options)
    try:
        yield server.start(DeployContext(cpus=place().server_cpus))
    finally:
        server.stop()


def driven(endpoint: Endpoint, think_s: float, seconds: float) -> tuple[float, int]:
    """The mean response time of one user, and of how many replies."""
    plan = Plan(
        protocol="http1",
        endpoints=(endpoint,),
        cpus=place().generator_cpus[:1],
        model=Closed(users=1, think_time_ms=1e3 * think_s),
        pool=Pool(connections=1),
        phases=Phases(warm_up_s=0.1, measure_s=seconds, drain_s=1),
        operations=(Operation(name="get", requests=(HttpRequest(path="/"),)),),
    )
    found = drive_alone(NativeDriver(), plan).operations["get"].response_ns
    return found.mean / 1e9, found.count


def round_trips_s(server: KnownServer) -> list[float]:
    """What the way to a server and back takes, its thread's waking up included: the mean of each stretch."""
    with listening({"protocol": "http1", "delay_us": 1e6 * server.service_s}) as endpoint:
        means = [driven(endpoint, server.model.think_s, ROUND_TRIP_S)[0] for _ in range(STRETCHES)]
    return [mean - server.service_s for mean in means]


def measure(server: KnownServer, number: int, options: argparse.Namespace) -> Found:
    """One run, and beside it the round trip and the service time."""
    ways_s = round_trips_s(server)
    with listening(server.options(1000 + number)) as endpoint:
        response_s, services = driven(endpoint, server.model.think_s, SERVICE_S)
    words = ["--seed", str(number)] + ([] if options.whole else ["--quick"])
    if server.model.think_s:
        words += ["--think", f"{1e3 * server.model.think_s:g}ms"]
    if options.share_machine:
        words.append("--share-machine")
    folder = options.out / "runs" / f"{server.name.replace('/', '')}-{number:03d}{'-whole' if options.whole else ''}"
    with listening(server.options(number)) as endpoint:
        run = searched(["saturate", "http", f"http://127.0.0.1:{endpoint.port}/", *words], folder)
    way_s = median([*ways_s, *round_trips_s(server)])
    answer = run.answer
    levels = [point["users"] for point in answer["points"]]
    true_users, true_per_s = server.truth(way_s)
    found = Found(
        server=server.name,
        number=number,
        whole=options.whole,
        kind=answer["kind"],
        said=answer["message"]["text"],
        users=estimate(answer["users"]),
        per_s=estimate(answer["per_s"]),
        true_users=true_users,
        true_per_s=true_per_s,
        tail=server.tail(levels, way_s),
        unloaded_s=answer["unloaded_s"],
        round_trip_s=way_s,
        service_s=response_s - way_s,
        services=services,
        sweeps=answer["sweeps"],
        levels=len(levels),
        seconds=run.seconds,
    )
    if found.right_kind and found.covers("users") and found.covers("per_s"):
        run.remove()
    return found


def accuracy(found: Sequence[Found], what: str) -> str:
    """Bias, coverage and width of one figure."""
    ratios = [one.ratio(what) for one in found]
    spread = np.std(ratios, ddof=1) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
    widths = [math.sqrt(getattr(one, what)[2] / getattr(one, what)[1]) - 1 for one in found]
    held = counted(sum(one.covers(what) for one in found), len(found))
    return (
        f"bias {median(ratios) - 1:+.1%} in the median, {fmean(ratios) - 1:+.1%} (s.e. {spread:.1%}) on average; "
        f"interval +-{median(widths):.1%}, holds the truth in {held}"
    )


def page(found: Sequence[Found]) -> str:
    """A list for each server."""
    parts = []
    for server in SERVERS:
        for whole in (False, True):
            if ones := [one for one in found if one.server == server.name and one.whole == whole]:
                parts.append("\n".join([f"{server.model.name}{', whole' if whole else ', --quick'}:", "", *rows(ones)]))
    return "\n\n".join(parts)


def rows(found: Sequence[Found]) -> list[str]:
    """Of one server."""
    right = [one for one in found if one.right_kind]
    seconds = sorted(one.seconds for one in found)
    replies = sum(one.services for one in found)
    service_s = sum(one.service_s * one.services for one in found) / replies
    known_s = known(found[0].server).service_s
    lines = [f"- answered as a {known(found[0].server).kind}: {counted(len(right), len(found))}"]
    if right:
        lines += [
            f"- users, truth {fmean(one.true_users for one in right):.2f}: {accuracy(right, 'users')}",
            f"- replies a second, truth {fmean(one.true_per_s for one in right):,.0f}: {accuracy(right, 'per_s')}",
        ]
    lines += [
        f"- seconds a run, median [range]: {median(seconds):.0f} [{seconds[0]:.0f}, {seconds[-1]:.0f}]",
        f"- round trip, mean: {1e6 * fmean(one.round_trip_s for one in found):.0f} us; part of the truth",
        f"- service time over TCP / its truth, one user, {replies:,} replies: {service_s / known_s:.4f} "
        f"(s.e. {1 / math.sqrt(replies):.4f})",
    ]
    unsure = max(known(one.server).unsure(one.round_trip_s) for one in found)
    if unsure:
        lines.append(f"- the truth of the rate itself is known to +-{unsure:.1%} at the worst")
    if tails := [one.tail for one in found if one.tail is not None]:
        lines.append(f"- exact throughput of the levels behind X_max, at least: {min(tails):.4f} of it")
    return lines


def missed(found: Sequence[Found]) -> list[str]:
    """The limits that are missed: bias of the median, coverage by more than its range."""
    misses = []
    for server in SERVERS:
        right = [one for one in found if one.server == server.name and one.right_kind]
        for what in ("users", "per_s") if right else ():
            bias = median(one.ratio(what) for one in right) - 1
            if abs(bias) > BIAS_MAX:
                misses.append(f"{server.name}, {what}: bias {bias:+.1%}, limit {BIAS_MAX:.0%}")
    held = [one.right_kind and one.covers("users") for one in found]
    if held and sum(held) < COVERAGE_MIN * len(held) - 2 * math.sqrt(len(held) * COVERAGE_MIN * (1 - COVERAGE_MIN)):
        misses.append(f"the interval of the users holds the truth in {counted(sum(held), len(held))}")
    return misses


def main() -> int:
    """Measure what is missing; print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="of each server")
    parser.add_argument("--servers", default=",".join(one.name for one in SERVERS))
    parser.add_argument(
        "--whole", action="store_true", help="without --quick: all levels, until the interval is narrow"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after so many")
    parser.add_argument("--share-machine", action="store_true", help="although another run measures on this machine")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "saturation-live")
    options = parser.parse_args()
    chosen = [one for one in SERVERS if one.name in options.servers.split(",")]
    if not chosen:
        parser.error(f"--servers {options.servers}: known are {', '.join(one.name for one in SERVERS)}")
    require_release_engine()
    file = options.out / "saturation-live.jsonl"
    found = [Found(**line) for line in read_lines(file)]
    done = {(one.server, one.number, one.whole) for one in found}
    planned = [(one, number) for number in range(1, options.runs + 1) for one in chosen]
    missing = [one for one in planned if (one[0].name, one[1], options.whole) not in done]
    print(f"saturation, live: {len(missing)} runs, about {MINUTES_A_RUN * len(missing):.0f} minutes", flush=True)
    until_s = time.monotonic() + 60 * options.minutes
    for server, number in missing:
        if time.monotonic() > until_s:
            break
        one = measure(server, number, options)
        add_line(file, asdict(one))
        found.append(one)
        print(f"{server.name} {number}: {one.said}; truth {one.true_users:.2f}", file=sys.stderr, flush=True)
    print(page(found))
    misses = missed(found)
    print(*misses, sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
