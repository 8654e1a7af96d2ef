"""A closed network of queues against worked examples of the literature, a second algorithm, and its laws."""

import itertools
import math

import numpy as np
import pytest

from loadstone.addons.capacity.model import network as solver
from loadstone.addons.capacity.model.network import Network, QueueStation


def stations(demands: list[float], servers: list[float] | None = None) -> tuple[QueueStation, ...]:
    many = servers or [1.0] * len(demands)
    return tuple(QueueStation(f"s{number}", *each) for number, each in enumerate(zip(demands, many, strict=True)))


def by_recursion(network: Network, users: int) -> float:
    """Mean value analysis as Reiser & Lavenberg have it, with the probabilities of each station."""
    rates = [station.rates(users) for station in network.stations]
    there = [np.array([1.0] + [0.0] * users) for _ in rates]
    per_s = 0.0
    for number in range(1, users + 1):
        inside = np.arange(1, number + 1)
        waits = [float((inside / rate[:number]) @ p[:number]) for rate, p in zip(rates, there, strict=True)]
        per_s = number / (sum(waits) + network.delay_s + network.think_s)
        for rate, p in zip(rates, there, strict=True):
            p[1 : number + 1] = per_s / rate[:number] * p[:number].copy()
            p[0] = 1 - p[1 : number + 1].sum()
    return per_s


LAZOWSKA = Network(stations([0.605, 2.1, 1.35]), think_s=15)
"""Lazowska et al. 1984, p. 117: a CPU and two disks, 15 s between a reply and the next request."""
JAIN = Network(stations([2, 3, 1]), think_s=4)
"""Jain, The art of computer systems performance analysis, 1991, example 34.2."""
BOLCH_84 = Network(stations([0.5, 0.3, 0.4], [2, 1, 1]), delay_s=1)
"""Bolch et al., Queueing networks and Markov chains, example 8.4: a station of two servers, and terminals."""
BOLCH_83 = Network(stations([0.02, 0.08, 0.08, 0.06]))
"""The same, example 8.3: a central server and three disks."""


@pytest.mark.parametrize(
    ("network", "users", "per_s", "response_s"),
    [
        (LAZOWSKA, 1, 0.0525, 4.055),
        (LAZOWSKA, 2, 0.103, 4.40),
        (LAZOWSKA, 3, 0.152, 4.80),
        (JAIN, 1, 0.1, 6),
        (JAIN, 2, 0.175, 7.4),
        (JAIN, 20, 0.333, 56.03),
        (BOLCH_84, 3, 1.218, 2.463),
        (BOLCH_83, 6, 9.920, 0.605),
    ],
)
def test_worked_examples(network: Network, users: int, per_s: float, response_s: float) -> None:
    assert network.per_s(users) == pytest.approx(per_s, rel=5e-3)
    assert network.response_s(users) == pytest.approx(response_s, rel=5e-3)


@pytest.mark.parametrize(("users", "servers"), [(3, 1), (10, 3), (40, 8)])
def test_machines_and_those_who_repair_them(users: int, servers: int) -> None:
    """M/M/m//N in closed form: machines that break after 10 s on average, 2 s to repair one."""
    weights = [1.0]
    for broken in range(users):
        weights.append(weights[-1] * (users - broken) * 2 / (10 * min(broken + 1, servers)))
    at_work = sum(weight * min(broken, servers) for broken, weight in enumerate(weights)) / sum(weights)
    assert Network(stations([2], [servers]), think_s=10).per_s(users) == pytest.approx(at_work / 2)


def random_network(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    demands = np.exp(rng.normal(-6, 2, rng.integers(1, 6))).tolist()
    servers = rng.choice([0.5, 1.0, 1.5, 2.0, 3.0, 8.0], len(demands)).tolist()
    delay_s, think_s = (float(rng.choice([0.0, math.exp(rng.normal(-5, 2))])) for _ in range(2))
    return Network(stations(demands, servers), delay_s, think_s)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_mean_value_analysis(seed: int) -> None:
    network = random_network(seed)
    for users in (1, 2, 3, 5, 8, 13):
        assert network.per_s(users) == pytest.approx(by_recursion(network, users), rel=1e-6)


@pytest.mark.parametrize("pool", [None, 1, 4])
@pytest.mark.parametrize("seed", range(100, 130))
def test_laws_of_every_network(seed: int, pool: int | None) -> None:
    """The rate grows with the users; it is below m / D and N / (R + Z); nobody answers sooner than to one user."""
    found = random_network(seed)
    network = Network(found.stations, found.delay_s, found.think_s, pool)
    rates = [network.per_s(users) for users in (1, 2, 3, 4, 6, 10, 30, 100)]
    assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(rates))
    for users, per_s in zip((1, 2, 3, 4, 6, 10, 30, 100), rates, strict=True):
        assert 0 < per_s <= network.bound_per_s(users) * (1 + 1e-9)
        assert network.response_s(users) >= network.unloaded_s * (1 - 1e-9)
        inside = users - per_s * network.think_s
        assert per_s * network.response_s(users) == pytest.approx(inside)


@pytest.mark.parametrize("think_s", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("users", [500, 2_000])
def test_many_users_cost_no_digits(users: int, think_s: float) -> None:
    """Where mean value analysis of stations with several servers has none left."""
    network = Network(stations([0.001, 0.004, 0.0001], [1, 8, 1]), delay_s=0.002, think_s=think_s)
    assert network.per_s(users) == pytest.approx(network.bound_per_s(users), rel=1e-2)


def test_a_pool_of_one_is_a_lock() -> None:
    network = Network(stations([0.001, 0.002]), delay_s=0.001, think_s=0.1, pool=1)
    as_a_lock = Network(stations([0.004]), think_s=0.1)
    for users in (1, 5, 50):
        assert network.per_s(users) == pytest.approx(as_a_lock.per_s(users))


def test_a_pool_that_nobody_waits_for_changes_nothing() -> None:
    network = Network(stations([0.001, 0.002], [1, 2]), delay_s=0.001, think_s=0.1)
    behind = Network(network.stations, network.delay_s, network.think_s, pool=20)
    assert behind.per_s(20) == network.per_s(20)
    just_less = Network(network.stations, network.delay_s, network.think_s, pool=19)
    assert just_less.per_s(20) == pytest.approx(network.per_s(20), rel=1e-3)


def test_what_takes_no_time_has_no_rate() -> None:
    with pytest.raises(ValueError, match="nothing takes time"):
        Network(()).per_s(1)
    with pytest.raises(ValueError, match="at least one"):
        LAZOWSKA.per_s(0)


@pytest.mark.parametrize("seed", range(200, 212))
def test_many_users_by_spectra_are_as_by_the_sum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = random_network(seed)
    networks = [Network(found.stations, found.delay_s, found.think_s, pool) for pool in (None, 700)]
    fast = [network.per_s(900) for network in networks]
    monkeypatch.setattr(solver, "_MANY", 100)
    for network, expected in zip(networks, fast, strict=True):
        assert network.per_s(900) == pytest.approx(expected, rel=1e-6)


def test_a_pool_is_solved_for_all_its_places_at_once() -> None:
    """One by one 20,000 users at 5,000 connections take minutes, and the model solves thousands of such networks."""
    network = Network(stations([5e-6, 5.1e-6, 3e-6], [1, 1, 2]), delay_s=1e-5, think_s=0.1, pool=5_000)
    solved = 0

    def counted(*given: object) -> object:
        nonlocal solved
        solved += 1
        return once(*given)

    once = solver._solved
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "_solved", counted)
        assert network.per_s(20_000) == pytest.approx(network.bound_per_s(20_000), rel=1e-2)
    assert solved < 20


def test_stations_whose_constants_lie_beyond_the_users_keep_their_digits() -> None:
    """Spectra are good to a share of the largest constant, which lies beyond so many users here."""
    network = Network(stations([2.2e-4], [1000]), delay_s=6.3e-4, think_s=2.3e-4)
    assert 0.5 * network.bound_per_s(2_500) < network.per_s(2_500) <= network.bound_per_s(2_500) * (1 + 1e-9)
