"""What another user planted in a shared temporary folder is left alone, and harms no one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.machine.process_identity import identify
from loadstone.machine.processes import clean_up
from loadstone.machine.processes.clean_up import GROUPS, MARK, PROCESS, clear, group_name, note_group, remove_group
from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.resource_limits import Limits, limit
from loadstone.machine.processes.workspace import Workspace, sweep

NOBODY = 65534
PLANTED = "loadstone-redis-planted"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder another user's")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="there are no control groups")


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with loadstone."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def plant(root: Path, pids: str = "", group: Path | None = None) -> Path:
    """A folder that looks like one of ours that no one uses any more, with a 'control group' that holds `pids`."""
    folder = root / PLANTED
    folder.mkdir(mode=0o700)
    group = group or folder / group_name(PLANTED)
    group.mkdir(exist_ok=True)
    (group / "cgroup.procs").write_text(pids)
    (folder / MARK).touch(mode=0o600)
    (folder / GROUPS).touch(mode=0o600)
    (folder / GROUPS).write_text(f"{group}\n")
    return folder


def note(folder: Path, text: str) -> None:
    (folder / PROCESS).touch(mode=0o600)
    (folder / PROCESS).write_text(text)


def test_a_folder_of_another_user_is_neither_read_nor_removed(tmp_path: Path, victim: subprocess.Popen[bytes]) -> None:
    folder = plant(tmp_path)
    note(folder, json.dumps(identify(victim.pid)))
    sweep(tmp_path, owner=os.geteuid() + 1)
    assert folder.exists()
    assert victim.poll() is None


@pytest.mark.fault("a planted folder or a reused process id", "no process of others is signalled", area="users")
@as_root
@pytest.mark.parametrize("pids", ["{victim}\n", "-1\n", "0\n", "1\n"])
def test_a_folder_that_no_one_planted_kills_no_process_of_root(
    tmp_path: Path, victim: subprocess.Popen[bytes], pids: str
) -> None:
    folder = plant(tmp_path, pids.format(victim=victim.pid))
    note(folder, json.dumps(identify(victim.pid)))
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    sweep(tmp_path)
    clear(str(folder))
    assert folder.exists()
    assert victim.poll() is None


@as_root
@pytest.mark.parametrize("name", [MARK, GROUPS, PROCESS])
def test_a_file_of_another_user_in_a_folder_of_ours_is_not_believed(
    tmp_path: Path, victim: subprocess.Popen[bytes], name: str
) -> None:
    folder = plant(tmp_path, f"{victim.pid}\n")
    note(folder, json.dumps(identify(victim.pid)))
    for other in {MARK, GROUPS, PROCESS} - {name}:
        if other == PROCESS:
            (folder / other).unlink()
    os.chown(folder / name, NOBODY, NOBODY)
    sweep(tmp_path)
    assert victim.poll() is None
    assert folder.exists() == (name == MARK)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_left_alone(
    tmp_path: Path, victim: subprocess.Popen[bytes], mode: int
) -> None:
    folder = plant(tmp_path)
    note(folder, json.dumps(identify(victim.pid)))
    folder.chmod(mode)
    sweep(tmp_path)
    clear(str(folder), without_mark=True)
    assert folder.exists()
    assert victim.poll() is None


def test_a_link_is_not_followed(tmp_path: Path, victim: subprocess.Popen[bytes]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = plant(elsewhere)
    note(folder, json.dumps(identify(victim.pid)))
    root = tmp_path / "root"
    root.mkdir()
    (root / "loadstone-link").symlink_to(folder)
    sweep(root)
    clear(str(root / "loadstone-link"), without_mark=True)
    assert folder.exists()
    assert victim.poll() is None


@pytest.mark.parametrize("name", [MARK, GROUPS, PROCESS])
@pytest.mark.parametrize("hard", [False, True], ids=["symbolic", "hard"])
def test_links_in_a_folder_of_ours_are_not_followed(
    tmp_path: Path, victim: subprocess.Popen[bytes], name: str, hard: bool
) -> None:
    folder, real = plant(tmp_path), tmp_path / "real"
    note(folder, json.dumps(identify(victim.pid)))
    if name == MARK:
        (folder / PROCESS).unlink()
    (folder / name).rename(real)
    (folder / name).hardlink_to(real) if hard else (folder / name).symlink_to(real)
    before = real.read_text()
    if name == GROUPS:
        (folder / PROCESS).unlink()
    sweep(tmp_path)
    assert victim.poll() is None
    assert real.read_text() == before


def test_what_a_link_in_an_old_folder_leads_to_is_not_removed(tmp_path: Path) -> None:
    folder = plant(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    (folder / "data").symlink_to(outside)
    sweep(tmp_path)
    assert not folder.exists()
    assert (outside / "kept").read_text() == "mine"


@pytest.mark.fault("a planted folder or a reused process id")
@pytest.mark.parametrize("pids", ["{victim}\n", "-1\n", "0\n", "1\n", "{victim}\n-1\n0\n1\n", "no number\n"])
def test_a_folder_that_is_no_control_group_kills_no_one(
    tmp_path: Path, victim: subprocess.Popen[bytes], pids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(clean_up, "signal_if", lambda pid, *_: sent.append(pid))
    folder = plant(tmp_path, pids.format(victim=victim.pid))
    remove_group(str(folder / group_name(PLANTED)), group_name(PLANTED))
    sweep(tmp_path)
    assert sent == []
    assert victim.poll() is None
    assert not folder.exists()


@pytest.mark.parametrize("pids", [[-1], [0], [1]])
def test_a_control_group_with_processes_that_cannot_be_observed_kills_no_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pids: list[int]
) -> None:
    # The kernel says 0 for a process of another namespace; kill(0) would end this whole process group.
    sent: list[int] = []
    monkeypatch.setattr(clean_up, "is_control_group", lambda _: True)
    monkeypatch.setattr(clean_up, "members", lambda _: pids)
    monkeypatch.setattr(clean_up, "PATIENCE_S", 0.02)
    monkeypatch.setattr(os, "kill", lambda pid, _: sent.append(pid))
    monkeypatch.setattr("loadstone.machine.process_identity.signal.pidfd_send_signal", lambda *_: sent.append(0))
    group = tmp_path / "loadstone-x"
    group.mkdir()
    (group / "cgroup.procs").touch()
    remove_group(str(group), "loadstone-x")
    assert sent == []


@on_linux
def test_a_control_group_of_another_name_is_not_emptied(tmp_path: Path) -> None:
    first, second = Workspace("first", tmp_path), Workspace("second", tmp_path)
    limited = limit(Limits(cpu=0.5), first)
    try:
        if limited.unavailable is not None:
            pytest.skip(f"no control groups for us here: {limited.unavailable}")
        note_group(str(second.path), str(limited.groups[0]))
        second.remove()
        assert limited.groups[0].exists()
    finally:
        first.remove()
    assert not limited.groups[0].exists()


@on_linux
@as_root
def test_a_control_group_of_another_user_is_not_emptied(tmp_path: Path) -> None:
    workspace = Workspace("limited", tmp_path)
    limited = limit(Limits(cpu=0.5), workspace)
    try:
        if limited.unavailable is not None:
            pytest.skip(f"no control groups for us here: {limited.unavailable}")
        os.chown(limited.groups[0], NOBODY, NOBODY)
        remove_group(str(limited.groups[0]), limited.groups[0].name)
        assert limited.groups[0].exists()
        os.chown(limited.groups[0], os.geteuid(), -1)
    finally:
        workspace.remove()


def test_a_process_that_outlived_its_guard_is_ended_by_the_next_run(
    tmp_path: Path, victim: subprocess.Popen[bytes]
) -> None:
    folder = plant(tmp_path)
    note(folder, json.dumps(identify(victim.pid)))
    sweep(tmp_path)
    victim.wait()
    assert not folder.exists()


@pytest.mark.fault("a planted folder or a reused process id")
def test_a_process_id_that_was_given_out_again_is_not_ended(tmp_path: Path, victim: subprocess.Popen[bytes]) -> None:
    folder, noted = plant(tmp_path), identify(victim.pid)
    assert noted is not None
    note(folder, json.dumps(noted._replace(started_ticks=noted.started_ticks - 1)))
    sweep(tmp_path)
    assert not folder.exists()
    assert victim.poll() is None


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[1]", '["1", 2, "boot", "x"]', "[-1, 0, null, null]", "[true, 1, 2, 3]", "\0"]
)
def test_a_note_that_is_none_ends_no_one_and_stops_no_run(tmp_path: Path, text: str) -> None:
    folder = plant(tmp_path)
    note(folder, text)
    sweep(tmp_path)
    assert not folder.exists()


def test_a_started_process_is_written_down(tmp_path: Path) -> None:
    workspace = Workspace("test", tmp_path)
    process = GuardedProcess(["sleep", "600"], workspace, workspace.path / "log")
    try:
        pid = process.start()
        assert json.loads((workspace.path / PROCESS).read_text()) == list(identify(pid) or ())
    finally:
        process.close()
    wait_until(lambda: is_gone(pid))


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_a_temporary_folder_in_which_others_replace_things_is_refused(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(OSError, match="every user may replace"):
        Workspace("redis", root)
    root.chmod(mode | 0o1000)  # as /tmp: no one can replace what is another's
    Workspace("redis", root).remove()


@as_root
def test_a_temporary_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "theirs"
    root.mkdir()
    os.chown(root, NOBODY, NOBODY)
    with pytest.raises(OSError, match="another user, 65534"):
        Workspace("redis", root)
