"""A model of levels of users: held to the others where a network made them, and refused where something else did."""

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.addons.capacity.model import findings
from loadstone.addons.capacity.model.findings import capacity_of, check
from loadstone.addons.capacity.model.load_levels import LoadLevel, PartLoad
from loadstone.addons.capacity.model.model import WhatIfChange, groups_of, hold_out
from loadstone.addons.capacity.model.network import Network, QueueStation
from loadstone.judge.checks.utilisation import CpuUse
from loadstone.text.sentences import render_message

APP = PartLoad(250e-6, 1.0, one_thread=True, processes=1, place="servers")
STORE = PartLoad(20e-6, 1.0, one_thread=True, processes=1, place="servers")
GENERATOR = PartLoad(25e-6, 1.0, one_thread=True, processes=1, place="generator")
USERS = (1, 2, 4, 8, 16, 32, 64)
Rate = Callable[[int], float]


def level(users: int, per_s: float, think_s: float = 0.0, **parts: PartLoad) -> LoadLevel:
    found = parts or {"app": APP, "redis": STORE, "generator": GENERATOR}
    return LoadLevel(
        users, think_s, per_s, 10_000, found, cpus_of={"servers": 1, "generator": 1}, trials=(), spread=0.01
    )


def network(delay_s: float = 1e-3, think_s: float = 0.0) -> Network:
    """Application and Redis share a CPU."""
    return Network((QueueStation("cpu", 270e-6), QueueStation("generator", 25e-6)), delay_s, think_s)


def levels(rate: Rate, noise: float = 0.0, seed: int = 1) -> list[LoadLevel]:
    rng = np.random.default_rng(seed)
    return [level(users, rate(users) * math.exp(rng.normal(0, noise))) for users in USERS]


def test_parts_that_fill_a_cpu_before_one_is_full_alone_are_one_station() -> None:
    shared, alone = sorted(groups_of(level(8, 3_000)), key=lambda group: -len(group.parts))
    assert (shared.name, shared.servers, alone.name) == ("app + redis", 1.0, "generator")
    two_cpus = replace(level(8, 3_000), cpus_of={"servers": 2})
    assert {group.name for group in groups_of(two_cpus)} == {"app", "redis", "generator"}
    own = groups_of(level(8, 3_000), WhatIfChange(cpus={"app": 1}))
    assert {group.name for group in own} == {"app", "redis", "generator"}
    beside = level(8, 3_000, app=APP, redis=replace(STORE, place="generator"), generator=GENERATOR)
    assert {group.name for group in groups_of(beside)} == {"app", "redis + generator"}
    unknown = level(8, 3_000, app=replace(APP, cpus=None), redis=STORE)
    assert [group.name for group in groups_of(unknown)] == ["redis"]


@pytest.mark.parametrize("seed", range(20))
def test_what_a_network_made_is_foretold(seed: int) -> None:
    """With 2 % of noise on each level; the intervals hold the truth between the levels and beyond them."""
    truth = network(delay_s=[0.0, 1e-3, 10e-3][seed % 3])
    checked, _ = check(levels(truth.per_s, noise=0.02, seed=seed))
    assert checked is not None
    for users in (3, 12, 48, 64, 500):
        found = checked.predict(users)
        if found is None:
            assert truth.per_s(64) < 0.9 * truth.most_per_s
            continue
        assert found.per_s == pytest.approx(truth.per_s(users), rel=0.08)
        assert found.low_per_s < truth.per_s(users) < found.high_per_s


def test_what_if_is_the_network_with_the_change() -> None:
    checked, _ = check(levels(network().per_s))
    assert checked is not None
    changed = {
        WhatIfChange(round_trip_s=5e-3).round_trip_s: (WhatIfChange(round_trip_s=5e-3), network(delay_s=6e-3)),
        0.1: (WhatIfChange(think_s=0.1), network(think_s=0.1)),
        0.8: (
            WhatIfChange(cost={"app": 0.8}),
            Network((QueueStation("cpu", 220e-6), QueueStation("generator", 25e-6)), 1e-3),
        ),
        2.0: (
            WhatIfChange(instances={"app": 2}),
            Network(
                (QueueStation("app", 250e-6, 2), QueueStation("redis", 20e-6), QueueStation("generator", 25e-6)), 1e-3
            ),
        ),
    }
    for change, truth in changed.values():
        for users in (4, 16, 64):
            found = checked.predict(users, change)
            assert found is not None
            assert found.per_s == pytest.approx(truth.per_s(users), rel=0.03)
            assert found.response_s == pytest.approx(users / found.per_s - truth.think_s)


def test_a_thread_that_waits_for_its_disk_is_held_by_it() -> None:
    """As Redis is by an fsync after each write: 20 us of CPU, and 200 us in which it does nothing else."""
    redis = replace(STORE, disk_s=200e-6)
    truth = Network((QueueStation("redis", 220e-6), QueueStation("generator", 25e-6)), 1e-3)
    made = [level(users, truth.per_s(users), redis=redis, generator=GENERATOR) for users in USERS]
    capacity, checked = capacity_of({}, "", made)
    assert checked is not None
    assert capacity.limits[0].name == "redis"
    assert capacity.parts[0].most_per_s == pytest.approx(1 / 220e-6)
    cheaper = checked.predict(64, WhatIfChange(cost={"redis": 0.5}))
    assert cheaper is not None
    assert cheaper.per_s == pytest.approx(1 / 210e-6, rel=0.02)


def test_costs_that_fall_with_the_load_are_followed() -> None:
    """Busy servers answer several requests for one waking up."""

    def at(users: int) -> LoadLevel:
        factor = 1 + 1 / users
        parts = {
            name: replace(part, demand_s=part.demand_s * factor) for name, part in (("app", APP), ("redis", STORE))
        }
        truth = Network((QueueStation("cpu", 270e-6 * factor), QueueStation("generator", 25e-6)), 1e-3)
        return level(users, truth.per_s(users), **parts, generator=GENERATOR)

    held = hold_out([at(users) for users in USERS])
    assert held is not None
    assert held.typical < 0.06
    assert held.passed


def lock(users: int) -> float:
    """One request at a time holds it for 2 ms, most of which it waits."""
    return Network((*network().stations, QueueStation("lock", 2e-3)), 1e-3).per_s(users)


def pool_of_two(users: int) -> float:
    """Behind the application's CPU."""
    return Network(network().stations, delay_s=4e-3, pool=2).per_s(users)


def falls(users: int) -> float:
    return network().per_s(users) / (1 + (users / 16) ** 2)


@pytest.mark.parametrize(
    ("rate", "why"),
    [(lock, "Likely a lock or a pool"), (pool_of_two, "Likely a lock or a pool"), (falls, "The rate falls beyond")],
)
def test_what_is_no_network_of_its_cpus_is_refused(rate: Rate, why: str) -> None:
    capacity, checked = capacity_of({}, "", levels(rate, noise=0.01))
    assert checked is None
    assert capacity.refusal is not None
    assert why in render_message(capacity.refusal)
    assert capacity.predictions == []
    assert {part.name for part in capacity.parts} == {"app", "redis", "generator"}


def test_connections_that_all_share_admit_no_more() -> None:
    """Of users who bring their own there are as many as users; eight for all are a pool, beyond the levels, too."""
    far = network(delay_s=10e-3)
    own = [replace(level(users, far.per_s(users)), pool=users) for users in USERS]
    pooled = replace(far, pool=8)
    shared = [replace(level(users, pooled.per_s(users)), pool=8) for users in USERS]
    for made, truth in ((own, far), (shared, pooled)):
        checked, _ = check(made)
        assert checked is not None
        found = checked.predict(48)
        assert found is not None
        assert found.per_s == pytest.approx(truth.per_s(48), rel=0.05)
        slower = checked.predict(60, WhatIfChange(round_trip_s=50e-3))
        assert slower is not None
        assert slower.per_s == pytest.approx(replace(truth, delay_s=60e-3).per_s(60), rel=0.05)


def test_parts_of_unknown_cpus_have_no_limit() -> None:
    unknown = {"app": replace(APP, cpus=None)}
    capacity, checked = capacity_of({}, "", [level(users, 10.0 * users, **unknown) for users in USERS])
    assert checked is None
    assert capacity.limits == []
    assert capacity.parts[0].most_per_s is None
    assert "is not known" in render_message(capacity.limit)


def test_other_programs_on_the_servers_cpus_are_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """They had half of the CPU: the rate levels off at half of what the costs say, as it does by a lock."""
    use = CpuUse(1, 1.0, 0.0, 0.5, 0.0, 0.5, observed=True)
    load = SimpleNamespace(pool=0.0, needed={}, use=use, connections=64)
    monkeypatch.setattr(findings, "typical_load", lambda _: load)
    slowed = Network((QueueStation("cpu", 540e-6), QueueStation("generator", 25e-6)), 0.0)
    capacity, _ = capacity_of({}, "", [level(1, 2_500.0), *levels(slowed.per_s)[1:]])
    assert capacity.refusal is not None
    assert "other programs: they took 50 %" in render_message(capacity.refusal)


def test_a_timer_is_a_delay() -> None:
    """It holds each request for as long, whatever the load: that is in the model, and seen in the waiting."""
    capacity, checked = capacity_of({}, "", levels(network(delay_s=40e-3).per_s, noise=0.01))
    assert checked is not None
    assert capacity.waiting_s == pytest.approx(40e-3, rel=0.05)
    assert checked.predict(1_000) is None, "no CPU was full, so nothing says what comes then"


def test_three_levels_hold_nothing() -> None:
    capacity, checked = capacity_of({}, "", levels(network().per_s)[:3])
    assert checked is None
    assert capacity.refusal is not None
    assert "3 numbers of users measured" in render_message(capacity.refusal)
    assert "saturate" in render_message(capacity.refusal)
    assert hold_out([level(1, 500.0)]) is None


def test_few_users_may_be_left_out() -> None:
    """Two regimes: from four users on nobody falls asleep any more."""
    made = [replace(one, per_s=one.per_s / 3) if one.users < 3 else one for one in levels(network().per_s)]
    checked, _ = check(made)
    assert checked is not None
    assert checked.best.model.levels[0].users >= 4
    assert checked.best.reach < 0.1
    assert checked.predict(1) is None or checked.whole.model.levels[0].users == 1


def test_the_limit_is_named_with_the_next() -> None:
    full = render_message(capacity_of({}, "", levels(network().per_s))[0].limit)
    assert full.startswith("The limit at ")
    assert "users and 3,704 a second: app + redis (100 % busy, at most 3,704 a second)" in full
    assert "next: generator" in full
    far = render_message(capacity_of({}, "", [level(1, 700.0)])[0].limit)
    assert far.startswith("Nothing is full at 1 user and 700 a second. First to fill: app + redis (18.9 % busy")
    ours = {"redis": STORE, "generator": GENERATOR}
    assert "The generator is the limit" in render_message(capacity_of({}, "", [level(64, 39_000.0, **ours)])[0].limit)


def test_more_users_than_can_be_solved_are_said_at_once() -> None:
    """A run's folder may name a million; the report must not wait for them."""
    many = [level(users, 3_000.0) for users in (1, 10, 100_000, 1_000_000)]
    found, checked = capacity_of({}, "", many)
    assert checked is None
    assert render_message(found.refusal).startswith("Nothing is predicted: a model is solved for 250,000 users at most")
    assert found.limits[0].name == "app + redis"


def test_of_very_many_levels_some_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "SOLVED_LEVELS_MAX", 6)
    truth = network()
    checked, held = check([level(users, truth.per_s(users)) for users in range(1, 41)])
    assert checked is not None
    assert held is not None
    used = [one.users for one in checked.whole.model.levels]
    assert (len(used), used[0], used[-1]) == (6, 1, 40)
