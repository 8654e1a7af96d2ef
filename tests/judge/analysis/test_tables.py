"""Rows: one a condition, over its valid trials, and no figure where there is none."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.changed_facts import with_facts

from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.analysis.tables import make_tables, published_columns, published_figure
from loadstone.judge.checks.checks import judge_trial
from loadstone.judge.statistics.signed_rank import typical_interval
from loadstone.report.tables.column import errors
from loadstone.run_folder.facts import AvgMax
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import verbatim
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    """Two blocks of five conditions."""
    plan = synthetic.make_run_plan(blocks=2)
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("runs"), plan))


@pytest.fixture(scope="module")
def judged(run: RecordedRun) -> list[TrialRecord]:
    return [judge_trial(trial) for trial in run.trials]


def verdicts(trials: list[TrialRecord], **given: str) -> list[TrialRecord]:
    """The trials, some of them with a failed check that says so."""

    def failed(verdict: str) -> dict[str, Any]:
        check = {
            "name": "swap",
            "verdict": verdict,
            "measured": 9,
            "limit": 1,
            "unit": "",
            "reason": verbatim("It swapped."),
        }
        return {"verdict": verdict, "checks": [CheckResult.model_validate(check)]}

    found = {name.replace("_", "-"): failed(verdict) for name, verdict in given.items()}
    return [t.model_copy(update=found.get(t.trial, {})) for t in trials]


def rows_of(run: RecordedRun, trials: list[TrialRecord]) -> dict[str, Any]:
    return {row.label: row for table in make_tables(run, trials) for row in table.rows}


def test_rows_stand_in_the_order_of_the_factors(run: RecordedRun, judged: list[TrialRecord]) -> None:
    tables = make_tables(run, judged)
    assert [table.name for table in tables] == ["by-size", "idle"]
    assert [row.label for row in tables[0].rows] == [
        "set, 100 B, 32 workers",
        "set, 1 kB, 32 workers",
        "get, 100 B, 32 workers",
        "get, 1 kB, 32 workers",
    ]
    assert [row.label for row in tables[1].rows] == ["few", "many"]
    assert list(tables[0].vary) == ["operation", "payload", "workers"]


def test_a_condition_of_two_tables_stands_in_both(run: RecordedRun, judged: list[TrialRecord]) -> None:
    rows = rows_of(run, judged)
    assert rows["few"].trials == rows["set, 1 kB, 32 workers"].trials == ["b01-002", "b02-002"]


def test_a_row_is_over_all_its_trials(run: RecordedRun, judged: list[TrialRecord]) -> None:
    row = rows_of(run, judged)["set, 100 B, 32 workers"]
    one, other = (next(t for t in judged if t.trial == name) for name in ("b01-001", "b02-001"))
    assert row.verdict == "valid"
    assert row.elapsed_s == 12.0
    assert row.goodput_per_s == pytest.approx((one.goodput_per_s + other.goodput_per_s) / 2)
    assert row.operations == round(6 * (one.throughput_per_s + other.throughput_per_s))
    assert row.peak_per_s == max(one.peak_per_s, other.peak_per_s)
    assert row.cpu_share["redis"] == pytest.approx(0.6)


def test_percentiles_are_merged_and_never_averaged(run: RecordedRun, judged: list[TrialRecord]) -> None:
    row = rows_of(run, judged)["set, 100 B, 32 workers"]
    trials = [trial for trial in judged if trial.trial in row.trials]
    assert row.response_ns == run.response_ns(trials)
    assert row.pool_wait_ns.mean == pytest.approx(200)
    assert row.pool_wait_ns.p50 is None


def test_an_invalid_trial_is_never_used(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One of seven: of fewer, one is too large a part of the row."""
    plan = synthetic.make_run_plan(blocks=7)
    run = read_run(synthetic.write_run(tmp_path_factory.mktemp("runs"), plan))
    judged = [judge_trial(trial) for trial in run.trials]
    row = rows_of(run, verdicts(judged, b01_001="invalid"))["set, 100 B, 32 workers"]
    others = [t.goodput_per_s for t in judged if t.trial in row.trials and t.trial != "b01-001"]
    assert row.goodput_per_s == pytest.approx(np.mean(others))
    assert (row.verdict, row.elapsed_s, row.blocks) == ("valid", 36.0, 6)


def test_suspect_trials_are_used_beside_valid_ones_as_a_comparison_does(
    run: RecordedRun, judged: list[TrialRecord]
) -> None:
    both = rows_of(run, verdicts(judged, b01_001="suspect", b02_001="suspect"))["set, 100 B, 32 workers"]
    assert (both.verdict, both.elapsed_s) == ("suspect", 12.0)
    one = rows_of(run, verdicts(judged, b01_001="suspect"))["set, 100 B, 32 workers"]
    assert (one.verdict, one.elapsed_s, one.blocks) == ("suspect", 12.0, 2)
    assert one.goodput_per_s == both.goodput_per_s
    none = rows_of(run, verdicts(judged))["set, 100 B, 32 workers"]
    assert (none.verdict, none.elapsed_s) == ("valid", 12.0)


def test_trials_that_do_not_agree_make_a_row_without_an_interval_suspect(
    run: RecordedRun, judged: list[TrialRecord]
) -> None:
    def changed(factor: float) -> list[TrialRecord]:
        faster = {"b02-001": factor}
        return [t.model_copy(update={"goodput_per_s": 1000.0 * faster.get(t.trial, 1.0)}) for t in judged]

    alike = rows_of(run, changed(1.24))["set, 100 B, 32 workers"]
    assert (alike.verdict, alike.reasons) == ("valid", [])
    apart = rows_of(run, changed(1.5))["set, 100 B, 32 workers"]
    assert apart.verdict == "suspect"
    assert list(map(render_message, apart.reasons)) == ["Its 2 trials lie 50% apart, and are too few for an interval."]
    assert apart.goodput_per_s == pytest.approx(1250)


def test_a_row_of_invalid_trials_has_no_figure(run: RecordedRun, judged: list[TrialRecord]) -> None:
    row = rows_of(run, verdicts(judged, b01_001="invalid", b02_001="invalid"))["set, 100 B, 32 workers"]
    assert row.verdict == "invalid"
    figures = row.model_dump(include={"operations", "elapsed_s", "throughput_per_s", "goodput_per_s", "peak_per_s"})
    assert set(figures.values()) == {None}
    assert (row.response_ns, row.service_ns, row.errors) == (None, None, {})
    assert row.published == 8051


def test_a_row_of_invalid_trials_counts_what_failed(run: RecordedRun, judged: list[TrialRecord]) -> None:
    """That every operation failed is the figure of such a row."""
    counts = judged[0].counts.model_copy(update={"errors": {"status_5xx": 44}})
    failed = [t.model_copy(update={"counts": counts}) if t.trial.endswith("-001") else t for t in judged]
    row = rows_of(run, verdicts(failed, b01_001="invalid", b02_001="invalid"))["set, 100 B, 32 workers"]
    assert (row.verdict, row.errors, errors(row)) == ("invalid", {"status_5xx": 88}, 88)


def test_a_planned_condition_without_a_trial_is_missing(run: RecordedRun, judged: list[TrialRecord]) -> None:
    rows = rows_of(run, [trial for trial in judged if not trial.trial.endswith("-003")])
    assert rows["get, 100 B, 32 workers"].verdict == "missing"
    assert rows["get, 100 B, 32 workers"].trials == []


def test_what_was_not_planned_has_no_row(synthetic: ModuleType, tmp_path: Path) -> None:
    """`--only operation=set`, or the tables that a quick run leaves out."""
    plan = synthetic.make_run_plan()
    few = synthetic.make_run_plan(trials=plan.trials[:2], conditions=plan.conditions[:2])
    run = read_run(synthetic.write_run(tmp_path, few))
    tables = make_tables(run, [judge_trial(trial) for trial in run.trials])
    assert [[row.label for row in table.rows] for table in tables] == [
        ["set, 100 B, 32 workers", "set, 1 kB, 32 workers"],
        ["few"],
    ]


def test_the_originals_counts_are_printed_in_the_originals_tables(run: RecordedRun, judged: list[TrialRecord]) -> None:
    as_published = {**run.experiment.model_dump(), "as_published": {"tables": ["idle"]}}
    changed = replace(
        run,
        experiment=Experiment.with_add_ons().model_validate(as_published),
        plan=run.plan.model_copy(update={"as_published": True}),
    )
    assert [table.name for table in make_tables(changed, judged)] == ["idle"]


def test_the_warm_up_block_stands_in_no_table(run: RecordedRun, judged: list[TrialRecord]) -> None:
    warm = [t.model_copy(update={"block": 0}) if t.trial == "b01-001" else t for t in judged]
    assert rows_of(run, warm)["set, 100 B, 32 workers"].trials == ["b02-001"]


def test_reasons_are_those_of_failed_checks(synthetic: ModuleType, tmp_path: Path) -> None:
    def swaps(trial: TrialRecord) -> TrialRecord:
        return with_facts(trial, host=trial.facts.host.model_copy(update={"swapped_bytes": 4e6}))

    run = read_run(synthetic.write_run(tmp_path, until=1, finish=swaps))
    row = rows_of(run, [judge_trial(trial) for trial in run.trials])["set, 100 B, 32 workers"]
    assert row.verdict == "suspect"
    assert list(map(render_message, row.reasons)) == ["4.0 MB of memory were moved to or from the disk."]


def test_reasons_of_several_trials_are_counted(
    run: RecordedRun, judged: list[TrialRecord], studies: ModuleType
) -> None:
    swap = studies.with_check("swap", "suspect")
    spoiled = [swap(trial) if trial.trial.endswith("-001") else trial for trial in judged]
    reasons = rows_of(run, spoiled)["set, 100 B, 32 workers"].reasons
    assert list(map(render_message, reasons)) == ["swap suspect in 2 of 2 trials: By swap."]


def test_the_interval_of_a_rate_holds_it_95_times_in_100() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(400):
        low, high = typical_interval([1000 * float(np.exp(log)) for log in rng.normal(0, 0.05, 8)]) or (0.0, 0.0)
        held += low <= 1000 <= high
    assert binom.ppf(1e-4, 400, 0.95) <= held < 400


def test_an_interval_needs_six_trials_that_answered() -> None:
    assert typical_interval([1000.0] * 5) is None
    assert typical_interval([1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0]) == pytest.approx((990.0, 1010.0))
    assert typical_interval([0.0] * 8) is None


def test_a_row_counts_its_blocks_and_names_its_bottleneck(run: RecordedRun, judged: list[TrialRecord]) -> None:
    row = rows_of(run, judged)["set, 100 B, 32 workers"]
    assert (row.blocks, row.goodput_interval) == (2, None)
    assert row.bottleneck.part == "latency"


def test_what_the_data_cannot_tell_is_said(run: RecordedRun, judged: list[TrialRecord]) -> None:
    row = rows_of(run, judged)["set, 100 B, 32 workers"]
    assert row.response_ns.p95 is not None
    assert list(row.unmeasurable) == ["p99", "p999"]
    assert render_message(row.unmeasurable["p999"]) == "P99.9 needs 100,000 operations, 2,706 were measured"


def test_quantiles_lost_to_failures_say_so(run: RecordedRun, judged: list[TrialRecord]) -> None:
    trial = judged[0]
    nothing = trial.response_ns.model_copy(update={"p90": None})
    counts = trial.counts.model_copy(update={"offered": 5000})
    changed = trial.model_copy(update={"response_ns": nothing, "counts": counts})
    row = rows_of(run, [changed])["set, 100 B, 32 workers"]
    assert render_message(row.unmeasurable["p90"]) == "its rank falls among the operations that failed"


def test_timeouts_are_among_the_errors(run: RecordedRun, judged: list[TrialRecord]) -> None:
    counts = judged[0].counts.model_copy(update={"errors": {"server_oom": 2}, "timeouts": 3, "in_flight": 1})
    row = rows_of(run, [judged[0].model_copy(update={"counts": counts})])["set, 100 B, 32 workers"]
    assert row.errors == {"server_oom": 2, "timeout": 3, "never_answered": 1}


def test_a_lost_log_is_said_and_the_rates_stay(synthetic: ModuleType, tmp_path: Path) -> None:
    plan = synthetic.make_run_plan(blocks=2)
    path = synthetic.write_run(tmp_path, plan)
    (path / "latency" / "b01-001.hlog").unlink()
    run = read_run(path)
    row = rows_of(run, [judge_trial(trial) for trial in run.trials])["set, 100 B, 32 workers"]
    assert row.response_ns is None
    assert row.goodput_per_s is not None
    assert "The latencies cannot be merged" in render_message(row.reasons[0])


USUAL = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"}


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ({}, 7099),
        ({"payload": "100 B"}, 8051),
        ({"operation": "get"}, None),
        ({"workers": 1}, None),
        ({"idle": "many"}, None),
    ],
)
def test_published_figures_are_those_of_the_same_condition(
    synthetic: ModuleType, change: dict[str, Any], figure: float | None
) -> None:
    assert published_figure(synthetic.make_experiment(), USUAL | change) == figure


def test_published_figures_of_a_column_stand_beside_that_column(synthetic: ModuleType) -> None:
    row = {"where": {"operation": "set", "workers": 32}, "along": "payload", "levels": ["1 kB"], "values": [2_000_000]}
    times = {"source": "The original", "column": "mtt", "metric": "response_ns.mean", "rows": [row]}
    experiment = synthetic.make_experiment()
    written = experiment.model_dump(mode="json")
    both = Experiment.with_add_ons().model_validate(written | {"published": [times, *written["published"]]})
    assert published_figure(both, USUAL) == 7099, "those of a column are no figures of the metric"
    assert published_columns(both, USUAL) == {"mtt": 2_000_000}
    assert published_columns(both, USUAL | {"payload": "100 B"}) == {}
    assert published_columns(experiment, USUAL) == {}


def counted(before: int, after: int | None, **keys: int) -> dict[str, Any]:
    return {"operation": "set", "server": "redis", "before": before, "after": after, "answered": 10, **keys}


def test_rows_and_keys_of_all_trials_are_added_up(run: RecordedRun, judged: list[TrialRecord]) -> None:
    label = "set, 100 B, 32 workers"
    names = rows_of(run, judged)[label].trials
    one, other = (trial for trial in judged if trial.trial in names)
    first = with_facts(one, stored=[counted(0, 10, keys_before=5, keys_after=35)])
    second = with_facts(other, stored=[counted(10, 22, keys_before=35, keys_after=71)])
    row = rows_of(run, [first, second])[label]
    assert (row.stored, row.stored_keys) == (22, 66)
    lost = rows_of(run, [first, with_facts(other, stored=[counted(10, None)])])[label]
    assert (lost.stored, lost.stored_keys) == (None, None)
    assert rows_of(run, judged)[label].stored is None


def test_what_monitors_saw_is_averaged_over_the_trials(run: RecordedRun, judged: list[TrialRecord]) -> None:
    label = "set, 100 B, 32 workers"
    names = rows_of(run, judged)[label].trials
    one, other = (trial for trial in judged if trial.trial in names)
    first = with_facts(one, seen={"host": {"wa": {"avg": 10.0, "max": 40.0}}, "app": {"threads": {"avg": 3, "max": 3}}})
    second = with_facts(other, seen={"host": {"wa": {"avg": 20.0, "max": 31.0}}})
    row = rows_of(run, [first, second])[label]
    assert row.seen["host"]["wa"] == AvgMax(avg=15.0, max=40.0)
    assert row.seen["app"]["threads"].avg == 3
    assert rows_of(run, judged)[label].seen["redis"]["connected_clients"].max == 66.0


def test_a_table_keeps_the_studys_columns(run: RecordedRun, judged: list[TrialRecord]) -> None:
    first = run.experiment.tables[0].model_copy(update={"columns": ("tps", "mtt", "stored")})
    experiment = run.experiment.model_copy(update={"tables": (first, *run.experiment.tables[1:])})
    tables = make_tables(replace(run, experiment=experiment), judged)
    assert [table.columns for table in tables] == [["tps", "mtt", "stored"], []]
