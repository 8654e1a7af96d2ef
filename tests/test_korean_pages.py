"""The Korean pages say what the English ones say: the same sections, commands and figures."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "README.ko.md",
    **{f"docs/{path.name}": f"docs/ko/{path.name}" for path in sorted((ROOT / "docs" / "ko").glob("*.md"))},
}
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"<!-- (?:output|machine) of: .*?-->.*?<!-- end -->", re.DOTALL)
"""What `make docs` writes: an output of a command in the page's language."""


@pytest.mark.parametrize("english", PAGES)
def test_the_sections_are_the_same(english: str) -> None:
    assert _levels(PAGES[english]) == _levels(english)


@pytest.mark.parametrize("english", PAGES)
def test_the_commands_are_the_same(english: str) -> None:
    assert _commands(PAGES[english]) == _commands(english)


@pytest.mark.parametrize("english", PAGES)
def test_the_figures_of_tables_are_the_same(english: str) -> None:
    """Korean may write a word as a figure (`1초`), and never leaves one out."""
    assert _figures(english) - _figures(PAGES[english]) == Counter()


def _text(page: str) -> str:
    return _SHOWN.sub("", (ROOT / page).read_text(encoding="utf-8"))


def _levels(page: str) -> list[int]:
    return [len(found[1]) for found in re.finditer(r"^(#+) ", _FENCED.sub("", _text(page)), re.MULTILINE)]


def _commands(page: str) -> list[str]:
    """Command lines to type, without what is explained beside them."""
    lines = (line for block in _FENCED.finditer(_text(page)) for line in block[2].splitlines())
    typed = (re.sub(r"\s+#.*|(?<=\S)\s{2,}.*", "", line).strip().replace(" --lang ko", "") for line in lines)
    return [line for line in typed if re.match(r"(\$ )?(loadstone|pip|uv|docker|make|git|scripts/)\b", line)]


def _figures(page: str) -> Counter[str]:
    rows = re.findall(r"^\|.*", _FENCED.sub("", _text(page)), re.MULTILINE)
    return Counter(number for row in rows for number in re.findall(r"\d[\d,.]*\d|\d", row))
