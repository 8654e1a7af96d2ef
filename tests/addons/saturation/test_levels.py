"""What a level of a search for saturation connects with, and what all of its levels hold on a server."""

from dataclasses import replace

import pytest

from loadstone.addons.saturation.experiment import redis_experiment
from loadstone.addons.saturation.levels import with_users
from loadstone.addons.saturation.options import OneCommand, SearchOptions
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import LEVELS_MAX, TOGETHER_BYTES_MAX, memory_of
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest


def template(search: SearchOptions, *, keys: int = 1000, value_size: str = "100") -> PlannedTrial:
    experiment = redis_experiment(None, OneCommand("set", size=value_size, keys=keys), search)
    planned = requested_plan(experiment, RunRequest(experiment="", built=experiment, seed=1))
    assert planned.search is not None
    return planned.search.trials[0]


@pytest.mark.parametrize("users", [1, 8, 64])
def test_a_pool_grows_with_the_users_unless_its_size_is_given(users: int) -> None:
    assert with_users(template(SearchOptions()).plan, users).pool.connections == users
    assert with_users(template(SearchOptions(connections=4)).plan, users).pool.connections == 4


def test_levels_that_take_turns_are_held_against_a_servers_room_together() -> None:
    small, large = template(SearchOptions()), template(SearchOptions(), keys=10_000, value_size="20 kB")
    one = memory_of([_alone(small)], "redis").bytes
    assert memory_of([small], "redis").bytes == LEVELS_MAX * one
    assert memory_of([large], "redis").bytes == TOGETHER_BYTES_MAX, "more than that is measured level by level"


def _alone(trial: PlannedTrial) -> PlannedTrial:
    return replace(trial, group="table")
