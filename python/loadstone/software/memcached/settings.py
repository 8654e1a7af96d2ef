"""memcached's settings: options of its command line, and how they are read back by `stats settings`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.bounds.numbers import whole_number
from loadstone.bounds.replies import shortened
from loadstone.deploy.provider import ConfigValue
from loadstone.deploy.settings_in_force import Spelling
from loadstone.language import said
from loadstone.software.known_settings import KnownSettings

SPELLING = Spelling(
    true="yes",
    false="no",
    nothing="",
    units={"k": 2**10, "m": 2**20, "g": 2**30, "kb": 2**10, "mb": 2**20, "gb": 2**30},
    name=lambda name: name.lower().replace("_", "-"),
)
MEBIBYTE = 2**20
_WHOLE = re.compile(r"[0-9]{1,12}")
_SIZE = re.compile(r"[0-9]{1,12}[kKmM]?")
_FACTOR = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")
_SWITCH = re.compile(r"yes|no")


@dataclass(frozen=True)
class Option:
    """One option that an experiment may set."""

    form: re.Pattern[str]
    """What its value may be, as it is written on the command line."""
    what: str
    """The same for people."""
    reported: str
    """Its name in `stats settings`."""
    letter: str = ""
    """As people know it."""
    divisor: int = 1
    """By which the reported value is divided."""
    inverse: bool = False
    """Whether the server reports what the option turns off."""


OPTIONS: Mapping[str, Option] = {
    "memory-limit": Option(_WHOLE, said("a whole number of MiB"), "maxbytes", "-m", divisor=MEBIBYTE),
    "threads": Option(_WHOLE, said("a whole number"), "num_threads", "-t"),
    "conn-limit": Option(_WHOLE, said("a whole number"), "maxconns", "-c"),
    "max-item-size": Option(_SIZE, said("a size as 2m or 512k"), "item_size_max", "-I"),
    "disable-evictions": Option(_SWITCH, said("yes or no"), "evictions", "-M", inverse=True),
    "disable-cas": Option(_SWITCH, said("yes or no"), "cas_enabled", "-C", inverse=True),
    "max-reqs-per-event": Option(_WHOLE, said("a whole number"), "reqs_per_event", "-R"),
    "listen-backlog": Option(_WHOLE, said("a whole number"), "tcp_backlog", "-b"),
    "slab-growth-factor": Option(_FACTOR, said("a number as 1.25"), "growth_factor", "-f"),
    "slab-min-size": Option(_WHOLE, said("a whole number of bytes"), "chunk_size", "-n"),
}
"""By the long names of memcached's command line: what is not here is refused."""
KNOWN = KnownSettings(
    software="memcached",
    made_from=("1.6.",),
    canonical=str,
    name_form=re.compile(r"[a-z-]+"),
    unwritable=re.compile(r"[\s\0]"),
    harmless=frozenset(OPTIONS),
    switches=frozenset(),
    asks=frozenset(),
    refused=frozenset(),
)
READ_BACK = ("memory-limit", "threads", "conn-limit", "max-item-size", "disable-evictions")
"""Settings that change what a measurement means."""


def check_settings(settings: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """The settings, if each can be handed to a server of ours.

    Raises:
        ValueError: one cannot; with the reason.
    """
    for name, value in settings.items():
        option = OPTIONS.get(name)
        if option is None:
            known = ", ".join(f"{known} ({option.letter})" for known, option in OPTIONS.items())
            raise ValueError(
                said(
                    "'{name}' is no setting of memcached that is handed on; there are: {known}", name=name, known=known
                )
            )
        if not option.form.fullmatch(SPELLING.written(value)):
            raise ValueError(
                said(
                    "'{name}: {value}' must be {what}", name=name, value=SPELLING.written(value)[:40], what=option.what
                )
            )
    return settings


def arguments_of(settings: Mapping[str, ConfigValue]) -> list[str]:
    """The settings as arguments."""
    written = {name: SPELLING.written(value) for name, value in settings.items()}
    switches = [f"--{name}" for name, value in written.items() if OPTIONS[name].form is _SWITCH and value == "yes"]
    return [*switches, *(f"--{name}={value}" for name, value in written.items() if OPTIONS[name].form is not _SWITCH)]


def reported(stats: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What `stats settings` says of options, in the options' own terms."""
    values: dict[str, str] = {}
    for name in names:
        option = OPTIONS.get(SPELLING.name(name))
        value = None if option is None else stats.get(option.reported)
        if option is None or value is None:
            continue
        if option.inverse:
            values[name] = "no" if value in ("on", "yes", "1") else "yes"
        else:
            number = whole_number(value)
            values[name] = value if option.divisor == 1 or number is None else str(number // option.divisor)
    return values


def why_it_ended(log: Sequence[str]) -> str:
    """What it printed about an end during the start, for a person."""
    lines = [line.strip() for line in log if line.strip()]
    last_line = next((line for line in reversed(lines) if not line.lower().startswith("usage")), "nothing")
    return said("it ended while it started, and said: {line}; correct the settings", line=shortened(last_line, 300))
