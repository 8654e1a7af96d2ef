"""What a container printed is kept without secrets, whatever ended loadstone; a small engine stands for Docker."""

import stat
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.servers.containers.small_engine import OnUnixSocket, served

from loadstone.safety.secrets.known import learn
from loadstone.servers.containers.container_engine import Removal


def frame(stream: int, text: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text


OUTPUT = (
    frame(1, b"ready, requirepass Hunter2")
    + frame(2, b"a warning\n")
    + frame(1, b"secret and more\n" + b"x" * 200_000 + b"\n")
    + frame(1, b"at the end Hunter2")
)


class Engine(OnUnixSocket, BaseHTTPRequestHandler):
    """The three requests that the guard sends."""

    removed: list[str]

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(OUTPUT)

    def do_DELETE(self) -> None:
        self.removed.append(self.path)
        self.send_response(204)
        self.end_headers()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    removed: list[str] = []
    with served(tmp_path / "s", Engine, removed=removed) as path:
        yield path, removed


def check(log: Path) -> None:
    text = log.read_text()
    assert "Hunter2secret" not in text
    assert text.count("ready, requirepass ") == text.count("*** and more\n") == text.count("a warning\n") == 1
    assert text.endswith("at the end Hunter2"), "the beginning of a secret that never came is kept"
    assert len(text) == len("ready, requirepass *** and more\na warning\nat the end Hunter2") + 200_001
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_secret_is_kept_out_of_the_log(engine: tuple[Path, list[str]], tmp_path: Path) -> None:
    removal = Removal(engine[0], "loadstone-x", tmp_path / "log")
    learn("Hunter2secret")  # made after the guard was started
    assert removal.close() == ""
    check(tmp_path / "log")
    assert len(engine[1]) == 2


@pytest.mark.fault("a secret is logged in pieces, or while processes are killed")
@pytest.mark.parametrize("ended", ["loadstone", "guard"])
def test_it_is_so_whatever_is_killed(ended: str, engine: tuple[Path, list[str]], tmp_path: Path) -> None:
    removal = Removal(engine[0], "loadstone-x", tmp_path / "log")
    learn("Hunter2secret")
    removal.hide()
    assert removal._guard.stdin is not None
    if ended == "loadstone":
        removal._guard.stdin.close()  # as at its end
        removal._guard.wait()
        assert removal._guard.stdout is not None
        removal._guard.stdout.close()
    else:
        removal._guard.kill()
        removal._guard.wait()
        removal.hide()
        assert removal.close() == ""
    check(tmp_path / "log")
