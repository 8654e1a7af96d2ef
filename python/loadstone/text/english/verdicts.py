"""Verdicts in fixed terms. Ratios are logarithms."""

from collections.abc import Callable, Sequence
from math import expm1, inf

from loadstone.text.english.figures import blocks_text, part_text, units_text
from loadstone.text.figures import (
    check_figure,
    difference_text,
    digits,
    factor_text,
    is_times,
    percent_text,
    size_text,
    sizes_text,
    times_text,
)
from loadstone.text.language import _, of_author


def minutes_text(minutes: float) -> str:
    """The range in which the time still needed will lie: half to twice the estimate."""
    low, high = minutes / 2, minutes * 2
    decimals = 0 if low >= 1 else 1
    return _(
        "about {low} to {high} more minutes", low=f"{max(low, 0.1):.{decimals}f}", high=f"{max(high, 0.2):.{decimals}f}"
    )


def _verdict(said: str, across: bool, quick: bool) -> str:
    whole = _("across: {said}", said=said) if across else said
    return _("{said} (quick)", said=whole) if quick else whole


def _ratio(estimate: float | None, low: float | None, high: float | None, excludes_none: bool = False) -> str:
    """B against A."""
    ends = (-inf if low is None else low, inf if high is None else high)
    middle = estimate if estimate is not None else -inf if low is None and high is not None else inf
    return difference_text(middle, *ends, excludes_none=excludes_none)


def _equivalent(margin: float, negligible: bool, ratio: str | None) -> str:
    if negligible:
        said = _("EQUIVALENT within {margin}, real but negligible", margin=percent_text(margin))
    else:
        said = _("EQUIVALENT within {margin}", margin=percent_text(margin))
    return said if ratio is None else f"{said}: {ratio}"


def _towards_b(
    estimate: float | None, low: float | None, high: float | None, rises: bool
) -> tuple[float, float, float]:
    """ln(B / A) and its ends. What is None has no end: it lies where B rises, or falls, to."""
    middle = estimate if estimate is not None else inf if rises else -inf
    return middle, -inf if low is None else low, inf if high is None else high


def _faster(
    a: str,
    b: str,
    b_wins: bool,
    larger_is_faster: bool,
    estimate: float | None,
    low: float | None,
    high: float | None,
    materially: bool,
) -> str:
    """Per cent of A, by which B is faster or slower; beyond a half how many times as fast the faster one is.

    That they differ is decided: an end that is cut at no difference is beside it.
    """
    ratio, low, high = _towards_b(estimate, low, high, b_wins == larger_is_faster)
    if is_times(ratio):
        ends = (ratio, low, high) if ratio > 0 else (-ratio, -high, -low)
        by = times_text(*ends, as_fast=True, excludes_none=True)
        said = _("{winner} FASTER, {by}", winner=b if b_wins else a, by=by)
    elif b_wins:
        said = _("{b} FASTER by {by}", b=b, by=size_text(ratio, low, high))
    else:
        said = _("{b} SLOWER by {by}", b=b, by=size_text(ratio, low, high))
    return _("{said}, materially", said=said) if materially else said


def _mixed_brief(larger_is_faster: bool) -> str:
    if larger_is_faster:
        return _("MIXED: typically faster, less total work")
    return _("MIXED: typically faster, more total time")


def _mixed(
    larger_is_faster: bool,
    b: str,
    estimate: float | None,
    low: float | None,
    high: float | None,
    total: float | None,
    b_wins: bool,
) -> str:
    ratio, low, high = _towards_b(estimate, low, high, b_wins == larger_is_faster)
    by = difference_text(ratio, low, high, excludes_none=True)
    brief = _mixed_brief(larger_is_faster)
    return _("{brief} ({b} {by}, {total})", brief=brief, b=b, by=by, total=_in_total(total))


def _in_total(total: float | None) -> str:
    return _("in total {difference_text}", difference_text=difference_text(total or 0.0))


def _hidden(ratio: str, most: float | None) -> str:
    hides = "" if most is None else _("; the generator may hide up to {most}", most=percent_text(most))
    return _("NOT DECIDABLE HERE: {ratio}{hides}", ratio=ratio, hides=hides)


def _not_decidable(noise_floor: float | None) -> str:
    if noise_floor is None:
        return _("NOT DECIDABLE HERE: noise floor unknown")
    if is_times(noise_floor):
        return _("NOT DECIDABLE HERE: noise floor {factor} times", factor=factor_text(noise_floor))
    return _("NOT DECIDABLE HERE: noise floor +-{floor}", floor=percent_text(noise_floor))


def _undecided(found: str, remarks: Sequence[str]) -> str:
    return _("UNDECIDED: {text}", text="; ".join([found, *remarks]))


def _then(then: str, number: int | None, unit: str, reasoned: bool) -> str:
    if number is None:
        return _("in shorter slices it was {then}, which does not count", then=then)
    after = blocks_text(number, unit)
    if reasoned:
        return _("after {blocks} it was {then}, which does not hold for that reason", blocks=after, then=then)
    return _(
        "after {blocks} it was {then}, which all {units} together do not confirm",
        blocks=after,
        then=then,
        units=units_text(unit),
    )


def _up_to_text(share: float) -> str:
    return _("many times as high") if share >= 10 else _("up to {share:.0%} higher", share=share)


def _invalid(check: str, measured: float, limit: float, unit: str) -> str:
    unit = f" {unit}" if unit else ""
    return _(
        "INVALID: {check}, measured {measured}, limit {limit}",
        check=check,
        measured=of_author(f"{check_figure(measured)}{unit}"),
        limit=of_author(f"{check_figure(limit)}{unit}"),
    )


def _several_faster(a: str, b: str, b_wins: bool, least: float, most: float) -> str:
    """`least` and `most`: ln(B / A) of the smallest difference and of the largest, in the same direction."""
    if is_times(most):
        winner = b if b_wins else a
        factor = times_text(abs(most), as_fast=True)
        return _("{winner} FASTER, {least} to {most}", winner=winner, least=factor_text(abs(least)), most=factor)
    if b_wins:
        return _("{b} FASTER by {sizes}", b=b, sizes=sizes_text(least, most))
    return _("{b} SLOWER by {sizes}", b=b, sizes=sizes_text(least, most))


def _at_places(verdict: str, places: Sequence[str]) -> str:
    """Places one after the other; where each has several parts, with strokes between them."""
    strokes = " / " if any(", " in place for place in places) else ", "
    return _("{verdict} at {places}", verdict=verdict, places=strokes.join(places)) if places else verdict


def _sides_answer(a: str, b: str, verdicts: Sequence[str], quick: bool) -> str:
    said = _("{b} against {a}: {verdicts}", b=b, a=a, verdicts="; ".join(verdicts))
    return f"{_('{said} (quick)', said=said) if quick else said}."


def _forecast(blocks: int, spread: float, effect: float, unit: str = "block") -> str:
    return _(
        "its {units} spread by {spread}: with {blocks} of them a difference of {effect} or more shows 8 times in 10",
        units=units_text(unit),
        spread=percent_text(spread),
        blocks=blocks,
        effect=percent_text(effect),
    )


_ROLES = ("store", "application")
"""Parts of a cost that are called otherwise on either side: a sentence names them behind the figure."""


def _cost_differs(b: str, part: str, estimate: float, low: float | None, high: float | None) -> str:
    """What B uses, of what A does: `18 % less`, `24 % more`; beyond a half `3.6 times`."""
    if is_times(estimate):
        return _uses_times(b, part, times_text(estimate, low, high, excludes_none=True))
    size = size_text(estimate, low, high)
    return _uses_less(b, part, size) if estimate < 0 else _uses_more(b, part, size)


def _several_costs(b: str, part: str, least: float, most: float) -> str:
    if is_times(most):
        return _uses_times(b, part, _("{least} to {most} times", least=factor_text(least), most=factor_text(most)))
    sizes = sizes_text(least, most)
    return _uses_less(b, part, sizes) if most < 0 else _uses_more(b, part, sizes)


def _uses_less(b: str, part: str, size: str) -> str:
    if part in _ROLES:
        return _("{b} uses {size} less CPU of {part} a request", b=b, size=size, part=part_text(part))
    return _("{b} uses {size} less {part} CPU per request", b=b, size=size, part=part_text(part))


def _uses_more(b: str, part: str, size: str) -> str:
    if part in _ROLES:
        return _("{b} uses {size} more CPU of {part} a request", b=b, size=size, part=part_text(part))
    return _("{b} uses {size} more {part} CPU per request", b=b, size=size, part=part_text(part))


def _uses_times(b: str, part: str, times: str) -> str:
    if part in _ROLES:
        return _("{b} uses {times} the CPU of {part} a request", b=b, times=times, part=part_text(part))
    return _("{b} uses {times} the {part} CPU per request", b=b, times=times, part=part_text(part))


def _cost_equivalent(part: str, margin: float) -> str:
    figures = {"part": part_text(part), "margin": percent_text(margin)}
    if part in _ROLES:
        return _("both use the same CPU of {part} a request within {margin}", **figures)
    return _("both use the same {part} CPU per request within {margin}", **figures)


def _cost_open(part: str, ratio: str | None, why: str = "") -> str:
    said = _("which uses less CPU of {part_text} is UNDECIDED", part_text=part_text(part))
    return f"{said}{'' if ratio is None else f': {ratio}'}{why and f'; {why}'}"


VERDICTS: dict[str, str | Callable[..., str]] = {
    "verdict": _verdict,
    "verdict_at_rate": "{said} (at {rate_per_s:,.0f} a second)",
    "verdict_started_once": "{said}, of these processes, started once",
    "verdict_ratio": _ratio,
    "verdict_equivalent": _equivalent,
    "verdict_faster": _faster,
    "verdict_mixed": _mixed,
    "verdict_mixed_brief": _mixed_brief,
    "verdict_hidden": _hidden,
    "verdict_not_decidable": _not_decidable,
    "verdict_undecided": _undecided,
    "verdict_decided_before": "{said}; {before}",
    "cost_differs": _cost_differs,
    "costs_differ": _several_costs,
    "cost_equivalent": _cost_equivalent,
    "cost_open": _cost_open,
    "cost_mixed": "most slices say so, and all slices together the opposite",
    "cost_moving": lambda moved: _(
        "it still moved by {moved} from the first to the last round; warm up for longer", moved=percent_text(moved)
    ),
    "cost_of_heading": "CPU per request, by part",
    "cost_of_reading": (
        "Of whole trials the cost includes child processes; conditions that took turns have them beside it. User and "
        "system time are told apart by the kernel's ticks of 10 ms."
    ),
    "cost_of_place": "condition: part",
    "cost_of_place_meaning": "What was measured, and which part paid.",
    "cost_of_whole": "CPU per request",
    "cost_of_whole_meaning": "CPU time of the part for one correct reply.",
    "cost_of_main": "main thread",
    "cost_of_main_meaning": "By the thread that executes commands; — where a part's threads are alike.",
    "cost_of_others": "other threads",
    "cost_of_others_meaning": "By all others: input and output, fsync, freeing memory.",
    "cost_of_user": "user",
    "cost_of_user_meaning": "In the program itself.",
    "cost_of_system": "system",
    "cost_of_system_meaning": "In the kernel, on its behalf.",
    "cost_of_children": "child processes",
    "cost_of_children_meaning": "By processes that it started: a snapshot, a rewrite of the append-only file.",
    "cost_of_children_beside": (
        "child processes of {part} (a snapshot, a rewrite of its file) took CPU beside these requests, {ns:latency} "
        "each if every condition has the same part in it: not in their cost"
    ),
    "cost_of_short": "{ns:latency} of CPU per request",
    "verdict_then": _then,
    "verdict_no_interval": lambda blocks, blocks_min, unit="block": _(
        "no interval from {blocks_text}, at least {blocks_min} are needed",
        blocks_text=blocks_text(blocks, unit),
        blocks_min=blocks_min,
    ),
    "carried_into_slices": lambda shift: _(
        "what a condition did reached into the next slice by {check_figure} %",
        check_figure=check_figure(-100 * expm1(-abs(shift))),
    ),
    "carried_by_cpu": lambda share: _(
        "a condition went on working while it was paused, with {share} % of the CPU of its slices",
        share=digits(100 * share, 2),
    ),
    "verdict_doubted": "it may be due to what reaches from one slice into the next",
    "verdict_still_rising": lambda name, rise: _(
        "{name} still got {rise} faster from the first to the last round; warm it up for longer "
        "and run it again, so that it is started again",
        name=name,
        rise=percent_text(rise),
    ),
    "verdict_still_moving": lambda shift: _(
        "the ratio still moved by {shift} from the first to the last round; warm up for longer "
        "and run it again, so that all is started again",
        shift=percent_text(shift),
    ),
    "verdict_others_had_cpus": lambda taken: _(
        "the interval excludes 0, but other programs used the CPUs; without them the rates could "
        "be {up_to_text}, which may explain the whole difference; more time does not help: run "
        "it again on a calm machine",
        up_to_text=_up_to_text(taken),
    ),
    "verdict_all_failed": "both conditions fail so often that the quantile falls among the failures",
    "verdict_more_minutes": minutes_text,
    "verdict_blocks_for_equivalence": "equivalence needs {blocks} blocks",
    "verdict_in_total": _in_total,
    "verdict_stalls": "stalls: {a} {stalls_a}, {b} {stalls_b}",
    "verdict_invalid": _invalid,
    "verdict_invalid_for": lambda check, reason: (
        _("INVALID: {check}, {reason}", check=check, reason=reason) if check else _("INVALID")
    ),
    "verdicts_faster": _several_faster,
    "verdicts_invalid": lambda checks: _("INVALID: {checks}", checks=", ".join(checks)),
    "verdicts_undecided": "UNDECIDED",
    "verdicts_not_decidable": "NOT DECIDABLE HERE",
    "verdict_at": _at_places,
    "sides_answer": _sides_answer,
    "family_answer": lambda sides: " ".join(sides),
    "forecast": _forecast,
}
