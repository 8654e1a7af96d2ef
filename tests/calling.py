"""The `loadstone` command as tests call it: a process of its own, which has loaded everything before (`loaded.py`).

What is about the start itself, or about how a shell calls it, starts Python in the usual way.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Self

from tests import loaded

LOADING_S, PATIENCE_S = 120.0, 180.0
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""Beginnings of variables."""
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_ASKING = threading.Lock()


def calling(
    *words: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
    draws: bool = True,
    **files: int,
) -> "Running":
    """Start `loadstone words...` in a folder, with these variables beside the test's own.

    `within`: the command that starts it; `draws`: whether its reports have pictures; `files`: `stdin`, `stdout` and
    `stderr` as `Popen` takes them, by number; by default nothing, and two pipes.
    """
    variables = {**os.environ, **(environment or {})}
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **files}
    if within or _of_start(variables) != _AT_START or not hasattr(os, "pidfd_open"):
        command = [*within, sys.executable, "-m", "loadstone", *map(str, words)]
        return subprocess.Popen(command, cwd=folder, env=variables, text=True, **given)  # type: ignore[call-overload, no-any-return]
    call = loaded.Call([str(word) for word in words], str(folder or Path.cwd()), variables, draws)
    return Forked(call, **given)


def called(
    *words: str | Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = PATIENCE_S,
    draws: bool = True,
    **files: int,
) -> "subprocess.CompletedProcess[str]":
    """Run it to its end."""
    with calling(*words, folder=folder, environment=environment, draws=draws, **files) as command:
        try:
            out, err = command.communicate(timeout=timeout)
        except BaseException:
            command.kill()
            raise
    return subprocess.CompletedProcess(["loadstone", *words], command.returncode or 0, out, err)


def _of_start(variables: Mapping[str, str]) -> dict[str, Any]:
    """What Python takes over when it starts, and never looks at again."""
    read = {name: value for name, value in variables.items() if name.startswith(READ_AT_START)}
    ignored = {str(number): True for number in SIGNALS if signal.getsignal(number) == signal.SIG_IGN}
    return {**read, **ignored}


class Forked:
    """A command that runs, as `subprocess.Popen` has it. Its parent is the process that has loaded everything."""

    def __init__(self, call: loaded.Call, *, stdin: int, stdout: int, stderr: int) -> None:
        self.returncode: int | None = None
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        with contextlib.ExitStack() as theirs:
            files = [self._end_of(name, file, theirs) for name, file in (("stdin", stdin), ("stdout", stdout))]
            files.append(files[1] if stderr == subprocess.STDOUT else self._end_of("stderr", stderr, theirs))
            self._told, tells = os.pipe()
            theirs.callback(os.close, tells)
            with _ASKING:
                control = _control()
                socket.send_fds(control, [json.dumps(asdict(call)).encode()], [*files, tells])
                self.pid = int(control.recv(64))

    def _end_of(self, name: str, file: int, theirs: contextlib.ExitStack) -> int:
        """Its end of a file; ours, if it is a pipe, becomes an attribute."""
        if file >= 0:
            return file
        if file == subprocess.DEVNULL:
            nowhere = os.open(os.devnull, os.O_RDWR)
            theirs.callback(os.close, nowhere)
            return nowhere
        reads, writes = os.pipe()
        its, ours = (reads, writes) if name == "stdin" else (writes, reads)
        theirs.callback(os.close, its)
        setattr(self, name, open(ours, "w" if name == "stdin" else "r", encoding="utf-8"))  # noqa: PTH123, SIM115
        return its

    def poll(self) -> int | None:
        """See `Popen.poll`."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """See `Popen.wait`."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("loadstone", timeout or 0.0)
        return status

    def _ended(self, within_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], within_s)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(os.read(self._told, 64)))
            os.close(self._told)
        return self.returncode

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[str, str]:
        """See `Popen.communicate`; nothing is sent to it."""
        if self.stdin is not None:
            self.stdin.close()
        deadline_s = time.monotonic() + timeout
        texts = {"stdout": b"", "stderr": b""}
        with selectors.DefaultSelector() as selector:
            for name in texts:
                if (file := getattr(self, name)) is not None:
                    selector.register(file, selectors.EVENT_READ, name)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline_s - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired("loadstone", timeout)
                for key, _ in ready:
                    part = os.read(key.fd, 1 << 16)
                    texts[key.data] += part
                    if not part:
                        selector.unregister(key.fileobj)
        self._close()
        self.wait(max(0.0, deadline_s - time.monotonic()))
        return texts["stdout"].decode(), texts["stderr"].decode()

    def send_signal(self, number: int) -> None:
        """See `Popen.send_signal`."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """See `Popen.terminate`."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """See `Popen.kill`."""
        self.send_signal(signal.SIGKILL)

    def _close(self) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self.wait()


@functools.cache
def _control() -> socket.socket:
    """The way to the process that has loaded everything, which is started for it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-P", loaded.__file__, str(theirs.fileno())]
        files = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "pass_fds": [theirs.fileno()]}
        process = subprocess.Popen(command, env=_VARIABLES, **files)
    ours.settimeout(LOADING_S)
    assert ours.recv(64) == b"loaded"

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


Running = Forked | subprocess.Popen[str]
_VARIABLES = dict(os.environ)
_AT_START = _of_start(_VARIABLES)
