"""Effects as Markdown: a table of the effects, and one of the combinations."""

from collections.abc import Iterator

from loadstone.analyse.factorial.effects_answer import EffectsAnswer
from loadstone.report import effect_lines
from loadstone.report.markdown.markdown_text import sentence, text


def effect_tables(answer: EffectsAnswer) -> Iterator[str]:
    """The question, the answer, both tables."""
    yield from (f"### {text(answer.question)}", "", sentence(answer.answer), "")
    yield from ("| | effect | against each other | ratio | what it says | from |", "|---|---|---|---|---|---|")
    for line in effect_lines.lines(answer):
        cells = (line.mark, line.kind, line.name, line.ratio, line.said, line.rounds)
        yield f"| {' | '.join(map(text, cells))} |"
    yield from ("", f"| {' | '.join(map(text, answer.factors))} | {text('figure')} |")
    yield f"|{'---|' * (len(answer.factors) + 1)}"
    for cell in answer.cells:
        yield f"| {' | '.join(map(text, (*cell.levels, effect_lines.cell_text(answer, cell))))} |"
    yield from ("", text(f"{effect_lines.basis(answer)} {answer.note}".strip()), "")
