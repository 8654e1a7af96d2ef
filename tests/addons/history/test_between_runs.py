"""Two separate runs: the interval is honest about the time between them, and nothing is chosen by its result."""

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, mannwhitneyu

from loadstone.addons.history.between_runs import ComparedBy, JudgedRun, Match, compare_runs, match_runs
from loadstone.judge.analysis.analysis import Comparison
from loadstone.judge.checks.checks import judge_trial
from loadstone.judge.statistics.two_sample import (
    DRIFT_FLOOR,
    critical_rank,
    drift_variance,
    rank_sum,
    rank_sum_distribution,
    two_sample,
)
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.reading import read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

RUNS = 500


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return importlib.import_module("bench.judge.between_runs")


def test_two_runs_of_the_same_thing_seldom_differ(bench: ModuleType) -> None:
    """The simulation of `docs/proofs.md` in small: the limit of 5.5 %, and what would happen without the drift."""
    found = list(bench.outcomes(RUNS, seed=1, conditions=(1, 2)))
    assert {outcome.scenario for outcome in found} == {"quiet", "mixed", "ugly", "heavy", "two-speed", "slow"}
    many = binom.isf(1e-4 / len(found), RUNS, bench.FALSE_MAX) / RUNS
    assert [outcome for outcome in found if outcome.false > many] == []
    mixed = next(outcome for outcome in found if (outcome.scenario, outcome.apart) == ("mixed", "hours"))
    assert mixed.plain > 0.3


def test_few_blocks_and_unequal_runs_are_honest_too(bench: ModuleType) -> None:
    for blocks in ((8, 8), (8, 40)):
        found = list(bench.outcomes(RUNS, seed=2, blocks=blocks, conditions=(2,)))
        many = binom.isf(1e-4 / len(found), RUNS, bench.FALSE_MAX) / RUNS
        assert [outcome for outcome in found if outcome.false > many] == []


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 5), (8, 12), (18, 18)])
def test_the_rank_sum_distribution_is_that_of_scipy(a: int, b: int) -> None:
    rng = np.random.default_rng(a * b)
    cumulative = rank_sum_distribution(a, b)
    assert cumulative[-1] == pytest.approx(1.0)
    for _ in range(5):
        x, y = rng.normal(size=a), rng.normal(size=b)
        expected = mannwhitneyu(x, y, alternative="less", method="exact")
        assert cumulative[int(expected.statistic)] == pytest.approx(float(expected.pvalue))


def test_the_normal_ranks_continue_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = critical_rank(40, 40, 0.05)
    monkeypatch.setattr("loadstone.judge.statistics.two_sample.EXACT_PRODUCT", 0)
    assert exact is not None
    assert critical_rank(40, 40, 0.05) == pytest.approx(exact, abs=2)
    assert critical_rank(3, 3, 0.05) is None


def test_the_rank_interval_holds_exactly_what_the_test_does_not_reject() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=9), rng.normal(size=11) + 0.3
    estimate, low, high = rank_sum(x, y, 0.05)
    assert low is not None
    assert high is not None
    assert low < estimate < high
    for shift, inside in ((low - 1e-9, False), (low + 1e-9, True), (high - 1e-9, True), (high + 1e-9, False)):
        assert (float(mannwhitneyu(x, y - shift, method="exact").pvalue) > 0.05) is inside


def logs(seed: int, trials: int = 18, spread: float = 0.01, level: float = 0.0) -> tuple[Any, Any]:
    """Log figures, and a trial every minute."""
    rng = np.random.default_rng(seed)
    return level + spread * rng.normal(size=trials), 60.0 * np.arange(trials)


def test_quiet_runs_still_have_the_floor_between_them() -> None:
    found = two_sample(*logs(1), *logs(2), alpha=0.05)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 2 * 1.96 * math.sqrt(2) * DRIFT_FLOOR
    assert found.p_value > 0.05
    assert found.detectable is not None
    assert found.detectable > found.high - found.estimate


def test_a_run_that_drifts_widens_the_interval() -> None:
    quiet, times = logs(1)
    drifting = quiet + np.linspace(0, 0.5, len(quiet))
    assert drift_variance(quiet, times) == pytest.approx(DRIFT_FLOOR**2)
    assert drift_variance(drifting, times) > 0.2**2


def test_a_pause_does_not_make_a_run_many_days_long() -> None:
    """A run that was resumed a day later saw two states of the machine, and not a day of them."""
    drifting, times = logs(1, spread=0.2)
    resumed = np.where(np.arange(18) < 9, times, times + 86_400)
    assert drift_variance(drifting, resumed) > drift_variance(drifting, times) / 4


def test_trials_without_any_time_between_them_have_an_interval_all_the_same() -> None:
    figures, times = logs(1, spread=0.1)
    found = two_sample(figures, 0 * times, figures + 0.1, 0 * times, alpha=0.05)
    assert found is not None
    assert found.low is not None
    assert math.isfinite(found.low)


def test_p_value_and_interval_agree() -> None:
    for level in (0.05, 0.1, 0.2, 0.5):
        for alpha in (0.05, 0.01):
            found = two_sample(*logs(1), *logs(2, level=level), alpha=alpha)
            assert found is not None
            assert found.low is not None
            assert (found.low > 0) == (found.p_value <= alpha)


def test_a_single_trial_says_nothing() -> None:
    assert two_sample(*logs(1, trials=1), *logs(2), alpha=0.05) is None
    found = two_sample(*logs(1, trials=3), *logs(2, trials=3), alpha=0.05)
    assert found is not None
    assert (found.low, found.high, found.p_value) == (None, None, 1.0)


# Runs


@pytest.fixture(scope="module")
def base(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> JudgedRun:
    """A run with one finished trial, judged: the others are made from it."""
    run = read_run(synthetic.write_run(tmp_path_factory.mktemp("base"), until=1))
    return JudgedRun(run, (judge_trial(run.trials[0]),))


Trials = Callable[..., tuple[TrialRecord, ...]]


@pytest.fixture
def trials(base: JudgedRun) -> Trials:
    def made(
        seed: int, *, level: float = 1.0, number: int = 18, group: str = "table", **changes: Any
    ) -> tuple[TrialRecord, ...]:
        rng = np.random.default_rng(seed)
        rates = 1000 * level * np.exp(0.02 * rng.normal(size=number))
        (one,) = base.trials
        return tuple(
            one.model_copy(
                update={
                    "trial": f"b{block:02d}-001",
                    "block": block,
                    "group": group,
                    "goodput_per_s": float(rate),
                    "throughput_per_s": float(rate),
                    "started_unix_ns": one.started_unix_ns + block * 60_000_000_000,
                    **changes,
                }
            )
            for block, rate in enumerate(rates, start=1)
        )

    return made


def compared(
    base: JudgedRun, *sides: tuple[Sequence[TrialRecord], Sequence[TrialRecord]], **required: Any
) -> list[Comparison]:
    condition = base.trials[0].condition
    matches = [Match(condition, "table", tuple(a), tuple(b)) for a, b in sides]
    return compare_runs(base, base, matches, ComparedBy(**required))


def test_conditions_are_matched_in_the_group_with_most_trials_in_both(base: JudgedRun, trials: Trials) -> None:
    a = replace(base, trials=(*trials(1, number=9), *trials(2, number=12, group="x"), *trials(3, group="y")))
    b = replace(base, trials=(*trials(4), *trials(5, number=10, group="x")))
    (match,) = match_runs(a, b)
    assert (match.group, len(match.a), len(match.b)) == ("x", 12, 10)


def test_conditions_stand_in_the_order_that_a_table_gives_its_levels(base: JudgedRun, trials: Trials) -> None:
    """Not in the order of the factor's levels, and not in that of time."""
    experiment = base.run.experiment
    table = next(table for table in experiment.tables if any(len(levels) > 1 for levels in table.vary.values()))
    factor = next(name for name, levels in table.vary.items() if len(levels) > 1)
    turned = table.model_copy(update={"vary": {factor: tuple(reversed(experiment.factors[factor].levels))}})
    usual = {name: one.usual for name, one in experiment.factors.items()}
    conditions = [usual | {factor: level} for level in turned.vary[factor]]
    lines = tuple(base.run.plan.trials[0].model_copy(update={"condition": one}) for one in conditions)
    run = replace(
        base.run,
        experiment=experiment.model_copy(update={"tables": (turned,)}),
        plan=base.run.plan.model_copy(update={"trials": lines}),
    )
    of_all = tuple(trial for one in sorted(conditions, key=str) for trial in trials(1, number=2, condition=one))
    judged = JudgedRun(run, of_all)
    found = [match.condition[factor] for match in match_runs(judged, judged)]
    assert found == list(reversed(experiment.factors[factor].levels))


def test_the_warm_block_matches_nothing(base: JudgedRun, trials: Trials) -> None:
    assert match_runs(replace(base, trials=trials(1, block=0)), base) == []


def test_all_conditions_share_the_level_by_holm(base: JudgedRun, trials: Trials) -> None:
    found = compared(base, (trials(1), trials(2, level=2.0)), (trials(3), trials(4)), (trials(5), trials(6)))
    assert [one.primary.level for one in found] == [pytest.approx(1 - 0.05 / 3)] * 3
    assert [one.primary.kind for one in found] == ["faster", "undecided", "undecided"]
    assert found[0].primary.winner == "b"


def test_an_undecided_verdict_promises_no_minutes(base: JudgedRun, trials: Trials) -> None:
    (one,) = compared(base, (trials(1), trials(2)))
    assert one.primary.more_minutes is None
    assert "minutes" not in verdict_text(one.primary)
    assert verdict_text(one.primary).startswith("UNDECIDED: ")


def test_few_trials_get_no_interval(base: JudgedRun, trials: Trials) -> None:
    (one,) = compared(base, (trials(1, number=7), trials(2, level=3.0)))
    assert (one.primary.kind, one.primary.low) == ("undecided", None)
    assert "at least 8 are needed" in verdict_text(one.primary)


def test_smaller_is_faster_for_latencies(base: JudgedRun, trials: Trials) -> None:
    slow = base.trials[0].response_ns.model_copy(update={"p50": 3 * (base.trials[0].response_ns.p50 or 0)})
    fast = trials(1, throughput_per_s=1000.0)
    (one,) = compared(base, (fast, trials(1, throughput_per_s=1000.0, response_ns=slow)), metric="response_ns.p50")
    assert (one.primary.kind, one.primary.winner, one.primary.larger_is_faster) == ("faster", "a", False)
    assert one.primary.margin == 0.10


def test_latencies_at_different_rates_are_refused(base: JudgedRun, trials: Trials) -> None:
    (one,) = compared(base, (trials(1), trials(2, level=1.5)), metric="response_ns.p50")
    assert one.primary.kind == "invalid"
    assert verdict_text(one.primary).startswith("INVALID: offered_rate")
    (other,) = compared(base, (trials(1), trials(2, level=1.5)), exploratory=("response_ns.p50", "throughput_per_s"))
    assert other.repeats == {"throughput_per_s": "goodput_per_s"}
    assert other.on("throughput_per_s") == other.primary
    assert any(note.startswith("Not compared: latencies.") for note in map(render_message, other.notes))
    assert not any("Not compared" in warning for warning in map(render_message, other.warnings))


def test_trials_without_the_figure_are_not_passed_over(base: JudgedRun, trials: Trials) -> None:
    without_figure = base.trials[0].response_ns.model_copy(update={"p50": None})
    some = (
        *trials(1, throughput_per_s=1000.0)[:-1],
        trials(1, throughput_per_s=1000.0, response_ns=without_figure)[-1],
    )
    (one,) = compared(base, (some, trials(2, throughput_per_s=1000.0)), metric="response_ns.p50")
    assert one.primary.kind == "invalid"
    assert "1 of 36 trials give no such figure" in verdict_text(one.primary)


def test_a_difference_in_failures_is_no_fair_comparison(base: JudgedRun, trials: Trials) -> None:
    counts = base.trials[0].counts
    failing = counts.model_copy(update={"timeouts": counts.sent // 50, "ok": counts.ok - counts.sent // 50})
    (one,) = compared(base, (trials(1), trials(2, level=3.0, counts=failing)))
    assert verdict_text(one.primary).startswith("INVALID: errors")


def test_the_generators_gain_widens_the_interval_of_two_runs_too(
    base: JudgedRun, trials: Trials, studies: ModuleType
) -> None:
    def costing(gain: float, seed: int, level: float = 1.0) -> tuple[TrialRecord, ...]:
        return tuple(map(studies.costs(gain), trials(seed, level=level)))

    (free,) = compared(base, (costing(0.0, 1), costing(0.0, 2, 2.0)))
    (found,) = compared(base, (costing(0.05, 1), costing(0.03, 2, 2.0)))
    assert (found.primary.kind, found.primary.winner) == ("faster", "b")
    assert found.primary.low == pytest.approx(free.primary.low - math.log(1.05), abs=1e-4)
    assert found.primary.high == pytest.approx(free.primary.high + math.log(1.03), abs=1e-4)
    (limited,) = compared(base, (costing(0.6, 1), costing(0.6, 2, 2.0)))
    assert (limited.primary.kind, limited.primary.winner) == ("faster", "b")
    assert limited.primary.low == pytest.approx(free.primary.low - math.log(1.6), abs=1e-3)
