"""Objectives for CI: `--fail-if 'p99 > 5ms'`. An objective says what must not be; what cannot be told misses it too."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from loadstone.analyse.model import Analysis, Comparison, Row
from loadstone.errors import UserError
from loadstone.judge.metrics import figure, figure_words, is_rate
from loadstone.judge.statistics.wording import ratio_text
from loadstone.judge.verdict import Verdict
from loadstone.spec.levels import Level, identity, level_text
from loadstone.spec.units import parse_any

Operator = Literal[">", ">=", "<", "<="]

ERRORS = "errors"
"""The share of failed operations, the one metric of an objective that no experiment can compare."""

_COMPARE: dict[Operator, Callable[[float, float], bool]] = {
    ">": lambda found, limit: found > limit,
    ">=": lambda found, limit: found >= limit,
    "<": lambda found, limit: found < limit,
    "<=": lambda found, limit: found <= limit,
}
_RATES = {"goodput": "goodput_per_s", "tps": "throughput_per_s", "peak": "peak_per_s"}
_QUANTILES = ("p50", "p90", "p95", "p99", "p999", "mean", "max")
_TIME_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_RATE_UNITS = {"": 1.0, "/s": 1.0, "k": 1e3, "k/s": 1e3}
_TEXT = re.compile(r"\s*(.*?)\s*(>=|<=|>|<)\s*([+-]?)\s*([0-9]+(?:\.[0-9]+)?)\s*([^\s0-9]*)\s*(?:\swhere\s+(.+))?")
_GRAMMAR = (
    "write METRIC OP VALUE [where FACTOR=LEVEL,...], for example 'p99 > 5ms'; "
    f"metrics are {', '.join(_QUANTILES)} (response time), 'service p99' and so on, {', '.join(_RATES)}, {ERRORS}; "
    "OP is one of > >= < <="
)


@dataclass(frozen=True)
class Objective:
    """What must not be. `value` is in ns, a second, or a share; of a relative objective B / A less one."""

    text: str
    """As the user wrote it."""
    metric: str
    """Of `spec.experiment.METRICS`, or `errors`."""
    operator: Operator
    value: float
    relative: bool
    """Whether it is about B against A (`goodput < -5%`) instead of one condition."""
    where: tuple[tuple[str, str], ...]
    """Factor and the text of a level: only conditions that have them all are asked."""

    def broken(self, found: float) -> bool:
        """Whether a figure is what must not be."""
        return _COMPARE[self.operator](found, self.value)

    def asks(self, condition: Mapping[str, Level]) -> bool:
        """Whether the objective is about this condition."""
        return all(name in condition and _means(word, condition[name]) for name, word in self.where)


def parse_objective(text: str) -> Objective:
    """The objective that a text states. Raises UserError with the grammar and an example."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UserError(f"--fail-if '{text}': is no objective; {_GRAMMAR}")
    name, operator, sign, digits, unit, where = match.groups()
    metric = metric_of(name)
    if metric is None:
        raise UserError(f"--fail-if '{text}': there is no metric '{name}'; {_GRAMMAR}")
    relative = unit == "%" and (metric != ERRORS or bool(sign))
    if relative and metric == ERRORS:
        raise UserError(f"--fail-if '{text}': errors have no ratio, they may be 0; write for example 'errors > 0.1%'")
    value = float(digits) * (-1 if sign == "-" else 1)
    return Objective(
        text=" ".join(text.split()),
        metric=metric,
        operator=cast(Operator, operator),
        value=value / 100 if relative else _value(text, metric, value, sign, unit),
        relative=relative,
        where=tuple(_where(text, where)) if where else (),
    )


def metric_of(name: str) -> str | None:
    """The metric that a short name means: `p99` is `response_ns.p99`, `service p99` `service_ns.p99`; None if none."""
    kind, _, quantile = name.strip().lower().replace(" ", "_").replace("p99.9", "p999").rpartition("_")
    if kind in ("", "service", "response") and quantile in _QUANTILES:
        return f"{kind or 'response'}_ns.{quantile}"
    word = name.strip().lower()
    return _RATES.get(word) or (ERRORS if word == ERRORS else None)


def _value(text: str, metric: str, value: float, sign: str, unit: str) -> float:
    """An absolute value in ns, a second, or a share. Raises UserError if the unit does not fit the metric."""
    if sign:
        raise UserError(f"--fail-if '{text}': a value with a sign is a ratio of B to A; write it in %, as -5%")
    if metric == ERRORS:
        units, example = {"%": 0.01}, "errors > 1%"
    elif metric in _RATES.values():
        units, example = _RATE_UNITS, "goodput < 50k/s"
    else:
        units, example = _TIME_NS, "p99 > 5ms"
    if unit not in units:
        known = ", ".join(unit for unit in units if unit)
        said = f"has the unit '{unit}'" if unit else "has no unit"
        raise UserError(f"--fail-if '{text}': the value {said}; units here are {known}, for example '{example}'")
    return value * units[unit]


def _where(text: str, where: str) -> Iterator[tuple[str, str]]:
    for part in where.split(","):
        name, equals, level = (word.strip() for word in part.partition("="))
        if not (name and equals and level):
            raise UserError(f"--fail-if '{text}': '{part.strip()}' is no condition; write where FACTOR=LEVEL,...")
        yield name, level


def _means(word: str, level: Level) -> bool:
    """Whether a word is a level's text, or the same quantity (`1kB`, `1000 B`)."""
    text = level_text(level)
    return word == text or (parse_any(word) is not None and parse_any(word) == parse_any(text))


def require_absolute(objectives: Iterable[Objective]) -> None:
    """Refuse objectives that need two conditions. Raises UserError."""
    for objective in objectives:
        if objective.relative:
            raise UserError(
                f"--fail-if '{objective.text}': is about B against A; use it with `loadstone compare`, "
                "or write a figure with its unit, for example 'goodput < 50k/s'"
            )


def require_relative(objectives: Iterable[Objective]) -> None:
    """Refuse objectives about single conditions. Raises UserError."""
    for objective in objectives:
        if not objective.relative:
            raise UserError(
                f"--fail-if '{objective.text}': is about a single condition; use it with `loadstone run`, "
                "or write B against A in %, for example 'goodput < -5%'"
            )


def missed(objectives: Sequence[Objective], analysis: Analysis) -> list[str]:
    """A line for each objective and condition that misses it, or that cannot tell; empty if all are kept.

    Raises:
        UserError: an objective is relative: it needs a comparison.
    """
    require_absolute(objectives)
    rows = {identity(row.condition): row for table in analysis.tables for row in table.rows}
    lines = []
    for objective in objectives:
        asked = [row for row in rows.values() if objective.asks(row.condition)]
        lines += [line for row in asked if (line := _missed_by(objective, row))]
        if not asked:
            lines.append(_told_by_none(objective, "condition"))
    return lines


def missed_ratios(objectives: Sequence[Objective], comparisons: Sequence[Comparison]) -> list[str]:
    """The same for relative objectives, held against the comparisons.

    An objective is missed where the whole interval is what must not be. Where only a part of it is, or where
    there is none, the data cannot tell. An objective is kept where the whole interval keeps it.
    """
    lines = []
    for objective in objectives:
        asked = [one for one in comparisons if _asks_both(objective, one.primary)]
        lines += [line for one in asked if (line := _missed_between(objective, one))]
        if not asked:
            lines.append(_told_by_none(objective, "comparison"))
    return lines


def _told_by_none(objective: Objective, what: str) -> str:
    where = f" where {', '.join(f'{name}={word}' for name, word in objective.where)}" if objective.where else ""
    return f"'{objective.text}': cannot tell: there is no {what}{where}"


def _missed_by(objective: Objective, row: Row) -> str | None:
    """The line about one condition; None if it keeps the objective."""
    name = row.label or ", ".join(f"{name}={level_text(level)}" for name, level in row.condition.items())
    head = f"{name}: '{objective.text}'"
    if row.verdict in ("invalid", "missing"):
        why = "; ".join(reason.rstrip(".") for reason in row.reasons) or "it was not measured"
        return f"{head}: cannot tell: {why if row.verdict == 'missing' else f'no valid trial: {why}'}"
    found = _share_failed(row) if objective.metric == ERRORS else figure(row, objective.metric)
    if found is None:
        return f"{head}: cannot tell: {_why_untold(row, objective.metric)}"
    if not objective.broken(found):
        return None
    return f"{head}: missed: {_found_words(row, objective.metric, found)}"


def _share_failed(row: Row) -> float | None:
    """Failed operations as a share of all that ended."""
    failed = sum(row.errors.values())
    ended = failed + round((row.goodput_per_s or 0.0) * (row.elapsed_s or 0.0))
    return failed / ended if ended else None


def _why_untold(row: Row, metric: str) -> str:
    quantile = metric.partition(".")[2]
    return next(
        (line.partition(":")[2].strip() for line in row.unmeasurable if line.partition(":")[0] == quantile),
        "there is no such figure",
    )


def _found_words(row: Row, metric: str, found: float) -> str:
    """The figure, with its interval where the row has one, and a word where it is suspect."""
    if metric == ERRORS:
        words = f"{100 * found:.3g} %"
    else:
        words = figure_words(found, metric) + ("/s" if metric in _RATES.values() else "")
    intervals = {"goodput_per_s": row.goodput_interval, "throughput_per_s": row.throughput_interval}
    interval = intervals.get(metric)
    if interval is not None:
        words += f" [{figure_words(interval[0], metric)}, {figure_words(interval[1], metric)}]"
    return f"{words} (suspect)" if row.verdict == "suspect" else words


def _asks_both(objective: Objective, judgement: Verdict) -> bool:
    """Whether the objective is about a pair: the factors that it names stand so in A or in B."""
    return objective.asks(judgement.a.condition) or objective.asks(judgement.b.condition)


def _missed_between(objective: Objective, one: Comparison) -> str | None:
    """The line about one comparison; None if it keeps the objective."""
    judgement = one.on(objective.metric)
    if judgement is not None and is_rate(judgement.metric) != is_rate(objective.metric):
        judgement = None  # a time that repeats a rate has that one's ratio the other way round
    pair = f"{one.primary.b.name} against {one.primary.a.name}"
    head = f"{one.place + ', ' if one.place else ''}{pair}: '{objective.text}'"
    if judgement is None:
        return f"{head}: cannot tell: it was not compared; --metric {objective.metric} says why"
    low, high = judgement.low, judgement.high
    if judgement.kind == "invalid" or judgement.estimate is None or low is None or high is None:
        return f"{head}: cannot tell: {judgement.words}"
    broken = [objective.broken(_ratio(end)) for end in (low, high)]
    ratio = ratio_text(judgement.estimate, low, high, sign=True)
    if all(broken):
        return f"{head}: missed: {ratio}"
    return f"{head}: cannot tell: {ratio} reaches beyond it" if any(broken) else None


def _ratio(log_ratio: float) -> float:
    """B / A less one; infinite beyond what a number holds."""
    return math.expm1(log_ratio) if log_ratio < 700 else math.inf
