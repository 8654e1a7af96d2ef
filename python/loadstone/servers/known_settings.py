"""What an experiment may set on a server that is started here: each software lists its settings by what may pass.

A rule of safety. A setting that stands in no list is never handed on unasked: it is refused where the server's version
is known, and asked about where a user's own program or image may know more settings than these lists.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from loadstone.text.problem import Problem
from loadstone.text.wording import nearest

Standing = Literal["passes", "asks", "unknown"]
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9 _.,:%+=-]*")
"""Numbers, sizes, words and lists of these. No part of a path or of a shell's command is written with them alone."""
_QUOTED = re.compile(r"""^(["'])([^"']*)\1$""")
_SWITCH = re.compile(r"yes|no|on|off|true|false|0|1|", re.IGNORECASE)


@dataclass(frozen=True)
class KnownSettings:
    """The settings of one software, by their whole names as the server prints them."""

    software: str
    """Its name for people."""
    made_from: tuple[str, ...]
    """Beginnings of the versions whose own lists these are; the tests compare them."""
    canonical: Callable[[str], str]
    """A setting's name as the server prints it."""
    name_form: re.Pattern[str]
    """What a name looks like; no other text reaches a configuration."""
    unwritable: re.Pattern[str]
    """What no value may hold, because the configuration would end there or mean something else."""
    harmless: frozenset[str]
    """They pass without a question where the value is a number, a size, a switch or a word."""
    switches: frozenset[str]
    """They pass without a question as `yes` or `no`; another value of them is a file's name, and is asked about."""
    asks: frozenset[str]
    """They reach files, programs, logs of the machine or addresses: a user is asked."""
    refused: frozenset[str]
    """Loadstone decides them, or they would make another kind of server."""
    refused_beginnings: tuple[str, ...] = ()
    """Beginnings of names that are refused, whatever follows."""
    prefixes: tuple[str, ...] = ()
    """What the server takes before a name; and then it takes the beginning of a name for the whole one, too."""
    names: frozenset[str] = field(init=False)
    """All that stand in a list."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.harmless | self.switches | self.asks | self.refused)

    def require(self, name: str, value: object, *, only_known: bool = False) -> None:
        """Return if a setting may be handed to a server of ours, after consent where `standing` says so.

        Args:
            name: as the experiment writes it.
            value: as the experiment writes it.
            only_known: whether a setting that stands in no list is refused: the server's version is one of `made_from`.

        Raises:
            ValueError: it may not; with the reason and the remedy.
        """
        plain = self.canonical(name)
        whole = plain if plain in self.names else self._whole_name(plain)
        if whole in self.refused or plain.startswith(self.refused_beginnings):
            raise Problem(
                "'{name}' is decided by loadstone; leave it out, or give a server of your own by URL", name=name
            )
        if not self.name_form.fullmatch(name) or self.unwritable.search(str(value)):
            raise Problem(
                "'{name}: {value!r}' is not a line of a {software} configuration",
                name=name,
                value=value,
                software=self.software,
            )
        if whole == plain:
            return
        if whole is not None:
            raise Problem(
                "'{name}' is not a whole name of a {software} setting; write '{whole}' if you mean that",
                name=name,
                software=self.software,
                whole=whole,
            )
        if only_known:
            raise Problem(
                "'{name}' is not a {software} setting that loadstone knows; {near}correct it, or leave it out",
                name=name,
                software=self.software,
                near=nearest(plain, self.names),
            )

    def standing(self, name: str, value: object) -> Standing:
        """Return whether a setting that `require` took passes without a question."""
        plain, text = self.canonical(name), _QUOTED.sub(r"\2", str(value).strip())
        if plain in self.switches:
            return "passes" if _SWITCH.fullmatch(text) else "asks"
        if plain in self.harmless:
            return "passes" if _PLAIN_VALUE.fullmatch(text) else "asks"
        return "asks" if plain in self.names else "unknown"

    def _whole_name(self, plain: str) -> str | None:
        """Return the known name that the server could take this one for, None if there is none.

        It is the nearest one where a prefix was written before a name that no list has.
        """
        if not self.prefixes:
            return None
        forms = [plain]
        while (prefix := next((one for one in self.prefixes if forms[-1].startswith(one)), None)) is not None:
            forms.append(forms[-1].removeprefix(prefix))
        whole = next((form for form in forms if form in self.names), None)
        begun = [known for known in self.names if known.startswith(tuple(filter(None, forms)))]
        return (
            whole
            or min(begun, key=lambda known: (len(known), known), default=None)
            or (forms[-1] if len(forms) > 1 else None)
        )


def names_of(text: str) -> frozenset[str]:
    """Return the names in a text, with blanks between."""
    return frozenset(text.split())
