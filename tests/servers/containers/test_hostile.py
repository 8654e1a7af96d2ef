"""Images that mean harm, with a real Podman; and engines that answer what no engine does, on a socket of the test's."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.podman import Podman

from loadstone.machine.processes.log_filter import LEFT_OUT
from loadstone.safety.errors import UserError
from loadstone.servers.containers import container, container_engine, container_guard
from loadstone.servers.containers.container import ContainerSettings
from loadstone.servers.containers.container_engine import Removal, find_engine
from loadstone.servers.server import DeployContext

FLOOD_BYTES = 200_000
"""The bound on a log in these tests; a real one is larger by far."""
READY_S = 2.0
PATIENCE_S = 60.0
"""How long a busy machine may take to make and to remove a container."""


def refusal(image: str, program: str, context: DeployContext) -> str:
    """Why a server in such a container does not start."""
    server = ContainerSettings(image=image, program=program).server("redis")
    with pytest.raises(UserError) as refused:
        server.start(context)
    assert not server.alive()
    return str(refused.value)


@pytest.mark.fault(
    "an image floods its output, never serves, ignores SIGTERM", "it ends in time; the disk stays free", area="drivers"
)
@pytest.mark.parametrize("program", ["floods", "silent"])
def test_one_that_never_serves_and_ignores_sigterm_ends_in_its_time(
    podman_found: Podman,
    hostile_image: str,
    context: DeployContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    """Neither its log at the engine nor the one that is kept grows without end; nothing of it stays."""
    monkeypatch.setattr(container, "FIRST_START_S", READY_S)
    monkeypatch.setattr(container_engine, "OUTPUT_BYTES_MAX", FLOOD_BYTES)
    sizes: list[int] = []
    over = threading.Event()

    def follow() -> None:
        while not over.wait(0.1):
            sizes.extend(path.stat().st_size for path in podman_found.folder.rglob("ctr.log") if path.is_file())

    follower = threading.Thread(target=follow)
    follower.start()
    began_s = time.monotonic()
    try:
        said = refusal(hostile_image, program, replace(context, log_folder=tmp_path / "logs"))
    finally:
        over.set()
        follower.join()
    assert said.startswith(f"server redis: not ready within {READY_S:g} s (server 127.0.0.1:")
    assert time.monotonic() - began_s < READY_S + PATIENCE_S
    assert podman_found.ours() == []
    assert max(sizes, default=0) < 4 * FLOOD_BYTES, "the engine keeps all that it prints"
    assert (tmp_path / "logs" / "redis.log").stat().st_size < 4 * FLOOD_BYTES


@pytest.mark.fault("an image ends at once", "one line with the end of its output", area="drivers")
def test_one_that_ends_at_once_says_why_in_one_line(
    podman_found: Podman, hostile_image: str, context: DeployContext
) -> None:
    said = refusal(hostile_image, "exits", context)
    assert said.startswith("server redis: it ended while it started; its log: ")
    assert "no license [2J" in said
    assert "\x1b" not in said
    assert "\n" not in said
    assert len(said) < 500
    assert podman_found.ours() == []


@pytest.mark.parametrize(
    "image",
    [
        "--privileged",
        "-v=/:/host",
        "redis:8 --privileged",
        "redis;id",
        "$(id)",
        "`id`",
        "redis|id",
        "../../etc",
        "a\nb",
        "",
    ],
)
def test_an_image_is_a_name_and_no_option(image: str) -> None:
    with pytest.raises(ValidationError, match="image"):
        ContainerSettings(image=image)


def test_a_program_is_one_word_of_a_command_line(
    podman_found: Podman, hostile_image: str, context: DeployContext, tmp_path: Path
) -> None:
    """What a shell would take for options and commands is the name of a program that is not there."""
    marker = tmp_path / "made"
    text = f"redis-server --privileged -v /:/host; touch {marker}"
    assert "it ended while it started" in refusal(hostile_image, text, context)
    assert not marker.exists()
    assert podman_found.ours() == []


Answer = Callable[[bytes], Iterator[bytes]]


@contextmanager
def engine(folder: Path, answer: Answer) -> Iterator[Path]:
    """A socket that answers each request by `answer`, piece by piece, and closes."""
    path = folder / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve(connection: socket.socket) -> None:
            with connection:
                try:
                    head = connection.recv(65536)
                    for piece in answer(head):
                        connection.sendall(piece)
                except OSError:
                    pass

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)


def whole(document: object) -> bytes:
    body = json.dumps(document).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def drips(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
    while True:
        time.sleep(0.1)
        yield b" "


def floods(_: bytes) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n"
    while True:
        yield b"x" * 1_000_000


VERSION = {"ApiVersion": "1.41", "Version": "24\x1b[2J" + "y" * 10_000, "Components": [{"Name": "Engine"}]}


def lies(document: object) -> Answer:
    """Says that it is an engine, and answers everything else with this."""

    def answer(head: bytes) -> Iterator[bytes]:
        yield whole(VERSION if b"/version " in head else document)

    return answer


@pytest.mark.fault("a container engine drips, never ends or answers nonsense", "one line in time", area="drivers")
@pytest.mark.parametrize("answer", [drips, floods], ids=lambda answer: answer.__name__)
def test_an_engine_that_never_comes_to_an_end_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    for module in (container_engine._Connection, container_engine._Pool, container_engine._BoundedAdapter):
        monkeypatch.setattr(module, "within_s", 1.0)
    monkeypatch.setattr(container_engine, "ANSWER_MAX_BYTES", 10_000_000)
    with engine(tmp_path, answer) as path:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        began_s = time.monotonic()
        with pytest.raises(UserError, match="no container engine answers") as refused:
            find_engine()
    assert time.monotonic() - began_s < PATIENCE_S
    assert "\n" not in str(refused.value)


@pytest.mark.fault("a container engine drips, never ends or answers nonsense")
@pytest.mark.parametrize("document", [[], {}, "no", 7, None, {"Id": [1], "Config": 7, "State": "up"}])
def test_an_engine_that_lies_is_one_line(
    tmp_path: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch, document: object
) -> None:
    with engine(tmp_path, lies(document)) as path:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        said = refusal("localhost/redis:8", "redis-server", context)
    assert said.startswith("server redis: ")
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 1000


@pytest.mark.fault("a container engine drips, never ends or answers nonsense")
@pytest.mark.parametrize(
    "answer", [drips, floods, lambda _: iter([b"SSH-2.0-OpenSSH\r\n"])], ids=["drips", "floods", "ssh"]
)
def test_a_removal_ends_in_its_time_whatever_the_engine_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    """Also where the guard was killed, and loadstone itself removes."""
    monkeypatch.setattr(container_guard, "LIMITS", (1.0, 1.0, 1_000_000))
    with engine(tmp_path, answer) as path:
        removal = Removal(path, "loadstone-x", tmp_path / "log")
        removal._guard.kill()
        began_s = time.monotonic()
        assert str(removal.close())
    assert time.monotonic() - began_s < PATIENCE_S


@pytest.mark.fault("an image floods its output, never serves, ignores SIGTERM")
def test_what_a_container_printed_is_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_guard, "LOG_BYTES_MAX", 0)

    def endless(_: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield b"\x01\0\0\0" + (100_000).to_bytes(4, "big") + b"x" * 100_000

    monkeypatch.setattr(container_guard, "LIMITS", (5.0, 5.0, 10_000_000))
    with engine(tmp_path, endless) as path:
        container_guard.keep_log(str(path), "loadstone-x", str(tmp_path / "log"), str(tmp_path), ())
    kept = (tmp_path / "log").read_bytes()
    assert kept.endswith(LEFT_OUT)
    assert len(kept) == container_guard.START_BYTES + len(LEFT_OUT)
