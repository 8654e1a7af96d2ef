"""memcached's settings: options of its command line, and how they are read back by `stats settings`."""

from collections.abc import Iterable, Mapping, Sequence

from loadstone.safety.bounds.replies import shortened, whole_number
from loadstone.servers.memcached.known_settings import OPTIONS, SWITCH
from loadstone.servers.server import ConfigValue
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

SPELLING = SettingNotation(
    true="yes",
    false="no",
    nothing="",
    units={"k": 2**10, "m": 2**20, "g": 2**30, "kb": 2**10, "mb": 2**20, "gb": 2**30},
    name=lambda name: name.lower().replace("_", "-"),
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
            raise Problem(
                "'{name}' is no setting of memcached that is handed on; there are: {known}", name=name, known=known
            )
        if not option.form.fullmatch(SPELLING.written(value)):
            raise Problem(
                "'{name}: {value}' must be {what}", name=name, value=SPELLING.written(value)[:40], what=option.what
            )
    return settings


def arguments_of(settings: Mapping[str, ConfigValue]) -> list[str]:
    """The settings as arguments."""
    written = {name: SPELLING.written(value) for name, value in settings.items()}
    switches = [f"--{name}" for name, value in written.items() if OPTIONS[name].form is SWITCH and value == "yes"]
    return [*switches, *(f"--{name}={value}" for name, value in written.items() if OPTIONS[name].form is not SWITCH)]


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


def why_it_ended(log: Sequence[str]) -> AnyText:
    """What it printed about an end during the start, for a person."""
    lines = [line.strip() for line in log if line.strip()]
    last_line = next((line for line in reversed(lines) if not line.lower().startswith("usage")), "nothing")
    return said("it ended while it started, and said: {line}; correct the settings", line=shortened(last_line, 300))
