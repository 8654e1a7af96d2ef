"""All pages under one roof: a line each, from the file that has the page, and the choice of their language."""

from collections.abc import Callable
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from loadstone.addons.pages import (
    comparing,
    experiments,
    figures,
    history,
    in_progress,
    live,
    machine,
    page,
    reports,
    run_actions,
    run_again,
    start_run,
)
from loadstone.addons.pages.access import LANGUAGE_COOKIE, Access, RefusedRequest, own_address
from loadstone.addons.pages.page import refusal
from loadstone.addons.pages.settings import PageSettings, place_of
from loadstone.safety.errors import LoadstoneError
from loadstone.text.language import LANGUAGES, _
from loadstone.text.message import said, text_of

_KEPT_IN_ADDRESS = "/?&=%"


async def choose_language(request: Request) -> Response:
    """Keep a language for a year; `to` is the page to go back to, one of ours. Raises Refused."""
    name, to = request.path_params["name"], request.query_params.get("to", "/")
    if name not in LANGUAGES:
        raise RefusedRequest(404, said("loadstone does not speak this language"))
    answer = RedirectResponse(own_address(quote(to, safe=_KEPT_IN_ADDRESS), "/"), 303)
    answer.set_cookie(LANGUAGE_COOKIE, name, max_age=365 * 86400, httponly=True, samesite="strict", path="/")
    return answer


ROUTES = (
    *page.routes,
    *experiments.routes,
    Route("/language/{name}", choose_language),
    *start_run.routes,
    *run_actions.routes,
    *run_again.routes,
    *machine.routes,
    *in_progress.routes,
    *live.routes,
    *history.routes,
    *comparing.routes,
    *figures.routes,
    *reports.routes,
)


async def _only_run(request: Request) -> Response:
    """The run that is shown where one alone is."""
    return RedirectResponse(f"/runs/{quote(place_of(request).only_run or '')}")


OF_ONE_RUN = (
    Route("/", _only_run),
    *page.routes,
    Route("/language/{name}", choose_language),
    *start_run.routes,
    *run_actions.routes,
    *live.routes,
    *reports.routes,
)
"""The pages that there are where one run alone is shown."""


def application(place: PageSettings, may_host: Callable[[str], bool]) -> ASGIApp:
    """The pages of a place, behind what decides who may see them."""
    app = Starlette(
        routes=list(ROUTES if place.only_run is None else OF_ONE_RUN),
        exception_handlers={
            HTTPException: _refused,
            RefusedRequest: _refused,
            LoadstoneError: _refused,
            OSError: _refused,
            Exception: _failed,
        },
    )
    app.state.place = place
    return Access(app, place, may_host)


async def _refused(request: Request, error: Exception) -> Response:
    """What is wrong with a request, or with what it names, as a page."""
    if isinstance(error, HTTPException):
        plain = {"Not Found": _("There is no such page."), "Method Not Allowed": _("This page is not sent to.")}
        return refusal(request, error.status_code, plain.get(error.detail, error.detail))
    return refusal(request, error.status if isinstance(error, RefusedRequest) else 400, text_of(error))


async def _failed(request: Request, _error: Exception) -> Response:
    """A defect: it is written down where the server runs (`access.py`), and the server goes on."""
    return refusal(
        request, 500, _("This page failed because of a defect; the terminal of `loadstone serve` says what to report.")
    )
