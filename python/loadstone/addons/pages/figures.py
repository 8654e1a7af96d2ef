"""A figure of one condition over all runs of an experiment, in lines of what is alike."""

import time

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.addons.history.changes import history_of
from loadstone.addons.history.index import Query, collect
from loadstone.addons.history.trends import in_order, metrics_of, places_of
from loadstone.addons.history.trends_chart import over_runs_chart
from loadstone.addons.history.trends_text import differs_text, figure_name, hint_text, interval_text
from loadstone.addons.pages.comparing import drawn
from loadstone.addons.pages.history import name_of, renewed_index
from loadstone.addons.pages.page import page
from loadstone.addons.pages.settings import place_of
from loadstone.report import figure_format as fmt

RUNS_MAX = 100
"""The newest runs of an experiment."""
_COMPUTES_S = 3.0
"""Time that a page computes what is new; it is loaded again for the rest."""
_LETTERS_MAX = 2_000


def _figures(request: Request) -> Response:
    place = place_of(request)
    if place.only_run is not None:
        raise HTTPException(404)
    index, unlisted = renewed_index(place.runs)
    experiments = [name for name, number in index.counts("experiment") if name and number > 1]
    asked = {name: request.query_params.get(name, "")[:_LETTERS_MAX] for name in ("experiment", "place", "metric")}
    experiment = asked["experiment"] or (experiments[0] if experiments else "")
    rows = index.find(Query(experiment=experiment), RUNS_MAX).rows if experiment else ()
    found = collect(index, [row for row in rows if row.state in ("complete", "part")], time.monotonic() + _COMPUTES_S)
    places = places_of(found.runs)
    key = asked["place"] if asked["place"] in places else next(iter(places), "")
    metrics = metrics_of(found.runs, key)
    metric = asked["metric"] if asked["metric"] in metrics else next(iter(metrics), "")
    history = history_of(experiment, found.runs, [(key, metric)], found.unread).figures[0] if metric else None
    over, hints = (None, []) if history is None else (history.over, history.hints)
    names = {row.name: name_of(row) for row in rows}
    numbers = {run.run: number for number, run in enumerate(in_order(found.runs), start=1)}
    return page(
        request,
        "figures.html",
        experiments=experiments if experiment in experiments or not experiment else [experiment, *experiments],
        experiment=experiment,
        places=places,
        key=key,
        metrics=[(name, figure_name(name)) for name in metrics],
        metric=metric,
        left=found.left + unlisted,
        unread=found.unread,
        over=over,
        without=[] if over is None else [(run, names[run]) for run in over.without],
        hints=[(hint_text(hint), differs_text(hint)) for hint in hints],
        picture=None if over is None else drawn(over_runs_chart(over, hints)),
        lines=[] if over is None else [
            {
                "line": line,
                "unlike": [fmt.sentence(one) for one in line.unlike],
                "points": [
                    (numbers[point.run], point, names[point.run], interval_text(over.metric, point))
                    for point in reversed(line.points)
                ],
            }
            for line in over.lines
        ],
    )  # fmt: skip


routes = (Route("/figures", _figures, name="figures"),)
