"""`analysis.json`: data, and beside them the sentences that they stand for."""

import json
from typing import Any

from pydantic_core import to_jsonable_python

from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.verdict import Verdict
from loadstone.report.json_report import render, with_texts
from loadstone.report.verdicts import all_comparisons, verdict_text
from loadstone.text.language import use_language
from loadstone.text.sentences import render_message


def written(analysis: Analysis) -> bytes:
    (content,) = render(analysis).values()
    return content


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_a_verdict_is_data_with_its_sentence_beside_it(judged: Analysis) -> None:
    families = json.loads(written(judged))["families"]
    found = [pair["primary"] for family in families for pair in family["comparisons"]]
    verdicts = [one.primary for one in all_comparisons(judged)]
    assert [one["text"] for one in found] == [verdict_text(one) for one in verdicts]
    assert all(one.keys() == {*Verdict.model_fields, "text"} for one in found)
    assert {one["kind"] for one in found} >= {"faster", "equivalent", "mixed", "undecided", "invalid"}


def test_a_message_has_its_sentence_beside_it(judged: Analysis) -> None:
    (first, *_) = json.loads(written(judged))["families"]
    answer = judged.families[0].answer
    assert first["answer"] == {**to_jsonable_python(answer), "text": render_message(answer)}


def test_programs_read_english_whatever_a_person_reads(judged: Analysis) -> None:
    english = with_texts(judged)
    with use_language("ko"):
        assert with_texts(judged) == english


def test_it_is_read_back_as_it_was(judged: Analysis) -> None:
    assert Analysis.model_validate_json(written(judged)) == judged


def test_what_is_infinite_has_no_figure(judged: Analysis) -> None:
    endless = judged.model_copy(update={"elapsed_s": float("inf")})
    read: dict[str, Any] = json.loads(written(endless), parse_constant=no_constant)
    assert read["elapsed_s"] is None
