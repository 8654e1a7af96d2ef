"""`loadstone gate` on a real service: the status, `gate.json`, and that nothing is left behind."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from tests.end_to_end.conftest import Lab

from loadstone import __version__

pytestmark = pytest.mark.timeout(300)

SERVICE = """
import asyncio, hashlib, sys
rounds = int(sys.argv[2])

async def serve(reader, writer):
    try:
        while True:
            await reader.readuntil(b"\\r\\n\\r\\n")
            digest = b""
            for _ in range(rounds):
                digest = hashlib.sha256(digest).digest()
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.fixture
def service(lab: Lab) -> Path:
    path = lab.folder / "service.py"
    path.write_text(SERVICE)
    return path


def test_a_version_that_costs_twice_as_much_is_red(lab: Lab, service: Path) -> None:
    base, head = (f"{sys.executable} {service} {{port}} {rounds}" for rounds in (50, 400))
    (lab.folder / "two.http").write_text("# @weight 3\nGET /a\n###\nGET /b?c=d\n")
    load = ("--request-file", "two.http", "--budget", "90s", "--level", "0.05", "--out", "runs")
    done = lab.loadstone("gate", "--base", base, "--head", head, *load)
    assert "Traceback" not in done.err
    assert done.status == 1, done.out + done.err
    assert "50 against" in done.out or "400 against" in done.out
    assert "SLOWER, " in done.out.splitlines()[0]
    assert " times [" in done.out.splitlines()[0]
    (folder,) = (lab.folder / "runs").glob("*/")
    result = json.loads((folder / "gate.json").read_text())
    assert (result["verdict"], result["status"], result["level"]) == ("slower", 1, 0.05)
    drives = [json.loads(line)["facts"]["drive"] for line in (folder / "trials.jsonl").read_text().splitlines()]
    sent = [sum(one["commands"][name]["sent"] for one in drives if one) for name in ("GET /a", "GET /b?c=d")]
    assert 2 < sent[0] / sent[1] < 4
    cpu = next(one for one in result["figures"] if one["name"] == "cpu")
    assert cpu["slower_low"] > cpu["tolerance"]
    assert result["message"]["text"] in done.out
    assert result["machine"]["loadstone"] == __version__
    report = (folder / "report.md").read_text()
    assert report.index("## The gate's figures") < report.index("## Verdicts"), "its answer stands first"
    assert "cut short" not in report, "nothing is to be resumed"
    assert "incomplete" not in report
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(service) in (one.info["cmdline"] or [])]


@pytest.mark.parametrize("side", ["base", "head"])
def test_one_that_does_not_start_is_named_with_what_it_said_first(lab: Lab, service: Path, side: str) -> None:
    usage = "; ".join(f"echo usage {line}" for line in range(9))
    commands = {"base": f"{sys.executable} {service} {{port}} 1", "head": f"{sys.executable} {service} {{port}} 2"}
    commands[side] = f"sh -c 'echo flag provided but not defined; {usage}; exit 2' {{port}}"
    done = lab.loadstone("gate", "--base", commands["base"], "--head", commands["head"], "--budget", "20s")
    assert done.status == 2
    assert done.error_line == (
        f"loadstone: --{side}: it ended while it started, and its last lines are: "
        "flag provided but not defined | ... | usage 6 | usage 7 | usage 8"
    )
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(service) in (one.info["cmdline"] or [])]


def test_a_command_that_ends_at_once_says_why(lab: Lab) -> None:
    versions = (f"sh -c 'echo no licence; exit {status}' {{port}}" for status in (2, 3))
    base, head = versions
    done = lab.loadstone("gate", "--base", base, "--head", head)
    assert done.status == 2
    side = done.error_line.removeprefix("loadstone: --")[:4]
    assert side in ("base", "head"), "whichever is started first"
    assert done.error_line == (f"loadstone: --{side}: it ended while it started, and its last lines are: no licence")


@contextmanager
def asked() -> Iterator[tuple[str, set[str]]]:
    """A service on loopback: its URL, and the targets of the GETs that it got."""
    targets: set[str] = set()

    class Service(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            targets.add(self.path)
            self.do_HEAD()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", targets
        finally:
            server.shutdown()
            thread.join()


def test_one_service_by_two_addresses_is_no_two_versions(lab: Lab) -> None:
    with asked() as (url, _):
        urls = ("--base-url", f"{url}/a", "--head-url", f"{url.replace('127.0.0.1', 'localhost')}/a")
        done = lab.loadstone("gate", *urls, "--keys", "1", "--budget", "12s", "--connections", "2", "--share-machine")
    assert done.status == 3, done.out + done.err
    assert "INVALID: base and head are one process that gets the same requests" in done.out


@pytest.mark.parametrize(
    ("base", "head", "options", "sent"),
    [
        ("/a", "/b", (), ({"/a"}, {"/b"})),
        ("/items?a=1", "/things/?b={number}", (), ({"/items?a=1"}, {"/things/?b=1"})),
        ("/old", "", ("--path", "/items?a=1"), ({"/old/items?a=1"}, {"/items?a=1"})),
    ],
)
def test_each_service_is_asked_for_what_its_url_says(
    lab: Lab, base: str, head: str, options: tuple[str, ...], sent: tuple[set[str], set[str]]
) -> None:
    with asked() as (first, of_base), asked() as (second, of_head):
        urls = ("--base-url", f"{first}{base}", "--head-url", f"{second}{head}")
        done = lab.loadstone("gate", *urls, *options, "--keys", "1", "--budget", "3s", "--connections", "2")
    assert "Traceback" not in done.err
    assert (of_base, of_head) == sent, done.out + done.err
