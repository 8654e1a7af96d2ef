"""An index of the runs of a folder, and queries on it: a table of SQLite, renewed from the folders whenever it is used.

The folders are the truth. The index only saves reading a thousand of them again, and holds nothing that they do not:
it stands in this user's cache, so that nobody else's file is opened as a database; one that is damaged, of another
version or of another folder is made anew. Without a cache it is made in memory.
"""

import contextlib
import hashlib
import os
import shlex
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from loadstone import __version__
from loadstone.addons.history.run_row import RunRow, fingerprint, is_written, read_row, whole_text
from loadstone.addons.history.trends import RunFigures, run_figures
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.run_folder.files import ARCHIVE, run_folders
from loadstone.run_folder.reading import read_run
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.text.message import AnyText, text_of

VERDICTS = ("faster", "equivalent", "mixed", "undecided", "not_decidable", "invalid")
LETTERS_MAX = 400
_ALSO = {"same": "equivalent", "not-decidable": "not_decidable"}


@dataclass(frozen=True)
class Query:
    """All of this must hold."""

    experiment: str = ""
    verdicts: Sequence[str] = ()
    """One of its pairs has each of them."""
    tags: Sequence[str] = ()
    words: Sequence[str] = ()
    """In its name, experiment, question, headline, pairs, tags, note, machine or versions."""
    archived: bool = False
    text: str = field(default="", compare=False)
    """As it was written."""

    def condition(self) -> tuple[str, tuple[object, ...]]:
        """The condition on a line of the index, with its values."""
        parts, values = ["archived = ?"], [int(self.archived)]
        found: list[object] = list(values)
        if self.experiment:
            parts.append("experiment = ?")
            found.append(self.experiment)
        for column, wanted in (("kinds", self.verdicts), ("tags", self.tags)):
            for one in wanted:
                parts.append(f"instr({column}, ?) > 0")
                found.append(f" {one} ")
        for word in self.words:
            parts.append("instr(words, ?) > 0")
            found.append(word.casefold())
        return " AND ".join(parts), tuple(found)


def parse_query(text: str, *, archived: bool = False) -> Query:
    """A query as it is written: `verdict:faster tag:baseline "8 workers"`. Whatever is written is one."""
    text = text[:LETTERS_MAX].replace("\0", " ")
    try:
        written = shlex.split(text)
    except ValueError:  # a quotation mark alone
        written = text.split()
    experiment, verdicts, tags, words = "", [], [], []
    for word in written:
        kind, _, value = word.partition(":")
        if kind == "experiment" and value:
            experiment = value
        elif kind == "verdict" and value:
            verdicts.append(_ALSO.get(value.casefold(), value.casefold()))
        elif kind == "tag" and value:
            tags.append(value)
        else:
            words.append(word)
    return Query(experiment, tuple(verdicts), tuple(tags), tuple(words), archived, text)


T = TypeVar("T")
_APPLICATION = 0x6C647374
VERSION = 5
"""Version of what a line of the index holds; another one makes it anew."""
_TABLES = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE of_folder (path TEXT NOT NULL);
CREATE TABLE runs (
  place TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, archived INTEGER NOT NULL, began REAL NOT NULL,
  number INTEGER NOT NULL, running INTEGER NOT NULL, experiment TEXT NOT NULL, kinds TEXT NOT NULL, tags TEXT NOT NULL,
  words TEXT NOT NULL, line TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE figures (place TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, figures TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX newest ON runs (archived, began DESC, number DESC);
"""
_BATCH = 25
"""Number of folders that are read before their lines are written at once: no one waits while a folder is read."""
_WAIT_S = 5.0


@dataclass(frozen=True)
class ResultPage:
    """Some of the runs that a query finds."""

    rows: tuple[RunRow, ...]
    total: int
    """Number of runs it finds."""


@dataclass(frozen=True)
class Renewed:
    """Progress of the index with the folders."""

    read: int
    """Folders that were read now."""
    left: int
    """Folders that are still to be read."""


class Index:
    """The index of one folder of runs. Used by several threads and processes at a time."""

    def __init__(self, root: Path, file: Path | None = None) -> None:
        """`file`: where it stands instead of in the cache."""
        self.root = root
        self._of = str(root.resolve())
        self._file = file or _file_of(self._of)
        self._memory: sqlite3.Connection | None = None
        self._one = threading.RLock()
        """Held while the table is made anew, or used where it stands in memory."""
        self._reads = threading.Lock()
        """Held by the thread that reads folders."""
        self._made = 0
        """How often it was made anew."""

    def renew(
        self,
        deadline_s: float | None = None,
        words_of: Callable[[RunRow], str] = lambda _: "",
        tell: Callable[[int], None] = lambda _: None,
    ) -> Renewed:
        """Read the folders that are new or changed, the newest first, and forget those that are gone.

        Args:
            deadline_s: of `time.monotonic`; what is not read by then is left for the next time.
            words_of: what of a line is searched beside its own words: the sentences that a report makes of it.
            tell: told now and then how many folders are still to be read.
        """
        with self._reads:
            return self._anew_if_broken(lambda: self._renew(deadline_s, words_of, tell))

    def find(self, query: Query, most: int, skip: int = 0) -> ResultPage:
        """The runs that a query finds, the newest first."""

        def found() -> ResultPage:
            with self._connected() as base:
                where, values = query.condition()
                (total,) = base.execute(f"SELECT count(*) FROM runs WHERE {where}", values).fetchone()
                lines = base.execute(
                    f"SELECT line, running FROM runs WHERE {where} ORDER BY began DESC, number DESC, place DESC "
                    "LIMIT ? OFFSET ?",
                    (*values, most, skip),
                ).fetchall()
                return ResultPage(tuple(_row(line, bool(running)) for line, running in lines), total)

        return self._anew_if_broken(found)

    def counts(self, column: str) -> list[tuple[str, int]]:
        """The experiments, verdicts or tags that there are, and how many runs have each; the most frequent first."""
        assert column in ("experiment", "kinds", "tags")

        def counted() -> list[tuple[str, int]]:
            numbers: dict[str, int] = {}
            with self._connected() as base:
                for (text,) in base.execute(f"SELECT {column} FROM runs WHERE archived = 0"):
                    for word in [text] if column == "experiment" else text.split():
                        numbers[word] = numbers.get(word, 0) + 1
            return sorted(numbers.items(), key=lambda one: (-one[1], one[0]))

        return self._anew_if_broken(counted)

    def kept_figures(self, place: str, now: str) -> str | None:
        """What was kept of a run's figures, if its folder is as it was then (`run_row.fingerprint`)."""

        def kept() -> str | None:
            with self._connected() as base:
                found = base.execute("SELECT fingerprint, figures FROM figures WHERE place = ?", (place,)).fetchone()
                return str(found[1]) if found is not None and found[0] == now else None

        return self._anew_if_broken(kept)

    def keep_figures(self, place: str, now: str, figures: str) -> None:
        """Keep what took long to compute of a run."""

        def keep() -> None:
            with self._connected() as base:
                base.execute("INSERT OR REPLACE INTO figures VALUES (?, ?, ?)", (place, now, figures))
                base.commit()

        self._anew_if_broken(keep)

    def forget(self) -> None:
        """Have everything read again."""
        with self._one:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
            if self._file is not None:
                self._make()

    def _renew(
        self, deadline_s: float | None, words_of: Callable[[RunRow], str], tell: Callable[[int], None]
    ) -> Renewed:
        folders = {whole_text(path.name): path for path in run_folders(self.root)}
        if not (self.root / ARCHIVE).is_symlink():
            archived = run_folders(self.root / ARCHIVE)
            folders |= {f"{ARCHIVE}/{whole_text(path.name)}": path for path in archived}
        now = {place: fingerprint(path) for place, path in folders.items()}
        with self._connected() as base:
            known = dict(base.execute("SELECT place, fingerprint FROM runs"))
            running = {row[0] for row in base.execute("SELECT place FROM runs WHERE running")}
        gone = [(place,) for place in known.keys() - folders.keys()]
        changed = [place for place in folders if known.get(place) != now[place]]
        ended = [(place,) for place in running.intersection(folders) if not is_written(folders[place])]
        if gone or ended:
            with self._connected() as base:
                base.executemany("DELETE FROM runs WHERE place = ?", gone)
                base.executemany("DELETE FROM figures WHERE place = ?", gone)
                base.executemany("UPDATE runs SET running = 0 WHERE place = ?", ended)
                base.commit()
        read, is_late = 0, False
        while read < len(changed) and not is_late:
            lines = []
            for place in changed[read : read + _BATCH]:
                row = read_row(folders[place], archived=folders[place].parent != self.root)
                lines.append(_line(place, now[place], row, words_of))
                if is_late := deadline_s is not None and time.monotonic() > deadline_s:
                    break
            with self._connected() as base:
                base.executemany(f"INSERT OR REPLACE INTO runs VALUES ({','.join('?' * 11)})", lines)
                base.commit()
            read += len(lines)
            tell(len(changed) - read)
        return Renewed(read, len(changed) - read)

    def _anew_if_broken(self, use: Callable[[], T]) -> T:
        """What `use` gives; of a broken or foreign index, after it was made anew; without a disk, from memory."""
        made = self._made
        try:
            return use()
        except (sqlite3.Error, OSError) as error:
            if self._file is None:
                raise
            with self._one:
                self._mend(error, made)
        try:
            return use()
        except (sqlite3.Error, OSError):
            self._file = None  # a disk that is full, a file that others hold: the folders are still there
            return use()

    def _mend(self, error: sqlite3.Error | OSError, made: int) -> None:
        """Make the index anew after an error, unless another thread did since it was `made` for so many times."""
        if self._made != made:
            return
        try:
            if isinstance(error, OSError):
                self._file = None
            elif not isinstance(error, sqlite3.OperationalError) or not _is_locked(error):
                self._make()
        except (sqlite3.Error, OSError):
            self._file = None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection to the index, which is made if it is not there."""
        if (file := self._file) is None:
            with self._one:
                if self._memory is None:
                    self._memory = sqlite3.connect(":memory:", check_same_thread=False)
                    _make_tables(self._memory, self._of)
                yield self._memory
            return
        if not file.exists():
            with self._one:
                if not file.exists():
                    self._make()
        base = sqlite3.connect(file, timeout=_WAIT_S)
        try:
            base.execute("PRAGMA trusted_schema = OFF")
            _require_of(base, self._of)
            yield base
        finally:
            base.close()

    def _make(self) -> None:
        """Put an empty index in the place of what is there, whole or not at all."""
        if (file := self._file) is None:  # another thread found that there is no disk for it
            return
        beside = file.with_name(f".{file.name}.{os.urandom(4).hex()}.new")
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            base = sqlite3.connect(beside)
            try:
                _make_tables(base, self._of)
            finally:
                base.close()
            beside.replace(file)
            self._made += 1
        finally:
            beside.unlink(missing_ok=True)


def _is_locked(error: sqlite3.Error) -> bool:
    """Whether another process has it: it is whole, and not to be made anew under that one's hands."""
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class _NotOurs(sqlite3.DatabaseError):
    """It is of another version, of another folder, or no index of ours."""


def _make_tables(base: sqlite3.Connection, of: str) -> None:
    base.executescript(_TABLES)
    base.execute("INSERT INTO of_folder VALUES (?)", (of,))
    base.commit()


def _require_of(base: sqlite3.Connection, of: str) -> None:
    """Raises _NotOurs unless it is an index of this folder, and of this version."""
    application, version = (base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if (application, version) != (_APPLICATION, VERSION) or base.execute("SELECT path FROM of_folder").fetchall() != [
        (of,)
    ]:
        raise _NotOurs


def _file_of(of: str) -> Path | None:
    """Where the index of a folder stands; None: there is no cache that could be written to."""
    with contextlib.suppress(OSError, UserError):
        folder = cache_folder() / "history"
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK) and not folder.is_symlink():
            return folder / f"{hashlib.sha256(of.encode(errors='surrogateescape')).hexdigest()[:32]}.sqlite"
    return None


def _line(place: str, now: str, row: RunRow, words_of: Callable[[RunRow], str]) -> Sequence[object]:
    pairs = (f"{one.family} {one.place} {one.a} {one.b}" for one in row.found)
    words = " ".join((row.name, row.experiment, row.question, row.note, " ".join(row.tags), row.machine, row.versions))
    return (
        whole_text(place),
        now,
        row.archived,
        row.began_unix_s,
        row.number,
        row.running,
        whole_text(row.experiment),
        f" {' '.join(row.kinds)} ",
        whole_text(f" {' '.join(row.tags)} "),
        whole_text(" ".join((words, *pairs, row.why, words_of(row))).casefold()),
        whole_text(row.model_dump_json()),
    )


def _row(line: str, running: bool) -> RunRow:
    try:
        return RunRow.model_validate_json(line).model_copy(update={"running": running})
    except ValidationError:
        raise _NotOurs from None


@dataclass(frozen=True)
class Collected:
    """The figures of several runs."""

    runs: list[RunFigures]
    unread: dict[str, AnyText]
    """Run -> why it cannot be read."""
    left: int
    """Runs that are still to be computed."""


def collect(index: Index, rows: Sequence[RunRow], deadline_s: float | None = None) -> Collected:
    """The figures of these runs. What is not computed by the deadline (`time.monotonic`) is left for the next time.

    One run takes a tenth of a second to two, the first time.
    """
    runs, unread, left = [], {}, 0
    for row in rows:
        path = index.root / row.name
        now = f"{fingerprint(path)} {__version__}"  # another version judges otherwise
        found = _read(index.kept_figures(row.name, now))
        if found is None:
            if deadline_s is not None and time.monotonic() > deadline_s:
                left += 1
                continue
            try:
                run = read_run(path)
                found = run_figures(run, analyse_run(run), row.began_unix_s)
            except (LoadstoneError, OSError) as error:
                unread[row.name] = text_of(error)
                continue
            index.keep_figures(row.name, now, found.model_dump_json())
        runs.append(found)
    return Collected(runs, unread, left)


def _read(kept: str | None) -> RunFigures | None:
    try:
        return None if kept is None else RunFigures.model_validate_json(kept)
    except ValidationError:  # of another version
        return None
