"""The latency logs of a run as later stages read them: held against what the run wrote, and against its trials."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from loadstone.drivers.histogram import Histogram, merge
from loadstone.run_folder.digests import Digests, file_digest
from loadstone.run_folder.files import LATENCY
from loadstone.run_folder.hlog import IntervalSpan, RoundSpan, measured, measured_by_intervals, measured_by_rounds
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed
from loadstone.text.message import AnyText, Message, joined, said

LatencyKind = Literal["response", "service", "least"]
Read = TypeVar("Read")


class LatencyLogs:
    """Reads the logs of the trials of a run; a damaged one is read no further, and remembered."""

    def __init__(
        self, folder: Path, trials: Mapping[str, TrialRecord] | None = None, digests: Digests | None = None
    ) -> None:
        """`trials`: by name, what the logs must agree with. Others are read as they are, as while a run goes on."""
        self._folder = folder
        self._trials = dict(trials or {})
        self._digests = digests or Digests()
        self._looked_at: set[str] = set()
        self._damaged: dict[str, AnyText] = {}

    @property
    def notes(self) -> list[AnyText]:
        """A sentence for each log that was to be read and is missing or damaged."""
        return [self._damaged[trial] for trial in sorted(self._damaged)]

    def whole(self, trial: str, kind: LatencyKind) -> Histogram:
        """All latencies (ns) of the measure phase of a trial.

        Raises:
            DriveFailed: the log is missing or damaged; the error names it.
        """
        return self._read(measured, trial, kind, lambda found: found.total)

    def by_rounds(self, trial: str, kind: LatencyKind) -> dict[RoundSpan, Histogram]:
        """The latencies of a trial that was measured in rounds, by the rounds (of its block) of each histogram.

        Raises:
            DriveFailed: as `whole`, or the log does not say which rounds its histograms are of.
        """
        return self._read(measured_by_rounds, trial, kind, lambda found: _total(found))

    def by_intervals(self, trial: str, kind: LatencyKind) -> dict[IntervalSpan, Histogram]:
        """The latencies of any trial, by its intervals: begin and length in s. Raises as `whole`."""
        return self._read(measured_by_intervals, trial, kind, lambda found: _total(found))

    def merged(self, trials: list[str], kind: LatencyKind) -> Histogram:
        """The latencies of several trials together. Raises as `whole`."""
        return merge(self.whole(trial, kind) for trial in trials)

    def _read(
        self, read: Callable[[Path, str], Read], trial: str, kind: LatencyKind, total: Callable[[Read], int]
    ) -> Read:
        log = f"{LATENCY}/{trial}.hlog"
        path = self._folder / log
        try:
            why = self._changed(trial, path)
            found = None if why else read(path, kind)
            why = why or (None if found is None else self._incomplete(trial, kind, total(found)))
        except OSError as error:
            if self._is_known(trial):
                self._damaged[trial] = _unread(log, error)
            raise DriveFailed.of(_unread(error.filename or path, error)) from None
        except DriveFailed as error:
            why = error.args[0]
        if why is not None or found is None:
            if trial in self._trials:
                self._damaged[trial] = joined(": ", (log, why))
            raise DriveFailed.of(joined(": ", (path, why)))
        return found

    def _is_known(self, trial: str) -> bool:
        """Whether it is known that the run wrote a log for this trial."""
        record = self._trials.get(trial)
        return record is not None and (trial, record.facts.attempt) in self._digests.attempts.get(LATENCY, {})

    def _changed(self, trial: str, path: Path) -> AnyText | None:
        """Why the log is not the one that the run wrote; None where it is, or that is not known. Raises OSError."""
        record = self._trials.get(trial)
        if record is None or trial in self._looked_at or not self._is_known(trial):
            return None
        if not self._digests.fits(LATENCY, (trial, record.facts.attempt), file_digest(path, self._folder)):
            return said("it is not as the run wrote it, and no figure is made of it; restore the file")
        self._looked_at.add(trial)
        return None

    def _incomplete(self, trial: str, kind: LatencyKind, total: int) -> AnyText | None:
        """Why so many latencies cannot be those of the trial."""
        record = self._trials.get(trial)
        if record is None:
            return None
        drive = record.facts.drive
        overflowed = 0 if drive is None else drive.overflowed
        if record.counts.ok - overflowed <= total <= record.counts.ok:
            return None
        return said(
            "it holds {total:,} {kind} times of the {ok:,} correct replies of its trial, and no figure is made of it; "
            "restore the file",
            total=total,
            kind=kind,
            ok=record.counts.ok,
        )


def _unread(filename: Path | str, error: OSError) -> Message:
    return said("{filename}: cannot be read: {strerror}", filename=filename, strerror=error.strerror)


def _total(found: Mapping[RoundSpan, Histogram] | Mapping[IntervalSpan, Histogram]) -> int:
    return sum(histogram.total for histogram in found.values())
