"""The one way to stdout and stderr: every text that a person reads passes through here.

Names, questions, errors and replies were written by others. A control character in one of them could repaint the
terminal, set its clipboard (OSC 52) or turn a line around (U+202E): each becomes a space. What is secret is hidden
here, too.
"""

import contextlib
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import IO, Literal

from loadstone.secrecy.known_secrets import hide

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_OWN_LAYOUT = "\n\t"
_ASCII = re.compile(r"[\n\t\x20-\x7e]*")


def visible(text: str) -> str:
    """`text` without control and direction characters; line breaks and tabs, our own layout, stay."""
    if _ASCII.fullmatch(text):
        return text
    return "".join(" " if c not in _OWN_LAYOUT and unicodedata.category(c) in _INVISIBLE else c for c in text)


def plain(text: str) -> str:
    """`text` on one line, without what could repaint a terminal or a page."""
    return " ".join(visible(text).split())


def printable(text: str) -> str:
    """`text` on one line and unambiguous, as names are to be read: what a terminal would obey is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(text: str) -> str:
    """`text` as it may be written: secrets hidden, and nothing in it that a terminal obeys."""
    return visible(hide(text))


class Output:
    """stdout or stderr, whichever file stands there at the moment of writing; what `rich` writes to.

    A reader that went away is no failure: the rest is dropped. Nor is a stderr that takes nothing (a full disk, a
    terminal that is gone): progress and remarks are not worth a run.
    """

    def __init__(self, name: Literal["stdout", "stderr"]) -> None:
        self._name = name

    @property
    def stream(self) -> IO[str]:
        """The file."""
        stream: IO[str] = getattr(sys, self._name)
        return stream

    @property
    def encoding(self) -> str:
        """The encoding that it is written in."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write text as it is. Raises OSError where results cannot be written to stdout."""
        with self._dropping():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Bring out what was written. Raises OSError as `write`."""
        with self._dropping():
            self.stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Its number."""
        return self.stream.fileno()

    @contextlib.contextmanager
    def _dropping(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            discard(self.stream)
            if self._name == "stdout" and not isinstance(error, BrokenPipeError):
                raise


STDOUT, STDERR = Output("stdout"), Output("stderr")


def result(text: str) -> None:
    """Write text of a command's result to stdout. Raises OSError where it cannot be written."""
    _write(STDOUT, shown(text))


def result_json(text: str) -> None:
    """Write a JSON text to stdout: characters that a terminal obeys are escaped, so that the data are the same."""
    _write(STDOUT, "".join(_escaped(c) for c in hide(text)) if not _ASCII.fullmatch(text) else hide(text))


def remark(line: str) -> None:
    """Write a line for a person to stderr; where that is closed or full, nowhere."""
    _write(STDERR, f"{shown(line)}\n")


def evidence(line: str, *, result: bool) -> None:
    """Write a line of what a stranger's file would do, to stdout or stderr, without the redactor.

    What counts as a secret is learned from the file, too: it could hide its own command. So whoever makes the line
    leaves secrets out by their place, and shows variables by their names alone.
    """
    _write(STDOUT if result else STDERR, f"{visible(line)}\n")


def confirmed(question: str) -> bool:
    """Whether a person at the terminal answers yes; anything else, and the end of input, is no."""
    _write(STDERR, shown(question))
    STDERR.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def prepare() -> None:
    """Make stdout and stderr fit to be written to, whatever the command was started with.

    A closed one is opened to nowhere: otherwise a file of the run could get its number, and be written to by every
    child. Characters that its encoding does not have become `?`.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            _open_nowhere(number)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        if mode == "w":
            with contextlib.suppress(AttributeError):  # whoever calls us has put something else there
                getattr(sys, name).reconfigure(errors="replace")


def finish() -> None:
    """Bring out what is left, and drop what cannot be: the exit status says what became of the command."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            discard(stream)


def on_terminal() -> list[IO[str]]:
    """Which of stdout and stderr are a terminal; once that is closed, they no longer say so."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None and stream.isatty()]


def discard(stream: IO[str]) -> None:
    """Let what is still written to a stream go nowhere, so that closing it at the end raises nothing."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


def _write(output: Output, text: str) -> None:
    output.write(text)
    output.flush()


def _open_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)


def _escaped(c: str) -> str:
    keep = c in _OWN_LAYOUT or unicodedata.category(c) not in _INVISIBLE
    return c if keep else json.dumps(c)[1:-1]
