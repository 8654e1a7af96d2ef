"""Runs a null server or a line of the engine in a process of its own (`engine_program.py`)."""

import contextlib
import json
import selectors
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, Literal

ANSWER_S = 20.0
STOP_S = 5.0
ENDED = "it ended"


class EngineProcess:
    """Answers each line of JSON with one. Its answers are mappings; `failed` has the reason where it cannot do it."""

    def __init__(self, kind: Literal["null", "link"]) -> None:
        self._kind = kind
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Its process id; None while it does not run."""
        return self._process.pid if self._process is not None and self.alive() else None

    @property
    def exit_status(self) -> int | None:
        """As `Popen.poll` has it; None while it runs, and where it was not started or was stopped."""
        return None if self._process is None else self._process.poll()

    @property
    def started(self) -> bool:
        """Whether it was started, and not stopped since."""
        return self._process is not None

    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start it anew; its answer to the first line. It goes on running where that is `failed`."""
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loadstone.drivers.engine_program", self._kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal does not reach it
        )
        try:
            answer = self.exchange(request)
        except BaseException:
            self.stop()
            raise
        return {"failed": f"{ENDED} while it started"} if answer.get("failed") == ENDED else answer

    def exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line, read one line."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return {"failed": "it does not run"}
        with self._lock, selectors.DefaultSelector() as selector:
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                return {"failed": ENDED}
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(ANSWER_S):
                return {"failed": f"it did not answer within {ANSWER_S:g} s"}
            line = process.stdout.readline()
        return dict(json.loads(line)) if line else {"failed": ENDED}

    def stop(self) -> None:
        """End it. May be called more than once."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
