"""The effects of a factorial in sentences. Ratios are logarithms."""

from collections.abc import Callable, Sequence
from math import inf

from loadstone.percents import percent_text, ratio_text
from loadstone.report.text.english.figures import listed, metric_text


def _answer(terms: Sequence[str], quick: bool, refused: Sequence[str] = ()) -> str:
    return f"{' '.join((*terms, *refused))}{' (quick)' if quick else ''}"


def _without(left_out: Sequence[str]) -> str:
    return f"; without {'; '.join(left_out)}" if left_out else ""


def _main(name: str, verdict: str, over: Sequence[str], left_out: Sequence[str]) -> str:
    where = f" on average over {listed(over)}" if over else ""
    return f"{name}{where}: {verdict}{_without(left_out)}."


def _interaction(
    kind: str,
    level: str,
    reference: str,
    here: str,
    there: str,
    metric: str,
    estimate: float | None,
    low: float | None,
    high: float | None,
    margin: float,
    verdict: str,
    left_out: Sequence[str],
) -> str:
    """What it means for the effect of one factor that the other has another level."""
    effect, without = f"{level} against {reference}", _without(left_out)
    if kind in ("faster", "mixed") and estimate is not None:
        ends = (estimate, -inf if low is None else low, inf if high is None else high)
        if estimate < 0:
            ends = (-ends[0], -ends[2], -ends[1])
        more = "more" if estimate > 0 else "less"
        ratio = ratio_text(*ends, excludes_none=True)
        said = f"the two depend on each other: {effect} changes {metric_text(metric)} by {ratio} {more} with {here}"
        return f"{said} than with {there}{without}."
    if kind == "equivalent":
        same = f"no practical difference: {effect} changes as much with {here} as with {there}"
        return f"{same}, within {percent_text(margin)}{without}."
    return f"whether {effect} depends on {here} against {there}: {verdict}{without}."


def _left_out(place: str, check: str | None, reason: str | None) -> str:
    if check is None:
        return place
    why = f"{check} is INVALID" if not reason else f"{check} is INVALID: {reason.rstrip('.')}"
    return f"{place} ({why})" if place else why


def _refused(label: str, check: str, reason: str | None) -> str:
    why = "" if not reason else f", {reason.rstrip('.')}"
    return f"{label} is INVALID: {check}{why}."


def _without_cells(cells: Sequence[str]) -> str:
    return f"not known, since {'; '.join(cells)} {'is' if len(cells) == 1 else 'are'} INVALID"


def _separated(depend: bool, effects: str) -> str:
    how = "and they depend on each other" if depend else "each by itself"
    return f"Here every combination is measured, {how}: {effects}"


def _saturation_points(points: Sequence[str], without: int) -> str:
    rest = f"; {without} without a point" if without else ""
    return f"Each by loads that stand still, with its interval: {'; '.join(points) or 'none was found'}{rest}."


def _saturates(label: str, users: float, low: float, high: float) -> str:
    return f"{label} at {users:,.0f} users [{low:,.0f}, {high:,.0f}]"


def _cpu(conditions: Sequence[str], full: int) -> str:
    said = "; ".join(conditions)
    if not full:
        return f"CPU of each part: {said}."
    which = "all conditions" if full == len(conditions) else f"{full} of {len(conditions)} conditions"
    why = f"In {which} nothing of the CPUs that they share is free: a further process takes its time from the others."
    return f"CPU of each part: {said}. {why}"


def _cpu_of_condition(label: str, parts: Sequence[str], used: float, cpus: int) -> str:
    of = f" of {cpus} CPU{'' if cpus == 1 else 's'}" if cpus else ""
    return f"{label}: {' + '.join(parts)} = {used:.2f}{of}"


EFFECTS: dict[str, str | Callable[..., str]] = {
    "effects_answer": _answer,
    "effects_alike": "All {effects} effects: {verdict}.",
    "effect_main": _main,
    "effect_interaction": _interaction,
    "effect_place_left_out": _left_out,
    "effect_cell_refused": _refused,
    "effect_without_cells": _without_cells,
    "lesson_separated": _separated,
    "lesson_no_saturation": "This run did not search for a saturation point.",
    "lesson_saturation_points": _saturation_points,
    "lesson_saturates": _saturates,
    "lesson_cpu": _cpu,
    "lesson_cpu_of": lambda part, cores: f"{part} {cores:.2f}",
    "lesson_cpu_of_condition": _cpu_of_condition,
    "lesson_cpu_unknown": "The CPU of no part is known.",
}
