"""Files that scripts make of declarations, tests and runs: each is written, or with `--check` only compared."""

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path

LINES = 40


def keep(made: Mapping[Path, str], *, check: bool | None = None) -> int:
    """Write each file, or say which are not current and how they differ; the exit status.

    `check`: whether to compare alone; None: if `--check` is an argument of the program.
    """
    only_compared = "--check" in sys.argv[1:] if check is None else check
    status = 0
    for path, new in made.items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == new:
            continue
        if not only_compared:
            path.write_text(new, encoding="utf-8")
            continue
        sys.stderr.write(f"{path} is not current; run `make docs`\n{_difference(path, old, new)}\n")
        status = 1
    return status


def _difference(path: Path, old: str, new: str) -> str:
    """Of a page for people."""
    if path.suffix != ".md":
        return ""
    changes = difflib.unified_diff(old.splitlines(), new.splitlines(), "there", "made now", lineterm="", n=0)
    return "\n".join(list(changes)[:LINES])
