"""Which memcached this machine has, and for `loadstone doctor`."""

import re
import shutil
from pathlib import Path

from loadstone.deploy.fact import Fact
from loadstone.deploy.program_output import output_of

PROGRAM = "memcached"
OTHER_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
HOW_TO_GET = (
    "install it (Debian: apt-get install memcached; macOS: brew install memcached), name it with 'binary', or give a "
    "server by URL (--server NAME=memcached://HOST:PORT)"
)
LEAST = (1, 6, 12)
"""The version from which on the meta commands are as loadstone writes them."""


def find(binary: str | None = None) -> Path | None:
    """The program: `binary`, or else on PATH and where systems keep it."""
    places = [None, *OTHER_PLACES] if binary is None else [None]
    found = (shutil.which(binary or PROGRAM, path=place) for place in places)
    return next((Path(path) for path in found if path), None)


def version_of(program: Path) -> str | None:
    """Its version; None where it does not run, or says none."""
    found = re.search(r"\d+(\.\d+)+", output_of(str(program), "--version") or "")
    return found[0] if found else None


def is_too_old(version: str) -> bool:
    """Whether a version has no meta commands, or others."""
    return tuple(int(part) for part in version.split(".")[:3]) < LEAST


def server() -> Fact:
    """The memcached that would be started."""
    found = find()
    if found is None:
        return Fact(PROGRAM, "not installed", "warn", HOW_TO_GET)
    version = version_of(found)
    if version is not None and is_too_old(version):
        least = ".".join(map(str, LEAST))
        return Fact(PROGRAM, f"{version} ({found})", "warn", f"it is too old: install {least} or newer")
    return Fact(PROGRAM, f"{version or 'installed'} ({found})", "ok")
