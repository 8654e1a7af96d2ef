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
from collections.abc import Iterable, Iterator
from typing import IO, Literal

from loadstone.safety.secrets.known import redact
from loadstone.text.language import in_language
from loadstone.text.message import AnyText

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_OWN_LAYOUT = "\n\t"
_ASCII = re.compile(r"[\n\t\x20-\x7e]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u2044\u2215\u2236").union(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""What counts as printable and shows nothing, or passes for `/` or `:`."""
_DOUBLES = frozenset(
    map(
        chr,
        (
            *(0x430, 0x435, 0x43E, 0x440, 0x441, 0x443, 0x445, 0x455, 0x456, 0x458, 0x475, 0x4BB, 0x4CF, 0x501),
            *(0x51B, 0x51D, 0x410, 0x412, 0x415, 0x41A, 0x41C, 0x41D, 0x41E, 0x420, 0x421, 0x422, 0x423, 0x425),
            *(0x405, 0x406, 0x408, 0x3B9, 0x3BA, 0x3BD, 0x3BF, 0x3C1, 0x3C5, 0x3C7, 0x391, 0x392, 0x395, 0x396),
            *(0x397, 0x399, 0x39A, 0x39C, 0x39D, 0x39F, 0x3A1, 0x3A4, 0x3A5, 0x3A7, 0x131, 0x261, 0x251),
        ),
    )
)
"""Letters of Cyrillic, Greek and the phonetic alphabet that look like Latin ones."""


def visible(text: str) -> str:
    """`text` without control and direction characters; line breaks and tabs, our own layout, stay."""
    if _ASCII.fullmatch(text):
        return text
    return "".join(" " if c not in _OWN_LAYOUT and unicodedata.category(c) in _INVISIBLE else c for c in text)


def plain(text: str) -> str:
    """`text` on one line, without what could repaint a terminal or a page."""
    return " ".join(visible(text).split())


def printable(text: str) -> str:
    """`text` on one line and unambiguous, as names are to be read.

    What a terminal would obey is escaped, what nobody sees, and letters that pass for Latin ones.
    """
    if _ASCII.fullmatch(text) and text.isprintable():
        return text
    return _LETTERS.sub(_without_doubles, "".join(_escape_of(c) if _is_unclear(c) else c for c in text))


def _is_unclear(c: str) -> bool:
    return not c.isprintable() or c in _BLANK or (not c.isascii() and unicodedata.normalize("NFKC", c).isascii())


def _without_doubles(found: re.Match[str]) -> str:
    """A word whose letters all pass for Latin ones, or that has Latin and such ones, with those escaped."""
    word = found[0]
    if any(c.isascii() for c in word) or _DOUBLES.issuperset(word):
        return "".join(_escape_of(c) if c in _DOUBLES else c for c in word)
    return word


def _escape_of(c: str) -> str:
    return c.encode("unicode_escape").decode()


def shown(text: AnyText) -> str:
    """`text` as it may be written: secrets hidden, and nothing in it that a terminal obeys."""
    return visible(redact(in_language(text)))


class OutputStream:
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


STDOUT, STDERR = OutputStream("stdout"), OutputStream("stderr")


def result(text: str) -> None:
    """Write text of a command's result to stdout. Raises OSError where it cannot be written."""
    _write(STDOUT, shown(text))


def result_lines(lines: Iterable[str]) -> None:
    """Print these lines to stdout; nothing where there are none."""
    if text := "".join(f"{line}\n" for line in lines):
        result(text)


def result_json(text: str) -> None:
    """Write a JSON text to stdout: characters that a terminal obeys are escaped, so that the data are the same."""
    _write(STDOUT, "".join(_escaped(c) for c in redact(text)) if not _ASCII.fullmatch(text) else redact(text))


def remark(line: AnyText) -> None:
    """Write a line for a person to stderr; where that is closed or full, nowhere."""
    _write(STDERR, f"{shown(line)}\n")


def print_unredacted(line: str, *, result: bool) -> None:
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


def _write(output: OutputStream, text: str) -> None:
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
