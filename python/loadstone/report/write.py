"""All formats of the report, and how they reach the disk."""

import difflib
import importlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from loadstone.analyse.model import Analysis
from loadstone.errors import UserError
from loadstone.report.formats import DEFAULT_FORMATS, DRAWN_FORMATS, FORMATS
from loadstone.secrecy.known_secrets import hide_known

Reporter = Callable[[Analysis], dict[str, bytes]]
"""Files of one format: path below the run's folder, and content."""


def _in(module: str) -> Reporter:
    """`render` of a reporter's file, which is imported when it is first called: drawing takes a second to load."""

    def render(analysis: Analysis) -> dict[str, bytes]:
        reporter: Reporter = importlib.import_module(f"loadstone.report.{module}").render
        return reporter(analysis)

    return render


REPORTERS: dict[str, Reporter] = {name: _in(module) for name, module in FORMATS.items()}


def begin_report(formats: Iterable[str] = DEFAULT_FORMATS) -> None:
    """Start what draws, if a format has pictures, beside what is still to be read and judged; returns at once.

    It takes CPU: nothing may be measured any more.
    """
    if DRAWN_FORMATS.intersection(formats):
        importlib.import_module("loadstone.report.charts.pen").warm_up()


def write_report(analysis: Analysis, folder: Path, formats: Iterable[str] = DEFAULT_FORMATS) -> list[Path]:
    """Write the report in each of `formats` into `folder`; the files written, in that order.

    A file appears whole or not at all. Raises UserError for a format that does not exist, before anything is
    written, and for a folder that cannot be written to.
    """
    chosen = list(dict.fromkeys(formats))
    require_formats(chosen)
    written: dict[Path, None] = {}
    for name in chosen:
        for relative, content in REPORTERS[name](analysis).items():
            written[_write(folder / relative, _hidden(relative, content))] = None
    return list(written)


def require_formats(formats: Iterable[str]) -> None:
    """Returns if each format exists. Raises UserError."""
    for name in formats:
        if name not in REPORTERS:
            raise UserError(_unknown(name))


def _hidden(relative: str, content: bytes) -> bytes:
    """A file without the secrets that are known; a picture is drawn from an analysis that holds none."""
    return content if relative.endswith(".png") else hide_known(content.decode()).encode()


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, REPORTERS, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"--format {name}: no such format; {hint}there are {', '.join(REPORTERS)}"


def _write(path: Path, content: bytes) -> Path:
    """Write beside the target, for its owner's eyes only, then rename over it."""
    beside: Path | None = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            beside = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if beside is not None:
            beside.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}; free some space or choose another --out") from error
    return path
