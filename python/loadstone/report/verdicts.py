"""Comparisons in words and figures, the same in every format."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from loadstone.analyse.model import Analysis, Comparison, Family
from loadstone.judge.judgement import Judgement, Side, VerdictKind
from loadstone.report import format as fmt

MARKS: dict[VerdictKind, str] = {
    "faster": "▲",
    "equivalent": "=",
    "mixed": "~",
    "undecided": "?",
    "not_decidable": "?",
    "invalid": "✕",
}

_ENDED = {
    "decided": "It stopped because every pair was settled: more blocks would change no verdict.",
    "last look": "It stopped at the last look: as many blocks as were planned at most.",
    "out of budget": "It stopped because the time budget was spent.",
    "spoiled": "It stopped because something outside spoiled too many blocks, those measured again among them.",
    "interrupted": "It stopped because the run was interrupted.",
    "go on": "It was still going on when the run ended.",
}
"""Why a comparison got no more blocks, by `Comparison.ended`."""


_VARYING = re.compile(r"\(.*\)|[\w-]*[0-9][\w.,-]*")
"""Figures, names of trials and what stands in brackets: warnings that differ in these only say the same."""


class Interval(NamedTuple):
    """An interval of log ratios; an end may be infinite."""

    low: float
    high: float


def pair_name(comparison: Comparison) -> str:
    """`string against json`: B against A, as the ratio has it."""
    primary = comparison.primary
    return f"{fmt.plain(primary.b.name)} against {fmt.plain(primary.a.name)}"


def title(comparison: Comparison) -> str:
    """The pair and where it was compared: `string against json, 1 kB`."""
    return ", ".join(filter(None, (pair_name(comparison), fmt.plain(comparison.place))))


def common_sides(comparisons: Sequence[Comparison]) -> tuple[str, str] | None:
    """The names of both sides where all comparisons have the same two."""
    sides = {(one.primary.a.name, one.primary.b.name) for one in comparisons}
    if len(sides) != 1:
        return None
    a, b = sides.pop()
    return fmt.plain(a), fmt.plain(b)


def side_headings(comparisons: Sequence[Comparison]) -> tuple[str, str, str]:
    """Over the figures of both sides and over their ratio: names, or their roles where the names differ by line."""
    sides = common_sides(comparisons)
    if sides is None:
        return "reference", "compared", "compared against reference"
    return (*sides, f"{sides[1]} against {sides[0]}")


def typical(judgement: Judgement, side: Side) -> str:
    """The side's typical figure in the metric's unit; a dash where a check forbids figures."""
    return fmt.NONE if judgement.kind == "invalid" else metric_figure(judgement.metric, side.typical)


def metric_figure(metric: str, value: float | None) -> str:
    """A figure of a metric: a time or a rate."""
    return fmt.duration(value) if "_ns" in metric else fmt.rate(value)


def interval(judgement: Judgement) -> Interval | None:
    """The interval; None without one and where a check forbids it. An end without a number is infinite."""
    if judgement.kind == "invalid" or (judgement.low is None and judgement.high is None):
        return None
    low = -math.inf if judgement.low is None else judgement.low
    return Interval(low, math.inf if judgement.high is None else judgement.high)


def estimate(judgement: Judgement) -> float | None:
    """The typical difference, a log ratio; None where a check forbids it."""
    return None if judgement.kind == "invalid" else judgement.estimate


def ratio(judgement: Judgement) -> str:
    """`+12 % [9, 15]`: B against A. Without an interval there is no ratio either: it might be anything."""
    ends = interval(judgement)
    return fmt.NONE if ends is None else fmt.ratio(estimate(judgement), *ends)


def stalls(judgement: Judgement) -> str:
    """Stalled blocks of A and of B: `0 and 2`."""
    return f"{judgement.stalls_a} and {judgement.stalls_b}"


def basis(comparison: Comparison) -> list[str]:
    """What is to be known of how a comparison was measured, a sentence each."""
    primary = comparison.primary
    said = [_ENDED.get(comparison.ended, fmt.plain(comparison.ended))]
    done = f"{comparison.blocks_done} {_plural('block', comparison.blocks_done)}"
    left_out = comparison.blocks_done - primary.blocks
    said.append(f"{done} measured, {primary.blocks} of them used." if left_out > 0 else f"{done} measured and used.")
    again = comparison.blocks_repeated
    if again:
        said.append(
            f"{again} {_plural('block', again)} {'was' if again == 1 else 'were'} measured again by an earlier "
            "version; never because of the result."
        )
    if primary.level is not None:
        said.append(level_words(comparison))
    if primary.total is not None and primary.kind != "invalid":
        said.append(f"Total work, all blocks added up: {fmt.ratio(primary.total)}.")
    return [sentence for sentence in said if sentence]


def level_words(comparison: Comparison) -> str:
    """How sure the interval is, and why so sure."""
    level = comparison.primary.level
    assert level is not None
    share = f"{100 * level:.4g} %"
    looks = "all looks" if comparison.sequential else ""
    pairs = f"{comparison.pairs} pairs" if comparison.pairs > 1 else ""
    shared = " and ".join(filter(None, (looks, pairs)))
    why = f", so that {shared} together mislead at most 5 times in 100" if shared else ""
    return f"The interval is a {share} one{why}."


def all_comparisons(analysis: Analysis) -> Iterator[Comparison]:
    """Every comparison of every family, in their order."""
    for family in analysis.families:
        yield from family.comparisons


def blocks_ratio(judgement: Judgement, log_ratio: float | None) -> str:
    """One block's own ratio; a dash where a check forbids it."""
    return fmt.NONE if judgement.kind == "invalid" else fmt.ratio(log_ratio)


def together(comparisons: Sequence[Comparison]) -> list[str]:
    """The pairs' warnings; those that differ in figures and names only become one, with the first as an example."""
    found: dict[str, list[tuple[str, str]]] = {}
    for comparison in comparisons:
        for warning in comparison.warnings:
            alike = found.setdefault(_VARYING.sub("#", warning), [])
            alike.append((title(comparison), fmt.plain(warning)))
    lines = []
    for alike in found.values():
        name, words = alike[0]
        if len(alike) == 1:
            lines.append(f"{name}: {words}")
        else:
            same = len({text for _, text in alike}) == 1
            example = "" if same else f", for example {name}"
            lines.append(f"{len(alike)} of {len(comparisons)} pairs{example}: {words}")
    return lines


def margin_words(family: Family) -> str:
    """`Compared by correct replies a second; a difference below 5 % does not matter.`"""
    if not family.comparisons:
        return ""
    margins = dict.fromkeys(one.primary.margin for one in family.comparisons)
    sizes = " or ".join(fmt.percent(margin) for margin in margins)
    return f"Compared by {fmt.plain(family.metric_words)}; a difference below {sizes} does not matter."


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
