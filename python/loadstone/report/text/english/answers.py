"""The author's conclusions, answered with our data."""

from collections.abc import Callable, Sequence

from loadstone.percents import log_percent, ratio_text
from loadstone.report.text.english.figures import metric_text
from loadstone.report.text.english.grammar import capitalised, several


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
