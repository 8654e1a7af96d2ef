"""Saturation of the closed model: which numbers of users are swept, and from the sweeps a point with an interval.

X_max is the typical throughput over N >= 2 N*, or from where on it rises no more, and the saturation point is
N* = X_max (R_0 + Z): the users that would keep the system just busy if no one ever waited (asymptotic bounds, Denning &
Buzen 1978). R_0 + Z is the least N / X(N) of any level: a single user may wait for wake-ups that several do not, and no
level may do more than N / (R_0 + Z). Typical is the median Walsh average of the logarithms: where one trial in ten
stalls, their mean is 5 % too small, and this 1 %.
Each sweep gives one estimate; the interval is Hodges and Lehmann's over the sweeps. A single ramp gives none.

Where throughput falls again the point is the peak, by the Universal Scalability Law or by a parabola around the top
(Gunther 2007, Guerrilla Capacity Planning): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), with its peak at
sqrt((1 - sigma) / kappa).
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loadstone.experiment.plan.look_schedule import FIXED_ALPHA
from loadstone.judge.statistics.distributions import f_survival, non_negative_least_squares
from loadstone.judge.statistics.signed_rank import Floats, signed_rank
from loadstone.text.message import Message, message

ERRORS_MAX = 0.01
"""From this share of wrong or missing replies on a level says nothing about capacity."""


@dataclass(frozen=True)
class Probe:
    """One trial of the closed model, at one number of users."""

    users: int
    goodput_per_s: float
    response_s: float
    """Mean response time of correct replies."""
    error_share: float = 0.0
    generator_limit: Message | str | None = None
    """Why the generator could not have made more load; None while it could."""


Sweep = tuple[Probe, ...]
"""Every level once, in the order in which they ran."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float
    level: float
    """0.95 holds 95 times in 100."""

    @property
    def figures(self) -> list[float]:
        """For a message: itself, and the ends of its interval."""
        return [self.value, self.low, self.high]


EstimateKind = Literal["plateau", "peak", "limit", "at_least", "none"]


@dataclass(frozen=True)
class Saturation:
    """Where the load stops to pay.

    plateau: throughput levels off; `users` is the saturation point N* = X_max (R_0 + Z), where waiting begins, `per_s`
    X_max, which takes more users. peak: throughput falls again; both are those of the peak. limit: `per_s` is the
    highest rate of the open model that keeps its objective. at_least: only a bound is known: the load ended, or the
    time. none: nothing may be said; the message has the reason.
    """

    kind: EstimateKind
    message: Message
    per_s: Estimate | None = None
    users: Estimate | None = None
    at_least_per_s: float | None = None
    """What the best level typically did, where the end was not found."""
    from_users: int | None = None
    """The fewest users of a plateau from which on every level typically reaches `REACHED` of `per_s`; None: not even
    the last one does."""
    method: Literal["", "plateau", "usl", "log-quadratic", "levels", "bisection"] = ""
    repeats: int = 0
    """Independent estimates behind the interval: sweeps, or blocks of the open model."""


def hodges_lehmann(values: Sequence[float], alpha: float = FIXED_ALPHA) -> Estimate:
    """One estimate a sweep -> Hodges-Lehmann estimate and exact signed-rank interval, on the log scale.

    Raises ValueError if there are too few of them for the level, or one is not above zero.
    """
    if not all(value > 0 for value in values):
        raise ValueError("estimates must be above zero")
    found = signed_rank(np.log(np.asarray(values, dtype=np.float64)), alpha)
    if found.low is None or found.high is None:
        raise ValueError(f"{len(values)} estimates give no interval at level {alpha}")
    low, middle, high = (float(np.exp(end)) for end in (found.low, found.estimate, found.high))
    return Estimate(middle, low, high, 1 - alpha)


def no_point(why: Message) -> Saturation:
    """Nothing may be said, and why."""
    return Saturation("none", message("saturation_none", why=why))


def at_least(per_s: float, why: Message) -> Saturation:
    """What may be said when load or time ended before the system's capacity was found."""
    if per_s <= 0:
        return no_point(why)
    return Saturation("at_least", message("saturation_at_least", per_s=per_s, why=why), at_least_per_s=per_s)


GAIN_MIN = 1.05
GAINLESS = 2
REACH = 4.0
"""The grid goes on to so many times the saturation point."""
SWEEPS_MIN = 6
USERS_MAX = 65_536


@dataclass(frozen=True)
class RangeSearch:
    """What the doubling says so far: measure `next_users`; or it is over, and gives levels or an answer."""

    next_users: int | None
    levels: tuple[int, ...] = ()
    """For the sweeps; empty while it goes on, and where there is an answer already."""
    answer: Saturation | None = None
    """`capacity >= X`, where the generator was saturated or the users did."""
    why: Message | None = None
    """Why it ended."""


def search_range(probes: Sequence[Probe], think_s: float = 0.0, users_max: int = USERS_MAX) -> RangeSearch:
    """The next step after `probes`, one a doubling, beginning at 1 user.

    Ends when a doubling brought less than 5 % twice in a row, when errors pass 1 %, when the generator gives
    out, or at `users_max`. Raises ValueError if the probes are not 1, 2, 4... users.
    """
    if [probe.users for probe in probes] != [2**step for step in range(len(probes))]:
        raise ValueError("the search doubles: probes of 1, 2, 4, 8... users, in this order")
    if not probes:
        return RangeSearch(1)
    last = probes[-1]
    best = max((probe.goodput_per_s for probe in probes if _clean(probe)), default=0.0)
    if last.generator_limit:
        return _at_least(best, message("generator_gave_out_at", users=last.users, limit=last.generator_limit))
    if last.error_share > ERRORS_MAX:
        why = message("replies_failed_at", users=last.users, share=last.error_share, limit_share=ERRORS_MAX)
        clean = len(probes) > 1
        return RangeSearch(None, grid(probes[-2].users), why=why) if clean else _at_least(best, why)
    if _gainless(probes) >= GAINLESS:
        point = best * (probes[0].response_s + think_s)
        top = max(last.users, math.ceil(REACH * point))
        return RangeSearch(None, grid(top), why=message("no_longer_exceeded", per_s=best))
    if 2 * last.users > users_max:
        return _at_least(best, message("not_levelled_off_at_most", users=last.users))
    return RangeSearch(2 * last.users)


def grid(top: int) -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 11, 16...: powers of sqrt(2), rounded, until one reaches `top`."""
    steps = math.ceil(2 * math.log2(max(top, 1)) - 1e-9)
    return tuple(sorted({round(2 ** (step / 2)) for step in range(steps + 1)}))


def sweep_orders(levels: Sequence[int], sweeps: int, seed: int) -> list[tuple[int, ...]]:
    """The order of each sweep: fresh and random, so that neither time nor the level before is mistaken for load."""
    dice = random.Random(seed)
    return [tuple(dice.sample(list(levels), len(levels))) for _ in range(sweeps)]


def _clean(probe: Probe) -> bool:
    return probe.error_share <= ERRORS_MAX


def _gainless(probes: Sequence[Probe]) -> int:
    """Return how many doublings at the end brought less than 5 % over the best before them."""
    count = 0
    for place in range(len(probes) - 1, 0, -1):
        if probes[place].goodput_per_s >= GAIN_MIN * max(probe.goodput_per_s for probe in probes[:place]):
            break
        count += 1
    return count


def _at_least(best: float, why: Message) -> RangeSearch:
    return RangeSearch(None, answer=at_least(best, why), why=why)


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

    N / X is linear in 1, N - 1 and N (N - 1).
    """
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)], axis=1)
    first, second, third = non_negative_least_squares(terms * (rates / users)[:, np.newaxis], np.ones_like(users))
    first = max(float(first), np.finfo(float).tiny)
    return Usl(1 / first, float(second) / first, float(third) / first)


def usl_fits(users: Floats, rates: Floats) -> bool:
    """Whether what the USL leaves over is no more than the sweeps scatter: F test for lack of fit, p >= .01.

    Sweeps are blocks: what moves a whole sweep up or down is no scatter.
    """
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
    return f_survival(lack / scatter, levels - 3, (sweeps - 1) * (levels - 1)) >= FIT_P_MIN


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


REACHED = 0.95
"""A level that does so much of the most has reached it."""
TAIL_FROM = 2.0
"""The tail begins at so many times the saturation point."""
TAIL_LEVELS_MIN = 2
LEVELLED_LEVELS_MIN = 4
"""A tail that begins later, since its first levels still rose, has at least so many: a factor of 2.8 in users."""
SURELY_SHORTER = 0.97
"""Users who wait for less than this share of what one user takes: one user waits for something that they do not."""
RETROGRADE = 0.95
RISING = 1.05
ROUNDS_MAX = 50


def closed_saturation(sweeps: Sequence[Sweep]) -> Saturation:
    """Where more users bring no more throughput. `sweeps` hold every level once, in the order they ran.

    Sweeps that lack a level are left out. What users think between a reply and their next request is part of N / X(N).
    """
    if (refusal := _refusal(sweeps)) is not None:
        return refusal
    curves, cut = _curves(sweeps)
    if curves is None:
        return at_least(best_level(sweeps), cut or message("no_correct_reply"))
    tail, users = _tail(curves), round(float(curves.users[-1]))
    if np.count_nonzero(tail) < TAIL_LEVELS_MIN:
        return at_least(best_level(sweeps), cut or message("not_levelled_off", users=users))
    if (levelled := _levelled(curves, tail)) is None:
        return at_least(best_level(sweeps), cut or message("still_rising", users=users))
    if _retrograde(curves, levelled):
        return _peak(curves)
    return _plateau(curves, levelled)


@dataclass(frozen=True)
class _Curves:
    """A row a sweep, a column a level, from 1 user up."""

    users: Floats
    rates: Floats

    @property
    def cycles_s(self) -> Floats:
        """R_0 + Z of each sweep: N / X(N) of one user, or of the number of users where it is surely less.

        The least of several noisy figures would be too small where they are alike.
        """
        logs = np.log(self.users / self.rates)
        ratios = np.exp(logs - logs[:, :1])
        surely = [
            place
            for place in range(1, len(self.users))
            if hodges_lehmann(ratios[:, place].tolist()).high < SURELY_SHORTER
        ]
        place = min(surely, key=lambda one: float(np.median(logs[:, one])), default=0)
        return np.asarray(np.exp(logs[:, place]), dtype=np.float64)

    @property
    def least_cycle_s(self) -> float:
        """The least N / X(N) of the typical rates, which none of these is above."""
        return float((self.users / self.typical_rates).min())

    @property
    def typical_rates(self) -> Floats:
        return np.asarray(np.exp(np.median(np.log(self.rates), axis=0)), dtype=np.float64)


def least_cycle(sweeps: Sequence[Sweep]) -> tuple[float, int] | None:
    """The least N / X(N) of all levels by their typical rates, in seconds, and at how many users; None without any.

    No typical rate X(N) is above N over it.
    """
    levels = _by_users(one for sweep in sweeps for one in sweep if _spoilt(one) is None)
    return min(((users / _typical_rate(level), users) for users, level in levels.items()), default=None)


def best_level(sweeps: Sequence[Sweep]) -> float:
    """The most that a level did by its typical rate over the sweeps; 0 without any.

    What a generator that gave out had answered, the system did do; a level where replies failed says nothing. It is the
    level's typical rate, and not its best sweep's, which is noise.
    """
    levels = _by_users(one for sweep in sweeps for one in sweep).values()
    return max((_typical_rate(level) for level in levels if all(map(_tells_a_bound, level))), default=0.0)


def _by_users(probes: Iterable[Probe]) -> dict[int, list[Probe]]:
    found: dict[int, list[Probe]] = {}
    for probe in probes:
        found.setdefault(probe.users, []).append(probe)
    return found


def _typical_rate(level: Sequence[Probe]) -> float:
    return float(np.exp(np.median(np.log([one.goodput_per_s for one in level]))))


def _tells_a_bound(probe: Probe) -> bool:
    return probe.error_share <= ERRORS_MAX and probe.goodput_per_s > 0


def _refusal(sweeps: Sequence[Sweep]) -> Saturation | None:
    """Why nothing can be said about these sweeps, however their figures look."""
    orders = [tuple(probe.users for probe in sweep) for sweep in sweeps]
    rising = [order for order in orders if len(order) > 1 and list(order) == sorted(order)]
    if orders and len(rising) == len(orders):
        return no_point(message("users_only_rose", sweeps_min=SWEEPS_MIN))
    complete = _complete(sweeps)
    if len(complete) < SWEEPS_MIN:
        whole = len(complete)
        return no_point(message("too_few_sweeps", sweeps=whole, of=len(orders), sweeps_min=SWEEPS_MIN))
    if len({tuple(probe.users for probe in sweep) for sweep in complete}) == 1:
        return no_point(message("sweeps_in_one_order"))
    if 1 not in {probe.users for probe in complete[0]}:
        return no_point(message("unloaded_time_unknown"))
    return None


def _complete(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """The sweeps that hold every level."""
    levels = {probe.users for sweep in sweeps for probe in sweep}
    return [sweep for sweep in sweeps if {probe.users for probe in sweep} == levels]


def _curves(sweeps: Sequence[Sweep]) -> tuple[_Curves | None, Message | None]:
    """The levels below the first at which a sweep was spoilt, and what spoilt it; None if 1 user was."""
    complete = _complete(sweeps)
    spoilt = min(
        (one for sweep in complete for one in sweep if _spoilt(one) is not None),
        key=lambda one: one.users,
        default=None,
    )
    levels = sorted(one.users for one in complete[0] if spoilt is None or one.users < spoilt.users)
    why = None if spoilt is None else message("from_users_on", users=spoilt.users, why=_spoilt(spoilt))
    if not levels:
        return None, why
    by_users = [{probe.users: probe for probe in sweep} for sweep in complete]
    rates = np.array([[sweep[users].goodput_per_s for users in levels] for sweep in by_users])
    return _Curves(np.array(levels, dtype=np.float64), rates), why


def _spoilt(probe: Probe) -> Message | None:
    """Why a trial says nothing about the system's capacity; None if it does."""
    if probe.generator_limit:
        return message("generator_gave_out", limit=probe.generator_limit)
    if probe.error_share > ERRORS_MAX:
        return message("replies_failed", share=probe.error_share, limit_share=ERRORS_MAX)
    return None if probe.goodput_per_s > 0 and probe.response_s > 0 else message("no_correct_reply")


def _tail(curves: _Curves) -> NDArray[np.bool_]:
    """The levels N >= 2 N*, found by turns from the typical curve; the same ones for every sweep."""
    rates = curves.typical_rates
    cycle_s = float(np.median(curves.cycles_s))
    point = float(rates[-1]) * cycle_s
    tail = curves.users >= TAIL_FROM * point
    for _ in range(ROUNDS_MAX):
        if not tail.any():
            break
        point = float(np.exp(np.log(rates[tail]).mean())) * cycle_s
        following = curves.users >= TAIL_FROM * point
        if (following == tail).all():
            break
        tail = following
    return np.asarray(tail)


def _levelled(curves: _Curves, tail: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The part of the tail from where on it rises no more; None if it rises to its end.

    A service that answers many requests for less CPU each, as one that reads them in batches does, goes on rising for a
    while beyond N*.
    """
    first, levels = int(np.argmax(tail)), int(np.count_nonzero(tail))
    for dropped in range(max(1, levels - LEVELLED_LEVELS_MIN + 1)):
        levelled = np.arange(len(tail)) >= first + dropped
        if not _rising(curves, levelled):
            return levelled
    return None


def _rising(curves: _Curves, tail: NDArray[np.bool_]) -> bool:
    """Whether the upper half of the tail lies surely 5 % above its lower half: no plateau yet."""
    logs = np.log(curves.rates[:, tail])
    half = logs.shape[1] // 2
    gains = np.exp(logs[:, -half:].mean(axis=1) - logs[:, :half].mean(axis=1))
    return hodges_lehmann(gains.tolist()).low > RISING


def _retrograde(curves: _Curves, tail: NDArray[np.bool_]) -> bool:
    """Whether the end of the tail, its upper half, lies surely below .95 of the peak.

    Which level is the peak is decided for each sweep by the other sweeps: the largest of several noisy figures
    would be too large, and every plateau would seem to fall.
    """
    logs = np.log(curves.rates)
    others = (logs.sum(axis=0) - logs) / (len(logs) - 1)
    peak = np.take_along_axis(logs, others.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    end = logs[:, tail][:, -(np.count_nonzero(tail) // 2) :]
    return hodges_lehmann(np.exp(end.mean(axis=1) - peak).tolist()).high < RETROGRADE


def _plateau(curves: _Curves, tail: NDArray[np.bool_]) -> Saturation:
    most = np.exp(signed_rank(np.log(curves.rates[:, tail]), FIXED_ALPHA).estimate)
    per_s, users = hodges_lehmann(most.tolist()), hodges_lehmann((most * curves.cycles_s).tolist())
    # Where levels are nearly alike the point may be as low as the one that took least has it.
    users = replace(users, low=min(users.low, per_s.value * curves.least_cycle_s))
    below = curves.users[curves.typical_rates < REACHED * per_s.value]
    reached = curves.users[curves.users > below.max(initial=0.0)]
    from_users = round(float(reached[0])) if len(reached) else None
    said = message("saturation_plateau", users=users.figures, per_s=per_s.figures, from_users=from_users)
    return Saturation("plateau", said, per_s, users, from_users=from_users, method="plateau", repeats=len(most))


def _peak(curves: _Curves) -> Saturation:
    found = peaks(curves.users, curves.rates)
    if found is None:
        return no_point(message("peak_not_located", users=round(float(curves.users[-1]))))
    per_s, users = hodges_lehmann(found.per_s), hodges_lehmann(found.users)
    method: Literal["usl", "log-quadratic", "levels"] = found.method
    if abs(math.log(per_s.value / curves.typical_rates.max())) > -math.log(REACHED):
        per_s, users, method = *_highest_level(curves), "levels"
    said = message(
        "saturation_peak",
        users=users.figures,
        per_s=per_s.figures,
        end_per_s=float(curves.typical_rates[-1]),
        end_users=round(float(curves.users[-1])),
    )
    return Saturation("peak", said, per_s, users, method=method, repeats=len(found.users))


def _highest_level(curves: _Curves) -> tuple[Estimate, Estimate]:
    """Return the level that typically does most, for a peak of a law that the levels contradict: its rate, and its
    users between the levels beside it."""
    top = int(np.argmax(curves.typical_rates))
    beside = curves.users[max(0, top - 1)], curves.users[min(top + 1, len(curves.users) - 1)]
    per_s = hodges_lehmann(curves.rates[:, top].tolist())
    return per_s, Estimate(float(curves.users[top]), float(beside[0]), float(beside[1]), per_s.level)
