"""A program that has loaded all of loadstone, and becomes the command as often as it is asked to (see `calling.py`).

To load takes a second of a CPU, and tests call the command hundreds of times. Each call is a fork: a process of its
own, with its own id, folder, environment, files and end, as if Python had just started it.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MESSAGE_BYTES = 200_000
PROGRAMS = {"loadstone.__main__"}
SELDOM = (100_000, 20, 100)
"""When garbage is collected: with Python's own thresholds that takes two thirds of a parse of the package."""


@dataclass(frozen=True)
class Call:
    """What the command is to be."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    draws: bool


def load() -> None:
    """Import every module of the package, with the libraries that those need, and compile what reports are made by."""
    import loadstone

    gc.disable()
    for module in pkgutil.walk_packages(loadstone.__path__, "loadstone."):
        if module.name not in PROGRAMS:
            with contextlib.suppress(ImportError):  # of a library that only some installations have
                importlib.import_module(module.name)
    from loadstone.report.html.page import _templates

    templates = _templates()  # to compile them is a third of what a report costs
    for name in templates.list_templates():
        if name.endswith(".j2"):
            templates.get_template(name)
    _make_command()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    gc.enable()


def _make_command() -> None:
    """Make what reads the command line once: typer makes it anew in each command, in 0.04 s of a CPU."""
    import typer.main

    from loadstone.cli.main import whole

    make = functools.cache(typer.main.get_command)
    make(whole())
    typer.main.get_command = make


def next_call(control: socket.socket) -> Call | None:
    """Fork for each call that comes, and tell how each ended. Returns the call in a child, and None at the end."""
    ends: dict[int, tuple[int, int]] = {}  # handle of a process -> its id, and where its end is told
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    selector.unregister(key.fd)
                    _tell(key.fd, *ends.pop(key.fd))
                    continue
                message, files, *_ = socket.recv_fds(control, MESSAGE_BYTES, 4)
                if not message:
                    return None
                pid = os.fork()
                if pid == 0:
                    _take(files[:3])
                    return Call(**json.loads(message))
                handle = os.pidfd_open(pid)
                ends[handle] = pid, files[3]
                selector.register(handle, selectors.EVENT_READ)
                for file in files[:3]:
                    os.close(file)
                control.send(str(pid).encode())


def _tell(handle: int, pid: int, to: int) -> None:
    os.close(handle)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it
        os.write(to, str(status).encode())
    os.close(to)


def _take(files: list[int]) -> None:
    """These are stdin, stdout and stderr, and no other file is open."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def start_pens() -> bytes:
    """Start what draws (`pens.py`); where it is to be asked. It ends with this process."""
    ends, _kept = os.pipe()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")
        listener.listen(64)
        listener.set_inheritable(True)
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("pens.py")), str(listener.fileno())]
        os.posix_spawn(sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, ends, 0)])
        os.close(ends)
        return bytes(listener.getsockname())


class Shared:
    """The program that draws, as `report/charts/renderer_process.py` has a process of its own."""

    returncode = 0

    def __init__(self, place: bytes) -> None:
        self._way = socket.socket(socket.AF_UNIX)
        self._way.connect(place)
        self.stdin, self.stdout = self._way.makefile("wb"), self._way.makefile("rb")

    def kill(self) -> None:
        """Nothing more is asked of it."""
        self._way.close()

    def wait(self, _within_s: float = 0.0) -> int:
        """It goes on for others."""
        return self.returncode


def share(drawing: Shared) -> None:
    """Where this process would start what draws, it asks this one; another one is its own."""
    from loadstone.report.charts.renderer_process import _Pen

    own = _Pen._started

    def started(pen: _Pen) -> "subprocess.Popen[bytes]":
        if not pen._starts:
            pen._starts, pen._process = 1, drawing  # type: ignore[assignment]
        return own(pen)

    _Pen._started = started  # type: ignore[method-assign]


def draw_nothing() -> None:
    """Make this process as where `loadstone[charts]` is not installed: pictures are half of what a report costs."""
    from loadstone.machine import extras

    extras.MODULES["charts"] = ("no_such_module",)


def measure_shortly() -> None:
    """What is measured beside each trial and limits nothing takes a third of its time, or a quarter."""
    from loadstone.measure import ceiling, machine_speed

    ceiling.BUSY = ceiling.BUSY.model_copy(update={"warm_up_s": 0.01, "measure_s": 0.03})
    machine_speed.ROUNDS //= 4


def become(call: Call, pens: bytes) -> None:
    """What this process has of its beginning is from now on as of one that Python has just started."""
    if call.draws:
        share(Shared(pens))
    else:
        draw_nothing()
    measure_shortly()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update(call.environment)
    time.tzset()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = _writer(1), _writer(2)
    sys.argv = [importlib.import_module("loadstone.cli.main").__file__ or "", *call.words]


def _writer(number: int) -> IO[str]:
    by_line = number == 2 or os.isatty(number)
    return open(number, "w", encoding="utf-8", buffering=1 if by_line else -1, closefd=False)


def end(command: Callable[[], None]) -> None:
    """Run the command, and end as Python does, but without taking apart what was loaded: that takes 0.15 s of a CPU."""
    try:
        command()
        status = 0
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        status = ended.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(status)  # nobody reads any more: Python has its own status for that
    os._exit(status)


def main() -> None:
    """Load, say so, and then be asked until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    os.set_inheritable(int(sys.argv[1]), False)
    load()
    pens = start_pens()
    control = socket.socket(fileno=int(sys.argv[1]))
    control.send(b"loaded")
    call = next_call(control)
    if call is not None:
        control.detach()  # its number may be another file's
        become(call, pens)
        end(importlib.import_module("loadstone.cli.main").main)


if __name__ == "__main__":
    main()
