"""`ledger.jsonl` of a run's folder: what the run made on servers that are not ours, and what of it is removed.

A line is on the disk before the thing is made. The file is made with the first of them; it holds no secret, and only
its owner may read or write it. A folder may be anybody's: a ledger is used only if no one but its owner can write it.
Its lines are described in `docs/run-folder.md`.
"""

import contextlib
import fcntl
import json
import os
import re
import secrets
import shlex
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from loadstone.machine.hardware import cpu_model, machine_id
from loadstone.machine.process_identity import started
from loadstone.run_folder.files import LEDGER
from loadstone.run_folder.ledger import Copies, CreatedObject, ObjectKind, ServerIdentity, describe, describe_place
from loadstone.run_folder.lines import FORMAT, LineFile, sync_directory, write_error
from loadstone.safety.bounds.folder_files import NotOfFolder, open_file
from loadstone.safety.errors import LoadstoneError, UserError

_KINDS: tuple[ObjectKind, ...] = get_args(ObjectKind)
LARGEST_BYTES = 64 * 1024 * 1024
"""A longer one is not read: a trial adds two lines of some 200 bytes."""
COPIES_MAX = 16
"""Number of copies of a server that are noted, and looked at by `clean`: each may take the time of a connection."""
DATA_SET = re.compile(r"[0-9a-zA-Z]{8,80}")
COUNT_MAX = 10**18
"""More keys than any run has; a larger number would fill the terminal with digits."""


@dataclass
class LedgerContent:
    """What a ledger says."""

    run_id: str
    run_name: str
    machine: str
    """`machine.hardware.machine_id` of where the run was made."""
    process: tuple[int, int]
    """Id and start of the process that wrote to it last, see `process_identity.started`; 0 where no one says."""
    open: dict[tuple[ServerIdentity, CreatedObject], None] = field(default_factory=dict)
    """What was made and not removed, in the order in which it was noted."""
    copies: dict[ServerIdentity, Copies] = field(default_factory=dict)
    """Where each place was copied to when the newest session began."""


def goes_on(entries: LedgerContent) -> bool:
    """Whether the process that wrote last to a ledger, or to what it is a copy of, still runs on this machine."""
    pid, started_ticks = entries.process
    if entries.machine != this_machine() or pid == os.getpid():
        return False
    return started_ticks > 0 and started(pid) == started_ticks


@dataclass
class LockedLedger:
    """A ledger that no other process has at this moment."""

    entries: LedgerContent | None
    """None: nothing is noted yet."""
    descriptor: int

    def close(self) -> None:
        """Give it free."""
        os.close(self.descriptor)


def is_needed(folder: Path) -> bool:
    """Whether the folder's ledger names something that is not removed yet, or cannot be read."""
    try:
        entries = read_ledger(folder)
    except UserError:
        return True
    return entries is not None and bool(entries.open)


def read_ledger(folder: Path) -> LedgerContent | None:
    """What the ledger of a folder says; None: there is none. Lines that are damaged say nothing.

    Raises:
        UserError: it cannot be trusted (a link, of another user, others may write to it), or cannot be read.
    """
    descriptor = _open(folder)
    if descriptor is None:
        return None
    try:
        return _read(folder / LEDGER, descriptor)
    finally:
        os.close(descriptor)


def open_locked(folder: Path) -> LockedLedger | None:
    """Open the ledger so that no other process has it until it is closed, or this process ends.

    Raises:
        UserError: as `read_ledger`, or another process has it: its run goes on, or is being cleaned up.
    """
    descriptor = _open(folder)
    if descriptor is None:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "{folder}: the run goes on, or is being cleaned up; wait for its end or stop it", folder=folder
            ) from None
        except OSError as error:
            raise UserError(
                "{folder}: cannot be locked: {strerror}", folder=folder / LEDGER, strerror=error.strerror
            ) from None
        return LockedLedger(_read(folder / LEDGER, descriptor), descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _open(folder: Path) -> int | None:
    path = folder / LEDGER
    try:
        return open_file(path)
    except FileNotFoundError:
        return None
    except NotOfFolder as error:
        raise UserError("{path}: not used: {strerror}", path=path, strerror=error.strerror) from None
    except OSError as error:
        why = str(error.strerror).lower()
        raise UserError(
            "{path}: not used: {why}; only a file that loadstone wrote there is", path=path, why=why
        ) from None


def _read(path: Path, descriptor: int) -> LedgerContent | None:
    _require_trusted(path, os.fstat(descriptor))
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return _entries(path, file.read(LARGEST_BYTES + 1))


def _require_trusted(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise UserError(
            "{path}: not used: it belongs to the user with the id {st_uid}; clean as that user",
            path=path,
            st_uid=status.st_uid,
        )
    if status.st_mode & 0o022:
        raise UserError(
            "{path}: not used: other users may write to it; check its content, then chmod 600 it", path=path
        )
    if status.st_size > LARGEST_BYTES:
        raise UserError(
            "{path}: not used: it has {st_size:,} bytes, more than any run writes; remove it",
            path=path,
            st_size=status.st_size,
        )


def _entries(path: Path, data: bytes) -> LedgerContent | None:
    entries: LedgerContent | None = None
    for text in data.split(b"\n")[:-1]:  # what a kill cut off was not made yet
        record = _parsed(text)
        if record is None:
            continue
        if record.get("format") != FORMAT:
            raise UserError(
                "{path}: format {get!r:.20} is not known; use the loadstone that wrote it",
                path=path,
                get=record.get("format"),
            )
        if record.get("what") == "run":
            entries = _session_of(record, entries)
        elif entries is not None and record.get("what") == "copied":
            entries.copies |= _copies_of(record)
        elif entries is not None and (key := _thing_of(record)) is not None:
            if record.get("what") == "makes":
                entries.open[key] = None
            elif record.get("what") == "removed":
                entries.open.pop(key, None)
    if entries is None and b"\n" in data:
        raise UserError("{path}: not used: it does not begin as a ledger does; remove it", path=path)
    return entries


def _parsed(text: bytes) -> Mapping[str, Any] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _session_of(record: Mapping[str, Any], earlier: LedgerContent | None) -> LedgerContent | None:
    """A session's line: the first names the run, and each who wrote from there on."""
    run, name, machine = record.get("run"), record.get("name"), record.get("machine")
    pid, started_ticks = record.get("pid"), record.get("pid_started_ticks")
    if not isinstance(run, str) or len(run) != 32 or set(run) - set("0123456789abcdef"):
        return earlier
    if not isinstance(name, str) or not isinstance(machine, str):
        return earlier
    if not isinstance(pid, int) or not isinstance(started_ticks, int):
        return earlier
    if earlier is None:
        return LedgerContent(run, name, machine, (pid, started_ticks))
    if earlier.run_id == run:
        earlier.process = (pid, started_ticks)
    return earlier


def _thing_of(record: Mapping[str, Any]) -> tuple[ServerIdentity, CreatedObject] | None:
    """The thing that a line is about; None where it is none."""
    place, name, count = _place_of(record), record.get("name"), record.get("count", 0)
    kind = next((kind for kind in _KINDS if kind == record.get("kind")), None)
    if place is None or not isinstance(name, str):
        return None
    if kind is None or isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return None
    return place, CreatedObject(kind, name, min(count, COUNT_MAX))


def _copies_of(record: Mapping[str, Any]) -> dict[ServerIdentity, Copies]:
    """The copies that a line is about, of its place; empty where it is none."""
    place, data_set, addresses = _place_of(record), record.get("data_set"), record.get("addresses")
    if place is None or not isinstance(data_set, str) or not DATA_SET.fullmatch(data_set):
        return {}
    if not isinstance(addresses, list) or not all(isinstance(one, str) and one.isascii() for one in addresses):
        return {}
    return {place: Copies(data_set, tuple(addresses[:COPIES_MAX]))}


def _place_of(record: Mapping[str, Any]) -> ServerIdentity | None:
    server, address, login = record.get("server"), record.get("address"), record.get("login")
    if not isinstance(server, str) or not isinstance(address, str) or not isinstance(login, bool):
        return None
    try:
        f"{server}{address}".encode()
    except UnicodeEncodeError:  # half a character, as in no address that can be reached
        return None
    return ServerIdentity(server, address, login)


def this_machine() -> str:
    """As `environment.json` names it, see `machine.hardware.machine_id`."""
    return machine_id(cpu_model())


class RunLedger:
    """The ledger of a run that goes on; see `run_folder.ledger.Ledger`. One process at a time has it."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError if the folder has a ledger already that cannot be trusted, or that another process has."""
        self._folder = folder
        self._path = folder / LEDGER
        self._file: LineFile | None = None
        self._locked = open_locked(folder)
        entries = None if self._locked is None else self._locked.entries
        self.earlier = entries
        """What the file said when it was opened; None: nothing."""
        self.run_id = entries.run_id if entries else secrets.token_hex(16)
        self.run_name = entries.run_name if entries else folder.resolve().name
        self._earlier: dict[tuple[ServerIdentity, CreatedObject], None] = dict(entries.open) if entries else {}
        self._open: dict[tuple[ServerIdentity, CreatedObject], None] = dict(self._earlier)
        self.copies: dict[ServerIdentity, Copies] = dict(entries.copies) if entries else {}
        self._copied: dict[ServerIdentity, Copies] = {}
        """What no line says yet."""

    @property
    def advice(self) -> str:
        """See `run_folder.ledger.Ledger.advice`."""
        return shlex.join(["loadstone", "clean", str(self._folder)])

    def copied(self, place: ServerIdentity, copies: Copies) -> None:
        """See `run_folder.ledger.Ledger.copied`."""
        if self.copies.get(place) != copies:
            self.copies[place] = self._copied[place] = copies

    def makes(self, place: ServerIdentity, things: Iterable[CreatedObject]) -> None:
        """See `run_folder.ledger.Ledger.makes`."""
        new = [thing for thing in dict.fromkeys(things) if (place, thing) not in self._open]
        if not new:
            return
        file = self._opened()
        copies = self._copied.pop(place, None)
        if copies is not None:
            file.append(_copied_line(place, copies))
        for thing in new:
            file.append(_line("makes", place, thing))
        file.sync()
        self._open |= {(place, thing): None for thing in new}

    def removed(self, place: ServerIdentity, thing: CreatedObject) -> None:
        """See `run_folder.ledger.Ledger.removed`."""
        if (place, thing) not in self._open:
            return
        del self._open[place, thing]
        self._earlier.pop((place, thing), None)
        with contextlib.suppress(LoadstoneError):
            file = self._opened()
            file.append(_line("removed", place, thing))
            file.sync()

    def take_earlier(self, place: ServerIdentity, kinds: Collection[ObjectKind]) -> list[CreatedObject]:
        """See `run_folder.ledger.Ledger.take_earlier`. What is given out counts as made at `place` from now on."""
        mine = [key for key in self._earlier if key[0].is_at(place) and key[1].kind in kinds]
        for key in mine:
            del self._earlier[key]
            if key[0] != place:  # the server has another name, or another login, now
                self.makes(place, [key[1]])
                self.removed(*key)
        return [thing for _, thing in mine]

    def left(self) -> dict[ServerIdentity, list[CreatedObject]]:
        """What was made and is not removed."""
        places: dict[ServerIdentity, list[CreatedObject]] = {}
        for place, thing in self._open:
            places.setdefault(place, []).append(thing)
        return places

    def earlier_lines(self) -> list[str]:
        """What earlier sessions left on servers that this one did not use: a line each server, for a person."""
        places: dict[ServerIdentity, list[CreatedObject]] = {}
        for place, thing in self._earlier:
            places.setdefault(place, []).append(thing)
        return [
            f"{describe_place(place)}: an earlier session left {', '.join(map(describe, things))}; "
            f"remove it by: {self.advice}"
            for place, things in places.items()
        ]

    def close(self) -> None:
        """Give the file free. May be called more than once."""
        if self._file is not None:
            self._file.close()
        if self._locked is not None:
            self._locked.close()
        self._file = self._locked = None

    def _opened(self) -> LineFile:
        """The file, made where there is none, with a line for this session. Raises LoadstoneError."""
        if self._locked is None:
            self._make()
        if self._file is None:
            file = LineFile(self._path)
            try:
                file.append(_session(self.run_id, self.run_name))
                file.sync()
            except LoadstoneError:
                file.close()
                raise
            self._file = file
        return self._file

    def _make(self) -> None:
        try:
            os.close(open_file(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            sync_directory(self._folder)
        except OSError as error:
            raise write_error(error, self._path) from None
        self._locked = open_locked(self._folder)


def _line(what: str, place: ServerIdentity, thing: CreatedObject) -> dict[str, Any]:
    counted = {"count": thing.count} if thing.kind == "numbered_keys" else {}
    return {**_of_place(what, place), "kind": thing.kind, "name": thing.name, **counted}


def _copied_line(place: ServerIdentity, copies: Copies) -> dict[str, Any]:
    return {**_of_place("copied", place), "data_set": copies.data_set, "addresses": list(copies.addresses)}


def _of_place(what: str, place: ServerIdentity) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "what": what,
        "unix_s": round(time.time(), 3),
        "server": place.server,
        "address": place.address,
        "login": place.login,
    }


def _session(run_id: str, run_name: str) -> dict[str, Any]:
    pid = os.getpid()
    return {
        "format": FORMAT,
        "what": "run",
        "unix_s": round(time.time(), 3),
        "run": run_id,
        "name": run_name,
        "machine": this_machine(),
        "pid": pid,
        "pid_started_ticks": started(pid) or 0,
    }
