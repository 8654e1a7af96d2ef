"""Nothing connects before `run`: no command that only describes opens a connection or looks up a name.

The commands run in a process of their own under an audit hook (PEP 578), which sees each `connect` and each look-up of
a name that Python makes, whether it succeeds or not; and every address is a socket here that counts who comes.
"""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone.safety.bounds.describe_only import ConnectionForbidden, forbid_connections

CANARY = "c4nary-Zq81-never-sent"
WITNESS = """\
import json, sys

SEEN = []

def look(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.bind"):
        SEEN.append([event, repr(arguments[1:])])
    if event == "subprocess.Popen" or event in ("os.exec", "os.posix_spawn", "os.fork", "os.system"):
        SEEN.append([event, repr(arguments[:2])])

from loadstone.safety import terminal
from loadstone.cli import main as cli
from loadstone.safety.errors import LoadstoneError
from typer.exceptions import TyperException
terminal.prepare()
sys.addaudithook(look)
outcomes = []
for arguments in json.loads(sys.argv[1]):
    SEEN.clear()
    sys.argv = ["loadstone", *arguments]
    try:
        status, said = cli.whole()(arguments, prog_name="loadstone", standalone_mode=False) or 0, ""
    except (LoadstoneError, TyperException) as error:
        status, said = 2, str(error)
    except Exception as error:
        status, said = 70, repr(error)
    outcomes.append([arguments, status, said, list(SEEN)])
with open(OUT, "w") as file:
    json.dump(outcomes, file)
"""
EXPERIMENT = """\
name: stranger
question: What does a stranger's file make this machine do?
factors:
  size: {{levels: [10 B, 20 B]}}
tables:
  - {{name: t, title: T, vary: {{size: [10 B, 20 B]}}}}
servers:
  redis: {{kind: embedded}}
{servers}{subjects}workload:
  target: {target}
  protocol: {protocol}
  model: {{kind: closed, users: 2}}
  pool: {{connections: 2}}
  phases: {{measure_s: 100 ms}}
  documents: {{payload_bytes: "${{size}}"}}
  operations:
    - {operation}
"""
SET = '{name: set, commands: [{args: "SET {key} {value}", expect: ok}]}'
META = '{name: set, commands: [{args: "ms {key} {value}"}]}'
GET = "{name: get, requests: [{path: /, headers: {X-Token: '${env:CANARY}'}, expect: {status: 200}}]}"
LOGIN = "u:${env:CANARY}@"
HOSTS = ("127.0.0.1", "localhost")
"""A number, and a name that would be looked up."""
URLS = (
    ("url", "redis://{login}{host}:{port}"),
    ("url", "redis://{host}:{port}?password_env=CANARY"),
    ("url", "valkey://{login}{host}:{port}/3"),
    ("url", "rediss://{login}{host}:{port}?verify=no"),
    ("url", "redis://{login}{host}:{port}?cluster=yes"),
    ("url", "rediss://{login}{host}:{port}?cluster=yes&verify=no"),
    ("url", "redis://{login}{host}:{port}?cluster=yes&read_from=any"),
    ("url", "redis://{login}{host}:{port}?read_from=replica"),
    ("url", "redis+sentinel://{login}{host}:{port}/main?sentinel_password_env=CANARY"),
    ("url", "redis+sentinel://{host}:{port},{host}:{port}/main?read_from=any&sentinel_password_env=CANARY"),
    ("url", "rediss+sentinel://{login}{host}:{port}/main?verify=no&sentinel_password_env=CANARY"),
    ("url", "unix://{login}{socket}"),
    ("memcached-url", "memcached://{login}{host}:{port}"),
    ("mariadb-url", "mariadb://{login}{host}:{port}/loadstone_x"),
    ("mariadb-url", "mysql://{login}{host}:{port}/?ssl=yes&verify=no"),
    ("postgresql-url", "postgresql://{login}{host}:{port}/loadstone_x"),
    ("postgresql-url", "postgresql://{login}{host}:{port}/?sslmode=require"),
)
SUBJECT = """\
subjects:
  app: {{{how}}}
"""
MANIFEST = """\
name: app
build: {commands: ["sh -c 'touch built'"], inputs: [subject.yaml], output: built}
run: {command: "sh -c 'touch started'"}
environment: {TOKEN: "${env:CANARY}"}
"""
DRIVER = """\
name: theirs
title: Theirs
library: theirs
version: "1"
run: {command: "sh -c 'touch driven'", environment: {}}
can: {protocols: [resp2], models: [closed], distributions: [sequential, uniform], features: []}
"""


class Listening:
    """A TCP and a Unix socket that take connections, and count them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "listening.sock"
        self.came: list[bytes] = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(str(self.path))
        self._unix.listen()
        self.port = int(self._tcp.getsockname()[1])
        for one in (self._tcp, self._unix):
            threading.Thread(target=self._accept, args=(one,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            connected.settimeout(1.0)
            try:
                self.came.append(connected.recv(4096))
            except OSError:
                self.came.append(b"")
            connected.close()

    def close(self) -> None:
        for one in (self._tcp, self._unix):
            one.shutdown(socket.SHUT_RDWR)
            one.close()


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    found = Listening(tmp_path)
    yield found
    found.close()


Outcome = tuple[list[str], int, str, list[list[str]]]
"""A command's arguments, its status, what it said, and what it tried."""


@dataclass(frozen=True)
class Witnessed:
    """What became of all commands, which one process carried out."""

    folder: Path
    shown: list[Outcome]
    others: list[Outcome]
    doctor: list[Outcome]
    came: list[bytes]


@pytest.fixture(scope="module")
def all_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witnessed]:
    folder = tmp_path_factory.mktemp("witnessed")
    listening = Listening(folder)
    files = hostile_files(folder, listening)
    # Each file in one of its two lengths; each kind of URL in both, and its names, too, over all kinds.
    shows = [["show", file, *(["--quick"] if quick else [])] for file, quick in zip(files, by_turns(), strict=False)]
    others = other_commands(folder, files, listening)
    outcomes = witnessed(folder, [*shows, *others, ["doctor"]])
    yield Witnessed(folder, outcomes[: len(shows)], outcomes[len(shows) : -1], outcomes[-1:], listening.came)
    listening.close()


def by_turns() -> Iterator[bool]:
    """Of two files of a kind the first, of those of the next kind the second, and so on."""
    return itertools.cycle([True, False, False, True])


def other_commands(folder: Path, files: list[str], listening: Listening) -> list[list[str]]:
    file = files[4 * len(HOSTS)]
    assert "cluster=yes" in Path(file).read_text()
    url = f"redis=redis://u:${{env:CANARY}}@localhost:{listening.port}?cluster=yes"
    return [
        ["list"],
        ["init", "made.yaml"],
        ["show", "json-documents", "--server", url],
        ["show", "made.yaml", "--server", url],
        ["show", file, "--allow-any-command"],
        ["report", file],
        ["report", str(folder)],
    ]


def written(folder: Path, name: str, **parts: str) -> str:
    usual = {"servers": "", "subjects": "", "target": "redis", "protocol": "resp2", "operation": SET}
    file = folder / f"{name}.yaml"
    file.write_text(EXPERIMENT.format(**{**usual, **parts}))
    return str(file)


def hostile_files(folder: Path, listening: Listening) -> list[str]:
    """An experiment for each kind of server, URL and subject that there is."""
    files = []
    for number, (kind, form) in enumerate(URLS):
        for host in HOSTS:
            url = form.format(login=LOGIN, host=host, port=listening.port, socket=listening.path)
            target = "theirs" if kind in ("url", "memcached-url") else "redis"
            of_memcached = {"protocol": "memcached", "operation": META} if kind == "memcached-url" else {}
            servers = f"  theirs: {{kind: {kind}, url: '{url}'}}\n"
            files.append(written(folder, f"url-{number}-{host}", servers=servers, target=target, **of_memcached))
    for kind in ("embedded", "process", "valkey", "cluster", "replicated", "mariadb", "postgresql"):
        files.append(written(folder, f"own-{kind}", servers=f"  theirs: {{kind: {kind}}}\n"))
    image = f"127.0.0.1:{listening.port}/evil/redis:latest"
    files.append(written(folder, "container", servers=f"  theirs: {{kind: container, image: '{image}'}}\n"))
    manifest = folder / "subject.yaml"
    manifest.write_text(MANIFEST)
    over_http = {"target": "app", "protocol": "http1", "operation": GET}
    for host in HOSTS:
        for scheme in ("http", "https"):
            how = f"url: '{scheme}://{LOGIN}{host}:{listening.port}'"
            files.append(written(folder, f"{scheme}-{host}", subjects=SUBJECT.format(how=how), **over_http))
    files.append(written(folder, "manifest", subjects=SUBJECT.format(how=f"manifest: '{manifest}'"), **over_http))
    (folder / "driver.yaml").write_text(DRIVER)
    text = Path(written(folder, "with-driver")).read_text()
    (folder / "driver-file.yaml").write_text(
        text.replace("workload:\n", f"workload:\n  driver: '{folder}/driver.yaml'\n")
    )
    return [*files, str(folder / "driver-file.yaml")]


def witnessed(folder: Path, commands: list[list[str]]) -> list[Outcome]:
    """Each command in one process under the hook: its arguments, its status, what it said, and what it tried."""
    out = folder / "witnessed.json"
    program = WITNESS.replace("OUT", repr(str(out)))
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)],
        env={**os.environ, "CANARY": CANARY, "XDG_CACHE_HOME": str(folder / "cache")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert out.exists(), done.stderr
    assert CANARY not in done.stdout + done.stderr
    return [(arguments, status, said, seen) for arguments, status, said, seen in json.loads(out.read_text())]


@pytest.mark.fault(
    "`show` and other commands that describe", "they connect to nothing and resolve no name", area="foreign"
)
def test_show_connects_to_nothing_whatever_it_shows(all_commands: Witnessed) -> None:
    outcomes = all_commands.shown
    assert len(outcomes) > 40
    assert 20 <= sum("--quick" in arguments for arguments, _, _, _ in outcomes) <= len(outcomes) - 20
    assert [(arguments, seen) for arguments, _, _, seen in outcomes if seen] == []
    assert [(arguments, said) for arguments, status, said, _ in outcomes if status] == []
    assert all_commands.came == []
    assert not [name for name in ("built", "started", "driven") if (all_commands.folder / name).exists()]


@pytest.mark.fault("`show` and other commands that describe")
def test_other_commands_that_describe_connect_to_nothing(all_commands: Witnessed) -> None:
    outcomes = all_commands.others
    assert [(arguments, seen) for arguments, _, _, seen in outcomes if seen] == []
    refused = [arguments for arguments, status, _, _ in outcomes if status]
    assert [arguments[0] for arguments in refused] == ["report", "report"]
    assert {status for _, status, _, _ in outcomes} == {0, 2}
    assert all_commands.came == []


def test_doctor_reaches_nothing_beyond_this_machine(all_commands: Witnessed) -> None:
    ((arguments, _, _, seen),) = all_commands.doctor
    assert arguments == ["doctor"]
    reached = [one for one in seen if one[0] != "subprocess.Popen" and ".sock" not in one[1]]
    assert [one for one in reached if one[0] in ("socket.connect", "socket.getaddrinfo")] == []


def test_what_connects_while_describing_is_a_defect(listening: Listening) -> None:
    """The guard behind the rule: also where a library's connection or look-up slips in."""
    with forbid_connections(), pytest.raises(ConnectionForbidden, match=r"socket\.connect"):
        _plain(listening.port)
    with forbid_connections(), pytest.raises(ConnectionForbidden, match="getaddrinfo"):
        socket.getaddrinfo("localhost", listening.port)
    with forbid_connections(), pytest.raises(ConnectionForbidden, match=r"urllib\.Request"):
        urllib.request.urlopen(f"http://127.0.0.1:{listening.port}/")
    with forbid_connections(), socket.socket() as one, pytest.raises(ConnectionForbidden, match=r"socket\.sendto"):
        one.sendto(b"x", ("127.0.0.1", listening.port))
    assert listening.came == []
    _plain(listening.port)
    while not listening.came:
        pass
    assert listening.came == [b""]


def _plain(port: int) -> None:
    with socket.socket() as one:
        one.connect(("127.0.0.1", port))
