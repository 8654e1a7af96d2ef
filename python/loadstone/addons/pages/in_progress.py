"""What measures on this machine now, and what waits until it may: shown above the lists, and where a run is started."""

from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.addons.pages.page import page
from loadstone.addons.pages.running import left_of
from loadstone.addons.pages.settings import PageSettings, place_of
from loadstone.measure.machine_lock import OtherRun, runs_measuring
from loadstone.report import figure_format as fmt
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.text.language import _
from loadstone.text.message import AnyText


@dataclass(frozen=True)
class InProgress:
    """A run that measures, or waits for one that does."""

    label: AnyText
    address: str = ""
    """Where it is shown; empty if it is not one of these pages."""
    left: str = ""
    """Time that it still takes; empty where that is not known."""
    waits: bool = False


def in_progress(place: PageSettings) -> list[InProgress]:
    """Those that measure first, then those that were started here and wait."""
    runs = runs_measuring()
    found = [measuring(run, place) for run in runs]
    if not found:
        return []
    own = {run.pid for run in runs}
    for start in place.memory.starts.all():
        if start.waits and start.pid not in own and start.runs:
            words = [word for word in hidden_arguments(start.words) if word != "--wait"]
            found.append(InProgress(" ".join(words), f"/starts/{start.name}", waits=True))
    return found


def measuring(run: OtherRun, place: PageSettings) -> InProgress:
    """A run that measures: where it is shown, what it is called, and what is left of it."""
    folder = Path(run.folder)
    if folder.parent != place.runs:
        return InProgress(run.label)
    left_s = left_of(folder)
    left = "" if left_s is None else _("about {time} left", time=fmt.rough_time(left_s))
    return InProgress(run.label, f"/runs/{folder.name}", left)


async def _now(request: Request) -> Response:
    return page(request, "in_progress.html", measuring=await run_in_threadpool(in_progress, place_of(request)))


routes = (Route("/now", _now),)
