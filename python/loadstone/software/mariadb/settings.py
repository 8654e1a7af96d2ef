"""How a MariaDB of ours gets its settings and its user, and how it says why it ended."""

import re
from collections.abc import Mapping, Sequence

from loadstone.bounds.replies import shortened
from loadstone.deploy.provider import ConfigValue
from loadstone.deploy.settings_in_force import Spelling
from loadstone.software.sql.session import DATABASE


def canonical(name: str) -> str:
    """A setting's name as the server prints it: `innodb-flush-method` is `innodb_flush_method`."""
    return name.lower().replace("-", "_")


SPELLING = Spelling(
    true="ON",
    false="OFF",
    nothing="",
    units={unit: 1024**power for power, unit in enumerate("kmgtpe", start=1)},
    name=canonical,
)


def options_text(requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue]) -> str:
    """An option file: what the experiment requests, then what loadstone decides."""
    values: dict[str, ConfigValue] = {
        "skip_log_bin": True,
        "performance_schema": False,
        "character_set_server": "utf8mb4",
    }
    values |= {canonical(name): value for name, value in requested.items()}
    if values.get("log_bin") is True:
        values |= {"log_bin": "binlog", "server_id": 1}
    if values.get("log_bin") is False:
        del values["log_bin"]  # it would be taken for the name of a file
    if "log_bin" in values:
        del values["skip_log_bin"]
    lines = (f"{name} = {SPELLING.written(value)}" for name, value in (values | dict(ours)).items())
    return "\n".join(["[mariadbd]", *lines]) + "\n"


def init_text(host: str, password: str) -> str:
    """What the server runs first: our database, and a user that may log in from `host`. Holds the password."""
    user = f"'{DATABASE}'@'{host}'"
    return (
        f"CREATE OR REPLACE USER {user} IDENTIFIED BY '{password}';\n"
        f"GRANT ALL PRIVILEGES ON *.* TO {user};\n"
        f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4;\n"
    )


def errors_in(log: Sequence[str]) -> list[str]:
    """The errors of a log, without time, thread and program."""
    return [
        re.sub(r"^.*\[ERROR\]\s*(\S*mariadbd:\s*)?", "", line.strip()).rstrip(".") for line in log if "[ERROR]" in line
    ]


def why_it_ended(log: Sequence[str], more_room: str) -> str:
    """What a log says about an end during the start, for a person. `more_room`: what helps if the disk is full."""
    errors = errors_in(log)
    lines = [line.strip() for line in log if line.strip()]
    if re.search(r"No space left|\b[Ee]rr(or|code):? 28\b", "\n".join(lines)):
        return f"no room is left for its data; {more_room}"
    refused = next(
        (line for line in errors if re.search(r"unknown (variable|option)|[Uu]nknown suffix|setting value", line)), None
    )
    if refused is not None:
        return f"settings: {shortened(refused, 300)}; correct the name or the value"
    reported = [line for line in errors if line != "Aborting"]
    reported += [line for line in lines if line.startswith("ERROR")]  # of the statements that make its tables
    said = next(iter(reported), lines[-1] if lines else "nothing")
    return f"it ended while it started; its log: {shortened(said, 300)}"
