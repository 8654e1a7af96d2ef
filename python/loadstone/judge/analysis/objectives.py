"""Objectives for CI: `--fail-if 'p99 > 5ms'`. An objective says what must not be; what cannot be judged misses it."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, cast

from loadstone.experiment.spec.levels import Level, identity, level_text
from loadstone.judge.analysis.analysis import Analysis, AtRate, Comparison, ConditionFigures, Row, printed_ns
from loadstone.judge.metrics import figure, is_rate
from loadstone.judge.verdict import COST, CpuCost, Verdict, cost_of_all, cost_of_part
from loadstone.run_folder.facts import DRIVER
from loadstone.safety.errors import UserError
from loadstone.slot import Slot
from loadstone.text.message import AnyText, Message, message, said
from loadstone.text.units import LATENCY_NS, parse_any, unit_written


class AnsweredFigure(ABC):
    """A figure that add-ons answer, as `--fail-if` names it, in units of its own."""

    units: ClassVar[Mapping[str, float]]
    """Units in which it may be written; the empty one is its own."""
    of_users: ClassVar[bool] = False
    """Whether it counts users; else it is one a second."""
    example: ClassVar[str]

    @abstractmethod
    def no_ratio(self, objective: str) -> UserError:
        """That an objective is about its ratio."""

    @abstractmethod
    def not_asked(self, objective: str) -> UserError:
        """That an objective is about it, and the run does not ask for it."""

    @abstractmethod
    def nothing_else(self, objective: str) -> UserError:
        """That an objective is about another figure, and the run has only this one."""


FIGURES: Slot[type[AnsweredFigure]] = Slot(
    "objective_figures", lambda: (*_RATES, *_QUANTILES, _ERRORS, "cpu", "service")
)
"""Those of add-ons by their names; answers have them in `Answer.condition_figures`."""
_Operator = Literal[">", ">=", "<", "<="]
_ERRORS = "errors"
"""The share of failed operations, the one metric of an objective that no experiment can compare."""
_LATENCIES = ("response_ns", "service_ns")
"""Latencies that an objective means at the fixed rate, where a row was measured at one, too: at full speed latency is
users / throughput."""
_COMPARE: dict[_Operator, Callable[[float, float], bool]] = {
    ">": lambda found, limit: found > limit,
    ">=": lambda found, limit: found >= limit,
    "<": lambda found, limit: found < limit,
    "<=": lambda found, limit: found <= limit,
}
_RATES: Mapping[str, str] = {"goodput": "goodput_per_s", "tps": "throughput_per_s", "peak": "peak_per_s"}
_QUANTILES: tuple[str, ...] = ("p50", "p90", "p95", "p99", "p999", "mean", "max")
_RATE_UNITS = {"": 1.0, "/s": 1.0, "k": 1e3, "k/s": 1e3}
_TEXT = re.compile(
    r"\s*(.*?)\s*(>=|<=|>|<)\s*([+-]?)\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([^\s0-9]*)\s*(?:\swhere\s+(.+))?"
)


def _grammar() -> AnyText:
    """What an objective may be."""
    known = {"quantiles": ", ".join(_QUANTILES), "rates": ", ".join(_RATES), "errors": _ERRORS}
    if not FIGURES.names():
        return said(
            "write METRIC OP VALUE [where FACTOR=LEVEL,...], for example 'p99 > 5ms'; metrics are {quantiles} "
            "(response time), 'service p99' and so on, {rates}, {errors}, cpu (CPU per request of all parts) and 'cpu "
            "PART'; OP is one of > >= < <=",
            **known,
        )
    return said(
        "write METRIC OP VALUE [where FACTOR=LEVEL,...], for example 'p99 > 5ms'; metrics are {quantiles} (response "
        "time), 'service p99' and so on, {rates}, {errors}, cpu (CPU per request of all parts) and 'cpu PART', and of "
        "a saturation point {points}; OP is one of > >= < <=",
        **known,
        points=", ".join(FIGURES.names()),
    )


@dataclass(frozen=True)
class FailIfObjective:
    """What must not be. `value` is in ns, a second, users, or a share; of a relative objective B / A less one."""

    text: str
    """As the user wrote it."""
    metric: str
    """Metric of `experiment.spec.experiment.METRICS`, or `errors`, or a figure of `FIGURES`."""
    operator: _Operator
    value: float
    relative: bool
    """Whether it is about B against A (`goodput < -5%`) instead of one condition."""
    where: tuple[tuple[str, str], ...]
    """Factor and the text of a level: only conditions that have them all count."""

    @property
    def of_point(self) -> bool:
        """Whether it is about a figure that an add-on answers."""
        return self.metric in FIGURES.names()

    def broken(self, found: float) -> bool:
        """Whether a figure is what must not be."""
        return _COMPARE[self.operator](found, self.value)

    def is_about(self, condition: Mapping[str, Level]) -> bool:
        """Whether the objective is about this condition."""
        return all(name in condition and _means(word, condition[name]) for name, word in self.where)


def parse_objective(text: str) -> FailIfObjective:
    """The objective that a text states. Raises UserError with the grammar and an example."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UserError("--fail-if '{text}': is no objective; {grammar}", text=text, grammar=_grammar())
    name, operator, sign, digits, unit, where = match.groups()
    metric = metric_of(name)
    if metric is None:
        raise UserError(
            "--fail-if '{text}': there is no metric '{name}'; {grammar}", text=text, name=name, grammar=_grammar()
        )
    relative = unit == "%" and (metric != _ERRORS or bool(sign))
    if relative and metric == _ERRORS:
        raise UserError(
            "--fail-if '{text}': errors have no ratio, they may be 0; write for example 'errors > 0.1%'", text=text
        )
    if relative and (answered := FIGURES.get(metric)) is not None:
        raise answered().no_ratio(text)
    value = float(digits) * (-1 if sign == "-" else 1)
    return FailIfObjective(
        text=" ".join(text.split()),
        metric=metric,
        operator=cast(_Operator, operator),
        value=value / 100 if relative else _value(text, metric, value, sign, unit),
        relative=relative,
        where=tuple(_where(text, where)) if where else (),
    )


def metric_of(name: str) -> str | None:
    """The metric that a short name means: `p99` is `response_ns.p99`, `service p99` `service_ns.p99`; None if none.

    `errors` and what add-ons answer mean themselves; `cpu redis` is what a request costs that part, and
    `cpu` what it costs all of them.
    """
    first, _, part = name.strip().partition(" ")
    if first.lower() == "cpu":
        return f"{COST}{part.strip()}"
    kind, _, quantile = name.strip().lower().replace(" ", "_").replace("p99.9", "p999").rpartition("_")
    if kind in ("", "service", "response") and quantile in _QUANTILES:
        return f"{kind or 'response'}_ns.{quantile}"
    word = name.strip().lower()
    return _RATES.get(word) or (word if word == _ERRORS or word in FIGURES.names() else None)


def _value(text: str, metric: str, value: float, sign: str, unit: str) -> float:
    """An absolute value in ns, a second, users, or a share. Raises UserError if the unit does not fit the metric."""
    units: Mapping[str, float | Fraction]
    if sign:
        raise UserError(
            "--fail-if '{text}': a value with a sign is a ratio of B to A; write it in %, as -5%", text=text
        )
    if metric == _ERRORS:
        units, example = {"%": 0.01}, "errors > 1%"
    elif (answered := FIGURES.get(metric)) is not None:
        units, example = answered.units, answered.example
    elif metric in _RATES.values():
        units, example = _RATE_UNITS, "goodput < 50k/s"
    else:
        units, example = LATENCY_NS, "p99 > 5ms"
        unit = unit_written(unit)
    if unit not in units:
        known = ", ".join(unit for unit in units if unit)
        problem = said("the value has the unit '{unit}'", unit=unit) if unit else said("the value has no unit")
        raise UserError(
            "--fail-if '{text}': {problem}; units here are {known}, for example '{example}'",
            text=text,
            problem=problem,
            known=known,
            example=example,
        )
    return float(value * units[unit])


def _where(text: str, where: str) -> Iterator[tuple[str, str]]:
    for part in where.split(","):
        name, equals, level = (word.strip() for word in part.partition("="))
        if not (name and equals and level):
            raise UserError(
                "--fail-if '{text}': '{part}' is no condition; write where FACTOR=LEVEL,...",
                text=text,
                part=part.strip(),
            )
        yield name, level


def _means(word: str, level: Level) -> bool:
    """Whether a word is a level's text, or the same quantity (`1kB`, `1000 B`)."""
    text = level_text(level)
    return word == text or (parse_any(word) is not None and parse_any(word) == parse_any(text))


def require_absolute(objectives: Iterable[FailIfObjective]) -> None:
    """Refuse objectives that need two conditions. Raises UserError."""
    for objective in objectives:
        if objective.relative:
            raise UserError(
                "--fail-if '{objective_text}': is about B against A; use it with `loadstone compare`, or write a "
                "figure with its unit, for example 'goodput < 50k/s'",
                objective_text=objective.text,
            )


def require_relative(objectives: Iterable[FailIfObjective]) -> None:
    """Refuse objectives about single conditions. Raises UserError."""
    for objective in objectives:
        if not objective.relative:
            raise UserError(
                "--fail-if '{objective_text}': is about a single condition; use it with `loadstone run`, or "
                "write B against A in %, for example 'goodput < -5%'",
                objective_text=objective.text,
            )


def require_measured(objectives: Iterable[FailIfObjective], *, rows: bool, points: bool) -> None:
    """Refuse objectives about what a run will not have: `rows` of tables, `points` that add-ons answer.

    Raises:
        UserError: it will not have what an objective is about.
    """
    for objective in objectives:
        answered = FIGURES.get(objective.metric)
        if answered is not None and not points:
            raise answered().not_asked(objective.text)
        if answered is None and points and not rows and not objective.metric.startswith(COST):
            _, only = next(FIGURES.items())
            raise only().nothing_else(objective.text)


def missed(objectives: Sequence[FailIfObjective], analysis: Analysis) -> list[Message]:
    """A line for each objective and condition that misses it, or cannot be judged; empty if all are kept.

    Raises:
        UserError: an objective is relative: it needs a comparison.
    """
    require_absolute(objectives)
    rows = {identity(row.condition): row for table in analysis.tables for row in table.rows}
    lines = []
    for objective in objectives:
        if objective.of_point:
            points = [one for one in _points(objective, analysis) if objective.metric in one.figures]
            found = [_missed_by_point(objective, point) for point in points]
        else:
            found = [_missed_by(objective, row) for row in rows.values() if objective.is_about(row.condition)]
            if objective.metric.startswith(COST) and not rows:
                found = [_missed_by_cost(objective, point) for point in _points(objective, analysis)]
        lines += [line for line in found if line is not None]
        if not found:
            lines.append(_about_nothing(objective, "point" if objective.of_point else "condition"))
    return lines


def _points(objective: FailIfObjective, analysis: Analysis) -> list[ConditionFigures]:
    """What add-ons answered of the conditions that an objective is about."""
    every = (one for answer in analysis.parts.values() for one in answer.condition_figures())
    return [one for one in every if objective.is_about(one.condition)]


def missed_ratios(objectives: Sequence[FailIfObjective], comparisons: Sequence[Comparison]) -> list[Message]:
    """Return the missed relative objectives, by the comparisons.

    An objective is missed where the whole interval is what must not be. Where only a part of it is, or where
    there is none, the data cannot decide. An objective is kept where the whole interval keeps it.
    """
    lines = []
    for objective in objectives:
        about = [comparison for comparison in comparisons if _is_about_both(objective, comparison.primary)]
        lines += [line for one in about if (line := _missed_between(objective, one))]
        if not about:
            lines.append(_about_nothing(objective, "comparison"))
    return lines


def _about_nothing(objective: FailIfObjective, what: Literal["condition", "comparison", "point"]) -> Message:
    where = [f"{name}={word}" for name, word in objective.where]
    return message("objective_nothing", objective=objective.text, what=what, where=where)


def _missed_by(objective: FailIfObjective, row: Row) -> Message | None:
    """The line about one condition; None if it keeps the objective."""
    name = row.label or _levels(row.condition)
    text, metric = objective.text, objective.metric
    if metric.partition(".")[0] in _LATENCIES and (at_rate := _fixed_rate(row)) is not None:
        return _missed_at_rate(objective, name, at_rate)
    if row.verdict == "missing":
        return message("objective_not_measured", name=name, objective=text, reasons=row.reasons)
    if row.verdict == "invalid":
        return message("objective_no_trial", name=name, objective=text, reasons=row.reasons)
    found = _figure_of(row, metric)
    if found is None:
        why = row.unmeasurable.get(metric.partition(".")[2])
        if why is None:
            return _no_figure(objective, name, row.costs)
        return message("objective_quantile_unmeasurable", name=name, objective=text, why=why)
    if not objective.broken(found):
        return None
    if (why := _may_be_ours(objective, row, found) or _does_not_repeat(objective, row)) is not None:
        return message("objective_quantile_unmeasurable", name=name, objective=text, why=why)
    suspect = (row.verdict == "suspect" and not metric.startswith(COST)) or _is_doubted(objective, row)
    if metric == _ERRORS:
        return message("objective_missed_errors", name=name, objective=text, failed_share=found, suspect=suspect)
    low, high = row.interval(metric) or (None, None)
    return message(
        "objective_missed",
        name=name,
        objective=text,
        metric=metric,
        value=_printed(objective, row, found),
        low=low,
        high=high,
        suspect=suspect,
    )


def _no_figure(objective: FailIfObjective, name: str, costs: Mapping[str, CpuCost]) -> Message:
    """That there is none; of a cost with the parts that have one."""
    parts = ["client" if part == DRIVER else part for part in costs] if objective.metric.startswith(COST) else []
    return message("objective_no_figure", name=name, objective=objective.text, parts=parts)


def _missed_by_point(objective: FailIfObjective, answer: ConditionFigures) -> Message | None:
    """The line about a figure that an add-on answered, by its whole interval; None if it keeps the objective."""
    name, text = answer.label or _levels(answer.condition), objective.text
    known, kind = answer.figures[objective.metric], FIGURES.get(objective.metric)
    if isinstance(known, Message):
        return message("objective_no_point", name=name, objective=text, why=known)
    broken = [objective.broken(end) for end in (known.low, known.high)]
    found = {"figures": known.figures, "least": known.low, "of_users": kind is not None and kind.of_users}
    if all(broken):
        return message("objective_missed_point", name=name, objective=text, **found)
    return message("objective_beyond_point", name=name, objective=text, **found) if any(broken) else None


def _missed_by_cost(objective: FailIfObjective, answer: ConditionFigures) -> Message | None:
    """The line about what a request costs where an add-on answered; None if it keeps the objective."""
    name, text, metric = answer.label or _levels(answer.condition), objective.text, objective.metric
    cost = _cost_of(answer.costs, metric)
    if cost is None:
        return _no_figure(objective, name, answer.costs)
    if not objective.broken(cost.ns):
        return None
    return message(
        "objective_missed",
        name=name,
        objective=text,
        metric=metric,
        value=cost.ns,
        low=cost.low_ns,
        high=cost.high_ns,
        suspect=False,
    )


def _levels(condition: Mapping[str, Level]) -> str:
    return ", ".join(f"{name}={level_text(level)}" for name, level in condition.items())


def _fixed_rate(row: Row) -> AtRate | None:
    """What is known of a row at its fixed rate; None if it has none, or nothing at all was measured of the row."""
    nothing = row.verdict in ("missing", "invalid") and row.at_rate is not None and row.at_rate.verdict == "missing"
    return None if nothing else row.at_rate


def _missed_at_rate(objective: FailIfObjective, name: str, at_rate: AtRate) -> Message | None:
    """The line about the latency of one condition at its fixed rate; None if it keeps the objective."""
    text, (kind, _, quantile) = objective.text, objective.metric.partition(".")
    quantiles = at_rate.response_ns if kind == "response_ns" else at_rate.service_ns
    if quantiles is None:
        return message("objective_not_at_rate", name=name, objective=text, reasons=at_rate.reasons)
    found = getattr(quantiles, quantile)
    if found is None:
        why = at_rate.unmeasurable.get(quantile)
        if why is None:
            return message("objective_no_figure", name=name, objective=text, parts=[])
        return message("objective_quantile_unmeasurable", name=name, objective=text, why=why)
    if not objective.broken(found):
        return None
    if (unsure := _may_be_ours(objective, at_rate, found) or _does_not_repeat(objective, at_rate)) is not None:
        return message("objective_quantile_unmeasurable", name=name, objective=text, why=unsure)
    return message(
        "objective_missed_at_rate",
        name=name,
        objective=text,
        metric=objective.metric,
        value=_printed(objective, at_rate, found),
        rate_per_s=at_rate.rate_per_s,
        suspect=at_rate.verdict == "suspect" or _is_doubted(objective, at_rate),
    )


def _printed(objective: FailIfObjective, source: Row | AtRate, found: float) -> float:
    """The figure as tables have it: a response time without rare stalls."""
    kind, _, quantile = objective.metric.partition(".")
    return (printed_ns(source, quantile) if kind == "response_ns" and quantile in source.stalls else None) or found


def _may_be_ours(objective: FailIfObjective, source: Row | AtRate, found: float) -> Message | None:
    """That a response time misses the objective by what may be the generator's own alone; None where it does not."""
    kind, _, quantile = objective.metric.partition(".")
    least = getattr(source.least_ns, quantile, None) if kind == "response_ns" else None
    if least is None or objective.broken(least):
        return None
    return message("objective_may_be_ours", figure_ns=found, own_ns=found - least)


def _does_not_repeat(objective: FailIfObjective, source: Row | AtRate) -> Message | None:
    """Why a response time does not describe the condition, where its interval does not miss the objective as a whole:
    one slice made it, the slices do not agree, or it misses by rare stalls alone."""
    kind, _, quantile = objective.metric.partition(".")
    if kind != "response_ns":
        return None
    why, stalls = source.unsettled.get(quantile), source.stalls.get(quantile)
    if stalls is not None and stalls.without_ns is not None and not objective.broken(stalls.without_ns):
        why = why or stalls.said
    low, high = source.response_interval_ns.get(quantile, (0.0, None))
    missed_by_all = objective.broken(low) and objective.broken(math.inf if high is None else high)
    return None if missed_by_all else why


def _is_doubted(objective: FailIfObjective, source: Row | AtRate) -> bool:
    """Whether a check, or what was measured apart, doubts this response time."""
    kind, _, quantile = objective.metric.partition(".")
    return kind == "response_ns" and source.latencies_doubted and quantile in (source.doubted or (quantile,))


def _figure_of(row: Row, metric: str) -> float | None:
    if metric == _ERRORS:
        return _share_failed(row)
    if not metric.startswith(COST):
        return figure(row, metric)
    cost = row.cost_of(metric.removeprefix(COST))
    return None if cost is None else cost.ns


def _cost_of(costs: Mapping[str, CpuCost], metric: str) -> CpuCost | None:
    """Return the cost of the part that the metric names; if it names none, that of all parts."""
    part = metric.removeprefix(COST)
    return cost_of_part(costs, part) if part else cost_of_all(costs)


def _share_failed(row: Row) -> float | None:
    """Failed operations as a share of all that ended."""
    failed = sum(row.errors.values())
    ended = failed + round((row.goodput_per_s or 0.0) * (row.elapsed_s or 0.0))
    return failed / ended if ended else None


def _is_about_both(objective: FailIfObjective, judgement: Verdict) -> bool:
    """Whether the objective is about a pair: the factors that it names stand so in A or in B."""
    return objective.is_about(judgement.a.condition) or objective.is_about(judgement.b.condition)


def _missed_between(objective: FailIfObjective, one: Comparison) -> Message | None:
    """The line about one comparison; None if it keeps the objective."""
    judged, text = one.on(objective.metric), objective.text
    if objective.metric == COST and len(one.costs) == 1:
        judged = one.costs[0]
    if judged is not None and is_rate(judged.metric) != is_rate(objective.metric):
        judged = None  # a time that repeats a rate has that one's ratio the other way round
    pair = message("objective_pair", a=one.primary.a.name, b=one.primary.b.name, place=one.place)
    if judged is None:
        return message("objective_not_compared", pair=pair, objective=text, metric=objective.metric)
    estimate, low, high = judged.estimate, judged.low, judged.high
    if judged.kind == "invalid" or estimate is None or low is None or high is None:
        return message("objective_no_interval", pair=pair, objective=text, verdict=judged.message)
    broken = [objective.broken(_ratio(end)) for end in (low, high)]
    if all(broken):
        return message("objective_missed_ratio", pair=pair, objective=text, estimate=estimate, low=low, high=high)
    if any(broken):
        return message("objective_beyond", pair=pair, objective=text, estimate=estimate, low=low, high=high)
    return None


def _ratio(log_ratio: float) -> float:
    """B / A less one; infinite beyond what a number holds."""
    return math.expm1(log_ratio) if log_ratio < 700 else math.inf
