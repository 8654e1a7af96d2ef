"""Guards one server process: run as `python -I -S guard.py FOLDER`, standard library only.

The server is this program's child, and its standard input is a pipe that loadstone holds. When the pipe
closes (loadstone ended, however it ended) or on SIGTERM, the server gets SIGTERM, after two seconds
SIGKILL, and the folder is removed. Should the guard itself be killed, Linux kills the server with it.

Input, a line each: first the `Spec` as JSON, then `start` or `stop`. Output, a line of JSON each:
`{"started": pid}`, `{"exited": status}` (negative: the signal), `{"failed": text}`.
"""

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
from typing import Any

GRACE_S = 2.0
"""How long the server may take to end after SIGTERM."""
PARENT_CHECK_S = 1.0
PR_SET_PDEATHSIG = 1
MARK = "loadstone.lock"
"""A folder is removed only if it holds this file."""


class Guard:
    """One server process at a time, started and stopped as told."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.spec: dict[str, Any] = {}
        self.child: subprocess.Popen[bytes] | None = None
        self.parent = os.getppid()
        self.libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def serve(self) -> None:
        """Follow the input until it ends, a SIGTERM comes, or the parent is another."""
        wake = wake_on_signals()
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while os.getppid() == self.parent:
                ready = {key.fd for key, _ in selector.select(PARENT_CHECK_S)}
                if wake in ready and signal.SIGTERM in os.read(wake, 256):
                    return
                self.reap()
                if 0 in ready:
                    received = os.read(0, 65536)
                    if not received:
                        return
                    *lines, pending = (pending + received).split(b"\n")
                    for line in lines:
                        self.obey(line.decode())

    def obey(self, line: str) -> None:
        if line == "start":
            self.start()
        elif line == "stop":
            self.end_child()
        else:
            self.spec = json.loads(line)

    def start(self) -> None:
        try:
            with open(self.spec["log"], "ab") as log:  # noqa: PTH123 (pathlib would double the start-up time)
                self.child = subprocess.Popen(
                    self.spec["command"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.spec["cwd"],
                    start_new_session=True,
                    preexec_fn=self.prepare_child,
                )
        except (OSError, subprocess.SubprocessError) as error:
            tell(failed=str(error))
        else:
            tell(started=self.child.pid)

    def prepare_child(self) -> None:
        """In the child, before the server's program: pin it, and tie its life to the guard's."""
        if self.libc is not None:
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if self.spec["cpus"]:
                os.sched_setaffinity(0, self.spec["cpus"])
        os.umask(0o077)

    def reap(self) -> None:
        """Tell of a server that ended by itself, and end what it left behind."""
        if self.child is not None and self.child.poll() is not None:
            kill_group(self.child)
            tell(exited=self.child.returncode)
            self.child = None

    def end_child(self) -> None:
        if self.child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGTERM)
        try:
            self.child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        self.reap()

    def close(self) -> None:
        self.end_child()
        if os.path.exists(os.path.join(self.folder, MARK)):  # noqa: PTH110, PTH118
            shutil.rmtree(self.folder, ignore_errors=True)


def kill_group(leader: subprocess.Popen[bytes]) -> None:
    """Kill what remains of the process group that `leader` led."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


def wake_on_signals() -> int:
    """Make signals readable on a pipe, as one byte each; the end of it to read from.

    Handlers rather than SIG_IGN: the server must not inherit an ignored signal.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reading


def tell(**message: object) -> None:
    """One line to loadstone; nothing if it is gone."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(message).encode() + b"\n")


def main() -> None:
    guard = Guard(sys.argv[1])
    try:
        guard.serve()
    finally:
        guard.close()


if __name__ == "__main__":
    main()
