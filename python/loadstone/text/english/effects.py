"""The effects of a factorial in sentences. Ratios are logarithms."""

from collections.abc import Callable, Sequence
from math import inf

from loadstone.text.english.figures import listed, metric_text
from loadstone.text.figures import is_times, percent_text, size_text, times_text
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
        figures = {"effect": effect, "metric": metric_text(metric), "here": here, "there": there, "without": without}
        if is_times(estimate):
            return _(
                "the two depend on each other: {effect} changes {metric} {times} as much with {here} as with "
                "{there}{without}.",
                times=times_text(*ends, excludes_none=True),
                **figures,
            )
        if estimate > 0:
            return _(
                "the two depend on each other: {effect} changes {metric} by {ratio} more with {here} than with "
                "{there}{without}.",
                ratio=size_text(*ends),
                **figures,
            )
        return _(
            "the two depend on each other: {effect} changes {metric} by {ratio} less with {here} than with "
            "{there}{without}.",
            ratio=size_text(*ends),
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


EFFECTS: dict[str, str | Callable[..., str]] = {
    "effects_answer": _answer,
    "effects_alike": "All {effects} effects: {verdict}.",
    "effect_main": _main,
    "effect_interaction": _interaction,
    "effect_place_left_out": _left_out,
    "effect_cell_refused": _refused,
    "effect_without_cells": _without_cells,
}
