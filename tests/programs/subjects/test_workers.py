"""Worker processes of a replica: all are waited for, each is known, and one that is lost is noticed."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real_servers import wait_until

from loadstone.machine.installed_programs import require_programs
from loadstone.programs.manifest import Manifest
from loadstone.programs.subjects.subject import LocalSubject, SubjectSettings
from loadstone.run_folder.facts import owner_of
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext

APPLICATION = """
import http.server, os, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

def serve(port):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()

for port in map(int, os.environ["PORTS"].split(",")):
    if os.fork() == 0:
        serve(port)
serve(int(sys.argv[1]))
"""


def subject(folder: Path, **environment: str) -> LocalSubject:
    (folder / "app.py").write_text(APPLICATION)
    run = {"command": f"{sys.executable} app.py {{port}}", "workers": "COUNT", "metrics": "/m", "runtime": "node"}
    manifest = {"name": "shop", "run": run, "environment": {"PORTS": "{worker_ports}", "COUNT": 2}}
    return LocalSubject(Manifest.model_validate(manifest), folder, SubjectSettings(environment=environment))


@pytest.fixture
def shop(tmp_path: Path, context: DeployContext) -> Iterator[LocalSubject]:
    shop = subject(tmp_path)
    shop.start(context)
    yield shop
    shop.stop()


def test_each_worker_is_known_by_its_process_and_its_port(shop: LocalSubject) -> None:
    workers = shop.workers["shop"]
    assert [one.number for one in workers] == [1, 2]
    assert len({one.port for one in workers}) == 2
    assert len({shop.pids["shop"], *(one.pid for one in workers)}) == 3
    assert shop.runtime == "node"


def test_a_worker_that_ends_is_named_and_all_start_again(shop: LocalSubject) -> None:
    first = shop.workers["shop"][0]
    assert first.pid is not None
    assert shop.how_it_ended() == ""
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not shop.alive())
    assert shop.pids == {}
    assert shop.how_it_ended() == f"worker 1 (process {first.pid}) of its 2 workers ended"
    shop.restart()
    assert shop.alive()
    assert shop.how_it_ended() == ""


@pytest.mark.parametrize(
    ("count", "said"),
    [
        ("many", "environment.COUNT: 'many' is no number of workers; write one from 1 to 64"),
        ("0", "environment.COUNT: '0' is no number of workers"),
        ("65", "environment.COUNT: '65' is no number of workers"),
    ],
)
def test_a_number_of_workers_that_is_none_is_refused(
    count: str, said: str, tmp_path: Path, context: DeployContext
) -> None:
    with pytest.raises(UserError) as refused:
        subject(tmp_path, COUNT=count).start(context)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("requires", "said"),
    [
        ({"no-such-program": "1"}, "requires.no-such-program: it is not installed, or not on PATH; install"),
        ({"python3": "99.1"}, "is too old; install python3 99.1 or newer: https://www.python.org/downloads"),
        ({"true": "99"}, "is too old; install true 99 or newer"),
    ],
)
def test_a_program_that_is_missing_or_too_old_is_named(requires: dict[str, str], said: str) -> None:
    manifest = Manifest.model_validate({"name": "shop", "requires": requires, "run": {"command": "true"}})
    with pytest.raises(UserError) as refused:
        require_programs("subject shop", manifest)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_program_that_is_new_enough_is_no_matter() -> None:
    require_programs(
        "subject shop", Manifest.model_validate({"name": "shop", "requires": {"python3": 3.9}, "run": {"command": "x"}})
    )


def test_a_version_may_be_printed_in_bold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nprintf '\\033[1mTool 3.8.7\\033[m\\n'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    manifest = {"name": "shop", "run": {"command": "x"}}
    require_programs("subject shop", Manifest.model_validate({**manifest, "requires": {"tool": "3.6"}}))
    with pytest.raises(UserError, match=r"^subject shop: requires\.tool: 3\.8\.7 is too old"):
        require_programs("subject shop", Manifest.model_validate({**manifest, "requires": {"tool": "3.9"}}))


def test_a_worker_belongs_to_its_subject() -> None:
    assert owner_of("shop-worker-2", {"shop"}) == "shop"
    assert owner_of("shop-1-worker-2", {"shop"}) == "shop"
    assert owner_of("shop-1-worker-2", {"shop-1"}) == "shop-1"
    assert owner_of("other-worker-1", {"shop"}) is None
