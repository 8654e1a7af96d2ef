"""Settings of a redis-server: which are an experiment's, how they are written, what a server says of a wrong one."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator

from loadstone.servers.redis.known_settings import KNOWN
from loadstone.servers.server import ConfigValue
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.text.message import AnyText, said

SPELLING = SettingNotation(
    true="yes",
    false="no",
    nothing='""',
    units={"b": 1, "k": 10**3, "kb": 2**10, "m": 10**6, "mb": 2**20, "g": 10**9, "gb": 2**30},
    name=str.lower,
)
READ_BACK = (
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-min-size",
    "auto-aof-rewrite-percentage",
    "databases",
    "hz",
    "io-threads",
    "latency-monitor-threshold",
    "loglevel",
    "maxclients",
    "maxmemory",
    "maxmemory-policy",
    "no-appendfsync-on-rewrite",
    "save",
    "slowlog-log-slower-than",
)
"""Settings that change what a measurement means: read back from every server that tells them."""


def check_settings(settings: Mapping[str, ConfigValue], *, only_known: bool = False) -> Mapping[str, ConfigValue]:
    """Return the settings, if each can be handed to a server of ours (`KnownSettings.require`). Raises ValueError."""
    for name, value in settings.items():
        KNOWN.require(name, value, only_known=only_known)
    return settings


def check_known(settings: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """Return the settings, if each stands in our lists: of an embedded server. Raises ValueError."""
    return check_settings(settings, only_known=True)


Settings = Annotated[dict[str, ConfigValue], AfterValidator(check_settings)]
"""Those of an experiment, for a server of ours whose version is not known before it runs."""
EmbeddedServerSettings = Annotated[dict[str, ConfigValue], AfterValidator(check_known)]
"""Settings of a server out of a package, whose settings are known."""


def config_text(
    requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue], modules: Sequence[object] = ()
) -> str:
    """A configuration file: what the experiment requests, then what loadstone decides."""
    values: dict[str, ConfigValue] = {"save": '""', "appendonly": "no"}
    values |= {name: SPELLING.written(value) for name, value in requested.items()}
    lines = [f"{name} {value}" for name, value in (values | dict(ours)).items()]
    return "\n".join([*lines, *(f'loadmodule "{path}"' for path in modules)]) + "\n"


_OF_A_SNAPSHOT = ("[info]", "[additional info]")
"""How lines begin that stand behind what is wrong with a snapshot, and name its keys."""


def why_it_ended(log: Sequence[str]) -> AnyText:
    """What a log says about an end during the start, for a person."""
    lines = [_message(line) for line in log if line.strip() and not line.startswith(_OF_A_SNAPSHOT)]
    refused = re.search(r">>> '(.*)'(?:\n(.*))?", "\n".join(lines))
    if refused is not None:
        line, reason = refused[1], refused[2] or ""
        hint = "" if "aborting" in reason or not reason else f" ({reason})"
        return said(
            "settings: this Redis does not take '{line}'{hint}; correct the name or the value", line=line, hint=hint
        )
    last = next((line for line in reversed(lines) if "exiting" not in line.lower()), "nothing")
    return said("it ended while it started; its log: {log}", log=last[:300])


def _message(line: str) -> str:
    """A log line without process id, role and time."""
    return re.sub(r"^\d+:\w \d+ \w+ \d+ [\d:.]+ [#*.-] ", "", line.strip())
