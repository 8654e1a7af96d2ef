"""What is done to a run that is there: it is stopped, as Ctrl-C does, or goes on where it ended."""

import os
import time
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from loadstone.addons.history.run_row import is_written
from loadstone.addons.pages.command_lines import CommandLine, references_in, variables_of
from loadstone.addons.pages.forms import form_of
from loadstone.addons.pages.page import page, refusal
from loadstone.addons.pages.running import stop, writer_of
from loadstone.addons.pages.settings import as_typed, folder_of, place_of
from loadstone.addons.pages.start_run import begin
from loadstone.run_folder.earlier_runs import command_of, folder_to_resume
from loadstone.run_folder.reading import read_plan
from loadstone.safety.errors import UserError
from loadstone.text.language import _

PATIENCE_S = 3.0


async def _stop(request: Request) -> Response:
    folder = folder_of(request)
    if not await run_in_threadpool(stop, folder) and await run_in_threadpool(is_written, folder):
        why = _("This run's process left no note on this machine, or is another user's: stop it where it was started.")
        return refusal(request, 409, why)
    return RedirectResponse(f"/runs/{folder.name}", 303)


async def _resume(request: Request) -> Response:
    """Goes on with a run; asks for the passwords that its command refers to, unless the run was started from here.

    `minutes` of the form: by so much longer than it was planned.
    """
    folder, place, form = folder_of(request), place_of(request), await form_of(request)
    if await run_in_threadpool(_goes_on, folder):
        return RedirectResponse(f"/runs/{folder.name}", 303)
    address = as_typed(folder, place.here)
    try:
        words = await run_in_threadpool(_command_of, folder)
        known = dict(place.memory.given.get(folder.name, {}))  # those of others: the folder says where they are sent
        known |= variables_of(form, [name for name in references_in(words) if name not in os.environ])
        missing = [name for name in references_in(words) if name not in known and name not in os.environ]
        if missing:
            return page(request, "ask_variables.html", run=folder.name, missing=missing, minutes=form.one("minutes"))
        variables = {name: known[name] for name in references_in(words) if name in known}
        longer = await run_in_threadpool(_longer, folder, form.one("minutes"))
        return await begin(request, CommandLine(("run", "--resume", address, *longer), variables))
    except UserError as error:
        return refusal(request, 400, error.message)


def _command_of(folder: Path) -> list[str]:
    """Raises UserError."""
    folder_to_resume(folder)
    return command_of(folder)


def _longer(folder: Path, minutes: str) -> tuple[str, ...]:
    """The option for a budget of so many minutes more; none where none are asked for. Raises UserError."""
    if not minutes:
        return ()
    if not minutes.isdecimal() or len(minutes) > 4:
        raise UserError("{minutes}: not a number of minutes", minutes=minutes[:80])
    return ("--budget", f"{round(read_plan(folder).budget_s) + 60 * int(minutes)}s")


def _goes_on(folder: Path) -> bool:
    """Whether a process holds the run; one that was killed may hold it a moment longer."""
    end_s = time.monotonic() + PATIENCE_S
    while is_written(folder):
        writer = writer_of(folder)
        if writer is None or writer.lives or time.monotonic() > end_s:
            return True
        time.sleep(0.05)
    return False


routes = (
    Route("/runs/{name}/stop", _stop, methods=["POST"]),
    Route("/runs/{name}/resume", _resume, methods=["POST"]),
)
