"""Which build of loadstone this is: what `--version` prints, what a report of a fault should name, and how it is
called here."""

import json
import platform
import shlex
import shutil
import sys
from pathlib import Path

from loadstone import __version__

BUILT = Path(__file__).parents[1] / "built.json"
"""Commit and its date, written by `scripts/wheel`; a clone has none."""


def version_lines() -> list[str]:
    """`loadstone VERSION` alone on the first line, for programs; then the engine, its build and what runs it."""
    parts = [engine_line()]
    made_of = commit()
    if made_of:
        parts.append(f"commit {made_of}")
    parts.append(f"Python {platform.python_version()}")
    parts.append(f"{platform.system()} {platform.release()} {platform.machine()}")
    return [f"loadstone {__version__}", ", ".join(parts)]


def engine_line() -> str:
    """Version, profile and back end of the engine, or why it cannot be loaded here."""
    try:
        from loadstone import _engine
    except ImportError as error:
        return f"engine: cannot be loaded ({error})"
    build = _engine.build()
    return f"engine {build['version']} ({build['profile']}, {build['backend']})"


def engine_back_end() -> str | None:
    """Return how the engine waits where nothing else is requested; None if it cannot be loaded."""
    try:
        from loadstone import _engine
    except ImportError:
        return None
    return _engine.build()["backend"]


def commit() -> str:
    """The commit that a wheel was built from, with its date; empty in a clone."""
    try:
        built = json.loads(BUILT.read_text())
        return f"{built['commit']} of {built['date']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


NAME = "loadstone"


def own_command() -> str:
    """`loadstone` where the shell finds it, else the path by which it was called: `.venv/bin/loadstone`.

    The words behind it may follow after a space; a path with a space in it is quoted.
    """
    called = Path(sys.argv[0])
    if called.name != NAME or shutil.which(NAME) is not None:
        return NAME
    try:
        path = called.absolute().relative_to(Path.cwd())
    except (OSError, ValueError):  # it is not below the current folder, or that is gone
        return shlex.quote(str(called.absolute()))
    return shlex.quote(str(path) if path.parent.name else f"./{path}")
