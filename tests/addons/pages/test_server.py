"""Where the pages are offered, and to whom: over TLS or not, all or of one run, and how they end."""

import asyncio.constants
import contextlib
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from markupsafe import escape
from tests.real_servers import Certificates

from loadstone.addons.pages.server import CONNECTIONS_MAX, Listening, serve
from loadstone.addons.pages.settings import PageSettings
from loadstone.addons.pages.started_runs import NICE
from loadstone.machine.placement import place
from loadstone.measure.machine_lock import VARIABLE
from loadstone.safety.errors import UserError

from .conftest import PATIENCE_S, Pages, serving


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        (Listening("0.0.0.0"), "--listen 0.0.0.0: who reads the network could start programs here; add --cert"),
        (Listening("box.example"), "--listen box.example: who reads the network"),
        (Listening("::"), "--listen ::: who reads the network"),
        (Listening(certificate=Path("x.pem")), "--cert, --key: give both"),
        (Listening(certificate=Path("no.pem"), key=Path("no.pem"), port=0), "--cert no.pem: No such file"),
        (Listening("192.0.2.1", insecure=True), "cannot listen at 192.0.2.1"),
    ],
)
def test_it_is_offered_to_others_only_where_it_is_meant(listening: Listening, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        serve(PageSettings(), listening, lambda *_: None)


def test_over_tls_the_cookie_is_for_tls_alone(tmp_path: Path, certificates: Certificates) -> None:
    words = ("--listen", "127.0.0.1", "--cert", str(certificates.cert), "--key", str(certificates.key))
    with serving(tmp_path, *words) as pages:
        assert pages.base.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificates.ca))
        with httpx.Client(base_url=pages.base.replace("127.0.0.1", "localhost"), verify=trusting) as client:
            answer = client.get("/", params={"open": pages.token})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert "; Secure" in cookie


def test_a_taken_port_is_said_in_a_line(pages: Pages) -> None:
    port = int(pages.base.rpartition(":")[2])
    with pytest.raises(UserError, match=f"--port {port}: cannot listen at 127.0.0.1"):
        serve(PageSettings(), Listening(port=port), lambda *_: None)


def test_of_one_run_no_other_page_is_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "plan.json").write_text("{}")
    with serving(tmp_path, "--run", "a") as pages:
        for path in (
            "/runs",
            "/experiments/aof-modes",
            "/edit",
            "/doctor",
            "/runs/b",
            "/runs/b/stream",
            "/compare",
        ):
            assert pages.client.get(path).status_code == 404, path
        for path in ("/quick/start", "/fleet", "/edit/save", "/runs/b/stop", "/runs/b/resume", "/runs/a/remove"):
            assert pages.client.post(path).status_code in (404, 405), path


@pytest.mark.parametrize("name", ["link", "%2e%2e", "..%2fexperiments", "nothing", "%00", "a%2f..%2fa", "file"])
def test_a_name_is_one_of_the_folders_runs(pages: Pages, name: str) -> None:
    """A link to a run elsewhere, a folder that is no run, a path."""
    elsewhere = pages.runs.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "plan.json").write_text("{}")
    link, nothing = pages.runs / "link", pages.runs / "nothing"
    if not link.is_symlink():
        link.symlink_to(elsewhere)
        nothing.mkdir()
        (nothing / "plan.json").symlink_to(elsewhere / "plan.json")
        (pages.runs / "file").write_text("")
    for path in (f"/runs/{name}", f"/runs/{name}/stream"):
        assert pages.client.get(path).status_code in (303, 404), path
    for path in (f"/runs/{name}/stop", f"/runs/{name}/resume"):
        assert pages.client.post(path).status_code in (404, 405), path


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    with serving(tmp_path) as pages:
        pages.process.send_signal(signal.SIGINT)
        assert pages.process.wait(30) == 0
    assert (tmp_path / "serve.err").read_text() == ""


def test_watch_opens_the_page_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run with `--watch`, and a browser that only keeps where it is sent."""
    opened, runs = tmp_path / "opened", tmp_path / "runs"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    words = ["redis", "-t", "get", "-c", "1", "--duration", "2s", "--out", str(runs), "--share-machine", "--watch"]
    run = subprocess.Popen([sys.executable, "-m", "loadstone", *words], stdout=subprocess.DEVNULL)
    page = 0
    try:
        end = time.monotonic() + PATIENCE_S
        while not opened.exists() or not (folders := list(runs.glob("2*"))):
            assert time.monotonic() < end, "no page was opened"
            assert run.poll() is None
            time.sleep(0.05)
        page = next(pid for pid in _children(run.pid) if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes())
        with httpx.Client(follow_redirects=True, timeout=PATIENCE_S) as client:
            shown = client.get(opened.read_text())
            assert (shown.status_code, shown.url.path) == (200, f"/runs/{folders[0].name}")
            assert "open=" not in str(shown.url)
            # A browser's command line can be read by all users: what stands there opens the page a single time.
            assert httpx.get(opened.read_text()).status_code == 403
            assert run.wait(PATIENCE_S) == 0
            assert "TPS" in client.get(f"{shown.url}/report").text  # it stays when the run has ended
    finally:
        run.kill()
        run.wait()
        if page:
            os.kill(page, signal.SIGTERM)


def _children(pid: int) -> list[int]:
    found = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(one) for one in " ".join(found).split()]


def test_who_says_nothing_takes_no_place(pages: Pages) -> None:
    """More connections than the server has files for: the oldest of those without a request go."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    at = pages.base.removeprefix("http://").split(":")
    with contextlib.ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        silent = [
            held.enter_context(socket.create_connection((at[0], int(at[1])))) for _ in range(CONNECTIONS_MAX + 60)
        ]
        silent[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert pages.client.get("/runs").status_code == 200
        silent[0].settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
        silent[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            silent[-1].recv(1)


def test_who_says_nothing_before_tls_is_agreed_on_is_closed(tmp_path: Path, certificates: Certificates) -> None:
    """As over plain TCP, where asyncio alone would hold it, and a file, for a minute."""
    assert PATIENCE_S < asyncio.constants.SSL_HANDSHAKE_TIMEOUT
    words = ("--listen", "127.0.0.1", "--cert", str(certificates.cert), "--key", str(certificates.key))
    with serving(tmp_path, *words) as pages:
        at = pages.base.removeprefix("https://").split(":")
        with socket.create_connection((at[0], int(at[1])), timeout=PATIENCE_S) as silent:
            with contextlib.suppress(ConnectionResetError):
                assert silent.recv(1) == b""
            assert pages.client.get("/runs").status_code == 200


def test_the_pages_give_way_and_what_they_start_does_not(tmp_path: Path) -> None:
    """By /proc: the priority of the thread that answers, and that of a command that a page starts."""
    (tmp_path / "lock").mkdir()
    own_folders = {"XDG_CACHE_HOME": str(tmp_path / "cache"), VARIABLE: str(tmp_path / "lock")}
    with serving(tmp_path, variables=own_folders) as pages:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, pages.process.pid) == min(19, own + NICE)
        answer = pages.client.post("/quick/start", data={"kind": "redis", "time": "60s", "url": "redis://127.0.0.1:1"})
        assert answer.status_code == 303, answer.text
        (note,) = (tmp_path / "cache").rglob("*.json")
        pid = json.loads(note.read_text())["pid"]
        assert (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)) == (own, os.SCHED_OTHER)
        assert os.sched_getaffinity(pages.process.pid) == set(place().lab_cpus)
        assert os.sched_getaffinity(pid) == os.sched_getaffinity(0), "a run places itself"
        machine = pages.client.get("/doctor").text
        assert escape(str(place().note)) in machine, "what a run may use, and not what the pages keep to"
