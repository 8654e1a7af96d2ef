"""A study's original: the author's conclusions answered with our data, and what went wrong in the measurement."""

from collections.abc import Callable, Sequence

from loadstone.text.english.figures import capitalised, metric_text
from loadstone.text.figures import difference_text, digits, factor_text, is_times, log_percent, rounded
from loadstone.text.language import _, plural, translatable, translated

_PARTS = {
    "generator": translatable("the generator"),
    "subject": translatable("the application"),
    "server": translatable("the store"),
    "disk": translatable("the disk of the store"),
    "lock": translatable("a lock"),
    "pool": translatable("a pool of connections"),
    "network": translatable("the network"),
    "cpu": translatable("CPUs that parts share"),
    "latency": translatable("nothing but the round trips"),
    "paced": translatable("the load's own pace"),
    "unknown": translatable("something that could not be observed"),
}


def _best(figure: str, metric: str, label: str) -> str:
    return _("{figure} {metric_text} at {label}", figure=figure, metric_text=metric_text(metric), label=label)


def _reached(figure: str, metric: str, label: str, suspect: bool) -> str:
    return _("Yes: {best}{marked}.", best=_best(figure, metric, label), marked=_marked(suspect))


def _not_reached(figure: str, metric: str, label: str, suspect: bool) -> str:
    return _("Not here: {best}{marked}.", best=_best(figure, metric, label), marked=_marked(suspect))


def _in_interval(figure: str, metric: str, label: str, suspect: bool) -> str:
    return _(
        "Measured: {best}{marked}: the interval contains the claimed figure.",
        best=_best(figure, metric, label),
        marked=_marked(suspect),
    )


def _suspect(figure: str, metric: str, label: str) -> str:
    return _("Measured: {best} (suspect).", best=_best(figure, metric, label))


def _too_near(figure: str, metric: str, label: str, near_share: float, blocks: int) -> str:
    number = _("one block") if blocks <= 1 else _("{blocks} blocks", blocks=blocks)
    return _(
        "Measured: {best} (within {near_share:.0%} of the claim, too near for {number}).",
        best=_best(figure, metric, label),
        near_share=near_share,
        number=number,
    )


def _marked(suspect: bool) -> str:
    return _(" (suspect trials)") if suspect else ""


def _pairs_measured(pairs: int) -> str:
    return _("{pairs} of conditions were measured", pairs=plural(pairs, "{n} pair", "{n} pairs"))


def _waiting(shares: Sequence[float], against: Sequence[float]) -> str:
    return _(
        "Waiting for a connection took {here} of the response time, against {there}.",
        here=_span(shares),
        there=_span(against),
    )


def _span(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else _("{low} to {high}", low=low, high=high)


def _figure_at(label: str, figure: str, trials: Sequence[str], suspect: bool) -> str:
    return f"{label}: {figure}{_source(trials, suspect)}"


def _waiting_at(label: str, waiting_share: float, trials: Sequence[str], suspect: bool) -> str:
    return _(
        "{label}: {waiting_share:.1%} waiting{source}",
        label=label,
        waiting_share=waiting_share,
        source=_source(trials, suspect),
    )


def _source(trials: Sequence[str], suspect: bool) -> str:
    named = ", ".join(trials)
    return _(" ({trials}, suspect)", trials=named) if suspect else f" ({named})"


def _verdict_at(a: str, b: str, place: str, verdict: str, blocks: int) -> str:
    return _(
        "{b} against {a}{rest}: {verdict} ({blocks} blocks)",
        b=b,
        a=a,
        rest=_(" at {place}", place=place) if place else "",
        verdict=verdict,
        blocks=blocks,
    )


def _left_out(quick: bool, side_by_side: bool) -> str:
    if quick and side_by_side:
        return _(
            "--quick leaves out the comparison that answers it; the figures stand side by side. Run it without --quick "
            "for an answer."
        )
    if quick:
        return _("--quick leaves out these conditions. Run it without --quick for an answer.")
    if side_by_side:
        return _("This run leaves out the comparison that answers it; the figures stand side by side.")
    return _("This run leaves out these conditions.")


def _by_verdicts(
    verdicts: str, remark: str | None, holds_in: int | None, places: Sequence[str], sizes: Sequence[str], of: int
) -> str:
    some = (
        ""
        if holds_in is None or not 0 < holds_in < of
        else _("Confirmed in {holds_in} of {of}. ", holds_in=holds_in, of=of)
    )
    if len(sizes) == 1:
        claimed = f" {capitalised(sizes[0])}."
    else:
        claimed = "".join(
            _(" At {place}: {size}.", place=place, size=size) if place else f" {size}."
            for place, size in zip(places, sizes, strict=True)
        )
    return f"{some}{verdicts}{f' {remark}' if remark else ''}{claimed}"


def _size(claimed: float, estimate: float, low: float, high: float, inside: bool, too_wide: bool) -> str:
    """All are log ratios; the claimed figure is as exact as it was published: `+6.52 %`."""
    published = _("{factor} times", factor=factor_text(claimed))
    if not is_times(claimed):
        published = f"{log_percent(claimed):+.4g} %"
    figures = {"claimed": published, "measured": difference_text(estimate, low, high)}
    if inside and too_wide:
        return _(
            "claimed {claimed}, measured {measured}: the claimed figure lies inside, but the interval is too wide to "
            "confirm it",
            **figures,
        )
    if too_wide:
        return _(
            "claimed {claimed}, measured {measured}: the claimed figure lies outside, but the interval is too wide to "
            "confirm it",
            **figures,
        )
    if inside:
        return _("claimed {claimed}, measured {measured}: the claimed figure lies inside", **figures)
    return _("claimed {claimed}, measured {measured}: the claimed figure lies outside", **figures)


ANSWERS: dict[str, str | Callable[..., str]] = {
    "conclusions_heading": "Published conclusions, tested",
    "conclusions_brief_heading": "Published conclusions",
    "conclusions_counted": "Published conclusions: {verdicts_counted}.",
    "conclusions_by_verdict": lambda counted: ", ".join(counted),
    "conclusions_of_verdict": "{number} {verdict}",
    "claim_holds": "confirmed",
    "claim_direction_holds_size_does_not": "direction confirmed, size not",
    "claim_direction_holds_size_undecided": "direction confirmed, size undecided",
    "claim_size_does_not_hold": "size not confirmed",
    "claim_does_not_hold": "not confirmed",
    "claim_undecided": "undecided",
    "claim_not_answered_here": "not testable here",
    "claim_left_out_of_quick": "not in --quick",
    "claim_left_out": "left out",
    "claim_one_block": "no comparison: one block",
    "claim_no_valid_data": "no valid data",
    "answer_reached": _reached,
    "answer_not_reached": _not_reached,
    "answer_in_interval": _in_interval,
    "answer_suspect": _suspect,
    "answer_too_near": _too_near,
    "answer_pairs_once": lambda pairs: _(
        "{pairs_measured}, each once: one block cannot distinguish a difference from chance.",
        pairs_measured=_pairs_measured(pairs),
    ),
    "answer_pairs_not_compared": lambda pairs: _(
        "{pairs_measured}, and not compared in this run: their figures stand side by side.",
        pairs_measured=_pairs_measured(pairs),
    ),
    "answer_waiting": _waiting,
    "answer_no_data": "No trial of these conditions gave a usable figure; the checks give the reasons.",
    "answer_left_out": _left_out,
    "answer_by_verdicts": _by_verdicts,
    "answer_same_ratios": lambda metric: _(
        "(By the {metric_text}: the ratios of both are the same here.)", metric_text=metric_text(metric)
    ),
    "answer_time_by_rate": (
        "(In a closed model without pauses the mean time is the users over the rate: it falls as that rises.)"
    ),
    "answer_exploratory": lambda metric: _(
        "(By the {metric_text}; an exploratory metric.)", metric_text=metric_text(metric)
    ),
    "answer_size": _size,
    "evidence_figure": _figure_at,
    "evidence_waiting": _waiting_at,
    "evidence_verdict": _verdict_at,
    "evidence_pair": "{one} against {other}",
}


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _check(check: str, valid: int, suspect: int, invalid: int, unknown: int, worst: str | None) -> str:
    others = {"suspect": suspect, "invalid": invalid, "unknown": unknown}
    counted = [
        _("valid in {valid}", valid=plural(valid, "{n} trial", "{n} trials")),
        *(_("{name} in {n}", name=translated(name), n=n) for name, n in others.items() if n),
    ]
    figure = _("; the worst figure is {worst}", worst=worst) if worst else ""
    refused = _(" Invalid trials give no figure.") if invalid else ""
    return _(
        "`{check}` is {counted}{figure}.{refused}",
        check=check,
        counted=", ".join(counted),
        figure=figure,
        refused=refused,
    )


def _worst(measured: float, limit: float | None, unit: str, trial: str) -> str:
    """`83 %, limit 70 % (b02-001)`."""
    of = f" {unit}" if unit else ""
    at_most = "" if limit is None else _(", limit {limit}{of}", limit=digits(limit), of=of)
    return f"{digits(measured)}{of}{at_most} ({trial})"


def _repeats(blocks_min: int, blocks_max: int, spread_max: float, spread_typical: float, better_of_two: float) -> str:
    often = (
        f"{blocks_min}"
        if blocks_min == blocks_max
        else _("{blocks_min} to {blocks_max}", blocks_min=blocks_min, blocks_max=blocks_max)
    )
    return _(
        "Each condition was measured in {often} blocks, in random order. Single trials of one "
        "condition lie up to {widest} apart, typically {typical}: two single runs could not "
        "distinguish a smaller difference from chance, and keeping the better of two would have "
        "added {percent3}.",
        often=often,
        widest=_percent(spread_max),
        typical=_percent(spread_typical),
        percent3=_percent(better_of_two, 1),
    )


def _errors(
    failing: int, conditions: int, label: str, failed_share: float, counted_per_s: float, correct_per_s: float
) -> str:
    more = _(" ({percent} more)", percent=_percent(counted_per_s / correct_per_s - 1, 1)) if correct_per_s else ""
    return _(
        "Operations failed in {failing} of {conditions} conditions, most at {label}: {percent}. "
        "Counted too, they would make {counted_per_s} operations a second of {correct_per_s} "
        "correct replies{more}; only correct replies rank.",
        failing=failing,
        conditions=conditions,
        label=label,
        percent=_percent(failed_share, 2),
        counted_per_s=rounded(counted_per_s),
        correct_per_s=rounded(correct_per_s),
        more=more,
    )


def _bottlenecks(conditions: int, parts: Sequence[str], without: int, falls: str | None) -> str:
    left = _(" {without} more gave no figure.", without=without) if without else ""
    return _(
        "Bottleneck of {conditions}: {parts}.{left}{rest}",
        conditions=plural(conditions, "{n} condition", "{n} conditions"),
        parts=", ".join(parts),
        left=left,
        rest=f" {falls}" if falls else "",
    )


def _store_cpu_falls(
    before_cores: float, after_cores: float, first: str, last: str, label: str, more_cases: int
) -> str:
    more = _("; so it does in {more_cases} more", more_cases=more_cases) if more_cases else ""
    return _(
        "As users grow the store's CPU falls, from {few} of a core at {first} to {many} "
        "at {last} ({label}){more}: the store is not the bottleneck.",
        few=_percent(before_cores),
        first=first,
        many=_percent(after_cores),
        last=last,
        label=label,
        more=more,
    )


def _rows_counted(counted: int, unequal: int, keyed: str | None) -> str:
    if unequal:
        said = _(
            "Rows counted on the server are the correct replies in {equal} of {counted} trials ({counted} counted). "
            "In {unequal} they are not: these give no figure.",
            equal=counted - unequal,
            counted=counted,
            unequal=unequal,
        )
    else:
        said = _(
            "Rows counted on the server are the correct replies in every trial ({counted} counted).", counted=counted
        )
    return f"{said} {keyed}" if keyed else said


def _keys_counted(rows: int, keys: int, label: str) -> str:
    if not rows:
        return _(
            "A row is keys at {label}: counting keys would have given {keys:,} where {rows:,} rows were stored.",
            label=label,
            keys=keys,
            rows=rows,
        )
    return _(
        "A row is {per_row} keys at {label}: counting keys would have given {keys:,} where {rows:,} rows were stored.",
        per_row=digits(keys / rows),
        label=label,
        keys=keys,
        rows=rows,
    )


def _same_rows(data: Sequence[str]) -> str:
    return _("Every store held {data}, written before its first trial.", data=_(" and ").join(data))


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


def _saturates(label: str, users: float, low: float, high: float) -> str:
    return _("{label} at {users:,.0f} users [{low:,.0f}, {high:,.0f}]", label=label, users=users, low=low, high=high)


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


LESSONS: dict[str, str | Callable[..., str]] = {
    "lessons_heading": "What went wrong then, and what shows here",
    "lesson_caught": "caught",
    "lesson_did_not_happen": "did not happen",
    "lesson_unknown": "unknown",
    "lesson_caught_meaning": "It happened here, too, and was refused or kept apart.",
    "lesson_did_not_happen_meaning": (
        "This run checked for it and it did not happen; or this run answers what the original did not examine."
    ),
    "lesson_unknown_meaning": "This run cannot answer it.",
    "lesson_check": _check,
    "lesson_check_worst": _worst,
    "lesson_check_unknown": "No trial of this run could answer it: the check `{check}` has no figure.",
    "lesson_not_compared": "This run did not compare these conditions.",
    "lesson_no_figure": "No trial of this run gave a figure.",
    "lesson_once": "Each condition was measured once here, too: no difference is claimed from that.",
    "lesson_repeats": _repeats,
    "lesson_nothing_sent": "No operation was sent in this run.",
    "lesson_no_errors": "No operation failed in any of {conditions} conditions.",
    "lesson_errors": _errors,
    "lesson_bottlenecks_unknown": "The bottleneck of the conditions could not be observed.",
    "lesson_bottlenecks": _bottlenecks,
    "lesson_part_in": lambda part, conditions: _(
        "{parts} in {conditions}", parts=translated(_PARTS[part]), conditions=conditions
    ),
    "lesson_store_cpu_falls": _store_cpu_falls,
    "lesson_rows_vary": "How many rows of {data} a store held depends on the condition.",
    "lesson_no_rows": "No store that was given rows was driven in this run.",
    "lesson_same_rows": _same_rows,
    "lesson_rows_of": lambda data, rows, stores: _(
        "the same {rows:,} rows of {data} ({stores})", rows=rows, data=data, stores=", ".join(stores)
    ),
    "lesson_nothing_counted": "This run counted no stored rows on a server.",
    "lesson_rows_counted": _rows_counted,
    "lesson_keys_counted": _keys_counted,
    "lesson_separated": _separated,
    "lesson_no_saturation": "This run did not search for a saturation point.",
    "lesson_saturation_points": _saturation_points,
    "lesson_saturates": _saturates,
    "lesson_cpu": _cpu,
    "lesson_cpu_of": lambda part, cores: f"{part} {cores:.2f}",
    "lesson_cpu_of_condition": _cpu_of_condition,
    "lesson_cpu_unknown": "The CPU of no part is known.",
}
