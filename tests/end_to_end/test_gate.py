"""`loadstone gate` on a real service: the status, `gate.json`, and that nothing is left behind."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from loadstone import __version__
from tests.end_to_end.conftest import Lab

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
    assert "SLOWER by" in done.out.splitlines()[0]
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


def test_a_command_that_ends_at_once_says_why(lab: Lab) -> None:
    versions = (f"sh -c 'echo no licence; exit {status}' {{port}}" for status in (2, 3))
    base, head = versions
    done = lab.loadstone("gate", "--base", base, "--head", head)
    assert done.status == 2
    side = done.error_line.removeprefix("loadstone: --")[:4]
    assert side in ("base", "head"), "whichever is started first"
    assert done.error_line == (f"loadstone: --{side}: it ended while it started, and its last lines are: no licence")
