"""Comparisons: their verdicts in fixed terms, how they ended, what their checks found. Ratios are logarithms."""

from collections.abc import Callable, Mapping, Sequence
from math import expm1, inf
from typing import Any

from loadstone.figures import check_figure, digits, slice_text
from loadstone.language import _, of_author, several
from loadstone.percents import difference_text, factor_text, is_times, less_text, percent_text, ratio_text, times_text
from loadstone.report.text.english.figures import listed, metric_text, part_text

_LONGEST = 80


def minutes_text(minutes: float) -> str:
    """The range in which the time still needed will lie: half to twice the estimate."""
    low, high = minutes / 2, minutes * 2
    decimals = 0 if low >= 1 else 1
    return _(
        "about {low} to {high} more minutes", low=f"{max(low, 0.1):.{decimals}f}", high=f"{max(high, 0.2):.{decimals}f}"
    )


def blocks_text(blocks: int, unit: str = "block", *, always_many: bool = False) -> str:
    """`1 block`, `8 blocks`, `32 rounds`."""
    if always_many:
        return _("{n} rounds", n=blocks) if unit == "round" else _("{n} blocks", n=blocks)
    if unit == "round":
        return several(blocks, "{n} round", "{n} rounds")
    return several(blocks, "{n} block", "{n} blocks")


def units_text(unit: str) -> str:
    """`blocks`, `rounds`."""
    return _("rounds") if unit == "round" else _("blocks")


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


def _lead(lead: float | None, low: float | None, high: float | None) -> tuple[bool, str]:
    """How far the faster one leads, the larger over the smaller figure: `12 % [9, 15]`, `14.7 times as fast`; whether
    it is said as a factor.

    That it leads is decided: an end that is cut at no difference is beside it.
    """
    ratios = [inf if end is None else end for end in (lead, low, high)]
    if is_times(ratios[0]):
        return True, times_text(*ratios, as_fast=True, excludes_none=True)
    return False, ratio_text(*ratios, excludes_none=True)


def _faster(winner: str, lead: float | None, low: float | None, high: float | None, materially: bool) -> str:
    times, by = _lead(lead, low, high)
    said = (
        _("{winner} FASTER, {by}", winner=winner, by=by)
        if times
        else _("{winner} FASTER by {by}", winner=winner, by=by)
    )
    return _("{said}, materially", said=said) if materially else said


def _mixed_brief(larger_is_faster: bool) -> str:
    if larger_is_faster:
        return _("MIXED: typically faster, less total work")
    return _("MIXED: typically faster, more total time")


def _mixed(
    larger_is_faster: bool, winner: str, lead: float | None, low: float | None, high: float | None, total: float | None
) -> str:
    times, by = _lead(lead, low, high)
    figures = {"brief": _mixed_brief(larger_is_faster), "winner": winner, "by": by, "total": _in_total(total)}
    if times:
        return _("{brief} ({winner} {by}, {total})", **figures)
    return _("{brief} ({winner} by {by}, {total})", **figures)


def _in_total(total: float | None) -> str:
    return _("in total {difference_text}", difference_text=difference_text(total or 0.0))


def _hidden(ratio: str, most: float | None) -> str:
    hides = "" if most is None else _("; the generator may hide up to {most}", most=percent_text(most))
    return _("NOT DECIDABLE HERE: {ratio}{hides}", ratio=ratio, hides=hides)


def _not_decidable(noise_floor: float | None) -> str:
    if noise_floor is None:
        return _("NOT DECIDABLE HERE: noise floor unknown")
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


def _several_faster(winner: str, least: float, most: float) -> str:
    if is_times(most):
        return _(
            "{winner} FASTER, {least} to {most}",
            winner=winner,
            least=factor_text(least),
            most=times_text(most, as_fast=True),
        )
    return _(
        "{winner} FASTER by {least} to {most}",
        winner=winner,
        least=percent_text(least).removesuffix(" %"),
        most=percent_text(most),
    )


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


def _costs_less(winner: str, part: str, less: float, low: float | None, high: float | None) -> str:
    return _less(winner, part, less_text(less, low, high))


def _several_cost_less(winner: str, part: str, least: float, most: float) -> str:
    least_text = less_text(-least).removesuffix(" %")
    return _less(winner, part, _("{least} to {most}", least=least_text, most=less_text(-most)))


def _less(winner: str, part: str, less: str) -> str:
    if part in _ROLES:
        return _("{winner} COSTS {less} LESS CPU a request of {part}", winner=winner, less=less, part=part_text(part))
    return _("{winner} COSTS {part} {less} LESS CPU a request", winner=winner, part=part_text(part), less=less)


def _cost_equivalent(part: str, margin: float) -> str:
    figures = {"part": part_text(part), "margin": percent_text(margin)}
    if part in _ROLES:
        return _("both COST THE SAME CPU a request of {part} within {margin}", **figures)
    return _("both COST {part} THE SAME CPU a request within {margin}", **figures)


def _cost_open(part: str, ratio: str | None, why: str = "") -> str:
    said = _("which costs {part_text} less CPU is UNDECIDED", part_text=part_text(part))
    return f"{said}{'' if ratio is None else f': {ratio}'}{why and f'; {why}'}"


def _runs_apart(slower: float, others: float, idle: float = 0.0) -> str:
    """Between two runs: what the second one's machine may have added or taken; `slower` is a log ratio."""
    found = []
    if slower >= _TELLING:
        found.append(_("its CPUs were {share} slower in the second run", share=percent_text(slower)))
    if slower <= -_TELLING:
        found.append(_("its CPUs were {share} faster in the second run", share=percent_text(-slower)))
    if others >= _TELLING:
        found.append(_("other programs took up to {share:.0f} % of the CPUs", share=100 * others))
    if idle >= _WAKING:
        found.append(
            _("for {share:.0f} % of the time the part was idle, and each wake-up is in its cost", share=100 * idle)
        )
    return _("the machine may be the reason: {found}", found=listed(found))


_TELLING = 0.01
"""A smaller difference between two machines is not named."""
_WAKING = 0.1
"""Nor a part that was idle for less."""


VERDICTS: dict[str, str | Callable[..., str]] = {
    "verdict": _verdict,
    "verdict_at_rate": lambda said, rate_per_s: _(
        "{said} (at {rate_per_s:,.0f} a second)", said=said, rate_per_s=rate_per_s
    ),
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
    "cost_less": _costs_less,
    "costs_less": _several_cost_less,
    "cost_equivalent": _cost_equivalent,
    "cost_open": _cost_open,
    "cost_mixed": "most slices say so, and all slices together the opposite",
    "cost_moving": lambda moved: _(
        "it still moved by {moved} from the first to the last round; warm up for longer", moved=percent_text(moved)
    ),
    "cost_of_runs_apart": _runs_apart,
    "cost_of_heading": "Whose CPU a request takes",
    "cost_of_reading": (
        "Of whole trials the cost includes child processes; conditions that took turns have them beside it. User and "
        "system time are told apart by the kernel's ticks of 10 ms."
    ),
    "cost_of_place": "condition: part",
    "cost_of_place_meaning": "What was measured, and which part paid.",
    "cost_of_whole": "CPU a request",
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
    "cost_of_short": "{ns:latency} of CPU a request",
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


def _left_out(left_out: int, of: int, reasons: str) -> str:
    return _(
        "{left_out} of {of} blocks left out, by the checks of their trials: {reasons}.",
        left_out=left_out,
        of=of,
        reasons=reasons,
    )


def _invalid_in(check: str, trials: int) -> str:
    return several(trials, "{check} invalid in {n} trial", "{check} invalid in {n} trials", check=check)


def _after_last_look(blocks: int) -> str:
    return several(
        blocks,
        "{n} block was measured after the last look and not used: the error level allows no further look.",
        "{n} blocks were measured after the last look and not used: the error level allows no further look.",
    )


def _lengthened(slice_s: float | None, why: str) -> str:
    if slice_s is None:
        return _("Whole trials took the place of slices: {why}.", why=why)
    return _("Slices were lengthened to {slice}: {why}.", slice=slice_text(slice_s), why=why)


def _slices_of_runs(group: str, names: Sequence[str], slices_s: Sequence[float]) -> str:
    longer, shorter = (0, 1) if slices_s[0] > slices_s[1] else (1, 0)
    return _(
        "{group}: {longer} was measured in slices of {long}, {shorter} of {short}: slices get longer where something "
        "carries over, and at the end nothing was found to in either.",
        group=group,
        longer=names[longer],
        long=slice_text(slices_s[longer]),
        shorter=names[shorter],
        short=slice_text(slices_s[shorter]),
    )


def _goes_on_longer(slice_s: float | None, why: str) -> str:
    if slice_s is None:
        return _("whole trials from now on: {why}", why=why)
    return _("slices of {slice} from now on: {why}", slice=slice_text(slice_s), why=why)


def _metrics(metrics: Sequence[str]) -> str:
    return ", ".join(map(metric_text, metrics))


def _apart_in_time(a: str, b: str, groups_a: Sequence[str], groups_b: Sequence[str]) -> str:
    measured = _(
        "{a} with '{groups_a}' and {b} with '{groups_b}'",
        a=a,
        groups_a=", ".join(groups_a),
        b=b,
        groups_b=", ".join(groups_b),
    )
    return _(
        "Not compared: {a} and {b} were measured at different times, {measured}; {declare}",
        a=a,
        b=b,
        measured=measured,
        declare=_DECLARE,
    )


_DECLARE = "declare a comparison of them, so that each block measures both."
COMPARISONS: dict[str, str | Callable[..., str]] = {
    "ended_decided": "It stopped because every pair was settled, by its rates or by what a request costs.",
    "ended_last_look": "It stopped at the last planned look.",
    "ended_out_of_budget": "It stopped because the time budget was spent.",
    "ended_not_needed": "It stopped because the gate had its answer.",
    "ended_spoiled": (
        "It stopped because something outside disturbed too many blocks, including those that were measured again."
    ),
    "ended_carry_over": (
        "It stopped because something reached from one slice into the next, and there was no time for longer ones."
    ),
    "slices_lengthened": _lengthened,
    "slices_of_runs_unlike": _slices_of_runs,
    "goes_on_longer": _goes_on_longer,
    "ended_interrupted": "It stopped because the run was interrupted.",
    "ended_going_on": "It was still going on when the run ended.",
    "ended_two_runs": "two separate runs",
    "block_trials_invalid": lambda trials: "; ".join(trials),
    "trial_invalid": "{trial}: {checks:list} invalid",
    "block_after_last_look": "measured after the last look",
    "block_without_figure": "a trial gives no such figure",
    "block_left_out": "block {block} ({why})",
    "blocks_left_out": lambda left_out, of, blocks: _left_out(left_out, of, "; ".join(blocks)),
    "blocks_left_out_by": lambda left_out, of, checks: _left_out(left_out, of, ", ".join(checks)),
    "check_invalid_in": _invalid_in,
    "blocks_after_last_look": _after_last_look,
    "bound_by_shared_cpu": (
        "the processes of a condition share CPUs that are full, so their placement decides: instances on CPUs of "
        "their own may differ otherwise."
    ),
    "rate_against_cost": lambda faster, cheaper, part: _(
        "rate and cost differ: {faster} is faster with this client and this load; {cheaper} "
        "costs {part_text} less CPU, which decides once {part_text} is full.",
        faster=faster,
        cheaper=cheaper,
        part_text=part_text(part),
    ),
    "both_latency_bound": "both conditions were latency-bound: this ranks round trips, not capacity.",
    "both_generator_bound": (
        "both conditions were generator-bound: this ranks what the generator can send, not the server."
    ),
    "both_pool_bound": "both conditions were pool-bound: this ranks the waiting for connections, not the server.",
    "both_paced": "both conditions were paced: their rates were set from outside, and only latencies can differ.",
    "not_listed": lambda metrics, like: _(
        "Not listed: {metrics}. The same ratios as {metric_text}.",
        metrics=_metrics(metrics),
        metric_text=metric_text(like),
    ),
    "metrics_not_compared": lambda metrics, reason: _(
        "Not compared: {metrics}. {reason}.", metrics=_metrics(metrics), reason=reason.rstrip(".")
    ),
    "latencies_not_compared": lambda reason: _("Not compared: latencies. {reason}.", reason=reason.rstrip(".")),
    "pair_not_measured": "Not compared: {name} was not measured.",
    "pair_apart_in_time": _apart_in_time,
    "pair_without_block": (
        "Not compared: {a} and {b} have no finished block in common; declare a comparison of them, so that each block "
        "measures both."
    ),
    "pairs_apart": "{pairs} more pairs match and cannot be compared, for example: {first}",
    "costs_of_runs_unlike": lambda first, more: _(
        "CPU a request is not compared: {first}{rest}.",
        first=first,
        rest=_(", and {more} more", more=more) if more else "",
    ),
    "conditions_in_one_run": lambda conditions: several(
        conditions,
        "{n} condition was not measured in both runs and not compared.",
        "{n} conditions were not measured in both runs and not compared.",
    ),
    "trials_left_out": "{trials} of {of} trials in {run} invalid and left out: {check}.",
    "trials_suspect": "{trials} of {of} trials in {run} suspect and used: {check}.",
    "note_of_run": "{run}: {note}",
}


def _few(blocks: int, needed: int, unit: str = "block") -> str:
    return _(
        "{blocks_text}: a verdict needs {needed}, since one run differs from the next by chance.",
        blocks_text=blocks_text(blocks, unit),
        needed=needed,
    )


def _few_trials(a: int, b: int, names: list[str], needed: int) -> str:
    return _(
        "{a} usable trials in {first} and {b} in {second}: a verdict needs {needed} in each.",
        a=a,
        first=names[0],
        b=b,
        second=names[1],
        needed=needed,
    )


def _rates(a: float, b: float, closed: bool) -> str:
    why = _(": in a closed model the faster one also sends more") if closed else ""
    return _("{a:,.0f} operations a second were offered to the one and {b:,.0f} to the other{why}.", a=a, b=b, why=why)


PAIR_CHECKS: Mapping[str, str | Callable[..., str]] = {
    "pair.carry_over.few": "Too few slices follow one of their own condition.",
    "pair.carry_over.shifts": (
        "Slices right after another condition's differ by {percent:.1f} % from those after their own: something is "
        "carried over, and longer slices are needed."
    ),
    "pair.carry_over.paused": (
        "A condition's own servers or applications went on working while it was paused: {percent:.1f} % of the CPU "
        "time that they use in its slices, taken from the slices of others."
    ),
    "pair.clock.coarse": (
        "The clock moves in steps of {step_ns:,.0f} ns, and the figures are around {figures_ns:,.0f} ns."
    ),
    "pair.error_difference.unequal": (
        "{a:.3g} % of the operations of the one failed, and {b:.3g} % of the other: not the same work."
    ),
    "pair.figures.missing": "{without} of {of} blocks give no such figure.",
    "pair.gain.both": (
        "The generator limited both: without it each could do up to {percent:.0f} % more, and the interval is as much "
        "wider."
    ),
    "pair.offered_rate.differs": _rates,
    "pair.offered_rate.not_known": "No rate is known.",
    "pair.order_effect.depends": (
        "The difference depends on which of the two runs first (p = {p_value:.2g}): something is carried over "
        "from one trial to the next."
    ),
    "pair.order_effect.no_block": "No block was used.",
    "pair.order_effect.one_first": "The same one always ran first.",
    "pair.replication.few": _few,
    "pair.replication.few_trials": _few_trials,
    "pair.replication.one_first": (
        "The same condition ran first in every block: what the order does looks like a difference."
    ),
    "pair.samples.few": "{operations:,} operations lie beyond the quantile: so few move it by chance.",
    "pair.samples.no_figure": (
        "{without} of {of} trials give no such figure: too few operations in a trial, or too many failed"
    ),
    "pair.warm_up.rises": "The rate rises by {percent:.0f} % within the trials of one of the two: it was not warm yet.",
}


def _difference(what: str, a_name: str, b_name: str, a: Any, b: Any, conditions: int) -> str:
    number = _(" ({conditions} conditions)", conditions=conditions) if conditions > 1 else ""
    return _(
        "{what} is {in_a} in {a_name} and {in_b} in {b_name}{number}",
        what=what,
        in_a=_shortened(a),
        a_name=a_name,
        in_b=_shortened(b),
        b_name=b_name,
        number=number,
    )


def _shortened(value: Any) -> str:
    said = _value(value)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."


def _value(value: Any) -> str:
    if value is None:
        return _("not known")
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if isinstance(value, list):
        return ", ".join(map(str, value)) or _("none")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {word}" for key, word in value.items()) or "none"
    return str(value) or "empty"


RUN_DIFFERENCES: dict[str, str | Callable[..., str]] = {
    "run_difference": _difference,
    "run_machines_differ": "{a_name} and {b_name} were measured on different machines",
}
