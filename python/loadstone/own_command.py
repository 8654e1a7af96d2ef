"""How this program is called from where the user stands, for lines to paste."""

import shlex
import shutil
import sys
from pathlib import Path

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
