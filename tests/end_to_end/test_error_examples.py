"""What a server answered where operations failed: on the first screen, in the record, and in reports."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.calling import called, calling
from tests.end_to_end.test_load_commands import ALONE, DONE, loadstone, trials_of
from tests.real_servers import UserRedis, wait_until

WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
SECRET = "tok-93hf-secret-of-theirs"
SHORT = ("-n", "300", "-c", "4", "--out", "kept")
ONCE = ("--repeat", "1", "--share-machine", "--out", "kept")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "here"


def calls(client: redis.Redis, command: str) -> int:
    """How often the server executed it."""
    return int(client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


def replies(here: Path) -> dict[str, str]:
    """Kind -> reply, as the line of the one trial has them."""
    (trial,) = trials_of(here)
    return {one["kind"]: one["reply"] for one in trial["facts"]["drive"]["examples"]}


def report(here: Path) -> tuple[str, str, str]:
    """The terminal's report, made from the folder alone, and its two pages."""
    (run,) = (here / "kept").glob("*/")
    moved = run.rename(here / "elsewhere")
    done = called("report", moved, folder=here, draws=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, (moved / "report.html").read_text(), (moved / "report.md").read_text()


@pytest.mark.fault(
    "a server answers errors, or an application a 500 or a wrong document",
    "the first screen and reports show each kind with the beginning of a reply, escaped and without secrets",
    area="load",
)
def test_a_redis_error_is_shown_as_the_server_wrote_it(user_redis: Callable[..., UserRedis], here: Path) -> None:
    wrong = ("--command", "LPUSH {key} a", "--load", "SET {key} {value}")
    done = loadstone("redis", user_redis().url, *wrong, *SHORT, folder=here)
    assert done.returncode == 3, done.stderr
    assert f"server_wrongtype, for example: {WRONGTYPE}" in done.stdout
    assert replies(here) == {"server_wrongtype": WRONGTYPE}
    for text in report(here):
        assert WRONGTYPE in text


def test_what_a_user_may_not_do(user_redis: Callable[..., UserRedis], here: Path) -> None:
    server = user_redis()
    server.client().execute_command("ACL", "SETUSER", "u", "on", ">long-password-9", "~*", "+@all", "-lpush")
    url = server.url.replace("redis://", "redis://u:long-password-9@")
    done = loadstone("redis", url, "-t", "lpush", *SHORT, folder=here)
    assert done.returncode == 3, done.stderr
    assert "server_noperm, for example: NOPERM " in done.stdout
    assert replies(here)["server_noperm"].startswith("NOPERM ")


def test_a_redis_without_room(user_redis: Callable[..., UserRedis], here: Path) -> None:
    """Its room is taken away under load; the run ends, and what was answered stands in its record."""
    here.mkdir()
    server = user_redis()
    client = server.client()
    load = ["redis", server.url, "-t", "set", "-c", "16", "--rate", "3000", "--test-time", "60s"]
    with calling(*load, *ONCE, folder=here, draws=False) as running:
        wait_until(lambda: calls(client, "set") > 3_000)
        time.sleep(3)  # beyond the warm-up, of which nothing counts
        client.config_set("maxmemory", "1mb")
        out, err = running.communicate(timeout=100)
    assert running.returncode == 3, err
    assert "OOM command not allowed" in replies(here)["server_oom"]
    assert "server_oom, for example: OOM command not allowed when used memory > 'maxmemory'" in out


def test_one_that_loses_a_right(user_redis: Callable[..., UserRedis], here: Path) -> None:
    """Under load: each reply is an error from then on."""
    server = user_redis()
    client = server.client()
    client.execute_command("ACL", "SETUSER", "u", "on", ">long-password-9", "~*", "+@all")
    url = server.url.replace("redis://", "redis://u:long-password-9@")
    here.mkdir()
    load = ["redis", url, "-t", "get", "-c", "16", "--rate", "3000", "--test-time", "4s"]
    with calling(*load, *ONCE, folder=here, draws=False) as running:
        wait_until(lambda: calls(client, "get") > 6_000)
        client.execute_command("ACL", "SETUSER", "u", "-get")
        out, err = running.communicate(timeout=100)
    assert running.returncode == 3, err
    assert "server_noperm, for example: NOPERM " in out
    assert "long-password-9" not in out + err


class Service(BaseHTTPRequestHandler):
    """Answers 500 below /broken, with what it was sent and with what would repaint a terminal; else a JSON document."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status, body = 200, '{"error": "no such raffle"}'
        if self.path.startswith("/broken"):
            token = self.headers["X-Api-Key"]
            status, body = 500, f"no pool\x1b[31m\x07 \u202e for {token} <script>alert(1)</script>\r\n{'x' * 5000}"
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.fault("a server answers errors, or an application a 500 or a wrong document")
def test_a_broken_service_says_why_and_obeys_nobody(service: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    done = loadstone("http", f"{service}/broken", *ALONE, "-H", "X-Api-Key: ${env:API_KEY}", *SHORT, folder=here)
    assert done.returncode == 3, done.stderr
    reply = replies(here)["status_5xx"]
    # Of a reply whose body came apart from its head, the reason is not kept.
    reason = " Internal Server Error" if "Internal" in reply else ""
    said = "no pool\\x1b[31m\\x07 \\u202e for ${env:API_KEY}"
    expected = f"HTTP/1.1 500{reason} {said} <script>alert(1)</script> xxxx"
    assert reply.startswith(expected), reply
    assert len(reply) == 120
    assert expected[:100] in " ".join(done.stdout.split())
    terminal, html, markdown = report(here)
    for text in (done.stdout, done.stderr, terminal, html, markdown, (here / "elsewhere" / "trials.jsonl").read_text()):
        assert SECRET not in text
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "<script>alert(1)" not in html
    assert "no pool" in html


def test_a_wrong_document_is_shown(service: str, here: Path) -> None:
    done = loadstone("http", f"{service}/raffle", *ALONE, "--expect-text", '"winner"', *SHORT, folder=here)
    assert done.returncode == 3, done.stderr
    example = replies(here)["body_mismatch"]
    assert re.fullmatch(r'HTTP/1\.1 200( OK)? \{"error": "no such raffle"\}', example)
    assert f"body_mismatch, for example: {example}" in done.stdout


def test_rows_of_an_experiment(here: Path) -> None:
    """Two rows with the same error have one example between them, on the screen that `run` ends with."""
    here.mkdir()
    (here / "x.yaml").write_text(
        """
format: 1
name: x
question: What does a list say to strings?
factors:
  size: {levels: [10, 20], title: Size}
tables:
  - {name: by-size, title: By size, vary: {size: [10, 20]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: 2}
  pool: {connections: 2}
  phases: {warm_up_s: 0 s, measure_s: 300 ms, drain_s: 1 s}
  keys: {count: 10}
  documents: {payload_bytes: "${size}"}
  operations:
    - {name: push, commands: [{args: "LPUSH {key} {value}"}]}
    - {name: store, weight: 0, commands: [{args: "SET {key} {value}", expect: ok}]}
  load: [{operation: store}]
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
    )
    done = called("run", "x.yaml", "--share-machine", "--out", "kept", folder=here, draws=False)
    assert done.returncode == 3, done.stderr
    assert re.findall(r"^errors of (.*): server_wrongtype", done.stdout, re.MULTILINE) == ["size 10", "size 20"]
    assert done.stdout.count(f"server_wrongtype, for example: {WRONGTYPE}") == 1


def test_no_error_has_no_example(here: Path) -> None:
    done = loadstone("redis", "-t", "get", *SHORT, folder=here)
    assert done.returncode in DONE, done.stderr
    assert "for example" not in done.stdout
    (trial,) = trials_of(here)
    assert trial["facts"]["drive"]["examples"] == []
