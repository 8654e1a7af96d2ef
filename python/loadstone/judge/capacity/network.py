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

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

_TRIES = 60
_BALANCED = 1e-9


@dataclass(frozen=True)
class Station:
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

    stations: tuple[Station, ...]
    delay_s: float = 0.0
    """Within a response time, without a queue: a round trip, a timer."""
    think_s: float = 0.0
    """Between a reply and the user's next request."""
    pool: int | None = None
    """How many requests are admitted at once; None: all of them."""

    @property
    def most_per_s(self) -> float:
        """By the station that fills first; infinite without stations."""
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
        inside = Network(self.stations, self.delay_s)
        rates = np.array([inside.per_s(number) for number in range(1, admitted + 1)])
        behind = np.concatenate([rates, np.full(users - admitted, rates[-1])])
        return _per_s([behind], self.think_s, users)

    def bound_per_s(self, users: int) -> float:
        """More is impossible, however evenly requests come: the asymptotic bounds, min(m / D, N / (R + Z))."""
        admitted = users if self.pool is None else min(users, self.pool)
        inside = admitted / self.unloaded_s if self.unloaded_s else np.inf
        return float(min(self.most_per_s, inside, users / (self.unloaded_s + self.think_s)))

    def response_s(self, users: int) -> float:
        """By Little's law: R = N / X - Z."""
        return users / self.per_s(users) - self.think_s


def _per_s(stations: Sequence[Floats], delay_s: float, users: int) -> float:
    """X(N) = G(N - 1) / G(N) of stations by their rates, and a delay."""
    if not stations:
        return users / delay_s
    numbers = np.arange(1, users + 1, dtype=np.float64)
    rates = [*stations, numbers / delay_s] if delay_s > 0 else list(stations)
    low, high = 0.0, min(float(station.max()) for station in rates)
    tilt = high
    for _ in range(_TRIES):  # until an open network at this rate would hold about so many users
        before, at, mean = _constants([np.log(tilt) - np.log(each) for each in rates], users)
        if before > 0 and at > 0 and abs(mean - users) < max(1.0, users / 2):
            break
        low, high = (tilt, high) if mean < users else (low, tilt)
        if high - low <= _BALANCED * high:
            break
        tilt = (low + high) / 2
    return tilt * before / at


def _constants(log_ratios: Sequence[Floats], users: int) -> tuple[float, float, float]:
    """G(N - 1) and G(N) up to the same factor, and how many users the stations hold on average, truncated at N each."""
    whole = np.ones(1)
    mean = 0.0
    for logs in log_ratios:
        terms = np.concatenate([[0.0], np.cumsum(logs)])
        weights = np.exp(terms - terms.max())
        mean += float(np.arange(users + 1) @ weights / weights.sum())
        whole = np.convolve(whole, weights)[: users + 1]
        whole /= whole.max()
    return float(whole[users - 1]), float(whole[users]), mean
