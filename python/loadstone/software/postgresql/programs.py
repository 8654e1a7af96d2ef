"""Where PostgreSQL's programs are, and how they run when we are root, which they refuse to be."""

import os
import pwd
import shutil
from collections.abc import Sequence
from pathlib import Path

from loadstone.errors import UserError

PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt")
"""Where systems keep one folder a version: Debian's `15/bin`, Homebrew's `postgresql@17/bin`."""
OTHER_USERS = ("postgres", "nobody")


def find(program: str, folder: Path | None = None) -> Path | None:
    """A program of PostgreSQL: in `folder` or its `bin`, or else on PATH and in `PLACES`, the newest version first."""
    if folder is not None:
        places = [folder / "bin", folder]
    else:
        versions = [path for place in PLACES for path in Path(place).glob("*/bin") if (path / "initdb").exists()]
        places = sorted(versions, key=_version, reverse=True)
    found = [shutil.which(program, path=str(place)) for place in places]
    if folder is None:
        found.insert(0, shutil.which(program))
    return next((Path(path) for path in found if path), None)


def _version(path: Path) -> int:
    digits = path.parent.name.rpartition("@")[2]
    return int(digits) if digits.isdecimal() else 0


def server_user() -> pwd.struct_passwd | None:
    """The user that the server runs as where we are root; None: as ourselves.

    Raises:
        UserError: there is none.
    """
    if os.geteuid() != 0:
        return None
    for name in OTHER_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise UserError(f"a PostgreSQL does not run as root, and there is no user {' or '.join(OTHER_USERS)}; add one")


def as_user(user: pwd.struct_passwd | None, command: Sequence[str]) -> list[str]:
    """The command as that user. It keeps one right of root's: to reach its files below folders that are root's alone.

    Raises:
        UserError: `setpriv` is missing.
    """
    if user is None:
        return list(command)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise UserError(
            "a PostgreSQL does not run as root, and there is no setpriv to change to another user; "
            "install it (Debian: util-linux), or run loadstone as a user of your own"
        )
    kept = "-all,+dac_override"
    rights = [f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}", "--no-new-privs"]
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    # A change of user forgets that the process ends with its guard.
    return [setpriv, *ids, *rights, "--pdeathsig=KILL", *command]
