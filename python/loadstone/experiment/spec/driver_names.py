"""The driver that a word of an experiment means: the native engine, or a client library's program with its options."""

import re
from dataclasses import dataclass
from pathlib import Path

from loadstone.safety.bounds.files import exists
from loadstone.text.message import said
from loadstone.text.problem import Problem
from loadstone.text.wording import listed, nearest, shown

NATIVE = "native"
MANIFEST = "driver.yaml"
VERSION = "version"
"""The option that every driver has whose build says how: another version of the library."""
_FOLDER = Path(__file__).parents[2] / "clients"
"""Package data; in a checkout a link to the repository's `clients/`."""
_OPTIONS = re.compile(r"(?P<place>.+?)(?::(?P<options>[a-z][a-z0-9_]*=[^,=]*(?:,[a-z][a-z0-9_]*=[^,=]*)*))?", re.DOTALL)


@dataclass(frozen=True)
class DriverWord:
    """`NAME`, `PATH`, `NAME:option=value,option=value`."""

    place: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, word: str) -> "DriverWord":
        """A word taken apart."""
        match = _OPTIONS.fullmatch(word)
        written = match["options"] if match is not None else None
        options = tuple((one.split("=")[0], one.split("=")[1]) for one in written.split(",")) if written else ()
        return cls(match["place"] if match is not None else word, options)

    def __str__(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        return f"{self.place}:{options}" if options else self.place


def names() -> list[str]:
    """The names of the built-in drivers that are programs, sorted."""
    return sorted(path.parent.name for path in _FOLDER.glob(f"*/{MANIFEST}"))


def driver_path(place: str, folder: Path) -> Path:
    """The built-in driver of this name, or the file or folder at this path, which counts from `folder`.

    Raises:
        ValueError: there is none; with the nearest name.
    """
    if place in names():
        return _FOLDER / place
    path = folder / place
    if exists(path) and (path.is_file() or (path / MANIFEST).is_file()):
        return path.absolute()
    problem = (
        said("folder '{path}' has no {manifest}", path=path, manifest=MANIFEST)
        if exists(path) and path.is_dir()
        else said("{place} is no driver", place=shown(place))
    )
    known = [NATIVE, *names()]
    raise Problem(
        "{problem}; {place}drivers are: {known}; or give the path of a {manifest}",
        problem=problem,
        place=nearest(place, known),
        known=listed(known),
        manifest=MANIFEST,
    )


def resolved(word: str, folder: Path) -> str:
    """The word with an absolute path where it is one; names stay.

    Raises:
        ValueError: it means no driver, or `native` with options.
    """
    meant = DriverWord.of(word)
    if meant.place != NATIVE:
        path = driver_path(meant.place, folder)
        return word if meant.place in names() else str(DriverWord(str(path), meant.options))
    if meant.options:
        raise Problem("'{word}': the native engine has no options; leave them out", word=word)
    return NATIVE
