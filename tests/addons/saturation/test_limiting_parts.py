"""Which part is the limit of a saturated system, from which load on that is read, and which part comes next."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest
from tests.addons.saturation.trials import System, system_of, undriven

from loadstone.addons.saturation.answer import limiting_levels, limiting_rates
from loadstone.addons.saturation.spec import SaturationStep
from loadstone.run_folder.trial import TrialRecord

Levels = dict[int, list[TrialRecord]]
LEVELS = (1, 2, 4, 8, 16, 32)


@pytest.fixture
def system(synthetic: ModuleType) -> System:
    return system_of(synthetic)


def swept(system: System, levels: Sequence[int] = LEVELS) -> Levels:
    return {users: [system.search(users)] for users in levels}


def busy(system: System, **shares: float) -> Callable[[dict[str, Any], int], None]:
    """How busy parts are from 8 users on; with fewer users in proportion."""

    def change(facts: dict[str, Any], users: int) -> None:
        load = min(1.0, users / system.point)
        for part, share in shares.items():
            if part == "generator":
                facts["drive"]["threads"][0].update(cpu_s=share * load * 6, wall_s=6.0, waited_s=0.0)
            elif part == "redis":
                facts["parts"]["redis"].update(main_thread_share=share * load, mean_share=share * load)
            else:
                facts["kinds"][part] = "mariadb"
                facts["parts"][part] = {"mean_share": share * load, "cpu_limit": 1.0}

    return change


def test_it_is_read_from_twice_the_point_on(system: System) -> None:
    found = limiting_levels(swept(system), 8.0)
    assert found is not None
    assert (found.users, found.rate_per_s) == (16, None)
    assert found.bottleneck.part == "server"
    beyond_all = limiting_levels(swept(system), 30.0)
    assert beyond_all is not None
    assert beyond_all.users == 32, "the most users, where none is far beyond the point"
    without = limiting_levels(swept(system), None)
    assert without is not None
    assert without.users == 32


def test_the_knee_is_the_level_nearest_to_the_point(system: System) -> None:
    found = limiting_levels(swept(system), 3.0)
    assert found is not None
    (redis,) = [one for one in found.shares if one.part == "redis"]
    assert redis.unloaded == pytest.approx(0.98 / 8, abs=0.001)
    assert redis.knee == pytest.approx(0.98 / 2, abs=0.001), "of 4 users: 3 are nearer to 4 than to 2, as a ratio"
    assert redis.beyond is not None
    assert redis.beyond > redis.knee


def test_the_fullest_part_comes_first_and_the_next_one_is_named(system: System) -> None:
    system.facts = busy(system, redis=0.96, generator=0.4)
    found = limiting_levels(swept(system), 8.0)
    assert found is not None
    assert [one.part for one in found.shares] == ["redis", "generator"]
    assert (found.runner_up, found.runner_up_share) == ("generator", pytest.approx(0.4, abs=0.001))


def test_beside_a_generator_that_is_the_limit_the_next_one_is_a_server(system: System) -> None:
    system.facts = busy(system, redis=0.6, generator=0.97)
    found = limiting_levels(swept(system), 8.0)
    assert found is not None
    assert found.bottleneck.part == "generator"
    assert found.runner_up == "redis"


def test_parts_that_are_named_as_full_are_no_runner_up(system: System) -> None:
    """Of two that are full both stand in the line; a server that has nothing left comes before a fuller generator."""
    system.facts = busy(system, redis=0.96, generator=0.99, mariadb=0.3)
    found = limiting_levels(swept(system), 8.0)
    assert found is not None
    assert set(found.bottleneck.named) == {"redis", "generator"}
    assert (found.runner_up, found.runner_up_share) == ("mariadb", pytest.approx(0.3, abs=0.001))
    system.facts = busy(system, redis=0.96, generator=0.99)
    both = limiting_levels(swept(system), 8.0)
    assert both is not None
    assert (both.runner_up, both.runner_up_share) == (None, None)


def test_where_nothing_is_full_all_parts_are_named(system: System) -> None:
    system.facts = busy(system, redis=0.4, generator=0.3)
    found = limiting_levels(swept(system), 8.0)
    assert found is not None
    assert found.bottleneck.part in ("latency", "unknown")
    assert found.runner_up is None


def test_the_open_model_is_read_from_nearly_its_limit_on(system: System) -> None:
    def rate(per_s: float) -> TrialRecord:
        return system.trial(SaturationStep(phase="bisect", rate_per_s=per_s), f"rate-{per_s:.0f}")

    rates = [rate(one) for one in (500, 4000, 7700, 7900, 8200)]
    found = limiting_rates(rates, 7950.0)
    assert found is not None
    assert (found.users, found.rate_per_s) == (None, pytest.approx(0.95 * 7950))
    (redis,) = [one for one in found.shares if one.part == "redis"]
    assert redis.unloaded == pytest.approx(0.98 / 16, abs=0.001)
    assert redis.knee == pytest.approx(0.98 * 7800 / 8000, abs=0.001), "of those that kept it"
    without = limiting_rates(rates, None)
    assert without is not None
    assert without.rate_per_s == 8200


def test_without_trials_there_is_no_limit(system: System) -> None:
    assert limiting_levels({}, 8.0) is None
    assert limiting_rates([], 8.0) is None
    assert limiting_levels({1: [undriven(system.search(1))]}, None) is None
