"""Why a figure could be far higher: its bound, and what it comes of, beside it."""

from collections.abc import Iterator

from loadstone.analyse.model import Analysis, Row
from loadstone.judge.verdict import UNBOUNDED
from loadstone.message import Message, message
from loadstone.report import format as fmt
from loadstone.report.trust import GOOD_WITHIN, different_rows

_MOST = 4


def bound_lines(analysis: Analysis) -> list[str]:
    """`set (up to +74 %): The generator used 43 % of its time ...`, a line a row beyond a tenth; of many the first."""
    found = list(_lines(analysis))
    more = len(found) - _MOST
    return [*found[:_MOST], f"{more} more rows with such a bound: see the report"] if more > 0 else found


def why_so_far(analysis: Analysis, row: Row) -> str:
    """What bounds a row's figure most, of the trial that is bounded worst; empty where its bound is a tenth or less."""
    if row.bound is None or fmt.bound_share(row.bound) <= GOOD_WITHIN:
        return ""
    parts = {"gain": row.bound.generator or 0.0, "taken": row.bound.taken or 0.0}
    for name in sorted(parts, key=lambda name: -parts[name]):
        if (reason := _worst(analysis, row, name)) is not None:
            return fmt.sentence(_with_bound(reason, parts[name]))
    return ""


def _with_bound(reason: Message, share: float) -> Message:
    """The reason of one trial, with the bound that stands beside it: that of the row."""
    if "bound" not in reason.figures:
        return reason
    bound = message("check.no_bound") if share >= UNBOUNDED else message("check.up_to", share=share)
    return reason.model_copy(update={"figures": {**reason.figures, "bound": bound}})


def _worst(analysis: Analysis, row: Row, name: str) -> Message | None:
    names = set(row.trials)
    checks = (check for trial in analysis.trials if trial.trial in names for check in trial.checks)
    found = [one for one in checks if one.name == name and one.reason is not None and one.verdict == "suspect"]
    return max(found, key=lambda one: one.measured or 0.0).reason if found else None


def _lines(analysis: Analysis) -> Iterator[str]:
    for row in different_rows(analysis):
        if row.goodput_per_s is not None and (why := why_so_far(analysis, row)):
            yield f"{fmt.plain(row.label)} ({fmt.bound_phrase(row.bound)}): {why}"
