"""What an experiment or a manifest would do to this machine and to others: each class of them lists its own actions.

Nothing is started, connected to or looked up for it. Variables are named, never shown. What is written is what is
judged: references to variables are looked for where factors were filled in, so that none can be put together out of
two parts.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel

from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REDACTED, REFERENCE, hide_shown, hide_url, is_open, is_secret
from loadstone.safety.secrets.references import variables
from loadstone.safety.terminal import printable
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, Message, joined, said


class Kind(NamedTuple):
    """A kind of actions, as people read it."""

    many: str
    sentence: str


KINDS = {
    "starts": Kind(translatable("programs"), translatable("starts {what}")),
    "builds": Kind(translatable("build commands"), translatable("builds {what}")),
    "runs the image": Kind(translatable("images"), translatable("runs the image {what}")),
    "sets for a program": Kind(translatable("settings of programs"), translatable("sets for a program {what}")),
    "sets on a server": Kind(
        translatable("settings of servers that may reach files or others"), translatable("sets on a server {what}")
    ),
    "sends to a server": Kind(
        translatable("commands that may reach files or others"), translatable("sends to a server {what}")
    ),
    "sends the variable": Kind(translatable("variables"), translatable("sends the variable {what}")),
    "sends the file": Kind(translatable("files sent"), translatable("sends the file {what}")),
    "connects to": Kind(translatable("addresses"), translatable("connects to {what}")),
    "reads the file": Kind(translatable("files read"), translatable("reads the file {what}")),
    "starts its own": Kind(translatable("parts of loadstone's own"), translatable("starts its own {what}")),
    "configures": Kind(translatable("other settings of servers"), translatable("configures {what}")),
}
"""The most dangerous first."""
_OF_PASSWORDS = re.compile(r"[A-Za-z0-9_.,:=+/@%!^?#~*-]*")
"""What a password may be made of to be hidden: with other characters in it, a shell may read more than a word."""
_ONE_WORD = re.compile(r"[^\s\"'`$\\()<>|]*")
"""Text in which passwords are hidden. Of several words one that looks like a password may be an option of a runtime."""


@dataclass(frozen=True)
class PlannedAction:
    """One thing that a run does to this machine or to others."""

    kind: str
    """One of `KINDS`."""
    what: AnyText
    """On one line, without control characters; variables by their names."""
    asks: bool = False
    """Whether it is done for a stranger only after the user was asked."""
    typed: bool = False
    """Whether the user typed it on the command line."""
    at: tuple[object, ...] = ()
    """Where in the experiment it is written; empty: elsewhere, as in a manifest."""
    pins: tuple[Callable[[], str], ...] = field(default=(), compare=False)
    """Each pins one thing that the action rests on (`safety.bounds.pinned_files`), and returns its name and digest."""

    @property
    def line(self) -> str:
        """As people read it."""
        return f"{self.kind} {self.what}"

    @property
    def told(self) -> Message:
        """Return the action as a text that can be said in another language."""
        return said(KINDS[self.kind].sentence, what=self.what)

    @property
    def spoken(self) -> str:
        """Return the action in the language of who reads now."""
        return self.told.spoken()


@dataclass(frozen=True)
class FilePin:
    """What pins a file."""

    path: Path

    def __call__(self) -> str:
        """Raises UserError where it cannot be read."""
        try:
            return f"{self.path.absolute()} {pinned_files.pin_file(self.path)}"
        except OSError as error:
            raise UserError(
                "{path}: cannot be read ({strerror}); correct the path, or its permissions",
                path=self.path,
                strerror=error.strerror,
            ) from None


def pins_of(*paths: Path) -> tuple[FilePin, ...]:
    """What pins these files."""
    return tuple(map(FilePin, paths))


@dataclass(frozen=True)
class Destination:
    """Where something is sent."""

    where: AnyText
    outside: bool
    """Whether it leaves this machine, or goes to a program of the experiment's."""
    others: bool = False
    """Whether other users of the machine may get it: any may listen at loopback, and read the list of processes."""

    @property
    def asks(self) -> bool:
        """Whether nothing of the user's is sent there before they were asked."""
        return self.outside or self.others


@dataclass(frozen=True)
class Sending:
    """What is sent of the user's own: variables, secrets' files, and rows of files."""

    secret_files: Mapping[str, str] = field(default_factory=dict)
    """Name -> path, as `--secret-file` has them."""

    def variables(self, value: Any, to: Sequence[Destination], *at: object) -> Iterator[PlannedAction]:
        """Each reference to a variable or a secret's file in a text, at any depth; `at`: where it is written."""
        if isinstance(value, str):
            for found in REFERENCE.finditer(value):
                yield self.variable(f"{found['where']}:{found['name']}", to, *at)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.variables(key, to, *at, *(at and (str(key),)))
                yield from self.variables(item, to, *at, *(at and (str(key),)))
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from self.variables(item, to, *at, *(at and (index,)))

    def variable(self, reference: str, to: Sequence[Destination], *at: object) -> PlannedAction:
        """One of them, as `env:NAME` or `secret:NAME`."""
        where, _, name = reference.partition(":")
        what = printable(name)
        if where == "secret":
            file = self.secret_files.get(name)
            what += " of a secret's file" if file is None else f" (the secret's file {printable(file)})"
        sent = said("{what} to {to}", what=what, to=where_to(to))
        return PlannedAction("sends the variable", sent, any(one.asks for one in to), at=at)


def sent_to(name: str, what: str, *at: object) -> PlannedAction:
    """A command or request to the server or subject of this name that may reach files, programs or others."""
    return PlannedAction("sends to a server", f"{name}: {shown_text(what)}", asks=True, at=at)


def where_to(to: Sequence[Destination]) -> AnyText:
    """The destinations, each once."""
    return joined(", ", dict.fromkeys(one.where for one in to)) if to else said("nobody")


def shown_variable(name: str, value: str) -> str:
    """The value of a variable as it is shown. What a shell could run is shown whatever its variable is called."""
    if is_secret(name) and not is_open(value) and _OF_PASSWORDS.fullmatch(value):
        return REDACTED
    shown = hide_url(value)
    return shown if _ONE_WORD.fullmatch(REFERENCE.sub("", value)) and _hides_passwords(value, shown) else value


def _hides_passwords(value: str, shown: str) -> bool:
    """Whether all that is hidden of a text is made of what passwords are."""
    first, *parts = shown.split(REDACTED)
    at = len(first)
    for number, part in enumerate(parts, start=1):
        end = value.find(part, at) if number < len(parts) else len(value) - len(part)
        if end < at or not _OF_PASSWORDS.fullmatch(value, at, end):
            return False
        at = end + len(part)
    return True


def shown_address(url: str) -> str:
    """A URL without its login, and with the host that is connected to: an `@` behind that ends no login."""
    scheme, separator, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    _, colon, port = host.rpartition("@")[2].rpartition("]")[2].rpartition(":")
    if not separator or (colon and not port.isdecimal()):  # nobody connects there: it may be the half of a login
        return printable(hide_url(url))
    return printable(hide_url(f"{scheme}{separator}{host}") + hide_shown(rest[len(host) :]))


def names_variable_as_host(url: str) -> bool:
    """Whether a variable's value stands in the host of a URL as it is written: then nobody can tell where it leads."""
    rest = url.partition("://")[2] if "://" in url else url
    return REFERENCE.search(re.split(r"[/?#]", REFERENCE.sub("${env:X}", rest).rpartition("@")[2])[0]) is not None


def shown_file(path: Path) -> str:
    """A path, and where it leads if it is a link."""
    plain, real = path.absolute(), path.resolve()
    shown = shown_text(str(plain))
    return shown if str(real) == str(plain) else f"{shown} (which is {shown_text(str(real))})"


def shown_text(text: str) -> str:
    """A text in which references were filled in, with each variable's value replaced by its name again.

    On one line, every control or direction character escaped, so that nothing is hidden or repainted.
    """
    values = {os.environ.get(name, ""): name for name in variables()}
    for value in sorted(filter(None, values), key=len, reverse=True):
        text = text.replace(value, f"${{env:{values[value]}}}")
    return printable(text)


class ListsActions(BaseModel):
    """Base of what someone else may have written: it says of each field that nothing is done for it, or lists what is.

    A field that is in neither set may do anything, so a run asks about it: a new one is not let through.
    """

    HARMLESS: ClassVar[frozenset[str]] = frozenset()
    """Fields for which nothing is started, connected to, read or sent."""
    LISTED: ClassVar[frozenset[str]] = frozenset()
    """Fields whose actions are listed."""

    def unlisted(self, *at: object) -> Iterator[tuple[tuple[object, ...], Any]]:
        """The path and value of each field that was written and is in neither set, of this part and of those in it."""
        for name, value in self:
            if name in self.HARMLESS or name in self.LISTED or isinstance(value, ListsActions):
                yield from _unlisted_within(value, (*at, name))
            elif name in self.model_fields_set and value is not None:
                yield (*at, name), value


def _unlisted_within(value: Any, at: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], Any]]:
    if isinstance(value, ListsActions):
        yield from value.unlisted(*at)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _unlisted_within(item, (*at, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unlisted_within(item, (*at, index))


def fields(names: str) -> frozenset[str]:
    """The names in a text, with blanks between."""
    return frozenset(names.split())
