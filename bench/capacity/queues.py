"""Servers whose saturation is known: closed M/M/c with thinking users, the USL, and open M/M/c.

A speed of 1 is the server as it is on its machine at rest; noise makes it slower or faster.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from loadstone.addons.saturation.closed_estimate import Usl

Floats = NDArray[np.float64]
SPEEDS = np.exp(np.linspace(-6, 4, 801))
WINDOW = 2000
"""Arrivals before one that may still be in the system when it comes, at most."""


@dataclass
class ClosedQueue:
    """c servers of exponential service times, users that think exponentially: M/M/c with N sources."""

    name: str
    servers: int
    service_s: float
    think_s: float
    _known: dict[int, Floats] = field(default_factory=dict)

    def throughput(self, users: int, speed: Floats) -> Floats:
        """Exact, a second, at a speed of the servers."""
        if users not in self._known:
            self._known[users] = self._exact(users, SPEEDS)
        return np.asarray(np.interp(np.log(speed), np.log(SPEEDS), self._known[users]) * speed)

    def _exact(self, users: int, speed: Floats) -> Floats:
        """Throughput / speed from the birth-death chain of how many are at the servers."""
        if self.think_s == 0:
            return np.full_like(speed, min(users, self.servers) / self.service_s)
        log_weight, logs = np.zeros_like(speed), [np.zeros_like(speed)]
        for at in range(users):
            up, down = (users - at) / self.think_s, min(at + 1, self.servers) * speed / self.service_s
            log_weight = log_weight + np.log(up / down)
            logs.append(log_weight)
        weights = np.exp(np.stack(logs) - np.max(logs, axis=0))
        busy = np.minimum(np.arange(users + 1), self.servers)[:, np.newaxis]
        return np.asarray((weights * busy).sum(axis=0) / weights.sum(axis=0) / self.service_s)

    def truth(self, speed: float) -> tuple[float, float]:
        """Saturation point and X_max."""
        most = self.servers * speed / self.service_s
        return most * (self.service_s / speed + self.think_s), most


@dataclass
class UslServer:
    """Throughput by the Universal Scalability Law; no one thinks."""

    name: str
    law: Usl
    think_s: float = 0.0

    def throughput(self, users: int, speed: Floats) -> Floats:
        """A second, at a speed of the server."""
        return self.law.throughput(np.asarray(float(users))) * speed

    def truth(self, speed: float) -> tuple[float, float]:
        """Users and throughput at the peak."""
        top = self.law.peak_users
        assert top is not None
        return top, float(self.law.throughput(np.asarray(top)) * speed)


@dataclass(frozen=True)
class OpenQueue:
    """c servers of exponential service times, Poisson arrivals, first come first served."""

    name: str
    servers: int
    service_s: float
    objective_s: float
    """Of P99."""

    def limit(self, speed: float, quantile: float = 0.99) -> float:
        """The rate at which the quantile of the response time is the objective (Erlang C)."""
        mu = speed / self.service_s

        def beyond(rate: float) -> float:
            return self._late(rate, mu) - (1 - quantile)

        return float(brentq(beyond, 1e-6 * mu, self.servers * mu * (1 - 1e-9)))

    def _late(self, rate: float, mu: float) -> float:
        """P(response > objective) = P(service > t) + P(wait > 0) P(wait + service > t >= service | wait > 0)."""
        c, t = self.servers, self.objective_s
        offered = rate / mu
        terms = [offered**k / math.factorial(k) for k in range(c)]
        last = offered**c / math.factorial(c) / (1 - offered / c)
        waits = last / (sum(terms) + last)
        drain = c * mu - rate
        if math.isclose(drain, mu):
            return math.exp(-mu * t) * (1 + waits * mu * t)
        both = (drain * math.exp(-mu * t) - mu * math.exp(-drain * t)) / (drain - mu)
        return (1 - waits) * math.exp(-mu * t) + waits * both

    def simulate(
        self, rng: np.random.Generator, rate: Floats, speed: Floats, arrivals: int, warm_up: int
    ) -> tuple[Floats, NDArray[np.int64]]:
        """P99 of one trial a row, and its backlog at nine moments. The queue begins empty; `warm_up` arrivals more."""
        runs, count = len(rate), warm_up + arrivals
        arrived = np.cumsum(rng.exponential(size=(count, runs)) / rate, axis=0)
        service = rng.exponential(size=(count, runs)) * (self.service_s / speed)
        left = self._departures(arrived, service)
        p99 = np.quantile((left - arrived)[warm_up:], 0.99, axis=0, method="inverted_cdf")
        moments = np.linspace(warm_up, count - 1, 9).astype(int)
        backlogs = [(left[max(0, at - WINDOW) : at] > arrived[at]).sum(axis=0) for at in moments]
        return np.asarray(p99), np.stack(backlogs, axis=1)

    def _departures(self, arrived: Floats, service: Floats) -> Floats:
        """When each leaves; a row an arrival, a column a run (Lindley 1952; Kiefer & Wolfowitz 1955)."""
        if self.servers == 1:
            done = np.cumsum(service, axis=0)
            idle = np.maximum.accumulate(arrived - (done - service), axis=0)
            return np.asarray(done + idle)
        runs = np.arange(arrived.shape[1])
        free = np.zeros((arrived.shape[1], self.servers))
        left = np.empty_like(arrived)
        for number in range(len(arrived)):
            place = free.argmin(axis=1)
            left[number] = np.maximum(arrived[number], free[runs, place]) + service[number]
            free[runs, place] = left[number]
        return left


CLOSED = (
    ClosedQueue("M/M/1, Z = 20 ms", 1, 0.001, 0.020),
    ClosedQueue("M/M/8, Z = 0", 8, 0.001, 0.0),
    ClosedQueue("M/M/8, Z = 2 ms", 8, 0.001, 0.002),
    UslServer("USL .05, .002", Usl(1000, 0.05, 0.002)),
    UslServer("USL .02, .0005", Usl(1000, 0.02, 0.0005)),
)
OPEN = (
    OpenQueue("M/M/1, P99 <= 20 ms", 1, 0.001, 0.020),
    OpenQueue("M/M/8, P99 <= 8 ms", 8, 0.001, 0.008),
)
