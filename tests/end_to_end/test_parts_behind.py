"""A service with a Redis behind it, as a user has them: the Redis is a part by itself, and no other program."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.calling import called
from tests.real_servers import UserRedis

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own files are read")

PASSWORD = "s3cret-of-redis"
SERVICE = """
import os, socket, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        if not hasattr(self, "redis"):
            self.redis = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            self.redis.sendall(b"AUTH " + os.environ["REDIS_WORD"].encode() + b"\\r\\n")
            self.redis.recv(100)
        self.redis.sendall(b'EVAL "local s=0 for i=1,3000 do s=s+i end return s" 0\\r\\n')
        body = self.redis.recv(100)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""
"""Connects to Redis when it is asked first, and for each connection of its own: before the load there is none."""


@pytest.fixture
def shop(user_redis: Callable[..., UserRedis]) -> Iterator[tuple[str, UserRedis]]:
    """The URL of a service, and its Redis."""
    theirs = user_redis("--requirepass", PASSWORD)
    words = [sys.executable, "-c", SERVICE, str(theirs.port)]
    environment = {**os.environ, "REDIS_WORD": PASSWORD}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}", theirs
        process.kill()


def measured(folder: Path, *words: str) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """What was said, the trials, and the analysis."""
    out = folder / "kept"
    done = called(*words, "--share-machine", "--out", str(out), folder=folder, draws=False)
    assert done.returncode in (0, 3), done.stderr
    (run,) = out.glob("*/plan.json")
    for file in run.parent.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file
    assert PASSWORD not in done.stdout + done.stderr
    trials = [json.loads(line) for line in (run.parent / "trials.jsonl").read_text().splitlines() if '"trial"' in line]
    return done.stderr, trials, json.loads((run.parent / "analysis.json").read_text())


def commands_of(theirs: UserRedis) -> set[str]:
    """The commands that its Redis was sent, by whomever: this sends AUTH, and INFO, which is counted later."""
    with theirs.client(password=PASSWORD, protocol=2, driver_info=None) as client:
        return {name.removeprefix("cmdstat_") for name in client.info("commandstats")}


SHORT = """
import os, socket, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def log_message(self, *_):
        pass

    def do_GET(self):
        with socket.socket(socket.AF_UNIX if "/" in sys.argv[1] else socket.AF_INET) as redis:
            redis.connect(sys.argv[1] if "/" in sys.argv[1] else ("127.0.0.1", int(sys.argv[1])))
            redis.sendall(b"PING\\r\\n")
            body = redis.recv(100)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""
"""Connects to Redis for each request."""


@pytest.mark.parametrize("by", ["tcp", "unix"])
def test_a_redis_that_is_connected_to_for_each_request_is_a_part(
    user_redis: Callable[..., UserRedis], tmp_path: Path, by: str
) -> None:
    path = str(tmp_path / "redis.sock")
    theirs = user_redis("--unixsocket", path)
    words = [sys.executable, "-c", SHORT, path if by == "unix" else str(theirs.port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        said, trials, _ = measured(tmp_path, "http", url, "-c", "2", "-d", "1s", "--repeat", "1")
        process.kill()
    found = f"redis-server (process {theirs.pid})"
    if by == "unix":
        during = " while the service was sent requests, and not after"
        ways = f"answers the service's connections to {path}", f"was connected to at {path}{during}"
        assert any(f"{found} {way}: counted as the part redis" in said for way in ways), said
    else:
        assert re.search(rf"{re.escape(found)} was connected to \d+ times at 127.0.0.1:{theirs.port} while", said)
    (trial,) = trials
    assert trial["facts"]["kinds"]["redis"] == "watched redis"
    assert trial["cpu_s"]["redis"] > 0


@pytest.mark.alone  # the servers of other tests are other programs of its name
def test_the_redis_behind_a_service_is_a_part_of_it(shop: tuple[str, UserRedis], tmp_path: Path) -> None:
    url, theirs = shop
    said, trials, analysis = measured(tmp_path, "http", url, "-c", "4", "-d", "1s", "--repeat", "2")
    assert f"redis-server (process {theirs.pid}) answers the service's connections to 127.0.0.1:{theirs.port}" in said
    assert commands_of(theirs) <= {"auth", "eval"}, "loadstone sends nothing to it"
    for trial in trials:
        assert trial["facts"]["kinds"]["redis"] == "watched redis"
        assert trial["cpu_s"]["redis"] > 0
        assert not [name for name in trial["facts"]["seen"].get("others", {}) if re.search("redis-server", name)]
    ((row,),) = (table["rows"] for table in analysis["tables"])
    assert row["costs"].keys() == {"service", "redis"}


def test_a_redis_that_is_named_is_asked_info_and_nothing_is_looked_for(
    shop: tuple[str, UserRedis], tmp_path: Path
) -> None:
    url, theirs = shop
    words = ("-c", "2", "-n", "60", "--repeat", "1", "--part", "none", "--server")
    said, trials, _ = measured(tmp_path, "http", url, *words, f"cache=redis://:{PASSWORD}@127.0.0.1:{theirs.port}")
    assert "counted as the part" not in said
    assert commands_of(theirs) <= {"auth", "eval", "info", "hello", "client|setinfo", "select"}
    (trial,) = trials
    assert trial["facts"]["kinds"]["cache"] == "watched redis"
    assert "redis" not in trial["facts"]["kinds"]
    seen = trial["facts"]["seen"].get("cache", {}).keys() >= {"used_memory", "cpu_share"}
    assert seen or trial["cpu_s"]["cache"] >= 0, "60 requests may be over before a monitor looks"
    with theirs.client(password=PASSWORD) as client:
        assert client.info("commandstats")["cmdstat_eval"]["calls"] == 60, "counted requests are counted"
