"""The answer of a family: a sentence for each two sides, made of its verdicts."""

from collections.abc import Sequence
from itertools import groupby

from loadstone.analyse.model import Comparison
from loadstone.judge.verdict import Verdict
from loadstone.message import Message, message

_KINDS = ("faster", "mixed", "equivalent", "undecided", "not_decidable", "invalid")
EACH_MAX = 4
"""Up to so many pairs of the same two sides are named one by one; more are put together by their verdicts."""


def family_answer(comparisons: Sequence[Comparison]) -> Message:
    """A sentence for each two sides that are compared: `string against json: string FASTER by 12 % [9, 15] at 1 kB.`"""
    by_sides: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        by_sides.setdefault((comparison.primary.a.name, comparison.primary.b.name), []).append(comparison)
    quick = bool(comparisons) and all(one.primary.quick for one in comparisons)
    sides = [
        message("sides_answer", a=a, b=b, verdicts=_verdicts(pairs), quick=quick) for (a, b), pairs in by_sides.items()
    ]
    return message("family_answer", sides=sides)


def _verdicts(pairs: Sequence[Comparison]) -> list[Message]:
    if len(pairs) <= EACH_MAX:
        return [_at(pair.primary.brief, [pair]) for pair in pairs]
    grouped = [list(members) for _, members in groupby(sorted(pairs, key=_rank), key=_rank)]
    return [_at(_together([pair.primary for pair in members]), members) for members in grouped]


def _rank(pair: Comparison) -> tuple[int, str]:
    """What is decided comes first, and the same winner together."""
    return _KINDS.index(pair.primary.kind), pair.primary.winner or ""


def _together(found: Sequence[Verdict]) -> Message:
    """Several verdicts of one kind and one winner."""
    first = found[0]
    if len(found) == 1 or first.kind in ("equivalent", "mixed"):
        return first.brief
    if first.kind == "faster":
        leads = sorted(abs(one.estimate or 0.0) for one in found)
        return message("verdicts_faster", winner=first.winner_name, least=leads[0], most=leads[-1])
    if first.kind == "invalid":
        return message("verdicts_invalid", checks=sorted({one.refusal.name for one in found if one.refusal}))
    return message("verdicts_undecided") if first.kind == "undecided" else message("verdicts_not_decidable")


def _at(verdict: Message, pairs: Sequence[Comparison]) -> Message:
    return message("verdict_at", verdict=verdict, places=[pair.place for pair in pairs if pair.place])
