"""Holm's procedure on worked figures."""

import numpy as np
import pytest

from loadstone.judge.statistics.holm import holm_adjusted, holm_rejected


def test_adjusted_p_values_of_a_worked_example() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_it_stops_at_the_first_that_is_not_rejected() -> None:
    """.04 would pass .05 / 1, but .03 before it fails .05 / 2."""
    assert holm_rejected([0.03, 0.001, 0.04], 0.05).tolist() == [False, True, False]
    assert holm_rejected([0.02, 0.001, 0.04], 0.05).tolist() == [True, True, True]


def test_rows_are_families_of_their_own_and_one_p_value_is_left_alone() -> None:
    rows = np.array([[0.01, 0.02], [0.03, 0.9]])
    assert holm_adjusted(rows) == pytest.approx(np.array([[0.02, 0.02], [0.06, 0.9]]))
    assert holm_adjusted([0.7]) == pytest.approx([0.7])
    assert holm_adjusted([0.9, 0.8]).max() == 1
