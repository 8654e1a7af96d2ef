"""How a version stands against its base, as a gate asks: is it slower by more than does not matter?

Red is one thing only: a figure that is worse by more than its margin, with the whole interval on that side. What a
request costs in CPU is the exactest figure on a busy machine, and the rate may be hidden by whoever makes the load, so
one of the two suffices for green. P99 and memory, of which a minute shows less, can make it red, and keep none open.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from loadstone.judge.gate_result import FigureName, GateFigure, GateVerdict, Standing
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict

SLOWER_STATUS, INVALID_STATUS, UNDECIDED_STATUS = 1, 3, 4
DECIDING: frozenset[FigureName] = frozenset({"rate", "cpu"})
GOOD: frozenset[Standing] = frozenset({"same", "not_slower", "faster"})


def standing(verdict: Verdict, starts: float = 0.0) -> Standing:
    """What a verdict says of B, for a gate.

    `starts`: by how much (ln) two processes of one version differ that were started once, one standard deviation. What
    may come of that is said of no version; that the one is not slower is said of these two processes.
    """
    found = _of_processes(verdict)
    if not within_starts(verdict, starts):
        return found
    return "undecided" if found == "slower" else "not_slower" if found == "faster" else found


def within_starts(verdict: Verdict, starts: float) -> bool:
    """Whether two starts of one version may differ by what these two processes differ by: at the interval's level."""
    if not starts or None in (verdict.estimate, verdict.low, verdict.high):
        return False
    sign = -1 if verdict.larger_is_faster else 1
    loss, *ends = (sign * (one or 0.0) for one in (verdict.estimate, verdict.low, verdict.high))
    reach = starts_reach(starts, verdict.level)
    least, most = loss - math.hypot(loss - min(ends), reach), loss + math.hypot(max(ends) - loss, reach)
    return least <= verdict.log_margin and most >= 0


def starts_reach(starts: float, level: float | None) -> float:
    """How far apart (ln) two starts of one version may be at such a level, both normal."""
    return NormalDist().inv_cdf((1 + (level or 0.95)) / 2) * math.sqrt(2) * starts


def _of_processes(verdict: Verdict) -> Standing:
    if verdict.kind == "invalid":
        return "undecided" if verdict.refusal is not None and verdict.refusal.name == "samples" else "invalid"
    if verdict.kind == "equivalent":
        return "same"
    if verdict.kind == "faster":
        if verdict.winner == "b":
            return "faster"
        return "slower" if verdict.materially else "undecided"
    return "not_slower" if _is_not_slower(verdict) else "undecided"


def _is_not_slower(verdict: Verdict) -> bool:
    """Whether an open difference is known not to be a loss beyond the margin, nor are the totals of all slices."""
    moved = verdict.unsteady is not None or verdict.carried is not None or verdict.doubted
    if verdict.kind == "mixed" or moved or verdict.low is None or verdict.high is None:
        return False
    sign = -1 if verdict.larger_is_faster else 1
    worst = max(sign * verdict.low, sign * verdict.high)
    total = 0.0 if verdict.total is None else sign * verdict.total
    return max(worst, total) <= verdict.log_margin


def needs_more(primary: Verdict, dearest: Verdict | None, *, ends: bool) -> bool:
    """Whether more blocks of a comparison may change what a gate says.

    Of rates: neither rate nor CPU is known to be good, whatever the forecast, or one of them looks like a loss though
    the other is. Of others: it would not end by itself, or looks like a loss.

    Args:
        primary: the verdict by the comparison's metric.
        dearest: the one by the CPU a request of the part that takes most of it.
        ends: whether any other comparison would end.
    """
    found = [(one, standing(one)) for one in (primary, dearest) if one is not None]
    standings = {of for _, of in found}
    if "slower" in standings or standing(primary) == "invalid":
        return False
    known = not GOOD.isdisjoint(standings) if is_rate(primary.metric) else ends
    return not known or any(of == "undecided" and _looks_lost(one) for one, of in found)


def _looks_lost(verdict: Verdict) -> bool:
    """Whether an open difference is more likely a loss beyond the margin than not."""
    if verdict.estimate is None:
        return False
    loss = (-1 if verdict.larger_is_faster else 1) * verdict.estimate
    return loss > verdict.log_margin or (verdict.kind == "faster" and verdict.winner != "b")


def shows_loss(evidence: Evidence, settings: Settings) -> bool:
    """Whether few blocks make it likely that more of them would show a loss: it lies beyond the margin by more than the
    standard error. Of equal versions one in 14 looks so, by chance.
    """
    if evidence.estimate is None or evidence.spread is None:
        return False
    loss = (-1 if settings.larger_is_faster else 1) * evidence.estimate
    return loss - settings.log_margin > evidence.spread / math.sqrt(evidence.blocks)


def is_over(primary: Verdict, dearest: Verdict | None, starts: float = 0.0) -> bool:
    """Whether nothing else that could be measured changes what a gate says: it is slower, or invalid."""
    return forbids(primary) or any(standing(one, starts) == "slower" for one in (primary, dearest) if one is not None)


def forbids(primary: Verdict) -> bool:
    """Whether what makes a comparison invalid does so to the whole gate: of rates anything, of others failed requests.

    A P99 of too few operations, or on parts that were not warm yet, is no reason to say nothing of the rate.
    """
    refusal = primary.refusal
    return (
        standing(primary) == "invalid" and refusal is not None and (is_rate(primary.metric) or refusal.name == "errors")
    )


def verdict_of(
    figures: Sequence[GateFigure], twin: Sequence[GateFigure] = (), *, invalid: bool = False
) -> tuple[GateVerdict, list[FigureName]]:
    """The verdict over all figures, and those that it rests on."""
    apart = [one.name for one in twin if _differs(one)]
    if invalid or apart:
        return "invalid", apart
    slower = [one.name for one in figures if one.verdict == "slower"]
    if slower:
        return "slower", slower
    good = [one for one in deciding(figures) if one.verdict in GOOD]
    if not good:
        return "undecided", []
    faster = [one.name for one in good if one.verdict == "faster"]
    if faster:
        return "faster", faster
    return "same", [one.name for one in figures if one.verdict in GOOD]


def deciding(figures: Sequence[GateFigure]) -> list[GateFigure]:
    """The figures of which one must be decided: rate and CPU, or at a rate, of what runs elsewhere, the P99."""
    return [one for one in figures if one.name in DECIDING] or [one for one in figures if one.name == "p99"]


def status_of(verdict: GateVerdict, undecided: Literal["status", "pass", "fail"] = "status") -> int:
    """The exit status of a verdict; `undecided`: what becomes of what is not decidable here."""
    if verdict == "undecided":
        return {"status": UNDECIDED_STATUS, "pass": 0, "fail": SLOWER_STATUS}[undecided]
    return {"slower": SLOWER_STATUS, "invalid": INVALID_STATUS}.get(verdict, 0)


def _differs(twin: GateFigure) -> bool:
    """Whether the base differs from itself by more than the tolerance: then this machine shows what is not there."""
    return twin.verdict in ("slower", "invalid") or (
        twin.verdict == "faster" and twin.slower_high is not None and -twin.slower_high > twin.tolerance
    )
