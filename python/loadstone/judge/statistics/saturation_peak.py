"""Where throughput falls again: the peak, by the Universal Scalability Law or by a parabola around the top.

Source: Gunther 2007, Guerrilla Capacity Planning, X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)),
with its peak at sqrt((1 - sigma) / kappa).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

FIT_P_MIN = 0.01
WINDOW = 3.0
"""The parabola takes the levels from a third to three times the top one."""
PARABOLA_LEVELS_MIN = 5


class Usl(NamedTuple):
    """`rate` is lambda, a second; `contention` sigma; `coherency` kappa."""

    rate: float
    contention: float
    coherency: float

    def throughput(self, users: Floats) -> Floats:
        """X(N), a second."""
        waits = 1 + self.contention * (users - 1) + self.coherency * users * (users - 1)
        return np.asarray(self.rate * users / waits, dtype=np.float64)

    @property
    def peak_users(self) -> float | None:
        """Where X is largest; None if it never falls again, or falls from the first user on."""
        if self.coherency <= 0 or self.contention >= 1:
            return None
        return float(np.sqrt((1 - self.contention) / self.coherency))


@dataclass(frozen=True)
class Peaks:
    """The peak of each sweep."""

    users: tuple[float, ...]
    per_s: tuple[float, ...]
    method: Literal["usl", "log-quadratic"]


def peaks(users: Floats, rates: Floats) -> Peaks | None:
    """The peaks of sweeps (rows of `rates`, a column a level), by the USL if it fits; None if none is to be found."""
    typical = np.exp(np.median(np.log(rates), axis=0))
    fits = usl_fits(users, rates)
    found = [_usl_peak(users, row) for row in rates] if fits else []
    if fits and None not in found:
        return _peaks(found, "usl")
    top = users[int(np.argmax(typical))]
    near = (users >= top / WINDOW) & (users <= top * WINDOW)
    if np.count_nonzero(near) < PARABOLA_LEVELS_MIN:
        return None
    found = [_parabola_peak(users[near], row[near]) for row in rates]
    return None if None in found else _peaks(found, "log-quadratic")


def fit_usl(users: Floats, rates: Floats) -> Usl:
    """The USL with the smallest squared relative residuals, none of its parameters below zero.

    N / X is linear in 1, N - 1 and N (N - 1): scipy's non-negative least squares (Lawson & Hanson 1974) solves it.
    """
    from scipy.optimize import nnls  # here, since its import takes longer than most analyses

    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)], axis=1)
    first, second, third = nnls(terms * (rates / users)[:, np.newaxis], np.ones_like(users))[0]
    first = max(float(first), np.finfo(float).tiny)
    return Usl(1 / first, float(second) / first, float(third) / first)


def usl_fits(users: Floats, rates: Floats) -> bool:
    """Whether what the USL leaves over is no more than the sweeps scatter: F test for lack of fit, p >= .01.

    Sweeps are blocks: what moves a whole sweep up or down is no scatter.
    """
    from scipy.stats import f

    y = np.log(rates)
    sweeps, levels = y.shape
    if levels <= 3 or sweeps < 2:
        return False
    means = y.mean(axis=0)
    fitted = np.log(fit_usl(users, np.exp(means)).throughput(users))
    lack = sweeps * np.sum((means - fitted) ** 2) / (levels - 3)
    scatter = np.sum((y - means - y.mean(axis=1, keepdims=True) + y.mean()) ** 2) / ((sweeps - 1) * (levels - 1))
    if scatter == 0:
        return bool(lack < 1e-12)
    return bool(f.sf(lack / scatter, levels - 3, (sweeps - 1) * (levels - 1)) >= FIT_P_MIN)


def _usl_peak(users: Floats, rates: Floats) -> tuple[float, float] | None:
    fit = fit_usl(users, rates)
    top = fit.peak_users
    if top is None or not users[0] <= top <= users[-1]:
        return None
    return top, float(fit.throughput(np.asarray(top)))


def _parabola_peak(users: Floats, rates: Floats) -> tuple[float, float] | None:
    """The top of ln X = a + b ln N + c (ln N)^2, if it lies among the levels."""
    x = np.log(users)
    c, b, a = np.polyfit(x, np.log(rates), 2)
    if c >= 0 or not x[0] <= (top := -b / (2 * c)) <= x[-1]:
        return None
    return float(np.exp(top)), float(np.exp(a + b * top + c * top**2))


def _peaks(found: list[tuple[float, float] | None], method: Literal["usl", "log-quadratic"]) -> Peaks:
    known = [peak for peak in found if peak is not None]
    return Peaks(tuple(peak[0] for peak in known), tuple(peak[1] for peak in known), method)
