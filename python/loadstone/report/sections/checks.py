"""What a report shows of the checks: what each found over all trials, and over all comparisons."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, CheckSummary
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Link,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    Shares,
    TableRow,
    Term,
)
from loadstone.report.summary import Anchors, anchors_of
from loadstone.run_folder.trial import CheckResult, CheckVerdict
from loadstone.text.language import _, plural, translatable, translated

_VERDICTS: tuple[CheckVerdict, ...] = ("valid", "suspect", "invalid", "unknown")
WORST_FIRST: tuple[CheckVerdict, ...] = ("invalid", "suspect", "unknown", "valid")


def checks_section(analysis: Analysis) -> Section:
    """A line a check; on a terminal those that failed alone."""
    failed = sum(bool(check.invalid or check.suspect) for check in analysis.checks)
    hint = _(
        "{failed} of {counted} failed in some trials",
        counted=plural(len(analysis.checks), "{n} check", "{n} checks"),
        failed=failed,
    )
    page = (
        *_shares(analysis),
        Phrase(
            translatable("It may find {valid}, {suspect}, {invalid} or {unknown}."),
            tuple((kind, Term(kind)) for kind in _VERDICTS),
            before=glossary.meaning("check"),
        ),
    )
    blocks: tuple[Block, ...] = (
        Only(("page",), page),
        Only(("page", "markdown"), (_table(analysis, anchors_of(analysis)),)),
        Only(("page",), tuple(_of_comparisons(analysis))),
        Picture("checks"),
        Only(("terminal",), tuple(_failed(analysis))),
    )
    return Section("checks", _("Checks"), blocks, hint=hint, in_outcome=False, is_part=True)


def _shares(analysis: Analysis) -> Iterator[Block]:
    """Verdicts and how many trials have them."""
    kinds = (
        ("valid", analysis.trials_valid),
        ("suspect", analysis.trials_suspect),
        ("invalid", analysis.trials_invalid),
        ("missing", max(0, analysis.trials_planned - analysis.trials_done)),
    )
    if shares := tuple((kind, number) for kind, number in kinds if number):
        yield Shares(shares)


def _table(analysis: Analysis, anchors: Anchors) -> Block:
    if not analysis.checks:
        return Paragraph(_("No check was made."))
    columns = (
        SectionColumn(_("check")),
        SectionColumn(_("what it looks for"), kind="words"),
        *(SectionColumn(translated(kind)) for kind in _VERDICTS[:-1]),
        SectionColumn(translated("unknown"), glossary.meaning("unknown")),
        SectionColumn(_("worst figure"), kind="names"),
    )
    lines = (_line(check, anchors) for check in summary.failing_first(analysis.checks))
    return SectionTable("", columns, tuple(lines), style="sortable checks", label=_("Checks"))


def _line(check: CheckSummary, anchors: Anchors) -> TableRow:
    counts = (check.valid, check.suspect, check.invalid, check.unknown)
    worst = SectionCell(None)
    if check.worst is not None:
        name = check.worst_trial
        link = Link(name, anchors.trial(name)) if name else None
        worst = SectionCell(None, said=summary.figure(check.worst), link=link)
    return TableRow(
        summary.check_title(check.name),
        (SectionCell(None, said=check.explanation), *_counts(counts), worst),
        verdict=next((kind for kind in WORST_FIRST if getattr(check, kind)), "valid"),
    )


def _counts(numbers: tuple[int, ...]) -> Iterator[SectionCell]:
    return (SectionCell(number, faint=not number) for number in numbers)


def _of_comparisons(analysis: Analysis) -> Iterator[Block]:
    """Each rule for comparisons over all of them, failing ones first: counts, and the worst with its comparison."""
    found: dict[str, list[tuple[CheckResult, str, str]]] = {}
    for number, family in enumerate(analysis.families, 1):
        for place, comparison in enumerate(family.comparisons, 1):
            where = f"basis-{number}-{place}"
            for check in comparison.checks:
                found.setdefault(check.name, []).append((check, verdicts.title(comparison), where))
    if not found:
        return
    columns = (
        SectionColumn(_("check")),
        *(SectionColumn(translated(kind)) for kind in _VERDICTS),
        SectionColumn(_("worst figure"), kind="words"),
    )
    lines = []
    for name, results in found.items():
        kinds = [check.verdict for check, _, _ in results]
        worst, title, where = min(results, key=lambda result: WORST_FIRST.index(result[0].verdict))
        cell = SectionCell(None, said=summary.figure(worst), link=Link(title, where), reason=fmt.sentence(worst.reason))
        counts = _counts(tuple(map(kinds.count, _VERDICTS)))
        lines.append((worst.verdict, TableRow(summary.check_title(name), (*counts, cell), verdict=worst.verdict)))
    lines.sort(key=lambda line: WORST_FIRST.index(line[0]))
    yield SectionTable(
        _("Of the comparisons"),
        columns,
        tuple(line for _, line in lines),
        style="sortable checks",
        label=_("Checks of the comparisons"),
    )


def _failed(analysis: Analysis) -> Iterator[Block]:
    """A line a check that failed, however many trials did; and those that are not known for some."""
    failed = [check for check in summary.failing_first(analysis.checks) if check.invalid or check.suspect]
    if failed:
        yield Part(_("Checks that failed"), (Bullets(tuple(map(check_line, failed))),))
    not_known = [summary.check_title(check.name) for check in analysis.checks if check.unknown]
    if not_known:
        yield Paragraph(_("Not known for some trials: {not_known}.", not_known=", ".join(not_known)), "note")


def check_line(check: CheckSummary) -> Bullet:
    """`gain: 2 invalid, 1 suspect; worst 93.4 % (limit 50 %) in b01-003.`"""
    counts = ", ".join(
        said
        for said, n in (
            (_("{n} invalid", n=fmt.count(check.invalid)), check.invalid),
            (_("{n} suspect", n=fmt.count(check.suspect)), check.suspect),
        )
        if n
    )
    worst = (
        _("; worst {figure} in {plain}", figure=summary.figure(check.worst), plain=fmt.plain(check.worst_trial or ""))
        if check.worst
        else ""
    )
    return Bullet(
        f"{counts}{worst}.",
        name=summary.check_title(check.name),
        verdict="invalid" if check.invalid else "suspect",
        aside=check.explanation,
    )
