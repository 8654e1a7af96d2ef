"""The runs of a folder: their list, the newest of them, and the command that one was started with."""

import fcntl
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.errors import UserError
from loadstone.record.lines import load_json
from loadstone.record.names import ANALYSIS, ENVIRONMENT, EXPERIMENT, PLAN
from loadstone.record.redact import HIDDEN

RUNS = Path("runs")
"""Where runs are, unless `--out` says otherwise."""
LATEST = "latest"
"""Names the newest run wherever a run's folder is expected."""
_NAME = re.compile(r"(?P<time>\d{8}T\d{6}Z)-(?P<experiment>.+?)(?:-(?P<number>\d+))?")
OF_ONE_START = {"--json", "--open", "--quiet", "--verbose"}
"""Switches that say how a run is shown, and not what it measures."""


@dataclass(frozen=True)
class RunEntry:
    """A line of `loadstone runs`."""

    name: str
    began: datetime | None
    """In UTC; None where the folder was renamed."""
    experiment: str
    state: str
    """`complete`, `running`, or how much of it was measured."""
    headline: str


def run_folder(word: str | Path, root: Path = RUNS) -> Path:
    """The folder that a word names: a path, or `latest`, the newest of `root`. Raises UserError."""
    if str(word) != LATEST:
        return Path(word)
    newest = next(_folders(root), None)
    if newest is None:
        raise UserError(f"{LATEST}: there is no run in {root}; `loadstone run EXPERIMENT` makes one")
    return newest


def list_runs(root: Path = RUNS) -> list[RunEntry]:
    """The runs of a folder, the newest first."""
    return [_entry(path) for path in _folders(root)]


def run_lines(runs: Sequence[RunEntry], width: int | None = None) -> list[str]:
    """A line for each run: name, when it began, experiment, how much of it is there, and what it says."""
    cells = [
        (
            one.name,
            one.began.astimezone().strftime("%Y-%m-%d %H:%M") if one.began else "",
            one.experiment,
            one.state,
        )
        for one in runs
    ]
    widths = [max((len(row[place]) for row in cells), default=0) for place in range(4)]
    lines = [
        "  ".join([*(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)), one.headline]).rstrip()
        for row, one in zip(cells, runs, strict=True)
    ]
    return [line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def command_of(folder: Path, given: Sequence[str] = ()) -> list[str]:
    """What stood behind `loadstone run` when the run was started; how it was shown is left out.

    A server whose URL held a password must be among the options `given` now: the folder keeps no secret.
    An experiment's file that is gone is replaced by the folder's copy. Raises UserError.
    """
    if not (folder / PLAN).is_file():
        raise UserError(f"--resume {folder}: not a run's folder ({PLAN} is missing); give a folder under runs/")
    words = options_given(_document(folder / ENVIRONMENT).get("command"))
    if words is None:
        raise UserError(f"--resume {folder}: it does not say how it was started; name the experiment, too")
    kept: list[str] = []
    for word in words:
        if HIDDEN in word:
            _require_given(folder, word, given)
            if kept and kept[-1] in ("--server", "--subject"):
                kept.pop()
        elif word not in OF_ONE_START:
            kept.append(_copy_if_gone(word, folder))
    return kept


def options_given(command: object) -> list[str] | None:
    """What stood behind `loadstone run` in a recorded command; None where it does not say so."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    return words[2:] if words[:2] == ["loadstone", "run"] else None


def hides_secret(words: Sequence[str]) -> bool:
    """Whether a secret in a recorded command was replaced: then it does not work as it stands."""
    return any(HIDDEN in word for word in words)


def _require_given(folder: Path, word: str, given: Sequence[str]) -> None:
    """The part whose URL is hidden must be named anew. Raises UserError."""
    name = word.removeprefix("--server=").removeprefix("--subject=").partition("=")[0]
    if not any(one.removeprefix("--server=").removeprefix("--subject=").startswith(f"{name}=") for one in given):
        raise UserError(f"--resume {folder}: the password of {name} is not kept; add --server {name}=URL")


def _copy_if_gone(word: str, folder: Path) -> str:
    is_file = word.endswith((".yaml", ".yml")) and not word.startswith("-") and "=" not in word
    return str(folder / EXPERIMENT) if is_file and not Path(word).exists() else word


def _folders(root: Path) -> Iterator[Path]:
    """The folders of runs below `root`, the newest first."""
    found = [path for path in root.glob("*") if (path / PLAN).is_file()] if root.is_dir() else []
    yield from sorted(found, key=_age, reverse=True)


def _age(path: Path) -> tuple[float, int]:
    """What sorts runs by their beginning: the time in the name, or else that of the plan's file."""
    named = _NAME.fullmatch(path.name)
    began = _began(path)
    seconds = began.timestamp() if began is not None else (path / PLAN).stat().st_mtime
    return seconds, int(named["number"] or 1) if named else 1


def _began(path: Path) -> datetime | None:
    named = _NAME.fullmatch(path.name)
    try:
        return datetime.strptime(named["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) if named else None
    except ValueError:
        return None


def _entry(path: Path) -> RunEntry:
    analysis = _document(path / ANALYSIS)
    experiment = analysis.get("experiment") or _document(path / PLAN).get("experiment") or "?"
    return RunEntry(
        name=path.name,
        began=_began(path),
        experiment=str(experiment),
        state="running" if _is_written(path) else _state(analysis),
        headline=" ".join(str(analysis.get("answer", "")).split()),
    )


def _state(analysis: dict[str, Any]) -> str:
    if not analysis:
        return "not ended"
    if analysis.get("complete"):
        return "complete"
    return f"{analysis.get('trials_done', 0)} of {analysis.get('trials_planned', '?')} trials"


def _is_written(path: Path) -> bool:
    """Whether a loadstone holds the folder at this moment, see `record.folder.RunFolder`."""
    try:
        directory = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(directory)
    return False


def _document(file: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one where there is none that can be read."""
    try:
        found = load_json(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
