"""Effects in sentences and figures, the same in every format."""

from collections.abc import Iterator
from typing import NamedTuple

from loadstone.judge.analysis.analysis import EffectCell, EffectsAnswer, EffectTerm
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.run_folder.trial import CheckResult
from loadstone.text.english.figures import blocks_text, metric_text
from loadstone.text.language import _, sentence_case
from loadstone.text.sentences import check_names


class TermLine(NamedTuple):
    """A line of an effect."""

    mark: str
    kind: str
    """`main effect` or `interaction`."""
    name: str
    over: str
    ratio: str
    said: str
    rounds: str


def lines(answer: EffectsAnswer) -> Iterator[TermLine]:
    """Every effect, the main ones first."""
    for term in answer.terms:
        kind = _("main effect") if term.kind == "main" else _("interaction")
        counted = (
            blocks_text(term.verdict.blocks, term.verdict.unit, always_many=True) if term.verdict.blocks else fmt.NONE
        )
        over, ratio = fmt.plain(", ".join(term.over)), verdicts.ratio(term.verdict)
        yield TermLine(verdicts.MARKS[term.verdict.kind], kind, fmt.plain(term.name), over, ratio, said(term), counted)


def said(term: EffectTerm) -> str:
    """Its sentence, with a large letter."""
    return sentence_case(fmt.sentence(term.message))


def cell_text(answer: EffectsAnswer, cell: EffectCell) -> str:
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


def basis(answer: EffectsAnswer) -> str:
    """Return how to read the figures of the combinations."""
    return _(
        "Typical {metric_text}; in brackets the 95 % interval beside the mean of all "
        "combinations, which were measured in the same rounds or blocks. Main effects are "
        "averages on the log scale.",
        metric_text=metric_text(answer.metric),
    )
