"""The parts behind a service that the command line names: which process each is, and what is wrong with it."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.run import parts_behind as module
from loadstone.run.command_line import words_are_of_folder
from loadstone.run.parts_behind import NamedParts, named_parts
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redacted
from loadstone.servers.redis.session import RedisSession

from ..real_servers import UserRedis

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own files are read")


def parts(*texts: str) -> NamedParts:
    return named_parts(RunRequest(parts=texts))


def test_a_process_is_named_by_its_id_or_by_what_it_listens_at() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for what in (str(os.getpid()), f"redis://me:s3cret-word@127.0.0.1:{port}/0", f"http://localhost:{port}/path"):
            (part,) = parts(f"db={what}").parts
            assert (part.name, part.pid, part.control) == ("db", os.getpid(), None)
        assert "s3cret-word" not in redacted("s3cret-word")
    assert parts(f"db={os.getpid()}", "none") == NamedParts(parts(f"db={os.getpid()}").parts, finds=False)
    assert parts() == NamedParts()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redis", "--part redis: it has no name; write NAME=PROCESS"),
        ("redis://:s3cret-word@h:1", "--part redis://***@h:1: it has no name"),
        ("1=2", "--part 1=...: the name begins with a letter"),
        ("generator=2", "--part generator=...: a part of loadstone's is called so"),
        ("db=4194399", "--part db=4194399: there is no process 4194399; name one that runs"),
        ("db=99999999999999", "--part db=99999999999999: there is no process"),
        ("db=no-such-unit", "--part db=no-such-unit: no systemd unit and no container of this name runs here"),
        ("db=--help", "--part db=--help: no systemd unit"),
        ("db=redis://:s3cret-word@192.0.2.7:6379", "192.0.2.7 is not this machine, and only what runs here"),
        ("db=redis://:s3cret-word@127.0.0.1:1", "--part db=redis://***@127.0.0.1:1: nothing listens there"),
        ("db=ftp://127.0.0.1", "it names no host and port"),
        ("db=redis://127.0.0.1:port", "--part db=redis://127.0.0.1:port: "),
    ],
)
def test_what_is_no_process_of_this_machine_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parts(text)
    assert said in str(error.value)
    assert "s3cret-word" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def a_process() -> Iterator[int]:
    """One without children: below this one there may be servers of other tests."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_a_unit_is_known_by_its_control_group(monkeypatch: pytest.MonkeyPatch, a_process: int) -> None:
    groups = [(a_process, "/system.slice/shop.service"), (os.getppid(), "/user.slice")]
    monkeypatch.setattr(module, "_groups", lambda: iter(groups))
    assert [part.pid for part in parts("shop=shop", "again=shop.service").parts] == [a_process] * 2


def test_a_container_is_known_by_its_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, a_process: int) -> None:
    engine = tmp_path / "docker"
    engine.write_text(f'#!/bin/sh\n[ "$6" = shop-redis ] && echo {a_process}\n')
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert [part.pid for part in parts("db=shop-redis").parts] == [a_process]


def test_what_may_not_be_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "listening_here", lambda *_: None)
    monkeypatch.setattr(module, "is_another_users", lambda *_: True)
    with pytest.raises(UserError, match=r"another user's process.*write --part db=PID, or run loadstone as root"):
        parts("db=redis://127.0.0.1:6379")


def test_a_redis_by_its_url_is_asked_info_alone(user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis("--requirepass", "s3cret-word")
    url = f"redis://:s3cret-word@127.0.0.1:{theirs.port}"
    (part,) = named_parts(RunRequest(asked=(f"cache={url}",))).parts
    assert (part.name, part.pid, part.kind, part.software) == ("cache", theirs.pid, "watched redis", "redis")
    assert part.control.info()["used_cpu_user"] >= 0
    part.control.close()
    with RedisSession(Endpoint(port=theirs.port, password="s3cret-word")) as session:
        known = {"auth", "hello", "info", "client|setinfo", "select"}
        assert session.commandstats().keys() <= known
    with pytest.raises(UserError, match=r"--server cache: server .*: ") as error:
        named_parts(RunRequest(asked=(f"cache=redis://:another-word@127.0.0.1:{theirs.port}",)))
    assert "another-word" not in str(error.value)


def test_only_a_redis_is_asked_and_none_that_a_folder_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"only a Redis is asked.*--part db=PROCESS"):
        named_parts(RunRequest(asked=("db=mariadb://u:s3cret-word@h/d",)))
    with pytest.raises(UserError, match="write NAME=redis://HOST:PORT"):
        named_parts(RunRequest(asked=("redis://h",)))
    monkeypatch.setattr("loadstone.run.command_line._OF_FOLDER", [])
    words_are_of_folder(trusted=False)
    with pytest.raises(UserError, match="add --trust"):
        named_parts(RunRequest(asked=("db=redis://192.0.2.7",)))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("a host of the folder's is looked up"))
    with pytest.raises(UserError, match="add --trust"):
        parts("db=redis://${env:HOME}.example.org")
