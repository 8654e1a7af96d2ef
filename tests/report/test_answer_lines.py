"""The opening answer in lines: as one paragraph where that is short, else what it consists of."""

from loadstone.message import Message, as_written, message
from loadstone.report.html.html_report import PARAGRAPH_MAX, answer_lines
from loadstone.report.text.sentences import text


def said(*sentences: str) -> list[Message]:
    return [as_written(one) for one in sentences]


def test_a_few_sentences_are_one_paragraph() -> None:
    answer = message("sentences", parts=said(*"abcd"[:PARAGRAPH_MAX]))
    assert answer_lines(answer) == [answer]
    assert answer_lines(as_written("a")) == [as_written("a")]


def test_effects_and_saturation_points_have_a_line_each() -> None:
    effects = message("effects_answer", terms=said("b", "c"), quick=False, refused=said("d"))
    points = message("saturations", answers=said("e", "f"))
    answer = message("sentences", parts=[as_written("a"), effects, points])
    assert [text(line) for line in answer_lines(answer)] == list("abcdef")


def test_an_answer_that_came_back_from_a_file_is_the_same() -> None:
    answer = message("sentences", parts=said(*"abcdef"))
    assert answer_lines(Message.model_validate_json(answer.model_dump_json())) == said(*"abcdef")
