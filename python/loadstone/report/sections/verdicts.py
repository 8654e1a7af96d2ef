"""What a report shows of comparisons: pictures, verdicts, and what each of them rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from loadstone.judge.analysis.analysis import Analysis, Comparison, Family
from loadstone.judge.verdict import Verdict
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Fold,
    Link,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    TableRow,
    Term,
    Words,
)
from loadstone.report.sections.checks import WORST_FIRST
from loadstone.report.sections.effects import effects_of
from loadstone.report.summary import Anchors, anchors_of
from loadstone.run_folder.trial import CheckResult
from loadstone.text.english.figures import blocks_text, metric_text
from loadstone.text.language import _, plural, translatable, translated


def opening_pictures(analysis: Analysis) -> Section | None:
    """What opens the page: the forests of all families, one below the other; None without a pair to draw."""
    drawn = [family for family in analysis.families if family.comparisons]
    if not drawn:
        return None
    alone = len(drawn) == 1 and fmt.plain(drawn[0].question) == fmt.plain(analysis.question)
    parts = [("" if alone else one.question, Picture("forest", one.name)) for one in drawn]
    for one in drawn:
        if any(True for pair in one.comparisons for _cost in verdicts.cost_lines(pair)):
            heading = _("CPU per request") if alone else _("{question} CPU per request", question=one.question)
            parts.append((heading, Picture("cost-forest", one.name)))
    return Section("verdicts", _("Verdicts"), (Pictures(tuple(parts)),), layouts=("page",), is_open=True)


def verdicts_section(analysis: Analysis) -> Section | None:
    """Every family, behind the effects that were drawn from some; None without one."""
    if not analysis.families:
        return None
    primaries = (one.primary for one in verdicts.all_comparisons(analysis))
    brackets = (Paragraph(glossary.brackets(), "note"),) if any(map(verdicts.interval, primaries)) else ()
    blocks: tuple[Block, ...] = (
        Only(("markdown",), (*effects_of(analysis.effects), *_families(analysis))),
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


def _families(analysis: Analysis) -> Iterator[Part]:
    """A family's pairs in a table, and folded below it what each verdict rests on."""
    anchors = anchors_of(analysis)
    for number, family in enumerate(analysis.families, 1):
        basis = [f"basis-{number}-{place}" for place in range(1, len(family.comparisons) + 1)]
        pairs = list(zip(family.comparisons, basis, strict=True))
        blocks: tuple[Block, ...] = (
            Paragraph(family.answer),
            Paragraph(f"{verdicts.margin_text(family)} {fmt.plain(family.note)}".strip(), "note"),
            Only(("markdown",), (Picture("forest", family.name), Picture("cost-forest", family.name))),
            _table(_("pair"), family, [line for one, anchor in pairs for line in _lines(one, anchor, anchors)]),
            Picture("blocks", family.name),
            *(_basis(one, anchor, anchors) for one, anchor in pairs),
            *_exploratory(family, anchors),
        )
        yield Part(family.question, blocks, f"comparison-{number}")


def _table(first: str, family: Family, lines: Sequence[TableRow]) -> SectionTable:
    a, b, ratio = verdicts.side_headings(family.comparisons)
    units = verdicts.units(family.comparisons)
    columns = (
        SectionColumn(first),
        SectionColumn(a),
        SectionColumn(b),
        SectionColumn(f"{ratio} {_('[interval]')}", f"{glossary.meaning('ratio')} {glossary.meaning('interval')}"),
        SectionColumn(_("verdict"), kind="words"),
        SectionColumn(units, glossary.meaning("round" if units == _("rounds") else "block")),
        SectionColumn(_("stalls of both"), glossary.meaning("stall")),
        SectionColumn(translated("minimum detectable effect"), glossary.meaning("minimum detectable effect")),
    )
    return SectionTable("", columns, tuple(lines), style="verdicts", label=family.question)


def _lines(comparison: Comparison, basis: str, anchors: Anchors) -> Iterator[TableRow]:
    """The pair, and what a request costs."""
    line = _line(verdicts.title(comparison), comparison.primary, comparison, anchors)
    yield replace(line, target=basis, problems=tuple(comparison.warnings))
    yield from (_line(metric_text(cost.metric), cost, comparison, anchors) for cost in comparison.costs)


def _line(name: str, verdict: Verdict, comparison: Comparison, anchors: Anchors) -> TableRow:
    points = comparison.primary.points
    trials = ([point.trial_a for point in points], [point.trial_b for point in points])
    sides = zip((verdict.a, verdict.b), map(anchors.condition, trials), strict=True)
    cells = (
        *(SectionCell(None, said=verdicts.typical(verdict, one), link=Link(one.name, at)) for one, at in sides),
        SectionCell(None, said=verdicts.ratio(verdict)),
        SectionCell(None, said=verdicts.verdict_text(verdict), verdict=verdict.kind),
        SectionCell(verdict.blocks),
        SectionCell(None, said=verdicts.stalls(verdict)),
        SectionCell(None, said=fmt.plus_minus(verdict.detectable)),
    )
    return TableRow(name, cells)


def _basis(comparison: Comparison, anchor: str, anchors: Anchors) -> Fold:
    """What a verdict rests on: how it was found, what its checks found, and its blocks or rounds."""
    primary = comparison.primary
    checks = [_check(one) for one in sorted(comparison.checks, key=lambda one: WORST_FIRST.index(one.verdict))]
    how: list[Words] = [*verdicts.basis(comparison), *comparison.notes]
    blocks: tuple[Block, ...] = (
        Bullets(tuple(map(Bullet, how))),
        *([Bullets(tuple(checks))] if checks else []),
        *([_units(primary, anchors)] if primary.points else []),
    )
    heading = f"{verdicts.MARKS[primary.kind]} {verdicts.title(comparison)}"
    return Fold(heading, blocks_text(primary.blocks, primary.unit), blocks, anchor)


def _check(check: CheckResult) -> Bullet:
    figure = summary.figure(check)
    text = f"{figure}: {fmt.sentence(check.reason)}" if check.reason else figure
    return Bullet(text, name=summary.check_title(check.name), verdict=check.verdict)


def _units(verdict: Verdict, anchors: Anchors) -> SectionTable:
    a, b = (fmt.plain(side.name) for side in (verdict.a, verdict.b))
    heads = (_("block"), a, b, _("{b} against {a}", b=b, a=a))
    columns = (*map(SectionColumn, heads), SectionColumn(_("used"), kind="words"))
    lines = (
        TableRow(
            str(point.block),
            (
                _of_trial(verdict, point.a, point.trial_a, anchors),
                _of_trial(verdict, point.b, point.trial_b, anchors),
                SectionCell(None, said=verdicts.blocks_ratio(verdict, point.log_ratio)),
                SectionCell(None, said=_("yes") if point.used else _("no: {why}", why=fmt.sentence(point.why))),
            ),
        )
        for point in verdict.points
    )
    return SectionTable("", columns, tuple(lines), style="blocks", label=_("Blocks of {title}", title=f"{b}, {a}"))


def _of_trial(verdict: Verdict, value: float | None, trial: str, anchors: Anchors) -> SectionCell:
    figure = fmt.NONE if verdict.kind == "invalid" else verdicts.metric_figure(verdict.metric, value)
    return SectionCell(None, said=figure, link=Link(trial, anchors.trial(trial)))


def _exploratory(family: Family, anchors: Anchors) -> Iterator[Fold]:
    """Figures beside the question; none without one."""
    lines = [
        _line(f"{verdicts.title(one)}: {metric_text(verdict.metric)}", verdict, one, anchors)
        for one in family.comparisons
        for verdict in one.exploratory
    ]
    if lines:
        heading = _(
            "{n} exploratory figures: in addition to the question, many figures, some will differ by chance",
            n=len(lines),
        )
        reading = _(
            "{exploratory}: the question above is about {metric}. What follows may suggest the next question; it "
            "answers none.",
            exploratory=_("Exploratory"),
            metric=metric_text(family.metric),
        )
        yield Fold(heading, reading, (_table(_("pair and metric"), family, lines),), style="words exploratory")
