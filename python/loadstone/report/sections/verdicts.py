"""What a report shows of comparisons: pictures, verdicts, and what each of them rests on."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, Comparison, Family
from loadstone.judge.verdict import Side, Verdict
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.document import (
    Block,
    CheckLine,
    JudgedPair,
    Link,
    Only,
    PairUnit,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    SideFigure,
    TableRow,
    Term,
    VerdictLine,
    Verdicts,
)
from loadstone.report.sections.effects import effects_of
from loadstone.report.summary import Anchors, anchors_of
from loadstone.text.english.figures import blocks_text, metric_text
from loadstone.text.language import _, plural, translatable


def opening_pictures(analysis: Analysis) -> Section | None:
    """What opens the page: the forests of all families, one below the other; None without a pair to draw."""
    drawn = [family for family in analysis.families if family.comparisons]
    if not drawn:
        return None
    alone = len(drawn) == 1 and fmt.plain(drawn[0].question) == fmt.plain(analysis.question)
    parts = tuple(("" if alone else one.question, Picture("forest", one.name)) for one in drawn)
    return Section("verdicts", _("Verdicts"), (Pictures(parts),), layouts=("page",), is_open=True)


def verdicts_section(analysis: Analysis) -> Section | None:
    """Every family, behind the effects that were drawn from some; None without one."""
    if not analysis.families:
        return None
    primaries = (one.primary for one in verdicts.all_comparisons(analysis))
    brackets = (Paragraph(glossary.brackets(), "note"),) if any(map(verdicts.interval, primaries)) else ()
    blocks: tuple[Block, ...] = (
        Only(("markdown",), (*effects_of(analysis), *_families(analysis))),
        Only(("terminal",), (*map(_in_brief, analysis.families), *brackets)),
    )
    return Section("verdicts", _("Verdicts"), blocks, layouts=("markdown", "terminal"), in_outcome=False, is_part=True)


def _in_brief(family: Family) -> Part:
    """The answer, and the verdicts with the costs that are decided, as a terminal has room for them."""
    columns = (SectionColumn(_("pair")), SectionColumn(_("verdict"), kind="words"))
    lines = tuple(line for one in family.comparisons for line in _brief_lines(one))
    blocks: tuple[Block, ...] = (
        Paragraph(family.answer),
        SectionTable("", columns, lines),
        *(Paragraph(f"! {warning}", "doubt") for warning in verdicts.together(family.comparisons)),
        *map(Paragraph, filter(None, [verdicts.noise_floor(family)])),
    )
    return Part(family.question, blocks)


def _brief_lines(comparison: Comparison) -> Iterator[TableRow]:
    primary = comparison.primary
    said = verdicts.by_latency(primary) + verdicts.verdict_text(primary)
    yield TableRow(verdicts.title(comparison), (SectionCell(None, said=said, verdict=primary.kind),))
    for cost, said in verdicts.cost_lines(comparison):
        yield TableRow("", (SectionCell(None, said=said, verdict=cost.kind),))


def comparisons_section(analysis: Analysis) -> Section | None:
    """Comparisons on the page, where they are folded."""
    if not analysis.families:
        return None
    pairs = list(verdicts.all_comparisons(analysis))
    hint = _(
        "{counted}: both sides, blocks, checks",
        counted=plural(len(pairs), "{pairs} pair", "{pairs} pairs", pairs=fmt.count(len(pairs))),
    )
    blocks: tuple[Block, ...] = (_how(verdicts.units(pairs)), *_families(analysis))
    return Section("comparisons", _("Comparisons in detail"), blocks, layouts=("page",), hint=hint)


def _how(counted: str) -> Phrase:
    """The way in which conditions are compared."""
    if counted == _("rounds"):
        template = translatable(
            "Conditions take turns, slice after slice, and are compared within each {round}: {difference}, {interval}, "
            "and whether it matters ({margin}). A run {looks} at its rounds now and then and stops once it knows."
        )
    elif counted == _("blocks"):
        template = translatable(
            "Conditions are measured in turn, {block} after block, and compared within each block: {difference}, "
            "{interval}, and whether it matters ({margin}). A run {looks} at its blocks now and then and stops once it "
            "knows."
        )
    else:
        template = translatable(
            "Conditions are measured in turn, {block} after block, and compared within each block, or slice after "
            "slice and compared within each {round}: {difference}, {interval}, and whether it matters ({margin}). A "
            "run {looks} at its blocks and rounds now and then and stops once it knows."
        )
    terms = (
        ("difference", Term("typical difference")),
        ("interval", Term("interval")),
        ("margin", Term("margin")),
        ("block", Term("block")),
        ("round", Term("round")),
        ("looks", Term("look", _("looks"))),
    )
    return Phrase(template, terms, tone="note")


def _families(analysis: Analysis) -> Iterator[Verdicts]:
    anchors = anchors_of(analysis)
    for number, family in enumerate(analysis.families, 1):
        units = verdicts.units(family.comparisons)
        yield Verdicts(
            family.name,
            f"comparison-{number}",
            number,
            question=family.question,
            answer=family.answer,
            margin=verdicts.margin_text(family),
            note=family.note,
            heads=verdicts.side_headings(family.comparisons),
            units=units,
            in_rounds=units == _("rounds"),
            metric=metric_text(family.metric),
            pairs=tuple(_pair(comparison, anchors) for comparison in family.comparisons),
            exploratory=tuple(
                _line(f"{verdicts.title(one)}: {metric_text(verdict.metric)}", verdict, one, anchors)
                for one in family.comparisons
                for verdict in one.exploratory
            ),
        )


def _pair(comparison: Comparison, anchors: Anchors) -> JudgedPair:
    primary = comparison.primary
    return JudgedPair(
        _line(verdicts.title(comparison), primary, comparison, anchors),
        costs=tuple(_line(metric_text(cost.metric), cost, comparison, anchors) for cost in comparison.costs),
        counted=blocks_text(primary.blocks, primary.unit),
        basis=tuple(verdicts.basis(comparison)),
        notes=tuple(comparison.notes),
        warnings=tuple(comparison.warnings),
        checks=tuple(
            CheckLine(summary.check_title(check.name), summary.figure(check), check.verdict, check.reason)
            for check in comparison.checks
        ),
        blocks=tuple(
            PairUnit(
                point.block,
                a=Link(point.trial_a, anchors.trial(point.trial_a)),
                b=Link(point.trial_b, anchors.trial(point.trial_b)),
                figure_a=_figure(primary, point.a),
                figure_b=_figure(primary, point.b),
                ratio=verdicts.blocks_ratio(primary, point.log_ratio),
                used=point.used,
                why=point.why,
            )
            for point in primary.points
        ),
    )


def _figure(verdict: Verdict, value: float | None) -> str:
    return fmt.NONE if verdict.kind == "invalid" else verdicts.metric_figure(verdict.metric, value)


def _line(name: str, verdict: Verdict, comparison: Comparison, anchors: Anchors) -> VerdictLine:
    points = comparison.primary.points
    a, b = ([getattr(point, side) for point in points] for side in ("trial_a", "trial_b"))
    return VerdictLine(
        name,
        verdict.kind,
        mark=verdicts.MARKS[verdict.kind],
        said=verdicts.verdict_text(verdict),
        a=_side(verdict, verdict.a, anchors.condition(a)),
        b=_side(verdict, verdict.b, anchors.condition(b)),
        ratio=verdicts.ratio(verdict),
        blocks=verdict.blocks,
        stalls=verdicts.stalls(verdict),
        detectable=fmt.plus_minus(verdict.detectable),
    )


def _side(verdict: Verdict, side: Side, anchor: str | None) -> SideFigure:
    return SideFigure(fmt.plain(side.name), verdicts.typical(verdict, side), anchor)
