"""Waiting until a server that was started answers."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from loadstone.deploy.processes.guarded import GuardedProcess
from loadstone.deploy.provider import DeployContext
from loadstone.errors import ServerGone, UserError

POLL_S = 0.01


class Answering(Protocol):
    """What gives a sign of life when it is pinged; the controls of servers do."""

    def ping(self) -> object:
        """Raises `ServerGone` where there is no answer."""


def await_answer(
    name: str,
    control: AbstractContextManager[Answering],
    process: GuardedProcess,
    context: DeployContext,
    within_s: float,
    why_it_ended: Callable[[Sequence[str]], Exception],
) -> None:
    """Wait until server `name` answers; `why_it_ended` makes the error of one that ended, of its log's lines.

    Raises:
        UserError: it does not within `within_s` seconds.
        Exception: what `why_it_ended` returns; what the context raises when the user requested a stop.
    """
    deadline = time.monotonic() + within_s
    with control as server:
        while True:
            context.raise_if_stopped()
            try:
                server.ping()
            except ServerGone as gone:
                if not process.alive():
                    raise why_it_ended(process.log_lines()) from None
                if time.monotonic() > deadline:
                    raise UserError(f"server {name}: not ready within {within_s:g} s ({gone})") from None
                time.sleep(POLL_S)
            else:
                return
