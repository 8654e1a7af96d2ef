"""Every block of the report in every layout: what is not ours stays text, and a section of the list is everywhere."""

import dataclasses
import io
import re
import types
import typing
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, Literal

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import document, markdown_report
from loadstone.report.document import Block, Paragraph, Picture, Pictures, Section, SectionColumn, Shares
from loadstone.report.html import page as html
from loadstone.report.sections import of_analysis
from loadstone.report.terminal import outcome, sections
from loadstone.text.language import translatable
from loadstone.text.message import Message, verbatim

HOSTILE = (
    "\u202e\u2066[red]z[/red] a|b <script>x</script> <img src=x> [l](javascript:1) ![i](x) `c` **b** \x1b[2J\n# h\n```"
)
PIPE = re.compile(r"(?<!\\)\|")
KINDS = typing.get_args(Block)
OURS = {"anchor", "target", "style"}
"""Fields that hold names which the report makes itself."""
TAGS = {
    "a", "abbr", "article", "b", "code", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "h3", "h4", "i",
    "li", "ol", "p", "pre", "s", "section", "small", "span", "summary", "table", "tbody", "td", "th", "thead", "tr",
    "ul",
}  # fmt: skip
SILENT: Mapping[str, set[type]] = {
    "page": {Picture, Pictures, Shares},
    "markdown": {Picture, Pictures},
    "terminal": {Picture, Pictures},
}
"""Blocks that print no text of their own: pictures without data, a bar."""


class Made:
    """Makes a block of hostile texts alone, by the types of its fields: a new block needs no case of its own."""

    def __init__(self, flag: bool) -> None:
        self.flag = flag

    def block(self, kind: type) -> Any:
        hints = typing.get_type_hints(kind, vars(document))
        return kind(**{field.name: self._field(field.name, hints[field.name]) for field in dataclasses.fields(kind)})

    def _field(self, name: str, hint: Any) -> Any:
        if name in OURS:
            return "place"
        if name == "layouts":
            return tuple(SILENT)
        if name == "template":
            return translatable("{x}.")
        if name == "terms" and hint == tuple[tuple[str, document.Term], ...]:
            return (("x", document.Term("block", HOSTILE)),)
        if name == "columns":
            return (self.block(SectionColumn),) * 2
        return self._value(hint)

    def _value(self, hint: Any) -> Any:
        origin, parts = typing.get_origin(hint), typing.get_args(hint)
        if hint == Block:
            return Paragraph(HOSTILE)
        if origin in (types.UnionType, typing.Union):
            return self._value(next(part for part in parts if part is not type(None)))
        if origin is Literal:
            return parts[0]
        if origin is tuple:
            return tuple(map(self._value, parts[:1] if parts[-1] is ... else parts))
        if dataclasses.is_dataclass(hint):
            return self.block(typing.cast(type, hint))
        plain = {str: HOSTILE, Message: verbatim(HOSTILE), int: 1, float: 1.0, bool: self.flag}
        return {} if origin is not None else plain[hint]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "flagged"])
def made(request: pytest.FixtureRequest) -> Made:
    """Both forms of each block: with its flags, and without."""
    return Made(request.param)


class Tags(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def on_page(block: Any, analysis: Analysis) -> str:
    template = html._templates().from_string(
        '{% from "blocks.html.j2" import blocks with context %}{{ blocks(found, section) }}'
    )
    section = Section("x", "x", (block,))
    return template.render(**html.page(analysis), found=[block], section=section, trial_pages="")


def in_markdown(block: Any) -> str:
    return "\n".join(markdown_report._blocks([block], [], 3))


def on_terminal(block: Any) -> str:
    out = io.StringIO()
    console = Console(file=out, width=400, highlight=False, color_system=None)
    for part in sections.blocks([block], 400):
        console.print(part)
    return out.getvalue()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
def test_hostile_texts_stay_texts_on_the_page(kind: type, made: Made, empty_analysis: Analysis) -> None:
    page = Tags(on_page(made.block(kind), empty_analysis))
    for tag, attributes in page.found:
        assert tag in TAGS
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert not (attributes.get("href") or "#").startswith("javascript")
    assert not {"\x1b", "\u202e", "\u2066"} & set(page.text)
    assert ("<script>x</script>" in page.text) is (kind not in SILENT["page"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
def test_hostile_texts_stay_texts_in_markdown(kind: type, made: Made) -> None:
    markdown = in_markdown(made.block(kind))
    assert not {"\x1b", "\u202e", "\u2066"} & set(markdown)
    assert "\n# h" not in markdown
    rendered = Tags(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))
    shown = {"a", "br", "code", "em", "h3", "h4", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody", "td",
             "th", "thead", "tr", "ul"}  # fmt: skip
    for tag, attributes in rendered.found:
        assert tag in shown
        assert (attributes.get("href") or "#").startswith("#")
    assert sum(tag == "code" for tag, _ in rendered.found) == (kind is document.Code)
    assert ("<script>x</script>" in rendered.text) is (kind not in SILENT["markdown"])
    for above, line in pairwise(markdown.split("\n")):
        if above.startswith("|") and line.startswith("|"):
            assert len(PIPE.findall(line)) == len(PIPE.findall(above))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
def test_hostile_texts_stay_texts_on_a_terminal(kind: type, made: Made) -> None:
    text = on_terminal(made.block(kind))
    assert not {"\x1b", "\u202e", "\u2066"} & set(text)
    assert ("[red]z[/red]" in " ".join(text.split())) is (kind not in SILENT["terminal"])


def whole_page(analysis: Analysis) -> str:
    return html.render(analysis)["report.html"].decode()


def whole_markdown(analysis: Analysis) -> str:
    return markdown_report.render(analysis)["report.md"].decode()


def whole_terminal(analysis: Analysis) -> str:
    out = io.StringIO()
    outcome.show(analysis, None, Console(file=out, width=120, color_system=None), verbose=True)
    return out.getvalue()


@pytest.mark.parametrize("layout", [whole_page, whole_markdown, whole_terminal])
def test_a_section_of_the_list_is_in_every_layout(
    layout: Callable[[Analysis], str], empty_analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(analysis: Analysis) -> Section:
        return Section("another", "Another heading", (Paragraph(f"Of {analysis.experiment} alone."),))

    said = f"Of {empty_analysis.experiment} alone."
    assert said not in layout(empty_analysis)
    monkeypatch.setattr(of_analysis, "ORDER", (*of_analysis.ORDER, another))
    text = layout(empty_analysis.model_copy())
    assert text.index("Another heading") < text.index(said)
