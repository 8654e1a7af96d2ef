"""Makes and measures an ad-hoc load: the parts of an experiment that both commands have in common."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.cli.load import Load, RateLevel
from loadstone.cli.operations import LoadRow, YamlMapping
from loadstone.cli.targets import OTHER, SERVER, SUBJECT
from loadstone.experiment.plan.drive_plan import SPIN_US
from loadstone.experiment.spec.experiment import AA_FACTOR, TWIN_LEVELS
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.experiment.spec.yaml_text import Path
from loadstone.text.language import author_text
from loadstone.text.units import NEVER

FACTOR, TARGET_FACTOR, RATE_FACTOR = "operation", "target", "rate"
LONGEST_S = 3600.0
"""A trial that ends with its requests ends after this at the latest."""
LEAST_S = 0.05
BRIEFEST_S = 0.001
"""Shortest length of what ends with its requests."""
P99_OPERATIONS = 10_400
"""A P99 needs 10,000; Poisson arrivals vary by some hundreds."""
P99_LONGEST_S = 25.0
"""J: a row at a low rate is not measured for longer than that to get a P99."""
BUDGET, COMPARED_BUDGET = "1 h", "55 s"
"""A table ends when it is measured; a comparison when it is decided, and at the latest then."""
CAPACITY_REPEATS, CAPACITY_S = 2, 0.5
"""Number and length of the measurements of full speed, of which rates are shares."""
Capacities = Mapping[tuple[str, str], float]
"""Row and target -> requests a second at full speed; without `--against` the target is empty."""

GIVEN: Mapping[Path, str] = {
    ("workload", "threads"): "--threads",
    ("workload", "pipeline_depth"): "--pipeline",
    ("workload", "pool"): "--connections",
    ("workload", "keys", "count"): "--keys",
    ("workload", "keys", "zipf_exponent"): "--zipf",
    ("workload", "keys", "gaussian_sd"): "--key-stddev",
    ("workload", "documents"): "--data-size",
    ("workload", "documents", "content"): "--data",
    ("workload", "data"): "--documents",
    ("workload", "recording"): "--replay, --speed",
    ("workload", "receivers"): "--subscribers, --consumers",
    ("workload", "operations"): "what is sent",
    ("workload", "operations", 0, "requests", 0, "expect", "contains"): "--expect-text",
    ("workload", "phases"): "--requests, --duration, --warm-up",
    ("workload", "model"): "--connections, --rate",
    ("workload", "model", "think_time_ms"): "--think",
    ("workload", "models"): "--rates",
    ("workload", "timeouts"): "--timeout",
    ("workload", "driver"): "--base, --head",
    ("design", "budget"): "--budget",
    ("design", "at_rate"): "--at-rate",
    ("design", "slice"): "--slice",
    ("servers", SERVER): "URL",
    ("servers", OTHER): "--against",
    ("subjects", SUBJECT, "url"): "URL",
    ("subjects", OTHER, "url"): "--against",
}
"""Where each option stands in an experiment."""


@dataclass(frozen=True)
class Target:
    """One server or service that gets the load."""

    label: str
    """As the table calls it."""
    part: str
    """Its name among the servers or services."""
    settings: YamlMapping
    rows: tuple[LoadRow, ...] = ()
    """What it gets, where that differs between the targets."""
    driver: str = ""
    """What makes its load; empty: the native engine."""


@dataclass(frozen=True)
class AdHocLoad:
    """Everything that makes an ad-hoc experiment."""

    command: str
    """As it is typed: `redis`."""
    question: str
    load: Load
    targets: tuple[Target, ...]
    """One, or the two that are compared."""
    rows: tuple[LoadRow, ...]
    workload: YamlMapping
    """What only this protocol has: `protocol`, `keys`, `documents`..."""
    columns: tuple[str, ...]
    description: str = ""
    trial: str | None = None
    """How long a trial is that is compared, where trials are whole; None: by the rule."""
    twin: bool = False
    """Whether the first target is compared with another start of itself, too."""
    compared_by: "Callable[[AdHocLoad], YamlMapping] | None" = None
    """What the experiment has in place of the usual comparison of its targets; None: that."""

    @property
    def compares(self) -> bool:
        """Whether two targets are compared."""
        return len(self.targets) > 1

    @property
    def of_drivers(self) -> bool:
        """Whether the targets are client libraries, which load one server."""
        return any(target.driver for target in self.targets)


def ad_hoc_source(ad_hoc: AdHocLoad, capacities: Capacities | None = None) -> ExperimentSource:
    """The experiment as if someone had written it; what is wrong in it is said of the option.

    `capacities`: what rates are shares of. None: the experiment that measures them, where some are.
    """
    measures_capacity = ad_hoc.load.needs_capacity and capacities is None
    experiment = _experiment(ad_hoc, {} if capacities is None else capacities, capacity=measures_capacity)
    return ExperimentSource(label=f"loadstone {ad_hoc.command}", data=experiment, given=GIVEN)


def _experiment(ad_hoc: AdHocLoad, capacities: Capacities, *, capacity: bool) -> YamlMapping:
    load = ad_hoc.load
    rates = () if capacity else load.rates
    names = [row.name for row in ad_hoc.rows]
    factors: YamlMapping = {FACTOR: {"title": author_text("Operation"), "levels": names}}
    vary: YamlMapping = {FACTOR: names}
    if ad_hoc.compares:
        labels = [target.label for target in ad_hoc.targets]
        factors[TARGET_FACTOR] = {"title": author_text("Target"), "levels": labels}
        if ad_hoc.of_drivers:
            factors[TARGET_FACTOR]["values"] = {one.label: {"driver": one.driver} for one in ad_hoc.targets}
        vary = {TARGET_FACTOR: labels, **vary}
    if ad_hoc.twin:
        factors[AA_FACTOR] = {"levels": list(TWIN_LEVELS), "alike": True}
    if rates:
        labels = [rate.label for rate in rates]
        factors[RATE_FACTOR] = {"title": author_text("Rate"), "levels": labels}
        vary[RATE_FACTOR] = labels
    table = {"name": "results", "title": author_text("Results"), "vary": vary, "columns": list(ad_hoc.columns)}
    experiment: YamlMapping = {
        "format": 1,
        "name": ad_hoc.command,
        "question": ad_hoc.question,
        "description": ad_hoc.description,
        "factors": factors,
        "tables": [table],
        "workload": _workload(ad_hoc, rates, capacities, capacity=capacity),
        "design": _design(ad_hoc, compares=ad_hoc.compares and not capacity, capacity=capacity),
        **_parts(ad_hoc),
    }
    if capacity or not ad_hoc.compares:
        return experiment
    return {**experiment, **(ad_hoc.compared_by or _comparison)(ad_hoc)}


def _workload(ad_hoc: AdHocLoad, rates: Sequence[RateLevel], capacities: Capacities, *, capacity: bool) -> YamlMapping:
    load = ad_hoc.load
    paced = load.rate_per_s is not None and not capacity
    closed: YamlMapping = {"kind": "closed", "users": load.users}
    if load.requests is not None:
        users = min(load.users, load.requests)
        each, more = divmod(load.requests, users)
        closed |= {"users": users, "operations_per_user": each, "operations_more": more}
    if load.think_ms is not None:
        closed["think_time_ms"] = load.think_ms
    workload: YamlMapping = {
        "model": _open(load, load.rate_per_s or 0.0) if paced else closed,
        "pool": {"connections": load.users},
        "threads": load.threads or "auto",
        "phases": _phases(load, capacity=capacity),
        **_operations(ad_hoc),
        **ad_hoc.workload,
    }
    if rates:
        workload["models"] = [
            {"when": {**where, RATE_FACTOR: rate.label}, "model": _open(load, rate.of(capacities.get(key)))}
            for key, where in _places(ad_hoc)
            for rate in rates
        ]
    if ad_hoc.of_drivers:
        workload["driver"] = f"${{{TARGET_FACTOR}.driver}}"
    if load.timeout_ms is not None:
        workload["timeouts"] = {"request_ms": load.timeout_ms}
    return workload


def _places(ad_hoc: AdHocLoad) -> list[tuple[tuple[str, str], YamlMapping]]:
    """Each row of each target: its key among the capacities, and its levels."""
    if not ad_hoc.compares:
        return [((row.name, ""), {FACTOR: row.name}) for row in ad_hoc.rows]
    return [
        ((row.name, target.label), {FACTOR: row.name, TARGET_FACTOR: target.label})
        for row in ad_hoc.rows
        for target in ad_hoc.targets
    ]


def _open(load: Load, rate_per_s: float) -> YamlMapping:
    spin: YamlMapping = {"spin_us": SPIN_US} if load.precise else {}
    return {"kind": "open", "rate_per_s": rate_per_s, "arrivals": load.arrivals, **spin}


def _phases(load: Load, *, capacity: bool) -> YamlMapping:
    if capacity:
        return {"warm_up_s": load.cut_off_s, "measure_s": CAPACITY_S}
    if load.requests is not None and load.rate_per_s is not None:
        return {"warm_up_s": load.cut_off_s, "measure_s": load.requests / load.rate_per_s}
    if load.requests is not None:
        return {"warm_up_s": load.cut_off_s, "measure_s": BRIEFEST_S, "measure_max_s": LONGEST_S}
    measure_s = _usual_s(load) if load.measure_s is None else load.measure_s
    # Rounded up: at 5,000 a second .333 s six times are 10 operations short of what a P99 needs.
    return {"warm_up_s": load.cut_off_s, "measure_s": math.ceil(1e3 * max(LEAST_S, measure_s / load.blocks)) / 1e3}


def _usual_s(load: Load) -> float:
    """Return how long a row is measured where no one says it: at a rate until its P99 has enough operations, within
    reason."""
    if load.rate_per_s is None:
        return load.usual_s
    return max(load.usual_s, min(P99_LONGEST_S, P99_OPERATIONS / load.rate_per_s))


def _operations(ad_hoc: AdHocLoad) -> YamlMapping:
    """The operations of all rows, and those that store what they need."""
    operations: list[YamlMapping] = []
    for target in ad_hoc.targets:
        where = {TARGET_FACTOR: target.label} if target.rows else {}
        for row in target.rows:
            operations += [{**operation, "when": {FACTOR: row.name, **where}} for operation in row.operations]
    loads: list[YamlMapping] = []
    for number, row in enumerate(ad_hoc.rows, start=1):
        if not any(target.rows for target in ad_hoc.targets):
            operations += [{**operation, "when": {FACTOR: row.name}} for operation in row.operations]
        if row.load is not None:
            name = f"load-{number}"
            operations.append({**row.load, "name": name, "weight": 0})
            loads.append({"operation": name, "when": {FACTOR: row.name}})
    return {"operations": operations, "load": loads}


def _parts(ad_hoc: AdHocLoad) -> YamlMapping:
    """The servers or services, each for its own conditions where there are two."""
    parts: YamlMapping = {}
    if ad_hoc.of_drivers:
        return {"servers": {target.part: target.settings for target in ad_hoc.targets}}
    for target in ad_hoc.targets:
        when: YamlMapping = {TARGET_FACTOR: target.label} if ad_hoc.compares else {}
        if ad_hoc.twin and target is ad_hoc.targets[0]:
            parts[f"{target.part}-{AA_FACTOR}"] = {**target.settings, "when": {**when, AA_FACTOR: TWIN_LEVELS[1]}}
            when |= {AA_FACTOR: TWIN_LEVELS[0]}
        parts[target.part] = {**target.settings, **({"when": when} if when else {})}
    return {"servers": {}, "subjects": parts} if ad_hoc.workload["protocol"] == "http1" else {"servers": parts}


def _design(ad_hoc: AdHocLoad, *, compares: bool, capacity: bool) -> YamlMapping:
    """Requests are counted in whole trials: a slice ends by the clock."""
    load = ad_hoc.load
    if capacity:
        return {"budget": BUDGET, "table_blocks": CAPACITY_REPEATS, "at_rate": NEVER}
    design: YamlMapping = {
        "budget": load.budget or (COMPARED_BUDGET if compares else BUDGET),
        "table_blocks": load.blocks,
        "at_rate": load.at_rate or NEVER,
        "rounds": "never" if load.requests is not None else "auto",
    }
    if ad_hoc.trial is not None:
        design["trial"] = ad_hoc.trial
    return {**design, "slice": load.slice} if load.slice is not None and compares else design


def _comparison(ad_hoc: AdHocLoad) -> YamlMapping:
    """The second target against the first: rates at full speed, P99 where both have the same rate."""
    a, b = ad_hoc.targets
    at: YamlMapping = {FACTOR: [row.name for row in ad_hoc.rows]}
    paced = ad_hoc.load.rate_per_s is not None or bool(ad_hoc.load.rates)
    if ad_hoc.load.rates:
        at[RATE_FACTOR] = [rate.label for rate in ad_hoc.load.rates]
    comparison: YamlMapping = {
        "name": "against",
        "question": ad_hoc.load.faster(b.label, a.label),
        "between": TARGET_FACTOR,
        "levels": [b.label, a.label],
        "baseline": a.label,
        "at": at,
        "metric": "response_ns.p99" if paced else "goodput_per_s",
    }
    return {"comparisons": [comparison], "primary_metric": comparison["metric"]}
