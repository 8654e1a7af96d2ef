import asyncio
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.addons.pages.conftest import Pages, serving

from loadstone.addons.pages.following import READ_BYTES, STREAMS_MAX, Followers, Tail
from loadstone.machine.process_identity import boot_id, started
from loadstone.run_folder.files import EVENTS, PLAN


def line(what: str, **more: Any) -> bytes:
    return json.dumps({"format": 1, "unix_s": time.time(), "what": what, **more}).encode() + b"\n"


def began(pid: int) -> bytes:
    return line("began", pid=pid, pid_started_ticks=started(pid), boot=boot_id(), experiment="json")


def test_lines_are_read_once_each_however_they_arrive(tmp_path: Path) -> None:
    path = tmp_path / EVENTS
    tail = Tail(path)
    with pytest.raises(FileNotFoundError):
        tail.read()
    first, second = line("log", text="a"), line("log", text="b")
    for data, expected in ((first, ["a"]), (second[:10], []), (second[10:], ["b"]), (b"not json\n{}\n[]\n", [])):
        with path.open("ab") as file:
            file.write(data)
        assert [one["text"] for one in tail.read()[0]] == expected
    os.truncate(path, len(first))  # a half-written line was cut away
    tail.read()
    with path.open("ab") as file:
        file.write(line("log", text="c"))
    assert [one["text"] for one in tail.read()[0]] == ["c"]


def test_a_line_without_end_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / EVENTS
    with path.open("wb") as file:
        file.write(b"x" * (3 * READ_BYTES))
        file.write(b"\n" + line("log", text="after"))
        file.truncate(3 * READ_BYTES + 200 + 10 * READ_BYTES)  # and a hole
    tail, found, more = Tail(path), [], True
    while more:
        lines, more = tail.read()
        found += [one["text"] for one in lines]
        assert len(tail._rest) <= READ_BYTES
    assert found == ["after"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / EVENTS
    path.symlink_to("/etc/passwd") if kind == "link" else os.mkfifo(path)
    with pytest.raises(OSError, match=r"."):
        Tail(path).read()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for a run's."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        yield process
        process.kill()


def test_viewers_share_a_reader_and_hear_of_a_kill_within_two_seconds(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / EVENTS).write_bytes(began(sleeper.pid) + line("log", text="hello"))

    async def watch() -> tuple[float, list[int]]:
        followers = Followers()
        first, second = await followers.of(tmp_path), await followers.of(tmp_path)
        assert first is second
        assert (first.fate, [text for _, text in first.told.log]) == ("running", ["hello"])

        async def view() -> int:
            return sum([1 async for _ in first.changes()])

        viewers = [asyncio.create_task(view()) for _ in range(10)]
        await asyncio.sleep(0.1)
        with (tmp_path / EVENTS).open("ab") as file:
            file.write(line("log", text="more"))
        await asyncio.sleep(1.0)
        killed = time.monotonic()
        sleeper.kill()
        sleeper.wait()
        seen = await asyncio.gather(*viewers)
        assert first.fate == "killed"
        return time.monotonic() - killed, seen

    took_s, seen = asyncio.run(watch())
    assert took_s < 2
    assert set(seen) == {2}


def test_a_run_that_said_its_end_is_over_at_once(tmp_path: Path) -> None:
    (tmp_path / EVENTS).write_bytes(began(os.getpid()) + line("ended", status=3, why="a server is gone"))
    run = asyncio.run(_of(tmp_path))
    assert (run.fate, run.told.ended) == ("ended", {"status": 3.0, "why": "a server is gone"})


async def _of(folder: Path) -> Any:
    return await Followers().of(folder)


@pytest.fixture
def pages(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> Iterator[Pages]:
    folder = tmp_path / "runs" / "20261126T125116Z-json"
    folder.mkdir(parents=True)
    (folder / PLAN).write_text("{}")
    (folder / EVENTS).write_bytes(began(sleeper.pid) + line("log", text="<script>alert(1)</script>"))
    with serving(tmp_path) as found:
        yield found


def test_streams_are_bounded_and_end_with_the_run(pages: Pages) -> None:
    address = "/runs/20261126T125116Z-json/stream"
    events = pages.runs / "20261126T125116Z-json" / EVENTS
    limits = httpx.Limits(max_connections=200)
    with contextlib.ExitStack() as held:
        client = held.enter_context(
            httpx.Client(base_url=pages.base, cookies=pages.client.cookies, limits=limits, timeout=30)
        )
        assert client.head(address).status_code == 200
        for _ in range(STREAMS_MAX):  # gone before they are answered, they take no place
            gone = socket.create_connection((client.base_url.host, client.base_url.port or 80))
            cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            gone.sendall(f"GET {address} HTTP/1.1\r\nHost: {pages.base[7:]}\r\nCookie: {cookies}\r\n\r\n".encode())
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
        streams = [held.enter_context(client.stream("GET", address)) for _ in range(STREAMS_MAX)]
        assert {one.status_code for one in streams} == {200}
        assert client.get(address).status_code == 503
        for stream in streams[10:]:  # they go away in the middle, while something changes
            with events.open("ab") as file:
                file.write(line("log", text="more"))
            stream.close()
        page = client.get("/runs/20261126T125116Z-json")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert" in page.text
        with events.open("ab") as file:
            file.write(line("ended", status=0, why=""))
        text = "".join(streams[0].iter_text())
        assert text.endswith("event: over\ndata: \n\n")
        assert "<script>alert" not in text
    pages.client.get(address)  # they are free again
    assert (pages.runs.parent / "serve.err").read_text() == ""
    assert pages.client.get(address).status_code == 200
