"""Which fleet a user named: `local:4`, `ssh:HOST,HOST`, `ssh:@FILE` or `tls://HOST:PORT`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.safety.errors import UserError

AGENTS_MAX = 1024
"""More than one command follows; see docs/fleet.md."""
PORT = 8786
"""Port of the scheduler, where none is named."""
FORMS = "local:4, ssh:HOST,HOST, ssh:@FILE or tls://HOST:PORT"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_HOST = re.compile(
    rf"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?(?P<host>{_NAME}|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d+))?"
)


@dataclass(frozen=True)
class SshHost:
    """A machine that is logged in to."""

    host: str
    """Its name or address; one of version 6 without brackets."""
    user: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class FleetSpec:
    """A fleet as it was named."""

    word: str
    """As the user wrote it."""
    kind: Literal["local", "ssh", "tls"]
    agents: int | None = None
    """How many are started; of a cluster that is there how many are waited for, None: those that are there."""
    hosts: tuple[SshHost, ...] = ()
    """Hosts of `ssh`, an agent each; one that is named twice has two."""
    address: tuple[str, int] | None = None
    """Host and port of the scheduler of `tls`."""


def read_fleet(text: str, option: str = "--fleet") -> FleetSpec:
    """The fleet that a word means; a file of hosts is read. Raises UserError, which names the option and the word."""
    kind, colon, rest = text.partition(":")
    if text.startswith("tls://"):
        address, asks, asked = text.removeprefix("tls://").partition("?")
        agents = _agents(asked, f"{option} {text}") if asks else None
        return FleetSpec(text, "tls", agents, address=_address(address, f"{option} {text}"))
    if colon and kind == "local":
        agents = int(rest) if rest.isascii() and rest.isdecimal() and len(rest) < 6 else 0
        if not 1 <= agents <= AGENTS_MAX:
            raise UserError(
                "{option} {text}: write a number of agents from 1 to {agents_max}, e.g. local:4",
                option=option,
                text=text,
                agents_max=AGENTS_MAX,
            )
        return FleetSpec(text, "local", agents=agents)
    if colon and kind == "ssh" and not rest.startswith("//"):
        hosts = _of_file(rest[1:], f"{option} {text}") if rest.startswith("@") else _listed(rest, f"{option} {text}")
        return FleetSpec(text, "ssh", agents=len(hosts), hosts=hosts)
    raise UserError("{option} {text}: not a fleet; write {forms}", option=option, text=text, forms=FORMS)


def _agents(text: str, option: str) -> int:
    """The number in `agents=4`."""
    name, _, number = text.partition("=")
    agents = int(number) if number.isascii() and number.isdecimal() and len(number) < 6 else 0
    if name != "agents" or not 1 <= agents <= AGENTS_MAX:
        raise UserError(
            "{option}: write a number of agents from 1 to {agents_max}, e.g. tls://HOST:PORT?agents=4",
            option=option,
            agents_max=AGENTS_MAX,
        )
    return agents


def _address(text: str, option: str) -> tuple[str, int]:
    read = _HOST.fullmatch(text)
    if read is None or read["user"] is not None:
        raise UserError("{option}: not the address of a scheduler; write tls://HOST:PORT", option=option)
    return read["host"].strip("[]"), PORT if read["port"] is None else _port(read["port"], option)


def _port(text: str, option: str) -> int:
    port = int(text) if len(text) < 6 else 0
    if not 1 <= port <= 65535:
        raise UserError("{option}: {text} is not a port; write a number from 1 to 65535", option=option, text=text)
    return port


def _of_file(name: str, option: str) -> tuple[SshHost, ...]:
    """A host a line; what follows a `#`, and empty lines, are left out."""
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        if isinstance(error, RuntimeError):
            why = "no such user's home"
        raise UserError(
            "{option}: {name} cannot be read ({why}); name a file with a host on each line",
            option=option,
            name=name,
            why=why,
        ) from None
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    named = [line for line in lines if line]
    if not named:
        raise UserError("{option}: {name} names no host; write one on each line", option=option, name=name)
    return _hosts(named, option)


def _listed(text: str, option: str) -> tuple[SshHost, ...]:
    return _hosts([word.strip() for word in text.split(",")], option)


def _hosts(words: list[str], option: str) -> tuple[SshHost, ...]:
    if len(words) > AGENTS_MAX:
        raise UserError(
            "{option}: {words} hosts; name at most {agents_max}", option=option, words=len(words), agents_max=AGENTS_MAX
        )
    hosts = []
    for word in words:
        read = _HOST.fullmatch(word)
        if read is None:
            raise UserError(
                "{option}: '{word}' is not a host; write HOST, USER@HOST or USER@HOST:PORT",
                option=option,
                word=word[:80],
            )
        port = None if read["port"] is None else _port(read["port"], option)
        hosts.append(SshHost(read["host"].strip("[]"), read["user"], port))
    return tuple(hosts)
