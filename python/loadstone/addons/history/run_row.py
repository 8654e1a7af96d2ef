"""A run in a line: what it is of, what it found, where and when, read from its folder without its trials.

Whatever stands in the folder, there is a line: what cannot be read is said in it (`why`). Files are read bounded and
never through a link, and of a document only what is shown is taken, by the types below.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from loadstone.addons.history.tags import Tags, read_tags
from loadstone.run_folder.files import ANALYSIS, ENVIRONMENT, KEPT, PLAN, TAGS, TRIALS, age_of
from loadstone.run_folder.lines import OF_EARLIER_VERSION
from loadstone.run_folder.look import VerdictKind
from loadstone.safety.bounds.files import read_own_bytes, require_few_values, why
from loadstone.safety.errors import UserError
from loadstone.text.language import LANGUAGES, _, use_language
from loadstone.text.message import AnyText, Message, read_message
from loadstone.text.sentences import render_message

DOCUMENT_BYTES = 64 * 1024 * 1024
"""Limit of a document that is read for a line of the list: an analysis of 4,000 trials has as much."""
ENTRIES_MAX = 100_000
"""Limit of a folder's files, of which the sizes are added."""
_TEXT_MAX = 500
_PAIRS_MAX = 200
State = Literal["complete", "part", "not ended", "unread"]
"""part: it ended before all that was planned was measured; not ended: it has no analysis; unread: `why` says it."""
FINGERPRINTED = (PLAN, ANALYSIS, ENVIRONMENT, TAGS, TRIALS, KEPT)
"""Files of which a change makes the line be read again."""


def _short(value: object) -> object:
    return value[:_TEXT_MAX] if isinstance(value, str) else value


def _few(value: object) -> object:
    return value[:_PAIRS_MAX] if isinstance(value, list) else value


Short = Annotated[str, BeforeValidator(_short)]


_KINDS: dict[str, VerdictKind] = {kind: kind for kind in get_args(VerdictKind)}


class _DocumentPart(BaseModel):
    """A part of a document: what else is in it is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)
    called: ClassVar[str] = "a document"


T = TypeVar("T", bound=_DocumentPart)


class _Side(_DocumentPart):
    name: Short = ""


class _Verdict(_DocumentPart):
    kind: Short
    a: _Side = _Side()
    b: _Side = _Side()
    metric: Short = ""
    winner: Literal["a", "b"] | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None


class _Comparison(_DocumentPart):
    place: Short = ""
    primary: _Verdict


class _Family(_DocumentPart):
    name: Short = ""
    comparisons: Annotated[list[_Comparison], BeforeValidator(_few)] = []


class _Check(_DocumentPart):
    name: Short = ""
    measured: float | None = None


class _Trial(_DocumentPart):
    label: Short = ""
    verdict: Short = ""
    goodput_per_s: float | None = None
    p99_ns: float | None = None
    checks: Annotated[list[_Check], BeforeValidator(_few)] = []


class _Analysis(_DocumentPart):
    called = "an analysis"
    format: Literal[1] = 1
    experiment: Short = ""
    question: Short = ""
    answer: Any = None
    families: Annotated[list[_Family], BeforeValidator(_few)] = []
    complete: bool = False
    trials_done: int = 0
    trials_planned: int | None = None
    trials_invalid: int = 0
    elapsed_s: float = 0.0
    trials: list[_Trial] = []
    saturations: list[Any] = []


class _Plan(_DocumentPart):
    called = "a plan"
    format: Literal[1] = 1
    experiment: Short = ""
    quick: bool = False


class _Machine(_DocumentPart):
    machine_id: Short | None = None
    cpu_model: Short | None = None
    cpu_count: int | None = None


class _Engine(_DocumentPart):
    version: Short | None = None


class _Versions(_DocumentPart):
    loadstone: Short | None = None
    engine: _Engine = _Engine()


class _ServerEntry(_DocumentPart):
    software: Short | None = None
    version: Short | None = None


class _Environment(_DocumentPart):
    called = "an environment"
    machine: _Machine = _Machine()
    versions: _Versions = _Versions()
    servers: dict[Short, _ServerEntry] = {}


class FoundVerdict(BaseModel):
    """What a run says of one declared pair."""

    model_config = ConfigDict(frozen=True)

    family: str
    place: str
    kind: VerdictKind
    a: str
    b: str
    winner: Literal["a", "b"] | None
    metric: str
    estimate: float | None
    low: float | None
    high: float | None


class RunRow(BaseModel):
    """A line of the list of runs."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Name of its folder."""
    archived: bool = False
    began_unix_s: float = 0.0
    """Time by its name; if the folder was renamed, the time of its plan."""
    number: int = 1
    """Number among several that began in one second."""
    experiment: str = ""
    question: str = ""
    answer: Message | None = None
    """The sentence that opens the report; None where it has none."""
    state: State = "unread"
    why: str = ""
    """What of the folder cannot be read, and why."""
    running: bool = False
    """Whether a loadstone holds the folder at this moment."""
    trials_done: int = 0
    trials_planned: int | None = None
    trials_invalid: int = 0
    elapsed_s: float = 0.0
    """Time that all its sessions took."""
    tps: tuple[float, ...] = ()
    """Correct replies a second: of the condition that has the least and of the one that has the most; of a search for
    the saturation point the most alone."""
    p99_ns: tuple[float, ...] = ()
    """P99 of the condition with the smallest and of the one with the largest; empty of a search."""
    errors_percent: float | None = None
    """Failed operations of the trial that has most of them; None where none was judged."""
    found: tuple[FoundVerdict, ...] = ()
    quick: bool = False
    machine: str = ""
    """The CPU's model and how many there are."""
    machine_id: str = ""
    versions: str = ""
    """`loadstone 0.2.0, redis 8.2.1`."""
    tags: tuple[str, ...] = ()
    note: str = ""
    kept: bool = False
    """True for runs of `loadstone redis` and the like: newer ones may remove it."""
    size_bytes: int = 0
    """What its files take on the disk."""
    ours: bool = True
    """A folder of this user's that is no link: it may be archived and removed."""

    @property
    def kinds(self) -> tuple[VerdictKind, ...]:
        """The kinds of its verdicts, each once."""
        return tuple(dict.fromkeys(one.kind for one in self.found))


def read_row(path: Path, *, archived: bool = False) -> RunRow:
    """The line of a folder. Never raises for what stands in it; a folder that vanished has a line that says so."""
    said: list[AnyText] = []
    plan = _document(path / PLAN, _Plan, said)
    analysis = _document(path / ANALYSIS, _Analysis, said)
    environment = _document(path / ENVIRONMENT, _Environment, said)
    seconds, number = age_of(path)
    if analysis is not None and isinstance(analysis.answer, str):
        said.append(OF_EARLIER_VERSION)
    tags = _tags(path, said)
    return RunRow(
        name=whole_text(path.name),
        archived=archived,
        began_unix_s=seconds,
        number=number,
        experiment=(analysis.experiment if analysis else "") or (plan.experiment if plan else ""),
        question=analysis.question if analysis else "",
        answer=_answer(analysis.answer) if analysis else None,
        state="unread" if said else _state(analysis),
        why="; ".join(map(str, said)),
        running=is_written(path),
        trials_done=analysis.trials_done if analysis else 0,
        trials_planned=analysis.trials_planned if analysis else None,
        trials_invalid=analysis.trials_invalid if analysis else 0,
        found=tuple(_found(analysis)) if analysis else (),
        **(_figures(analysis) if analysis else {}),
        quick=plan.quick if plan else False,
        tags=tags.tags,
        note=tags.note,
        kept=(path / KEPT).is_file(),
        size_bytes=size_of(path),
        ours=_is_ours(path) and path.name == whole_text(path.name),
        **_where(environment or _Environment()),
    )


def whole_text(text: str) -> str:
    """Return the text with marks for what is no character: half of one, as in a folder's name that is not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def fingerprint(path: Path) -> str:
    """What changes when the line of a folder may: it is read again then."""
    found = []
    with contextlib.suppress(OSError):
        found.append(path.lstat().st_ino)
    for name in FINGERPRINTED:
        with contextlib.suppress(OSError):
            status = (path / name).lstat()
            found += [status.st_ino, status.st_mtime_ns, status.st_size]
        found.append(-1)
    return ",".join(map(str, found))


def is_written(path: Path) -> bool:
    """Whether a loadstone holds the folder at this moment, see `run_folder.folder.RunFolder`."""
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


def size_of(path: Path) -> int:
    """What the files of a folder take on the disk, in bytes: holes in them take nothing. Links are not followed."""
    left, total, folders = ENTRIES_MAX, 0, [os.fspath(path)]
    while folders and left > 0:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if (left := left - 1) < 0:
                    break
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append(entry.path)
                    else:
                        total += status.st_blocks * 512
    return total


def _document(file: Path, kind: type[T], said: list[AnyText]) -> T | None:
    """What is taken of a document; None where there is none. What is wrong with it is added to what is said."""
    try:
        text = read_own_bytes(file, DOCUMENT_BYTES)
        require_few_values(text)
        return kind.model_validate_json(text)
    except FileNotFoundError:
        return None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        what = ".".join(map(str, first["loc"]))[:100]
        said.append(f"{file.name}: {what}: {first['msg'][:100]}" if what else f"{file.name}: not {kind.called}")
    except (OSError, ValueError) as error:
        said.append(f"{file.name}: {str(why(error))[:200]}")
    return None


def _tags(path: Path, said: list[AnyText]) -> Tags:
    try:
        return read_tags(path)
    except UserError as error:
        said.append(str(error).removeprefix(f"{path}/")[:200])
        return Tags()


def _answer(value: object) -> Message | None:
    try:
        return read_message(value)
    except ValidationError:
        return None


def _state(analysis: _Analysis | None) -> State:
    if analysis is None:
        return "not ended"
    return "complete" if analysis.complete else "part"


def _figures(analysis: _Analysis) -> dict[str, Any]:
    """What stands in the columns of the list, of trials that are valid or suspect."""
    trials = [one for one in analysis.trials if one.verdict in ("valid", "suspect")]
    shares = [check.measured for one in trials for check in one.checks if check.name == "errors"]
    found = {"elapsed_s": analysis.elapsed_s, "errors_percent": max((x for x in shares if x is not None), default=None)}
    if analysis.saturations:
        return found | {"tps": tuple(sorted(one.goodput_per_s for one in trials if one.goodput_per_s)[-1:])}
    return found | {
        "tps": _ends((one.label, one.goodput_per_s) for one in trials),
        "p99_ns": _ends((one.label, one.p99_ns) for one in trials),
    }


def _ends(figures: Iterable[tuple[str, float | None]]) -> tuple[float, ...]:
    """The least and the greatest of the conditions' medians; one where they are the same."""
    of_condition: dict[str, list[float]] = {}
    for label, figure in figures:
        if figure is not None:
            of_condition.setdefault(label, []).append(figure)
    medians = [median(one) for one in of_condition.values()]
    return tuple(sorted({min(medians), max(medians)})) if medians else ()


def _found(analysis: _Analysis) -> Iterator[FoundVerdict]:
    for family in analysis.families:
        for one in family.comparisons:
            verdict = one.primary
            if (kind := _KINDS.get(verdict.kind)) is None:  # of a later version
                continue
            yield FoundVerdict(
                family=family.name,
                place=one.place,
                kind=kind,
                a=verdict.a.name,
                b=verdict.b.name,
                winner=verdict.winner,
                metric=verdict.metric,
                estimate=verdict.estimate,
                low=verdict.low,
                high=verdict.high,
            )


def _where(environment: _Environment) -> dict[str, str]:
    machine, versions = environment.machine, environment.versions
    cpus = "" if machine.cpu_count is None else f"{machine.cpu_count} CPUs"
    servers = sorted({(one.software or name, one.version or "") for name, one in environment.servers.items()})
    known = [("loadstone", versions.loadstone or ""), *servers]
    return {
        "machine": ", ".join(filter(None, (machine.cpu_model, cpus))),
        "machine_id": machine.machine_id or "",
        "versions": ", ".join(f"{name} {version}".strip() for name, version in known if version),
    }


def _is_ours(path: Path) -> bool:
    with contextlib.suppress(OSError):
        status = path.lstat()
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return False


class RunSummary(NamedTuple):
    state: str
    """`complete`, `running`, or how much of it was measured."""
    headline: str
    """The sentence that opens the report; empty where this version does not know it."""


def line_of(row: RunRow) -> tuple[RunRow, RunSummary]:
    """A run's row with what is read of it."""
    return row, RunSummary(state_of(row), headline_of(row))


def state_of(row: RunRow) -> str:
    if row.running:
        return _("running")
    if row.why:
        return row.why
    if row.state == "part":
        planned = "?" if row.trials_planned is None else row.trials_planned
        return _("{done} of {planned} trials", done=row.trials_done, planned=planned)
    return _("complete") if row.state == "complete" else _("not ended")


def headline_of(row: RunRow) -> str:
    """On one line."""
    if row.answer is None:
        return ""
    try:
        return " ".join(render_message(row.answer).split())
    except (LookupError, TypeError, ValueError, AttributeError):  # of a later version, or damaged
        return ""


def words_of(row: RunRow) -> str:
    """What is searched beside the row's own words: the headline, in every language."""
    said = []
    for name in LANGUAGES:
        with use_language(name):
            said.append(headline_of(row))
    return " ".join(dict.fromkeys(said))
