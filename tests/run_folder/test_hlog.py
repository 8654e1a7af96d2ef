"""The interval logs are opened by HdrHistogram's own reader, and agree with the trial."""

from pathlib import Path
from types import ModuleType

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadstone.drivers.histogram import decode
from loadstone.run_folder.hlog import log_lines, measured, measured_by_intervals, measured_by_rounds, read_log
from loadstone.safety.errors import DriveFailed


@pytest.fixture
def drive(synthetic: ModuleType):
    return synthetic.make_drive(synthetic.make_plan(), per_interval=500)


@pytest.fixture
def path(drive, tmp_path: Path) -> Path:
    file = tmp_path / "b01-001.hlog"
    file.write_text("".join(f"{line}\n" for line in log_lines(drive.intervals, drive.record.started_unix_ns)))
    return file


def by_tag(path: Path) -> dict[str, list[HdrHistogram]]:
    """The log as HdrHistogram's own reader for Python gives it."""
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    found: dict[str, list[HdrHistogram]] = {}
    try:
        while (histogram := reader.get_next_interval_histogram()) is not None:
            found.setdefault(histogram.get_tag(), []).append(histogram)
    finally:
        reader.close()
    return found


def test_each_operation_and_phase_has_its_tags(path: Path) -> None:
    assert {tag: len(histograms) for tag, histograms in by_tag(path).items()} == {
        "warm_up.set.response": 1,
        "warm_up.set.service": 1,
        "set.response": 7,
        "set.service": 7,
    }


@pytest.mark.parametrize("kind", ["response", "service"])
def test_merged_intervals_are_the_trials_histogram(path: Path, drive, synthetic: ModuleType, kind: str) -> None:
    whole = HdrHistogram.decode(getattr(drive.record.operations["set"], f"{kind}_histogram"))
    merged = synthetic.recorded([])
    for histogram in by_tag(path)[f"set.{kind}"]:
        merged.add(histogram)
    assert merged.get_total_count() == whole.get_total_count() == drive.record.operations["set"].counts.ok
    for percentile in (0, 50, 90, 95, 99, 99.9, 100):
        assert merged.get_value_at_percentile(percentile) == whole.get_value_at_percentile(percentile)
    assert measured(path, kind).total == whole.get_total_count()


def test_the_trials_percentiles_are_the_logs(path: Path, drive, synthetic: ModuleType) -> None:
    trial = synthetic.make_trial(drive)
    merged = synthetic.recorded([])
    for histogram in by_tag(path)["set.response"]:
        merged.add(histogram)
    # 3,003 operations: a rank that is rounded up here is rounded to the nearest there.
    assert abs(trial.response_ns.p50 - merged.get_value_at_percentile(50)) <= 0.002 * trial.response_ns.p50
    assert abs(trial.response_ns.p90 - merged.get_value_at_percentile(90)) <= 0.002 * trial.response_ns.p90
    assert trial.response_ns.max == merged.get_max_value()


def test_times_are_seconds_since_the_start(path: Path, drive) -> None:
    stamps = [histogram.get_start_time_stamp() for histogram in by_tag(path)["set.response"]]
    started_ms = drive.record.started_unix_ns / 1e6
    assert stamps == pytest.approx([started_ms + 1000 * interval.start_s for interval in drive.intervals[1:]])
    text = path.read_text()
    assert text.startswith("#[Histogram log format version 1.3]\n")
    assert "#[StartTime: 1790000000.000 (seconds since epoch), 2026-09-21T" in text


def test_the_maximum_stands_in_milliseconds(path: Path) -> None:
    line = next(line for line in path.read_text().splitlines() if line.startswith("Tag=set.response,"))
    _, start, length, longest, encoded = line.split(",")
    assert (start, length) == ("1.000", "1.000")
    assert float(longest) == pytest.approx(decode(encoded).longest / 1e6, abs=0.001)


def test_intervals_without_a_correct_reply_have_no_line(drive, synthetic: ModuleType) -> None:
    nothing = synthetic.encoded(synthetic.recorded([]))
    interval = drive.intervals[1]
    silent = {"response_histogram": nothing, "service_histogram": nothing}
    operations = {"set": interval.operations["set"].model_copy(update=silent)}
    lines = list(log_lines([interval.model_copy(update={"operations": operations})], 0))
    assert not [line for line in lines if line.startswith("Tag=")]


def test_a_half_line_at_the_end_is_passed_over(path: Path) -> None:
    before = read_log(path)
    path.write_text(path.read_text() + "Tag=set.response,9.000,1.000,1.0,HISTFAAA")
    assert read_log(path) == before


def test_a_log_without_intervals_has_its_header_only(tmp_path: Path) -> None:
    file = tmp_path / "empty.hlog"
    file.write_text("".join(f"{line}\n" for line in log_lines([], 1_790_000_000_000_000_000)))
    assert by_tag(file) == {}
    assert measured(file, "response").total == 0


def test_rounds_stand_in_comments_that_other_readers_pass_over(drive, tmp_path: Path) -> None:
    """Two intervals of two rounds each, then the drain, which belongs to the last ones."""
    rounds = {2: (0, 1), 3: (0, 1), 4: (2, 3), 5: (2, 3), 6: (4, 5), 7: (4, 5)}
    stamped = [
        one.model_copy(update=dict(zip(("first_round", "last_round"), rounds.get(one.index, (0, 1)), strict=True)))
        for one in drive.intervals
    ]
    plain, path = tmp_path / "plain.hlog", tmp_path / "rounds.hlog"
    for file, intervals in ((plain, drive.intervals), (path, stamped)):
        file.write_text("".join(f"{line}\n" for line in log_lines(intervals, drive.record.started_unix_ns)))
    whole = {tag: sum(one.get_total_count() for one in histograms) for tag, histograms in by_tag(plain).items()}
    assert {tag: sum(one.get_total_count() for one in histograms) for tag, histograms in by_tag(path).items()} == whole
    found = measured_by_rounds(path, "response")
    assert list(found) == [(0, 1), (2, 3), (4, 5)]
    assert sum(one.total for one in found.values()) == whole["set.response"]
    with pytest.raises(DriveFailed, match="which rounds"):
        measured_by_rounds(plain, "response")
    by_time = measured_by_intervals(plain, "response")
    starts = [one.start_s for one in drive.intervals if one.phase in ("measure", "drain")]
    begun = [start_s for start_s, _ in by_time]
    assert len(begun) > 2
    assert all(any(start_s == pytest.approx(other, abs=1e-3) for other in starts) for start_s in begun)
    assert sum(one.total for one in by_time.values()) == whole["set.response"]
