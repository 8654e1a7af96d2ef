"""The run's folder as later stages read it: what was finished, whatever a crash left beside it."""

import gc
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from loadstone.drivers.histogram import Histogram, quantiles_ns
from loadstone.drivers.outcome import Events, Latency, Phase, Quantiles
from loadstone.experiment.spec.counting import TRIALS_MAX
from loadstone.experiment.spec.experiment import BLOCKS_MAX, Experiment, search_of
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.delayed import delayed_share
from loadstone.run_folder.digests import AttemptHashes, Digests
from loadstone.run_folder.files import (
    CRASHES,
    ENVIRONMENT,
    EXPERIMENT,
    INTERVALS,
    LOOKS,
    PLAN,
    SAMPLES,
    TRIALS,
    require_run,
)
from loadstone.run_folder.hlog import RoundSpan
from loadstone.run_folder.latency_logs import LatencyKind, LatencyLogs
from loadstone.run_folder.lines import OF_EARLIER_VERSION, LineReader, require_format
from loadstone.run_folder.look import Look
from loadstone.run_folder.plan_summary import PlanSummary
from loadstone.run_folder.trial import RecordModel, TrialRecord
from loadstone.safety.bounds.bounded_yaml import load_yaml
from loadstone.safety.bounds.files import LARGEST_BYTES, read_json, read_own_bytes, whole, why
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

L = TypeVar("L", bound=RecordModel)
EXPERIMENT_BYTES = 8 * 1024 * 1024
"""Limit of `experiment.yaml`: an experiment that is as large as one may be, with every default written out."""
ENVIRONMENT_BYTES = 8 * 1024 * 1024
"""Limit of `environment.json`: a run of many servers has some 100 kB."""
LINES_MAX = 2 * TRIALS_MAX
"""Limit of `trials.jsonl`: two attempts of each trial that a run can have. A line takes some 25 kB of memory and
more."""
_TRIAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class IntervalLine(Events):
    """A line of `intervals.jsonl`: one operation in one interval of one attempt at a trial.

    `bytes_sent`, `bytes_received`, `connections`, `users`, `backlog` and `cpu_s` are those of the
    whole interval, and the same in the lines of all its operations.
    """

    format: int
    trial: str
    attempt: int
    index: int
    phase: Phase
    start_s: float
    duration_s: float
    first_round: int | None = None
    last_round: int | None = None
    start_unix_ns: int
    bytes_sent: int
    bytes_received: int
    connections: int
    users: int
    backlog: int
    cpu_s: list[float]
    operation: str
    response_ns: Latency


@dataclass(frozen=True)
class RecordedRun:
    """A run's folder, read. Only finished trials count, each with its last attempt.

    Of comparisons whose slices were made longer, plan, trials and looks are those of the newest stage.
    """

    path: Path
    experiment: Experiment
    environment: dict[str, Any]
    plan: PlanSummary
    trials: tuple[TrialRecord, ...]
    """In the order in which they ended."""
    superseded: tuple[TrialRecord, ...]
    """Earlier attempts at trials of which a later one counts, since the run was interrupted in their block."""
    looks: tuple[Look, ...]
    """In the order in which they were taken."""
    intervals: dict[str, tuple[IntervalLine, ...]]
    samples: dict[str, tuple[Sample, ...]]
    notes: tuple[AnyText, ...]
    """What was damaged or left out, one sentence each for a person."""
    crashes: tuple[CrashRecord, ...] = ()
    """Servers that were killed, in the order in which it happened; of each try the last line counts."""
    shorter: tuple[TrialRecord, ...] = ()
    """Trials of comparisons whose slices were made longer since: nothing is judged by them."""
    lengthened: tuple[Look, ...] = ()
    """The looks at these comparisons that led to longer slices."""
    shorter_looks: tuple[Look, ...] = ()
    """All looks at these comparisons before that."""
    read_logs: LatencyLogs | None = None
    """What reads its latency logs; None: they are read as they are."""

    @property
    def logs(self) -> LatencyLogs:
        """What reads its latency logs."""
        return self.read_logs or LatencyLogs(self.path)

    @property
    def logs_as_they_are(self) -> LatencyLogs:
        """What reads its latency logs where they may lack what is read: that is no damage, and the reader looks."""
        return LatencyLogs(self.path)

    @property
    def all_notes(self) -> tuple[AnyText, ...]:
        """`notes`, and what of the latency logs that were to be read is missing or damaged, as far as it is known."""
        return (*self.notes, *self.logs.notes)

    def response_ns(self, trials: list[TrialRecord]) -> Quantiles:
        """Response time over all operations of these trials, merged; a failure is infinitely late.

        Raises:
            DriveFailed: a histogram is missing or damaged.
        """
        operations = sum(t.counts.offered for t in trials)
        return self._merged("response", trials, [t.response_ns for t in trials], operations)

    def service_ns(self, trials: list[TrialRecord]) -> Quantiles:
        """Service time over all operations that were sent. Raises as `response_ns`."""
        operations = sum(t.counts.sent for t in trials)
        return self._merged("service", trials, [t.service_ns for t in trials], operations)

    def least_ns(self, trials: list[TrialRecord]) -> Quantiles | None:
        """Response times without what loadstone itself may have added, of all operations; None where a trial has none.
        Raises as `response_ns`."""
        parts = [t.least_ns for t in trials if t.least_ns is not None]
        if not parts or len(parts) < len(trials):
            return None
        operations = sum(t.counts.offered for t in trials)
        return self._merged("least", trials, parts, operations, self.delayed(trials))

    @staticmethod
    def delayed(trials: Sequence[TrialRecord]) -> float:
        """Return the share of all operations of these trials that loadstone's own threads made late, at most."""
        operations = sum(t.counts.offered for t in trials)
        return sum(t.counts.offered * delayed_share(t.facts) for t in trials) / operations if operations else 0.0

    def _merged(
        self,
        kind: LatencyKind,
        trials: list[TrialRecord],
        parts: list[Quantiles],
        operations: int,
        delayed: float = 0.0,
    ) -> Quantiles:
        return quantiles_ns(
            self.logs.merged([t.trial for t in trials], kind),
            operations,
            least=min((p.min for p in parts if p.min is not None), default=None),
            mean=mean_of([p.mean for p in parts], [t.counts.ok for t in trials]),
            greatest=max((p.max for p in parts if p.max is not None), default=None),
            delayed=delayed,
        )


def read_histogram(path: Path, trial: str, kind: LatencyKind) -> Histogram:
    """All latencies (ns) of the measure phase of a trial of the run in `path`, which goes on. Raises DriveFailed."""
    return LatencyLogs(path).whole(trial, kind)


def read_round_histograms(path: Path, trial: str, kind: LatencyKind) -> dict[RoundSpan, Histogram]:
    """Return the histograms of a trial that was measured in rounds, see `LatencyLogs.by_rounds`."""
    return LatencyLogs(path).by_rounds(trial, kind)


def mean_of(means: list[float | None], weights: list[int]) -> float | None:
    """The mean of all values behind these means; None if there is none."""
    known = [(mean, weight) for mean, weight in zip(means, weights, strict=True) if mean is not None]
    total = sum(weight for _, weight in known)
    return sum(mean * weight for mean, weight in known) / total if total else None


@dataclass(frozen=True)
class _NewestStages:
    """A run as its newest stages have it: all that is judged and shown."""

    plan: PlanSummary
    """With the newest stage of each comparison in the place of the first."""
    trials: tuple[TrialRecord, ...]
    looks: tuple[Look, ...]
    shorter: tuple[TrialRecord, ...]
    """Trials of earlier stages: nothing is judged by them."""
    lengthened: tuple[Look, ...]
    """The looks that ended these stages."""
    shorter_looks: tuple[Look, ...]
    """All looks of these stages."""


def read_run(path: Path) -> RecordedRun:
    """Read a run's folder. Damaged lines are left out and noted.

    Raises:
        UserError: this is no run's folder, or of a format that this version does not know.
    """
    require_run(path)
    digests = Digests.read(path)
    trials, notes = read_trials(path, digests)
    looks, left_out = read_looks(path, digests)
    notes += left_out
    crashes, left_out = read_crashes(path, digests)
    notes += left_out
    last: dict[str, TrialRecord] = {}
    superseded: list[TrialRecord] = []
    for trial in trials:
        earlier = last.pop(trial.trial, None)
        if earlier is not None:
            superseded.append(earlier)
        last[trial.trial] = trial
    newest = _newest_stages(read_plan(path), list(last.values()), looks)
    attempts = {name: trial.facts.attempt for name, trial in last.items()}
    experiment, environment = read_experiment(path), read_environment(path)
    intervals = _read_intervals(path / INTERVALS, attempts, digests, notes)
    samples = _read_samples(path / SAMPLES, attempts, digests, notes)
    notes += [*digests.changed_documents(path), *digests.notes]
    return RecordedRun(
        path=path,
        experiment=experiment,
        environment=environment,
        plan=newest.plan,
        trials=newest.trials,
        superseded=tuple(superseded),
        looks=newest.looks,
        shorter=newest.shorter,
        lengthened=newest.lengthened,
        shorter_looks=newest.shorter_looks,
        intervals=intervals,
        samples=samples,
        notes=tuple(notes),
        crashes=tuple({crash.trial: crash for crash in crashes}.values()),
        read_logs=LatencyLogs(path, last, digests),
    )


def _newest_stages(plan: PlanSummary, trials: Sequence[TrialRecord], looks: Sequence[Look]) -> _NewestStages:
    """The newest stage of a comparison, which alone counts, is the last one of which a trial was measured."""
    begun: dict[str, int] = {}
    for trial in trials:
        begun[trial.group] = max(trial.stage, begun.get(trial.group, 0))
    later = {one.group.name: one for one in plan.longer if begun.get(one.group.name) == one.group.stage}
    groups = [later[group.name].group if group.name in later else group for group in plan.groups]
    lines = [line for line in plan.trials if line.group not in later]
    lines += [line for stage in later.values() for line in stage.trials]
    return _NewestStages(
        plan=plan.model_copy(update={"groups": tuple(groups), "trials": tuple(lines)}),
        trials=tuple(trial for trial in trials if trial.stage == begun[trial.group]),
        looks=tuple(look for look in looks if look.stage >= begun.get(look.group, 0)),
        shorter=tuple(trial for trial in trials if trial.stage < begun[trial.group]),
        lengthened=tuple(
            look for look in looks if look.stage < begun.get(look.group, 0) and look.reason == "carry-over"
        ),
        shorter_looks=tuple(look for look in looks if look.stage < begun.get(look.group, 0)),
    )


def read_experiment(path: Path) -> Experiment:
    """The experiment of a run's folder, as resolved. Raises UserError if the file is damaged."""
    file = path / EXPERIMENT
    try:
        record = whole(load_yaml(read_own_bytes(file, EXPERIMENT_BYTES).decode()))
        require_format(record if isinstance(record, dict) else {}, str(file))
        return Experiment.recorded(record)
    except (OSError, ValueError, OverflowError) as error:
        raise UserError("{file}: cannot be read: {error}", file=file, error=_first_line(error)) from None


def read_environment(path: Path) -> dict[str, Any]:
    """The environment of a run's folder. Raises UserError if the file is damaged."""
    file = path / ENVIRONMENT
    return _read_document(file, ENVIRONMENT_BYTES)


def read_plan(path: Path) -> PlanSummary:
    """The planned trials of a run's folder. Raises UserError if the file is damaged."""
    file = path / PLAN
    try:
        return PlanSummary.model_validate(_read_document(file))
    except (ValidationError, OverflowError) as error:
        raise UserError("{file}: cannot be read: {error}", file=file, error=_first_line(error)) from None


def _read_document(file: Path, largest_bytes: int = LARGEST_BYTES) -> dict[str, Any]:
    try:
        record = read_json(file, largest_bytes)
    except (OSError, ValueError) as error:
        raise UserError("{file}: cannot be read: {error}", file=file, error=_first_line(error)) from None
    document = record if isinstance(record, dict) else {}
    require_format(document, str(file))
    return document


def read_trials(path: Path, digests: Digests | None = None) -> tuple[list[TrialRecord], list[AnyText]]:
    """The finished trials of a run's folder in the order of their lines, and what was left out.

    `digests`: those of the folder, where they were read already.

    Raises:
        UserError: a line is of another format than this version knows, or of loadstone 0.1, or there are more than a
            run can have.
    """
    file = path / TRIALS
    reader = LineReader(file, (digests or Digests.read(path)).of_lines(TRIALS))
    trials: list[TrialRecord] = []
    bound = _Bound(file)
    with _uncollected():
        for number, record in reader:
            _require_kinds(path, record)
            try:
                trial = TrialRecord.model_validate(record)
            except ValidationError:
                reader.damaged.append(number)
                continue
            if _TRIAL_NAME.fullmatch(trial.trial):
                bound.require(number, trial)
                trials.append(trial)
            else:
                reader.damaged.append(number)
    notes = reader.notes()
    times = Counter((t.trial, t.facts.attempt) for t in trials)
    twice = [f"{name} (attempt {attempt})" for (name, attempt), number in times.items() if number > 1]
    if twice:
        notes.append(f"{file.name}: of attempts that are recorded more than once the last counts: {', '.join(twice)}.")
    return trials, notes


def _require_kinds(path: Path, record: dict[str, Any]) -> None:
    """Refuse a run of loadstone 0.1, by trials that do not record what each part is. Raises UserError."""
    facts = record.get("facts")
    if isinstance(facts, dict) and "plan" in facts and "kinds" not in facts:
        raise UserError("{path}: {why}", path=path, why=OF_EARLIER_VERSION)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without collections of garbage, each of which would look at all trials so far again: nothing that is read is any,
    and of thousands of lines they took half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Bound:
    """As many trials as a run can have: what is computed of one condition's takes the cube of their number."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._names: set[str] = set()
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._lines = 0

    def require(self, number: int, trial: TrialRecord) -> None:
        """Raises UserError for one more than a run can have, which stands in line `number`."""
        self._lines += 1
        if self._lines > LINES_MAX:
            self._refuse(number, f"more than {LINES_MAX:,} trials")
        if trial.trial in self._names:
            return  # an attempt: the last one counts
        self._names.add(trial.trial)
        for place in _places(trial):
            self._counts[place] += 1
            if self._counts[place] > BLOCKS_MAX:
                self._refuse(number, f"more than {BLOCKS_MAX:,} trials of one condition")

    def _refuse(self, number: int, what: str) -> None:
        raise UserError(
            "{file}, line {number}: {what}, which no run has; restore the file, or keep a copy and remove lines",
            file=self._file,
            number=number,
            what=what,
        )


def _places(trial: TrialRecord) -> Iterator[tuple[object, ...]]:
    """What a trial is one of at most `BLOCKS_MAX` of: its condition; in a search, what its add-on says."""
    condition = (trial.group, trial.stage, *sorted(trial.condition.items()))
    search = search_of(trial.group)
    if trial.search is None:
        yield condition
    elif search is None:  # its add-on is not installed
        yield (*condition, *sorted(trial.search.items()))
    else:
        yield from ((*condition, *place) for place in search.places(trial.search))


def read_looks(path: Path, digests: Digests | None = None) -> tuple[list[Look], list[AnyText]]:
    """The looks of a run's folder in the order of their lines, and what was left out.

    Raises:
        UserError: a line is of another format than this version knows.
    """
    return _read_lines(path / LOOKS, Look, digests or Digests.read(path))


def read_crashes(path: Path, digests: Digests | None = None) -> tuple[list[CrashRecord], list[AnyText]]:
    """The finished crashes of a run's folder in the order of their lines, and what was left out.

    Raises:
        UserError: a line is of another format than this version knows.
    """
    return _read_lines(path / CRASHES, CrashRecord, digests or Digests.read(path))


def _read_lines(file: Path, kind: type[L], digests: Digests) -> tuple[list[L], list[AnyText]]:
    reader = LineReader(file, digests.of_lines(file.name))
    lines: list[L] = []
    for number, record in reader:
        try:
            lines.append(kind.model_validate(record))
        except ValidationError:
            reader.damaged.append(number)
    return lines, reader.notes()


def _read_intervals(
    file: Path, attempts: dict[str, int], digests: Digests, notes: list[AnyText]
) -> dict[str, tuple[IntervalLine, ...]]:
    reader, hashes = LineReader(file), AttemptHashes()
    by_trial: dict[str, list[IntervalLine]] = {}
    for number, record in reader:
        if not _counts(record, attempts):
            continue
        try:
            line = IntervalLine.model_validate(record)
        except ValidationError:
            reader.damaged.append(number)
            continue
        hashes.add(line.trial, reader.line)
        by_trial.setdefault(line.trial, []).append(line)
    notes += [*reader.notes(), *_without_changed(file, by_trial, attempts, digests, hashes)]
    return {name: tuple(lines) for name, lines in by_trial.items()}


def _read_samples(
    file: Path, attempts: dict[str, int], digests: Digests, notes: list[AnyText]
) -> dict[str, tuple[Sample, ...]]:
    reader, hashes = LineReader(file), AttemptHashes()
    by_trial: dict[str, list[Sample]] = {}
    for number, record in reader:
        if not _counts(record, attempts):
            continue
        try:
            trial, unix_s, part = record["trial"], _figure(record["unix_s"]), str(record["part"])
            values = [Sample(unix_s, part, str(name), _figure(value)) for name, value in record["values"].items()]
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            reader.damaged.append(number)
            continue
        hashes.add(trial, reader.line)
        by_trial.setdefault(trial, []).extend(values)
    notes += [*reader.notes(), *_without_changed(file, by_trial, attempts, digests, hashes)]
    return {name: tuple(samples) for name, samples in by_trial.items()}


def _counts(record: dict[str, Any], attempts: dict[str, int]) -> bool:
    """Whether a line is of an attempt that counts."""
    trial = record.get("trial")
    return isinstance(trial, str) and trial in attempts and attempts[trial] == record.get("attempt")


def _without_changed(
    file: Path, by_trial: dict[str, Any], attempts: dict[str, int], digests: Digests, hashes: AttemptHashes
) -> Iterator[AnyText]:
    """Take out the trials whose lines are not those that were written; a note for all of them."""
    changed = [one for one in attempts.items() if not digests.fits(file.name, one, hashes.of(one[0]))]
    for trial, _ in changed:
        by_trial.pop(trial, None)
    if changed:
        names = ", ".join(name for name, _ in changed[:10]) + (", ..." if len(changed) > 10 else "")
        yield said(
            "{file}: the lines of these trials were changed, lost or moved, and no figure is made of them; restore the "
            "file ({trials})",
            file=file.name,
            trials=names,
        )


def _figure(value: Any) -> float:
    """Raises TypeError, ValueError or OverflowError if it is no finite number."""
    figure = float(value)
    if not math.isfinite(figure):
        raise Problem("{figure} is not a figure", figure=figure)
    return figure


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return shortened(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 200)
    return shortened(why(error), 200)


def figure_at(record: Mapping[str, Any], part: str, key: str) -> Any:
    """What stands at `key` of a part of an environment; None where either is missing."""
    return mapping_of(record.get(part)).get(key)


def mapping_of(value: Any) -> Mapping[str, Any]:
    """The value, or an empty mapping in place of what is none: records of other versions and of strangers are read."""
    return value if isinstance(value, Mapping) else {}
