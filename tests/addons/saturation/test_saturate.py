"""`loadstone saturate` on a real Redis and a real service: the same way as every run, from options to exit status."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.calling import called
from tests.real_servers import UserRedis


def saturate(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return called("saturate", *words, "--share-machine", "--out", folder / "runs", folder=folder, draws=False)


def answer_in(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    (found,) = json.loads(done.stdout)["saturations"]
    assert isinstance(found, dict)
    return found


QUICK = ("--quick", "--users-max", "4", "--threads", "1", "--seed", "7", "--budget", "40s", "--json")
NO_PARTS = ("--part", "none")
"""Nothing behind a service is looked for, which takes 6 s."""


def test_an_embedded_redis_is_searched_and_a_ramp_driven_beside_it(tmp_path: Path) -> None:
    """And what was found is held against what must not be."""
    limits = ("--fail-if", "capacity < 1/s", "--fail-if", "capacity > 1/s")
    done = saturate("redis", *QUICK, "--ramp", "8 over 4 s", "--objective", "p99 < 10 s", *limits, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    missed = [line for line in done.stderr.splitlines() if line.startswith("--fail-if:")]
    assert len(missed) == 1
    assert "operation=get: 'capacity > 1/s': missed: " in missed[0]
    found = answer_in(done)
    assert found["kind"] in ("plateau", "peak", "at_least")
    assert [point["users"] for point in found["search"]["points"]][:2] == [1, 2]
    assert found["objective"]["kind"] != "never"
    steps = found["ramp"]["steps"]
    assert [step["users"] for step in steps] == list(range(1, 9))
    assert all(step["to_s"] - step["from_s"] == pytest.approx(0.5, abs=0.05) for step in steps)
    (folder,) = (tmp_path / "runs").glob("*/")
    lines = [json.loads(line) for line in (folder / "intervals.jsonl").read_text().splitlines()]
    ramp = [line for line in lines if line.get("trial", "").endswith("-ramp") and line["phase"] == "measure"]
    ok = sum(line["ok"] for line in ramp)
    assert sum(step["per_s"] * (step["to_s"] - step["from_s"]) for step in steps) == pytest.approx(ok, rel=0.01)
    assert (folder / "report.html").read_text().count('id="saturation"') == 1
    assert (folder / "saturation.csv").is_file()
    assert (folder / "ramp.csv").is_file()


def test_a_redis_of_the_users_keeps_its_keys_and_gets_none(
    user_redis: Callable[..., UserRedis], tmp_path: Path
) -> None:
    server = user_redis()
    client = server.client()
    client.set("theirs", "1")
    done = saturate("redis", server.url, *QUICK, "--command", "set", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert client.keys("*") == ["theirs"]
    assert client.info("commandstats")["cmdstat_set"]["calls"] > 1000
    assert answer_in(done)["points"]


class Service(BaseHTTPRequestHandler):
    """Answers `/ok`, and refuses everything else."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/ok" else 503)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_service_is_searched_by_its_url(service: str, tmp_path: Path) -> None:
    done = saturate("http", f"{service}/ok", *QUICK, *NO_PARTS, "--expect", "200", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(point["errors"] == 0 for point in answer_in(done)["points"])


def test_a_service_that_answers_only_errors_has_no_point_and_decides_nothing(service: str, tmp_path: Path) -> None:
    limit = ("--fail-if", "capacity < 10/s")
    done = saturate("http", f"{service}/down", *QUICK, *NO_PARTS, *limit, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    found = answer_in(done)
    assert found["kind"] == "none"
    assert "100.0% of the replies failed" in found["message"]["text"]
    assert "'capacity < 10/s': cannot be decided: NO POINT: 100.0% of the replies failed" in done.stderr
