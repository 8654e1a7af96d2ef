"""The choice of the language: a cookie, and back to the page."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.pages.access import LANGUAGE_COOKIE, Refused, own_address
from loadstone.text.language import LANGUAGES, said

_KEPT = "/?&=%"


async def choose(request: Request) -> Response:
    """Keep a language for a year; `to` is the page to go back to, one of ours. Raises Refused."""
    name, to = request.path_params["name"], request.query_params.get("to", "/")
    if name not in LANGUAGES:
        raise Refused(404, said("loadstone does not speak this language"))
    answer = RedirectResponse(own_address(quote(to, safe=_KEPT), "/"), 303)
    answer.set_cookie(LANGUAGE_COOKIE, name, max_age=365 * 86400, httponly=True, samesite="strict", path="/")
    return answer


routes = (Route("/language/{name}", choose),)
