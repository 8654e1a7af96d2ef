"""HdrHistogram interval logs: a trial's latencies, for everybody's tools.

Version 1.3 of the log format. A line an interval, an operation and a kind of latency; its tag says
which: `set.response`, `set.service`, of the open model `set.least` (response times without all that the engine itself
may have added), and with the phase before it outside the measure phase:
`warm_up.set.response`. Operations intended in the measure phase that ended in the drain belong to
the measure phase, so all lines with the tag `set.response` together are the trial's histogram.
Of a drive that took turns with others a comment before the lines of an interval names its rounds:
`#[Rounds: 0-11]`, first and last.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from loadstone.drivers.histogram import Histogram, decode, merge
from loadstone.drivers.outcome import Interval
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import DriveFailed

LINE_MAX_LETTERS = 4 * 1024 * 1024
"""An encoded histogram of three digits has at most some 200,000."""
_NS_PER_MS = 1e6
_MEASURED = {"measure", "drain"}
_ROUNDS = re.compile(r"#\[Rounds: (\d{1,9})-(\d{1,9})\]\n")

RoundSpan = tuple[int, int]
"""First and last round."""
IntervalSpan = tuple[float, float]
"""When an interval began, since the trial did, and how long it was; in s."""


def log_lines(intervals: Iterable[Interval], started_unix_ns: int) -> Iterator[str]:
    """The lines of the log of one trial, without line ends."""
    started_s = started_unix_ns / 1e9
    started = datetime.fromtimestamp(started_s, UTC).isoformat(timespec="milliseconds")
    yield "#[Histogram log format version 1.3]"
    yield "#[loadstone: format 1; values in nanoseconds, Interval_Max in milliseconds]"
    yield f"#[StartTime: {started_s:.3f} (seconds since epoch), {started}]"
    yield f"#[BaseTime: {started_s:.3f} (seconds since epoch)]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    for interval in intervals:
        if interval.first_round is not None:
            yield f"#[Rounds: {interval.first_round}-{interval.last_round}]"
        for tag, encoded in _tagged(interval):
            histogram = decode(encoded)
            if histogram.total:
                longest_ms = histogram.longest / _NS_PER_MS
                yield f"Tag={tag},{interval.start_s:.3f},{interval.duration_s:.3f},{longest_ms:.3f},{encoded}"


def _tagged(interval: Interval) -> Iterator[tuple[str, str]]:
    prefix = "" if interval.phase in _MEASURED else f"{interval.phase}."
    for name, operation in interval.operations.items():
        yield f"{prefix}{name}.response", operation.response_histogram
        yield f"{prefix}{name}.service", operation.service_histogram
        if operation.least_histogram is not None:
            yield f"{prefix}{name}.least", operation.least_histogram


def read_log(path: Path) -> dict[str, list[str]]:
    """The encoded histograms of each tag, an interval after the other. Raises OSError if there is no such file."""
    encoded: dict[str, list[str]] = {}
    for line in _lines(path):
        encoded.setdefault(line.tag, []).append(line.encoded)
    return encoded


class _Entry(NamedTuple):
    """One line: a histogram, and which time it is of."""

    tag: str
    rounds: RoundSpan | None
    start_s: float
    length_s: float
    encoded: str


def _lines(path: Path) -> Iterator[_Entry]:
    """Every line that holds a histogram. Raises OSError if there is no such file, DriveFailed if it is damaged."""
    rounds: RoundSpan | None = None
    opened = open_file(path, folder=path.parent.parent)  # `latency/`, too, is the run's own
    with os.fdopen(opened, encoding="utf-8", errors="replace") as file:
        for line in iter(partial(file.readline, LINE_MAX_LETTERS), ""):
            if len(line) == LINE_MAX_LETTERS:
                raise DriveFailed(
                    "{path}: a line is longer than any that loadstone writes; restore the file", path=path
                )
            if named := _ROUNDS.fullmatch(line):
                rounds = int(named[1]), int(named[2])
            elif line.startswith("Tag=") and line.endswith("\n") and "," in line:
                tag, *times, text = line[len("Tag=") : -1].split(",")
                yield _Entry(tag, rounds, *_start_and_length(times), text)


def _start_and_length(times: Sequence[str]) -> tuple[float, float]:
    """Seconds since the trial began; 0 where a line of someone else's does not say."""
    try:
        return float(times[0]), float(times[1])
    except (IndexError, ValueError):
        return 0.0, 0.0


def measured(path: Path, kind: str) -> Histogram:
    """All operations of a trial's measure phase together; `kind` is `response`, `service` or `least`.

    Raises:
        OSError: there is no such file.
        DriveFailed: a histogram in it is damaged.
    """
    return merge(decode(text) for tag, texts in read_log(path).items() if _is_measured(tag, kind) for text in texts)


def measured_by_rounds(path: Path, kind: str) -> dict[RoundSpan, Histogram]:
    """Return the histograms of a drive that took turns, by the rounds that each histogram is of, in their order.

    Raises:
        OSError: there is no such file.
        DriveFailed: a histogram in it is damaged, or the log does not say which rounds it is of.
    """
    encoded: dict[RoundSpan, list[str]] = {}
    for line in _lines(path):
        if not _is_measured(line.tag, kind):
            continue
        if line.rounds is None:
            raise DriveFailed("{path}: does not say which rounds its latencies are of", path=path)
        encoded.setdefault(line.rounds, []).append(line.encoded)
    return {rounds: merge(map(decode, encoded[rounds])) for rounds in sorted(encoded)}


def measured_by_intervals(path: Path, kind: str) -> dict[IntervalSpan, Histogram]:
    """Return the histograms by the intervals that each is of, in their order. What ended in the drain stands in its
    own.

    Raises:
        OSError: there is no such file.
        DriveFailed: a histogram in it is damaged.
    """
    encoded: dict[IntervalSpan, list[str]] = {}
    for line in _lines(path):
        if _is_measured(line.tag, kind):
            encoded.setdefault((line.start_s, line.length_s), []).append(line.encoded)
    return {span: merge(map(decode, encoded[span])) for span in sorted(encoded)}


def _is_measured(tag: str, kind: str) -> bool:
    return tag.count(".") == 1 and tag.endswith(f".{kind}")
