"""A process is ended only if it is the one that was written down."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from loadstone.machine import process_identity
from loadstone.machine.process_identity import end_identified, identify, signal_if

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are identified by /proc")


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody, in a process group of its own."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def lives(process: subprocess.Popen[bytes]) -> bool:
    """Whether it was not killed: a signal that was sent has arrived when the next one is refused."""
    return process.poll() is None


def test_the_process_that_was_written_down_is_ended(stranger: subprocess.Popen[bytes]) -> None:
    noted = identify(stranger.pid)
    assert noted is not None
    assert end_identified(noted)
    assert stranger.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "change",
    [{"started_ticks": 1}, {"boot": "another start of the machine"}, {"command": "/bin/other"}, {"command": ""}],
    ids=["given out again", "after another start of the machine", "another program", "program unknown"],
)
def test_a_process_that_got_the_number_later_is_not_ended(
    stranger: subprocess.Popen[bytes], change: dict[str, object]
) -> None:
    noted = identify(stranger.pid)
    assert noted is not None
    assert not end_identified(noted._replace(**change))
    assert lives(stranger)


@pytest.mark.parametrize("pid", [-1, 0, 1])
def test_numbers_that_mean_many_processes_are_never_signalled(pid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(process_identity, "_own_line", set)
    monkeypatch.setattr(process_identity.os, "getpgid", lambda _: os.getpgrp() + 1)
    monkeypatch.setattr(process_identity.os, "kill", lambda target, _: sent.append(target))
    monkeypatch.setattr(process_identity.signal, "pidfd_send_signal", lambda *_: sent.append(pid))
    assert not signal_if(pid, signal.SIGKILL, lambda: True)
    assert sent == []


def test_neither_this_process_nor_what_it_descends_from_nor_its_group_is_signalled() -> None:
    with subprocess.Popen(["sleep", "600"]) as beside:  # in the process group of the tests
        for pid in (os.getpid(), os.getppid(), beside.pid):
            assert not signal_if(pid, 0, lambda: True)
        beside.kill()


def test_a_process_that_ended_while_it_was_looked_at_is_not_signalled(stranger: subprocess.Popen[bytes]) -> None:
    def end_it() -> bool:
        stranger.kill()
        stranger.wait()
        return True

    assert not signal_if(stranger.pid, signal.SIGTERM, end_it)


def test_without_file_descriptors_of_processes_it_is_looked_at_all_the_same(
    stranger: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    noted = identify(stranger.pid)
    assert noted is not None
    assert not end_identified(noted._replace(started_ticks=noted.started_ticks + 1))
    assert end_identified(noted)
    assert stranger.wait() == -signal.SIGKILL


def test_a_process_that_is_gone_has_no_identity(stranger: subprocess.Popen[bytes]) -> None:
    stranger.kill()
    assert identify(stranger.pid) is None or stranger.wait() is not None
    stranger.wait()
    assert identify(stranger.pid) is None
