"""The verdicts of comparisons, in fixed terms. Ratios are logarithms; one without an end is None."""

from collections.abc import Callable, Sequence
from math import expm1, inf

from loadstone.figures import check_figure, digits
from loadstone.percents import is_times, percent_text, ratio_text, times_text

AS_FAST = "times as fast"


def minutes_text(minutes: float) -> str:
    """The range in which the time still needed will lie: half to twice the estimate."""
    low, high = minutes / 2, minutes * 2
    decimals = 0 if low >= 1 else 1
    return f"about {max(low, 0.1):.{decimals}f} to {max(high, 0.2):.{decimals}f} more minutes"


def blocks_text(blocks: int, unit: str = "block") -> str:
    """`1 block`, `8 blocks`, `32 rounds`."""
    return f"{blocks} {unit}" if blocks == 1 else f"{blocks} {unit}s"


def _verdict(said: str, across: bool, quick: bool) -> str:
    return f"{'across: ' if across else ''}{said}{' (quick)' if quick else ''}"


def _ratio(estimate: float | None, low: float | None, high: float | None) -> str:
    """B against A."""
    ends = (-inf if low is None else low, inf if high is None else high)
    middle = estimate if estimate is not None else -inf if low is None and high is not None else inf
    return times_text(middle, *ends) if is_times(middle) else ratio_text(middle, *ends, sign=True)


def _equivalent(margin: float, negligible: bool, ratio: str | None) -> str:
    said = f"EQUIVALENT within {percent_text(margin)}{', real but negligible' if negligible else ''}"
    return said if ratio is None else f"{said}: {ratio}"


def _lead(lead: float | None, low: float | None, high: float | None) -> str:
    """How far the faster one leads, the larger over the smaller figure: `by 12 % [9, 15]`, `14.7 times as fast`."""
    ratios = [inf if end is None else end for end in (lead, low, high)]
    return times_text(*ratios, what=AS_FAST) if is_times(ratios[0]) else f"by {ratio_text(*ratios)}"


def _faster(winner: str, lead: float | None, low: float | None, high: float | None, materially: bool) -> str:
    by = _lead(lead, low, high)
    return f"{winner} FASTER{'' if by.startswith('by') else ','} {by}{', materially' if materially else ''}"


def _mixed_brief(larger_is_faster: bool) -> str:
    return f"MIXED: typically faster, {'less total work' if larger_is_faster else 'more total time'}"


def _mixed(
    larger_is_faster: bool, winner: str, lead: float | None, low: float | None, high: float | None, total: float | None
) -> str:
    by = f"{winner} {_lead(lead, low, high)}"
    return f"{_mixed_brief(larger_is_faster)} ({by}, {_in_total(total)})"


def _in_total(total: float | None) -> str:
    total = total or 0.0
    return f"in total {times_text(total) if is_times(total) else ratio_text(total, None, None, sign=True)}"


def _hidden(ratio: str, most: float | None) -> str:
    hides = "" if most is None else f"; the generator may hide up to {percent_text(most)}"
    return f"NOT DECIDABLE HERE: {ratio}{hides}"


def _not_decidable(noise_floor: float | None) -> str:
    return f"NOT DECIDABLE HERE: noise floor {'unknown' if noise_floor is None else f'+-{percent_text(noise_floor)}'}"


def _undecided(found: str, remarks: Sequence[str]) -> str:
    return f"UNDECIDED: {'; '.join([found, *remarks])}"


def _then(then: str, number: int | None, unit: str, reasoned: bool) -> str:
    if number is None:
        return f"in shorter slices it was {then}, which does not count"
    why = "does not stand for that reason" if reasoned else f"all {unit}s together do not confirm"
    return f"after {blocks_text(number, unit)} it was {then}, which {why}"


def _up_to_text(share: float) -> str:
    return "many times as high" if share >= 10 else f"up to {share:.0%} higher"


def _invalid(check: str, measured: float, limit: float, unit: str) -> str:
    unit = f" {unit}" if unit else ""
    return f"INVALID: {check}, measured {check_figure(measured)}{unit}, limit {check_figure(limit)}{unit}"


def _several_faster(winner: str, least: float, most: float) -> str:
    if is_times(most):
        return f"{winner} FASTER, {times_text(least, what='to')} {times_text(most, what=AS_FAST)}"
    return f"{winner} FASTER by {percent_text(least).removesuffix(' %')} to {percent_text(most)}"


def _at_places(verdict: str, places: Sequence[str]) -> str:
    """Places one after the other; where each has several parts, with strokes between them."""
    strokes = " / " if any(", " in place for place in places) else ", "
    return f"{verdict} at {strokes.join(places)}" if places else verdict


def _sides_answer(a: str, b: str, verdicts: Sequence[str], quick: bool) -> str:
    return f"{b} against {a}: {'; '.join(verdicts)}{' (quick)' if quick else ''}."


def _forecast(blocks: int, spread: float, effect: float, unit: str = "block") -> str:
    return (
        f"its {unit}s spread by {percent_text(spread)}: with {blocks} of them a difference of {percent_text(effect)} "
        "or more shows 8 times in 10"
    )


VERDICTS: dict[str, str | Callable[..., str]] = {
    "verdict": _verdict,
    "verdict_at_rate": lambda said, rate_per_s: f"{said} (at {rate_per_s:,.0f} a second)",
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
    "verdict_then": _then,
    "verdict_no_interval": lambda blocks, blocks_min, unit="block": (
        f"no interval from {blocks_text(blocks, unit)}, at least {blocks_min} are needed"
    ),
    "carried_into_slices": lambda shift: (
        f"what a condition did reached into the next slice by {check_figure(-100 * expm1(-abs(shift)))} %"
    ),
    "carried_by_cpu": lambda share: (
        f"a condition went on working while it was paused, with {digits(100 * share, 2)} % of the CPU of its slices"
    ),
    "verdict_doubted": "it may be due to what reaches from one slice into the next",
    "verdict_still_rising": lambda name, rise: (
        f"{name} still got {percent_text(rise)} faster from the first to the last round; warm it up for longer and run "
        "it again, so that it is started again"
    ),
    "verdict_still_moving": lambda shift: (
        f"the ratio still moved by {percent_text(shift)} from the first to the last round; warm up for longer and run "
        "it again, so that all is started again"
    ),
    "verdict_others_had_cpus": lambda taken: (
        f"other programs used the CPUs, without which the rates could be {_up_to_text(taken)}; run it again on a calm "
        "machine"
    ),
    "verdict_all_failed": "both conditions fail so often that the quantile falls among the failures",
    "verdict_more_minutes": minutes_text,
    "verdict_blocks_for_equivalence": "equivalence needs {blocks} blocks",
    "verdict_in_total": _in_total,
    "verdict_stalls": "stalls: {a} {stalls_a}, {b} {stalls_b}",
    "verdict_invalid": _invalid,
    "verdict_invalid_for": lambda check, reason: f"INVALID: {check}, {reason}" if check else "INVALID",
    "verdicts_faster": _several_faster,
    "verdicts_invalid": lambda checks: f"INVALID: {', '.join(checks)}",
    "verdicts_undecided": "UNDECIDED",
    "verdicts_not_decidable": "NOT DECIDABLE HERE",
    "verdict_at": _at_places,
    "sides_answer": _sides_answer,
    "family_answer": lambda sides: " ".join(sides),
    "forecast": _forecast,
}
