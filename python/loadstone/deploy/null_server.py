"""The null server: answers at once and does no work, to find out what the driver itself can do.

It runs in a process of its own on the servers' CPUs (`deploy/null_program.py`).
"""

import contextlib
import json
import selectors
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from loadstone.deploy.provider import DeployContext
from loadstone.errors import UserError
from loadstone.plan.drive_plan import Endpoint

START_S = 20.0
STOP_S = 5.0


class NullServerProcess:
    """One null server. `options` are those of the engine's `NullServer`: `document_bytes`, `replies`, `delay_us`..."""

    name = "null"

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        """Its process, empty while it does not run."""
        return {self.name: self._process.pid} if self._process is not None and self.alive() else {}

    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self, context: DeployContext) -> Endpoint:
        """Start it on `context.cpus` and wait until it listens.

        Raises:
            UserError: it does not start; with the reason.
        """
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadstone.deploy.null_program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal does not reach it
        )
        try:
            reported = self._exchange(self._process, {"cpus": context.cpus, "options": self._options})
        except BaseException:
            self.stop()
            raise
        if "port" not in reported:
            self.stop()
            reason = reported.get("failed", "it ended while it started")
            raise UserError(f"null server: {reason}; build the engine with 'make setup'")
        return Endpoint(port=reported["port"], unix_path=self._options.get("unix_path"))

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

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line, read one line; empty if there is none."""
        if process.stdin is None or process.stdout is None:
            return {}
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(START_S):
                return {"failed": f"it did not listen within {START_S:g} s"}
        line = process.stdout.readline()
        return dict(json.loads(line)) if line else {}
