"""A real server of pages, as `loadstone serve` starts it, and whoever asks it."""

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from selenium import webdriver
from tests.browsers import chromium
from tests.calling import Running, calling

PATIENCE_S = 30.0
ADDRESS = re.compile(rb"(https?://[^/\s]+)/\S*\?open=(\S+)")


@dataclass(frozen=True)
class Pages:
    """A server of pages that runs."""

    base: str
    """`http://127.0.0.1:PORT`."""
    token: str
    client: httpx.Client
    """One that has shown the token; it is of this server's own pages."""
    process: Running
    runs: Path
    experiments: Path

    @property
    def entry(self) -> str:
        """The address that it printed."""
        return f"{self.base}/?open={self.token}"


Serve = Callable[..., AbstractContextManager[Pages]]


@contextmanager
def serving(
    folder: Path, *words: str, runs: Path | None = None, variables: dict[str, str] | None = None
) -> Iterator[Pages]:
    """`loadstone serve` on a free port, with its runs and experiments in `folder`."""
    runs, experiments = runs or folder / "runs", folder / "experiments"
    for one in (runs, experiments):
        one.mkdir(parents=True, exist_ok=True)
    places = ("--runs", runs, "--experiments", experiments)
    errors = os.open(folder / "serve.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    process = calling("serve", "--port", "0", *places, *words, folder=folder, environment=variables, stderr=errors)
    os.close(errors)
    try:
        base, token = _printed(process, folder / "serve.err")
        with httpx.Client(base_url=base, headers={"origin": base}, timeout=PATIENCE_S, verify=False) as client:
            assert client.get("/", params={"open": token}, follow_redirects=True).status_code == 200
            yield Pages(base, token, client, process, runs, experiments)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


def _printed(process: Running, errors: Path) -> tuple[str, str]:
    """The address and the token that the server printed."""
    assert process.stdout is not None
    text, end = b"", time.monotonic() + PATIENCE_S
    while (found := ADDRESS.search(text)) is None or not text.endswith(b"\n"):
        ready = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]
        more = os.read(process.stdout.fileno(), 4096) if ready else b""
        assert more, f"it printed no address: {text!r} {errors.read_text()}"
        text += more
    return found[1].decode(), found[2].decode()


@pytest.fixture
def serve() -> Serve:
    """Starts servers: `with serve(tmp_path) as pages: ...`."""
    return serving


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """One server for all tests of a file."""
    with serving(tmp_path_factory.mktemp("pages")) as found:
        yield found


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """One Chromium for all tests of pages."""
    with chromium(tmp_path_factory.mktemp("profile")) as chrome:
        yield chrome
