"""Which PostgreSQL is installed, where its programs are, and how they run when we are root, which they refuse to be."""

import os
import pwd
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from loadstone.machine.installed_programs import Fact, install_line, output_of
from loadstone.safety.errors import UserError
from loadstone.text.message import said

PLACES = ("/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt")
"""Where systems keep one folder a version: Debian's `15/bin`, Homebrew's `postgresql@17/bin`."""
PACKAGES = ("postgresql", "postgresql-server", "postgresql@17")
INSTALLED = install_line(*PACKAGES)
OTHER_USERS = ("postgres", "nobody")
FOLDER_FD = 9
"""The file descriptor by which a program of another user has its folder. A shell names none above."""


def find(program: str, folder: Path | None = None) -> Path | None:
    """A program of PostgreSQL: in `folder` or its `bin`, or else on PATH and in `PLACES`, the newest version first."""
    if folder is not None:
        places = [folder / "bin", folder]
    else:
        versions = [path for place in PLACES for path in Path(place).glob("*/bin") if (path / "initdb").exists()]
        places = sorted(versions, key=_version, reverse=True)
    paths = [shutil.which(program, path=str(place)) for place in places]
    if folder is None:
        paths.insert(0, shutil.which(program))
    return next((Path(path) for path in paths if path), None)


def _version(path: Path) -> int:
    digits = path.parent.name.rpartition("@")[2]
    return int(digits) if digits.isdecimal() else 0


def server_user() -> pwd.struct_passwd | None:
    """The user that the server runs as where we are root; None: as ourselves.

    Raises:
        UserError: this machine has no such user.
    """
    if os.geteuid() != 0:
        return None
    for name in OTHER_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise UserError(
        "a PostgreSQL does not run as root, and there is no user {other_users}; add one",
        other_users=" or ".join(OTHER_USERS),
    )


def reached_by(user: pwd.struct_passwd | None, folder: Path) -> str:
    """Where a program that runs by `as_user` finds the folder.

    Another user may not pass the folders above, which are root's alone: the program gets this one open instead.
    """
    return str(folder) if user is None else f"/proc/self/fd/{FOLDER_FD}"


def let_read(user: pwd.struct_passwd | None, path: Path) -> None:
    """Have that user read a file or folder of ours, whoever reaches it, and not write to it. Raises OSError."""
    if user is not None:
        os.chown(path, -1, user.pw_gid)
        path.chmod(0o750 if path.is_dir() else 0o640)


def as_user(user: pwd.struct_passwd | None, folder: Path, command: Sequence[str]) -> list[str]:
    """The command as that user, with none of root's rights, and with `folder` where `reached_by` says.

    Raises:
        UserError: `setpriv` is missing.
    """
    if user is None:
        return list(command)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise UserError(
            "a PostgreSQL does not run as root, and there is no setpriv to change to another user; install "
            "it (Debian: util-linux), or run loadstone as a user of your own"
        )
    rights = ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    # A change of user forgets that the process ends with its guard. PostgreSQL returns to the folder it is started in.
    opening = ["/bin/sh", "-c", f'cd / && exec "$@" {FOLDER_FD}< "$0"', str(folder)]
    return [*opening, setpriv, *ids, *rights, "--pdeathsig=KILL", *command]


def installed() -> Fact:
    """The PostgreSQL that would be started."""
    program = find("postgres")
    if program is None or find("initdb") is None:
        remedy = said("{installed}; or --server NAME=postgresql://...", installed=INSTALLED)
        return Fact("postgresql", said("not installed"), "warn", remedy)
    version = re.search(r"\d+(\.\d+)*", output_of(str(program), "--version") or "")
    return Fact("postgresql", f"{version[0] if version else 'installed'} ({program})", "ok")
