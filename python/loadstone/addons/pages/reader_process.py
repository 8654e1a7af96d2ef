"""Reads what others wrote in a process apart: an experiment of a stranger's must not stop the pages, or change them.

A child lives for one call, with bounds of time and memory. It is forked from a process that has loaded what it needs,
and knows no secret; what the call returns comes back as data.
"""

import asyncio
import io
import multiprocessing
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from starlette.concurrency import run_in_threadpool

from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.text.language import language, set_language

WALL_S, CPU_S = 20.0, 15
MEMORY_BYTES = 4 * 1024**3
AT_ONCE = 2
"""Calls at the same time; more wait."""
LOADED = ["loadstone.addons.pages.preloaded"]
P = ParamSpec("P")
R = TypeVar("R")
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(LOADED)
_STARTING = threading.Lock()


class Apart:
    """Makes calls in processes apart."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)

    @staticmethod
    def load() -> None:
        """Begin to load what calls need, which takes seconds; returns at once."""
        _start_server()

    async def call(self, function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """What the function returns. Raises UserError as it does, or where it takes too long."""
        async with self._free:
            return await run_in_threadpool(_called, function, arguments, named, language())


def _called(function: Callable[..., R], arguments: tuple[Any, ...], named: dict[str, Any], spoken: str) -> R:
    here, there = _CONTEXT.Pipe(duplex=False)
    with here:
        child = _CONTEXT.Process(target=_work, args=(there, function, arguments, named, spoken), daemon=True)
        _start_server()
        child.start()
        there.close()
        try:
            if not here.poll(WALL_S):
                raise UserError("this takes too long to be read; make the experiment smaller")
            ok, found = here.recv()
        except EOFError:
            raise UserError("this takes too much time or memory to be read; make the experiment smaller") from None
        finally:
            child.kill()
            child.join()
            child.close()
    if not ok:
        raise UserError.of(found)
    result: R = found
    return result


def _start_server() -> None:
    """Start what children are forked from, unless it runs: it imports nothing from the current folder."""
    with _STARTING, _set("PYTHONSAFEPATH", "1"):
        forkserver.ensure_running()


@contextmanager
def _set(name: str, value: str) -> Iterator[None]:
    """A variable of the environment, for what is started meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _work(
    there: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], spoken: str
) -> None:
    """In the child: errors of the user's come back as text, others as what a defect is reported by."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdin = io.StringIO()
    set_language(spoken)
    with there, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            there.send((True, function(*arguments, **named)))
        except LoadstoneError as error:
            there.send((False, error.message))
        except Exception as error:
            from loadstone.safety import defect

            there.send((False, defect.report(error)))
