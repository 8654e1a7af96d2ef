"""How an ad-hoc load is made and measured: the parts of an experiment that both commands have in common."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.commands.targets import Fields, LoadRow
from loadstone.errors import UserError
from loadstone.plan.drive_plan import SPIN_US
from loadstone.secrecy.references import learn_environment
from loadstone.spec.experiment import Experiment
from loadstone.spec.load_settings import resolve
from loadstone.spec.problems import Source
from loadstone.spec.units import MOST_PER_S, NEVER
from loadstone.spec.yaml_text import Path

FACTOR, TARGET_FACTOR, RATE_FACTOR = "operation", "target", "rate"
REPEATS = 6
"""How often a row is measured: the fewest from which there is a 95 % interval."""
LONGEST_S = 3600.0
"""A trial that ends with its requests ends after this at the latest."""
LEAST_S = 0.05
BRIEFEST_S = 0.001
"""Of what ends with its requests."""
P99_OPERATIONS = 10_400
"""A P99 needs 10,000; Poisson arrivals vary by some hundreds."""
P99_LONGEST_S = 25.0
"""J: a row at a low rate is not measured for longer than that to get a P99."""
BUDGET, COMPARED_BUDGET = "1 h", "55 s"
"""A table ends when it is measured; a comparison when it is decided, and at the latest then."""
CAPACITY_REPEATS, CAPACITY_S = 2, 0.5
"""How often and how long full speed is measured of which rates are shares."""
Capacities = Mapping[tuple[str, str], float]
"""Row and target -> requests a second at full speed; without `--against` the target is empty."""
STEPS = 9
"""Levels of a range, both ends included."""
LEVELS_MAX = 50
SHARE_MAX = 1.5
"""Of the capacity: beyond it queues grow without end, which one level shows as well as many."""
_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kKM]?)\s*(/s)?", re.ASCII)
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%", re.ASCII)
_TIMES = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}


@dataclass(frozen=True)
class RateLevel:
    """One rate: of requests a second, or as a share of what the target can do."""

    per_s: float | None = None
    share: float | None = None

    @property
    def label(self) -> str:
        """As the table calls it."""
        if self.share is not None:
            return f"{100 * self.share:g} %"
        return f"{self.per_s:,.10g}/s"

    def of(self, capacity_per_s: float | None) -> float:
        """Requests a second, where the target can do so many."""
        if self.share is None:
            return self.per_s or 0.0
        return round(self.share * (capacity_per_s or 0.0), 3)


@dataclass(frozen=True)
class AdHocLoad:
    """The load and how it is measured, as the options say it."""

    connections: int = 50
    pipeline: int = 1
    threads: int | None = None
    measure_s: float | None = None
    """Of each row, all its repeats together; None: as long as is usual."""
    usual_s: float = 2.0
    requests: int | None = None
    """Of each row and repeat; then `measure_s` does not count."""
    rate_per_s: float | None = None
    """None: full speed."""
    rates: tuple[RateLevel, ...] = ()
    arrivals: str = "constant"
    precise: bool = False
    """Whether the generator does not sleep right before a request is due, which takes CPU."""
    think_ms: float | None = None
    warm_up_s: float = 0.3
    repeat: int | None = None
    at_rate: str | None = None
    budget: str | None = None
    timeout_ms: float | None = None
    slice: str | None = None
    """Of a comparison; None: as experiments have it."""

    @property
    def needs_capacity(self) -> bool:
        """Whether full speed is measured first."""
        return any(one.share is not None for one in self.rates)

    @property
    def compared_by(self) -> str:
        """What decides a comparison, as the end of its question; empty for rates at full speed."""
        if self.rates:
            return ", by the P99 of the response time at equal rates"
        if self.rate_per_s is not None:
            return f", by the P99 of the response time at {self.rate_per_s:,.0f} requests a second"
        return ""

    @property
    def blocks(self) -> int:
        """How often each row is measured."""
        return self.repeat or (1 if self.requests is not None else REPEATS)


@dataclass(frozen=True)
class Target:
    """One server or service that gets the load."""

    label: str
    """As the table calls it."""
    part: str
    """Its name among the servers or services."""
    settings: Fields
    rows: tuple[LoadRow, ...] = ()
    """What it gets, where that differs between the targets."""


@dataclass(frozen=True)
class AdHoc:
    """Everything that makes an ad-hoc experiment."""

    command: str
    """`redis` or `http`."""
    question: str
    load: AdHocLoad
    targets: tuple[Target, ...]
    """One, or the two that are compared."""
    rows: tuple[LoadRow, ...]
    workload: Fields
    """What only this protocol has: `protocol`, `keys`, `documents`..."""
    columns: tuple[str, ...]
    given: Mapping[Path, str] = field(default_factory=dict)
    """Where each option stands in the experiment."""
    description: str = ""

    @property
    def compares(self) -> bool:
        """Whether two targets are compared."""
        return len(self.targets) > 1


def check_load(load: AdHocLoad, length: str, *, compares: bool) -> None:
    """Raises UserError where options contradict each other. `length`: the option for how long is measured."""
    _check_model(load)
    ended_by = "-n" if load.requests is not None else "" if load.measure_s is None else length
    if ended_by and compares:
        raise UserError(f"{ended_by}: a comparison ends when it is decided; write --repeat or --budget")
    if load.slice is not None and not compares:
        raise UserError("--slice: turns of a comparison are so long; add --against, or leave it out")
    if load.requests is not None and load.measure_s is not None:
        raise UserError(f"-n, {length}: leave one of them out")
    if load.requests is not None and load.rates:
        raise UserError("-n: rates are measured for a time, not for a number of requests; leave it out")


def _check_model(load: AdHocLoad) -> None:
    paced = "--rates" if load.rates else "--rate" if load.rate_per_s is not None else ""
    if load.rates and load.rate_per_s is not None:
        raise UserError("--rate, --rates: leave one of them out")
    if paced and load.think_ms is not None:
        raise UserError(f"--think: users pause in the closed model alone; leave it or {paced} out")
    if paced and load.at_rate is not None:
        raise UserError(f"--at-rate: the load has a rate already; leave it or {paced} out")
    for option, given in (("--arrivals", load.arrivals == "poisson"), ("--precise", load.precise)):
        if given and not paced:
            raise UserError(f"{option}: needs requests that come at a rate; add --rate")


def experiment_of(ad_hoc: AdHoc, capacities: Capacities | None = None) -> Experiment:
    """The experiment, held to all the rules of one from a file. Raises UserError that names the option.

    `capacities`: what rates are shares of. None: the experiment that measures them, where some are.
    """
    learn_environment()
    measures_capacity = ad_hoc.load.needs_capacity and capacities is None
    found = _experiment(ad_hoc, {} if capacities is None else capacities, capacity=measures_capacity)
    return resolve(Source(label=f"loadstone {ad_hoc.command}", data=found, given=ad_hoc.given))


def _experiment(ad_hoc: AdHoc, capacities: Capacities, *, capacity: bool) -> Fields:
    load = ad_hoc.load
    rates = () if capacity else load.rates
    names = [row.name for row in ad_hoc.rows]
    factors: Fields = {FACTOR: {"title": "Operation", "levels": names}}
    vary: Fields = {FACTOR: names}
    if ad_hoc.compares:
        labels = [target.label for target in ad_hoc.targets]
        factors[TARGET_FACTOR] = {"title": "Target", "levels": labels}
        vary = {TARGET_FACTOR: labels, **vary}
    if rates:
        labels = [rate.label for rate in rates]
        factors[RATE_FACTOR] = {"title": "Rate", "levels": labels}
        vary[RATE_FACTOR] = labels
    table = {"name": "results", "title": "Results", "vary": vary, "columns": list(ad_hoc.columns)}
    found: Fields = {
        "format": 1,
        "name": ad_hoc.command,
        "question": ad_hoc.question,
        "description": ad_hoc.description,
        "factors": factors,
        "tables": [table],
        "workload": _workload(ad_hoc, rates, capacities, capacity=capacity),
        "design": _design(load, compares=ad_hoc.compares and not capacity, capacity=capacity),
        **_parts(ad_hoc),
    }
    return {**found, **_comparison(ad_hoc)} if ad_hoc.compares and not capacity else found


def _workload(ad_hoc: AdHoc, rates: Sequence[RateLevel], capacities: Capacities, *, capacity: bool) -> Fields:
    load = ad_hoc.load
    paced = load.rate_per_s is not None and not capacity
    closed: Fields = {"kind": "closed", "users": load.connections}
    if load.requests is not None:
        users = min(load.connections, load.requests)
        each, more = divmod(load.requests, users)
        closed |= {"users": users, "operations_per_user": each, "operations_more": more}
    if load.think_ms is not None:
        closed["think_time_ms"] = load.think_ms
    found: Fields = {
        "model": _open(load, load.rate_per_s or 0.0) if paced else closed,
        "pool": {"connections": load.connections},
        "pipeline_depth": load.pipeline,
        "threads": load.threads or "auto",
        "phases": _phases(load, capacity=capacity),
        **_operations(ad_hoc),
        **ad_hoc.workload,
    }
    if rates:
        found["models"] = [
            {"when": {**where, RATE_FACTOR: rate.label}, "model": _open(load, rate.of(capacities.get(key)))}
            for key, where in _places(ad_hoc)
            for rate in rates
        ]
    if load.timeout_ms is not None:
        found["timeouts"] = {"request_ms": load.timeout_ms}
    return found


def _places(ad_hoc: AdHoc) -> list[tuple[tuple[str, str], Fields]]:
    """Each row of each target: its key among the capacities, and its levels."""
    if not ad_hoc.compares:
        return [((row.name, ""), {FACTOR: row.name}) for row in ad_hoc.rows]
    return [
        ((row.name, target.label), {FACTOR: row.name, TARGET_FACTOR: target.label})
        for row in ad_hoc.rows
        for target in ad_hoc.targets
    ]


def _open(load: AdHocLoad, rate_per_s: float) -> Fields:
    spin: Fields = {"spin_us": SPIN_US} if load.precise else {}
    return {"kind": "open", "rate_per_s": rate_per_s, "arrivals": load.arrivals, **spin}


def _phases(load: AdHocLoad, *, capacity: bool) -> Fields:
    if capacity:
        return {"warm_up_s": load.warm_up_s, "measure_s": CAPACITY_S}
    if load.requests is not None and load.rate_per_s is not None:
        return {"warm_up_s": load.warm_up_s, "measure_s": load.requests / load.rate_per_s}
    if load.requests is not None:
        return {"warm_up_s": load.warm_up_s, "measure_s": BRIEFEST_S, "measure_max_s": LONGEST_S}
    measure_s = _usual_s(load) if load.measure_s is None else load.measure_s
    # Rounded up: at 5,000 a second .333 s six times are 10 operations short of what a P99 needs.
    return {"warm_up_s": load.warm_up_s, "measure_s": math.ceil(1e3 * max(LEAST_S, measure_s / load.blocks)) / 1e3}


def _usual_s(load: AdHocLoad) -> float:
    """How long a row is measured where no one says it: at a rate until its P99 has enough operations, within reason."""
    if load.rate_per_s is None:
        return load.usual_s
    return max(load.usual_s, min(P99_LONGEST_S, P99_OPERATIONS / load.rate_per_s))


def _operations(ad_hoc: AdHoc) -> Fields:
    """The operations of all rows, and those that store what they need."""
    operations: list[Fields] = []
    for target in ad_hoc.targets:
        where = {TARGET_FACTOR: target.label} if target.rows else {}
        for row in target.rows:
            operations += [{**one, "when": {FACTOR: row.name, **where}} for one in row.operations]
    loads: list[Fields] = []
    for number, row in enumerate(ad_hoc.rows, start=1):
        if not any(target.rows for target in ad_hoc.targets):
            operations += [{**one, "when": {FACTOR: row.name}} for one in row.operations]
        if row.load is not None:
            name = f"load-{number}"
            operations.append({**row.load, "name": name, "weight": 0})
            loads.append({"operation": name, "when": {FACTOR: row.name}})
    return {"operations": operations, "load": loads}


def _parts(ad_hoc: AdHoc) -> Fields:
    """The servers or services, each for its own conditions where there are two."""
    parts: Fields = {}
    for target in ad_hoc.targets:
        when = {"when": {TARGET_FACTOR: target.label}} if ad_hoc.compares else {}
        parts[target.part] = {**target.settings, **when}
    return {"servers": parts} if ad_hoc.command == "redis" else {"servers": {}, "subjects": parts}


def _design(load: AdHocLoad, *, compares: bool, capacity: bool) -> Fields:
    """Requests are counted in whole trials: a slice ends by the clock."""
    if capacity:
        return {"budget": BUDGET, "table_blocks": CAPACITY_REPEATS, "at_rate": NEVER}
    found: Fields = {
        "budget": load.budget or (COMPARED_BUDGET if compares else BUDGET),
        "table_blocks": load.blocks,
        "at_rate": load.at_rate or NEVER,
        "rounds": "never" if load.requests is not None else "auto",
    }
    return {**found, "slice": load.slice} if load.slice is not None and compares else found


def _comparison(ad_hoc: AdHoc) -> Fields:
    """The second target against the first: rates at full speed, P99 where both have the same rate."""
    a, b = ad_hoc.targets
    at: Fields = {FACTOR: [row.name for row in ad_hoc.rows]}
    paced = ad_hoc.load.rate_per_s is not None or bool(ad_hoc.load.rates)
    if ad_hoc.load.rates:
        at[RATE_FACTOR] = [rate.label for rate in ad_hoc.load.rates]
    one: Fields = {
        "name": "against",
        "question": f"Is {b.label} faster than {a.label}{ad_hoc.load.compared_by}?",
        "between": TARGET_FACTOR,
        "levels": [b.label, a.label],
        "baseline": a.label,
        "at": at,
        "metric": "response_ns.p99" if paced else "goodput_per_s",
    }
    return {"comparisons": [one], "primary_metric": one["metric"]}


def rate_per_s(option: str, text: str) -> float:
    """Requests a second. Raises UserError."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) * _TIMES[match[2]] if match else 0.0
    if not 0 < rate <= MOST_PER_S:
        raise UserError(f"{option} {text}: no rate; write requests a second, for example 5000 or 20k")
    return rate


def rate_levels(option: str, text: str) -> tuple[RateLevel, ...]:
    """The levels of a list or a range, in their order. Raises UserError."""
    levels = [level for part in text.split(",") for level in _part(option, text, part.strip())]
    found = tuple(dict.fromkeys(levels))
    if len({level.label for level in found}) != len(found):
        raise UserError(f"{option} {text}: two rates are nearly the same; leave one of them out")
    if len(found) > LEVELS_MAX:
        raise UserError(f"{option} {text}: {len(found)} rates; write at most {LEVELS_MAX}")
    if len({level.share is None for level in found}) > 1:
        raise UserError(f"{option} {text}: rates and shares of the capacity together; write one kind")
    return found


def _part(option: str, text: str, part: str) -> Sequence[RateLevel]:
    low, dots, high = part.partition("..")
    if not dots:
        return [_level(option, text, low)]
    first, last = _level(option, text, low), _level(option, text, high)
    if (first.share is None) != (last.share is None):
        raise UserError(f"{option} {text}: a rate and a share; write for example 10%..90%, or 1000..9000")
    a, b = (first.share, last.share) if first.share is not None else (first.per_s, last.per_s)
    assert a is not None
    assert b is not None
    if a >= b:
        raise UserError(f"{option} {text}: begins with what it ends with, or more; write for example 10%..90%")
    values = [round(a + (b - a) * place / (STEPS - 1), 6) for place in range(STEPS)]
    return [RateLevel(share=one) if first.share is not None else RateLevel(per_s=one) for one in values]


def _level(option: str, text: str, word: str) -> RateLevel:
    match = _SHARE.fullmatch(word.strip())
    if match is None:
        return RateLevel(per_s=rate_per_s(option, word))
    share = float(match[1]) / 100
    if not 0 < share <= SHARE_MAX:
        raise UserError(f"{option} {text}: {word} is no share of the capacity; write 1% to {SHARE_MAX:.0%}")
    return RateLevel(share=round(share, 6))
