"""A network of containers is asked for again where Podman fails by another network's end; a small engine stands in."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.servers.containers.small_engine import OnUnixSocket, served

from loadstone.safety.errors import UserError
from loadstone.servers.containers.container_engine import NETWORK_TRIES, Engine

GONE = "route ip+net: no such network interface"


class Podman(OnUnixSocket, BaseHTTPRequestHandler):
    """It refuses a network for these reasons, and makes it once there are none left."""

    refusals: list[str]

    def do_GET(self) -> None:
        parts = [{"Name": "Podman Engine", "Version": "4.3.1"}]
        self.answer(200, {"Version": "4.3.1", "ApiVersion": "1.41", "Components": parts, "Id": "n"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.refusals:
            self.answer(500, {"message": self.refusals.pop(0)})
        else:
            self.answer(201, {"Id": "n"})

    def answer(self, status: int, what: dict[str, Any]) -> None:
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def refusals() -> list[str]:
    return []


@pytest.fixture
def engine(tmp_path: Path, refusals: list[str]) -> Iterator[Engine]:
    with served(tmp_path / "s", Podman, refusals=refusals) as path:
        engine = Engine(path)
        yield engine
        engine.close()


def test_a_network_is_made_once_no_other_ends_meanwhile(engine: Engine, refusals: list[str]) -> None:
    refusals += [GONE] * (NETWORK_TRIES - 1)
    engine.make_network("loadstone-x")
    assert refusals == []


@pytest.mark.parametrize("why", [GONE, "no room is left"])
def test_what_does_not_pass_is_an_error(engine: Engine, refusals: list[str], why: str) -> None:
    refusals += [why] * (2 * NETWORK_TRIES)
    with pytest.raises(UserError, match=re.escape(why)):
        engine.make_network("loadstone-x")
    assert len(refusals) == (NETWORK_TRIES if why == GONE else 2 * NETWORK_TRIES - 1)
