"""The declared comparisons, the trials and the glossary of a report, as Markdown."""

from collections.abc import Iterator

from loadstone.analyse.model import Analysis, Comparison, Family, TrialView
from loadstone.judge.verdict import Verdict
from loadstone.report import format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.anchors import Anchors
from loadstone.report.markdown.markdown_text import (
    link,
    sentence,
    target,
    text,
)
from loadstone.report.tables.columns import MARKS
from loadstone.report.tables.rates import goodput_name
from loadstone.report.text.english.metrics import metric_text

_RULE = "|---:|---:|---:|---|---:|---:|---:|"


def _head(first: str, family: Family) -> Iterator[str]:
    a, b, ratio = map(text, verdicts.side_headings(family.comparisons))
    rest = f"verdict | {verdicts.units(family.comparisons)} | stalls of both | minimum detectable effect"
    yield f"| {first} | {a} | {b} | {ratio} [interval] | {rest} |"
    yield f"|---{_RULE}"


def family_lines(family: Family, anchors: Anchors) -> Iterator[str]:
    """A family's verdicts, beneath its heading and its picture."""
    yield from _head("pair", family)
    for comparison in family.comparisons:
        yield f"| {text(verdicts.title(comparison))} | {_cells(comparison.primary, comparison, anchors)} |"
    yield ""
    for comparison in family.comparisons:
        yield f"- **{text(verdicts.title(comparison))}**: {text(' '.join(verdicts.basis(comparison)))}"
        yield from (f"  - ! {sentence(warning)}" for warning in comparison.warnings)
        yield from (f"  - {sentence(note)}" for note in comparison.notes)
        yield from (
            f"  - {MARKS[check.verdict]} {text(summary.check_title(check.name))} {text(summary.figure(check))}"
            f"{': ' + sentence(check.reason) if check.reason else ''}"
            for check in comparison.checks
            if check.verdict != "valid"
        )
        yield f"  - blocks: {_blocks(comparison, anchors)}"
    yield ""
    exploratory = [(one, verdict) for one in family.comparisons for verdict in one.exploratory]
    if exploratory:
        yield from (f"Exploratory. {text(glossary.meaning('exploratory'))}", "")
        yield from _head("pair and metric", family)
        for one, verdict in exploratory:
            name = f"{verdicts.title(one)}: {metric_text(verdict.metric)}"
            yield f"| {text(name)} | {_cells(verdict, one, anchors)} |"
        yield ""


def _cells(verdict: Verdict, comparison: Comparison, anchors: Anchors) -> str:
    points = comparison.primary.points
    sides = (
        (verdict.a, [point.trial_a for point in points]),
        (verdict.b, [point.trial_b for point in points]),
    )
    figures = [
        link(anchors.condition(trials), f"{side.name} {verdicts.typical(verdict, side)}") for side, trials in sides
    ]
    said = f"{verdicts.MARKS[verdict.kind]} {verdicts.verdict_text(verdict)}"
    rest = (verdicts.ratio(verdict), said, str(verdict.blocks), verdicts.stalls(verdict))
    return " | ".join([*figures, *(text(cell) for cell in rest), text(fmt.plus_minus(verdict.detectable))])


def _blocks(comparison: Comparison, anchors: Anchors) -> str:
    """Each block's ratio with its two trials; what was not used in brackets, with the reason."""
    primary = comparison.primary
    parts = []
    for point in primary.points:
        sides = ((point.trial_a, primary.a.name), (point.trial_b, primary.b.name))
        trials = " ".join(link(anchors.trial(trial), name) for trial, name in sides)
        ratio = text(verdicts.blocks_ratio(primary, point.log_ratio))
        part = f"{point.block}: {ratio} {trials}"
        parts.append(part if point.used else f"({part}, not used: {sentence(point.why)})")
    return "; ".join(parts) or fmt.NONE


def trial_lines(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    """Every trial, under its condition, with the checks that it did not pass."""
    if not anchors.conditions:
        return
    yield from ("## Trials", "")
    yield f"| trial | group | block | order | attempt | verdict | {goodput_name(analysis)} | P99 | checks not passed |"
    yield "|---|---|---:|---:|---:|---|---:|---:|---|"
    for anchor, label, views in anchors.conditions:
        yield f"| {target(anchor)}**{text(label)}** | | | | | | | | |"
        yield from (_trial(view, anchors) for view in views)
    yield ""


def _trial(view: TrialView, anchors: Anchors) -> str:
    failed = [
        f"{MARKS[check.verdict]} {summary.check_title(check.name)} {summary.figure(check)}"
        for check in view.checks
        if check.verdict != "valid"
    ]
    figures = [fmt.rate(view.goodput_per_s), fmt.duration(view.p99_ns)]
    if view.verdict == "invalid":
        figures = [fmt.NONE, fmt.NONE]
    cells = [
        target(anchors.view(view)) + text(view.trial), text(view.group), str(view.block), str(view.order),
        str(view.attempt), view.verdict, *figures, text("; ".join(failed)) or fmt.NONE,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def glossary_lines(analysis: Analysis) -> Iterator[str]:
    """What the terms mean."""
    yield from ("## What the terms mean", "")
    for terms in glossary.groups_of(analysis).values():
        yield from (f"- **{term}**: {text(meaning)}" for term, meaning in terms.items())
    yield ""
