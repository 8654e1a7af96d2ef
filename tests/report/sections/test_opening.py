"""The first sentence of a report answers what the study asks, and nothing of it is said again."""

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.document import Paragraph
from loadstone.report.sections.opening import figures_section, plain_answer
from loadstone.text.message import message, verbatim

FIGURES, COSTS = verbatim("One Redis takes 130,000 a second."), verbatim("A request costs 8 µs.")


def answered(judged: Analysis, by: str) -> Analysis:
    answer = message("sentences", parts=[FIGURES, COSTS])
    return judged.model_copy(update={"headline": FIGURES, "answer": answer, "answered_by": by})


def test_a_study_of_how_much_opens_with_figures(judged: Analysis) -> None:
    found = answered(judged, "figures")
    assert plain_answer(found) == "One Redis takes 130,000 a second."
    section = figures_section(found)
    assert section is not None
    assert section.blocks == (Paragraph("A request costs 8 µs."),)


def test_any_other_opens_with_its_clearest_comparison(judged: Analysis) -> None:
    found = answered(judged, "comparisons")
    pairs = [pair for family in judged.families for pair in family.comparisons]
    assert any(pair.primary.b.name in plain_answer(found) for pair in pairs)
    section = figures_section(found)
    assert section is not None
    assert section.blocks == (Paragraph("One Redis takes 130,000 a second. A request costs 8 µs."),)
