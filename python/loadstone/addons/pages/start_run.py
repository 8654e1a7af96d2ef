"""From a command line to a run that goes on: checked as in a terminal, asked where a terminal would ask, then started.

Two questions stand in the way: whether an experiment of someone else's may do what it would (`run/consent.py` judges
that), and whether a run may begin while another one measures on this machine.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.pages.command_lines import CommandLine
from loadstone.addons.pages.command_preview import Described, agreed, described
from loadstone.addons.pages.forms import form_of
from loadstone.addons.pages.in_progress import measuring
from loadstone.addons.pages.page import page, refusal
from loadstone.addons.pages.running import writer_of
from loadstone.addons.pages.settings import PageSettings, Pending, ShownConsent, place_of
from loadstone.addons.pages.started_runs import StartedRun
from loadstone.measure.machine_lock import run_that_stops
from loadstone.run_folder.files import PLAN
from loadstone.safety.bounds.folder_files import is_file
from loadstone.safety.errors import UserError
from loadstone.text.language import _

ANSWERS = {"wait": "--wait", "share": "--share-machine"}
"""What may be answered where another run measures, and the option that says it."""


async def describe(place: PageSettings, command: CommandLine) -> Described:
    """What a command would do. Raises UserError with the message of the command line."""
    return await place.memory.apart.call(described, command.words, dict(command.variables))


async def begin(
    request: Request, command: CommandLine, agreed_to: ShownConsent | None = None, beside: str = ""
) -> Response:
    """Start a run, or ask first. Raises UserError.

    Args:
        request: the one that asks for it.
        command: with its variables.
        agreed_to: the acts that the user read and allowed; None where they read none.
        beside: of `ANSWERS`, where another run measures.
    """
    place = place_of(request)
    found = await describe(place, command)
    if found.asked:
        given = agreed_to is not None and await place.memory.apart.call(
            agreed, command.words, dict(command.variables), agreed_to
        )
        if not given:
            return page(
                request,
                "ask_trust.html",
                described=found,
                command=command,
                pending=place.memory.keep(Pending(command, found.shown, beside)),
                changed=agreed_to is not None,
            )
    asked_for = command
    if beside in ANSWERS:
        command = command.adding(ANSWERS[beside])
    elif (other := await run_in_threadpool(run_that_stops)) is not None:
        known = await run_in_threadpool(measuring, other, place)
        return page(request, "ask_beside.html", other=known, pending=place.memory.keep(Pending(command)))
    try:
        start = await run_in_threadpool(place.memory.starts.start, command, place.here)
    except OSError as error:
        raise UserError("the run cannot be started: {why}", why=error.strerror or str(error)) from None
    place.memory.remember(start.name, asked_for)
    return RedirectResponse(f"/starts/{start.name}", 303)


async def _begin(request: Request) -> Response:
    """An answer to a question of `begin`."""
    form = await form_of(request)
    pending = place_of(request).memory.take(form.one("pending"))
    if pending is None:
        return refusal(request, 409, _("This question was answered already, or is too old: fill in the form again."))
    return await begin(request, pending.command, pending.shown, form.one("beside") or pending.beside)


async def _start(request: Request) -> Response:
    """A run that is being started: what it prints, until it has a folder or ended."""
    place = place_of(request)
    start = await run_in_threadpool(place.memory.starts.find, request.path_params["name"])
    if start is None:
        return refusal(request, 404, _("No run was started from here by this name."))
    there = await run_in_threadpool(_page_of, start, place)
    if there is not None:
        place.memory.has_folder(start.name, there.rpartition("/")[2])
        if request.headers.get("hx-request") == "true":
            return Response(headers={"hx-redirect": there})
        return RedirectResponse(there, 303)
    again = await run_in_threadpool(_may_again, start, place)
    other = await run_in_threadpool(run_that_stops) if again or start.waits else None
    known = None if other is None else await run_in_threadpool(measuring, other, place)
    return page(request, "start.html", start=start, command=_shown(start), again=again, other=known)


def _may_again(start: StartedRun, place: PageSettings) -> bool:
    """Whether it ended before it began, as where another run was faster, and its command is known here."""
    ended = place.memory.starts.status(start) == UserError.exit_status
    return ended and start.name in place.memory.started


async def _again(request: Request) -> Response:
    """Starts once more what did not begin, or first asks again what has to be asked."""
    form, name = await form_of(request), request.path_params["name"]
    command = place_of(request).memory.started.pop(name, None)
    if command is None:
        return refusal(request, 409, _("This question was answered already, or is too old: fill in the form again."))
    try:
        return await begin(request, command, beside=form.one("beside"))
    except UserError as error:
        return refusal(request, 400, error.message)


def _page_of(start: StartedRun, place: PageSettings) -> str | None:
    """Where the run is shown, once it told in its folder that it began: one that goes on had one before."""
    folder = start.run_folder
    if folder is None or folder.parent != place.runs or not is_file(folder / PLAN):
        return None
    writer = writer_of(folder)
    if writer is None or not writer.lives or writer.pid != start.pid:
        return None
    return f"/runs/{folder.name}"


async def _cancel(request: Request) -> Response:
    """Ends a run that is being started, as Ctrl-C does."""
    place = place_of(request)
    start = await run_in_threadpool(place.memory.starts.find, request.path_params["name"])
    if start is not None:
        await run_in_threadpool(start.interrupt)
    return RedirectResponse(f"/starts/{request.path_params['name']}", 303)


def _shown(start: StartedRun) -> str:
    return CommandLine(start.words).shown


routes = (
    Route("/begin", _begin, methods=["POST"]),
    Route("/starts/{name}", _start),
    Route("/starts/{name}/again", _again, methods=["POST"]),
    Route("/starts/{name}/cancel", _cancel, methods=["POST"]),
)
