"""Warm-up over all trials of a condition, against their own noise."""

import math
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest
from tests.changed_facts import with_facts, written

from loadstone.judge.compare.warming_up import TRIALS_MIN, rise_over, rise_within
from loadstone.run_folder.trial import TrialRecord

Trials = Callable[..., list[TrialRecord]]


@pytest.fixture(scope="module")
def trials(synthetic: ModuleType) -> Trials:
    """Trials of these rates, each with a series that rises within by `within` (a factor a trial)."""
    template = synthetic.make_trial()

    def make(rates: Sequence[float], within: Sequence[float] = ()) -> list[TrialRecord]:
        found = []
        for number, rate in enumerate(rates):
            rise = within[number] if within else 1.0
            thirds = (rate, rate * math.sqrt(rise), rate * rise)
            series = [
                point | {"duration_s": 1.0, "completed": round(thirds[min(place // 2, 2)])}
                for place, point in enumerate(written(template)["series"][:6])
            ]
            started = template.started_unix_ns + number * 10_000_000_000
            found.append(
                with_facts(template, series=series).model_copy(
                    update={"goodput_per_s": rate, "started_unix_ns": started}
                )
            )
        return found

    return make


def noisy(number: int, sd: float, seed: int, slope: float = 0.0) -> list[float]:
    rng = np.random.default_rng(seed)
    return [20_000 * math.exp(slope * place + rng.normal(0, sd)) for place in range(number)]


def test_a_rise_within_each_trial_is_found(trials: Trials) -> None:
    rng = np.random.default_rng(1)
    within = [1.3 * math.exp(rng.normal(0, 0.05)) for _ in range(12)]
    found = rise_within(trials([20_000.0] * 12, within))
    assert found == pytest.approx(math.log(1.3), abs=0.05)


def test_trials_that_rise_by_chance_are_not_warming_up(trials: Trials) -> None:
    """68 of 119 trials of one run rose, by 1.2 % in the median."""
    false = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        within = [math.exp(rng.normal(0.012, 0.2)) for _ in range(12)]
        false += rise_within(trials([20_000.0] * 12, within)) is not None
    assert false <= 5


def test_a_rise_of_less_than_a_tenth_is_not_worth_a_word(trials: Trials) -> None:
    assert rise_within(trials([20_000.0] * 12, [1.08] * 12)) is None
    assert rise_over(trials([20_000.0 * 1.005**place for place in range(12)])) is None


def test_one_trial_that_rises_is_no_warm_up(trials: Trials) -> None:
    assert rise_within(trials([20_000.0] * 12, [2.0] + [1.0] * 11)) is None


def test_a_rate_that_falls_within_its_trials_is_no_warm_up(trials: Trials) -> None:
    assert rise_within(trials([20_000.0] * 12, [0.6] * 12)) is None


def test_a_rise_from_trial_to_trial_is_found(trials: Trials) -> None:
    found = rise_over(trials(noisy(12, 0.02, 3, slope=0.04)))
    assert found == pytest.approx(0.44, abs=0.08)
    assert rise_over(trials(noisy(12, 0.02, 3, slope=-0.04))) is None, "what falls does not warm up"


def test_it_is_the_order_in_time_that_counts(trials: Trials) -> None:
    rising = trials(noisy(12, 0.02, 3, slope=0.04))
    assert rise_over(list(reversed(rising))) == rise_over(rising)


def test_noise_has_no_trend(trials: Trials) -> None:
    false = sum(rise_over(trials(noisy(12, 0.2, seed))) is not None for seed in range(200))
    assert false <= 5


def test_few_trials_tell_no_trend(trials: Trials) -> None:
    few = TRIALS_MIN - 1
    assert rise_within(trials([20_000.0] * few, [1.5] * few)) is None
    assert rise_over(trials([20_000.0 * 1.1**place for place in range(few)])) is None
    assert rise_over(trials([20_000.0 * 1.1**place for place in range(TRIALS_MIN)])) is not None


def test_trials_without_a_rate_tell_no_trend(trials: Trials) -> None:
    assert rise_over(trials([0.0, *[20_000.0] * 11])) is None
    short = [with_facts(t, series=t.facts.series[:3]) for t in trials([2e4] * 12)]
    assert rise_within(short) is None
