"""How a redis-server gets its settings, and how it says why it ended."""

import re
from collections.abc import Mapping, Sequence

from loadstone.deploy.provider import ConfigValue
from loadstone.deploy.settings_in_force import Spelling

SPELLING = Spelling(
    true="yes",
    false="no",
    nothing='""',
    units={"b": 1, "k": 10**3, "kb": 2**10, "m": 10**6, "mb": 2**20, "g": 10**9, "gb": 2**30},
    name=str.lower,
)


def config_text(
    requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue], modules: Sequence[object] = ()
) -> str:
    """A configuration file: what the experiment requests, then what loadstone decides."""
    values: dict[str, ConfigValue] = {"save": '""', "appendonly": "no"}
    values |= {name: SPELLING.written(value) for name, value in requested.items()}
    lines = [f"{name} {value}" for name, value in (values | dict(ours)).items()]
    return "\n".join([*lines, *(f'loadmodule "{path}"' for path in modules)]) + "\n"


def why_it_ended(log: Sequence[str]) -> str:
    """What a log says about an end during the start, for a person."""
    lines = [_message(line) for line in log if line.strip()]
    refused = re.search(r">>> '(.*)'(?:\n(.*))?", "\n".join(lines))
    if refused is not None:
        line, reason = refused[1], refused[2] or ""
        known = "" if "aborting" in reason or not reason else f" ({reason})"
        return f"settings: this Redis does not take '{line}'{known}; correct the name or the value"
    last = next((line for line in reversed(lines) if "exiting" not in line.lower()), "nothing")
    return f"it ended while it started; its log: {last[:300]}"


def _message(line: str) -> str:
    """A log line without process id, role and time."""
    return re.sub(r"^\d+:\w \d+ \w+ \d+ [\d:.]+ [#*.-] ", "", line.strip())
