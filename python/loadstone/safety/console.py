"""The two consoles: results go to stdout, progress and remarks to stderr, both by `safety/terminal.py`."""

from collections.abc import Iterable
from typing import IO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from loadstone.safety import terminal

_PIPE_COLUMNS = 120
"""The width where it is no terminal."""


class SafeConsole(Console):
    """A console that prints nothing which a terminal obeys, but for its own colours and its own repainting."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See `rich.console.Console`: every text passes here, those in the cells of tables, too."""
        if isinstance(renderable, Text):
            renderable = _shown(renderable)
        elif isinstance(renderable, str):
            renderable = terminal.shown(renderable)
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(terminal.visible(segment.text), segment.style)


def results(*, beside_json: bool = False, quiet: bool = False) -> Console:
    """Where results go: stdout.

    `beside_json`: stdout is for the JSON alone, and results for a person go to stderr; nowhere if `quiet`.
    """
    return remarks(quiet=quiet) if beside_json else _console(terminal.STDOUT)


def remarks(*, quiet: bool = False) -> Console:
    """Where progress and remarks go: stderr; nowhere if `quiet`."""
    return _console(terminal.STDERR, quiet=quiet)


def _console(output: terminal.OutputStream, *, quiet: bool = False) -> Console:
    width = None if output.isatty() else _PIPE_COLUMNS
    file = cast(IO[str], output)
    return SafeConsole(file=file, highlight=False, markup=False, emoji=False, width=width, quiet=quiet)


def _shown(text: Text) -> Text:
    """Return the text, or a copy of one style where something had to be replaced."""
    shown = terminal.shown(text.plain)
    if shown == text.plain:
        return text
    copy = text.copy()
    copy.plain = shown
    return copy
