"""Whatever ends a run, nothing of it stays on a Redis of the user's, and nothing of theirs goes."""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import PATIENCE_S, Command, Lab

pytestmark = pytest.mark.timeout(600)  # several commands in a row, which take long on a busy machine
SCANNED = 10_000
"""Keys a call: a server under load answers each call late."""
THEIRS = {f"theirs:{number}": str(number) for number in range(50)}
EXPERIMENT = """\
format: 1
name: leaves
question: Does anything stay?
factors:
  operation: {levels: [set, get], title: Operation}
tables:
  - {name: all, title: Everything, vary: {operation: [set, get]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: 2, think_time_ms: 1}
  pool: {connections: 2}
  phases: {warm_up_s: 100 ms, measure_s: MEASURE, drain_s: 1 s}
  timeouts: {request_ms: 1 s}
  keys: {count: 3000}
  operations:
    - name: set
      when: {operation: set}
      commands: [{args: "SET {key} {value}"}, {args: "SADD {key}:tags {seq}"}, {args: "LPUSH loadstone:list {seq}"}]
    - name: get
      when: {operation: get}
      commands: [{args: "SET {key} {value}"}, {args: "GET {key}"}]
design: {table_blocks: 1, at_rate: never, rounds: never}
"""


@pytest.fixture
def theirs(plain_redis: tuple[LocalRedis, str]) -> Iterator[tuple[redis.Redis, str, int]]:
    """An independent client of a Redis that holds keys of the user's, its URL, and its process."""
    server, url = plain_redis
    with redis.Redis.from_url(url, decode_responses=True, socket_timeout=PATIENCE_S) as client:
        client.mset(THEIRS)
        yield client, url, next(iter(server.pids.values()))


def foreign(client: redis.Redis) -> dict[str, str]:
    """What of the user's is there."""
    return {str(key): str(client.get(key)) for key in client.scan_iter("theirs:*", count=SCANNED)}


def ours(client: redis.Redis) -> list[str]:
    return [str(key) for key in client.scan_iter("*", count=SCANNED) if not str(key).startswith("theirs:")]


def experiment(lab: Lab, measure: str = "300 ms") -> Path:
    path = lab.folder / "leaves.yaml"
    path.write_text(EXPERIMENT.replace("MEASURE", measure))
    return path


def begun(lab: Lab, client: redis.Redis, url: str, *more: str) -> Command:
    """A run that is under load, and has made keys of each kind."""
    command = lab.begin("run", experiment(lab, "30 s"), "--server", f"redis={url}", "--only", "operation=set", *more)
    lab.until(lambda: client.exists("loadstone:list") and len(ours(client)) > 100)
    return command


def ledger(lab: Lab) -> list[dict[str, object]]:
    return [json.loads(line) for line in (lab.run() / "ledger.jsonl").read_text().splitlines()]


def killed(lab: Lab, client: redis.Redis, url: str) -> None:
    command = begun(lab, client, url)
    command.signal(signal.SIGKILL)
    command.wait()
    assert len(ours(client)) > 100, "a killed process cleans nothing"


def test_an_ended_run_leaves_nothing_and_its_ledger_says_so(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    done = lab.loadstone("run", experiment(lab), "--server", f"redis={url}")
    assert done.status in (0, 3), done.err
    assert ours(client) == []
    assert foreign(client) == THEIRS
    lines = ledger(lab)
    assert stat.S_IMODE((lab.run() / "ledger.jsonl").stat().st_mode) == 0o600
    things = {
        what: [(one["kind"], one["name"]) for one in lines if one["what"] == what] for what in ("makes", "removed")
    }
    assert sorted(things["makes"]) == sorted(things["removed"])
    assert {kind for kind, _ in things["makes"]} == {"numbered_keys", "keys_beginning", "key"}
    assert len(lines) < 12, "a line a trial, not a key"
    assert lab.loadstone("clean").out == "nothing is left on any server\n"


def test_runs_on_servers_of_our_own_have_no_ledger(lab: Lab) -> None:
    assert lab.loadstone("run", experiment(lab), "--only", "operation=set").status in (0, 3)
    assert not (lab.run() / "ledger.jsonl").exists()


@pytest.mark.fault("the terminal is closed, or SIGHUP, SIGINT or SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(lab: Lab, theirs: tuple[redis.Redis, str, int], number: signal.Signals) -> None:
    client, url, _ = theirs
    command = begun(lab, client, url)
    command.signal(number)
    done = command.wait()
    assert done.status == 130, done.err
    assert ours(client) == []
    assert foreign(client) == THEIRS


@pytest.mark.fault(
    "the terminal is closed, or SIGHUP, SIGINT or SIGTERM",
    "the run ends in order and leaves nothing",
    area="interrupted",
)
def test_a_terminal_that_is_closed_leaves_nothing(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    command = [
        sys.executable,
        "-m",
        "loadstone.cli.main",
        "run",
        str(experiment(lab, "30 s")),
        "--server",
        f"redis={url}",
    ]
    command += ["--only", "operation=set"]  # the other one makes no list
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(lab.folder)
        os.environ["TMPDIR"] = str(lab.temporary)
        os.execv(command[0], command)
    try:
        lab.until(lambda: drained(terminal) and client.exists("loadstone:list") and len(ours(client)) > 100)
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    assert os.waitstatus_to_exitcode(status) == 130
    assert ours(client) == []
    assert foreign(client) == THEIRS


def drained(terminal: int) -> bool:
    """Read what was printed, so that printing never waits."""
    os.set_blocking(terminal, False)
    try:
        while os.read(terminal, 65536):
            pass
    except BlockingIOError:
        pass
    return True


@pytest.mark.fault("SIGHUP under `nohup`", "the run goes on", area="interrupted")
def test_a_run_under_nohup_goes_on_when_the_terminal_is_closed(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        command = lab.begin("run", experiment(lab, "3 s"), "--server", f"redis={url}")
    finally:
        signal.signal(signal.SIGHUP, before)
    lab.until(lambda: len(ours(client)) > 100)
    command.signal(signal.SIGHUP)
    done = command.wait()
    assert done.status in (0, 3), done.err
    assert len(lab.trials()) == 2
    assert ours(client) == []


@pytest.mark.fault(
    "`kill -9`, then `loadstone clean`", "everything the run made is removed; no password was stored", area="leftovers"
)
def test_after_kill_9_clean_removes_what_is_left(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    killed(lab, client, url)
    left = lab.loadstone("clean")
    assert left.status == 3
    assert "login and TLS options are not kept; add --server redis=URL" in left.out
    dry = lab.loadstone("clean", lab.run(), "--server", f"redis={url}", "--dry-run")
    assert dry.status == 0, dry.out
    assert "3,000 keys loadstone:" in dry.out
    assert "would be removed" in dry.out
    assert len(ours(client)) > 100
    other = lab.loadstone("clean", lab.run(), "--server", f"redis={url}1")
    assert other.status == 3
    assert "another server or database" in other.out
    done = lab.loadstone("clean", lab.run().name, "--server", f"redis={url}")
    assert done.status == 0, done.out
    assert ours(client) == []
    assert foreign(client) == THEIRS
    again = lab.loadstone("clean", "--server", f"redis={url}")
    assert (again.status, again.out) == (0, "nothing is left on any server\n")
    password = url.partition("://:")[2].partition("@")[0]
    assert password not in (lab.run() / "ledger.jsonl").read_text() + left.out + dry.out + other.out + done.out


@pytest.mark.fault("`kill -9`, then `--resume`", "leftovers are removed first", area="leftovers")
def test_after_kill_9_resume_removes_what_is_left_and_goes_on(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    killed(lab, client, url)
    command = lab.begin("run", "--resume", lab.run(), "--server", f"redis={url}")
    lab.until(lambda: any(line["what"] == "removed" for line in ledger(lab)))
    command.signal(signal.SIGTERM)
    assert command.wait().status == 130
    assert ours(client) == []
    assert foreign(client) == THEIRS


@pytest.mark.fault("`clean` of a live run, or of a copy of its folder", "refused", area="leftovers")
def test_a_run_that_goes_on_is_not_cleaned(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, _ = theirs
    command = begun(lab, client, url)
    copy = lab.folder / "runs" / "copy"
    subprocess.run(["cp", "-rp", lab.run(), copy], check=True)
    for folder in (f"runs/{command_folder(lab)}", "runs/copy"):
        done = lab.loadstone("clean", folder, "--server", f"redis={url}")
        assert done.status == 3
        assert "goes on" in done.out
    assert len(ours(client)) > 100
    command.signal(signal.SIGTERM)
    command.wait()
    assert ours(client) == []


def command_folder(lab: Lab) -> str:
    return next(path.name for path in lab.runs() if path.name != "copy")


@pytest.mark.fault(
    "your server freezes for good", "a line names what stays and the command that removes it later", area="leftovers"
)
def test_a_server_that_froze_is_cleaned_later(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, pid = theirs
    command = begun(lab, client, url)
    os.kill(pid, signal.SIGSTOP)
    try:
        command.signal(signal.SIGTERM)
        done = command.wait()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert "not everything that loadstone made could be removed" in done.err
    assert f"loadstone clean runs/{lab.run().name}" in done.err.replace("\n", " ")
    assert "key loadstone:list" in done.err
    lab.until(lambda: len(ours(client)) > 100)
    cleaned = lab.loadstone("clean", "--server", f"redis={url}")
    assert cleaned.status == 0, cleaned.out
    assert ours(client) == []
    assert foreign(client) == THEIRS


@pytest.mark.fault("your server freezes for a moment", "loadstone waits, and nothing stays", area="leftovers")
def test_a_server_that_freezes_for_a_moment_is_waited_for(lab: Lab, theirs: tuple[redis.Redis, str, int]) -> None:
    client, url, pid = theirs
    command = begun(lab, client, url, "--verbose")
    assert command.process.stderr is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        command.signal(signal.SIGTERM)
        assert any("waiting until redis answers" in line for line in command.process.stderr)
    finally:
        os.kill(pid, signal.SIGCONT)
    command.wait()
    assert ours(client) == []
