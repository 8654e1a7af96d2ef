"""`ledger.jsonl` of a run's folder: what the run made on servers that are not ours, and what of it is removed.

A line is on the disk before the thing is made. The file is made with the first of them; it holds no secret, and only
its owner may read or write it. Its lines are described in `docs/run-folder.md`.
"""

import contextlib
import os
import secrets
import shlex
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from loadstone.bounds.beneath import open_file
from loadstone.deploy.ledger import Kind, Made, Place, describe, describe_place
from loadstone.errors import LoadstoneError
from loadstone.machine.process_identity import started
from loadstone.record.file_names import LEDGER
from loadstone.record.ledger_reading import open_locked, this_machine
from loadstone.record.lines import FORMAT, LineFile, sync_directory, write_error


class RunLedger:
    """The ledger of a run that goes on; see `deploy.ledger.Ledger`. One process at a time has it."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError if the folder has a ledger already that cannot be trusted, or that another process has."""
        self._folder = folder
        self._path = folder / LEDGER
        self._file: LineFile | None = None
        self._locked = open_locked(folder)
        found = None if self._locked is None else self._locked.entries
        self.earlier = found
        """What the file said when it was opened; None: nothing."""
        self.run_id = found.run_id if found else secrets.token_hex(16)
        self.run_name = found.run_name if found else folder.resolve().name
        self._earlier: dict[tuple[Place, Made], None] = dict(found.open) if found else {}
        self._open: dict[tuple[Place, Made], None] = dict(self._earlier)

    @property
    def advice(self) -> str:
        """See `deploy.ledger.Ledger.advice`."""
        return shlex.join(["loadstone", "clean", str(self._folder)])

    def makes(self, place: Place, things: Iterable[Made]) -> None:
        """See `deploy.ledger.Ledger.makes`."""
        new = [thing for thing in dict.fromkeys(things) if (place, thing) not in self._open]
        if not new:
            return
        file = self._opened()
        for thing in new:
            file.append(_line("makes", place, thing))
        file.sync()
        self._open |= {(place, thing): None for thing in new}

    def removed(self, place: Place, thing: Made) -> None:
        """See `deploy.ledger.Ledger.removed`."""
        if (place, thing) not in self._open:
            return
        del self._open[place, thing]
        self._earlier.pop((place, thing), None)
        with contextlib.suppress(LoadstoneError):
            file = self._opened()
            file.append(_line("removed", place, thing))
            file.sync()

    def take_earlier(self, place: Place, kinds: Collection[Kind]) -> list[Made]:
        """See `deploy.ledger.Ledger.take_earlier`. What is given out counts as made at `place` from now on."""
        mine = [key for key in self._earlier if key[0].is_at(place) and key[1].kind in kinds]
        for key in mine:
            del self._earlier[key]
            if key[0] != place:  # the server has another name, or another login, now
                self.makes(place, [key[1]])
                self.removed(*key)
        return [thing for _, thing in mine]

    def left(self) -> dict[Place, list[Made]]:
        """What was made and is not removed."""
        places: dict[Place, list[Made]] = {}
        for place, thing in self._open:
            places.setdefault(place, []).append(thing)
        return places

    def earlier_lines(self) -> list[str]:
        """What earlier sessions left on servers that this one did not use: a line each server, for a person."""
        places: dict[Place, list[Made]] = {}
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


def _line(what: str, place: Place, thing: Made) -> dict[str, Any]:
    counted = {"count": thing.count} if thing.kind == "numbered_keys" else {}
    return {
        "format": FORMAT,
        "what": what,
        "unix_s": round(time.time(), 3),
        "server": place.server,
        "address": place.address,
        "login": place.login,
        "kind": thing.kind,
        "name": thing.name,
        **counted,
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
