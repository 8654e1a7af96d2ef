"""The answer of a family in one or two sentences, in the words of its verdicts."""

from collections.abc import Sequence
from itertools import groupby

from loadstone.analyse.model import Comparison
from loadstone.judge.judgement import Judgement
from loadstone.judge.statistics import wording

_KINDS = ("faster", "mixed", "equivalent", "undecided", "not_decidable", "invalid")
EACH_MAX = 4
"""Up to so many pairs of the same two sides are told one by one; more are put together by their verdicts."""


def family_answer(comparisons: Sequence[Comparison]) -> str:
    """A sentence for each two sides that are compared: `string against json: string FASTER by 12 % [9, 15] at 1 kB.`"""
    by_sides: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        by_sides.setdefault((comparison.primary.a.name, comparison.primary.b.name), []).append(comparison)
    sentences = [f"{b} against {a}: {_verdicts(pairs)}" for (a, b), pairs in by_sides.items()]
    quick = " (quick)" if comparisons and all(c.primary.words.endswith("(quick)") for c in comparisons) else ""
    return " ".join(f"{sentence}{quick}." for sentence in sentences)


def short_words(judged: Judgement) -> str:
    """A verdict without what only its own place has room for: the time that is still needed, the total."""
    if judged.kind == "equivalent":
        negligible = ", real but negligible" if judged.negligible else ""
        return f"EQUIVALENT within {_margin(judged)}{negligible}"
    if judged.kind == "mixed":
        return judged.words.split(" (")[0]
    return judged.words.removesuffix(" (quick)").split("; ")[0]


def _verdicts(pairs: Sequence[Comparison]) -> str:
    if len(pairs) <= EACH_MAX:
        return "; ".join(_at(short_words(pair.primary), [pair]) for pair in pairs)
    grouped = [list(members) for _, members in groupby(sorted(pairs, key=_rank), key=_rank)]
    return "; ".join(_at(_together([pair.primary for pair in members]), members) for members in grouped)


def _rank(pair: Comparison) -> tuple[int, str]:
    """What is decided comes first, and the same winner together."""
    return _KINDS.index(pair.primary.kind), pair.primary.winner or ""


def _together(judged: Sequence[Judgement]) -> str:
    """Several verdicts of one kind and one winner."""
    first = judged[0]
    if len(judged) == 1 or first.kind in ("equivalent", "mixed"):
        return short_words(first)
    if first.kind == "faster":
        winner = first.a.name if first.winner == "a" else first.b.name
        leads = sorted(abs(one.estimate or 0.0) for one in judged)
        least, most = wording.percent_text(leads[0]), wording.percent_text(leads[-1])
        return f"{winner} FASTER by {least.removesuffix(' %')} to {most}"
    if first.kind == "invalid":
        names = sorted({one.words.removeprefix("INVALID: ").split(",")[0] for one in judged})
        return f"INVALID: {', '.join(names)}"
    return {"undecided": "UNDECIDED", "not_decidable": "NOT DECIDABLE HERE"}[first.kind]


def _at(words: str, pairs: Sequence[Comparison]) -> str:
    places = [pair.place for pair in pairs if pair.place]
    return f"{words} at {_listed(places)}" if places else words


def _listed(places: Sequence[str]) -> str:
    """Places one after the other; where each has several parts, with strokes between them."""
    return (" / " if any(", " in place for place in places) else ", ").join(places)


def _margin(judged: Judgement) -> str:
    return f"{100 * judged.margin:g} %"
