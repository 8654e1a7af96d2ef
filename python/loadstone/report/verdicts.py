"""Comparisons in sentences and figures, the same in every format."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from loadstone.judge.analysis.analysis import Analysis, Comparison, EndReason, Family
from loadstone.judge.verdict import COST, DECIDED, Side, Verdict, VerdictKind
from loadstone.report import figure_format as fmt
from loadstone.text.english.figures import blocks_text, listed, metric_short, metric_text, units_text
from loadstone.text.language import _, plural, sentence_case
from loadstone.text.message import Message, message, message_identity

MARKS: dict[VerdictKind, str] = {
    "faster": "▲",
    "equivalent": "=",
    "mixed": "~",
    "undecided": "?",
    "not_decidable": "?",
    "invalid": "✕",
}
PAIRING_GAINS = 0.9
"""J: a round's ratio that spreads more than this, of what unpaired slices would, is one that pairing did not steady."""
_ENDED: dict[EndReason, Message] = {
    "decided": message("ended_decided"),
    "last look": message("ended_last_look"),
    "out of budget": message("ended_out_of_budget"),
    "not needed": message("ended_not_needed"),
    "carry-over": message("ended_carry_over"),
    "interrupted": message("ended_interrupted"),
    "go on": message("ended_going_on"),
    "two separate runs": message("ended_two_runs"),
}
"""Why a comparison got no more blocks."""


class IntervalText(NamedTuple):
    """An interval of log ratios; an end may be infinite."""

    low: float
    high: float


def verdict_text(verdict: Verdict, *, quick: bool = True) -> str:
    """The verdict's sentence; where `quick` is off, without the remark that it is from a quick run."""
    return fmt.sentence(verdict.message if quick else verdict.said)


def short_text(verdict: Verdict) -> str:
    """The sentence where there is little room: without the time that is still needed, and all that comes with it."""
    if verdict.kind == "faster":
        return fmt.sentence(verdict.model_copy(update={"materially": False}).said)
    return fmt.sentence(verdict.brief if verdict.kind in ("undecided", "not_decidable") else verdict.said)


def cost_lines(comparison: Comparison) -> Iterator[tuple[Verdict, str]]:
    """Each cost that is decided, with what a request costs B and A: `...: 11 µs against 16 µs`."""
    for one in (cost for cost in comparison.costs if cost.kind in DECIDED):
        figures = {"b": typical(one, one.b), "a": typical(one, one.a)}
        yield one, _("{verdict}: {b} against {a}", verdict=verdict_text(one, quick=False), **figures)


def pair_name(comparison: Comparison) -> str:
    """`string against json`: B against A, as the ratio has it."""
    primary = comparison.primary
    return _("{b} against {a}", b=fmt.plain(primary.b.name), a=fmt.plain(primary.a.name))


def by_latency(verdict: Verdict) -> str:
    """`P99: ` before the verdict of a latency; empty for rates, which are what a reader takes FASTER to be about."""
    return (
        "" if "_ns." not in verdict.metric or verdict.metric.startswith(COST) else f"{metric_short(verdict.metric)}: "
    )


def title(comparison: Comparison) -> str:
    """The pair and where it was compared: `string against json, 1 kB`."""
    return ", ".join(filter(None, (pair_name(comparison), fmt.plain(comparison.place))))


def common_sides(comparisons: Sequence[Comparison]) -> tuple[str, str] | None:
    """The names of both sides where all comparisons have the same two."""
    sides = {(comparison.primary.a.name, comparison.primary.b.name) for comparison in comparisons}
    if len(sides) != 1:
        return None
    a, b = sides.pop()
    return fmt.plain(a), fmt.plain(b)


def side_headings(comparisons: Sequence[Comparison]) -> tuple[str, str, str]:
    """Over the figures of both sides and over their ratio: names, or their roles where the names differ by line."""
    sides = common_sides(comparisons)
    if sides is None:
        return _("reference"), _("compared"), _("compared against reference")
    return (*sides, _("{b} against {a}", b=sides[1], a=sides[0]))


def typical(verdict: Verdict, side: Side) -> str:
    """The side's typical figure in the metric's unit; a dash where a check forbids figures."""
    return fmt.NONE if verdict.kind == "invalid" else metric_figure(verdict.metric, side.typical)


def metric_figure(metric: str, value: float | None) -> str:
    """A figure of a metric: a time or a rate."""
    return fmt.duration(value) if "_ns" in metric else fmt.rate(value)


def interval(verdict: Verdict) -> IntervalText | None:
    """The interval; None without one and where a check forbids it. An end without a number is infinite."""
    if verdict.kind == "invalid" or (verdict.low is None and verdict.high is None):
        return None
    low = -math.inf if verdict.low is None else verdict.low
    return IntervalText(low, math.inf if verdict.high is None else verdict.high)


def estimate(verdict: Verdict) -> float | None:
    """The typical difference, a log ratio; None where a check forbids it."""
    return None if verdict.kind == "invalid" else verdict.estimate


def ratio(verdict: Verdict) -> str:
    """`+12 % [9, 15]`: B against A. Without an interval there is no ratio either: it might be anything."""
    ends = interval(verdict)
    return fmt.NONE if ends is None else fmt.ratio(estimate(verdict), *ends, excludes_none=verdict.excludes_none)


def units(comparisons: Sequence[Comparison]) -> str:
    """What is counted of the comparisons: `blocks`, `rounds`, or both."""
    units = {comparison.primary.unit for comparison in comparisons}
    if len(units) > 1:
        return _("blocks or rounds")
    return units_text(next(iter(units), "block"))


def stalls(verdict: Verdict) -> str:
    """Stalled blocks of A and of B: `0 and 2`."""
    return _("{stalls_a} and {stalls_b}", stalls_a=verdict.stalls_a, stalls_b=verdict.stalls_b)


def basis(comparison: Comparison) -> list[str]:
    """What is to be known of how a comparison was measured, a sentence each."""
    primary = comparison.primary
    said = [fmt.sentence(one) for one in (comparison.lengthened, _ENDED[comparison.ended]) if one is not None]
    done = blocks_text(comparison.blocks_done, primary.unit)
    left_out = comparison.blocks_done - primary.blocks
    said.append(
        _("{done} measured, {blocks} of them used.", done=done, blocks=primary.blocks)
        if left_out > 0
        else _("{done} measured and used.", done=done)
    )
    again = comparison.blocks_repeated
    if again:
        said.append(
            plural(
                again,
                "{n} block was measured again, since the run was interrupted in it; never because of the result.",
                "{n} blocks were measured again, since the run was interrupted in them; never because of the result.",
            )
        )
    if primary.level is not None:
        said.append(level_text(comparison))
    if primary.total is not None and primary.kind != "invalid":
        said.append(_("Total work, all blocks added up: {ratio}.", ratio=fmt.ratio(primary.total)))
    said += [text for one in (primary, *comparison.costs) if (text := pairing_text(one))]
    return [one for one in said if one]


def noise_floor(family: Family) -> str:
    """What one condition against itself showed in the same rounds (`--twin`); empty without that."""
    twin = family.twin
    if twin is None:
        return ""
    found = [(one, ratio(one)) for one in (twin.primary, *twin.costs) if one.low is not None]
    if not found:
        return _("Noise floor, {plain} against itself: no interval yet.", plain=fmt.plain(twin.place))
    place = fmt.plain(twin.place) or _("a condition")
    figures = ", ".join(f"{metric_text(one.metric)} {said}" for one, said in found)
    return _("Noise floor, {place} against itself in the same rounds: {figures}.", place=place, figures=figures)


def pairing_text(verdict: Verdict) -> str:
    """What taking turns brought: how much of the spread was left; empty where it is not known."""
    if verdict.pairing is None or verdict.kind == "invalid":
        return ""
    figures = {"metric_text": metric_text(verdict.metric), "pairing": verdict.pairing}
    if verdict.pairing > PAIRING_GAINS:
        said = _(
            "{metric_text}: ratios within rounds spread {pairing:.2f} times as much as of slices from different rounds"
            ", so taking turns gained nothing: the noise was shorter than a slice.",
            **figures,
        )
    else:
        said = _(
            "{metric_text}: ratios within rounds spread {pairing:.2f} times as much as of slices from different rounds"
            ": taking turns took the rest away.",
            **figures,
        )
    return sentence_case(said)


def level_text(comparison: Comparison) -> str:
    """Return how sure the interval is, and why so sure."""
    level = comparison.primary.level
    assert level is not None
    if comparison.level_note is not None:
        return fmt.sentence(comparison.level_note)
    share = f"{100 * level:.4g} %"
    looks = [_("all looks")] if comparison.sequential else []
    pairs = [_("{pairs} pairs", pairs=comparison.pairs)] if comparison.pairs > 1 else []
    shared = listed([*looks, *pairs])
    why = _(", chosen so that {shared} together mislead at most 5 times in 100", shared=shared) if shared else ""
    return _("The interval is a {share} one{why}.", share=share, why=why)


def all_comparisons(analysis: Analysis) -> Iterator[Comparison]:
    """Every comparison of every family, in their order."""
    for family in analysis.families:
        yield from family.comparisons


def blocks_ratio(verdict: Verdict, log_ratio: float | None) -> str:
    """One block's own ratio; a dash where a check forbids it."""
    return fmt.NONE if verdict.kind == "invalid" else fmt.ratio(log_ratio)


class Warned(NamedTuple):
    """A warning and the pair that it is about."""

    pair: str
    text: str


def together(comparisons: Sequence[Comparison], name_of: Callable[[Comparison], str] = title) -> list[str]:
    """The pairs' warnings; those that differ in figures and names only become one, with the first as an example."""
    named = ((name_of(one), warning) for one in comparisons for warning in one.warnings)
    return [_warned(alike, len(comparisons)) for alike in folded(named)]


def _warned(alike: Sequence[Warned], pairs: int) -> str:
    name, first = alike[0]
    same = len({said for _, said in alike}) == 1
    if same and len(alike) == pairs:
        return first
    if len(alike) == 1:
        return f"{name}: {first}"
    example = "" if same else _(", for example {name}", name=name)
    return _(
        "{group} of {comparisons} pairs{example}: {first}",
        group=len(alike),
        comparisons=pairs,
        example=example,
        first=first,
    )


def margin_text(family: Family) -> str:
    """`Compared by correct replies a second; a difference below 5 % does not matter.`"""
    if not family.comparisons:
        return ""
    margins = dict.fromkeys(comparison.primary.margin for comparison in family.comparisons)
    sizes = _(" or ").join(fmt.percent(margin) for margin in margins)
    said = _(
        "Compared by {metric_text}; a difference below {sizes} does not matter.",
        metric_text=metric_text(family.metric),
        sizes=sizes,
    )
    return f"{said} {noise_floor(family)}".rstrip()


def folded(warnings: Iterable[tuple[str, Message]]) -> list[list[Warned]]:
    """Pairs and their warnings, in groups that are about the same; see `text.message.message_identity`."""
    found: dict[Hashable, list[Warned]] = {}
    for pair, warning in warnings:
        found.setdefault(message_identity(warning), []).append(Warned(pair, fmt.sentence(warning)))
    return list(found.values())
