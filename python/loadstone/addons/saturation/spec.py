"""Where each condition saturates: how that is looked for, with the objective and the ramp as they are written."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from loadstone.experiment.action import fields
from loadstone.experiment.spec.consistency import may_be_a_slice
from loadstone.experiment.spec.consistency_of_parts import check_levels_once
from loadstone.experiment.spec.experiment import AddOnPart, Experiment, LoadSearch
from loadstone.experiment.spec.levels import Level
from loadstone.experiment.spec.part import Duration, Margin, PlanPart, readable_by
from loadstone.text.message import said
from loadstone.text.problem import Problem
from loadstone.text.units import LATENCY_NS, duration_s, margin_share, unit_written
from loadstone.text.wording import shown

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p99.9": 0.999}
_TEXT = re.compile(
    r"\s*([a-z0-9.]{1,8})\s*(<=|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([a-z\u00b5\u03bc]{1,3})\s*", re.ASCII
)
_EXAMPLE = said("write for example 'p99 < 10 ms'; quantiles are p50, p90, p95, p99 and p99.9")


@dataclass(frozen=True)
class LatencyObjective:
    """A quantile of the response time, and what it may be at most."""

    text: str
    """`p99 < 10 ms`."""
    quantile: float
    """0.99."""
    latency_s: float


def latency_objective(value: object) -> LatencyObjective:
    """The objective that a text states. Raises ValueError that quotes it and says what helps."""
    match = _TEXT.fullmatch(value.lower()) if isinstance(value, str) else None
    if match is None:
        raise Problem("{value} is no objective; {example}", value=shown(value), example=_EXAMPLE)
    name, operator, digits, word = match.groups()
    unit = unit_written(word)
    if name not in _QUANTILES:
        raise Problem("'{name}' is no quantile of the response time; {example}", name=name, example=_EXAMPLE)
    if unit not in LATENCY_NS:
        raise Problem("'{unit}' is no unit of time; {example}", unit=unit, example=_EXAMPLE)
    latency_s = float(Fraction(digits) * LATENCY_NS[unit] / 10**9)
    if latency_s <= 0:
        raise Problem("{value}: a response time must be more than 0; {example}", value=shown(value), example=_EXAMPLE)
    text = f"{name.replace('p999', 'p99.9')} {operator} {digits} {unit}"
    return LatencyObjective(text, _QUANTILES[name], latency_s)


_RAMP = re.compile(r"\s*([0-9][0-9,_]{0,9})\s*(?:v?users)?\s+over\s+(.+?)\s*", re.IGNORECASE | re.ASCII)
_RAMP_EXAMPLE = said("write for example '1000 over 10 min'")
RAMP_USERS_MIN, RAMP_USERS_MAX = 5, 65_536
"""Bounds of a ramp's users: with fewer a chart has no shape."""


@dataclass(frozen=True)
class Ramp:
    """Number of users, who are added step by step over a time."""

    users: int
    seconds: float


def ramp_of(value: object) -> Ramp:
    """The ramp that a text states. Raises ValueError that quotes it and says what helps."""
    match = _RAMP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise Problem("{value} is no ramp; {ramp_example}", value=shown(value), ramp_example=_RAMP_EXAMPLE)
    users = int(re.sub(r"[,_]", "", match[1]))
    if not RAMP_USERS_MIN <= users <= RAMP_USERS_MAX:
        raise Problem(
            "{users} is no number of users of a ramp; write {ramp_users_min} to {ramp_users_max}",
            users=users,
            ramp_users_min=RAMP_USERS_MIN,
            ramp_users_max=RAMP_USERS_MAX,
        )
    return Ramp(users, duration_s(match[2]))


SATURATE = "saturate"
SATURATION_GROUP = "saturation"
"""The group of trials that search for a saturation point. No comparison is called so."""
USERS_MAX = 65_536
SWEEPS_MIN, SWEEPS_MAX = 6, 100
"""Fewer sweeps have no 95 % interval."""
ObjectiveText = Annotated[str, readable_by(latency_objective)]
"""A quantile of the response time and its limit (`p99 < 10 ms`); `latency_objective` reads it."""
RampText = Annotated[str, readable_by(ramp_of)]
"""Users and a time (`1000 over 10 min`); `ramp_of` reads it."""


QUICK_RAMP_S = 60.0
SaturationPhase = Literal["search", "sweep", "locate", "bisect", "ramp"]
"""search: users are doubled. sweep: every level of users, in random order. locate: the first bisection of the open
model. bisect: one around the located rate. ramp: users are added step by step, as load tools do it."""


class SaturationSettings(PlanPart):
    """See `addons.saturation.spec.Saturate`."""

    model: Literal["closed", "open"]
    users_max: int
    sweeps: int
    """The fewest."""
    sweeps_max: int
    precision: float
    """The interval is to reach no further to either side, as a share; sweeps go on until then."""
    objective: str | None
    slice_s: float | None
    trial_s: float | None
    rounds: bool
    """Whether levels take turns in rounds of slices where they can."""
    ramp: str | None = None
    """A classical ramp that is driven beside it."""
    quick: bool
    """Every second level, shorter slices, and no more than the fewest sweeps."""

    @property
    def classical(self) -> Ramp | None:
        """The ramp; of a quick run at most `QUICK_RAMP_S` long."""
        ramp = None if self.ramp is None else ramp_of(self.ramp)
        if ramp is None or not self.quick:
            return ramp
        return Ramp(ramp.users, min(ramp.seconds, QUICK_RAMP_S))

    @property
    def required(self) -> LatencyObjective | None:
        """What the load must keep."""
        return None if self.objective is None else latency_objective(self.objective)


class SaturationStep(PlanPart):
    """One trial of it."""

    phase: SaturationPhase
    users: int | None = None
    """Number of users in the closed model."""
    rate_per_s: float | None = None
    """Rate in the open model."""
    number: int = 1
    """search, locate: which step it is. sweep: the first sweep that the trial holds a part of. bisect: which block."""
    rounds_a_sweep: int = 0
    """Rounds of a level that make one sweep; 0: the whole trial is of one sweep."""


def _places(noted: Mapping[str, Any]) -> Iterable[tuple[object, ...]]:
    """A level is measured so often at most, and a sweep has so many levels."""
    step = SaturationStep.model_validate(noted)
    return (("level", step.users, step.rate_per_s), ("sweep", step.phase, step.number))


SEARCH = LoadSearch(SATURATION_GROUP, SaturationSettings, SaturationStep, _places)


class Saturate(AddOnPart):
    """Settings of the search for a condition's saturation point.

    closed: users are doubled until more of them bring no more; then a grid of numbers of users is measured in sweeps,
    each of which has every number once, in random order. Think time is that of the workload's model. open: the highest
    rate that keeps the objective is located by bisection, then bracketed again and again around it.
    """

    AFTER: ClassVar[str] = "workload"
    WORD: ClassVar[str | None] = SATURATE
    SEARCH: ClassVar[LoadSearch] = SEARCH
    REPLACES_LOAD: ClassVar[bool] = True
    HARMLESS = fields("model users_max sweeps sweeps_max precision objective slice trial rounds ramp vary quick")

    model: Literal["closed", "open"] = "closed"
    users_max: int = Field(default=4096, ge=1, le=USERS_MAX)
    """The most users that are tried."""
    sweeps: int = Field(default=SWEEPS_MIN, ge=SWEEPS_MIN, le=SWEEPS_MAX)
    """The fewest sweeps. More follow, within the budget, until the interval is narrow enough."""
    sweeps_max: int = Field(default=24, ge=SWEEPS_MIN, le=SWEEPS_MAX)
    """The most sweeps."""
    precision: Margin = "10 %"
    """The interval of the saturation point is to be no wider than so much to either side."""
    objective: ObjectiveText | None = None
    """What the load must keep, e.g. `p99 < 10 ms`. The open model needs one; the closed one says how far it is met."""
    slice: Duration | None = None
    """How long a slice is; None: 100 ms, behind an application 1.2 s, and longer where responses are slow."""
    trial: Duration | None = None
    """How long a trial is measured: each step of the search, each level where slices would not do, and each rate of
    the open model. None: 1 s and 2 s of a server, 2 s and 5 s behind an application, of a rate as long as its queue
    takes to settle."""
    rounds: Literal["auto", "never"] = "auto"
    """auto: the levels take turns in rounds of slices where they can; never: each is a whole trial."""

    ramp: RampText | None = None
    """A classical ramp beside it, as `1000 over 10 min`: users are added step by step, once, and never taken away."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Saturate":
        if self.model == "open" and self.objective is None:
            raise Problem("the open model needs an objective that a rate must keep; write objective: 'p99 < 10 ms'")
        if self.sweeps_max < self.sweeps:
            raise Problem(
                "sweeps_max {sweeps_max} is less than sweeps {sweeps}; write at least as many",
                sweeps_max=self.sweeps_max,
                sweeps=self.sweeps,
            )
        return self

    @classmethod
    def annotation(cls) -> Any:
        """The word alone, too."""
        return Load

    def check(self, experiment: Experiment, key: str) -> None:
        """What is measured by where it saturates has no other load, and so nothing to compare. Raises UserError."""
        error = experiment.source.error
        if experiment.part(SaturationSpec) is not None:
            raise error(("saturation",), said("load: saturate is for all tables already; leave one of them out"))
        if experiment.comparisons:
            remedy = said("write `saturation: {{vary: ...}}` in place of `load`, or leave the comparisons out")
            raise error((key,), said("comparisons need the load of workload.model; {remedy}", remedy=remedy))
        self._check_slice(experiment, key)

    def _check_slice(self, experiment: Experiment, key: str) -> None:
        if not may_be_a_slice(self.slice):
            problem = said(
                "{slice} is no length of a slice; write 20 ms to 60 s, or leave it out", slice=shown(self.slice)
            )
            raise experiment.source.error((key, "slice"), problem)


class SaturationSpec(Saturate):
    """The saturation point of some conditions, beside all that the experiment measures otherwise."""

    WORD: ClassVar[str | None] = None
    REPLACES_LOAD: ClassVar[bool] = False

    vary: dict[str, tuple[Level, ...]]
    """As a table's: the product, other factors at default."""
    quick: bool = True
    """Whether `--quick` looks for it too."""

    @classmethod
    def annotation(cls) -> Any:
        """Only with the conditions that are meant."""
        return cls | None

    @property
    def varied(self) -> Mapping[str, tuple[Level, ...]]:
        """Levels of the conditions whose saturation point is searched for."""
        return self.vary

    def check(self, experiment: Experiment, key: str) -> None:
        """Its slices may be so long, and its levels are there. Raises UserError."""
        self._check_slice(experiment, key)
        for factor, levels in self.vary.items():
            check_levels_once(experiment, (key, "vary", factor), factor, levels)


def _in_short(value: object) -> object:
    """The word alone stands for all defaults."""
    if value == SATURATE:
        return {}
    if isinstance(value, str):
        problem = said(
            "'{value}' is no load; write saturate, or a mapping as {{model: closed, users_max: 1000}}", value=value
        )
        raise ValueError(problem)  # noqa: TRY004 (what pydantic reports)
    return value


Load = Annotated[
    Saturate | None, BeforeValidator(_in_short, json_schema_input_type=Literal["saturate"] | Saturate | None)
]
"""`saturate`, or how that is done; None: the load that the workload describes."""


def settings_of(spec: Saturate, *, quick: bool) -> SaturationSettings:
    """The settings of a mode."""
    sweeps = SWEEPS_MIN if quick else spec.sweeps
    return SaturationSettings(
        model=spec.model,
        users_max=spec.users_max,
        sweeps=sweeps,
        sweeps_max=sweeps if quick else spec.sweeps_max,
        precision=margin_share(spec.precision),
        objective=spec.objective,
        slice_s=None if spec.slice is None else duration_s(spec.slice),
        trial_s=None if spec.trial is None else duration_s(spec.trial),
        rounds=spec.rounds == "auto",
        ramp=spec.ramp,
        quick=quick,
    )
