"""The saturation calibration in small: servers whose truth is known, under noise, whole way from doubling to point."""

import importlib
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binom

RUNS = 40
CASES = 5 * 2


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return importlib.import_module("bench.capacity.saturation")


@pytest.mark.prove
def test_closed_servers_are_found_with_little_bias_and_full_coverage(bench: ModuleType) -> None:
    least = binom.ppf(1e-4 / CASES, RUNS, 0.93) / RUNS
    for server in bench.CLOSED:
        for noise in bench.SCENARIOS[:2]:
            found = bench.judged(server, noise, RUNS, seed=2)
            assert found.answered.share >= 0.8, found
            assert abs(found.users.bias) <= 0.03, found
            assert abs(found.rate.bias) <= 0.03, found
            assert found.users.coverage.share >= least, found


def test_a_truth_a_tenth_away_would_be_noticed(bench: ModuleType) -> None:
    """On a quiet machine nearly every interval leaves it out: coverage can fail."""
    runs = bench.closed_runs(bench.CLOSED[1], bench.SCENARIOS[0], RUNS, seed=2)
    wrong = bench.accuracy([(run.answer.per_s, 1.1 * run.per_s) for run in runs])
    assert wrong.coverage.share < 0.2


@pytest.mark.prove
def test_the_open_limit_of_a_queue_is_found(bench: ModuleType) -> None:
    found = bench.judged(bench.OPEN[0], bench.SCENARIOS[0], 8, seed=2)
    assert found.answered.share == 1
    assert abs(found.rate.bias) <= 0.03
    assert found.rate.coverage.share >= 0.5


def test_simulated_queues_answer_as_theory_says(bench: ModuleType) -> None:
    queue = bench.OPEN[1]
    dice = np.random.default_rng(3)
    rate = np.full(20, 0.8 * queue.servers / queue.service_s)
    p99, _ = queue.simulate(dice, rate, np.ones(20), 20_000, 2_000)
    observed = type(queue)("check", queue.servers, queue.service_s, float(np.median(p99))).limit(1.0)
    assert observed == pytest.approx(float(rate[0]), rel=0.03)
