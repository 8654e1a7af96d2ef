"""The files that pages are made of beside templates: our own, and libraries with their hashes in `manifest.json`.

A request names a file of a list that is made once: no path of a request is ever opened.
"""

import hashlib
from functools import cache
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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
    folder = resources.files("loadstone.serve") / FOLDER
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
