"""What opens a report: the answer in plain words, and how far it can be trusted; then the answer in figures."""

from collections.abc import Iterator
from math import exp, expm1

from loadstone.judge.analysis.analysis import Analysis, Comparison
from loadstone.judge.metrics import is_rate
from loadstone.judge.verdict import DECIDED, Side, Verdict
from loadstone.report import figure_format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.document import Block, Bullet, Bullets, Paragraph, Section
from loadstone.report.figure_quality import different_rows, figure_quality, trust_text
from loadstone.text.english.figures import figure_text, metric_text
from loadstone.text.figures import is_times
from loadstone.text.language import _
from loadstone.text.message import Message, message

PARAGRAPH_MAX = 4
"""Number of sentences that are read as one paragraph."""
_LISTS = {"sentences": "parts", "effects_answer": "terms", "saturations": "answers"}
"""Messages that hold others, and the figure that has those."""


def opening_blocks(analysis: Analysis) -> tuple[Block, ...]:
    """A sentence that answers, by how much the run was made smaller, and a sentence how far to trust it."""
    scaled = summary.scaled(analysis)
    found = figure_quality(analysis)
    trust = trust_text(analysis)
    has_figures = any(row.goodput_per_s for row in different_rows(analysis))
    is_doubtful = has_figures and 2 * found.good < found.of
    said = _("Read this with care: {trust}.", trust=trust) if is_doubtful else f"{trust}."
    return (
        Paragraph(plain_answer(analysis), "answer"),
        *([Paragraph(scaled, "doubt")] if scaled else []),
        Paragraph(said, "banner" if is_doubtful else "plain"),
    )


def figures_section(analysis: Analysis) -> Section | None:
    """What the answer consists of beside the opening, a line each; None where the opening says it all."""
    said = plain_answer(analysis)
    parts = analysis.answer.figures["parts"] if analysis.answer.kind == "sentences" else [analysis.answer]
    left = [part for part in parts if fmt.sentence(part) != said]
    if not left:
        return None
    answer = left[0] if len(left) == 1 else message("sentences", parts=left)
    lines = tuple(Bullet(line) for line in answer_lines(answer))
    blocks: tuple[Block, ...] = (Bullets(lines),) if len(lines) > 1 else (Paragraph(fmt.sentence(answer)),)
    return Section("answer", _("The answer in figures"), blocks, in_outcome=False, is_open=True)


def answer_lines(answer: Message) -> list[Message]:
    """What the answer consists of, in its order; the answer alone where that is short."""
    lines = list(_parts(answer))
    return lines if len(lines) > PARAGRAPH_MAX else [answer]


def _parts(said: Message) -> Iterator[Message]:
    if said.kind not in _LISTS:
        yield said
        return
    figures = said.figures
    for part in (*figures[_LISTS[said.kind]], *figures.get("refused", ())):
        yield from _parts(part)


def plain_answer(analysis: Analysis) -> str:
    """One sentence: what was measured, where the question is how much, or else the clearest of what was compared."""
    if analysis.effects:
        return fmt.sentence(analysis.effects[0].answer)
    pairs = [pair for family in analysis.families for pair in family.comparisons]
    if not pairs or analysis.answered_by == "figures" or analysis.headline == analysis.answer:
        return fmt.sentence(analysis.headline) or fmt.sentence(analysis.answer)
    return _of_pair(max(pairs, key=_clarity))


def _clarity(pair: Comparison) -> tuple[bool, bool, float]:
    """A difference in what was asked before one in what a request costs; a large one before a small one."""
    leading = pair.leading
    return leading.kind in DECIDED, leading.role != "cost", abs(leading.estimate or 0.0)


def _of_pair(pair: Comparison) -> str:
    found = pair.leading
    names = {"a": fmt.plain(found.a.name), "b": fmt.plain(found.b.name)}
    where = f" ({fmt.plain(pair.place)})" if pair.place else ""
    figures = {"of_a": _typical(found, found.a), "of_b": _typical(found, found.b), "where": where}
    match found.kind:
        case "faster" if found.role != "cost":
            return _difference(pair, names, figures)
        case "equivalent" if found.role != "cost":
            margin = fmt.percent(found.margin)
            return _("{b} and {a} are equally fast within {margin}{where}.", **names, margin=margin, where=where)
        case "undecided" | "not_decidable" if _is_narrow(found):
            low, high = (f"{100 * expm1(end):+.0f} %" for end in (found.low or 0.0, found.high or 0.0))
            return _(
                "It is not decided whether {b} or {a} is faster{where}: the difference may be anything from {low} to "
                "{high}.",
                **names,
                low=low,
                high=high,
                where=where,
            )
        case "undecided" | "not_decidable":
            return _("It is not decided whether {b} or {a} is faster{where}.", **names, where=where)
        case "invalid":
            return _("{b} and {a} cannot be compared{where}: a check failed.", **names, where=where)
    return _in_terms(pair)


def _typical(found: Verdict, side: Side) -> str:
    return fmt.NONE if side.typical is None else figure_text(side.typical, found.metric)


def _is_narrow(found: Verdict) -> bool:
    """Whether there is an interval that can be said in per cent."""
    return found.low is not None and found.high is not None and not (is_times(found.low) or is_times(found.high))


def _difference(pair: Comparison, names: dict[str, str], figures: dict[str, str]) -> str:
    """In per cent of A, or as a factor where it is more than a half."""
    found = pair.leading
    ratio = found.estimate or 0.0
    said = {
        **names,
        **figures,
        "by": f"{100 * abs(expm1(ratio)):.0f} %",
        "metric": metric_text(found.metric, short=True),
    }
    if not is_rate(found.metric):
        if is_times(ratio):
            return _in_terms(pair)
        if ratio < 0:
            return _("The {metric} of {b} is {by} lower than that of {a}{where}: {of_b} against {of_a}.", **said)
        return _("The {metric} of {b} is {by} higher than that of {a}{where}: {of_b} against {of_a}.", **said)
    if not is_times(ratio):
        if ratio > 0:
            return _("{b} is {by} faster than {a}{where}: {of_b} against {of_a} {metric}.", **said)
        return _("{b} is {by} slower than {a}{where}: {of_b} against {of_a} {metric}.", **said)
    said["by"] = f"{exp(abs(ratio)):.2g}"
    if ratio > 0:
        return _("{b} is {by} times as fast as {a}{where}: {of_b} against {of_a} {metric}.", **said)
    return _("{a} is {by} times as fast as {b}{where}: {of_a} against {of_b} {metric}.", **said)


def _in_terms(pair: Comparison) -> str:
    return f"{verdicts.title(pair)}: {verdicts.verdict_text(pair.leading)}."
