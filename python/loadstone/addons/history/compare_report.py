"""The outcome of `loadstone compare`: for a terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from math import log
from typing import Literal

from rich.console import Console

from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.judge.analysis.analysis import Comparison
from loadstone.judge.verdict import AnalysisModel, Verdict
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.document import Block, Paragraph, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.report.json_report import json_text
from loadstone.report.terminal.sections import print_blocks
from loadstone.text.language import _, plural, translatable, translated
from loadstone.text.message import Message

OutputKind = Literal["declared", "ad hoc", "two runs"]

_TITLES: dict[OutputKind, str] = {
    "declared": translatable("Declared comparisons"),
    "ad hoc": translatable(
        "Ad hoc comparison: picked after the run, so exploratory; repeat what matters with it declared."
    ),
    "two runs": translatable(
        "Two separate runs: not interleaved, so the intervals count what the machine may have done in between."
    ),
}
_INTERLEAVE = translatable(
    "To decide it, measure both in one run, interleaved: make what differs a factor of the experiment, "
    "and declare a comparison of its levels."
)
_ORDER = ("faster", "mixed", "equivalent", "undecided", "not_decidable")
"""What is decided stands first, and within each kind the largest difference."""
UNCERTAIN = log(1.5)
"""An undecided interval that reaches further than this to both sides of its middle says nothing: half as much again."""


class ComparedRun(AnalysisModel):
    """One of the runs."""

    name: str
    """What it is called beside the other one, e.g. `run 14:30`; empty where there is one run only."""
    run: str
    """Name of its folder."""
    experiment: str
    trials: int
    """Finished trials, those of the warm block not counted."""
    quick: bool


class CompareReport(AnalysisModel):
    """What was compared, and what the data allow to say."""

    format: Literal[1] = 1
    kind: OutputKind
    runs: list[ComparedRun]
    differences: list[Message]
    """Two runs: where they differ in machine, versions, placement, servers or load; empty unless `--across`."""
    notes: list[Message]
    """What was damaged, left out or not comparable."""
    comparisons: list[Comparison]
    objectives: list[str]
    missed: list[Message]
    """A line for each objective that a comparison misses or leaves open."""


def to_json(report: CompareReport) -> str:
    """The whole outcome for programs."""
    return json_text(report)


def show(report: CompareReport, console: Console) -> None:
    """Print the outcome for a person."""
    section = section_of(report)
    runs = (Paragraph(run, "note") for run in run_lines(report))
    print_blocks(console, section.heading, (*runs, *section.blocks))


def section_of(report: CompareReport) -> Section:
    """What was compared and what that means, and what was found, for a terminal and for a page."""
    found: tuple[Block, ...] = (
        *(Paragraph(_("across: {sentence}", sentence=fmt.sentence(one)), "doubt") for one in report.differences),
        *_table(report),
        *(Paragraph(said, "good" if cost.kind == "faster" else "plain") for cost, said in cost_lines(report)),
        *map(Paragraph, summarise_rest(report)),
        *(Paragraph(said, "note") for said in (*warnings(report), *map(fmt.sentence, report.notes))),
        *map(Paragraph, advice(report)),
        *(Paragraph(_("--fail-if {sentence}", sentence=fmt.sentence(one)), "bad") for one in report.missed),
    )
    return Section("compared", translated(_TITLES[report.kind]), found)


def cost_lines(report: CompareReport) -> list[tuple[Verdict, str]]:
    """Which side's requests cost a part less, a line each; in one line those that may be due to the machine instead."""
    named = [(f"{place_of(one)}: " if len(report.comparisons) > 1 else "", one) for one in report.comparisons]
    lines = [(cost, f"{name}{line}") for name, one in named for cost, line in verdicts.cost_lines(one)]
    open_ = [
        (cost, f"{name}{verdicts.verdict_text(cost, quick=False)}")
        for name, one in named
        for cost in one.costs
        if cost.kind == "undecided" and cost.unsteady is not None
    ]
    for cost, line in open_[:1]:
        more = len(open_) - 1
        lines.append(
            (
                cost,
                plural(more, "{line} (and {n} more such cost)", "{line} (and {n} more such costs)", line=line)
                if more
                else line,
            )
        )
    return lines


def notable_comparisons(report: CompareReport) -> list[Comparison]:
    """The comparisons that say something, largest difference first."""
    there = [comparison for comparison in report.comparisons if _why_folded(comparison) is None]
    return sorted(there, key=lambda one: (_ORDER.index(one.primary.kind), -abs(one.primary.estimate or 0.0)))


def summarise_rest(report: CompareReport) -> list[str]:
    """All the others in one line, with the reasons; no line without any."""
    reasons: dict[str, list[Comparison]] = {}
    for one in report.comparisons:
        if (why := _why_folded(one)) is not None:
            reasons.setdefault(why, []).append(one)
    if not reasons:
        return []
    number, of = sum(map(len, reasons.values())), len(report.comparisons)
    if of == 1:
        ((why, alike),) = reasons.items()
        example = _example(alike, report)
        return [
            _(
                "Nothing can be said: {why}.",
                why=example if alike[0].primary.kind == "invalid" else f"{why} ({example})",
            )
        ]
    if report.kind == "two runs":
        what = plural(of, "{n} condition", "{n} conditions")
    else:
        what = plural(of, "{n} pair", "{n} pairs")
    parts = [
        _("{n} {why} ({example})", n=len(alike), why=why, example=_example(alike, report))
        for why, alike in sorted(reasons.items(), key=lambda item: -len(item[1]))
    ]
    return [
        _(
            "Nothing can be said of {number} of {what}: {parts}.",
            number=number,
            what=what,
            parts="; ".join(parts),
        )
    ]


def _why_folded(one: Comparison) -> str | None:
    """Why a comparison has no line of its own; None if it has one."""
    primary = one.primary
    if one.leading.role == "cost":
        return None
    if primary.kind == "invalid":
        return _("INVALID by {plain}", plain=fmt.plain(primary.refusal.name)) if primary.refusal else _("INVALID")
    if primary.low is None or primary.high is None:
        return _("without an interval")
    if primary.kind not in ("undecided", "not_decidable"):
        return None
    return _("too uncertain") if primary.high - primary.low > 2 * UNCERTAIN else None


def _example(alike: Sequence[Comparison], report: CompareReport) -> str:
    """What a reader must know of the comparisons that were folded for one reason."""
    first = alike[0].primary
    name = f"{place_of(alike[0])}: " if len(report.comparisons) > 1 else ""
    such_as = _("for example {name}", name=name) if len(alike) > 1 else name
    if first.kind == "invalid":
        return f"{such_as}{verdicts.verdict_text(first.model_copy(update={'quick': False}))}"
    if first.low is not None:
        return f"{such_as}{verdicts.ratio(first)}"
    least, most = (pick(one.primary.blocks for one in alike) for pick in (min, max))
    blocks = f"{least}" if least == most else _("{least} to {most}", least=least, most=most)
    if report.kind == "two runs":
        return plural(
            most,
            "{blocks} trial a run; it takes {blocks_min} or more",
            "{blocks} trials a run; it takes {blocks_min} or more",
            blocks=blocks,
            blocks_min=BLOCKS_MIN,
        )
    return plural(
        most,
        "{blocks} block; it takes {blocks_min} or more",
        "{blocks} blocks; it takes {blocks_min} or more",
        blocks=blocks,
        blocks_min=BLOCKS_MIN,
    )


def warnings(report: CompareReport) -> list[str]:
    """The warnings of what has a line; those that differ in their figures only become one, the first as an example."""
    return verdicts.together(notable_comparisons(report), place_of)


def advice(report: CompareReport) -> list[str]:
    """Return how to decide what is undecided, one sentence a remedy."""
    undecided = [
        comparison for comparison in report.comparisons if comparison.primary.kind in ("undecided", "not_decidable")
    ]
    if not undecided:
        return []
    few = [one for one in undecided if one.primary.low is None]
    lines = _visible(undecided)
    if few:
        lines.append(_("Without an interval nothing can be said: run it again with a longer --budget."))
    if report.kind == "two runs":
        return [*lines, translated(_INTERLEAVE)]
    if len(few) < len(undecided):
        lines.append(_("More blocks narrow an interval: run it again with a longer --budget."))
    if report.kind == "ad hoc":
        lines.append(_("A comparison that the experiment declares gets as many blocks as it needs."))
    return lines


def _visible(undecided: Sequence[Comparison]) -> list[str]:
    """Which difference the data could have shown."""
    shown = [one for one in undecided if _why_folded(one) is None]
    known = [one.primary.detectable for one in shown if one.primary.detectable is not None]
    if not known:
        return []
    return [
        _(
            "Undecided pairs would show a difference of {plus_minus} or more 8 times in 10.",
            plus_minus=fmt.plus_minus(max(known)),
        )
    ]


def run_lines(report: CompareReport) -> Iterator[str]:
    """A line for each run that is compared."""
    for run in report.runs:
        trials = _("1 trial") if run.trials == 1 else _("{count} trials", count=fmt.count(run.trials))
        quick = _(", quick") if run.quick else ""
        yield f"{f'{run.name}: ' if run.name else ''}{run.run} ({run.experiment}, {trials}{quick})"


def _table(report: CompareReport) -> Iterator[SectionTable]:
    """A line a comparison that says something: where, both typical figures, their ratio, the verdict."""
    shown = notable_comparisons(report)
    if not shown:
        return
    heads = (SectionColumn(head) for head in verdicts.side_headings(shown))
    columns = (SectionColumn(_("condition")), *heads, SectionColumn(_("verdict"), kind="words"))
    alike = verdicts.common_sides(shown) is not None
    lines = (TableRow(one.place if one.place and alike else place_of(one), _cells(one.primary)) for one in shown)
    yield SectionTable("", columns, tuple(lines), style="figures", label=_("Verdicts"))


def _cells(found: Verdict) -> tuple[SectionCell, ...]:
    figures = (verdicts.typical(found, found.a), verdicts.typical(found, found.b), verdicts.ratio(found))
    judged = SectionCell(None, said=verdicts.verdict_text(found), verdict=found.kind)
    return (*(SectionCell(None, said=figure) for figure in figures), judged)


def place_of(one: Comparison) -> str:
    """Where the pair was compared; with its two sides unless they are two runs."""
    return fmt.plain(one.place) or _("all") if one.between == "run" else verdicts.title(one)
