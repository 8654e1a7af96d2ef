"""The run's folder while it is written: append-only, safe on the disk after each trial.

What stands where, key by key: `docs/run-folder.md`. A trial is finished once its line stands in
`trials.jsonl`; that line is written last, after everything else of the trial is on the disk.
"""

import fcntl
import io
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from loadstone.drivers.outcome import Interval
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.digests import AttemptHashes, DigestFile, digest
from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.files import (
    ANALYSIS,
    ANSWER_FILES,
    CRASHES,
    ENVIRONMENT,
    EXPERIMENT,
    INTERVALS,
    LATENCY,
    LOOKS,
    PLAN,
    SAMPLES,
    TRIALS,
    require_run,
)
from loadstone.run_folder.hlog import log_lines
from loadstone.run_folder.lines import (
    FORMAT,
    LineFile,
    LineReader,
    dump_document,
    dump_line,
    sync_directory,
    write_error,
    write_file,
)
from loadstone.run_folder.look import Look
from loadstone.run_folder.plan_summary import PlanSummary
from loadstone.run_folder.reading import read_crashes, read_environment, read_looks, read_plan, read_trials
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.bounds.disk import disk
from loadstone.safety.bounds.files import read_own_bytes
from loadstone.safety.bounds.folder_files import make_folder
from loadstone.safety.errors import LoadstoneError, NoPlace, UserError
from loadstone.safety.secrets.known import redacted

LOOKED_AT_S = 0.2
"""For so long a list of runs may hold a folder to see whether it is written to."""
_SWITCH_TEXTS = {"on", "off", "yes", "no", "y", "n"}


class RunFolder:
    """A run's folder, held by one writer. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the files of an existing folder; see `create` and `resume`."""
        self.path = path
        with ExitStack() as opened:
            directory = _lock(path)
            opened.callback(os.close, directory)
            self.trials = opened.enter_context(closing(LineFile(path / TRIALS)))
            self.intervals = opened.enter_context(closing(LineFile(path / INTERVALS)))
            self.samples = opened.enter_context(closing(LineFile(path / SAMPLES)))
            self.looks = opened.enter_context(closing(LineFile(path / LOOKS)))
            self.crashes = opened.enter_context(closing(LineFile(path / CRASHES)))
            self.digests = opened.enter_context(closing(DigestFile(path)))
            _sync_names(path)
            self.earlier_trials = tuple(read_trials(path)[0])
            """What was finished when the folder was opened, every attempt, in the order of the lines."""
            self.earlier_looks = tuple(read_looks(path)[0])
            """What was looked at when the folder was opened, in the order of the lines."""
            self.earlier_crashes = tuple(read_crashes(path)[0])
            """The crashes that were finished when the folder was opened, in the order of the lines."""
            self.more_time = False
            """Whether a resumed run may last longer than it was given before."""
            self._attempts = _attempts(self.earlier_trials, path / INTERVALS, path / SAMPLES)
            self._opened = opened.pop_all()

    @classmethod
    def create(
        cls,
        out_root: Path,
        experiment_name: str,
        resolved_experiment: Mapping[str, Any],
        environment: Mapping[str, Any],
        plan_summary: PlanSummary,
        path: Path | None = None,
    ) -> "RunFolder":
        """Make `<out_root>/<UTC time>-<experiment_name>/` and write what is known before the first trial.

        `path`: the folder, where `new_directory` made it beforehand, because logs are written to it already.

        Raises:
            UserError: `out_root` cannot be written, or the disk is full.
        """
        made, path = path is None, path or new_directory(out_root, experiment_name)
        try:
            make_folder(path / LATENCY, path)
            documents = {
                EXPERIMENT: _yaml(redacted({"format": FORMAT, **resolved_experiment})),
                ENVIRONMENT: dump_document({"format": FORMAT, **environment}),
                PLAN: dump_document(plan_summary.model_dump(mode="json")),
            }
            with closing(DigestFile(path)) as digests:
                for name, content in documents.items():
                    digests.document(name, content)
                digests.sync()
            for name, content in documents.items():
                write_file(path / name, content)
            return cls(path)
        except (OSError, LoadstoneError) as error:
            if made:
                disk().remove_tree(path)
            else:  # it may hold a ledger; who made it removes it, if it is no run's folder
                with suppress(OSError):  # the disk that failed may fail here, too
                    disk().unlink(path / PLAN)
            raise (write_error(error, path) if isinstance(error, OSError) else error) from None

    @classmethod
    def resume(cls, path: Path) -> "RunFolder":
        """Open an existing folder to go on with it. A half-written last line is taken away.

        Call `run_folder.resume.require_same_run` before the first trial.

        Raises:
            UserError: there is no such folder, it is no run's folder, or another process writes to it.
        """
        require_run(path, "--resume ", [PLAN])
        return cls(path)

    def begin_trial(self, trial: str) -> "TrialWriter":
        """A writer for one attempt at the trial. Attempts count from 1."""
        self._attempts[trial] = self._attempts.get(trial, 0) + 1
        return TrialWriter(self, trial, self._attempts[trial])

    def add_trial(self, line: Mapping[str, Any]) -> None:
        """Append a line to `trials.jsonl`; it is on the disk when this returns. Raises as `LineFile.append`."""
        self._append_noted(self.trials, line)

    def add_look(self, look: Look) -> None:
        """Append a line to `looks.jsonl`; it is on the disk when this returns. Raises as `LineFile.append`."""
        self._append_noted(self.looks, look.model_dump(mode="json"))

    def add_crash(self, crash: CrashRecord) -> None:
        """Append a line to `crashes.jsonl`; it is on the disk when this returns. Raises as `LineFile.append`."""
        self._append_noted(self.crashes, crash.model_dump(mode="json"))

    def _append_noted(self, file: LineFile, record: Mapping[str, Any]) -> None:
        """Append a line that is on the disk when this returns, and then its digest. Raises as `LineFile.append`."""
        line = dump_line(record)
        file.append_line(line)
        file.sync()
        self.digests.line(file, line)

    def write_plan(self, plan_summary: PlanSummary) -> None:
        """Write `plan.json` again, whole or not at all: the same plan with another budget."""
        before_s = read_plan(self.path).budget_s
        self.more_time = before_s > 0 and not 0 < plan_summary.budget_s <= before_s
        self._write_noted(PLAN, dump_document(plan_summary.model_dump(mode="json")))

    def add_other_runs(self, others: Sequence[Mapping[str, Any]]) -> None:
        """Note in `environment.json` what measured beside this session, too; whole or not at all."""
        if others:
            before = read_environment(self.path)
            noted = {**before, "other_runs": [*before.get("other_runs", ()), *others]}
            self._write_noted(ENVIRONMENT, dump_document(noted))

    def _write_noted(self, name: str, content: bytes) -> None:
        """Replace a document, after its digest is on the disk. Raises as `write_file`."""
        self.digests.document(name, content)
        self.digests.sync()
        write_file(self.path / name, content)

    def write_analysis(self, analysis: Mapping[str, Any]) -> None:
        """Write `analysis.json` and the files of answers, each whole or not at all. May be called again."""
        write_file(self.path / ANALYSIS, dump_document(analysis))
        for key, name in ANSWER_FILES.items():
            if analysis.get(key) is not None:
                write_file(self.path / name, dump_document(analysis[key]))

    def close(self) -> None:
        """Give the folder free. Everything written so far stays."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


HISTOGRAMS = {"response_histogram", "service_histogram", "least_histogram"}
"""What stands in a trial's `.hlog` and in no other file."""


class TrialWriter:
    """Writes what one attempt at a trial yields, as it comes; `finish` makes it count."""

    def __init__(self, folder: RunFolder, trial: str, attempt: int) -> None:
        self.trial = trial
        self.attempt = attempt
        self.observed: list[Interval] = []
        """The intervals written so far."""
        self._folder = folder
        self._hashes = {INTERVALS: AttemptHashes(), SAMPLES: AttemptHashes()}

    def add_interval(self, interval: Interval) -> None:
        """Append a line an operation to `intervals.jsonl`. Raises as `LineFile.append`."""
        self.observed.append(interval)
        whole = interval.model_dump(mode="json", exclude={"operations"})
        for name, operation in interval.operations.items():
            figures = operation.model_dump(mode="json", exclude=HISTOGRAMS)
            self._append(self._folder.intervals, {**whole, "operation": name, **figures})

    def add_samples(self, samples: Iterable[Sample]) -> None:
        """Append a line a moment and part to `samples.jsonl`. Raises as `LineFile.append`."""
        for (unix_s, part), group in groupby(samples, key=lambda sample: (sample.unix_s, sample.part)):
            values = {sample.metric: sample.value for sample in group}
            self._append(self._folder.samples, {"unix_s": round(unix_s, 6), "part": part, "values": values})

    def finish(self, trial: TrialRecord) -> TrialRecord:
        """Bring everything to the disk, the trial's own line last. Returns the record as written.

        Raises:
            UserError: the disk is full; the trial does not count, earlier ones do.
        """
        facts = redacted({**trial.facts.model_dump(mode="json"), "attempt": self.attempt})
        line = {**trial.model_dump(mode="json", exclude={"facts"}), "facts": facts}
        log = "".join(f"{line}\n" for line in log_lines(self.observed, trial.started_unix_ns)).encode()
        self._note({LATENCY: digest(log), **{name: hashes.of(self.trial) for name, hashes in self._hashes.items()}})
        write_file(self._folder.path / LATENCY / f"{trial.trial}.hlog", log, self._folder.path)
        self._folder.intervals.sync()
        self._folder.samples.sync()
        self._folder.add_trial(line)
        return trial.model_copy(update={"facts": TrialFacts.read(facts)})

    def _append(self, file: LineFile, record: Mapping[str, Any]) -> None:
        line = dump_line({"format": FORMAT, "trial": self.trial, "attempt": self.attempt, **record})
        file.append_line(line)
        self._hashes[file.path.name].add(self.trial, line)

    def _note(self, digests: Mapping[str, str]) -> None:
        """Bring to the disk what this attempt wrote, or is about to write, to these files."""
        for name, sha256 in digests.items():
            self._folder.digests.of_attempt(name, (self.trial, self.attempt), sha256)
        self._folder.digests.sync()


def _lock(path: Path) -> int:
    """Lock the folder against a second writer; the lock goes with the process, however it ends."""
    try:
        directory = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError("{path}: cannot be opened: {strerror}", path=path, strerror=error.strerror) from None
    deadline_s = time.monotonic() + LOOKED_AT_S
    while not _taken(directory):
        if time.monotonic() < deadline_s:
            time.sleep(LOOKED_AT_S / 10)
            continue
        os.close(directory)
        raise UserError(
            "{path}: another loadstone is writing to this folder; wait for it or stop it", path=path
        ) from None
    return directory


def _sync_names(path: Path) -> None:
    """Bring to the disk which files there are: a power cut takes one away whose lines are there, but not its name."""
    try:
        sync_directory(path)
    except OSError as error:
        raise write_error(error, path) from None


def _taken(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _attempts(finished: Iterable[TrialRecord], *paths: Path) -> dict[str, int]:
    """Return how often each trial was begun, by its records, and by what these files hold of those under way."""
    begun: dict[str, int] = {}
    for ended in finished:  # one that could not be driven has no intervals
        begun[ended.trial] = max(ended.facts.attempt, begun.get(ended.trial, 0))
    for path in paths:
        for _, record in LineReader(path):
            trial, attempt = record.get("trial"), record.get("attempt")
            if isinstance(trial, str) and isinstance(attempt, int):
                begun[trial] = max(attempt, begun.get(trial, 0))
    return begun


def new_directory(out_root: Path, experiment_name: str) -> Path:
    """A new folder of its owner's alone, named by time and experiment; a second one within a second gets a number.

    Raises:
        NoPlace: `out_root` cannot be written.
    """
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{experiment_name}"
    for number in range(1, 1000):
        path = out_root / (stem if number == 1 else f"{stem}-{number}")
        try:
            make_root(out_root)
            disk().mkdir(path, 0o700)
            sync_directory(out_root)
        except FileExistsError:
            continue
        except OSError as error:
            raise NoPlace(
                "--out {out_root}: cannot be written: {strerror}; give another folder",
                out_root=out_root,
                strerror=error.strerror,
            ) from None
        return path
    raise LoadstoneError("{out_root}: holds a thousand runs of this second", out_root=out_root)


_OF_GIT, _ALL = ".gitignore", "*\n"


def make_root(path: Path) -> None:
    """Makes the folder of runs, if there is none, so that git leaves it alone: `git status` of a user's tree is as it
    was. Raises OSError."""
    if path.exists():
        return
    path.mkdir(parents=True, exist_ok=True)
    (path / _OF_GIT).write_text(_ALL)


def remove_root(path: Path) -> None:
    """Removes such a folder that holds no run any more. Raises OSError where it holds something else."""
    of_git = path / _OF_GIT
    if [one.name for one in path.iterdir()] == [_OF_GIT] and read_own_bytes(of_git, len(_ALL)) == _ALL.encode():
        of_git.unlink()
    path.rmdir()


def _yaml(record: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    yaml = YAML()  # the plain dumper would sort the keys, and the order of factors means something
    yaml.width = 120
    yaml.dump(_quoted(record), buffer)
    return buffer.getvalue()


def _quoted(value: Any) -> Any:
    """A copy in which texts that some readers of YAML take for a switch stand in quotes."""
    if isinstance(value, Mapping):
        return {_quoted(key): _quoted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_quoted(item) for item in value]
    if isinstance(value, str) and value.lower() in _SWITCH_TEXTS:
        return DoubleQuotedScalarString(value)
    return value
