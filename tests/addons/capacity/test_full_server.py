"""Peak throughput of one server: measured, estimated by a model of its cost over the load, or refused."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.changed_facts import with_facts
from tests.judge.test_cost import REDIS, in_slices

from loadstone.addons.capacity.full_server import (
    FULL,
    MORE_USERS,
    WIDEST,
    ServerLoadLevel,
    level_of,
    servers_of,
    when_full,
)
from loadstone.text.sentences import render_message


def level(users: int, busy: float, cost_us: float, sleeps: float | None = 0.0, **changes: Any) -> ServerLoadLevel:
    per_s = busy / cost_us * 1e6
    made = ServerLoadLevel(
        users=users,
        busy=busy,
        ran=busy,
        cost_ns=cost_us * 1e3,
        spread=0.005,
        sleeps=sleeps,
        per_s=per_s,
        low_per_s=0.99 * per_s,
        high_per_s=1.01 * per_s,
    )
    return replace(made, **changes)


def cost_us(users: int, sleeps: float) -> float:
    """A server of 7 us a reply: 4 more for each look at its connections, 4.5 for falling asleep."""
    return 7 + 4 / users + 4.5 * sleeps


def test_a_full_server_is_measured_with_most_users_and_not_by_the_best_figure() -> None:
    found = when_full([level(8, 0.98, 7.0), level(16, 0.99, 7.2), level(32, 0.95, 7.0)])
    assert found is not None
    assert (found.how, found.users) == ("measured", 16)
    assert found.per_s == pytest.approx(0.99 / 7.2e-6)


def test_what_others_had_of_its_cpu_is_added_to_what_it_did() -> None:
    busy = level(32, 0.99, 7.0, ran=0.88, per_s=0.88 / 7e-6, low_per_s=0.87 / 7e-6, high_per_s=0.89 / 7e-6)
    found = when_full([busy])
    assert found is not None
    assert found.per_s == pytest.approx(0.99 / 7e-6)
    assert found.high_per_s is not None
    assert found.high_per_s / found.per_s > 0.89 / 0.88


def test_beside_programs_that_had_half_of_its_cpu_nothing_is_known() -> None:
    found = when_full([level(32, 0.99, 9.0, ran=0.5)])
    assert found is not None
    assert found.how == "refused"
    assert "other programs had its CPU for 49 % of the time" in render_message(found.why)


def test_estimates_hold_what_the_same_server_does_when_full() -> None:
    """100 servers whose cost has a look at its connections and a sleep, as large as they were on Redis, and noise."""
    rng, inside, widest = np.random.default_rng(28), 0, 0.0
    for _ in range(100):
        base, look, sleep = rng.uniform(5, 18), rng.normal(4, 0.8), rng.normal(4.6, 0.8)

        def spent(users: int, sleeps: float, base: float = base, look: float = look, sleep: float = sleep) -> float:
            return float(base + look / users + sleep * sleeps)

        levels = [
            level(users, busy, spent(users, sleeps) * math.exp(rng.normal(0, 0.01)), sleeps)
            for users, busy, sleeps in ((4, 0.78, 0.12), (8, 0.85, 0.06), (12, 0.9, 0.03))
        ]
        found = when_full(levels)
        assert found is not None
        assert found.low_per_s is not None, render_message(found.why)
        assert found.high_per_s is not None
        assert found.per_s is not None
        assert (found.how, found.users) == ("estimated", 12)
        inside += found.low_per_s <= 1e6 / spent(12 + MORE_USERS, 0.0) <= found.high_per_s
        widest = max(widest, found.high_per_s / found.per_s - 1)
    assert inside >= 95
    assert widest <= WIDEST * 1.03


def test_only_levels_that_took_turns_are_fitted_together() -> None:
    """Another minute's speed of the machine is no effect of the users."""
    table = [level(users, busy, cost_us(users, 0.05), 0.05, group="table") for users, busy in ((6, 0.8), (8, 0.86))]
    later = [level(4, 0.8, 1.3 * cost_us(4, 0.05), 0.05, group="later")]
    assert when_full([*table, *later]) == when_full(table)


def test_an_estimate_says_more_than_one_over_the_cost() -> None:
    """1/D at a busy share of .86 is too little: the server still sleeps then."""
    levels = [
        level(users, busy, cost_us(users, s), s) for users, busy, s in ((4, 0.7, 0.2), (6, 0.78, 0.12), (8, 0.86, 0.08))
    ]
    found = when_full(levels)
    assert found is not None
    assert found.per_s is not None
    assert found.per_s > 1.03 * 1e6 / cost_us(8, 0.08)


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ([level(8, 0.6, 9.0, 0.3)], "more users or a pipeline"),
        ([level(8, 0.6, 9.0, 0.3, generator=0.97)], "the generator's thread was 97 % busy"),
        ([level(1, 0.8, 120.0, 1.0)], "one user alone"),
        ([level(3, 0.8, 9.0, 0.4)], "not known within 5 %"),
        ([level(32, 0.99, 7.0, high_per_s=2e5)], "uneven"),
    ],
)
def test_what_is_missing_is_said_with_what_would_show_it(levels: list[ServerLoadLevel], says: str) -> None:
    found = when_full(levels)
    assert found is not None
    assert found.how == "refused"
    assert found.per_s is None
    assert says in render_message(found.why)


def test_without_levels_there_is_no_capacity() -> None:
    assert when_full([]) is None


def of_main_thread(synthetic: Any, busy: float, waited: float = 0.0) -> Any:
    trial = in_slices(synthetic, [{"redis": 0.1 * busy}] * 12, [1_000] * 12)
    parts = {"cpu_s": 0.1 * busy, "main_s": 0.1 * busy, "main_wait_s": 0.1 * waited, "main_runs": 20}
    drive = trial.facts.drive
    assert drive is not None
    slices = tuple(replace(one, parts={"redis": replace(one.parts["redis"], **parts)}) for one in drive.slices)
    facts = trial.facts.model_copy(update={"drive": drive.model_copy(update={"slices": slices})})
    return trial.model_copy(update={"facts": facts})


def test_a_level_is_read_from_slices(synthetic: Any) -> None:
    trial = of_main_thread(synthetic, 0.9, waited=0.08)
    found = level_of([trial], "redis")
    assert found is not None
    assert found.busy == pytest.approx(0.98)
    assert found.ran == pytest.approx(0.9)
    assert found.cost_ns == pytest.approx(90_000)
    assert found.sleeps == pytest.approx(0.02)
    assert found.busy >= FULL


def test_servers_behind_an_application_and_threads_of_unknown_number_have_none(synthetic: Any) -> None:
    trial = of_main_thread(synthetic, 0.9)
    assert servers_of(trial) == ["redis"]
    assert servers_of(with_facts(trial, settings={"redis": {"io-threads": "4"}})) == []
    assert servers_of(with_facts(trial, subjects={"app": {"replicas": 1, "ours": True}})) == []
    assert servers_of(with_facts(trial, kinds=REDIS | {"redis": "memcached"})) == []
    set_by = with_facts(trial, kinds=REDIS | {"redis": "memcached"}, settings={"redis": {"threads": "2"}})
    assert servers_of(set_by) == ["redis"]
    lied = with_facts(trial, kinds=REDIS | {"redis": "memcached"}, settings={"redis": {"threads": "9" * 5000}})
    assert servers_of(lied) == [], "more digits than any number has"


@pytest.mark.parametrize("busy", [-1.0, 5e-324, 1e308])
def test_figures_that_nobody_measured_are_no_level(synthetic: Any, busy: float) -> None:
    """A run's folder may hold any numbers."""
    assert level_of([of_main_thread(synthetic, busy)], "redis") is None
    levels = [level(8, 0.9, 7.0), level(4, 0.8, 1e9), level(16, 0.6, 1e-9)]
    found = when_full(levels)
    assert found is not None
    assert found.how == "refused" or 0.9 / 7e-6 < (found.per_s or 0) < 1.5 / 7e-6
