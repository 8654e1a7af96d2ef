"""The runs of a folder: their list, the newest of them, and the command that one was started with."""

import difflib
import fcntl
import itertools
import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone.bounds.beneath import NotOfFolder, is_file, open_file
from loadstone.bounds.files import is_there, read_json, why
from loadstone.errors import UserError
from loadstone.message import Message
from loadstone.record.run_files import ANALYSIS, ENVIRONMENT, EXPERIMENT, PLAN, RUN, require_run
from loadstone.secrecy.text import HIDDEN

RUNS = Path("runs")
"""Where runs are, unless `--out` says otherwise."""
_YEARS = range(1970, 9999)
"""Of folders that a run made; a local time cannot be told for every other year."""
LATEST = "latest"
"""Names the newest run wherever a run's folder is expected."""
_KEEPING_NO_SECRET = ("--server", "--subject", "--set")
"""Options whose values may hold a secret, which is then to be given again."""
OF_ONE_START = {"--json", "--open", "--quiet", "--verbose", "--wait"}
"""Switches that say how a run is shown, and not what it measures."""
DOCUMENT_BYTES = 64 * 1024 * 1024
"""Of a document that is read for a line of the list: an analysis of 4,000 trials has as much."""
NEVER_TAKEN = {"--allow-any-command", "--share-machine", "--trust"}
"""Switches that must be meant each time, and so are not taken from a folder, which may be another's."""
WRITES = ("--json-out-file", "--hdr-file-prefix")
"""Options that name files to write. A folder, which may be another's, does not say where something is written."""
FLEET = ("--fleet", "--lost-agent")
"""Nor does it say to which machines is logged in, and that they are sent passwords."""
_SENDS_FILE = ("-D", "--body-file", "--commands")
"""Options that name a file whose text becomes a part of the load; so does `--body @FILE`."""


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
        _require_no_slip(Path(word))
        return Path(word)
    newest = next(_folders(root), None)
    if newest is None:
        raise UserError(f"{LATEST}: there is no run in {root}; `loadstone run EXPERIMENT` makes one")
    return newest


def _require_no_slip(path: Path) -> None:
    """Returns unless a name that is nowhere is one that is nearly `latest`. Raises UserError."""
    if not is_there(path) and difflib.get_close_matches(str(path)[:80], [LATEST]):
        raise UserError(f"{path}: there is no such folder; did you mean '{LATEST}'?")


def folder_to_resume(word: str | Path, root: Path = RUNS) -> Path:
    """The same of a run to go on with. Its folder says which commands are run, so only this user may have written it.

    Raises:
        UserError: it is another user's, or every user may write to it.
    """
    folder = run_folder(word, root)
    try:
        status = folder.stat()
    except (OSError, ValueError) as error:  # a path with a NUL in it is no path
        why = error.strerror if isinstance(error, OSError) else "no file is called so"
        raise UserError(f"--resume {folder}: {why}; `loadstone runs` lists the runs that there are") from None
    require_run(folder, "--resume ", [PLAN])
    if status.st_uid != os.geteuid():
        raise UserError(
            f"--resume {folder}: it belongs to the user with the id {status.st_uid}, and would decide what you run; "
            "go on as that user, or run it again"
        )
    if status.st_mode & stat.S_IWOTH:
        raise UserError(
            f"--resume {folder}: every user may write to it, and it decides what you run; look at it, then: chmod o-w"
        )
    return folder


def list_runs(root: Path = RUNS) -> list[RunEntry]:
    """The runs of a folder, the newest first."""
    return [_entry(path) for path in _folders(root)]


def run_lines(runs: Sequence[RunEntry], width: int | None = None) -> list[str]:
    """A line for each run: name, when it began, experiment, how much of it is there, and what it says."""
    cells = [
        (
            run.name,
            run.began.astimezone().strftime("%Y-%m-%d %H:%M") if run.began else "",
            run.experiment,
            run.state,
        )
        for run in runs
    ]
    widths = [max((len(row[place]) for row in cells), default=0) for place in range(4)]
    lines = [
        "  ".join([*(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)), run.headline]).rstrip()
        for row, run in zip(cells, runs, strict=True)
    ]
    return [line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def command_of(folder: Path, given: Sequence[str] = ()) -> list[str]:
    """The command and options with which the run was started, behind `loadstone`; how it was shown is left out.

    An option that held a secret must be among those `given` now: the folder keeps no secret.
    An experiment's file that is gone is replaced by the folder's copy. Raises UserError.
    """
    require_run(folder, "--resume ", [PLAN])
    arguments = options_given(_document(folder / ENVIRONMENT).get("command"))
    if arguments is None:
        raise UserError(f"--resume {folder}: its command was not recorded; name the experiment, too")
    kept: list[str] = []
    for word in _without_given(_without_written(arguments), given):
        if HIDDEN in word:
            option = kept.pop() if kept and kept[-1] in _KEEPING_NO_SECRET else ""
            _require_given(folder, option, word, given)
        elif word not in OF_ONE_START | NEVER_TAKEN:
            kept.append(_copy_if_gone(word, folder))
    return kept


def written_by(folder: Path, given: Sequence[str]) -> list[str]:
    """The options of the run's command that name files to write, and so are not taken from its folder."""
    arguments = options_given(_document(folder / ENVIRONMENT).get("command")) or []
    named = {word.partition("=")[0] for word in given}
    return [option for option in WRITES if option in {word.partition("=")[0] for word in arguments} - named]


def files_sent(arguments: Sequence[str]) -> list[str]:
    """The files whose text these options put into the load."""
    files: list[str] = []
    for option, value in itertools.pairwise((*arguments, "")):
        for name in _SENDS_FILE:
            files += [value] if option == name else []
            attached = option.removeprefix(name if len(name) == 2 else f"{name}=")
            files += [attached] if attached not in (option, "") else []
        body = value if option == "--body" else option.removeprefix("--body=") if "--body=" in option else ""
        files += [body[1:]] if body.startswith("@") else []
    return files


def _without_written(arguments: Sequence[str]) -> Iterator[str]:
    """The recorded words without what names files to write, or machines."""
    words = iter(arguments)
    for word in words:
        if word in (*WRITES, *FLEET):
            next(words, "")
        elif word.partition("=")[0] not in (*WRITES, *FLEET):
            yield word


def _without_given(arguments: Iterable[str], given: Sequence[str]) -> Iterator[str]:
    """The recorded words without the servers and subjects that are given again: what is said now counts."""
    again = {(option, value.partition("=")[0]) for option, value in itertools.pairwise(given) if "=" in value}
    words = iter(arguments)
    for word in words:
        if word not in ("--server", "--subject"):
            yield word
        elif (word, (value := next(words, "")).partition("=")[0]) not in again:
            yield from (word, value)


def options_given(command: object) -> list[str] | None:
    """The words behind `loadstone` of a recorded command that measures; None where it is none."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    measures = arguments[:1] == ["loadstone"] and arguments[1:2] in (["run"], ["saturate"], ["redis"], ["http"])
    return arguments[1:] if measures else None


def hides_secret(arguments: Sequence[str]) -> bool:
    """Whether a secret in a recorded command was replaced: then it does not work as it stands."""
    return any(HIDDEN in word for word in arguments)


def _require_given(folder: Path, option: str, word: str, given: Sequence[str]) -> None:
    """What was hidden must be given again. `option` is empty where it stands in the word. Raises UserError."""
    if not option:
        option, _, word = word.partition("=")
    name = "" if "://" in word.partition("=")[0] else word.partition("=")[0]
    values = [one.removeprefix(f"{option}=") for one in given]
    if option not in _KEEPING_NO_SECRET or not any(_is_same(option, name, value) for value in values):
        what, remedy = f"the password of {name or 'the subject'}", f"{option} {name}{'=' if name else ''}URL"
        if option == "--set":
            what, remedy = f"the secret in --set {name}", f"--set {name}=VALUE"
        elif option not in _KEEPING_NO_SECRET:
            what, remedy = f"a secret in '{word or option}'", "the whole command that started the run"
        raise UserError(f"--resume {folder}: {what} is not kept; add {remedy}, and next time give it as ${{env:NAME}}")


def _is_same(option: str, name: str, value: str) -> bool:
    """Whether a word that is given now sets what was hidden."""
    return value.startswith(f"{name}=") if name else option == "--subject" and "://" in value


def _copy_if_gone(word: str, folder: Path) -> str:
    names_file = word.endswith((".yaml", ".yml")) and not word.startswith("-") and "=" not in word
    if not names_file or is_there(Path(word)):
        return word
    try:
        os.close(open_file(folder / EXPERIMENT))
    except NotOfFolder as error:
        raise UserError(f"--resume {folder}: {error}") from None
    except OSError:
        pass  # what is wrong with it is said where it is read
    return str(folder / EXPERIMENT)


def _folders(root: Path) -> Iterator[Path]:
    """The folders of runs below `root`, the newest first."""
    folders = [path for path in root.glob("*") if is_file(path / PLAN)] if root.is_dir() else []
    yield from sorted(folders, key=_age, reverse=True)


def _age(path: Path) -> tuple[float, int]:
    """What sorts runs by their beginning: the time in the name, or else that of the plan's file."""
    named = RUN.fullmatch(path.name)
    began = _began(path)
    seconds = began.timestamp() if began is not None else (path / PLAN).lstat().st_mtime
    return seconds, int(named["number"] or 1) if named else 1


def _began(path: Path) -> datetime | None:
    named = RUN.fullmatch(path.name)
    try:
        began = datetime.strptime(named["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) if named else None
    except ValueError:
        return None
    return began if began is None or began.year in _YEARS else None


def _entry(path: Path) -> RunEntry:
    analysis, unread = _analysis(path / ANALYSIS)
    experiment = analysis.get("experiment") or _document(path / PLAN).get("experiment") or "?"
    return RunEntry(
        name=path.name,
        began=_began(path),
        experiment=str(experiment),
        state="running" if _is_written(path) else unread or _state(analysis),
        headline=_headline(analysis.get("answer", "")),
    )


def _headline(answer: object) -> str:
    """The sentence that opens the report, on one line: in folders of before it was recorded as one.

    Empty where this version does not know it.
    """
    if isinstance(answer, str):
        return " ".join(answer.split())
    from loadstone.report.text.sentences import text  # only now: it takes time to load

    try:
        return " ".join(text(Message.model_validate(answer)).split())
    except (ValidationError, LookupError, TypeError):  # of a later version, or damaged
        return ""


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


def _analysis(file: Path) -> tuple[dict[str, Any], str]:
    """The analysis, and why it cannot be read; empty where it can, or where there is none."""
    try:
        document = read_json(file, DOCUMENT_BYTES)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, f"{file.name}: {why(error)}"
    return (document, "") if isinstance(document, dict) else ({}, f"{file.name}: not an analysis")


def _document(file: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one where there is none that can be read."""
    try:
        document = read_json(file, DOCUMENT_BYTES)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
