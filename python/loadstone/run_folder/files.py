"""The files of a run's folder: their names, whether a folder is a run's, and what two runs are called.

It is light: a command says at once that a folder is none, before what reads one is loaded.
"""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from loadstone.safety.bounds.folder_files import is_file, open_file
from loadstone.safety.errors import UserError
from loadstone.slot import Slot

RUN = re.compile(r"(?P<time>\d{8}T\d{6}Z)-.+?(?:-(?P<number>\d{1,9}))?")
"""A folder as it was made, and not renamed: `20261121T230227Z-documents`; of several in one second with a number."""

_YEARS = range(1970, 9999)
"""Years of folders that a run made; a local time cannot be told for every other year."""
LAST_UNIX_S = datetime(_YEARS.stop, 1, 1, tzinfo=UTC).timestamp()
"""The end of these years."""

EXPERIMENT = "experiment.yaml"
ENVIRONMENT = "environment.json"
PLAN = "plan.json"
TRIALS = "trials.jsonl"
LOOKS = "looks.jsonl"
EVENTS = "events.jsonl"
"""What the run tells while it goes on, for who follows it; nothing is judged by it."""
CRASHES = "crashes.jsonl"
INTERVALS = "intervals.jsonl"
SAMPLES = "samples.jsonl"
DIGESTS = "digests.jsonl"
"""What was written to the other files, see `digests`."""
LATENCY = "latency"
"""A folder of interval logs, `<trial>.hlog`."""
ANALYSIS = "analysis.json"
LOGS = "logs"
"""A folder of what servers and subjects of ours wrote, `<name>.log`."""
KEPT = "kept.json"
"""Mark of an ad hoc run of which the newest alone are kept, see `newest_runs`."""
LEDGER = "ledger.jsonl"
"""What was made on servers that are not loadstone's own."""
TAGS = "tags.json"
"""What people wrote about the run, see `tags`."""
MAIN = "main"
"""The branch of a baseline where none is named, see `baselines`."""
ARCHIVE = "archive"
"""A folder among those of the runs: runs that are kept, and no longer listed with the others."""
RECORDS = (
    *(EXPERIMENT, ENVIRONMENT, PLAN, TRIALS, LOOKS, CRASHES, INTERVALS, SAMPLES, DIGESTS, EVENTS),
    *(ANALYSIS, KEPT, LEDGER, TAGS),
)
"""The files that a run consists of, beside those of answers."""
ANSWER_FILES: Slot[str] = Slot("answer_files", fits=lambda name: name not in RECORDS and Path(name).name == name)
"""Key of `analysis.json` -> the file that holds what stands there by itself."""


def is_of_run(name: str) -> bool:
    """Whether a run consists of a file of this name, and of others."""
    return name in RECORDS or name in (file for _, file in ANSWER_FILES.items())


def require_run(path: Path, option: str = "", names: Sequence[str] = (EXPERIMENT, ENVIRONMENT, PLAN)) -> None:
    """Returns if these files, which every run has, can be opened. `option` is what the line begins with.

    Raises:
        UserError: one is missing, a link, or no file; the line names it.
    """
    for name in names:
        try:
            os.close(open_file(path / name))
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(
                "{option}{path}: not a run's folder ({name} is missing); give a folder under runs/",
                option=option,
                path=path,
                name=name,
            ) from None
        except OSError as error:
            raise UserError(
                "{option}{path}: cannot be read: {strerror}", option=option, path=path / name, strerror=error.strerror
            ) from None


def run_folders(root: Path) -> list[Path]:
    """The folders of runs below `root`, the newest first; those in its archive are not among them."""
    folders = [path for path in root.glob("*") if is_file(path / PLAN)] if root.is_dir() else []
    return sorted(folders, key=age_of, reverse=True)


def age_of(path: Path) -> tuple[float, int]:
    """What sorts runs by their beginning: the time in the name, or else that of the plan's file."""
    named = RUN.fullmatch(path.name)
    began = began_at(path.name)
    try:
        seconds = began.timestamp() if began is not None else (path / PLAN).lstat().st_mtime
    except OSError:  # it vanished
        seconds = 0.0
    return min(max(seconds, 0.0), LAST_UNIX_S), int(named["number"] or 1) if named else 1


def began_at(name: str) -> datetime | None:
    """When a run began, by the name of its folder, in UTC; None where that was renamed."""
    named = RUN.fullmatch(name)
    try:
        began = datetime.strptime(named["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) if named else None
    except ValueError:
        return None
    return began if began is None or began.year in _YEARS else None


_FOLDER = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-(.+)")
"""`20261121T230227Z-documents`."""


def run_names(a: Path, b: Path) -> tuple[str, str]:
    """What the two runs are called: `run 14:30`, `run 2026-11-21`, or the folders' names where they tell more."""
    folders = a.resolve(), b.resolve()
    one, other = (_FOLDER.fullmatch(folder.name) for folder in folders)
    if one and other and one[7] == other[7] and one.groups() != other.groups():
        times = _times(one), _times(other)
        for form in range(len(times[0])):
            if times[0][form] != times[1][form]:
                return f"run {times[0][form]}", f"run {times[1][form]}"
    if folders[0].name != folders[1].name:
        return folders[0].name, folders[1].name
    parents = folders[0].parent.name, folders[1].parent.name
    return parents if parents[0] != parents[1] else (str(folders[0]), str(folders[1]))


def _times(match: re.Match[str]) -> tuple[str, str, str]:
    """The start of a run: its day, or on one day its time, as exact as it must be."""
    year, month, day, hour, minute, second, _ = match.groups()
    return f"{year}-{month}-{day}", f"{hour}:{minute}", f"{hour}:{minute}:{second}"
