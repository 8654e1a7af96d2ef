"""The guard sees what the Hodges-Lehmann estimate does not."""

import numpy as np

from loadstone.judge.statistics.drift_guard import passes_drift_guard, stall_counts, total_log_ratio
from loadstone.judge.statistics.signed_rank import signed_rank


def test_a_block_off_by_more_than_a_fifth_is_a_stall_of_the_slower_side() -> None:
    d = np.array([0.1] * 10 + [0.35, -0.15, -0.2, 0.29])
    estimate = np.asarray(0.1)
    a, b = stall_counts(d, estimate, larger_is_faster=True)
    assert (int(a), int(b)) == (1, 2)
    a, b = stall_counts(d, estimate, larger_is_faster=False)
    assert (int(a), int(b)) == (2, 1)


def test_rare_stalls_of_one_side_escape_the_estimate_but_not_the_guard() -> None:
    rng = np.random.default_rng(1)
    a = np.exp(rng.normal(0, 0.01, size=20))
    b = np.exp(rng.normal(0, 0.01, size=20))
    b[[3, 11, 17]] *= 0.4
    d = np.log(b / a)
    estimate = signed_rank(d, 0.0157).estimate
    assert abs(estimate) < 0.02
    stalls = stall_counts(d, estimate, larger_is_faster=True)
    assert (int(stalls[0]), int(stalls[1])) == (0, 3)
    assert not passes_drift_guard(total_log_ratio(a, b), *stalls, 20, np.log(1.05))


def test_each_condition_of_the_guard_counts_alone() -> None:
    none, one, two = (np.asarray(n) for n in range(3))
    total = np.asarray(0.01)
    assert passes_drift_guard(total, none, none, 12, 0.05)
    assert passes_drift_guard(total, none, one, 12, 0.05)
    assert not passes_drift_guard(total, two, none, 12, 0.05)
    assert not passes_drift_guard(total, none, none, 11, 0.05)
    assert not passes_drift_guard(np.asarray(-0.06), none, none, 12, 0.05)
    assert passes_drift_guard(total, two, two, 12, 0.05)
