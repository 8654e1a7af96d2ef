"""Compares a server's settings with the requested ones, however either writes them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from loadstone.text.message import AnyText, said

SWITCH = {"yes": "1", "on": "1", "true": "1", "no": "0", "off": "0", "false": "0"}
AMOUNT = re.compile(r"([+-]?\d+(?:\.\d+)?)([a-z]*)")


@dataclass(frozen=True)
class SettingNotation:
    """Notation in which one kind of server writes its settings."""

    true: str
    false: str
    nothing: str
    """An empty value."""
    units: Mapping[str, int]
    """What may follow a number, in small letters -> what the number is multiplied by."""
    name: Callable[[str], str]
    """A setting's name as the server prints it."""

    def written(self, value: object) -> str:
        """A value as the server reads it."""
        if isinstance(value, bool):
            return self.true if value else self.false
        return str(value) or self.nothing

    def meaning(self, value: object) -> str | Decimal:
        """Equal for all that means the same to the server: `64mb` and `67108864`, `yes` and `on`, 75 and `75.000`."""
        text = " ".join(self.written(value).split()).strip("\"'").lower()
        amount = AMOUNT.fullmatch(SWITCH.get(text, text))
        if amount is None or (amount[2] and amount[2] not in self.units):
            return text
        return Decimal(amount[1]) * self.units.get(amount[2], 1)


def mismatched(settings: Mapping[str, object], got: Mapping[str, str], spelling: SettingNotation) -> dict[str, str]:
    """Settings that the server reports otherwise than requested: name -> the requested value, as it is written.

    `got`: the settings by the names of the request, or those that the server prints. What it does not report is
    left out.
    """
    return {name: requested for name, _, requested in _mismatched(settings, got, spelling)}


def differences(settings: Mapping[str, object], got: Mapping[str, str], spelling: SettingNotation) -> list[AnyText]:
    """Return the differences for people: a line each, with what the server reports."""
    return [
        said("{name} is {reported}, not {requested} as requested", name=name, reported=reported, requested=requested)
        for name, reported, requested in _mismatched(settings, got, spelling)
    ]


def _mismatched(
    settings: Mapping[str, object], got: Mapping[str, str], spelling: SettingNotation
) -> Iterator[tuple[str, str, str]]:
    for name, value in settings.items():
        reported = got.get(name, got.get(spelling.name(name)))
        if reported is not None and spelling.meaning(value) != spelling.meaning(reported):
            yield name, reported, spelling.written(value)
