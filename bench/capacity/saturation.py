"""Saturation against servers whose truth is known, under the five kinds of noise of `noise.py`.

    python -m bench.capacity.saturation [--runs 1000] [--open-runs 300] [--seed 1] [--json]

Closed model: each run doubles the users to find the range, then makes 6 sweeps in random order. Open model:
one bisection of 8 steps, then 8 blocks of 4. Every trial has its own speed, drawn from the noise; the truth is
that at the machine's speed while the run lasted, and, beside it, at its typical speed over weeks. Exit status 1 if
a limit is missed under quiet or mixed noise.
"""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from bench.capacity.queues import CLOSED, OPEN, ClosedQueue, Floats, OpenQueue, UslServer
from bench.judge.noise import SCENARIOS, Noise, machine_alone, rates
from bench.judge.simulated import Share, options, share_of
from loadstone.addons.saturation.bisection import (
    BLOCKS,
    LOCATE_STEPS,
    Bisection,
    OpenTrial,
    RateObjective,
    around,
    failing,
    locate,
    open_saturation,
)
from loadstone.addons.saturation.closed_estimate import (
    SWEEPS_MIN,
    Estimate,
    Probe,
    RangeSearch,
    Saturation,
    Sweep,
    closed_saturation,
    search_range,
    sweep_orders,
)

BIAS_MAX = 0.03
COVERAGE_MIN = 0.93
LIMITED = ("quiet", "mixed")
TYPICAL_RUNS = 20_000
SLOTS = 24
"""Trials in the time of one sweep."""
ARRIVALS, WARM_UP = 40_000, 2_000
CHUNK = 100
HEADER = (
    f"{'server':20}{'noise':10}{'answered %':>21}{'users: bias, interval, coverage %':>38}"
    f"{'rate: bias, interval, coverage %':>38}{'over weeks %':>22}   top of a chart / truth"
)


@dataclass(frozen=True)
class Run:
    """One run's answer and its truth: at the machine's speed while it was measured."""

    answer: Saturation
    users: float
    per_s: float
    top: float
    """Users at the highest point of the first sweep: what is read off a chart."""


@dataclass(frozen=True)
class Accuracy:
    """Of one figure over the runs: median of estimate / truth - 1, coverage, median half-width as a share."""

    bias: float
    coverage: Share
    width: float

    def __str__(self) -> str:
        return f"{100 * self.bias:+5.1f}  +-{100 * self.width:4.1f}  {self.coverage}"


@dataclass(frozen=True)
class Outcome:
    """How well the truth of one server was found under one noise."""

    kind: str
    """plateau: saturation point and X_max; peak: users and rate there; limit: highest rate that keeps its objective."""
    server: str
    scenario: str
    answered: Share
    """Runs that gave a point of this kind. The rest is about them."""
    users: Accuracy | None
    rate: Accuracy | None
    rate_over_weeks: Accuracy | None
    """Against the machine's typical speed over weeks, which drifts while a run lasts."""
    chart: tuple[float, float] | None
    """Where nine in ten highest points of a single sweep lie, over the truth."""


def typical_speed(noise: Noise, seed: int) -> float:
    """The machine's typical speed over weeks: the mean of its logarithm."""
    dice = np.random.default_rng([seed, 99])
    return float(np.exp(np.log(rates(machine_alone(noise), dice, TYPICAL_RUNS, 1, 1)).mean()))


def speeds_of(noise: Noise, key: list[int], runs: int, blocks: int, trials: int) -> tuple[Floats, Floats]:
    """Speeds of (runs, blocks, trials), and the machine's mean speed while each run's repeats were measured."""
    speeds = rates(noise, np.random.default_rng(key), runs, blocks, trials)
    machine = rates(machine_alone(noise), np.random.default_rng(key), runs, blocks, trials)
    return speeds, np.asarray(np.exp(np.log(machine[:, 1:]).mean(axis=(1, 2))))


def closed_runs(server: ClosedQueue | UslServer, noise: Noise, runs: int, seed: int) -> Iterator[Run]:
    """One run after another: the range by doubling, then sweeps."""
    key = [seed, SCENARIOS.index(noise), CLOSED.index(server)]
    speeds, machine = speeds_of(noise, key, runs, 1 + SWEEPS_MIN, SLOTS)
    for number in range(runs):
        found = _range(server, speeds[number, 0])
        truth = server.truth(float(machine[number]))
        if found.answer is not None:
            yield Run(found.answer, *truth, top=float("nan"))
            continue
        orders = sweep_orders(found.levels, SWEEPS_MIN, seed + number)
        sweeps = [_sweep(server, order, speed) for order, speed in zip(orders, speeds[number, 1:], strict=True)]
        top = max(sweeps[0], key=lambda probe: probe.goodput_per_s)
        yield Run(closed_saturation(sweeps), *truth, top=float(top.users))


def _range(server: ClosedQueue | UslServer, speed: Floats) -> RangeSearch:
    probes: list[Probe] = []
    while (found := search_range(probes, server.think_s)).next_users is not None:
        probes += _sweep(server, (found.next_users,), speed[len(probes) :])
    return found


def _sweep(server: ClosedQueue | UslServer, order: Sequence[int], speed: Floats) -> Sweep:
    found = []
    for users, at in zip(order, speed, strict=False):
        per_s = float(server.throughput(users, at))
        found.append(Probe(users, per_s, users / per_s - server.think_s))
    return tuple(found)


def open_runs(queue: OpenQueue, noise: Noise, runs: int, seed: int) -> Iterator[Run]:
    """All runs of a chunk advance together, trial by trial."""
    key = [seed, SCENARIOS.index(noise), OPEN.index(queue)]
    speeds, machine = speeds_of(noise, key, runs, 1 + BLOCKS, LOCATE_STEPS)
    for at in range(0, runs, CHUNK):
        rng = np.random.default_rng([*key, at])
        answers = _open_chunk(queue, speeds[at : at + CHUNK], rng)
        for answer, speed in zip(answers, machine[at : at + CHUNK].tolist(), strict=True):
            yield Run(answer, 0.0, queue.limit(speed), top=float("nan"))


def _open_chunk(queue: OpenQueue, speeds: Floats, rng: np.random.Generator) -> list[Saturation]:
    objective = RateObjective(queue.objective_s)
    most = queue.servers / queue.service_s
    runs = range(len(speeds))
    located = [
        one.rate_per_s for one in _bisected(queue, [locate(most / 10, most * 1.6) for _ in runs], speeds[:, 0], rng)
    ]
    blocks: list[list[Bisection]] = [[] for _ in runs]
    for number in range(1, 1 + BLOCKS):
        starts = [around(located[run], blocks[run], rng.uniform(-1, 1)) for run in runs]
        for run, done in zip(runs, _bisected(queue, starts, speeds[:, number], rng), strict=True):
            blocks[run].append(done)
    return [open_saturation(of_run, objective) for of_run in blocks]


def _bisected(queue: OpenQueue, starts: list[Bisection], speeds: Floats, rng: np.random.Generator) -> list[Bisection]:
    """One bisection of each run; `speeds` has a row a run, a column a trial."""
    objective, bisections = RateObjective(queue.objective_s), starts
    for speed in speeds.T[: starts[0].steps_left]:
        rate = np.array([one.rate_per_s for one in bisections])
        p99, backlogs = queue.simulate(rng, rate, speed, ARRIVALS, WARM_UP)
        bisections = [
            one.after(keeps=not failing(OpenTrial(one.rate_per_s, ARRIVALS, ARRIVALS, late, tuple(backlog)), objective))
            for one, late, backlog in zip(bisections, p99.tolist(), backlogs.tolist(), strict=True)
        ]
    return bisections


def judged(server: ClosedQueue | UslServer | OpenQueue, noise: Noise, runs: int, seed: int) -> Outcome:
    """One row of the table."""
    if isinstance(server, OpenQueue):
        found, kind = list(open_runs(server, noise, runs, seed)), "limit"
        weeks = (0.0, server.limit(typical_speed(noise, seed)))
    else:
        found, kind = (
            list(closed_runs(server, noise, runs, seed)),
            "peak" if isinstance(server, UslServer) else "plateau",
        )
        weeks = server.truth(typical_speed(noise, seed))
    right = [run for run in found if run.answer.kind == kind]
    users = accuracy([(run.answer.users, run.users) for run in right])
    rate = accuracy([(run.answer.per_s, run.per_s) for run in right])
    over_weeks = accuracy([(run.answer.per_s, weeks[1]) for run in right])
    charts = [run.top / run.users for run in found if not math.isnan(run.top)]
    answered = share_of(np.array([run.answer.kind == kind for run in found]))
    spread = tuple(np.quantile(charts, [0.05, 0.95]).tolist()) if charts else None
    return Outcome(kind, server.name, noise.name, answered, users, rate, over_weeks, spread)


def accuracy(found: list[tuple[Estimate | None, float]]) -> Accuracy | None:
    """Of estimates against their truths; None where there are none."""
    known = [(one.value / truth, one.low / truth, one.high / truth) for one, truth in found if one is not None]
    if not known:
        return None
    value, low, high = np.array(known).T
    return Accuracy(
        bias=float(np.median(value) - 1),
        coverage=share_of((low <= 1) & (high >= 1)),
        width=float(np.median(high / low) ** 0.5 - 1),
    )


def replay(runs: int, open_runs_: int, seed: int, scenarios: Sequence[Noise] = SCENARIOS) -> Iterator[Outcome]:
    """All servers under all scenarios."""
    for server in CLOSED:
        yield from (judged(server, noise, runs, seed) for noise in scenarios)
    for queue in OPEN:
        yield from (judged(queue, noise, open_runs_, seed) for noise in scenarios)


def missed(found: Outcome) -> list[str]:
    """The limits that an outcome misses; coverage by more than its range."""
    misses = []
    for what, observed in (("users", found.users), ("rate", found.rate)):
        where = f"{found.server}, {found.scenario}, {what}"
        if observed is not None and abs(observed.bias) > BIAS_MAX:
            misses.append(f"{where}: bias {observed.bias:+.1%}, limit {BIAS_MAX:.0%}")
        if observed is not None and observed.coverage.high < COVERAGE_MIN:
            misses.append(f"{where}: coverage {observed.coverage}, limit {COVERAGE_MIN:.0%}")
    return misses


def line(found: Outcome) -> str:
    """One row of the table for people."""
    chart = "" if found.chart is None else f"{found.chart[0]:5.2f} to {found.chart[1]:5.2f}"
    weeks = "" if found.rate_over_weeks is None else str(found.rate_over_weeks.coverage)
    cells = "".join(f"{'' if observed is None else observed!s:>38}" for observed in (found.users, found.rate))
    return f"{found.server:20}{found.scenario:10}{found.answered!s:>21}{cells}{weeks:>22}   {chart}"


def main() -> int:
    """Print the table (or JSON) and what was missed."""
    parser = options(__doc__, runs=1000)
    parser.add_argument("--open-runs", type=int, default=300)
    arguments = parser.parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(HEADER, file=people)
    outcomes = []
    for found in replay(arguments.runs, arguments.open_runs, arguments.seed):
        outcomes.append(found)
        print(line(found), file=people, flush=True)
    misses = [(found.scenario, miss) for found in outcomes for miss in missed(found)]
    if arguments.json:
        rows = [asdict(found) for found in outcomes]
        reported = {"runs": arguments.runs, "open_runs": arguments.open_runs, "seed": arguments.seed}
        print(json.dumps({**reported, "missed": [miss for _, miss in misses], "outcomes": rows}))
    else:
        print(*(miss for _, miss in misses), sep="\n")
    return 1 if any(scenario in LIMITED for scenario, _ in misses) else 0


if __name__ == "__main__":
    sys.exit(main())
