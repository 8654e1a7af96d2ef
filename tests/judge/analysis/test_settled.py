"""Whether a row's quantiles repeat: read off its log, and beside its neighbours."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hdrh.histogram import HdrHistogram

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import AtRate, Row, SettledLatencies
from loadstone.judge.analysis.settled import NEIGHBOUR_TIMES, neighbours_checked, quantile_intervals, row_fields
from loadstone.report.figure_format import sentence
from loadstone.run_folder.latency_logs import LatencyLogs
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord

US, MS = 1_000, 1_000_000
VARY: Any = {"operation": ["set", "get"], "workers": [8, 16, 32]}


def quantiles(**figures: int) -> Quantiles:
    return Quantiles(**{**dict.fromkeys(Quantiles.model_fields), **figures})


def encoded(*parts: tuple[int, int]) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for latency_ns, times in parts:
        histogram.record_value(latency_ns, times)
    return cast(bytes, histogram.encode()).decode()


QUIET = ((50 * US, 1_900), (70 * US, 100))
STALLED = ((50 * US, 1_800), *((round(part * 3 * MS / 200), 1) for part in range(1, 201)))


def trial_of(folder: Path, parts: Sequence[Any], *, in_rounds: bool = True, offered: int | None = None) -> TrialRecord:
    """A trial whose log has these histograms, one a slice or one a second; its drain has one more."""
    (folder / "latency").mkdir(exist_ok=True)
    lines = []
    for number, part in enumerate(parts):
        lines += [f"#[Rounds: {number}-{number}]"] if in_rounds else []
        lines.append(f"Tag=get.response,{number}.000,1.000,3.000,{encoded(*part)}")
    if not in_rounds:
        lines.append(f"Tag=get.response,{len(parts)}.000,0.010,3.000,{encoded((50 * US, 3))}")
    (folder / "latency" / "t1.hlog").write_text("\n".join(lines) + "\n")
    done = sum(times for part in parts for _, times in part) + (0 if in_rounds else 3)
    slices = [
        SimpleNamespace(round=n, offered=sum(times for _, times in part), failed=0) for n, part in enumerate(parts)
    ]
    counts = SimpleNamespace(
        offered=offered or done, sent=offered or done, ok=done, errors={}, timeouts=0, dropped=0, in_flight=0
    )
    facts = SimpleNamespace(drive=SimpleNamespace(slices=slices if in_rounds else []))
    fields: dict[str, Any] = {"trial": "t1", "counts": counts, "facts": facts, "units": None}
    return TrialRecord.model_construct(**fields)


def found_of(folder: Path, trial: TrialRecord, p99: int, **known: Any) -> SettledLatencies:
    logs = LatencyLogs(folder)
    run = cast(RecordedRun, SimpleNamespace(logs=logs, logs_as_they_are=logs, intervals={}, delayed=lambda _: 0.0))
    return quantile_intervals(run, [trial], quantiles(min=40 * US, p50=50 * US, p99=p99, max=3 * MS), **known)


@pytest.mark.parametrize(("in_rounds", "named"), [(True, "slices"), (False, "seconds")])
def test_one_stalled_slice_or_second_is_told_apart(tmp_path: Path, in_rounds: bool, named: str) -> None:
    trial = trial_of(tmp_path, [*[QUIET] * 3, STALLED, *[QUIET] * 4], in_rounds=in_rounds)
    found = found_of(tmp_path, trial, p99=600 * US)
    assert found.interval_units == 8
    assert found.no_interval is None
    assert not found.unsettled, "what is printed does not rest on the stall"
    assert sentence(found.stalls["p99"].said) == (
        f"P99: 1 of 8 {named} held a stall (0.3 to 53 %), the longest 3.00 ms; the figure is of the others, and 600 µs "
        "over all."
    )
    low, high = found.response_interval_ns["p99"]
    assert high is not None
    assert found.stalls["p99"].without_ns is not None
    assert low <= found.stalls["p99"].without_ns <= high < 80 * US
    assert (found.stalls["p50"].units, found.stalls["p50"].said) == (0, None)
    assert found.stalls["p50"].share_high == pytest.approx(0.369, abs=1e-3), "none of eight: up to 37 % may hold one"


def test_one_slice_that_makes_the_p99_and_is_no_stall_is_named(tmp_path: Path) -> None:
    slower = ((50 * US, 1_700), (160 * US, 300))
    found = found_of(tmp_path, trial_of(tmp_path, [*[QUIET] * 7, slower]), p99=160 * US)
    assert sentence(found.unsettled["p99"]) == (
        "P99: one of 8 slices holds 100 % of the replies beyond it: a stall, not the condition; "
        "without it P99 is 70.0 µs."
    )
    assert row_fields(found, ["mean"])["doubted"] == ["mean", "p99"]


def test_an_interval_contains_what_may_be_the_drivers_own_and_nothing_faster_than_any_reply(tmp_path: Path) -> None:
    """`569 µs [3.5 µs, 10.3 ms]` was printed over TCP, and another interval below the table."""
    trial = trial_of(tmp_path, [*[QUIET] * 6, STALLED, STALLED])
    plain = found_of(tmp_path, trial, p99=2_000 * US).response_interval_ns["p99"]
    service = quantiles(min=21 * US)
    some = found_of(tmp_path, trial, p99=2_000 * US, service=service, least=quantiles(p50=45 * US, p99=1_800 * US))
    assert some.response_interval_ns["p99"] == (pytest.approx(0.9 * plain[0]), plain[1]), "not logged: in proportion"
    most = found_of(tmp_path, trial, p99=2_000 * US, service=service, least=quantiles(p50=5 * US, p99=5 * US))
    assert most.response_interval_ns["p99"] == (21 * US, plain[1])
    assert most.response_interval_ns["p50"][0] == 21 * US
    assert "reaches from 21.0 µs to " in sentence(most.unsettled["p99"]), "the text names what the table prints"


def test_what_is_the_drivers_own_is_that_of_the_slices_without_a_stall(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, [*[QUIET] * 7, STALLED])
    least = [((48 * US, 1_900), (60 * US, 100))] * 7 + [((48 * US, 2_000),)]
    log = tmp_path / "latency" / "t1.hlog"
    lines = [
        f"#[Rounds: {n}-{n}]\nTag=get.least,{n}.000,1.000,3.000,{encoded(*part)}\n" for n, part in enumerate(least)
    ]
    log.write_text(log.read_text() + "".join(lines))
    found = found_of(
        tmp_path, trial, p99=600 * US, service=quantiles(min=21 * US), least=quantiles(p50=48 * US, p99=59 * US)
    )
    stalls = found.stalls["p99"]
    assert (stalls.without_ns, stalls.least_without_ns) == pytest.approx((70 * US, 60 * US), rel=2e-3)
    assert found.response_interval_ns["p99"][0] == pytest.approx(60 * US, rel=5e-3)
    log.write_text("".join(log.read_text().partition("#[Rounds: 0-0]\nTag=get.least")[:1]))
    unread = found_of(tmp_path, trial, p99=600 * US, least=quantiles(p50=48 * US, p99=59 * US))
    assert unread.stalls["p99"].least_without_ns is None, "what was not measured is not claimed"


def test_what_every_slice_has_stands(tmp_path: Path) -> None:
    found = found_of(tmp_path, trial_of(tmp_path, [STALLED] * 8), p99=2_800 * US)
    assert (found.unsettled, row_fields(found, [])["latencies_doubted"]) == ({}, False)
    assert found.response_interval_ns["p99"][0] > MS


def test_two_of_eight_leave_it_open(tmp_path: Path) -> None:
    found = found_of(tmp_path, trial_of(tmp_path, [*[QUIET] * 6, STALLED, STALLED]), p99=2_000 * US)
    assert found.unsettled["p99"].kind == "quantile_apart"
    assert "2 of 8 slices hold nine tenths" in sentence(found.unsettled["p99"])


def test_fewer_slices_have_no_interval_and_say_so(tmp_path: Path) -> None:
    found = found_of(tmp_path, trial_of(tmp_path, [QUIET] * 5), p99=70 * US)
    assert found.response_interval_ns == {}
    assert found.no_interval is not None
    assert sentence(found.no_interval) == "an interval needs 8 slices, and there are 5"


def test_failures_of_a_second_are_infinitely_late(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, [QUIET] * 8, in_rounds=False, offered=16_003 + 4_000)
    found = found_of(tmp_path, trial, p99=70 * US)
    assert found.unsettled["p99"].figures["share"] == 1.0, "those that nothing is known of fall on the last one"


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, [QUIET] * 8)
    (tmp_path / "latency" / "t1.hlog").unlink()
    assert found_of(tmp_path, trial, p99=70 * US) == SettledLatencies()


def row(operation: str, workers: int, p99: int, **fields: Any) -> Row:
    at_rate = AtRate(
        verdict="valid", reasons=[], trials=["t"], rate_per_s=1.0, share=0.5, achieved_per_s=1.0, unmeasurable={},
        response_ns=quantiles(p50=25 * US, p99=p99), service_ns=None, **fields,
    )  # fmt: skip
    return Row(
        condition={"operation": operation, "workers": workers}, label=f"{operation}, {workers} workers", trials=[],
        verdict="valid", reasons=[], operations=1, elapsed_s=1.0, throughput_per_s=2.0, goodput_per_s=2.0,
        peak_per_s=2.0, response_ns=None, service_ns=None, pool_wait_ns=None, errors={}, cpu_share={}, published=None,
        unmeasurable={}, at_rate=at_rate,
    )  # fmt: skip


def unsettled(*rows: Row) -> list[list[str]]:
    checked = [one.at_rate for one in neighbours_checked(rows, VARY)]
    assert all(one is not None and one.latencies_doubted == bool(one.doubted) for one in checked)
    return [list(one.unsettled) for one in checked if one is not None]


def test_twenty_times_a_neighbour_needs_an_interval_whichever_of_the_two_it_is() -> None:
    low, high = 70 * US, round(NEIGHBOUR_TIMES * 70 * US)
    assert unsettled(row("set", 8, high), row("set", 16, low)) == [["p99"], []]
    assert unsettled(row("set", 8, low), row("set", 16, high)) == [[], ["p99"]]
    assert unsettled(row("set", 8, low), row("get", 8, high)) == [[], ["p99"]]
    assert unsettled(row("set", 8, high - MS), row("set", 16, low)) == [[], []]
    (marked, _) = neighbours_checked([row("set", 8, high), row("set", 16, low)], VARY)
    assert marked.at_rate is not None
    assert sentence(marked.at_rate.unsettled["p99"]) == (
        "P99 is 20 times that of set, 16 workers, and no interval says whether it repeats."
    )
    assert marked.at_rate.doubted == ["p99"], "its P50 is not twenty times the neighbour's"


def test_one_that_repeats_stands_beside_any_neighbour() -> None:
    high = row("set", 8, 5 * MS, response_interval_ns={"p99": (4.0 * MS, 6.0 * MS)}, interval_units=8)
    assert unsettled(high, row("set", 16, 70 * US)) == [[], []]


def test_neighbours_differ_in_one_factor_by_adjacent_levels() -> None:
    assert unsettled(row("set", 8, 5 * MS), row("set", 32, 70 * US)) == [[], []]
    assert unsettled(row("set", 8, 5 * MS), row("get", 16, 70 * US)) == [[], []]
