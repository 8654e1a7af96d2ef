"""Conclusions and lessons, in every format."""

import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from tests.report.html.test_html import page_of
from tests.report.terminal.test_terminal import printed
from tests.report.test_study_sections import FORMATS, in_markdown, on_terminal, on_the_page

from loadstone.addons.studies.answers import LessonAnswers
from loadstone.addons.studies.section import lessons_section
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report.document import SectionTable
from loadstone.report.html import page as html
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.written import words
from loadstone.text.message import verbatim


def test_conclusions_are_answered(analysis: Analysis) -> None:
    text = printed(analysis, 120)
    assert "Over 6,000 JSON SETs a second on a laptop." in text
    assert "    confirmed: One Redis took 92,593 SETs of 222 B a second from 32 workers." in text


def test_conclusions_are_listed(analysis: Analysis) -> None:
    assert "1. Over 6,000 JSON SETs a second on a laptop. **confirmed**: One Redis took 92,593" in in_markdown(analysis)


def test_they_stand_behind_the_tables(analysis: Analysis) -> None:
    text = " ".join(page_of(analysis).words.split())
    assert text.index("Published conclusions, tested") > text.index("By document size, one worker")
    assert text.rindex("Published conclusions, tested") < text.rindex("Time line")


def test_they_are_folded_on_the_page(judged: Analysis) -> None:
    folds = page_of(judged).all("details", **{"class": "fold"})
    parts = ["comparisons", "results", "conclusions", "timeline", "checks", "trials", "environment", "reproduce"]
    assert [fold["id"] for fold in folds] == [*parts, "terms"]
    assert all("open" not in fold for fold in folds)


@pytest.mark.parametrize("width", [120, 100, 80, 50])
def test_no_line_on_a_terminal_is_too_long(judged: Analysis, application: Analysis, width: int) -> None:
    for analysis in (judged, application):
        assert max(cell_len(line) for line in on_terminal(analysis, width).splitlines()) <= width


@pytest.mark.parametrize("shown", FORMATS)
def test_every_lesson_is_reported_then_and_now(application: Analysis, shown: Callable[[Analysis], str]) -> None:
    text = on_terminal(application, 1_000) if shown is on_terminal else shown(application)
    lessons = application.part(LessonAnswers)
    assert lessons is not None
    found = lessons_section(lessons)
    assert found is not None
    heading = words(found.heading)
    (claims,) = found.blocks
    assert isinstance(claims, SectionTable)
    section = text[text.index(heading) :] if shown is not on_the_page else text[text.rindex(heading) :]
    assert len(claims.lines) == len(lessons.root)
    for lesson, claim in zip(lessons.root, claims.lines, strict=True):
        assert lesson.then in section
        assert fmt.sentence(lesson.now) in section
        assert words(claim.cells[-1].said) in section
    assert heading not in shown(application.with_part("lessons", LessonAnswers([])))


def test_lessons_stand_behind_crashes(application: Analysis) -> None:
    names = [section.name for section in document_of(application).sections]
    assert names.index("crashes") + 1 == names.index("lessons")


def test_hostile_texts_are_texts(application: Analysis) -> None:
    bad = "a|b <script>x</script>\n# h"
    lessons = application.part(LessonAnswers)
    assert lessons is not None
    lesson = lessons.root[0].model_copy(update={"then": bad, "now": verbatim(bad)})
    evil = application.with_part("lessons", LessonAnswers([lesson]))
    text = in_markdown(evil)
    assert "<script" not in text
    assert "\n# h" not in text
    for line in text.split("\n"):
        if line.startswith("| a"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 4
    assert "<script>x" not in html.render(evil)["report.html"].decode()
