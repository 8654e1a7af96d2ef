"""Removes one server's container and network when loadstone ends.

Run as `python -I -S container_guard.py SOCKET NAME LOG WITHIN`; the standard library, `log_filter.py`,
`safety/bounds/folder_files.py`. Its standard input is a pipe that loadstone holds: after `stop`, or when the pipe
closes because loadstone ended, however it ended, the container's output is appended to the file LOG (none if LOG is
empty; from the folder WITHIN on no link leads to it), and the container NAME and the network NAME are removed.
Any other line is JSON: the secrets that are replaced in the output, and what by; the last such line counts.
Output: a line for each that could not be removed.
"""

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from urllib.parse import quote

if __name__ == "__main__":  # nothing but the standard library is found so far, and it goes before this
    sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 4)[0])  # noqa: PTH100

from loadstone.machine.processes.log_filter import CHUNK, LEFT_OUT, LOG_BYTES_MAX, START_BYTES, LogFilter
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.folder_files import open_file

Forms = Sequence[Sequence[str]]
"""As `log_filter.LogFilter` takes them."""
PARENT_CHECK_S = 1.0
LIMITS = (60.0, 30.0, 1024 * 1024)
"""How many seconds the container engine may take to answer, to the last byte; the same of a container's output; and how
many bytes an answer has."""
SAID_BYTES = 400
"""Bytes of what it says that are passed on."""
ENGINE_FAILS = (OSError, http.client.HTTPException, ValueError)
"""What an engine that is gone, too slow, or no engine raises."""
LATE_S = 2.0
"""How long the engine may go on with what a killed loadstone had queried it to make."""
NOT_THERE = 404


class Socket(http.client.HTTPConnection):
    """HTTP to the engine's Unix socket."""

    def __init__(self, path: str, within_s: float, largest_bytes: int) -> None:
        """An answer may take so long and be so large."""
        super().__init__("localhost", timeout=within_s)
        self._path = path
        self._within_s, self._largest_bytes = within_s, largest_bytes

    def connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self._within_s)
        connection.connect(self._path)
        bounded = BoundedSocket(connection, self._within_s)
        bounded.begin(self._within_s, self._largest_bytes)
        self.sock = bounded


def wait_for_the_end() -> tuple[bool, Forms]:
    """Returns when loadstone says so or is gone; whether it said so, and the secrets that it named last."""
    parent = os.getppid()
    forms: Forms = ()
    pending = b""
    while True:
        gone = os.getppid() != parent  # looked at first: what it wrote before is read all the same
        if select.select([0], [], [], 0.0 if gone else PARENT_CHECK_S)[0]:
            received = os.read(0, CHUNK)
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                if line == b"stop":
                    return True, forms
                forms = json.loads(line)
            gone = not received
        if gone:
            return False, forms


def remove(path: str, what: str) -> str:
    """Have the engine remove what stands at `what`; why it did not, or nothing."""
    within_s, _, largest_bytes = LIMITS
    engine = Socket(path, within_s, largest_bytes)
    try:
        engine.request("DELETE", what)
        answer = engine.getresponse()
        said = answer.read(largest_bytes)[:SAID_BYTES].decode(errors="replace")
    except ENGINE_FAILS as error:
        return f"{what}: {str(error) or type(error).__name__}"
    finally:
        engine.close()
    return "" if answer.status < 300 or answer.status == NOT_THERE else f"{what}: {said.strip()}"


def keep_log(path: str, name: str, log: str, within: str, forms: Forms) -> None:
    """Append the container's output to the file `log`, without secrets; nothing if there is no such container.

    A log that has enough gets no more, as that of a process: an image that floods it would fill the disk.
    """
    engine = Socket(path, LIMITS[1], 2 * max(LOG_BYTES_MAX, LIMITS[2]))
    try:
        engine.request("GET", f"/containers/{name}/logs?stdout=1&stderr=1")
        answer = engine.getresponse()
        if answer.status != 200:
            return
        streams: dict[int, LogFilter] = {}
        with os.fdopen(open_file(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, within), "ab") as file:
            room = max(START_BYTES, LOG_BYTES_MAX - os.fstat(file.fileno()).st_size)
            while len(head := answer.read(8)) == 8:  # of a frame: the stream's number, and the length of what follows
                stream = streams.setdefault(head[0], LogFilter(forms))
                left = int.from_bytes(head[4:], "big")
                while left and (data := answer.read(min(left, CHUNK))):
                    kept = stream.feed(data)[:room]
                    file.write(kept)
                    left, room = left - len(data), room - len(kept)
                    if room <= 0:
                        file.write(LEFT_OUT)
                        return
            for stream in streams.values():
                file.write(stream.flush())
    finally:
        engine.close()


def clean(path: str, name: str, log: str, within: str, forms: Forms) -> list[str]:
    """Keep the container's output, and remove container and network; a line for each that could not be."""
    if log:
        with contextlib.suppress(*ENGINE_FAILS):
            keep_log(path, quote(name), log, within, forms)
    return [line for line in (remove(path, target) for target in targets(name)) if line]


def targets(name: str) -> tuple[str, str]:
    """Where the engine has the container and the network, in the order of their removal."""
    return f"/containers/{quote(name)}?force=true&v=true", f"/networks/{quote(name)}"


def main() -> None:
    path, name, log, within = sys.argv[1:]
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # it ends when all is removed
        signal.signal(number, signal.SIG_IGN)
    requested, forms = wait_for_the_end()
    left = clean(path, name, log, within, forms)
    if not requested:
        time.sleep(LATE_S)
        left = [line for line in (remove(path, target) for target in targets(name)) if line]
    with contextlib.suppress(BrokenPipeError):
        os.write(1, "\n".join(left).encode())


if __name__ == "__main__":
    main()
