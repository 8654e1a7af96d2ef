"""A closed network of queues: how often users who wait for their replies are answered, exactly.

Stations have one server, several, or a share of one; a delay has as many as there are users. Mean value analysis
(Reiser & Lavenberg, Mean-value analysis of closed multichain queuing networks, 1980) gives these figures by a recursion
over the users, in which the probabilities of stations of several servers lose all their digits near full load (Chandy &
Sauer 1980; Casale & Serazzi 2005). So they are taken from the normalisation constants, by convolution of positive
numbers (Buzen, Computational algorithms for closed queueing networks with exponential servers, 1973): the same figures,
and nothing is subtracted. Each station's terms are those of an open station at a rate near the answer: what then
underflows does not count.

A pool admits so many users at once: what is behind it becomes one station, whose rate depends on how many are inside
(flow-equivalent server: Chandy, Herzog & Woo 1975; Lazowska et al., Quantitative System Performance, 1984, chapter 8).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

_TRIES = 60
_BALANCED = 1e-9
_MANY = 2_000
"""More users are solved by spectra, where these leave enough digits."""
_LEAST = 1e-280
"""As a share of the largest constant: smaller ones have no digits left."""
_EPSILON, _DIGITS = float(np.finfo(np.float64).eps), 1e6


@dataclass(frozen=True)
class QueueStation:
    """What requests queue for."""

    name: str
    demand_s: float
    """What a request takes of one of its servers, on all its visits together."""
    servers: float = 1.0
    """A request uses one at a time. Less than 1: a share of one, as a quota of CPU time gives it."""

    def rates(self, most: int) -> Floats:
        """Requests a second with 1 to `most` of them there."""
        return np.minimum(np.arange(1, most + 1, dtype=np.float64), self.servers) / self.demand_s

    @property
    def most_per_s(self) -> float:
        """What it can do: m / D, the bottleneck law."""
        return self.servers / self.demand_s


@dataclass(frozen=True)
class Network:
    """Stations, and what a request waits for beside them."""

    stations: tuple[QueueStation, ...]
    delay_s: float = 0.0
    """Within a response time, without a queue: a round trip, a timer."""
    think_s: float = 0.0
    """Between a reply and the user's next request."""
    pool: int | None = None
    """How many requests are admitted at once; None: all of them."""

    @property
    def most_per_s(self) -> float:
        """Return the rate at which the first station is full; infinite without stations."""
        return min((station.most_per_s for station in self.stations), default=np.inf)

    @property
    def unloaded_s(self) -> float:
        """The response time of a user who is alone."""
        alone = sum(station.demand_s / min(1.0, station.servers) for station in self.stations)
        return alone + self.delay_s

    def per_s(self, users: int) -> float:
        """Replies a second to so many users. Raises ValueError for less than one, or a network without any time."""
        if users < 1:
            raise ValueError(f"{users} users: at least one")
        if self.unloaded_s + self.think_s <= 0:
            raise ValueError("a network in which nothing takes time")
        admitted = users if self.pool is None else min(users, self.pool)
        if admitted == users:
            return _per_s([station.rates(users) for station in self.stations], self.delay_s + self.think_s, users)
        rates = _each_per_s(self.stations, self.delay_s, admitted)
        behind = np.concatenate([rates, np.full(users - admitted, rates[-1])])
        return _per_s([behind], self.think_s, users)

    def bound_per_s(self, users: int) -> float:
        """More is impossible, however evenly requests come: the asymptotic bounds, min(m / D, N / (R + Z))."""
        admitted = users if self.pool is None else min(users, self.pool)
        inside = admitted / self.unloaded_s if self.unloaded_s else np.inf
        return float(min(self.most_per_s, inside, users / (self.unloaded_s + self.think_s)))

    def response_s(self, users: int) -> float:
        """Return the response time by Little's law: R = N / X - Z."""
        return users / self.per_s(users) - self.think_s


def _per_s(stations: Sequence[Floats], delay_s: float, users: int) -> float:
    """X(N) = G(N - 1) / G(N) of stations by their rates, and a delay."""
    if not stations:
        return users / delay_s
    solved = _solved(stations, delay_s, users)
    return float(solved.tilt * solved.constants[users - 1] / solved.constants[users])


def _each_per_s(stations: Sequence[QueueStation], delay_s: float, users: int) -> Floats:
    """X(1) to X(N): the constants of one open network give all that lie among its large ones."""
    if not stations:
        return np.arange(1, users + 1) / delay_s
    found, left = np.empty(users), users
    while left:
        solved = _solved([station.rates(left) for station in stations], delay_s, left)
        small = np.flatnonzero(solved.constants[:left] <= solved.floor)
        first = min(left - 1, int(small[-1]) + 1) if len(small) else 0
        found[first:left] = solved.tilt * solved.constants[first:left] / solved.constants[first + 1 :]
        left = first
    return found


class _Solved(NamedTuple):
    """The rate of an open network that holds about N users, and G(0) to G(N) there, up to the same factor."""

    tilt: float
    constants: Floats
    floor: float
    """What is smaller has lost its digits."""


def _solved(stations: Sequence[Floats], delay_s: float, users: int) -> _Solved:
    numbers = np.arange(1, users + 1, dtype=np.float64)
    rates = [*stations, numbers / delay_s] if delay_s > 0 else list(stations)
    for by_spectra in (True, False) if users > _MANY else (False,):
        low, high = 0.0, min(float(station.max()) for station in rates)
        tilt = high
        for _ in range(_TRIES):
            constants, floor, mean = _constants([np.log(tilt) - np.log(each) for each in rates], users, by_spectra)
            solved = _Solved(tilt, constants, floor)
            if min(constants[users - 1 :]) > floor and abs(mean - users) < max(1.0, users / 2):
                return solved
            low, high = (tilt, high) if mean < users else (low, tilt)
            if high - low <= _BALANCED * high:
                break
            tilt = (low + high) / 2
    return solved


def _constants(log_ratios: Sequence[Floats], users: int, by_spectra: bool) -> tuple[Floats, float, float]:
    """G(0) to G(N), from where on they have digits, and how many users the stations hold on average, truncated at N
    each."""
    whole, lost = np.ones(1), 0.0
    mean = 0.0
    for logs in log_ratios:
        terms = np.concatenate([[0.0], np.cumsum(logs)])
        weights = np.exp(terms - terms.max())
        mean += float(np.arange(users + 1) @ weights / weights.sum())
        if by_spectra:
            lost = lost * float(weights.sum()) + _EPSILON * float(np.linalg.norm(whole) * np.linalg.norm(weights))
            whole = np.maximum(_by_spectra(whole, weights)[: users + 1], 0.0)
        else:
            whole = np.convolve(whole, weights)[: users + 1]
        most = float(whole.max()) or 1.0  # all of them may lie beyond
        whole, lost = whole / most, lost / most
    return whole, max(_LEAST, _DIGITS * lost), mean


def _by_spectra(a: Floats, b: Floats) -> Floats:
    """The convolution in n log n steps instead of n^2; what is small beside the largest term has no digits left."""
    length = len(a) + len(b) - 1
    size = 1 << (length - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:length]
