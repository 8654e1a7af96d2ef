"""What a member of a fleet and its scheduler serve: a process each, until it is ended.

A member runs functions of loadstone that the one command calls which it belongs to (`run_here`).
"""

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from loadstone.addons.fleet import cluster_seam, dask_library
from loadstone.addons.fleet.certificates import Credential
from loadstone.addons.fleet.cluster_seam import Role
from loadstone.addons.fleet.dask_library import CONNECT_S, KEY, FleetScheduler, FleetWorker, bracketed
from loadstone.addons.fleet.identity import own_identity
from loadstone.machine.processes.workspace import Workspace
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

CLAIM_S = 15.0
"""How long agents stay a command's that is not heard of any more."""
CLOSE_S = 3.0
"""How long a member may take to say that it leaves."""
ALL = ("0.0.0.0", "::")
SILENCE_S, TICK_S = 120.0, 5.0
"""A member that was started for a command ends when it was not called for so long: its link is gone for good. Ticks of
its own are counted, so that one which stood still itself does not take that for silence."""


@dataclass
class _Holder:
    """The command that the agents of this process belong to."""

    token: str = ""
    who: str = ""
    until: float = 0.0
    released: str = ""
    """The command that let it go last: what of its calls comes later claims nothing."""

    def refused(self, token: str, who: str) -> AnyText | None:
        """Take or renew the claim of a command; why not, if another one holds it."""
        now = time.monotonic()
        if token == self.released:
            return None
        if self.token not in ("", token) and now < self.until:
            return said("in use by {who}; wait until that run is done, or use other agents", who=self.who)
        self.token, self.who, self.until = token, who, now + CLAIM_S
        return None

    def let_go(self, token: str) -> None:
        if self.token == token:
            self.token, self.released = "", token


_HOLDER = _Holder()
_SILENT_TICKS: list[None] = []
"""Since the last call."""


async def run_here(token: str, who: str, function: Callable[..., object], arguments: Sequence[Any]) -> dict[str, Any]:
    """On a member: call a function of loadstone. An error becomes a text: Dask would log it with its arguments."""
    _SILENT_TICKS[:] = []
    if token and (refused := _HOLDER.refused(token, who)) is not None:
        return {"failed": refused}
    try:
        return {"answer": await _in_thread(lambda: function(*arguments))}
    except Exception as error:
        if isinstance(error, DriveFailed | UserError):
            return {"failed": error.message}
        return {"failed": f"{type(error).__name__}: {error}"}


async def _in_thread(work: Callable[[], object]) -> object:
    """Beside the loop, in a thread that does not keep a process that ends."""
    done: concurrent.futures.Future[object] = concurrent.futures.Future()

    def finish() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=finish, name="fleet-called", daemon=True).start()
    return await asyncio.wrap_future(done)


def let_go(token: str) -> None:
    """On a member: it is free for another command."""
    _HOLDER.let_go(token)


def ping() -> bool:
    """On a member: it is there."""
    return True


async def _ended(*, watch_input: bool) -> asyncio.Event:
    """Set when this process is to end: by a signal, or when its input ends."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)

    def read() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            ended.set()

    if watch_input:
        loop.add_reader(0, read)
    return ended


def serve_scheduler(
    listen: tuple[str, int], credential: Credential, ready: Callable[[str], None], *, watch_input: bool
) -> None:
    """Be the scheduler until this process is to end. `ready` gets its address. Raises UserError if it cannot listen."""

    async def serve() -> None:
        ended = await _ended(watch_input=watch_input)
        try:
            scheduler = FleetScheduler(
                host=bracketed(listen[0]),
                port=listen[1],
                protocol="tls",
                security=dask_library.security(credential, "scheduler"),
            )
            await scheduler
        except (OSError, ValueError, RuntimeError) as error:  # Dask makes any error of a start a RuntimeError
            why = dask_library.reason(error)
            raise UserError(
                "fleet scheduler {host}:{port}: cannot listen there: {why}", host=listen[0], port=listen[1], why=why
            ) from None
        ready(str(scheduler.address))
        await _either(ended, scheduler.finished())
        await scheduler.close(reason="it was told to end")

    workspace = Workspace("fleet-scheduler")  # else a folder in /tmp, which it puts before all others to import from
    try:
        with dask_library.set_up(workspace.path):
            asyncio.run(serve())
    finally:
        workspace.remove()


def serve_member(
    scheduler: str,
    name: str,
    role: Role,
    credential: Credential,
    ready: Callable[[str], None],
    remark: Callable[[str], None],
    *,
    listen: tuple[str | None, int] = (None, 0),
    contact: str | None = None,
    watch_input: bool,
    once: bool,
) -> None:
    """Be a member until this process is to end.

    `once`: end when the scheduler is gone, or nothing was heard of the command for `SILENCE_S`; else join it again,
    however often it restarts. `ready` gets the member's address each time that it joined.

    Raises:
        DriveFailed: it could not join, or lost the scheduler, and `once`.
    """
    identity = own_identity(role).model_dump()

    async def serve() -> None:
        ended = await _ended(watch_input=watch_input)
        told = False
        while not ended.is_set():
            why: AnyText = said("the connection to the scheduler was lost")
            try:
                async with _joined(scheduler, name, credential, identity, listen, contact) as worker:
                    told = False
                    ready(str(worker.address))
                    await _either(ended, worker.finished(), *([_silence()] if once else []))
            except (OSError, ValueError, RuntimeError) as error:
                why = said("cannot join {scheduler}: {why}", scheduler=scheduler, why=dask_library.reason(error))
            if ended.is_set():
                return
            if once:
                raise DriveFailed("agent {name}: {why}", name=name, why=why)
            if not told:
                remark(_("agent {name}: {why}; it tries again until it is ended", name=name, why=why))
            told = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 2.0)

    with dask_library.set_up():
        asyncio.run(serve())


def _towards(scheduler: str) -> str:
    """The address of this machine by which the scheduler is reached; nothing is sent."""
    where = urlsplit(scheduler)
    family, kind, _, _, there = socket.getaddrinfo(where.hostname, where.port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(there)
        return str(way.getsockname()[0])


@contextlib.asynccontextmanager
async def _joined(
    scheduler: str,
    name: str,
    credential: Credential,
    identity: Mapping[str, object],
    listen: tuple[str | None, int],
    contact: str | None,
) -> AsyncIterator[FleetWorker]:
    workspace = Workspace("fleet-agent")
    worker: Any = None
    try:
        worker = FleetWorker(
            scheduler,
            name=name,
            nthreads=1,
            memory_limit=0,
            host=bracketed(listen[0] or _towards(scheduler)),
            port=listen[1],
            protocol="tls",
            contact_address=contact,
            security=dask_library.security(credential, "worker"),
            startup_information={KEY: lambda _: identity},
            metrics={},
            local_directory=str(workspace.path),
            death_timeout=CONNECT_S,
        )
        await worker
        cluster_seam.be_at(_towards(scheduler) if listen[0] in (None, "", *ALL) else str(listen[0]))
        cluster_seam.speak_by(lambda topic, message: worker.log_event(f"{KEY}/{topic}", {"message": message}))
        yield worker
    finally:
        cluster_seam.speak_by(None)
        if worker is not None:
            with contextlib.suppress(TimeoutError):  # it would tell a scheduler that may be gone
                await asyncio.wait_for(worker.close(timeout=2, executor_wait=False), CLOSE_S)
        workspace.remove()


async def _silence() -> None:
    _SILENT_TICKS[:] = []
    while len(_SILENT_TICKS) * TICK_S < SILENCE_S:
        await asyncio.sleep(TICK_S)
        _SILENT_TICKS.append(None)


async def _either(ended: asyncio.Event, *others: Any) -> None:
    waiting = [asyncio.ensure_future(ended.wait()), *map(asyncio.ensure_future, others)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
