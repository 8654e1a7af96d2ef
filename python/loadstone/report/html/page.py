"""One self-contained page: tables, pictures, checks and trials. It requests nothing from the network."""

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from loadstone.judge.analysis.analysis import Analysis, CheckSummary, TrialView
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.charts import theme
from loadstone.report.charts.pictures import pictures_of, without_pictures
from loadstone.report.figure_quality import trust_text
from loadstone.report.html.sections import (
    MINOR,
    comparison_checks,
    effects_view,
    family_view,
    figure,
    finding_view,
    hints,
    linked,
    main_table,
    table_view,
    verdicts_picture,
)
from loadstone.report.sections.of_analysis import findings_of, sections_of
from loadstone.report.summary import Anchors
from loadstone.report.tables import columns, observed
from loadstone.report.tables.columns import MARK_TEXTS, MARKS, goodput_name
from loadstone.text.english.figures import blocks_text
from loadstone.text.language import ENGLISH, language, speak_in_templates, translated
from loadstone.text.message import Message
from loadstone.text.sentences import figures_of


def templates_of(package: str, filters: Mapping[str, Callable[..., Any]]) -> jinja2.Environment:
    """The templates in the folder `templates` of a package; `filters` beside those that all have."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    speak_in_templates(environment)
    environment.filters |= {
        "said": translated, "part": fmt.part_name, "plain": fmt.plain, "cell": fmt.cell, "sentence": fmt.sentence,
        "count": fmt.count, "rate": fmt.rate, "duration": fmt.duration, "percent": fmt.percent,
        "seconds": fmt.seconds, "check_title": summary.check_title,
    } | dict(filters)  # fmt: skip
    return environment


_OPENED_MAX = 6
"""More invalid trials than this stay folded."""
_TRIALS_WITH_ALL_MAX = 100
"""With more trials than this the checks that one passed are counted only: `trials.jsonl` has them."""
PARAGRAPH_MAX = 4
"""Number of sentences that are read as one paragraph."""
_LISTS = {"sentences": "parts", "effects_answer": "terms", "saturations": "answers"}
"""Messages that hold others, and the figure that has those."""


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
    own: dict[str, Callable[..., Any]] = {"unbroken": _unbroken, "pieces": _pieces, "figure": summary.figure}
    return templates_of("loadstone.report.html", own)


def _unbroken(text: str) -> str:
    """No line ends between a number and its per cent."""
    return text.replace(" %", "\u00a0%")


def _pieces(text: str) -> Markup:
    """A figure with what stands behind it in brackets: between these a line may end, within them never."""
    pieces = re.split(r" (?=[\[(])", text)
    return Markup(" ").join(Markup('<span class="piece">{}</span>').format(piece) for piece in pieces)


@cache
def _source(name: str) -> str:
    return (resources.files("loadstone.report.html") / "templates" / name).read_text(encoding="utf-8")


def _stylesheet() -> str:
    """The page's own; Korean lines end between words, in a Korean font of the reader's system."""
    style = _source("report.css") + _dark_pictures()
    if language() == ENGLISH:
        return style
    return f"{style}body {{ font-family: {theme.font()}; word-break: keep-all; }}\n"


def _dark_pictures() -> str:
    """On a dark screen each colour of a picture is replaced by its lighter one."""
    rules = (
        f'.marks [{what}="{light}"]{{{what}:{dark}}}' for light, dark in theme.ON_DARK.items() for what in _PAINTED
    )
    return f"@media screen and (prefers-color-scheme: dark) {{ {''.join(rules)} }}\n"


_PAINTED = ("fill", "stroke")


def _policy(script: str) -> str:
    """The page's content security policy: only its own script runs, and nothing is fetched from anywhere."""
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(analysis: Analysis) -> dict[str, Any]:
    """Everything that the template prints, by the names it uses."""
    charts, anchors = pictures_of(analysis), Anchors(analysis)
    opening = verdicts_picture(analysis, charts)
    main = main_table(analysis, anchors)
    first = None if opening or not main else next((chart for chart in charts if chart.kind == "rps"), None)
    found = findings_of(analysis)
    folded = [chart for chart in charts if chart is not first]
    return {
        "analysis": analysis,
        "sections": sections_of(analysis),
        "answer_lines": answer_lines(analysis.answer),
        "headline": trust_text(analysis),
        "trials_line": summary.trials(analysis),
        "badges": summary.status_marks(analysis),
        "scaled": summary.scaled(analysis),
        "without_pictures": without_pictures(),
        "time_used": summary.time_used(analysis),
        "shares": _shares(analysis),
        "found": found,
        "findings": {one.name: [finding_view(each, charts) for each in one.findings] for one in found},
        "verdicts": opening,
        "main": main and {**main, "picture": first and figure(first)},
        "costs": next((figure(chart) for chart in charts if chart.kind == "cost"), None),
        "hints": hints(analysis),
        "effects": [effects_view(answer, charts) for answer in analysis.effects],
        "families": [family_view(family, charts, anchors) for family in analysis.families],
        "comparison_checks": comparison_checks(analysis),
        "counted": verdicts.units(list(verdicts.all_comparisons(analysis))),
        "tables": [table_view(table, folded, anchors, analysis) for table in analysis.tables],
        "timeline": next((figure(chart) for chart in charts if chart.kind == "timeline"), None),
        "matrix": next((figure(chart) for chart in charts if chart.kind == "checks"), None),
        "checks": [_check(check) for check in summary.failing_first(analysis.checks)],
        "opened": sum(view.verdict == "invalid" for view in analysis.trials) <= _OPENED_MAX,
        "all_checks": len(analysis.trials) <= _TRIALS_WITH_ALL_MAX,
        "conditions": [_condition(anchor, label, views, analysis) for anchor, label, views in anchors.conditions],
        "environment": _environment(analysis.environment),
        "commands": summary.reproduce(analysis),
        "groups": glossary.groups_of(analysis),
        "rate": goodput_name(analysis),
        "language": language(),
        "blocks_text": blocks_text,
        "meaning": glossary.meaning,
        "anchors": anchors,
        "observed": observed,
        "minor": MINOR,
        "columns": columns,
        "marks": MARKS,
        "mark_texts": MARK_TEXTS,
        "linked": lambda said: linked(fmt.sentence(said), anchors),
    }


def _shares(analysis: Analysis) -> list[tuple[str, int]]:
    """Verdicts and how many trials have them, for the bar."""
    left = max(0, analysis.trials_planned - analysis.trials_done)
    kinds = (
        ("valid", analysis.trials_valid),
        ("suspect", analysis.trials_suspect),
        ("invalid", analysis.trials_invalid),
        ("missing", left),
    )
    return [(kind, number) for kind, number in kinds if number]


def _check(check: CheckSummary) -> dict[str, Any]:
    verdict = next((kind for kind in ("invalid", "suspect", "unknown") if getattr(check, kind)), "valid")
    return {"check": check, "verdict": verdict, "worst": summary.figure(check.worst) if check.worst else fmt.NONE}


def _condition(anchor: str, label: str, views: list[TrialView], analysis: Analysis) -> dict[str, Any]:
    verdicts = [view.verdict for view in views]
    worst = next((kind for kind in ("invalid", "suspect") if kind in verdicts), "valid")
    names = {view.trial for view in views}
    rows = (row for table in analysis.tables for row in table.rows if names.intersection(row.trials))
    bottleneck = next((fmt.sentence(row.bottleneck.message) for row in rows if row.bottleneck), "")
    return {"label": label, "trials": views, "anchor": anchor, "verdict": worst, "bottleneck": bottleneck}


def _environment(values: dict[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The record of the environment as headings with lines below; nested keys are joined by dots."""
    plain = [_fact(key, value) for key, value in values.items() if not isinstance(value, dict) and key != "format"]
    groups = [(key, list(_facts(value))) for key, value in values.items() if isinstance(value, dict)]
    return [*groups, ("further", plain)] if plain else groups


def _facts(values: dict[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _facts(value, f"{prefix}{key}.")
        else:
            yield _fact(f"{prefix}{key}", value)


_UNITS = {"_bytes": fmt.size, "_s": fmt.seconds, "_ns": fmt.duration}


def _fact(name: str, value: object) -> tuple[str, str]:
    """A name and its value as text; the unit that the name ends in goes to the value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for end, text in _UNITS.items():
            if name.endswith(end):
                return name.removesuffix(end), text(value)
    return name, _value_text(value)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(item) for item in value) or fmt.NONE
    return fmt.NONE if value is None else fmt.plain(str(value))


def answer_lines(answer: Message) -> list[Message]:
    """What the answer consists of, in its order; the answer alone where that is short."""
    lines = list(_parts(answer))
    return lines if len(lines) > PARAGRAPH_MAX else [answer]


def _parts(said: Message) -> Iterator[Message]:
    if said.kind not in _LISTS:
        yield said
        return
    figures = figures_of(said)
    for part in (*figures[_LISTS[said.kind]], *figures.get("refused", ())):
        yield from _parts(part)
