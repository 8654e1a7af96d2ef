"""What a report shows of effects: of each factor, of their interactions, and of the combinations behind them."""

from collections.abc import Iterator, Sequence

from loadstone.judge.analysis.analysis import Analysis, EffectCell, EffectsAnswer, EffectTerm
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.document import (
    Block,
    Only,
    Paragraph,
    Part,
    Picture,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    TableRow,
)
from loadstone.run_folder.trial import CheckResult
from loadstone.text.english.figures import blocks_text, metric_text
from loadstone.text.language import _, sentence_case
from loadstone.text.sentences import check_names


def effects_section(analysis: Analysis) -> Section | None:
    """The answers on factors; in Markdown they stand with the verdicts. None without one."""
    blocks = effects_of(analysis.effects)
    if not blocks:
        return None
    return Section(
        "effects", _("Effects"), blocks, layouts=("page", "terminal"), in_outcome=False, is_open=True, is_part=True
    )


def effects_of(answers: Sequence[EffectsAnswer]) -> tuple[Part, ...]:
    """An answer for each comparison that has factors."""
    return tuple(
        Part(answer.question, tuple(_blocks(answer)), f"effects-{number}") for number, answer in enumerate(answers, 1)
    )


def _blocks(answer: EffectsAnswer) -> Iterator[Block]:
    """All effects, the main ones first, and the combinations that they were drawn from."""
    yield Only(("markdown",), (Paragraph(answer.answer),))
    if answer.note:
        yield Only(("page", "markdown"), (Paragraph(answer.note, "note"),))
    columns = (
        SectionColumn(_("against each other")),
        SectionColumn(_("effect"), kind="names"),
        SectionColumn(_("ratio")),
        SectionColumn(_("based on")),
        SectionColumn(_("what it says"), kind="words"),
    )
    yield SectionTable("", columns, tuple(map(_line, answer.terms)), style="verdicts", label=answer.question)
    yield Picture("effects", answer.name)
    levels = (*(SectionColumn(name, kind="names") for name in answer.factors), SectionColumn(_("figure")))
    cells = (TableRow(cell.levels[0], _cells(*cell.levels[1:], figure_text(answer, cell))) for cell in answer.cells)
    yield SectionTable("", levels, tuple(cells), style="verdicts", label=answer.question)
    yield Paragraph(_basis(answer), "note")


def _line(term: EffectTerm) -> TableRow:
    found = term.verdict
    kind = _("main effect") if term.kind == "main" else _("interaction")
    rounds = blocks_text(found.blocks, found.unit, always_many=True) if found.blocks else fmt.NONE
    judged = SectionCell(None, said=effect_text(term), verdict=found.kind)
    return TableRow(term.name, (*_cells(kind, verdicts.ratio(found), rounds), judged))


def _cells(*said: str) -> tuple[SectionCell, ...]:
    return tuple(SectionCell(None, said=one) for one in said)


def effect_text(term: EffectTerm) -> str:
    """Its sentence, with a large letter."""
    return sentence_case(fmt.sentence(term.message))


def figure_text(answer: EffectsAnswer, cell: EffectCell) -> str:
    """`12,400 [12,100, 12,700]`; what forbids a figure in place of it."""
    if cell.figure is None:
        return fmt.NONE if cell.refusal is None else _refused(cell.refusal)
    value = verdicts.metric_figure(answer.metric, cell.figure)
    if cell.low is None or cell.high is None:
        return value
    low, high = (verdicts.metric_figure(answer.metric, end) for end in (cell.low, cell.high))
    return f"{value} [{low}, {high}]"


def _refused(check: CheckResult) -> str:
    reason = "" if check.reason is None else fmt.sentence(check.reason).rstrip(".")
    if reason:
        return _("INVALID: {check}, {reason}", check=check_names(check.name), reason=reason)
    return _("INVALID: {check}", check=check_names(check.name))


def _basis(answer: EffectsAnswer) -> str:
    """Return how to read the figures of the combinations."""
    return _(
        "Typical {metric_text}; in brackets the 95 % interval beside the mean of all "
        "combinations, which were measured in the same rounds or blocks. Main effects are "
        "averages on the log scale.",
        metric_text=metric_text(answer.metric),
    )
