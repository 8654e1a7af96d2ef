"""Determines how far the figures of a run can be trusted: how many are good within 10 %, and why the others are not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import Analysis, Row
from loadstone.judge.verdict import GeneratorBound
from loadstone.report import figure_format as fmt
from loadstone.run_folder.trial import CheckResult
from loadstone.text.language import _
from loadstone.text.message import Message, message

GOOD_WITHIN = 0.10
"""A figure is good where its bound and, if it has an interval, half of the interval's width are at most this share."""
_SHOWN_MAX = 2
_REASONS = {
    "generator": message("trust_generator"),
    "taken": message("trust_taken"),
    "both": message("trust_both"),
    "unknown": message("trust_unknown"),
    "interval": message("trust_interval"),
    "suspect": message("trust_suspect"),
    "missing": message("trust_missing"),
}
_BY_CHECK = {"gain": "generator", "taken": "taken"}
"""Checks that refuse a figure because its bound is too far away."""
_BOUNDS_SHOWN_MAX = 4


@dataclass(frozen=True)
class FigureQuality:
    """Number of the run's figures that are good, and what keeps the others from it."""

    good: int
    once: int
    """Number of these that are good by their bounds alone: too few trials for an interval, and another trial may differ
    by more."""
    of: int
    others: tuple[tuple[str, int], ...]
    """Why the others are not good, and how many; the commonest reason first."""


def different_rows(analysis: Analysis) -> list[Row]:
    """The rows of all tables, a condition that stands in several of them once."""
    found: dict[str, Row] = {}
    for table in analysis.tables:
        for row in table.rows:
            found.setdefault(identity(row.condition), row)
    return list(found.values())


def figure_quality(analysis: Analysis) -> FigureQuality:
    """Count the good figures. A condition without a figure counts as one that is not good."""
    failed = {view.trial: _failed(view.checks) for view in analysis.trials if view.verdict == "invalid"}
    rows = different_rows(analysis)
    reasons = [fmt.sentence(_why_not(row, failed)) for row in rows]
    once = sum(not why and row.goodput_interval is None for row, why in zip(rows, reasons, strict=True))
    others = Counter(filter(None, reasons)).most_common()
    return FigureQuality(reasons.count(""), once, len(rows), tuple(others))


def trust_text(analysis: Analysis) -> str:
    """`53 of 54 figures are within ±10 %; 1 is wider`."""
    found = figure_quality(analysis)
    if not any(row.goodput_per_s for row in different_rows(analysis)):
        others = (answer.trust_without_rows() for answer in analysis.parts.values())
        if (other := next((one for one in others if one is not None), None)) is not None:
            return fmt.sentence(other)
    if not found.of:
        return fmt.sentence(message("trust_no_table"))
    shown = [message("trust_others", figures=number, why=why) for why, number in found.others[:_SHOWN_MAX]]
    if len(found.others) > _SHOWN_MAX:
        left = sum(number for _, number in found.others[_SHOWN_MAX:])
        shown.append(message("trust_others", figures=left, why=message("trust_other_reasons")))
    good = {"good": found.good - found.once, "once": found.once, "of": found.of}
    said = fmt.sentence(message("trust", **good, within_share=GOOD_WITHIN, others=shown))
    for answer in analysis.parts.values():
        said = answer.trusted(said)
    return said


def _why_not(row: Row, failed: Mapping[str, str]) -> Message | None:
    """Why a row's figure is not good; None where it is."""
    if row.verdict in ("missing", "invalid") or row.goodput_per_s is None:
        check = next((failed[trial] for trial in row.trials if failed.get(trial)), "")
        if not row.trials:
            return _REASONS["missing"]
        if check in _BY_CHECK:
            return _REASONS[_BY_CHECK[check]]
        return message("trust_failed", check=check) if check else message("trust_invalid")
    if row.bound is None or not (_is_bounded(row.bound) or _is_paced(row)):
        return _REASONS["unknown"]
    if row.bound.printed > GOOD_WITHIN:
        generator = 0.0 if row.bound.round_trip else row.bound.generator or 0.0
        parts = {"generator": generator, "taken": row.bound.taken or 0.0}
        alone = [name for name, share in parts.items() if share > GOOD_WITHIN]
        return _REASONS[max(alone, key=lambda name: parts[name]) if alone else "both"]
    if row.goodput_interval is not None and half_width(row.goodput_interval) > GOOD_WITHIN:
        return _REASONS["interval"]
    return _REASONS["suspect"] if row.verdict == "suspect" else None


def is_well_bounded(row: Row) -> bool:
    """Whether neither generator nor other programs can have kept the figure more than `GOOD_WITHIN` down."""
    return row.bound is not None and _is_bounded(row.bound) and row.bound.printed <= GOOD_WITHIN


def _is_bounded(bound: GeneratorBound) -> bool:
    """Whether it is known what the generator cost; the round trip of one user is not judged by it."""
    return bound.taken is not None and (bound.round_trip or bound.generator is not None)


def _is_paced(row: Row) -> bool:
    """Whether its rate was set from outside, so that there is nothing to gain."""
    return row.bottleneck is not None and row.bottleneck.part == "paced"


def half_width(interval: tuple[float, float]) -> float:
    """Half of an interval's width as a share of its middle."""
    low, high = interval
    return (high - low) / (high + low) if high + low > 0 else 0.0


def _failed(checks: Sequence[CheckResult]) -> str:
    """The first check that a trial failed."""
    return next((check.name.replace("_", " ") for check in checks if check.verdict == "invalid"), "")


def bound_lines(analysis: Analysis) -> list[str]:
    """`set (up to +74 %): The generator used 43 % of its time ...`, a line a row beyond a tenth; of many the first."""
    found = list(_bounds(analysis))
    more = len(found) - _BOUNDS_SHOWN_MAX
    return (
        [*found[:_BOUNDS_SHOWN_MAX], _("{more} more rows with such a bound: see the report", more=more)]
        if more > 0
        else found
    )


def why_so_far(analysis: Analysis, row: Row) -> str:
    """What bounds a row's figure most, of the trial that is bounded worst; empty where its bound is a tenth or less."""
    if row.bound is None or row.bound.printed <= GOOD_WITHIN:
        return ""
    parts = {"gain": row.bound.generator or 0.0, "taken": row.bound.taken or 0.0}
    for name in sorted(parts, key=lambda name: -parts[name]):
        if (reason := _worst(analysis, row, name)) is not None:
            return fmt.sentence(row.bound.put_into(reason))
    return ""


def _worst(analysis: Analysis, row: Row, name: str) -> Message | None:
    names = set(row.trials)
    checks = (check for trial in analysis.trials if trial.trial in names for check in trial.checks)
    found = [
        check for check in checks if check.name == name and check.reason is not None and check.verdict == "suspect"
    ]
    return max(found, key=lambda one: one.measured or 0.0).reason if found else None


def _bounds(analysis: Analysis) -> Iterator[str]:
    for row in different_rows(analysis):
        if row.goodput_per_s is not None and (why := why_so_far(analysis, row)):
            yield f"{fmt.plain(row.label)} ({fmt.bound_phrase(row.bound)}): {why}"
