"""Lets one run measure on a machine at a time: two would take CPUs, caches and disks from each other.

Each run leaves a note in a folder that all users of the machine share: who it is, and where it writes. A note is
believed only if it belongs to the user in its name, and if the process that it names is that user's and started when
the note says. So what a killed run left stops no one, and no one can speak for another. A run of an ordinary user does
not stop root's, which would give every user a way to stop it for ever; it is named all the same.

A note can be read by everyone and is written by its owner alone. What must be locked, between looking for others and
leaving the own note, is a file that its owner alone can open: whoever may read a file may lock it, too.
"""

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from loadstone.machine.process_identity import boot_id, started
from loadstone.machine.processes.own_folder import open_own_file, require_safe_parents
from loadstone.safety.errors import UserError
from loadstone.safety.terminal import printable
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

FOLDERS = ("/run/lock", "/tmp")
"""Where the notes are, the first one that can be written to; TMPDIR may differ between users."""
VARIABLE = "LOADSTONE_LOCK_FOLDER"
"""Names another folder for the notes: runs that do not share it do not notice each other."""
NAME = re.compile(r"loadstone-(?P<uid>0|[1-9]\d{0,9})-(?P<pid>[1-9]\d{0,9})-[0-9a-f]{16}\.run")
NOTE = re.compile(r"loadstone 1 (?P<started>\d{1,19}) (?P<boot>[0-9a-f-]{36}) (?P<space>\d{1,19}) (?P<folder>.+)\n")
NOTE_BYTES_MAX = 4096
FOLDER_LETTERS_MAX = 500
WAIT_STEP_S, REMARK_S = 1.0, 60.0
"""How often it is looked whether another run has ended, and how often that is said."""
PATIENCE_S = 5.0
"""How long another run of the same user may take between looking for others and leaving its own note."""


class AnotherRunMeasures(UserError):
    """This one cannot begin: its machine is taken."""


class OtherRun(NamedTuple):
    """A run that measures on this machine now."""

    uid: int
    pid: int
    folder: str
    """Where it writes; only letters that may be printed."""

    @property
    def label(self) -> AnyText:
        """As printed for people."""
        return said("{folder} (process {pid}, user {uid})", folder=self.folder, pid=self.pid, uid=self.uid)

    @property
    def recorded(self) -> dict[str, object]:
        """For the environment's record: without folders, which name users."""
        return {"run": os.path.basename(self.folder), "process": self.pid}  # noqa: PTH119


@contextmanager
def measuring(folder: Path, *, share: bool, remark: Callable[[str], None]) -> Iterator[list[OtherRun]]:
    """The only run on this machine while it lasts, or with `share` one of several; the others, each named by `remark`.

    Raises:
        AnotherRunMeasures: names its folder and process.
    """
    with contextlib.ExitStack() as held:
        places = _shared_folders()
        for place in places:
            held.callback(os.close, place)
        own = next((place for place in places if os.access(".", os.W_OK, dir_fd=place, effective_ids=True)), None)
        with _one_of_this_user(own):
            others = [other for place in places for other in _other_runs(place)]
            stopping = _stopping(others)
            if stopping is not None and not share:
                raise AnotherRunMeasures(
                    "another run is in progress on this machine: {stopping_label}; add --wait to begin when it ends, "
                    "or run at the same time with --share-machine, which disturbs the figures of both",
                    stopping_label=stopping.label,
                )
            if own is not None and (note := _leave_note(own, folder)) is not None:
                held.callback(_remove, own, note)
        for other in others:
            remark(
                _(
                    "another run is in progress on this machine at the same time: {run}; the figures of both suffer",
                    run=other.label,
                )
            )
        yield others


def wait_for_others(remark: Callable[[str], None], sleep: Callable[[float], None] = time.sleep) -> None:
    """Return when no other run measures here that would stop one of this user's; each is named once by `remark`."""
    named: set[tuple[int, int]] = set()
    waited_s = 0.0
    while (other := run_that_stops()) is not None:
        if (other.uid, other.pid) not in named or waited_s % REMARK_S < WAIT_STEP_S:
            told = _(
                "--wait: another run is in progress on this machine: {run}; this one begins when it ends",
                run=other.label,
            )
            if waited_s >= REMARK_S:
                told = _("{told}; {minutes:.0f} min so far", told=told, minutes=waited_s / 60)
            remark(told)
        named.add((other.uid, other.pid))
        sleep(WAIT_STEP_S)
        waited_s += WAIT_STEP_S


def runs_measuring() -> list[OtherRun]:
    """The other runs that measure on this machine now."""
    with contextlib.ExitStack() as held:
        places = _shared_folders()
        for place in places:
            held.callback(os.close, place)
        return [other for place in places for other in _other_runs(place)]


def run_that_stops() -> OtherRun | None:
    """The run that keeps one of this user from measuring now."""
    return _stopping(runs_measuring())


def noted(folder: Path) -> str:
    """A run's folder as `OtherRun.folder` has it."""
    return printable(str(folder.absolute()))[:FOLDER_LETTERS_MAX]


def _stopping(others: Sequence[OtherRun]) -> OtherRun | None:
    """The first that keeps a run of this user from measuring."""
    return next((other for other in others if other.uid in (0, os.geteuid()) or os.geteuid() != 0), None)


def _shared_folders() -> list[int]:
    """File descriptors of the folders with notes, as far as they can be trusted. Raises UserError."""
    if started(os.getpid()) is None:  # a system that does not say when a process started
        return []
    if named := os.environ.get(VARIABLE):
        try:
            return [_open_folder(named)]
        except OSError as error:
            raise UserError(
                "{variable}={named}: {strerror}; name a folder of your own, or leave it out",
                variable=VARIABLE,
                named=named,
                strerror=error.strerror,
            ) from None
    folders = []
    for path in FOLDERS:
        with contextlib.suppress(OSError):
            folders.append(_open_folder(path))
    return folders


def _open_folder(path: str) -> int:
    require_safe_parents(path)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def _one_of_this_user(place: int | None) -> Iterator[None]:
    """Runs of this user look for others one after another, so that of two that start at once one goes on."""
    if place is None:
        yield
        return
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # another user took the name: then without
            fd = open_own_file(f"loadstone-{os.geteuid()}.lock", place, os.O_RDWR | os.O_CREAT)
            held.callback(os.close, fd)
            deadline = time.monotonic() + PATIENCE_S
            while not _locked(fd) and time.monotonic() < deadline:
                time.sleep(0.02)
        yield


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _leave_note(place: int, folder: Path) -> str | None:
    """Its name; None if there is no room for it."""
    pid = os.getpid()
    name = f"loadstone-{os.geteuid()}-{pid}-{secrets.token_hex(8)}.run"
    text = f"loadstone 1 {started(pid)} {boot_id()} {_process_space()} {noted(folder)}\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(name, flags, 0o600, dir_fd=place)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(fd, 0o644)
    except OSError:
        _remove(place, name)
        return None
    return name


def _remove(place: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=place)


def _other_runs(place: int) -> list[OtherRun]:
    """The runs that measure now, in the order of their processes. Notes of this user's that are out of date go."""
    runs: dict[int, OtherRun] = {}
    for name in os.listdir(place):
        named = NAME.fullmatch(name)
        if named is None:
            continue
        uid, pid = int(named["uid"]), int(named["pid"])
        if pid == os.getpid():
            continue
        note = _note_of(place, name, uid)
        if note is not None and note["boot"] == boot_id() and int(note["space"]) != _process_space():
            continue  # of a container that shares the folder: its processes cannot be observed from here
        if note is not None and _is_running(note, uid, pid):
            runs[pid] = OtherRun(uid, pid, printable(note["folder"])[:FOLDER_LETTERS_MAX])
        elif uid == os.geteuid():
            _remove(place, name)
    return [runs[pid] for pid in sorted(runs)]


def _note_of(place: int, name: str, uid: int) -> re.Match[str] | None:
    """What a note says; None if it is gone, or not to be believed."""
    try:
        with os.fdopen(open_own_file(name, place, os.O_RDONLY, uid), "rb") as file:
            return NOTE.fullmatch(file.read(NOTE_BYTES_MAX).decode(errors="replace"))
    except OSError:
        return None


def _is_running(note: re.Match[str], uid: int, pid: int) -> bool:
    """Whether the process that a note names is that user's, and started when the note says."""
    return note["boot"] == boot_id() and _user_of(pid) == uid and started(pid) == int(note["started"])


def _user_of(pid: int) -> int | None:
    """Whose process it is; None if it cannot be observed."""
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
    return None


def _process_space() -> int:
    """The namespace that process ids are counted in: a container has its own; 0 where there are none."""
    with contextlib.suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    return 0
