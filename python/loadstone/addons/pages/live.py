"""The page of a run that goes on: what it found so far comes first, then what is measured now."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from loadstone.addons.history.run_row import state_of as state_of_row
from loadstone.addons.pages import interval_history
from loadstone.addons.pages.following import Followers, Following, TooMany, series
from loadstone.addons.pages.live_view import Compared, LiveView
from loadstone.addons.pages.page import page, refusal, templates
from loadstone.addons.pages.search_curve import search_curves
from loadstone.addons.pages.settings import folder_of
from loadstone.report import figure_format as fmt
from loadstone.safety.errors import Interrupted
from loadstone.safety.secrets.known import redact
from loadstone.text.language import _, language, retold, translatable, translated, use_language

COST_ROWS_MAX = 60
STALLED_S = 60.0
"""Time that a page may take nothing of what it is sent. One that is closed away comes again by itself."""
_STREAM = "text/event-stream"
_ENDED_WITH = {
    1: translatable("ended: an objective was missed, or the new version is slower (status 1)"),
    3: translatable("ended with invalid results (status 3)"),
    4: translatable("ended: not decidable here (status 4)"),
}


def followers_of(request: Request) -> Followers:
    """The runs that this server follows."""
    state = request.app.state
    if not hasattr(state, "followers"):
        state.followers = Followers()
    found = state.followers
    assert isinstance(found, Followers)
    return found


async def live(request: Request) -> Response:
    """The page, with all that is known now: it can be read without scripts."""
    run = await followers_of(request).of(folder_of(request))
    return page(request, "live.html", name=run.folder.name, **figures(run))


async def stream(request: Request) -> Response:
    """What changes, as server-sent events: pieces of the page, and figures for the pictures."""
    followers = followers_of(request)
    folder = folder_of(request)
    if request.method == "HEAD":
        return Response(media_type=_STREAM)
    try:
        followers.enter()
    except TooMany:
        return refusal(request, 503, _("Too many pages follow runs here; close some, and reload this one."))
    try:
        run = await followers.of(folder)
    except BaseException:
        followers.leave()
        raise
    return _Stream(_events(run, language()), followers)


class _Stream(StreamingResponse):
    """Ends when its page goes away, also before it began, and when it reads nothing any more."""

    media_type = _STREAM

    def __init__(self, events: AsyncIterator[bytes], followers: Followers) -> None:
        super().__init__(events)
        self._followers = followers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: MutableMapping[str, Any]) -> None:
            async with asyncio.timeout(STALLED_S):
                await send(message)

        try:
            with contextlib.suppress(TimeoutError):
                await super().__call__(scope, receive, sent)
        finally:
            self._followers.leave()


async def _events(run: Following, spoken: str) -> AsyncIterator[bytes]:
    sent = _SentPieces(spoken)
    changes = run.changes()
    try:
        yield sent.next(run)
        async for _changed in changes:
            yield sent.next(run) or b": still there\n\n"
        yield sent.next(run, _ended(run, spoken)) + _event("", "over")
    finally:
        await changes.aclose()


@dataclass
class _SentPieces:
    """What a page was sent so far. Pages that were sent the same get the same next, which is made once."""

    language: str
    points: int = -1
    thinned: int = 0
    said: str | None = None
    pieces: tuple[int, ...] = (-1,) * len(LiveView.PIECES)
    """How often each piece had changed."""

    def next(self, run: Following, ending: str = "") -> bytes:
        """What changed since."""
        told, whom = run.told, astuple(self)
        made = run.shared((*whom, ending), lambda: self._made(run, ending))
        self.points, self.thinned, self.said = len(told.points), told.thinned, told.said
        self.pieces = tuple(told.changed[name] for name in LiveView.PIECES)
        return made

    def _made(self, run: Following, ending: str) -> bytes:
        told, figures_ = run.told, b""
        if self.points < 0 or told.thinned != self.thinned:
            figures_ = _event(series(told.points), "series")
        elif len(told.points) > self.points:
            figures_ = _event(series(told.points[self.points :]), "more")
        said = ending or (told.said if self.said is not None and told.said != self.said else "")
        return figures_ + _pieces(run, self.language, self.pieces, said)


def _pieces(run: Following, spoken: str, seen: Sequence[int], said: str) -> bytes:
    """The pieces that changed, as htmx puts them into their places; `said` is read out to who does not see."""
    parts = []
    for name, known in zip(LiveView.PIECES, seen, strict=True):
        if known != run.told.changed[name]:
            html = _render(run, name, spoken)
            parts.append(f'<hx-partial hx-target="#live-{name}" hx-swap="innerHTML">{html}</hx-partial>')
    if said:
        text = redact(str(templates().from_string("{{ said }}").render(said=said)))
        parts.append(f'<hx-partial hx-target="#live-said" hx-swap="innerHTML">{text}</hx-partial>')
    return _event("".join(parts)) if parts else b""


def _ended(run: Following, spoken: str) -> str:
    with use_language(spoken):
        return ending(run)


def _render(run: Following, name: str, spoken: str) -> str:
    with use_language(spoken):
        module: Any = templates().get_template("live_pieces.html").module
        return redact(str(getattr(module, name)(**figures(run, name))))


def _event(data: str, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return "".join([head, *(f"data: {line}\n" for line in data.split("\n")), "\n"]).encode()


def figures(run: Following, piece: str = "") -> dict[str, Any]:
    """What the page, or a piece of it, is made of."""
    told = run.told
    found: dict[str, dict[str, Any]] = {
        "head": {
            "told": told,
            "fate": run.fate,
            "state": state_text(run),
            "left": left_text(run),
            "kind": state_of(run),
            "tiles": _tiles(told),
            "done": _done(told),
        },
        "actions": {"name": run.folder.name, "over": run.over, "told": told, "more_minutes": more_minutes(run)},
        "answers": {
            "groups": [_group(group) for group in told.groups.values()],
            "steps": list(told.steps),
            "curves": search_curves(told.steps),
        },
        "conditions": {"told": told},
        "costs": {"costs": dict(list(told.costs.items())[-COST_ROWS_MAX:]), "parts": _parts_with_cost(told)},
        "log": {"log": [(unix_s, retold(line)) for unix_s, line in told.log]},
    }  # fmt: skip
    return found[piece] if piece else {"pieces": found, "ending": ending(run) if run.over else ""}


def state_of(run: Following) -> str:
    """The state as a word of the program."""
    return run.told.state if run.fate in ("running", "ended") else run.fate


def state_text(run: Following) -> str:
    """The state in words."""
    status = (run.told.ended or {}).get("status")
    ended = _("ended with status {status}", status=int(status)) if status else _("ended")
    if status in _ENDED_WITH:
        ended = translated(_ENDED_WITH[int(status)])
    listed = "" if run.row is None or run.row.state not in ("complete", "part") else state_of_row(run.row)
    if status == Interrupted.exit_status:
        ended = f"{_('interrupted')}: {listed}" if listed else _("interrupted")
    elif not status and listed:
        ended = listed
    return {
        "preparing": _("preparing"),
        "running": _("running"),
        "stopping": _("stopping: what is finished is kept"),
        "reporting": _("writing the report"),
        "ended": ended,
        "killed": _("not ended: its process is gone"),
        "vanished": _("gone: its folder was removed"),
    }[state_of(run)]


def ending(run: Following) -> str:
    """Return how the run ended, in a sentence."""
    why = (run.told.ended or {}).get("why", "")
    return f"{state_text(run)}: {retold(why)}" if why else state_text(run)


def left_text(run: Following) -> str:
    """Return how long it still takes; empty where that is not known, or over."""
    told = run.told
    left_s = told.now["left_s"]
    if left_s is None or state_of(run) != "running":
        return ""
    text = fmt.rough_time(left_s)
    return _("at most {time} left", time=text) if told.now["at_most"] else _("about {time} left", time=text)


GO_ON_MINUTES = 5
"""Time that a run goes on, on a click, where something is undecided."""


def more_minutes(run: Following) -> int:
    """Minutes that it may go on, on a click, since the budget left a comparison undecided; else 0."""
    told = run.told
    ended = told.ended is not None and told.ended["status"] in (0, 1, 4) and bool(told.began.get("budget_s"))
    short = [group for group in told.groups.values() if group.reason == "out of budget"]
    newest = (looks[-1] for group in short for looks in group.looks.values() if looks)
    return GO_ON_MINUTES if ended and any(one.leading.kind == "undecided" for one in newest) else 0


def _tiles(told: LiveView) -> list[tuple[str, str, str]]:
    """Name, figure and remark of what one looks for first. Of conditions that take turns the range is shown."""
    figures = list(told.newest.values())
    turns = _("{n} conditions take turns", n=len(figures)) if len(figures) > 1 else ""
    kinds = ", ".join(f"{kind} {fmt.count(number)}" for kind, number in told.errors.most_common(3))
    return [
        ("TPS", _range((one["tps"] for one in figures), fmt.rate), turns),
        ("P99", _range((one["p99_ns"] for one in figures), fmt.duration), turns),
        (_("Errors"), fmt.count(told.errors.total()) if figures else fmt.NONE, kinds),
        (_("vUsers"), _range((one["users"] for one in figures), fmt.count), turns),
    ]


def _range(values: Iterable[float | None], text: Callable[[float | None], str]) -> str:
    known = [value for value in values if value is not None]
    ends = dict.fromkeys((text(min(known, default=None)), text(max(known, default=None))))
    return " – ".join(ends)


def _done(told: LiveView) -> float | None:
    """The share of this session's time that is over; None where what is left is not known."""
    began_s: float | None = told.began.get("unix_s")
    left_s: float | None = told.now["left_s"]
    if began_s is None or left_s is None:
        return None
    now_s: float = told.now["unix_s"]
    lasted_s = max(0.0, now_s - began_s)
    return lasted_s / max(1.0, lasted_s + left_s)


def _group(group: Compared) -> dict[str, Any]:
    names = list(dict.fromkeys([*group.looks, *group.pairs])) if group.looks else group.pairs
    pairs = []
    for name in names:
        looks = group.looks.get(name, [])
        newest = looks[-1] if looks else None
        pairs.append(
            {"name": name, "looks": looks, "newest": newest, "picture": interval_history.narrowing(group, looks)}
        )
    return {"group": group, "pairs": pairs}


def _parts_with_cost(told: LiveView) -> list[str]:
    return list(dict.fromkeys(part for parts in told.costs.values() for part in parts))


routes = (Route("/runs/{name}", live), Route("/runs/{name}/stream", stream))
