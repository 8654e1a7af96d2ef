"""What the generator's gain and what others took do to a comparison and to a row."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_facts, written

from loadstone.judge.analysis.analysis import Comparison, Row
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.analysis.tables import make_tables
from loadstone.judge.checks.checks import judge_trial
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.reading import RecordedRun
from loadstone.text.figures import up_to_percent
from loadstone.text.sentences import render_message

Compared = Callable[..., Comparison]


@pytest.fixture
def compared(studies: ModuleType, synthetic: ModuleType) -> Compared:
    """set (A) against get (B), which is `ratio` times as fast; `a` and `b` change each trial of a side."""

    def make(ratio: float, a: Any = None, b: Any = None, **changes: Any) -> Comparison:
        sides = [(studies.condition(), 1.0), (studies.condition(operation="get"), ratio)]
        all_of = {
            (block, side): change
            for side, change in enumerate((a, b))
            if change is not None
            for block in range(changes.get("blocks", 12) + 1)
        }
        run = studies.Study(synthetic, sides, changes=all_of, **changes).run()
        (family,) = compare_groups(run, run.trials)
        (comparison,) = family.comparisons
        return comparison

    return make


def test_a_large_difference_outlives_the_generators_share(compared: Compared, studies: ModuleType) -> None:
    """+67 % with gains of 3 and 5 % is still faster: the interval is wider by just that."""
    free = compared(1.67, studies.costs(0.0), studies.costs(0.0)).primary
    found = compared(1.67, studies.costs(0.03), studies.costs(0.05)).primary
    assert (found.kind, found.winner) == ("faster", "b")
    assert found.estimate == pytest.approx(free.estimate)
    assert found.low == pytest.approx(free.low - math.log(1.03), abs=1e-4)
    assert found.high == pytest.approx(free.high + math.log(1.05), abs=1e-4)
    assert (found.a.gain, found.b.gain) == (pytest.approx(0.03, abs=1e-4), pytest.approx(0.05, abs=1e-4))


def test_equal_sides_within_the_generators_share_are_not_decidable(compared: Compared, studies: ModuleType) -> None:
    """No number of blocks could tell whether one of them would be 8 % faster without the generator."""
    found = compared(1.0, studies.costs(0.08), studies.costs(0.08)).primary
    assert found.kind == "not_decidable"
    assert found.winner is None
    assert verdict_text(found).startswith("NOT DECIDABLE HERE: ")
    assert verdict_text(found).endswith("the generator may hide up to 8 %")
    assert compared(1.0, studies.costs(0.005), studies.costs(0.005)).primary.kind == "equivalent"


def test_a_generator_that_limited_both_widens_the_interval_as_far(compared: Compared, studies: ModuleType) -> None:
    """It could have hidden 60 % of either: a difference beyond that stands, a smaller one is not decidable here."""
    free = compared(1.8).primary
    found = compared(1.8, studies.costs(0.6), studies.costs(0.6))
    assert (found.primary.kind, found.primary.winner) == ("faster", "b")
    assert found.primary.low == pytest.approx(free.low - math.log(1.6), abs=0.01)
    assert next(check for check in found.checks if check.name == "gain").verdict == "suspect"
    hidden = compared(1.2, studies.costs(0.6), studies.costs(0.6)).primary
    assert hidden.kind == "not_decidable"
    assert hidden.estimate is not None, "the ratio is printed, with its bound"


def test_one_that_limited_one_side_hides_what_that_one_could_do(compared: Compared, studies: ModuleType) -> None:
    """The slower side might be as fast as the other; the faster one would be faster still."""
    slower = compared(1.4, studies.costs(0.6), studies.costs(0.0)).primary
    assert slower.kind == "not_decidable"
    assert verdict_text(slower).endswith("the generator may hide up to 60 %")
    faster = compared(1.4, studies.costs(0.0), studies.costs(0.6)).primary
    assert (faster.kind, faster.winner) == ("faster", "b")


def test_a_trial_whose_bound_is_far_away_is_used(compared: Compared, studies: ModuleType) -> None:
    """Leaving it out would select: what was taken goes with the rate."""
    found = compared(1.1, studies.loses(0.6))
    assert (found.primary.kind, found.primary.blocks) == ("faster", 12)
    assert all(point.used for point in found.primary.points)
    assert not any("left out" in warning or "taken" in warning for warning in map(render_message, found.warnings))
    assert (found.primary.a.gain, found.primary.b.gain) == (found.primary.b.gain, found.primary.a.gain)


def test_what_others_took_does_not_widen_the_interval(compared: Compared, studies: ModuleType) -> None:
    free = compared(1.1).primary
    found = compared(1.1, studies.loses(0.3), studies.loses(0.3)).primary
    assert (found.low, found.high) == (pytest.approx(free.low), pytest.approx(free.high))


def test_a_latency_is_not_widened_by_a_gain_of_rates(compared: Compared, studies: ModuleType) -> None:
    def same_rate(trial: Any) -> Any:
        return studies.costs(0.2)(trial).model_copy(update={"throughput_per_s": 200.0})

    found = compared(1.25, same_rate, same_rate, metric="response_ns.p50", margin=0.10)
    assert found.primary.kind == "faster"
    assert (found.primary.a.gain, found.primary.b.gain) == (0.0, 0.0)
    rate = next(judged for judged in found.exploratory if judged.metric == "goodput_per_s")
    assert rate.a.gain == pytest.approx(0.2, abs=1e-4)


def test_a_condition_that_warms_up_within_its_trials_is_not_compared(compared: Compared) -> None:
    def rises(trial: Any) -> Any:
        series = [
            point | {"completed": round(200 * factor)}
            for point, factor in zip(written(trial)["series"], (0.6, 0.7, 1.0, 1.1, 1.3, 1.3), strict=True)
        ]
        return judge_trial(with_facts(trial, series=series))

    found = compared(1.3, None, rises)
    assert verdict_text(found.primary).startswith("INVALID: warm_up, measured 100 %, limit 10 %")
    warm_up = next(check for check in found.checks if check.name == "warm_up")
    assert (warm_up.verdict, render_message(warm_up.reason)) == (
        "invalid",
        "The rate rises by 100 % within the trials of one of the two: it was not warm yet.",
    )


# Rows


def said(row: Row) -> list[str]:
    """Why a row is not valid; these trials have no histograms."""
    return [
        reason
        for reason in map(render_message, row.reasons)
        if not reason.startswith("The latencies cannot be merged: ")
    ]


@pytest.fixture
def row(studies: ModuleType, synthetic: ModuleType) -> Callable[..., Row]:
    """The row of `set`: 12 trials, of which `changes` are changed."""

    def make(changes: dict[int, Any]) -> Row:
        sides = [(studies.condition(), 1.0), (studies.condition(operation="get"), 1.0)]
        made = studies.Study(synthetic, sides, changes={(block, 0): change for block, change in changes.items()})
        run: RecordedRun = made.run()
        rows = [row for table in make_tables(run, run.trials) for row in table.rows]
        return next(row for row in rows if row.label == "set, 1 kB, 32 workers")

    return make


def test_a_figure_carries_its_bound(row: Callable[..., Row], studies: ModuleType) -> None:
    found = row({block: studies.costs(0.04) for block in range(1, 13)})
    assert found.verdict == "valid"
    assert said(found) == []
    assert found.bound is not None
    assert found.bound.generator == pytest.approx(0.04, abs=1e-4)
    assert found.bound.taken == pytest.approx(0.0, abs=0.005)


def test_the_bound_of_the_row_decides_and_not_that_of_a_trial(row: Callable[..., Row], studies: ModuleType) -> None:
    """One trial of twelve that might have lost 60 % makes the row wrong by 5 % at most."""
    once = row({4: studies.loses(0.6)})
    assert (once.verdict, once.blocks, said(once)) == ("valid", 12, [])
    assert once.bound is not None
    assert once.bound.taken == pytest.approx(0.6 / 12, abs=0.015)
    often = row({block: studies.loses(0.6) for block in (2, 4, 6, 8)})
    assert often.verdict == "suspect"
    (told,) = (one for one in map(render_message, often.reasons) if one.startswith("taken suspect in 4 of 12 trials: "))
    assert often.bound is not None
    assert f"could be up to {up_to_percent(often.bound.printed)} % higher" in told, "a figure has one bound: the row's"
    assert often.goodput_per_s is not None


@pytest.mark.parametrize("bound", ["costs", "loses"])
def test_a_row_that_could_be_half_as_high_again_has_its_figure_with_bound_and_reason(
    row: Callable[..., Row], studies: ModuleType, bound: str
) -> None:
    found = row({block: getattr(studies, bound)(0.6) for block in range(1, 13)})
    assert found.verdict == "suspect"
    assert found.goodput_per_s is not None
    assert found.bound is not None
    assert found.bound.total > 0.5
    assert any("higher" in reason for reason in map(render_message, found.reasons)), "why stands beside it"
