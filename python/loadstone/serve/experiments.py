"""The experiments that can be started: the built-in ones, and the user's own."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.serve.pages import page
from loadstone.spec.built_in import questions


async def _list(request: Request) -> Response:
    return page(request, "experiments.html", built_in=questions())


routes = (Route("/", _list, name="experiments"),)
