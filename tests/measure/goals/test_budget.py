"""How long a run has lasted, over several sessions."""

import math
from types import ModuleType

import pytest

from loadstone.measure.goals.goal import TimeBudget
from loadstone.run_folder.trial import SESSION_GAP_S, TrialRecord, lasted_s

START_S = 1_790_000_000


def trials(synthetic: ModuleType, *starts_s: float, length_s: float = 10.0) -> list[TrialRecord]:
    record = synthetic.make_trial()
    phases = {"warm_up": (0.0, 1.0), "measure": (1.0, length_s)}
    return [
        record.model_copy(update={"started_unix_ns": int((START_S + start) * 1e9), "phases": phases})
        for start in starts_s
    ]


def test_short_pauses_between_trials_are_time_of_the_run_and_long_ones_are_not(synthetic: ModuleType) -> None:
    assert lasted_s([]) == 0
    assert lasted_s(trials(synthetic, 0)) == 10
    assert lasted_s(trials(synthetic, 0, 12)) == 22
    assert lasted_s(trials(synthetic, 0, 10 + SESSION_GAP_S)) == 20 + SESSION_GAP_S
    assert lasted_s(trials(synthetic, 0, 11 + SESSION_GAP_S)) == 20
    assert lasted_s(trials(synthetic, 12, 0)) == 22


def test_trials_that_took_turns_count_once(synthetic: ModuleType) -> None:
    """A run of fifty rows that took turns was out of budget as soon as it was gone on with."""
    assert lasted_s(trials(synthetic, *(row / 100 for row in range(50)))) == pytest.approx(10.49)
    assert lasted_s([*trials(synthetic, 0, length_s=30.0), *trials(synthetic, 1, 35)]) == 45


def test_a_clock_that_was_set_back_takes_no_time_of_the_run_away(synthetic: ModuleType) -> None:
    """By the clock the second session lies over the first."""
    first, second = trials(synthetic, *range(0, 200, 10)), trials(synthetic, *range(5, 205, 10))
    assert lasted_s(first) == 200
    assert lasted_s([*first, *second]) == 400


def test_earlier_sessions_count(synthetic: ModuleType) -> None:
    now = 100.0
    budget = TimeBudget(60, trials(synthetic, 0, 12), lambda: now)
    assert budget.elapsed_s() == 22
    now = 130.0
    assert budget.elapsed_s() == 52
    assert budget.left_s() == 8
    now = 200.0
    assert budget.left_s() == 0


def test_no_budget_has_no_end() -> None:
    assert TimeBudget(0).left_s() == math.inf
