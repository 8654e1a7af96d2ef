"""How a PostgreSQL of ours gets its settings, how it prints them, and how it says why it ended."""

import re
from collections.abc import Mapping, Sequence

from loadstone.deploy.provider import ConfigValue
from loadstone.deploy.settings_in_force import Spelling

BYTES = {"b": 1} | {f"{unit}b": 1024**power for power, unit in enumerate("kmgt", start=1)}
MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}


def canonical(name: str) -> str:
    """A setting's name as `pg_settings` has it; they are compared without regard to capitals."""
    return name.lower()


SPELLING = Spelling(true="on", false="off", nothing="''", units=BYTES | MICROSECONDS, name=canonical)
ERROR = re.compile(r"\b(?:FATAL|ERROR|PANIC):\s+(.*)")
REFUSED = re.compile(r"(?:unrecognized configuration parameter|invalid value for parameter|syntax error in file).*")
ANY_LINE = re.compile(r"^(?:[\d.: -]+\w+ \[\d+\] )?(?:\w+:\s+)?")


def options_text(requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue]) -> str:
    """A `postgresql.conf`: what the experiment sets, then what loadstone decides."""
    values = {canonical(name): value for name, value in requested.items()} | dict(ours)
    return "".join(f"{name} = {_quoted(SPELLING.written(value))}\n" for name, value in values.items())


def _quoted(value: str) -> str:
    bare = "" if value == SPELLING.nothing else value
    return "'" + bare.replace("\\", "\\\\").replace("'", "''") + "'"


def without_unit(requested: Mapping[str, ConfigValue], units: Mapping[str, str]) -> list[str]:
    """Settings whose number has no unit though the server has one for it: it would be one of pages, kB or minutes."""
    return [
        name
        for name, value in requested.items()
        if units.get(canonical(name)) and re.fullmatch(r"\d*\.?\d+", str(value)) and float(value) != 0
    ]


def port_is_taken(log: Sequence[str]) -> bool:
    """Whether it ended because another listens on its port."""
    return any("Address already in use" in line for line in log)


def why_it_ended(log: Sequence[str], more_room: str) -> str:
    """What a log says about an end during the start, for a person. `more_room`: what helps if the disk is full."""
    text = "\n".join(log)
    if re.search(r"No space left", text):
        return f"no room is left for its data; {more_room}"
    refused = REFUSED.search(text)
    if refused is not None:
        return f"settings: {refused[0][:300]}; correct the name or the value"
    errors = ERROR.findall(text)
    lines = [ANY_LINE.sub("", line.strip()) for line in log if line.strip()]
    reported = next(iter(errors), lines[-1] if lines else "nothing").rstrip(".")
    return f"it ended while it started; its log: {reported[:300]}"
