"""Latencies of two null servers with known delays: driven by turns, logged, read back, and judged as in a run."""

from collections.abc import Callable
from functools import partial
from math import log
from pathlib import Path

import pytest

from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.metric_of_pair import evaluate_metric
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.files import LATENCY
from loadstone.run_folder.hlog import log_lines
from loadstone.run_folder.make_trial import make_trial_record
from loadstone.run_folder.observation import Observation, ObservedDrive
from loadstone.run_folder.reading import read_histogram, read_round_histograms
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers.server import DeployContext

ROUNDS = 36
SLICE_S = 0.06
RATE_PER_S = 500.0
FEW_S = 0.09
"""An interval: two slices."""
DELAY_US = 20_000.0
"""So long that what the machine adds is little beside it."""


def plan(endpoint: Endpoint) -> Plan:
    return Plan(
        endpoints=(endpoint,),
        model=Open(rate_per_s=RATE_PER_S),
        pool=Pool(connections=40),
        phases=Phases(warm_up_s=0, measure_s=1.0, drain_s=5.0),
        operations=(Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),)),),
        keys=Keys(prefix="loadstone:known:"),
        interval_s=FEW_S,
    )


def driven(folder: Path, *delays_us: float) -> tuple[PairBlock, list[list[Interval]]]:
    """A block of both servers as its folder has it."""
    servers = [NullServerProcess({"delay_us": delay_us}) for delay_us in delays_us]
    intervals: list[list[Interval]] = [[] for _ in servers]
    try:
        plans = [plan(server.start(DeployContext())) for server in servers]
        orders = tuple((number % 2, 1 - number % 2) for number in range(ROUNDS))
        options = RoundsOptions(slice_s=SLICE_S, settle_s=0.02, orders=orders)
        records = NativeDriver().drive(plans, lambda drive, one: intervals[drive].append(one), options)
    finally:
        for server in servers:
            server.stop()
    (folder / LATENCY).mkdir()
    trials: list[TrialRecord] = []
    for number, (one, record) in enumerate(zip(plans, records, strict=True)):
        name = f"known-b01-{number + 1:03d}"
        lines = log_lines(intervals[number], record.started_unix_ns)
        (folder / LATENCY / f"{name}.hlog").write_text("".join(f"{line}\n" for line in lines))
        planned = PlannedTrial(name, {"server": number}, 1, number + 1, {}, one, None, group="known")
        slices = tuple((part.begin_s, part.end_s) for part in record.slices)
        trials.append(
            make_trial_record(planned, Observation(ObservedDrive(name, one, record, intervals[number], []), slices))
        )
    return PairBlock(1, *trials), intervals


def judged(folder: Path, block: PairBlock, metric: str, *, margin: float = 0.10) -> Verdict:
    settings = Settings(
        metric=metric, larger_is_faster=False, margin=margin, alpha=ROUND_LOOK_ALPHA, unit="round", names=("a", "b")
    )
    latencies = HistogramCache(partial(read_histogram, folder), partial(read_round_histograms, folder))
    evidence = evaluate_metric(metric, [block], settings, latencies)
    assert evidence.refusal is None
    return verdict_of(evidence, settings)


TIMES = 2.5
"""The other delay: a difference that the worst minute of a shared machine cannot hide."""
METRICS = ("response_ns.p50", "service_ns.p50")


def test_a_known_difference_is_found_as_large_as_it_is(tmp_path: Path) -> None:
    block, intervals = driven(tmp_path, DELAY_US, TIMES * DELAY_US)
    for metric in METRICS:
        found = judged(tmp_path, block, metric)
        assert (found.kind, found.winner, found.blocks) == ("faster", "a", ROUNDS), metric
        assert found.low is not None
        assert found.low <= log(TIMES) + 0.01, "what the machine adds to both makes the ratio smaller"
    mean = judged(tmp_path, block, "response_ns.mean")
    assert mean.winner != "b", "a busy machine moves a mean: it may be undecided"
    assert mean.low is not None
    assert mean.low <= log(TIMES) + 0.01
    spans = [[(one.first_round, one.last_round) for one in of_drive] for of_drive in intervals]
    each = [(first, first + 1) for first in range(0, ROUNDS, 2)]
    assert sorted(set(spans[0])) == sorted(set(spans[1])) == each, "all drives end their intervals at the same rounds"


@pytest.mark.alone  # on a busy machine equal servers stay undecided
@pytest.mark.parametrize("metric", METRICS)
def test_equal_servers_are_equivalent(equal: tuple[Path, PairBlock], metric: str) -> None:
    found = judged(*equal, metric, margin=0.5)
    assert found.kind == "equivalent", found


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PairBlock]:
    folder = tmp_path_factory.mktemp("equal")
    return folder, driven(folder, DELAY_US, DELAY_US)[0]


def test_every_operation_is_in_a_histogram_of_its_rounds_and_slices_add_up(equal: tuple[Path, PairBlock]) -> None:
    folder, block = equal
    for trial in (block.a, block.b):
        slices = trial.facts.drive.slices
        groups = read_round_histograms(folder, trial.trial, "response")
        for (first, last), histogram in groups.items():
            offered = sum(one.offered for one in slices if first <= one.round <= last)
            assert histogram.total == offered
        assert sum(one.ended for one in slices) == trial.counts.ok
        mean_ns = sum(one.response_sum_ns for one in slices) / trial.counts.ok
        assert mean_ns == pytest.approx(trial.response_ns.mean, rel=0.001)


def test_the_halves_of_a_slice_are_counted_apart(equal: tuple[Path, PairBlock]) -> None:
    _, block = equal
    slices = block.a.facts.drive.slices
    assert all(0 <= one.ok_first_half <= one.ok for one in slices)
    share = sum(one.ok_first_half for one in slices) / sum(one.ok for one in slices)
    assert 0.3 < share < 0.7, "arrivals are constant"


def test_folders_without_rounds_in_their_logs_say_so(
    equal: tuple[Path, PairBlock], tmp_path: Path, keep_lines: Callable[[Path, Path], None]
) -> None:
    folder, block = equal
    (tmp_path / LATENCY).mkdir()
    for trial in (block.a, block.b):
        keep_lines(folder / LATENCY / f"{trial.trial}.hlog", tmp_path / LATENCY / f"{trial.trial}.hlog")
    settings = Settings(metric="response_ns.p50", larger_is_faster=False, unit="round", alpha=ROUND_LOOK_ALPHA)
    latencies = HistogramCache(partial(read_histogram, tmp_path), partial(read_round_histograms, tmp_path))
    evidence = evaluate_metric("response_ns.p50", [block], settings, latencies)
    assert evidence.refusal is not None
    assert evidence.refusal.name == "latencies"


@pytest.fixture
def keep_lines() -> Callable[[Path, Path], None]:
    """Copies a log as it was written before rounds stood in it."""

    def keep(source: Path, copy: Path) -> None:
        copy.write_text("".join(line for line in source.read_text().splitlines(True) if "Rounds" not in line))

    return keep
