"""The effects of a factorial in sentences. Ratios are logarithms."""

from collections.abc import Callable, Sequence
from math import inf

from loadstone.text.english.figures import listed, metric_text
from loadstone.text.figures import percent_text, ratio_text
from loadstone.text.language import _, plural


def _answer(terms: Sequence[str], quick: bool, refused: Sequence[str] = ()) -> str:
    return f"{' '.join((*terms, *refused))}{_(' (quick)') if quick else ''}"


def _without(left_out: Sequence[str]) -> str:
    return _("; without {left_out}", left_out="; ".join(left_out)) if left_out else ""


def _main(name: str, verdict: str, over: Sequence[str], left_out: Sequence[str]) -> str:
    where = _(" on average over {over}", over=listed(over)) if over else ""
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
    effect, without = _("{level} against {reference}", level=level, reference=reference), _without(left_out)
    if kind in ("faster", "mixed") and estimate is not None:
        ends = (estimate, -inf if low is None else low, inf if high is None else high)
        if estimate < 0:
            ends = (-ends[0], -ends[2], -ends[1])
        figures = {
            "effect": effect,
            "metric": metric_text(metric),
            "ratio": ratio_text(*ends, excludes_none=True),
            "here": here,
            "there": there,
            "without": without,
        }
        if estimate > 0:
            return _(
                "the two depend on each other: {effect} changes {metric} by {ratio} more with {here} than with "
                "{there}{without}.",
                **figures,
            )
        return _(
            "the two depend on each other: {effect} changes {metric} by {ratio} less with {here} than with "
            "{there}{without}.",
            **figures,
        )
    if kind == "equivalent":
        same = _(
            "no practical difference: {effect} changes as much with {here} as with {there}",
            effect=effect,
            here=here,
            there=there,
        )
        return _("{same}, within {margin}{without}.", same=same, margin=percent_text(margin), without=without)
    return _(
        "whether {effect} depends on {here} against {there}: {verdict}{without}.",
        effect=effect,
        here=here,
        there=there,
        verdict=verdict,
        without=without,
    )


def _left_out(place: str, check: str | None, reason: str | None) -> str:
    if check is None:
        return place
    why = (
        _("{check} is INVALID", check=check)
        if not reason
        else _("{check} is INVALID: {reason}", check=check, reason=reason.rstrip("."))
    )
    return f"{place} ({why})" if place else why


def _refused(label: str, check: str, reason: str | None) -> str:
    why = "" if not reason else f", {reason.rstrip('.')}"
    return _("{label} is INVALID: {check}{why}.", label=label, check=check, why=why)


def _without_cells(cells: Sequence[str]) -> str:
    return plural(
        len(cells),
        "not known, since {cells} is INVALID",
        "not known, since {cells} are INVALID",
        cells="; ".join(cells),
    )


def _separated(depend: bool, effects: str) -> str:
    how = _("and they depend on each other") if depend else _("each by itself")
    return _("Here every combination is measured, {how}: {effects}", how=how, effects=effects)


def _saturation_points(points: Sequence[str], without: int) -> str:
    rest = _("; {without} without a point", without=without) if without else ""
    return _(
        "Each by loads that stand still, with its interval: {points}{rest}.",
        points="; ".join(points) or _("none was found"),
        rest=rest,
    )


def _cpu(conditions: Sequence[str], full: int) -> str:
    said = "; ".join(conditions)
    if not full:
        return _("CPU of each part: {said}.", said=said)
    which = (
        _("all conditions")
        if full == len(conditions)
        else _("{full} of {conditions} conditions", full=full, conditions=len(conditions))
    )
    why = _(
        "In {which} nothing of the CPUs that they share is free: a further process takes its time from the others.",
        which=which,
    )
    return _("CPU of each part: {said}. {why}", said=said, why=why)


def _cpu_of_condition(label: str, parts: Sequence[str], used: float, cpus: int) -> str:
    said = f"{label}: {' + '.join(parts)} = {used:.2f}"
    return plural(cpus, "{said} of {n} CPU", "{said} of {n} CPUs", said=said) if cpus else said


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
    "lesson_saturates": "{label} at {users:,.0f} users [{low:,.0f}, {high:,.0f}]",
    "lesson_cpu": _cpu,
    "lesson_cpu_of": lambda part, cores: f"{part} {cores:.2f}",
    "lesson_cpu_of_condition": _cpu_of_condition,
    "lesson_cpu_unknown": "The CPU of no part is known.",
}
