"""The figures of runs for lines over them: computed from each folder once, and kept in the index while it stays so."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from loadstone import __version__
from loadstone.analyse.analysis import analyse_run
from loadstone.analyse.over_runs import RunFigures, figures_of
from loadstone.errors import LoadstoneError
from loadstone.history.index import Index
from loadstone.history.row import RunRow, fingerprint
from loadstone.record.reading import read_run


@dataclass(frozen=True)
class Collected:
    """The figures of several runs."""

    runs: list[RunFigures]
    unread: dict[str, str]
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
                found = figures_of(run, analyse_run(run), row.began_unix_s)
            except (LoadstoneError, OSError) as error:
                unread[row.name] = str(error)
                continue
            index.keep_figures(row.name, now, found.model_dump_json())
        runs.append(found)
    return Collected(runs, unread, left)


def _read(kept: str | None) -> RunFigures | None:
    try:
        return None if kept is None else RunFigures.model_validate_json(kept)
    except ValidationError:  # of another version
        return None
