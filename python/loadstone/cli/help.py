"""The help in the reader's language: English as typer lays it out, others by the width of their letters."""

from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer._click.core import Context
from typer._click.formatting import HelpFormatter

from loadstone.text.language import ENGLISH, _, language, translatable, translated

_OF_TYPER = {
    "Options": translatable("Options"),
    "Commands": translatable("Commands"),
    "Arguments": translatable("Arguments"),
    "Help": translatable("Help"),
    "Show this message and exit.": translatable("Show this message and exit."),
}
"""What typer says of itself."""
_COLUMN_MAX = 30


def _width(text: str) -> int:
    """Return the width of a text in columns; English ones, and what is not spoken to anyone, load nothing for it."""
    from rich.cells import cell_len

    return cell_len(text)


def in_readers_language(app: typer.Typer) -> Any:
    """The command of an app, whose help speaks the language of now."""
    if language() == ENGLISH:
        return app
    command = typer.main.get_command(app)
    _speak(command)
    return command


def _speak(command: Any) -> None:
    for name in ("help", "short_help"):
        if text := getattr(command, name, None):
            setattr(command, name, translated(text))
    command.context_class = _Context
    for parameter in command.params:
        if text := getattr(parameter, "help", None):
            parameter.help = translated(text)
    for inner in getattr(command, "commands", {}).values():
        _speak(inner)


class _Formatter(HelpFormatter):
    """Lines as wide as they stand on a terminal: a letter of Hangul takes two columns."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """See click."""
        super().write_usage(prog, args, _("Usage: ") if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        """See click."""
        super().write_heading(translated(heading))

    def write_text(self, text: str) -> None:
        """See click."""
        for line in _wrapped(text, self.width - self.current_indent):
            self.write(f"{' ' * self.current_indent}{line}\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = _COLUMN_MAX, col_spacing: int = 2) -> None:
        """See click."""
        first = min(max(_width(name) for name, _text in rows), col_max) + col_spacing
        for name, text in rows:
            lines = list(_wrapped(_own(text), max(self.width - first - self.current_indent, 10))) or [""]
            indent = " " * self.current_indent
            if _width(name) > first - col_spacing:
                self.write(f"{indent}{name}\n{indent}{' ' * first}{lines[0]}\n")
            else:
                self.write(f"{indent}{name}{' ' * (first - _width(name))}{lines[0]}\n")
            for line in lines[1:]:
                self.write(f"{indent}{' ' * first}{line}\n")


class _Context(Context):
    formatter_class = _Formatter


def _own(text: str) -> str:
    """What typer put behind a text, too."""
    said = translated(_OF_TYPER.get(text, text))
    return said.replace("[default: ", _("[default: ")).replace("[required]", _("[required]"))


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most so many columns; an empty line parts paragraphs."""
    for at, paragraph in enumerate(text.split("\n\n")):
        if at:
            yield ""
        line = ""
        for word in paragraph.split():
            if line and _width(line) + 1 + _width(word) > width:
                yield line
                line = word
            else:
                line = f"{line} {word}" if line else word
        if line:
            yield line
