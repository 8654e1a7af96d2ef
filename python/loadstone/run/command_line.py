"""The words of this command line: how they are recorded, and whether a run's folder keeps them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REDACTED

SWITCHES = "3q"
"""The letters of options without a value, which may stand before the `a` of a password, as in `-qaPASSWORD`."""
_PASSWORD = re.compile(rf"(?P<head>-[{SWITCHES}]*a)(?P<value>.*)", re.DOTALL)


def without_password(arguments: Sequence[str]) -> tuple[str, ...]:
    """The arguments as they may be recorded: without the value of `-a`, beside it or attached to it."""
    kept: list[str] = []
    awaited = False
    for word in arguments:
        here = _PASSWORD.fullmatch(word)
        if awaited:
            kept.append(REDACTED)
        elif here is not None:
            kept.append(f"{here['head']}{REDACTED}" if here["value"] else word)
        else:
            kept.append(word)
        awaited = not awaited and here is not None and not here["value"]
    return tuple(kept)


@dataclass(frozen=True)
class _OfFolder:
    """What there is to know of a command line that a run's folder keeps."""

    trusted: bool
    files_sent: tuple[str, ...]


_OF_FOLDER: list[_OfFolder] = []
"""Options of the run's folder that is resumed; empty: the user typed the command line."""


def words_are_of_folder(*, trusted: bool, files_sent: Sequence[str] = ()) -> None:
    """From now on the command line is one that a run's folder keeps.

    Args:
        trusted: the user says that it may be run.
        files_sent: files whose text its options put into the load.

    Raises:
        UserError: it is one already, and so leads to itself.
    """
    if _OF_FOLDER:
        raise UserError("--resume: the command in the folder's environment.json names no experiment; name it, too")
    _OF_FOLDER.append(_OfFolder(trusted, tuple(files_sent)))


def are_of_folder() -> bool:
    """Whether a run's folder keeps them, and so nobody typed them."""
    return bool(_OF_FOLDER)


def folder_is_trusted() -> bool:
    """Whether the user says of a folder's words that they may be run."""
    return any(one.trusted for one in _OF_FOLDER)


def files_of_folder() -> tuple[str, ...]:
    """Files whose text a folder's words put into the load."""
    return tuple(file for one in _OF_FOLDER for file in one.files_sent)
