"""The time line of a run."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from loadstone.judge.analysis.timeline import make_timeline
from loadstone.run_folder.reading import RecordedRun, read_run


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("runs"), until=3))


def test_a_point_an_interval_in_the_order_of_time(run: RecordedRun) -> None:
    points = make_timeline(run, reversed(run.trials))
    assert len(points) == 3 * 8
    assert [p.unix_s for p in points] == sorted(p.unix_s for p in points)
    assert [p.phase for p in points[:8]] == ["warm_up", *["measure"] * 6, "drain"]
    assert points[1].throughput_per_s == points[1].goodput_per_s == pytest.approx(200)
    assert points[1].cpu_share == {"generator": pytest.approx(0.4), "redis": pytest.approx(0.6)}
    assert points[1].p99_ns == run.intervals["b01-001"][1].response_ns.p99


def test_a_long_run_is_bounded(run: RecordedRun) -> None:
    points = make_timeline(run, run.trials, points_max=12)
    assert len(points) <= 18  # neighbours of one trial and phase only are put together
    assert {p.trial for p in points} == {"b01-001", "b01-002", "b01-003"}
    whole = make_timeline(run, run.trials)
    assert max(p.p99_ns for p in points if p.p99_ns) == max(p.p99_ns for p in whole if p.p99_ns)
    assert points[1].throughput_per_s == pytest.approx(200)


def test_without_samples_the_drivers_own_cpu_is_left(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=1)
    (path / "samples.jsonl").write_text("")
    run = read_run(path)
    assert {tuple(p.cpu_share) for p in make_timeline(run, run.trials)} == {("generator",)}


def test_an_interval_without_a_correct_reply_has_no_p99(run: RecordedRun) -> None:
    line = run.intervals["b01-001"][1]
    failed = {"ok": 0, "errors": {"moved": 3}, "timeouts": 2}
    silent = line.model_copy(update={**failed, "response_ns": replace(line.response_ns, count=0, p99=0)})
    changed = RecordedRun(**{**run.__dict__, "intervals": {"b01-001": (silent,)}})
    point = make_timeline(changed, run.trials)[0]
    assert (point.p50_ns, point.p95_ns, point.p99_ns) == (None, None, None)
    assert point.goodput_per_s == 0
    assert point.errors_per_s == pytest.approx(
        {"moved": 3 / line.duration_s, "timeouts": 2 / line.duration_s}, abs=1e-3
    )
