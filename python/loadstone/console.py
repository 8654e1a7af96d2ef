"""The two consoles: results go to stdout, progress and remarks to stderr."""

import os
import sys
from typing import IO

from rich.console import Console

_PIPE_COLUMNS = 120
"""The width where it is no terminal."""


class ResultConsole(Console):
    """A console whose reader may go away, as `head` does: the rest is dropped, and the command goes on to its end."""

    def on_broken_pipe(self) -> None:
        """See `rich.console.Console`, which would exit here."""
        self.quiet = True
        discard(self.file)


def results(*, beside_json: bool = False, quiet: bool = False) -> Console:
    """Where results go: stdout.

    `beside_json`: stdout is for the JSON alone, and results for a person go to stderr; nowhere if `quiet`.
    """
    if beside_json:
        return remarks(quiet=quiet)
    return ResultConsole(highlight=False, width=_width(sys.stdout))


def remarks(*, quiet: bool = False) -> Console:
    """Where progress and remarks go: stderr; nowhere if `quiet`."""
    return Console(stderr=True, highlight=False, width=_width(sys.stderr), quiet=quiet)


def discard(stream: IO[str]) -> None:
    """Let what is still written to a closed pipe go nowhere, so that closing it at the end raises nothing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def on_terminal() -> list[IO[str]]:
    """Which of stdout and stderr are a terminal; once that is closed, they no longer say so."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None and stream.isatty()]


def _width(stream: IO[str]) -> int | None:
    return None if stream.isatty() else _PIPE_COLUMNS
