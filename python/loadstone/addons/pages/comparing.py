"""Two runs compared and laid over each other: the verdicts of `loadstone compare`, in its words."""

import shlex
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.addons.history import compare_report as comparison
from loadstone.addons.history.compare_command import LaidOver, RunsDiffer, laid_over
from loadstone.addons.history.compare_options import CompareOptions
from loadstone.addons.history.run_row import state_of
from loadstone.addons.history.two_runs_chart import latencies_of_runs, rates_of_runs
from loadstone.addons.pages.history import name_of, newest_rows
from loadstone.addons.pages.page import page
from loadstone.addons.pages.settings import folder_named, place_of
from loadstone.report import figure_format as fmt
from loadstone.report.charts.chart import Chart
from loadstone.report.html.page import blocks_html
from loadstone.safety.errors import UserError
from loadstone.text.language import _

_OFFERED = 200
"""Runs to pick from; others are found in the list."""
_LETTERS_MAX = 60


def _compare(request: Request) -> Response:
    place = place_of(request)
    if place.only_run is not None:
        raise HTTPException(404)
    named = [one for one in request.query_params.getlist("run") if one]
    metric, margin = (request.query_params.get(name, "")[:_LETTERS_MAX] for name in ("metric", "margin"))
    across = request.query_params.get("across") == "1"
    rows = [row for row in newest_rows(place.runs, _OFFERED) if row.state in ("complete", "part")]
    figures: dict[str, Any] = {
        "rows": [(row.name, fmt.plain(name_of(row)), state_of(row)) for row in rows],
        "differ": False,
        "named": named,
        "metric": metric,
        "margin": margin,
        "across": across,
        "why": "",
        "found": None,
        "command": "",
    }
    if len(named) not in (0, 2):
        figures["why"] = _("Pick two runs: {number} are picked.", number=len(named))
    elif named:
        folders = tuple(folder_named(request, name) for name in named)
        options = CompareOptions(folders, metric=metric or None, margin=margin or None, across=across)
        figures["command"] = _command(options)
        try:
            figures["found"] = _found(laid_over(options), request.query_params.get("place", ""))
        except RunsDiffer as error:
            figures["why"], figures["differ"] = _without_root(str(error), place.runs), True
        except UserError as error:
            figures["why"] = _without_root(str(error), place.runs)
    return page(request, "compare.html", **figures)


def _found(outcome: LaidOver, picked: str) -> dict[str, Any]:
    report = outcome.report
    section = comparison.section_of(report)
    places = [comparison.place_of(one) for one in report.comparisons]
    first = comparison.notable_comparisons(report)
    telling = report.comparisons.index(first[0]) if first else 0
    number = int(picked) if picked.isdecimal() and len(picked) < 6 and int(picked) < len(places) else telling
    return {
        "title": section.heading,
        "blocks": blocks_html(section),
        "runs": [(run.run, line) for run, line in zip(report.runs, comparison.run_lines(report), strict=True)],
        "places": places,
        "number": number,
        "rates": drawn(rates_of_runs(outcome.places)),
        "latencies": drawn(latencies_of_runs(outcome.curves_of(number))),
        "behind": outcome.places,
    }


def drawn(chart: Chart | None) -> dict[str, Any] | None:
    """A picture as a part of the page."""
    if chart is None or not chart.is_drawn():
        return None
    return {"title": chart.heading, "caption": chart.caption, "drawing": Markup(chart.inline()), "text": chart.alt_text}


def _command(options: CompareOptions) -> str:
    words = ["loadstone", "compare", *map(str, options.runs)]
    words += ["--metric", options.metric] if options.metric else []
    words += ["--margin", options.margin] if options.margin else []
    return shlex.join([*words, *(["--across"] if options.across else [])])


def _without_root(text: str, root: Path) -> str:
    """The command's words, with the runs by their names."""
    return text.replace(f"{root}/", "")


routes = (Route("/compare", _compare, name="compare"),)
