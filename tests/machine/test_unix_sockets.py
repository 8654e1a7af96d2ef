"""Unix sockets as the kernel tells them: which listen, and which is the other end of which."""

import os
import socket
import sys
from pathlib import Path

import pytest

from loadstone.machine import unix_sockets as module
from loadstone.machine.unix_sockets import UnixSocket, unix_sockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own tables are read")


def known(one: socket.socket) -> UnixSocket | None:
    return unix_sockets().get(os.fstat(one.fileno()).st_ino)


@pytest.mark.parametrize("abstract", [False, True])
def test_the_ends_of_a_connection_know_each_other(tmp_path: Path, abstract: bool) -> None:
    path = str(tmp_path / "of a server.sock")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(f"\0{path}" if abstract else path)
        assert known(listener) is None, "it is bound, and neither listens nor is connected"
        listener.listen()
        client.connect(f"\0{path}" if abstract else path)
        taken, _ = listener.accept()
        with taken:
            at_server, at_client, listens = known(taken), known(client), known(listener)
    assert at_server is not None
    assert at_client is not None
    assert listens is not None
    assert (at_client.peer, at_server.peer) == (at_server.inode, at_client.inode)
    assert (listens.listens, at_server.listens, at_client.listens) == (True, False, False)
    assert listens.path == at_server.path == ("@" if abstract else "") + path
    assert listens.file == at_server.file
    assert bool(listens.file) is not abstract
    assert at_client.path == ""
    assert known_again(path, listens, abstract)


def known_again(path: str, first: UnixSocket, abstract: bool) -> bool:
    """Whether a server that listens at the path anew is told apart, where it made a file anew."""
    with socket.socket(socket.AF_UNIX) as listener:
        if not abstract:
            Path(path).rename(f"{path}.old")
        listener.bind(f"\0{path}" if abstract else path)
        listener.listen()
        again = known(listener)
    return again is not None and (again.file != first.file) is not abstract


def test_datagrams_are_left_out() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        assert known(one) is None


def test_where_the_kernel_does_not_tell_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SOCK_DIAG", 99)
    assert unix_sockets() == {}
    monkeypatch.setattr(sys, "platform", "darwin")
    assert unix_sockets() == {}
