"""Every term that a report uses is explained, in one line."""

import re
from importlib import resources
from typing import get_args

import pytest

from loadstone.judge.analysis.analysis import PartName
from loadstone.judge.verdict import VerdictKind
from loadstone.report.glossary import GROUPS, TERMS, VERDICT_TERMS, meaning
from loadstone.report.tables.columns import BOTTLENECKS, COLUMNS, USUAL
from loadstone.report.verdicts import MARKS

TEMPLATES = [path for path in (resources.files("loadstone.report.html") / "templates").iterdir() if ".j2" in path.name]
SECTIONS = [
    path
    for folder in ("sections", "tables")
    for path in resources.files(f"loadstone.report.{folder}").iterdir()
    if path.name.endswith(".py")
]


def test_every_term_of_the_report_has_an_explanation() -> None:
    used = {
        term
        for path in (*TEMPLATES, *SECTIONS)
        for term in re.findall(r'(?:word|head|meaning|Term)\("([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(used) > 12
    assert used <= set(TERMS)


def test_every_kind_of_verdict_has_a_mark_and_an_explanation() -> None:
    assert set(VERDICT_TERMS) == set(MARKS) == set(get_args(VerdictKind))
    assert set(VERDICT_TERMS.values()) <= set(TERMS)


def test_every_bottleneck_has_a_word() -> None:
    assert set(BOTTLENECKS) == set(get_args(PartName))


@pytest.mark.parametrize("term", TERMS)
def test_an_explanation_is_a_sentence_or_two(term: str) -> None:
    words = meaning(term)
    assert words.endswith(".")
    assert "\n" not in words
    assert len(words) <= 240


def test_no_term_stands_under_two_headings() -> None:
    assert sum(len(terms) for terms in GROUPS.values()) == len(TERMS)


def test_every_column_has_an_explanation() -> None:
    assert all(column.explanation.endswith(".") for column in (*USUAL, *COLUMNS.values()))
