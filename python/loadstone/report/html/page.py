"""One self-contained page: tables, pictures, checks and trials. It requests nothing from the network."""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, written
from loadstone.report.charts import theme
from loadstone.report.charts.pictures import chart_of, pictures_of, without_pictures
from loadstone.report.document import Picture, Section, SectionCell, Words
from loadstone.report.html.sections import (
    captions_of,
    cell_style,
    figure,
    finding_pictures,
    linked,
)
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.sections.opening import opening_blocks
from loadstone.report.summary import anchors_of
from loadstone.report.tables.columns import MARK_TEXTS, MARKS
from loadstone.report.written import words
from loadstone.text.language import ENGLISH, language, speak_in_templates, translated
from loadstone.text.message import Message


def templates_of(
    package: str, filters: Mapping[str, Callable[..., Any]], finalize: Callable[[Any], Any] | None = None
) -> jinja2.Environment:
    """The templates in the folder `templates` of a package; `filters` beside those that all have.

    `finalize`: what is printed in place of a value, before it is escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    speak_in_templates(environment)
    environment.filters |= {
        "said": translated, "part": fmt.part_name, "plain": fmt.plain, "sentence": fmt.sentence,
        "count": fmt.count, "rate": fmt.rate, "duration": fmt.duration, "percent": fmt.percent,
        "seconds": fmt.seconds, "check_title": summary.check_title,
    } | dict(filters)  # fmt: skip
    return environment


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.html`, whole in one file."""
    template = _templates().get_template("report.html.j2")
    style, script = _stylesheet(), _source("report.js")
    text = template.render(**page(analysis), style=style, script=script, policy=_policy(script), bar="", trial_pages="")
    return {"report.html": text.encode()}


@dataclass(frozen=True)
class EmbeddedPage:
    """What a server of pages puts around a report that it shows."""

    bar: Markup
    """Above the report."""
    style: str
    """Style of the bar."""
    trials: str
    """The address below which each trial has a page of its own, `.../trials/`."""


def render_hosted(analysis: Analysis, hosted: EmbeddedPage) -> tuple[bytes, str]:
    """Return the page within a server's, and its policy, under which nothing of it may be styled but by its own sheet.

    So what the file says in attributes of style stands in the sheet.
    """
    style, script = _stylesheet() + hosted.style, _source("report.js")
    stylesheet, policy_said = (secrets.token_hex(16) for _ in range(2))
    text = (
        _templates()
        .get_template("report.html.j2")
        .render(
            **page(analysis),
            style=stylesheet,
            script=script,
            policy=policy_said,
            bar=hosted.bar,
            trial_pages=hosted.trials,
        )
    )
    said: dict[str, int] = {}

    def named(found: re.Match[str]) -> str:
        return f' data-styled="{said.setdefault(found[1], len(said))}"'

    text = _STYLED.sub(named, text)
    style += "".join(f'[data-styled="{number}"]{{{rule}}}' for rule, number in said.items())
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; form-action 'self'; base-uri 'none'"
    )
    return text.replace(stylesheet, style, 1).replace(policy_said, policy, 1).encode(), policy


_STYLED = re.compile(r' style="((?:--bar|flex-grow):[\d.e+-]+)"')
"""What the templates say in attributes of style."""


@cache
def _templates() -> jinja2.Environment:
    own: dict[str, Callable[..., Any]] = {
        "unbroken": _unbroken, "pieces": _pieces, "figure": summary.figure, "cell": written.cell,
        "words": words, "cell_style": cell_style,
        "kind": lambda block: type(block).__name__,
    }  # fmt: skip
    environment = templates_of("loadstone.report.html", own, _printed)
    said: Any = environment.globals["_"]
    environment.globals["_"] = lambda template, **figures: said(
        template, **{name: _printed(figure) for name, figure in figures.items()}
    )
    environment.globals |= {
        "meaning": glossary.meaning, "marks": MARKS, "mark_texts": MARK_TEXTS,
        "verdict_terms": glossary.VERDICT_TERMS, "linked": words,
        "SectionCell": SectionCell,
    }  # fmt: skip
    return environment


def blocks_html(section: Section) -> Markup:
    """The blocks of a section for a page of another kind: texts and tables, without pictures and links to trials."""
    macros: Any = _templates().get_template("blocks.html.j2").module
    return Markup(macros.blocks(section.blocks, section))


def _printed(value: Any) -> Any:
    """What a template prints of a text or a message: all that is not ours passes here, and is escaped behind it."""
    if isinstance(value, Markup) or not isinstance(value, str | Message):
        return value
    return Markup(value) if isinstance(value, str) and value.isspace() else escape(words(value))


def _unbroken(text: Words) -> Markup:
    """No line ends between a number and its per cent."""
    return Markup(_printed(text).replace(" %", "\u00a0%"))


def _pieces(text: str) -> Markup:
    """A figure with what stands behind it in brackets: between these a line may end, within them never."""
    pieces = re.split(r" (?=[\[(])", words(text))
    return Markup(" ").join(Markup('<span class="piece">{}</span>').format(piece) for piece in pieces)


@cache
def _source(name: str) -> str:
    return (resources.files("loadstone.report.html") / "templates" / name).read_text(encoding="utf-8")


def _stylesheet() -> str:
    """The page's own; Korean lines end between words, in a Korean font of the reader's system."""
    style = _source("report.css") + _hues() + _dark_pictures()
    if language() == ENGLISH:
        return style
    return f"{style}body {{ font-family: {theme.font()}; word-break: keep-all; }}\n"


def _hues() -> str:
    """The colours of conditions beside their names in tables."""
    rules = (f".h{place}{{background:{colour}}}" for place, colour in enumerate(theme.SERIES))
    return "".join(rules) + "\n"


def _dark_pictures() -> str:
    """On a dark screen each colour of a picture is replaced by its lighter one."""
    rules = (
        f'.marks [{what}="{light}"]{{{what}:{dark}}}' for light, dark in theme.ON_DARK.items() for what in _PAINTED
    )
    hues = (f".h{place}{{background:{theme.ON_DARK[colour]}}}" for place, colour in enumerate(theme.SERIES))
    return f"@media screen and (prefers-color-scheme: dark) {{ {''.join((*rules, *hues))} }}\n"


_PAINTED = ("fill", "stroke")


def _policy(script: str) -> str:
    """The page's content security policy: only its own script runs, and nothing is fetched from anywhere."""
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(analysis: Analysis) -> dict[str, Any]:
    """Everything that the templates print, by the names they use."""
    charts, anchors = pictures_of(analysis), anchors_of(analysis)
    sections = document_of(analysis).of("page")
    opening = [section.name for section in sections if section.findings]
    opening += [section.name for section in sections if section.name in ("verdicts", "figures")]
    drawn: set[str] = set()

    def shown(block: Picture) -> dict[str, Any] | None:
        """A picture where it stands first: none is there twice."""
        chart = chart_of(charts, block)
        if chart is None or chart.name in drawn:
            return None
        drawn.add(chart.name)
        return figure(chart)

    return {
        "analysis": analysis,
        "sections": sections,
        "first": next(iter(opening), "details"),
        "opening": opening_blocks(analysis),
        "trials_line": summary.trials(analysis),
        "badges": summary.status_marks(analysis),
        "without_pictures": without_pictures(),
        "time_used": summary.time_used(analysis),
        "language": language(),
        "linked": lambda said: linked(words(said), anchors),
        "picture_of": shown,
        "pictures_in": lambda block: [(heading, one) for heading, of in block.parts if (one := shown(of))],
        "captions_of": captions_of,
        "pictures_of": lambda finding: finding_pictures(finding, charts),
        "terms_of": lambda phrase, word: {
            name: word(one.term, one.text) if one.term else one.text for name, one in phrase.terms
        },
    }
