"""A study's original: the author's conclusions answered with our data, and what went wrong in the measurement."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits, rounded
from loadstone.percents import log_percent, ratio_text
from loadstone.report.text.english.figures import capitalised, metric_text, several

_PARTS = {
    "generator": "the generator",
    "subject": "the application",
    "server": "the store",
    "disk": "the disk of the store",
    "lock": "a lock",
    "pool": "a pool of connections",
    "network": "the network",
    "cpu": "CPUs that parts share",
    "latency": "nothing but the round trips",
    "paced": "the load's own pace",
    "unknown": "something that could not be observed",
}


def _best(figure: str, metric: str, label: str) -> str:
    return f"{figure} {metric_text(metric)} at {label}"


def _reached(figure: str, metric: str, label: str, suspect: bool) -> str:
    return f"Yes: {_best(figure, metric, label)}{_marked(suspect)}."


def _not_reached(figure: str, metric: str, label: str, suspect: bool) -> str:
    return f"Not here: {_best(figure, metric, label)}{_marked(suspect)}."


def _in_interval(figure: str, metric: str, label: str, suspect: bool) -> str:
    return f"Measured: {_best(figure, metric, label)}{_marked(suspect)}: the interval holds the claimed figure."


def _suspect(figure: str, metric: str, label: str) -> str:
    return f"Measured: {_best(figure, metric, label)} (suspect)."


def _too_near(figure: str, metric: str, label: str, near_share: float, blocks: int) -> str:
    number = "one block" if blocks <= 1 else f"{blocks} blocks"
    return f"Measured: {_best(figure, metric, label)} (within {near_share:.0%} of the claim, too near for {number})."


def _marked(suspect: bool) -> str:
    return " (suspect trials)" if suspect else ""


def _pairs_measured(pairs: int) -> str:
    return f"{several(pairs, 'pair')} of conditions were measured"


def _waiting(shares: Sequence[float], against: Sequence[float]) -> str:
    return f"Waiting for a connection took {_span(shares)} of the response time, against {_span(against)}."


def _span(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


def _figure_at(label: str, figure: str, trials: Sequence[str], suspect: bool) -> str:
    return f"{label}: {figure}{_source(trials, suspect)}"


def _waiting_at(label: str, waiting_share: float, trials: Sequence[str], suspect: bool) -> str:
    return f"{label}: {waiting_share:.1%} waiting{_source(trials, suspect)}"


def _source(trials: Sequence[str], suspect: bool) -> str:
    return f" ({', '.join(trials)}{', suspect' if suspect else ''})"


def _verdict_at(a: str, b: str, place: str, verdict: str, blocks: int) -> str:
    return f"{b} against {a}{f' at {place}' if place else ''}: {verdict} ({blocks} blocks)"


def _left_out(quick: bool, side_by_side: bool) -> str:
    what = "--quick" if quick else "This run"
    full = " Run it without --quick for an answer." if quick else ""
    if side_by_side:
        return f"{what} leaves out the comparison that answers it; the figures stand side by side.{full}"
    return f"{what} leaves out these conditions.{full}"


def _by_verdicts(
    verdicts: str, remark: str | None, holds_in: int | None, places: Sequence[str], sizes: Sequence[str], of: int
) -> str:
    some = "" if holds_in is None or not 0 < holds_in < of else f"Holds in {holds_in} of {of}. "
    if len(sizes) == 1:
        claimed = f" {capitalised(sizes[0])}."
    else:
        claimed = "".join(
            f" At {place}: {size}." if place else f" {size}." for place, size in zip(places, sizes, strict=True)
        )
    return f"{some}{verdicts}{f' {remark}' if remark else ''}{claimed}"


def _size(claimed: float, estimate: float, low: float, high: float, inside: bool, too_wide: bool) -> str:
    """All are log ratios; the claimed figure is as exact as it was published: `+6.52 %`."""
    measured = ratio_text(estimate, low, high, sign=True)
    place = "inside" if inside else "outside"
    wide = ", but the interval is too wide to confirm it" if too_wide else ""
    return f"claimed {log_percent(claimed):+.4g} %, measured {measured}: the claimed figure lies {place}{wide}"


ANSWERS: dict[str, str | Callable[..., str]] = {
    "claim_holds": "holds",
    "claim_direction_holds_size_does_not": "direction holds, size does not",
    "claim_direction_holds_size_undecided": "direction holds, size undecided",
    "claim_size_does_not_hold": "size does not hold",
    "claim_does_not_hold": "does not hold",
    "claim_undecided": "undecided",
    "claim_not_answered_here": "not answered here",
    "claim_left_out_of_quick": "left out of --quick",
    "claim_left_out": "left out",
    "claim_one_block": "no comparison: one block",
    "claim_no_valid_data": "no valid data",
    "answer_reached": _reached,
    "answer_not_reached": _not_reached,
    "answer_in_interval": _in_interval,
    "answer_suspect": _suspect,
    "answer_too_near": _too_near,
    "answer_pairs_once": lambda pairs: (
        f"{_pairs_measured(pairs)}, each once: one block cannot distinguish a difference from chance."
    ),
    "answer_pairs_not_compared": lambda pairs: (
        f"{_pairs_measured(pairs)}, and not compared in this run: their figures stand side by side."
    ),
    "answer_waiting": _waiting,
    "answer_no_data": "No trial of these conditions gave a usable figure; the checks give the reasons.",
    "answer_left_out": _left_out,
    "answer_by_verdicts": _by_verdicts,
    "answer_same_ratios": lambda metric: f"(By the {metric_text(metric)}: the ratios of both are the same here.)",
    "answer_time_by_rate": (
        "(In a closed model without pauses the mean time is the users over the rate: it falls as that rises.)"
    ),
    "answer_exploratory": lambda metric: f"(By the {metric_text(metric)}; an exploratory metric.)",
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
    counted = [f"valid in {several(valid, 'trial')}", *(f"{name} in {n}" for name, n in others.items() if n)]
    figure = f"; the worst figure is {worst}" if worst else ""
    refused = " Invalid trials give no figure." if invalid else ""
    return f"`{check}` is {', '.join(counted)}{figure}.{refused}"


def _worst(measured: float, limit: float | None, unit: str, trial: str) -> str:
    """`83 %, limit 70 % (b02-001)`."""
    of = f" {unit}" if unit else ""
    at_most = "" if limit is None else f", limit {digits(limit)}{of}"
    return f"{digits(measured)}{of}{at_most} ({trial})"


def _repeats(blocks_min: int, blocks_max: int, spread_max: float, spread_typical: float, better_of_two: float) -> str:
    often = f"{blocks_min}" if blocks_min == blocks_max else f"{blocks_min} to {blocks_max}"
    return (
        f"Each condition was measured in {often} blocks, in random order. Single trials of one condition lie up to "
        f"{_percent(spread_max)} apart, typically {_percent(spread_typical)}: two single runs could not distinguish a "
        f"smaller difference from chance, and keeping the better of two would have added {_percent(better_of_two, 1)}."
    )


def _errors(
    failing: int, conditions: int, label: str, failed_share: float, counted_per_s: float, correct_per_s: float
) -> str:
    more = f" ({_percent(counted_per_s / correct_per_s - 1, 1)} more)" if correct_per_s else ""
    return (
        f"Operations failed in {failing} of {conditions} conditions, most at {label}: {_percent(failed_share, 2)}. "
        f"Counted too, they would make {rounded(counted_per_s)} operations a second of {rounded(correct_per_s)} "
        "correct "
        f"replies{more}; only correct replies rank."
    )


def _bottlenecks(conditions: int, parts: Sequence[str], without: int, falls: str | None) -> str:
    left = f" {without} more gave no figure." if without else ""
    return f"Bottleneck of {several(conditions, 'condition')}: {', '.join(parts)}.{left}{f' {falls}' if falls else ''}"


def _store_cpu_falls(
    before_cores: float, after_cores: float, first: str, last: str, label: str, more_cases: int
) -> str:
    more = f"; so it does in {more_cases} more" if more_cases else ""
    return (
        f"As users grow the store's CPU falls, from {_percent(before_cores)} of a core at {first} to "
        f"{_percent(after_cores)} at {last} ({label}){more}: the store is not the bottleneck."
    )


def _rows_counted(counted: int, unequal: int, keyed: str | None) -> str:
    equal = f"{counted - unequal} of {counted} trials" if unequal else "every trial"
    said = f"Rows counted on the server are the correct replies in {equal} ({counted} counted)."
    differing = f" In {unequal} they are not: these give no figure." if unequal else ""
    return f"{said}{differing}{f' {keyed}' if keyed else ''}"


def _keys_counted(rows: int, keys: int, label: str) -> str:
    per_row = f"{digits(keys / rows)} keys" if rows else "keys"
    return f"A row is {per_row} at {label}: counting keys would have given {keys:,} where {rows:,} rows were stored."


def _same_rows(data: Sequence[str]) -> str:
    return f"Every store held {' and '.join(data)}, written before its first trial."


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
    "lesson_part_in": lambda part, conditions: f"{_PARTS[part]} in {conditions}",
    "lesson_store_cpu_falls": _store_cpu_falls,
    "lesson_rows_vary": "How many rows of {data} a store held depends on the condition.",
    "lesson_no_rows": "No store that was given rows was driven in this run.",
    "lesson_same_rows": _same_rows,
    "lesson_rows_of": lambda data, rows, stores: f"the same {rows:,} rows of {data} ({', '.join(stores)})",
    "lesson_nothing_counted": "This run counted no stored rows on a server.",
    "lesson_rows_counted": _rows_counted,
    "lesson_keys_counted": _keys_counted,
}
