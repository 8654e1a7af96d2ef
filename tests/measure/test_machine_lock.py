"""Two runs on one machine do not spoil each other in silence, and no one can stop another's runs for ever."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.machine.process_identity import boot_id, started
from loadstone.measure import machine_lock
from loadstone.measure.machine_lock import VARIABLE, measuring
from loadstone.safety.errors import UserError

NOBODY = 65534
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are identified by /proc")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what another user makes")

OTHER = """
import sys
from pathlib import Path
from loadstone.measure.machine_lock import measuring
with measuring(Path(sys.argv[1]), share=True, remark=print):
    print("measuring", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the notes."""
    folder = tmp_path / "lock"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture
def other(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Another run of this user, which measures now."""
    command = [sys.executable, "-c", OTHER, "runs/other"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert place.exists()
        assert process.stdout is not None
        assert process.stdout.readline() == "measuring\n"
        yield process
        process.kill()


def enter(*, share: bool = False) -> list[str]:
    """What is remarked when a run begins now."""
    remarks: list[str] = []
    with measuring(Path("runs/mine"), share=share, remark=remarks.append):
        return remarks


def write_note(place: Path, process: subprocess.Popen[bytes] | int, uid: int | None = None, **changed: object) -> Path:
    """The note of a run that is `process`, changed as an attacker may."""
    pid = process if isinstance(process, int) else process.pid
    uid = os.geteuid() if uid is None else uid
    fields = {"started": started(pid), "boot": boot_id(), "space": machine_lock._process_space(), "folder": "/x"}
    reported = fields | changed
    note = place / f"loadstone-{uid}-{pid}-0123456789abcdef.run"
    note.write_text(f"loadstone 1 {reported['started']} {reported['boot']} {reported['space']} {reported['folder']}\n")
    note.chmod(0o644)
    return note


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_a_second_run_is_refused_and_the_first_is_named(other: subprocess.Popen[str]) -> None:
    with pytest.raises(UserError) as raised:
        enter()
    line = str(raised.value)
    assert f"{Path('runs/other').absolute()} (process {other.pid}, user {os.geteuid()})" in line
    assert "--share-machine" in line
    assert "\n" not in line


def test_who_shares_the_machine_hears_of_the_other(other: subprocess.Popen[str]) -> None:
    with measuring(Path("runs/mine"), share=True, remark=lambda _: None) as others:
        assert [one.recorded for one in others] == [{"run": "other", "process": other.pid}]
    (line,) = enter(share=True)
    assert "the figures of both suffer" in line


def test_after_the_first_the_second_may_run(other: subprocess.Popen[str], place: Path) -> None:
    assert other.stdin is not None
    other.stdin.close()
    other.wait()
    assert enter() == []
    assert list(place.glob("*.run")) == []


def test_a_killed_run_stops_no_one_and_its_note_goes(other: subprocess.Popen[str], place: Path) -> None:
    other.kill()
    other.wait()
    assert len(list(place.glob("*.run"))) == 1
    assert enter() == []
    assert list(place.glob("*.run")) == []


def test_a_run_that_was_refused_leaves_no_note(other: subprocess.Popen[str], place: Path) -> None:
    with pytest.raises(UserError):
        enter()
    assert [path.name.split("-")[2] for path in place.glob("*.run")] == [str(other.pid)]


def test_a_process_that_has_the_number_now_is_no_run(place: Path, sleeper: subprocess.Popen[bytes]) -> None:
    write_note(place, sleeper, started=(started(sleeper.pid) or 0) - 1)
    assert enter() == []


def test_a_note_of_a_container_that_shares_the_folder_stays(place: Path) -> None:
    space = machine_lock._process_space() + 1
    theirs = write_note(place, 2**22 + 1, started=1, space=space)
    long_gone = write_note(place, 2**22 + 2, started=1, space=space, boot="0" * 36)
    assert enter() == []
    assert theirs.exists(), "its process cannot be seen from here"
    assert not long_gone.exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"boot": "00000000-0000-0000-0000-000000000000"},
        {"space": 1},
        {"started": "x"},
        {"started": "9" * 5000},
        {"folder": ""},
        {"folder": "a\nb"},
        {"folder": "x" * 10_000},
    ],
)
def test_a_note_that_is_none_stops_no_one(
    place: Path, sleeper: subprocess.Popen[bytes], changed: dict[str, object]
) -> None:
    write_note(place, sleeper, **changed)
    assert enter() == []


def test_a_folders_name_cannot_speak_to_the_terminal(place: Path, sleeper: subprocess.Popen[bytes]) -> None:
    write_note(place, sleeper, folder="/x\x1b]0;owned\x07\u202e")
    with pytest.raises(UserError) as raised:
        enter()
    assert r"/x\x1b]0;owned\x07\u202e (process" in str(raised.value)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "writable by others"])
def test_what_is_no_plain_file_of_its_user_is_not_read(
    place: Path, sleeper: subprocess.Popen[bytes], tmp_path: Path, kind: str
) -> None:
    note = write_note(place, sleeper)
    if kind == "link":
        note.rename(tmp_path / "note")
        note.symlink_to(tmp_path / "note")
    elif kind == "writable by others":
        note.chmod(0o666)
    else:
        note.unlink()
        os.mkfifo(note) if kind == "pipe" else note.mkdir()
    assert enter() == []


def test_a_note_of_this_user_that_names_anothers_process_is_not_believed(place: Path) -> None:
    write_note(place, 1, uid=os.geteuid() + 1)  # process 1 is not that user's
    assert enter() == []


@pytest.mark.fault("an ordinary user holds the machine's lock", "root's run goes on", area="users")
@as_root
def test_an_ordinary_user_cannot_stop_roots_runs(place: Path) -> None:
    process = subprocess.Popen(["sleep", "600"], user=NOBODY, group=NOBODY)
    try:
        note = write_note(place, process, uid=NOBODY)
        os.chown(note, NOBODY, NOBODY)
        (line,) = enter()
        assert f"process {process.pid}, user {NOBODY}" in line
    finally:
        process.kill()
        process.wait()


@as_root
def test_an_ordinary_user_cannot_speak_for_root(place: Path, sleeper: subprocess.Popen[bytes]) -> None:
    os.chown(write_note(place, sleeper), NOBODY, NOBODY)
    assert enter() == []


@as_root
def test_a_lock_that_another_user_took_blocks_no_one(place: Path) -> None:
    (place / "loadstone-0.lock").touch(mode=0o666)
    os.chown(place / "loadstone-0.lock", NOBODY, NOBODY)
    assert enter() == []


def test_a_link_in_place_of_the_lock_makes_no_file_elsewhere(place: Path, tmp_path: Path) -> None:
    (place / f"loadstone-{os.geteuid()}.lock").symlink_to(tmp_path / "made")
    assert enter() == []
    assert not (tmp_path / "made").exists()


@pytest.mark.usefixtures("other")
def test_a_run_of_another_user_stops_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.machine.processes.own_folder._trusted", lambda _: {0, os.getuid()})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UserError, match="another run is in progress"):
        enter()


def test_notes_can_be_read_by_everyone_and_the_lock_by_no_one_else(place: Path) -> None:
    with measuring(Path("runs/mine"), share=False, remark=print):
        (note,) = place.glob("*.run")
        (lock,) = place.glob("*.lock")
        assert note.stat().st_mode & 0o777 == 0o644
        assert lock.stat().st_mode & 0o777 == 0o600


def test_a_folder_for_the_notes_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(UserError, match=rf"{VARIABLE}=.*gone: .*; name a folder"):
        enter()
