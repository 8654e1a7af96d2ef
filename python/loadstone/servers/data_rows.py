"""Rows of an experiment's data: makes them once from templates, caches them, and writes them to servers.

The same seed makes the same rows. A row is a line of texts with tabs between; no text holds a tab or an end of line.
The lines stand in several files, so that they can be made, sent and counted part by part.
"""

import contextlib
import hashlib
import json
import re
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from loadstone.experiment.plan.required import RequiredData
from loadstone.machine.processes.cache_folder import cache_folder, only_one
from loadstone.machine.start_context import Step
from loadstone.safety.bounds.deadlines import ROWS, deadline
from loadstone.safety.bounds.files import read_json
from loadstone.safety.errors import LoadstoneError, OutOfSpace, ServerGone, UserError
from loadstone.servers.control import RowFiles, RowProgress
from loadstone.servers.deployed import RunningServer
from loadstone.servers.free_space import SpaceWatch
from loadstone.servers.server import DeployContext
from loadstone.text.language import _
from loadstone.text.message import said

FORMAT = 1
"""Changes when the same data would be made of other rows."""
PART_ROWS, PART_BYTES = 50_000, 32 * 1024**2
"""A part ends at either."""
KEPT_S = 30 * 24 * 3600.0
"""How long rows are kept that no one uses."""
SUM = "sum.json"
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
PIECE = re.compile(
    r"(?P<brace>\{\{)|(?P<number>\{number\})|\{uniform (?P<low>-?[0-9]{1,19})\.\.(?P<high>-?[0-9]{1,19})\}|"
    r"\{random (?P<letters>[0-9]{1,19}) lowercase\}|(?P<unknown>\{[^}]*\}?)|(?P<text>[^{]+)"
)
KNOWN = "{number}, {uniform A..B}, {random N lowercase}; write {{ for a brace"
LETTERS_MAX = 65_535


class _Column:
    """One column's template: a format, and what draws the values for it."""

    def __init__(self, name: str, template: str, where: str) -> None:
        if not NAME.fullmatch(name):
            raise UserError("{where}.{name}: a column's name has letters, digits and _ only", where=where, name=name)
        if re.search(r"[\t\n\r\0]", template):
            raise UserError(
                "{where}.{name}: tabs and ends of lines cannot be in it; leave them out", where=where, name=name
            )
        self.name = name
        self.format = b""
        self.draws: list[Callable[[np.random.Generator, int, int], Sequence[object]]] = []
        self.row_bytes = len(template.encode())
        for found in PIECE.finditer(template):
            self._add(found, f"{where}.{name}")
        self.numeric = self.format == b"%d"

    def _add(self, found: re.Match[str], where: str) -> None:
        if found["unknown"] is not None:
            raise UserError(
                "{where}: '{found}' is not known; known are {known}", where=where, found=found[0], known=KNOWN
            )
        if found["brace"] or found["text"]:
            self.format += ("{" if found["brace"] else found[0]).encode().replace(b"%", b"%%")
        elif found["number"]:
            self.format += b"%d"
            self.draws.append(lambda _, first, count: range(first, first + count))
        elif found["letters"] is not None:
            self._add_letters(int(found["letters"]), where)
        else:
            self._add_uniform(int(found["low"]), int(found["high"]), where)

    def _add_letters(self, letters: int, where: str) -> None:
        if not 1 <= letters <= LETTERS_MAX:
            raise UserError(
                "{where}: {{random {letters} lowercase}}: the number must be 1 to {letters_max}",
                where=where,
                letters=letters,
                letters_max=LETTERS_MAX,
            )
        self.format += b"%b"
        self.row_bytes += letters

        def draw(generator: np.random.Generator, _: int, count: int) -> Sequence[object]:
            drawn = generator.integers(ord("a"), ord("z") + 1, size=(count, letters), dtype=np.uint8)
            texts: list[object] = drawn.view(f"S{letters}").ravel().tolist()
            return texts

        self.draws.append(draw)

    def _add_uniform(self, low: int, high: int, where: str) -> None:
        if not -(2**63) <= low <= high < 2**63:
            raise UserError(
                "{where}: {{uniform {low}..{high}}}: the first number must not be above the second",
                where=where,
                low=low,
                high=high,
            )
        self.format += b"%d"

        def draw(generator: np.random.Generator, _: int, count: int) -> Sequence[object]:
            numbers: list[object] = generator.integers(low, high, size=count, endpoint=True).tolist()
            return numbers

        self.draws.append(draw)


def rows_of(required: RequiredData, context: DeployContext) -> RowFiles:
    """The rows, out of the cache folder or made; a line of progress each second while they are made.

    Raises:
        UserError: a template cannot be read, or there is no room.
        Interrupted: the user requested a stop.
    """
    where = f"data.{required.name}.columns"
    columns = [_Column(name, template, where) for name, template in required.columns.items()]
    try:
        place = cache_folder() / "data" / _hash(required)
        place.parent.mkdir(parents=True, exist_ok=True)
        lock, waiting = place.with_suffix(".lock"), f"{required.name}: another run makes its rows"
        with only_one(lock, lambda: context.progress(waiting), context.raise_if_stopped):
            reported = _kept(place) or _make(required, columns, place, context)
            place.touch()
        _forget(place)
    except OSError as error:
        raise UserError(
            "data.{required}: its {rows:,} rows cannot be kept in {filename} ({strerror}); free some room, "
            "or set XDG_CACHE_HOME to another disk",
            required=required.name,
            rows=required.rows,
            filename=error.filename or said("the cache folder"),
            strerror=error.strerror,
        ) from None
    numeric = frozenset(column.name for column in columns if column.numeric)
    rows, crc32_sum = reported
    return RowFiles(tuple(required.columns), numeric, rows, crc32_sum, tuple(sorted(place.glob("*.tsv"))))


def each_second(context: DeployContext, name: str, rows: int, doing: str = "") -> RowProgress:
    """Says `name: 340,000 of 1,000,000 rows`, at most once a second; raises Interrupted if the user stops it."""
    last = time.monotonic()

    def done(count: int) -> None:
        nonlocal last
        context.raise_if_stopped()
        if time.monotonic() - last >= 1.0:
            last = time.monotonic()
            told = f"{doing}{name}: {count:,} of {rows:,} rows"
            context.progress(Step(told, about=f"{doing}{name}"))

    return done


def _hash(required: RequiredData) -> str:
    """Equal for equal rows."""
    reported = json.dumps([FORMAT, required.rows, list(required.columns.items()), required.seed])
    return hashlib.sha256(reported.encode()).hexdigest()[:16]


def _kept(place: Path) -> tuple[int, int] | None:
    """Return how many rows are kept there, and the sum of their CRCs; None where there are none, or the file is
    damaged."""
    try:
        reported = read_json(place / SUM)
        return int(reported["rows"]), int(reported["crc32_sum"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(required: RequiredData, columns: Sequence[_Column], place: Path, context: DeployContext) -> tuple[int, int]:
    """All parts under another name, which `place` gets when they are whole. Returns as `_kept`."""
    making = place.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    part_rows = max(1, min(PART_ROWS, PART_BYTES // (1 + sum(column.row_bytes for column in columns))))
    tell = each_second(context, required.name, required.rows, "making ")
    crc32_sum = 0
    try:
        for number, first in enumerate(range(0, required.rows, part_rows)):
            count = min(part_rows, required.rows - first)
            lines = _lines(columns, required.seed, number, first, count)
            crc32_sum += sum(map(zlib.crc32, lines))
            (making / f"{number:06d}.tsv").write_bytes(b"\n".join([*lines, b""]))
            tell(first + count)
        (making / SUM).write_text(json.dumps({"rows": required.rows, "crc32_sum": crc32_sum}))
        shutil.rmtree(place, ignore_errors=True)
        making.rename(place)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return required.rows, crc32_sum


def _lines(columns: Sequence[_Column], seed: int, part: int, first: int, count: int) -> list[bytes]:
    """The lines of one part. Each column draws for itself, so it does not depend on those beside it."""
    line = b"\t".join(column.format for column in columns)
    drawn = []
    for position, column in enumerate(columns):
        generator = np.random.default_rng([seed, position, part])
        drawn += [draw(generator, first + 1, count) for draw in column.draws]
    if not drawn:
        return [line % ()] * count
    return [line % values for values in zip(*drawn, strict=True)]


def _forget(used: Path) -> None:
    """Remove what no one used for `KEPT_S`, and what was never finished."""
    oldest = time.time() - KEPT_S
    for path in used.parent.iterdir():
        with contextlib.suppress(OSError):  # another run removes it, too
            if path.stem != used.stem and path.stat().st_mtime < oldest:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


PATIENCE_S = 60.0
"""How long a server may take for one batch, or one step of a removal."""


class DataWriter:
    """Makes rows, and writes those that a server does not hold yet."""

    def __init__(self, context: DeployContext) -> None:
        self._context = context

    def write(self, required: Iterable[RequiredData], servers: Mapping[str, RunningServer]) -> None:
        """Write what each server does not hold since its start.

        Raises:
            UserError: a template or a command is wrong, or a server does not take the rows; names the data.
            ServerGone: a server that is not ours does not answer any more.
            OutOfRoom: a server that is not ours is full, or evicted keys.
            Interrupted: the user requested a stop.
        """
        missing = [
            (data, servers[data.server])
            for data in required
            if servers[data.server].contents.get(_place(data)) != _identity(data)
        ]
        for data, deployed in missing:
            rows = rows_of(data, self._context)
            try:
                self._write(data, rows, deployed)
            except (ServerGone, UserError) as error:
                if isinstance(error, ServerGone) and not deployed.server.ours and not deployed.server.alive():
                    raise
                full = deployed.control.is_full(error)
                text = _explained(data, error, full=full)
                if isinstance(error, ServerGone) and not deployed.server.ours and full:
                    raise OutOfSpace.of(text) from None
                raise UserError.of(text) from None
            deployed.contents[_place(data)] = _identity(data)

    def _write(self, data: RequiredData, rows: RowFiles, deployed: RunningServer) -> None:
        with deployed.server.control(PATIENCE_S) as control:
            write = control.row_writing(data, rows, deployed.traces, ours=deployed.server.ours)
            telling = self._telling(data, rows)

            def tell(done: int) -> None:
                room.rest()
                room.require()
                telling(done)

            with SpaceWatch([deployed.server]) as room, deadline(ROWS, rows.count):
                written = write(tell)
            room.require()
        if not written:
            self._context.progress(_("{data}: {server} holds these rows already", data=data.name, server=data.server))

    def _telling(self, data: RequiredData, rows: RowFiles) -> RowProgress:
        self._context.progress(
            _("{data}: writing {count:,} rows to {server}", data=data.name, count=rows.count, server=data.server)
        )
        return each_second(self._context, data.name, rows.count)


def _place(data: RequiredData) -> str:
    """Where the rows go: other rows for the same place take the place of these."""
    return json.dumps([data.table, data.commands])


def _identity(data: RequiredData) -> str:
    return json.dumps([data.rows, list(data.columns.items()), data.seed])


def _explained(data: RequiredData, error: LoadstoneError, *, full: bool) -> str:
    """The server's own text with the data's name, and what helps where it has no room."""
    remedy = "; give it more room, or ask for fewer rows (--scale)" if full else ""
    return f"data.{data.name}: {str(error).rstrip('.')}{remedy}"
