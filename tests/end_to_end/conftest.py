"""The `loadstone` command as a user runs it: a process of its own, on small experiments."""

import contextlib
import json
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest

from loadstone.servers.redis.local import EmbeddedSettings, LocalRedis
from loadstone.servers.server import DeployContext
from loadstone.text.message import read_message
from loadstone.text.sentences import render_message
from tests.calling import Running, calling

PATIENCE_S, CLEAN_S = 180.0, 60.0

MANY_CONNECTIONS = 16
MANY = f"pool: {{connections: 4}} => pool: {{connections: {MANY_CONNECTIONS}}}"
"""A change of the experiment: more connections than loadstone itself has to a server."""
CALM = 'users: "${workers}"} => users: "${workers}", think_time_ms: 10}'
"""Another one, where the rate is no matter: the run leaves the CPUs to what runs beside it."""

EXPERIMENT = """\
format: 1
name: tiny
question: Does the whole way work?
factors:
  operation: {levels: [set, get, update], title: Operation}
  workers: {levels: [1, 4], title: Workers}
tables:
  - name: all
    title: Everything
    vary: {operation: [set, get, update], workers: [1, 4]}
servers:
  redis: {kind: embedded, modules: [json]}
workload:
  model: {kind: closed, users: "${workers}"}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: MEASURE, drain_s: 1 s}
  keys: {count: 100}
  documents: {payload_bytes: 100 B, field_share: 10 %}
  operations:
    - name: set
      when: {operation: set}
      commands: [{args: "JSON.SET {key} $ {document}", expect: ok}]
      writes: document
      read_back: {args: "JSON.GET {key}", expect: document}
    - name: get
      when: {operation: get}
      commands: [{args: "JSON.GET {key}", expect: document}]
    - name: update
      when: {operation: update}
      commands: [{args: "JSON.SET {key} $.field {field_json}", expect: ok}]
      writes: field
      read_back: {args: "JSON.GET {key} $.field", expect: field_array}
  load:
    - {operation: set, when: {operation: [get, update]}}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    status: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The one line that says what is wrong; fails if there are more, or a traceback."""
        lines = [line for line in self.err.splitlines() if line.startswith("loadstone: ")]
        assert "Traceback" not in self.err
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass
class Command:
    """A command that runs."""

    process: Running

    def servers(self) -> list[psutil.Process]:
        """The redis-servers that it started and that run."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "redis-server" in child.name() and child.status() != psutil.STATUS_ZOMBIE:
                        found.append(child)
        return found

    def under_load(self) -> bool:
        """Whether one of them has the connections of `MANY`, which are there for as long as it is driven."""
        for server in self.servers():
            with contextlib.suppress(psutil.Error):
                found = server.net_connections("tcp")
                if sum(one.status == psutil.CONN_ESTABLISHED for one in found) >= MANY_CONNECTIONS:
                    return True
        return False

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> Done:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Done(self.process.returncode, out, err)


class Lab:
    """A folder to work in, and the command. Its reports are without pictures, unless `draws` is set."""

    draws = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Command] = []

    def experiment(self, measure: str = "300 ms", **replaced: str) -> Path:
        """The tiny experiment as a file; `replaced` are texts to replace, by any name."""
        text = EXPERIMENT.replace("MEASURE", measure)
        for change in replaced.values():
            old, new = change.split(" => ")
            assert old in text
            text = text.replace(old, new)
        path = self.folder / "tiny.yaml"
        path.write_text(text)
        return path

    def begin(self, *arguments: str | Path, within: Sequence[str] = (), **environment: str) -> Command:
        """Start `loadstone arguments...` in the folder; `within`: the command that starts it."""
        variables = {"TMPDIR": str(self.temporary), **environment}
        command = Command(
            calling(*arguments, folder=self.folder, environment=variables, within=within, draws=self.draws)
        )
        self.started.append(command)
        return command

    def loadstone(self, *arguments: str | Path, **environment: str) -> Done:
        """Run `loadstone arguments...` in the folder to its end."""
        return self.begin(*arguments, **environment).wait()

    @property
    def temporary(self) -> Path:
        folder = self.folder / "tmp"
        folder.mkdir(exist_ok=True)
        return folder

    def runs(self) -> list[Path]:
        return sorted((self.folder / "runs").glob("[!.]*")) if (self.folder / "runs").exists() else []

    def run(self) -> Path:
        """The only run's folder."""
        (path,) = self.runs()
        return path

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines of `trials.jsonl`, which may be written to at this moment: every attempt."""
        path = self.run() / "trials.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def trials(self) -> list[dict[str, Any]]:
        """The finished trials in the order they were first run; of one that was measured again the last attempt."""
        return list({line["trial"]: line for line in self.lines()}.values())

    def until(self, what: Callable[[], object]) -> None:
        """Wait until `what` holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not what():
            assert time.monotonic() < deadline, "waited too long"
            time.sleep(0.02)

    def left(self) -> list[str]:
        """What is in our temporary folder, and the processes that work there."""
        lines = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
        return [str(path) for path in self.temporary.iterdir()] + [
            line for line in lines if str(self.temporary) in line
        ]

    def until_nothing_is_left(self) -> None:
        """Wait until it is clean; fails with what is there."""
        deadline = time.monotonic() + CLEAN_S
        while left := self.left():
            assert time.monotonic() < deadline, left
            time.sleep(0.02)


@contextlib.contextmanager
def lab_in(folder: Path) -> Iterator[Lab]:
    """A lab that must be left clean: no process, no temporary folder."""
    lab = Lab(folder)
    yield lab
    for command in lab.started:
        if command.process.poll() is None:
            command.process.kill()
            command.process.communicate()
    lab.until_nothing_is_left()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A lab of the test's own."""
    with lab_in(tmp_path) as lab:
        yield lab


@contextlib.contextmanager
def redis_in(folder: Path, name: str, *modules: Literal["json"]) -> Iterator[tuple[LocalRedis, str]]:
    """A Redis that plays the user's, and its URL with the password."""
    server = EmbeddedSettings(modules=modules).server(name)
    root = folder / name
    root.mkdir()
    endpoint = server.start(DeployContext(work_root=root))
    yield server, f"redis://:{endpoint.password}@{endpoint.host}:{endpoint.port}/0"
    server.stop()


@pytest.fixture
def users_redis(tmp_path: Path) -> Iterator[tuple[LocalRedis, str]]:
    """A Redis that plays the user's, with RedisJSON."""
    with redis_in(tmp_path, "users", "json") as found:
        yield found


@pytest.fixture
def plain_redis(tmp_path: Path) -> Iterator[tuple[LocalRedis, str]]:
    """A Redis of the user's without modules."""
    with redis_in(tmp_path, "plain") as found:
        yield found


def check_of(trial: dict[str, Any], name: str) -> dict[str, Any]:
    """The check of that name."""
    return next(check for check in trial["checks"] if check["name"] == name)


def reason_of(check: dict[str, Any]) -> str:
    """What a check of a line of `trials.jsonl` says to a person; empty if nothing."""
    return render_message(check["reason"] and read_message(check["reason"]))


def plain(text: str) -> str:
    """A text without the terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
