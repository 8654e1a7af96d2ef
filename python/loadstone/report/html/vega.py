"""The library that draws on the page: put together once, which takes more than a second, and then kept in a file."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from loadstone.errors import LoadstoneError

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_folder: Callable[[], Path] | None = None


def keep_in(folder: Callable[[], Path]) -> None:
    """Keep it in the folder that `folder` returns, which no one else may write to: what is there runs in the page.

    Where `folder` raises OSError or a LoadstoneError, it is put together again each time.
    """
    global _folder
    _folder = folder


@cache
def script() -> str:
    """Vega-Embed with all that it needs, as JavaScript."""
    import vl_convert  # only now: it takes time to load

    file = _file(f"vega-{metadata.version('vl-convert-python')}.js")
    kept = _read(file) if file is not None else None
    if kept is not None:
        return kept
    made = vl_convert.javascript_bundle(_SNIPPET)
    if file is not None:
        _write(file, made)
    return made


def _file(name: str) -> Path | None:
    if _folder is None:
        return None
    try:
        return _folder() / name
    except (OSError, LoadstoneError):
        return None


def _read(file: Path) -> str | None:
    """None where it is not there, or not whole: its first line is the hash of the rest."""
    try:
        first, _, script = file.read_bytes().partition(b"\n")
        return script.decode() if first == _hash(script) else None
    except (OSError, ValueError):
        return None


def _write(file: Path, script: str) -> None:
    """It appears whole or not at all; where there is no room for it, it is put together again next time."""
    content = script.encode()
    with contextlib.suppress(OSError):
        number, name = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(number, "wb") as opened:
                opened.write(_hash(content) + b"\n" + content)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
