"""What numpy lacks: quantiles and tails of three distributions, and least squares without negative parts."""

from itertools import combinations

import numpy as np

from loadstone._engine import beta_quantile, f_survival, student_t_quantile
from loadstone.judge.statistics.signed_rank import Floats

__all__ = ["beta_quantile", "f_survival", "non_negative_least_squares", "student_t_quantile"]


def non_negative_least_squares(terms: Floats, wanted: Floats) -> Floats:
    """The x without negative parts for which `terms @ x` is nearest to `wanted`, of few columns.

    It is the ordinary solution over those columns where it is above zero (Lawson & Hanson 1974, chapter 23), so the
    best of the feasible ones over all choices of columns: 2^n of them, tried one by one.
    """
    columns = terms.shape[1]
    best, least = np.zeros(columns), float(wanted @ wanted)
    for number in range(1, columns + 1):
        for chosen in combinations(range(columns), number):
            x = np.zeros(columns)
            x[list(chosen)] = np.linalg.lstsq(terms[:, chosen], wanted, rcond=None)[0]
            off = terms @ x - wanted
            if (x >= 0).all() and (squares := float(off @ off)) < least:
                best, least = x, squares
    return best
