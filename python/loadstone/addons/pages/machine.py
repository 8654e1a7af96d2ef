"""Whether this machine, and those of a fleet, can measure well: what `loadstone doctor` and `fleet status` say."""

import asyncio
import json
import sys
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loadstone.addons.pages.forms import form_of
from loadstone.addons.pages.page import page
from loadstone.addons.pages.settings import place_of
from loadstone.safety.errors import UserError

SCHEDULER = "tls://"
"""With it the address of a scheduler begins; the command reads the rest."""
FLEET_S = 30.0
"""How long a fleet may take to answer."""
ANSWER_BYTES_MAX = 1024 * 1024


async def _doctor(request: Request) -> Response:
    from loadstone.run.doctor import facts  # only now: what it examines takes time to load

    found = await run_in_threadpool(facts, place_of(request).memory.starts.cpus)
    return page(request, "doctor.html", facts=found, fleet="", members=None, error="")


async def _fleet(request: Request) -> Response:
    """The members of a fleet, by the command that lists them: Dask unpickles what it gets, which is not for pages."""
    from loadstone.run.doctor import facts

    address = (await form_of(request)).one("fleet")
    members, error = None, ""
    try:
        members = await _members(request, address)
    except UserError as wrong:
        error = str(wrong)
    found = await run_in_threadpool(facts, place_of(request).memory.starts.cpus)
    return page(request, "doctor.html", facts=found, fleet=address, members=members, error=error)


async def _members(request: Request, address: str) -> list[dict[str, Any]]:
    """Raises UserError."""
    if not address.startswith(SCHEDULER):  # no other fleet is there already: to name one would start it
        raise UserError("fleet {address}: not the address of a scheduler; write tls://HOST:PORT", address=address)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "loadstone", "fleet", "status", address, "--json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=place_of(request).here,
    )
    try:
        out, told = await asyncio.wait_for(child.communicate(), FLEET_S)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise UserError("fleet {address}: no answer within {time:.0f} s", address=address, time=FLEET_S) from None
    if child.returncode or len(out) > ANSWER_BYTES_MAX:
        raise UserError.of(told.decode(errors="replace").strip().removeprefix("loadstone: ")[:2000])
    found: list[dict[str, Any]] = json.loads(out)
    return found


routes = (Route("/doctor", _doctor, name="doctor"), Route("/fleet", _fleet, methods=["POST"]))
