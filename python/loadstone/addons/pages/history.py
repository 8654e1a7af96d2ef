"""All runs of the folder: what each found, what was written about it; picked, archived, removed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.history.index import VERDICTS, Index, parse_query
from loadstone.addons.history.removal import archive_run, remove_run, restore_run
from loadstone.addons.history.renewal import IndexRenewal
from loadstone.addons.history.run_row import RunRow, headline_of, state_of, words_of
from loadstone.addons.history.tags import write_tags
from loadstone.addons.pages.access import own_address
from loadstone.addons.pages.forms import form_of
from loadstone.addons.pages.in_progress import in_progress
from loadstone.addons.pages.page import page
from loadstone.addons.pages.settings import folder_named, place_of
from loadstone.report import figure_format as fmt
from loadstone.report.verdicts import MARKS
from loadstone.run_folder.files import ARCHIVE, began_at
from loadstone.text.language import _, translatable, translated

SHOWN = 50
"""Runs on one page."""
WAITS_S = 0.4
"""Time that a page waits for folders that are new; the others are read while it is looked at."""
_KINDS = {
    "faster": translatable("faster"),
    "equivalent": translatable("equivalent"),
    "mixed": translatable("mixed"),
    "undecided": translatable("undecided"),
    "not_decidable": translatable("not decidable"),
    "invalid": translatable("invalid"),
}
"""What kinds of verdicts are called beside their marks."""
_CHOICES = 30
"""Experiments and tags that are offered to pick from."""


def newest_rows(root: Path, most: int) -> tuple[RunRow, ...]:
    """The newest runs of a folder, as the list has them."""
    return renewed_index(root)[0].find(parse_query(""), most).rows


def renewed_index(root: Path) -> tuple[Index, int]:
    """The index of a folder of runs, one for all requests; and how many folders are still to be read into it."""
    reader = _reader_of(root)
    return reader.index, reader.renew(WAITS_S)


def index_of(root: Path) -> Index:
    """The index of a folder of runs as it is."""
    return _reader_of(root).index


@cache
def _reader_of(root: Path) -> IndexRenewal:
    return IndexRenewal(Index(root), words_of)


def _list(request: Request) -> Response:
    place = place_of(request)
    if place.only_run is not None:
        raise HTTPException(404)
    archived = request.query_params.get("archived") == "1"
    index, left = renewed_index(place.runs)
    find = request.query_params.get("find", "")
    query = parse_query(find, archived=archived)
    number = _page_number(request.query_params.get("page", "1"))
    found = index.find(query, SHOWN, (number - 1) * SHOWN)
    return page(
        request,
        "history.html",
        rows=[_shown(row) for row in found.rows],
        total=found.total,
        left=left,
        find=query.text,
        archived=archived,
        number=number,
        pages=max(1, ceil(found.total / SHOWN)),
        first=(number - 1) * SHOWN + 1,
        here_with=lambda **changed: _address(find, archived, number, changed),
        experiments=index.counts("experiment")[:_CHOICES],
        verdicts=[one for one in index.counts("kinds") if one[0] in VERDICTS],
        tags=index.counts("tags")[:_CHOICES],
        called=_called,
        size=_size,
        measuring=in_progress(place),
    )


def _called(kind: str) -> str:
    return translated(_KINDS.get(kind, kind))


def _page_number(text: str) -> int:
    return min(int(text), 100_000) if text.isdecimal() and len(text) < 7 and int(text) else 1


def _address(find: str, archived: bool, number: int, changed: Mapping[str, object]) -> str:
    parts = {"find": find, "archived": "1" if archived else "", "page": str(number) if number > 1 else "", **changed}
    query = urlencode({name: str(value) for name, value in parts.items() if value not in ("", None)})
    return f"/runs?{query}" if query else "/runs"


def _shown(row: RunRow) -> dict[str, object]:
    kinds = [one.kind for one in row.found]
    return {
        "row": row,
        "began": _began(row),
        "state": state_of(row),
        "headline": headline_of(row),
        "verdicts": [(kind, _called(kind), MARKS[kind], kinds.count(kind)) for kind in row.kinds],
        "target": row.versions.partition(", ")[2],
        "tps": _between(row.tps, fmt.rate),
        "p99": _between(row.p99_ns, fmt.duration),
        "errors": "–" if row.errors_percent is None else fmt.percent(row.errors_percent / 100),
        "lasted": fmt.rough_time(row.elapsed_s) if row.elapsed_s else "–",
        "readable": row.state in ("complete", "part") or (row.state == "not ended" and not row.running),
    }


def _between(ends: Sequence[float], text: Callable[[float | None], str]) -> str:
    return " – ".join(dict.fromkeys(map(text, ends))) or "–"


def name_of(row: RunRow) -> str:
    """What a person calls a run: its experiment, and when it began; of a renamed folder its name."""
    when = _began(row)
    return f"{row.experiment}, {when}" if row.experiment else when


def _began(row: RunRow) -> str:
    began = began_at(row.name)
    return row.name if began is None else began.strftime("%Y-%m-%d %H:%M UTC")


def _size(size_bytes: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes / 1e3:.0f} kB"


def _ask(request: Request) -> Response:
    """The question before a run is removed."""
    name, archived = _named(request)
    rows = index_of(place_of(request).runs).find(parse_query(f'"{name}"', archived=archived), -1).rows
    row = next((one for one in rows if one.name == name), None)
    return page(request, "remove.html", name=name, archived=archived, row=row, size=_size)


async def _remove(request: Request) -> Response:
    name, archived = _named(request)
    await run_in_threadpool(remove_run, place_of(request).runs, name, archived=archived)
    return RedirectResponse("/runs?archived=1" if archived else "/runs", 303)


async def _archive(request: Request) -> Response:
    name, _archived = _named(request)
    await run_in_threadpool(archive_run, place_of(request).runs, name)
    return RedirectResponse("/runs", 303)


async def _restore(request: Request) -> Response:
    if place_of(request).only_run is not None:
        raise HTTPException(404)
    await run_in_threadpool(restore_run, place_of(request).runs, request.path_params["name"])
    return RedirectResponse("/runs?archived=1", 303)


async def _tag(request: Request) -> Response:
    name, archived = _named(request)
    sent = await form_of(request)
    root = place_of(request).runs
    folder = root / ARCHIVE / name if archived else folder_named(request, name)
    await run_in_threadpool(write_tags, folder, sent.one("tags").replace(",", " ").split(), sent.raw("note"), root)
    back = sent.one("back")
    return RedirectResponse(back if back == "/runs" or own_address(back, "").startswith("/runs?") else "/runs", 303)


def _named(request: Request) -> tuple[str, bool]:
    """The run that an address names, one of the list, and whether it is in the archive. Raises HTTPException 404."""
    name, archived = request.path_params["name"], request.query_params.get("archived") == "1"
    place = place_of(request)
    if archived and place.only_run is None:
        rows = index_of(place.runs).find(parse_query("", archived=True), -1).rows
        if any(row.name == name for row in rows):
            return name, True
        raise HTTPException(404, _("There is no run of this name in the archive."))
    folder_named(request, name)
    return name, False


routes = (
    Route("/runs", _list, name="runs"),
    Route("/runs/{name}/tags", _tag, methods=["POST"]),
    Route("/runs/{name}/archive", _archive, methods=["POST"]),
    Route("/runs/{name}/restore", _restore, methods=["POST"]),
    Route("/runs/{name}/remove", _ask, methods=["GET"]),
    Route("/runs/{name}/remove", _remove, methods=["POST"]),
)
