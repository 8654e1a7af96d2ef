"""Writes pages: one set of templates, which escape what others wrote, and one way to say what is wrong."""

import hashlib
import math
import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from loadstone import __version__
from loadstone.addons.pages import interval_history
from loadstone.addons.pages.command_lines import without_secrets
from loadstone.addons.pages.settings import place_of
from loadstone.report import figure_format as fmt
from loadstone.report.html.page import templates_of
from loadstone.safety.secrets.known import redact
from loadstone.safety.terminal import visible
from loadstone.text.language import in_language, language, retold
from loadstone.text.message import AnyText

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}
FOLDER = "static"
ADDRESS = "/static"


@cache
def files() -> dict[str, bytes]:
    """The content of every file that a page may ask for, by its name."""
    folder = resources.files("loadstone.addons.pages") / FOLDER
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in TYPES}


def address_of(name: str) -> str:
    """Where a page finds a file: with its hash, so that a browser keeps it until it changes."""
    return f"{ADDRESS}/{name}?{_hash(name)}"


@cache
def _hash(name: str) -> str:
    return hashlib.sha256(files()[name]).hexdigest()[:12]


async def _file(request: Request) -> Response:
    content = files().get(request.path_params["name"])
    if content is None:
        raise HTTPException(404)
    name = request.path_params["name"]
    return Response(
        content,
        media_type=TYPES[name.rpartition(".")[2]],
        headers={"cache-control": "private, max-age=31536000, immutable"},
    )


routes = (Route(f"{ADDRESS}/{{name}}", _file),)


def page(request: Request, template: str, status: int = 200, **figures: Any) -> HTMLResponse:
    """A page of a template. Secrets are hidden in all of it.

    Not in `print_unredacted(text)`, which is what a stranger's file would do: it could hide its own command as a
    password.

    Every template has `nonce` (each `<script>` and each element with `hx-` attributes says it: `nonce="{{ nonce }}"`,
    `hx-nonce="{{ nonce }}"`), `static(name)`, `here` (the page's path), `_`, and the report's filters.
    """
    return HTMLResponse(part_of_page(request, template, **figures), status)


def part_of_page(request: Request, template: str, **figures: Any) -> str:
    """The text of a template, as `page` sends it."""
    evidence: list[str] = []
    nonce = request.state.nonce

    def kept_apart(text: str) -> str:
        evidence.append(text)
        return f"\ue000{nonce}-{len(evidence) - 1}\ue001"

    text = (
        templates()
        .get_template(template)
        .render(
            **{name: in_language(value) for name, value in figures.items()},
            nonce=nonce,
            evidence=kept_apart,
            language=language(),
            here=request.url.path,
            only_run=place_of(request).only_run,
            version=__version__,
            part=request.headers.get("hx-request") == "true",
        )
    )
    put_back = re.compile(f"\ue000{re.escape(nonce)}-([0-9]+)\ue001")
    return put_back.sub(lambda found: str(escape(visible(evidence[int(found[1])]))), redact(text))


def refusal(request: Request, status: int, why: AnyText) -> HTMLResponse:
    """A page that says in one sentence what is wrong."""
    return page(request, "refusal.html", status, why=visible(in_language(why)))


def _plain(raw: AnyText) -> str:
    """What a run told, beside names and labels, in the reader's language."""
    return retold(fmt.plain(raw))


@cache
def templates() -> jinja2.Environment:
    """All templates of the pages."""
    own: dict[str, Callable[..., Any]] = {
        "in_language": in_language,
        "said": retold,
        "plain": _plain,
        "size": fmt.size,
        "share": interval_history.share,
        "log1p": math.log1p,
        "number": fmt.number,
    }
    environment = templates_of("loadstone.addons.pages", own)
    environment.globals |= {"static": address_of, "shown_url": lambda url: without_secrets(url)[0]}
    return environment
