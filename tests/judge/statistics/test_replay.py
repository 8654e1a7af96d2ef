"""The replay calibration in small: the judge keeps its promise, and a wrong level would be noticed."""

import importlib
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binom

from loadstone.experiment.plan.look_schedule import FIXED_ALPHA, LOOKS
from loadstone.judge.statistics.decision import verdict_of_blocks
from loadstone.judge.statistics.settings import Settings

RUNS = 400
TESTS = 5 * 11
"""Scenarios times designs: the bound is set so that all of them together fail once in 10,000."""


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    return importlib.import_module("bench.judge.replay")


def bound(tests: int) -> float:
    """More false verdicts than this happen to a right judge once in 10,000 times, in any of `tests` counts."""
    return float(binom.isf(1e-4 / tests, RUNS, 0.05))


@pytest.mark.prove
def test_false_verdicts_and_coverage_keep_their_limits(replay: ModuleType) -> None:
    nulls = [found for found in replay.replay(RUNS, seed=1) if found.effect == 0]
    assert {(found.scenario, found.conditions, found.design) for found in nulls} >= {
        ("two-speed", 2, "fixed 8"),
        ("heavy", 6, "fixed 20"),
        ("ugly", 6, "sequential"),
    }
    assert len(nulls) == TESTS
    for found in nulls:
        assert found.false_verdict.share * RUNS <= bound(TESTS), found
        assert found.ever_false.share * RUNS <= bound(TESTS), found
        assert (1 - found.coverage.share) * RUNS <= bound(TESTS), found


@pytest.mark.parametrize(
    ("level", "looks"),
    [(FIXED_ALPHA, None), (FIXED_ALPHA, tuple(range(8, 41)))],
    ids=["level-of-one-look-at-five", "looking-after-every-block"],
)
def test_a_wrong_level_would_be_noticed(replay: ModuleType, level: float, looks: tuple[int, ...] | None) -> None:
    scenarios = [noise for noise in replay.SCENARIOS if noise.name == "ugly"]
    outcomes = replay.replay(RUNS, 1, (2,), level, looks, scenarios)
    found = [outcome for outcome in outcomes if outcome.design == "sequential" and outcome.effect == 0]
    assert found[0].false_verdict.share * RUNS > bound(TESTS)


def test_a_run_that_is_resumed_is_looked_at_as_often_as_one_that_is_not(replay: ModuleType) -> None:
    assert replay.looks_of_life(LOOKS, 1) == (8, 9, 10, 11, 27)
    assert replay.looks_of_life(LOOKS, 3) == (8, 9, 12, 15, 27)
    assert replay.looks_of_life(LOOKS, 40) == LOOKS
    assert max(len(replay.looks_of_life(LOOKS, step)) for step in range(1, 41)) == len(LOOKS)
    assert max(len(replay.looks_of_life(LOOKS[1:], step)) for step in range(1, 41)) == len(LOOKS) - 1


@pytest.mark.prove
def test_power_grows_with_the_effect(replay: ModuleType) -> None:
    scenarios = [noise for noise in replay.SCENARIOS if noise.name == "quiet"]
    found = {o.effect: o for o in replay.replay(RUNS, 1, (2,), scenarios=scenarios) if o.design == "sequential"}
    assert found[0.10].faster.share > 0.99
    assert found[0.05].faster.share > 0.9
    assert found[0.05].faster.share > found[0.02].faster.share
    assert found[0.0].equivalent.share > 0.9
    assert found[0.10].wrong.share == 0


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_the_replay_judges_as_the_judge_does(replay: ModuleType, effect: float) -> None:
    """Same runs, one by one through `judge`: the same verdicts."""
    noise = next(noise for noise in replay.SCENARIOS if noise.name == "mixed")
    goodput = replay.rates(noise, np.random.default_rng(5), 60, 18, 2)
    settings = Settings()
    look = replay.look_at(goodput, 18, settings.alpha)
    codes, _ = replay.codes_of(look, effect, settings.alpha, replay.signs_of(2))
    names = ("undecided", "equivalent", "faster", "mixed")
    for run in range(60):
        found = verdict_of_blocks(goodput[run, :, 0].tolist(), (goodput[run, :, 1] * (1 + effect)).tolist(), settings)
        assert found.kind == names[int(codes[run, 0])]
