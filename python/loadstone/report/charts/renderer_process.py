"""Who draws: a process of its own, beside what is written meanwhile.

What draws holds a browser's engine for JavaScript, which ends its process where it gets no memory, and with it the
report: so it is not in ours. A picture that cannot be drawn is left out, and the report says so.
"""

import atexit
import contextlib
import json
import select
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

from loadstone.safety.errors import LoadstoneError

PROGRAM = "loadstone.report.charts.renderer_program"
LONGEST_S = 120.0
"""How long one picture may take."""
STARTS_MAX = 2
"""What ended so often is not started again."""
_NOTHING = '{"data":{"values":[]},"mark":"point"}'


class NotDrawn(LoadstoneError):
    """A picture that cannot be drawn: what draws ended, or is not done in time."""


class _Pen:
    """The process that draws; one request at a time. Used by one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self.failure = ""
        """Why a picture was not drawn, for a person; empty if all were."""

    def draw(self, request: dict[str, Any]) -> bytes:
        """What the program answers to a request. Raises NotDrawn."""
        process = self._started()
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            kind, size = self._read(process, 9).split(b" ", 1)
            answer = self._read(process, int(size, 16))
        except (OSError, ValueError, NotDrawn):
            raise self._failed(process) from None
        if kind != b"+":
            self.failure = f"a picture cannot be drawn ({answer.decode(errors='replace')[:160]})"
            raise NotDrawn.of(self.failure)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            if self._starts == STARTS_MAX:
                raise NotDrawn.of(self.failure)
            self._starts += 1
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                self._starts = STARTS_MAX
                self.failure = f"pictures cannot be drawn: their process does not start ({error.strerror})"
                raise NotDrawn.of(self.failure) from None
        return self._process

    def _read(self, process: subprocess.Popen[bytes], size: int) -> bytes:
        """Read `size` bytes of its answer. Raises NotDrawn if it ends, or takes too long."""
        assert process.stdout is not None
        data, deadline_s = bytearray(), time.monotonic() + LONGEST_S
        while len(data) < size:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([process.stdout], [], [], left_s)[0]:
                raise NotDrawn.of("")
            piece = process.stdout.read1(size - len(data))  # type: ignore[attr-defined]
            if not piece:
                raise NotDrawn.of("")
            data += piece
        return bytes(data)

    def _failed(self, process: subprocess.Popen[bytes]) -> NotDrawn:
        gone = process.stdout is None or bool(select.select([process.stdout], [], [], 0)[0])  # its end can be read
        if gone:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
        self.close()
        self.failure = (
            f"pictures cannot be drawn: their process ended (status {process.returncode}), as it does without memory"
            if gone
            else f"a picture is not drawn within {LONGEST_S:g} s"
        )
        return NotDrawn.of(self.failure)

    def close(self) -> None:
        """End the process. May be called more than once."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what it did not take
                    stream.close()


def warm_up() -> None:
    """Start what draws, which takes as long as drawing several pictures; returns at once."""
    _drawer().submit(_pen().draw, {"svg": _NOTHING})


def begin(spec_json: str, vega_lite: str) -> "Future[str]":
    """SVG of a Vega-Lite specification for this version of it, as soon as those that began before are drawn.

    Its result raises NotDrawn.
    """
    return _drawer().submit(lambda: _pen().draw({"svg": spec_json, "vega_lite": vega_lite}).decode())


def pixels(drawing: str, scale: float) -> bytes:
    """PNG of an SVG drawing. Raises NotDrawn."""
    return _drawer().submit(_pen().draw, {"png": drawing, "scale": scale}).result()


def failure() -> str:
    """Why pictures were not drawn so far; empty if all were."""
    return _pen().failure


@cache
def _pen() -> _Pen:
    return _Pen()


@cache
def _drawer() -> ThreadPoolExecutor:
    atexit.register(_pen().close)
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawing")
