"""Every kind of server keeps the seam's promises (`servers/server.py`), and a wrong one is named in one line."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import is_users, software_of, with_tables
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.control import KeyStore, TableStore
from loadstone.servers.redis import packages
from loadstone.servers.server import DeployContext, Server

from ..podman import found_by

TABLES = [kind for software in with_tables() for kind in software.kinds]
"""Kinds of databases with tables."""
READ_BACK = {
    "mariadb": ("innodb_flush_log_at_trx_commit", "1"),
    "postgresql": ("synchronous_commit", "on"),
    "redis": ("maxmemory-policy", "noeviction"),
    "memcached": ("memory-limit", "64"),
}
"""A setting of each software that is read back, and its default."""
LAST_COMMANDS = {"mariadb": "SHUTDOWN", "postgresql": None, "redis": ("SHUTDOWN", "NOSAVE"), "memcached": None}
"""What ends each software from within; None: it has no statement for it."""
OWN_KEYS: dict[str, dict[str, Any]] = {
    "container": {"image": "localhost/redis:8"},
    "replicated": {"replicas": 1},
}
"""What a kind needs beside its name."""
FLAVOURS = {"valkey": "valkey"}
"""What a kind says that it is, where it is a relative of its software."""


MODULES = {"modules": ["json"]}


def has_modules(kind: str) -> bool:
    """Whether a server of this kind is given modules: the software says so itself."""
    software = software_of({"kind": kind})
    try:
        registry.make_server("store", {"kind": software.kinds[0], **MODULES})
    except UserError:
        return False
    return True


@pytest.fixture
def context(tmp_path: Path) -> Iterator[DeployContext]:
    with empty_again(tmp_path / "work") as context:
        yield context


@contextlib.contextmanager
def empty_again(root: Path) -> Iterator[DeployContext]:
    root.mkdir()
    yield DeployContext(work_root=root)
    assert list(root.iterdir()) == []


@pytest.fixture(scope="module")
def theirs(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Endpoint] | None]:
    """A server of the user's and where it listens, if the kind is one; it outlives all tests."""
    if not is_users({"kind": kind}):
        yield None
        return
    started = next(one for one in software_of({"kind": kind}).kinds if one != kind)
    theirs = registry.make_server("theirs", {"kind": started} | (MODULES if has_modules(started) else {}))
    with empty_again(tmp_path_factory.mktemp("theirs") / "work") as context:
        yield theirs, theirs.start(context)
        assert theirs.alive(), "a server that is not ours was ended"
        theirs.stop()


@pytest.fixture(scope="module")
def settings(
    kind: str, theirs: tuple[Server, Endpoint] | None, request: pytest.FixtureRequest
) -> Iterator[dict[str, Any]]:
    """Settings of each kind, as an experiment has them."""
    found = {"kind": kind, **OWN_KEYS.get(kind, {})} | (MODULES if has_modules(kind) else {})
    if kind == "process":
        found |= {"binary": str(packages.need_server())}
    if theirs is not None:
        _, endpoint = theirs
        scheme = software_of(found).schemes[0]
        found |= {"url": f"{scheme}://{endpoint.username or ''}:{endpoint.password}@{endpoint.label}"}
    with found_by(request.getfixturevalue("podman")) if kind == "container" else contextlib.nullcontext():
        yield found


@dataclass(frozen=True)
class Running:
    """A server that was started and stays as it is, but for the last two tests."""

    server: Server
    endpoint: Endpoint
    context: DeployContext


@pytest.fixture(scope="module")
def running(
    settings: dict[str, Any], theirs: tuple[Server, Endpoint] | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    server = registry.make_server("store", settings)
    with empty_again(tmp_path_factory.mktemp("running") / "work") as context:
        yield Running(server, server.start(context), context)
        server.stop()
        assert theirs is None or theirs[0].alive(), "a server that is not ours was ended"


def answers(server: Server) -> bool:
    try:
        with server.control() as control:
            control.ping()
    except LoadstoneError:
        return False
    return True


pytestmark = pytest.mark.parametrize("kind", list(registry.SERVERS), scope="module")


def test_a_started_server_serves_and_says_what_it_is(running: Running, kind: str) -> None:
    server = running.server
    assert running.endpoint.port
    assert answers(server)
    assert server.alive()
    assert server.facts.version
    software = software_of({"kind": kind})
    assert server.facts.software == FLAVOURS.get(kind, software.name)
    name, default = READ_BACK[software.name]
    assert server.settings_read_back[name] == default
    if has_modules(kind):
        assert server.facts.modules["ReJSON"]


def test_parts_are_named_after_the_server(running: Running, kind: str) -> None:
    server = running.server
    assert server.name == "store"
    assert server.pids
    assert all(part == "store" or part.startswith("store-") for part in server.pids)
    if "store" in server.pids and not (kind in TABLES and is_users({"kind": kind})):
        assert server.pids["store"] == server.facts.process_id


def test_nothing_of_ours_stays_in_it(running: Running) -> None:
    with running.server.control() as control:
        assert isinstance(control, TableStore | KeyStore)
        assert (control.tables() if isinstance(control, TableStore) else control.keys()) in ([], 0)


def test_a_password_is_never_shown(running: Running, settings: dict[str, Any]) -> None:
    endpoint, server = running.endpoint, running.server
    assert endpoint.password
    shown = [repr(endpoint), repr(server.facts), repr(server.settings_read_back), endpoint.label]
    shown.append(repr(registry.server_union().validate_python(settings)))
    assert endpoint.password not in " ".join(shown)


def test_settings_cannot_be_changed(settings: dict[str, Any], kind: str) -> None:
    validated = registry.server_union().validate_python(settings)
    assert type(validated) is registry.SERVERS[kind]
    with pytest.raises(ValidationError):
        validated.modules = ()  # type: ignore[misc]


def test_an_unknown_key_is_named(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"^servers\.store\.modulez: unknown key") as refused:
        registry.make_server("store", settings | {"modulez": []})
    assert "\n" not in str(refused.value)


def test_what_has_no_json_is_refused(
    settings: dict[str, Any], kind: str, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_modules(kind):
        pytest.skip("it has no modules, and so none for JSON")
    monkeypatch.setattr(packages, "JSON_WHEEL", "no-such-wheel")
    if kind == "url":
        plain = registry.make_server("plain", {"kind": "embedded"})
        endpoint = plain.start(context)
        settings = settings | {"url": f"redis://:{endpoint.password}@{endpoint.label}"}
    elif kind == "container":
        settings = settings | {"image": "localhost/bare-redis:8"}  # nothing in it loads the module
    try:
        with pytest.raises(UserError, match="JSON"):
            registry.make_server("store", settings).start(context)
    finally:
        if kind == "url":
            plain.stop()


def test_what_died_is_not_alive(running: Running) -> None:
    server = running.server
    if not server.ours:
        pytest.skip("a server of the user's is not ended, not even by a test of the contract")
    before = dict(server.pids)
    with server.control() as control, contextlib.suppress(ServerGone):
        last = LAST_COMMANDS[control.software]
        if last is None:
            os.kill(server.pids["store"], signal.SIGINT)
        elif isinstance(control, TableStore):
            control.run_script(last)
        else:
            control.call(*last)
    while server.alive():
        time.sleep(0.01)  # a loop without a pause would take the CPU from the one that is to end
    assert server.pids != before
    assert "store" not in server.pids
    server.restart()
    assert answers(server)


def test_it_is_restarted_and_stopped_and_started_again(
    running: Running, theirs: tuple[Server, Endpoint] | None
) -> None:
    """Only what is ours is stopped."""
    server = running.server
    server.restart()
    assert answers(server)
    assert server.alive()
    server.stop()
    server.stop()
    assert answers(server) is not server.ours
    assert theirs is None or theirs[0].alive()
    server.start(running.context)
    assert answers(server)
