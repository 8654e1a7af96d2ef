"""The parts behind a service that the command line names: which process each is. Read before anything is started."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from loadstone.experiment.software import SOFTWARE, software_by_url
from loadstone.machine import process_table
from loadstone.machine.listening_process import is_another_users, is_of_this_network, listening_here
from loadstone.monitors.part_kind import WATCHED
from loadstone.programs.parts_behind import kind_of
from loadstone.programs.ready import PartBehind
from loadstone.run.command_line import folder_is_trusted
from loadstone.run.request import RunRequest
from loadstone.run_folder.facts import DRIVER, HOST, OTHERS, OWN
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.safety.secrets.references import learn_options, resolve
from loadstone.servers import registry
from loadstone.servers.urls import host_of, port_of
from loadstone.text.message import said

NONE = "none"
"""`--part none`: parts are not looked for."""
PORTS: Mapping[str, int] = {
    **{"redis": 6379, "rediss": 6379, "valkey": 6379, "valkeys": 6379, "memcached": 11211, "amqp": 5672},
    **{"mariadb": 3306, "mysql": 3306, "postgresql": 5432, "postgres": 5432, "http": 80, "https": 443},
    "mongodb": 27017,
}
"""Where the server of a URL listens that does not say it."""
ANSWER_S = 20.0
"""How long Docker or Podman may take to tell the process of a container."""
_TAKEN = (DRIVER, OWN, HOST, OTHERS)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_WRITE = said("write NAME=PROCESS: a process id, a systemd unit, a container, or the URL of a server on this machine")


@dataclass(frozen=True)
class NamedParts:
    """What the command line says of the parts behind a service."""

    parts: tuple[PartBehind, ...] = ()
    finds: bool = True
    """Whether others are looked for."""


def named_parts(options: RunRequest) -> NamedParts:
    """The parts that `--part` and `--server` name, each with its process. Of one name the last counts.

    Raises:
        UserError: one is not there, or is not one of this machine's; names the option, what was written and what helps.
    """
    learn_options((*options.parts, *options.asked))
    parts: dict[str, PartBehind] = {}
    for text in options.parts:
        if text != NONE:
            name, process = _read("--part", text)
            if "://" in process and options.of_folder and not folder_is_trusted():
                raise UserError(
                    "--part {name}={shown}: the folder's command looks its host up; add --trust if you mean that",
                    name=name,
                    shown=hide_url(process)[:80],
                )
            pid = _process(name, process)
            parts[name] = PartBehind(name, pid, kind_of(pid))
    for text in options.asked:
        name, url = _read("--server", text)
        parts[name] = _asked(options, name, url)
    return NamedParts(tuple(parts.values()), NONE not in options.parts)


def _read(option: str, text: str) -> tuple[str, str]:
    """The name, and what it is. Raises UserError, which shows no password."""
    name, equals, what = text.partition("=")
    if equals and name in _TAKEN:
        raise UserError(
            "{option} {name}=...: a part of loadstone's is called so; choose another name", option=option, name=name
        )
    if equals and _NAME.fullmatch(name) and what:
        return name, what
    if not equals or "://" in name:
        shown = hide_url(text)[:80]
        raise UserError("{option} {shown}: it has no name; {write}", option=option, shown=shown, write=_write(option))
    raise UserError(
        "{option} {name}=...: the name begins with a letter and has letters, digits, '_', '.' and '-'; {write}",
        option=option,
        name=name[:40],
        write=_write(option),
    )


def _write(option: str) -> str:
    return str(_WRITE) if option == "--part" else str(said("write NAME=redis://HOST:PORT"))


def _process(name: str, what: str) -> int:
    """The process that a word names. Raises UserError."""
    if what.isdecimal():
        pid = int(what) if len(what) < 10 else 0
        if pid and psutil.pid_exists(pid) and process_table.cpu_ns(pid) is not None:
            return pid
        raise UserError(
            "--part {name}={what}: there is no process {what}; name one that runs, as `ps` lists them",
            name=name,
            what=what[:20],
        )
    if "://" in what:
        return _process_at(name, what)
    found = _of_unit(what) or _of_container(what)
    if found is None:
        raise UserError(
            "--part {name}={what}: no systemd unit and no container of this name runs here; {write}",
            name=name,
            what=what[:60],
            write=_WRITE,
        )
    return _serving(found)


def _process_at(name: str, url: str) -> int:
    """The process of this machine that a URL leads to. Raises UserError, which shows no password."""
    shown = hide_url(url)[:80]
    try:
        at = urlsplit(resolve(url))
        host, port = host_of(at), port_of(at) or PORTS.get(at.scheme)
    except ValueError as error:
        raise UserError(
            "--part {name}={shown}: {error}; {write}", name=name, shown=shown, error=error, write=_WRITE
        ) from None
    if not host or port is None:
        raise UserError(
            "--part {name}={shown}: it names no host and port; {write}", name=name, shown=shown, write=_WRITE
        )
    if not is_of_this_network(host, port):
        raise UserError(
            "--part {name}={shown}: {host} is not this machine, and only what runs here can be watched; a Redis "
            "elsewhere tells its CPU itself: --server {name}=redis://HOST:PORT",
            name=name,
            shown=shown,
            host=host,
        )
    pid = listening_here(host, port)
    if pid is not None:
        return pid
    if is_another_users(host, port):
        raise UserError(
            "--part {name}={shown}: what listens there is another user's process, which may not be looked at; write "
            "--part {name}=PID, or run loadstone as root",
            name=name,
            shown=shown,
        )
    raise UserError(
        "--part {name}={shown}: nothing listens there; start it, or correct its URL", name=name, shown=shown
    )


def _of_unit(unit: str) -> int | None:
    """The first process of a systemd unit, by its control group: its name, with or without `.service`."""
    names = {unit, f"{unit}.service"}
    members = {pid for pid, path in _groups() if not names.isdisjoint(path.split("/"))}
    return _first(members)


def _of_container(name: str) -> int | None:
    """The first process of a container, as Docker or Podman tells it; None where neither knows it."""
    if name.startswith("-"):
        return None
    for program in ("docker", "podman"):
        if (path := shutil.which(program)) is None:
            continue
        command = [path, "container", "inspect", "--format", "{{.State.Pid}}", "--", name]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if told.returncode == 0 and told.stdout.strip().isdecimal() and int(told.stdout) > 0:
            return int(told.stdout)
    return None


def _groups() -> Iterator[tuple[int, str]]:
    """Process -> its control group, of all that can be seen."""
    for pid in process_table.pids():
        try:
            text = Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            continue
        yield from ((pid, line.partition("::")[2] or line.rpartition(":")[2]) for line in text.splitlines())


def _first(members: set[int]) -> int | None:
    """The process of these that none of them started; the oldest, where there are several."""
    roots = [pid for pid in members if (seen := process_table.process(pid)) is not None and seen.parent not in members]
    return min(roots, default=None)


def _serving(pid: int) -> int:
    """The one process of a tree that is a server of known software, as behind a shell that started it; else its first
    one."""
    tree = process_table.tree([pid])
    known = [one for one in tree if kind_of(one) != kind_of(None)]
    return _first({*known}) or pid


def _asked(options: RunRequest, name: str, url: str) -> PartBehind:
    """A Redis that is asked INFO. Raises UserError, which shows no password."""
    shown = hide_url(url)[:80]
    software = software_by_url(url)
    if url.partition("://")[0] not in software.schemes or not software.of_redis:
        raise UserError(
            "--server {name}={shown}: only a Redis is asked for its figures; write {form}, or watch its process: "
            "--part {name}=PROCESS",
            name=name,
            shown=shown,
            form=next(iter(SOFTWARE.values())).url_form,
        )
    if options.of_folder and not folder_is_trusted():
        raise UserError(
            "--server {name}={shown}: the folder's command connects to it; add --trust if you mean that",
            name=name,
            shown=shown,
        )
    try:
        control, pid = registry.watch_only(software.name, resolve(url))
    except LoadstoneError as error:
        raise UserError("--server {name}: {error}", name=name, error=error) from None
    return PartBehind(name, pid, f"{WATCHED}{software.name}", software.name, control)
