"""The user's own experiments: YAML files of one folder, by their names, and the editor's way to write one."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException

from loadstone.experiment.spec.built_in import question_in
from loadstone.experiment.spec.loading import LARGEST_BYTES
from loadstone.safety.bounds.folder_files import open_file, replace_file
from loadstone.safety.errors import UserError
from loadstone.text.language import _, translatable

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.ya?ml")
SHOWN_MAX = 200
HEAD_MAX = 65_536
"""Characters in which a file must say what it asks."""


@dataclass(frozen=True)
class OwnFile:
    """A file of the folder that is an experiment."""

    name: str
    question: str


def own_files(folder: Path) -> list[OwnFile]:
    """The experiments of a folder; other YAML files, links and what is too large are left out."""
    found = []
    try:
        names = sorted(one.name for one in os.scandir(folder) if NAME.fullmatch(one.name))
    except OSError:
        return []
    for name in names[:SHOWN_MAX]:
        try:
            question = question_in(read_own(folder, name)[:HEAD_MAX])
        except (UserError, HTTPException):
            continue
        if question:
            found.append(OwnFile(name, question))
    return found


def own_path(folder: Path, name: str) -> Path:
    """Where the file of this name stands: it must be one of the folder's. Raises HTTPException."""
    if NAME.fullmatch(name) is None or all(one.name != name for one in folder.iterdir()):
        raise HTTPException(404, _("There is no experiment of this name here."))
    return folder / name


def read_own(folder: Path, name: str) -> str:
    """The text of a file. Raises UserError, HTTPException."""
    path = own_path(folder, name)
    try:
        with os.fdopen(open_file(path), "rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        if len(text) > LARGEST_BYTES:
            raise UserError("{name}: is larger than 1 MB", name=name)
        return text.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError("{name}: {error}", name=name, error=error) from None


def text_there(folder: Path, name: str) -> str | None:
    """The text of a file that would be written over; None where there is none that a page could show."""
    try:
        return read_own(folder, name)
    except (UserError, HTTPException):
        return None


def version_of(text: str) -> str:
    """Tells a text from what it was before."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_own(folder: Path, name: str, text: str, *, over: bool) -> None:
    """Write a file, whole or not at all; one that is there only where the user says so. Raises UserError."""
    if NAME.fullmatch(name) is None:
        wrong = translatable("{name}: write a name of letters, digits, dots and dashes that ends in .yaml")
        raise UserError(wrong, name=name[:80])
    if not over and os.path.lexists(folder / name):
        raise UserError("{name}: is there already; save it by another name, or over it", name=name)
    try:
        replace_file(folder / name, text.encode())
    except OSError as error:
        raise UserError("{name}: {error}", name=name, error=error) from None
