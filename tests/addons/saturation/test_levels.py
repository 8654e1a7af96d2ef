"""What a level of a search for saturation connects with, and what all of its levels hold on a server."""

from dataclasses import replace

import pytest
from tests.experiments import described

from loadstone.addons.saturation.experiment import redis_source
from loadstone.addons.saturation.levels import fewer_levels, with_users, within_budget
from loadstone.addons.saturation.options import OneCommand, SearchOptions
from loadstone.addons.saturation.planning import share_of_time
from loadstone.addons.saturation.recorded_steps import settings_in
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import LEVELS_MAX, TOGETHER_BYTES_MAX, memory_of
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest


def template(search: SearchOptions, *, keys: int = 1000, value_size: str = "100") -> PlannedTrial:
    experiment = described(redis_source(None, OneCommand("set", size=value_size, keys=keys), search))
    planned = requested_plan(experiment, RunRequest(seed=1))
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


def test_a_short_budget_makes_steps_and_slices_shorter_unless_they_are_written() -> None:
    experiment = described(redis_source(None, OneCommand("set"), SearchOptions()))
    planned = requested_plan(experiment, RunRequest(seed=1, budget="30s"))
    assert planned.search is not None
    settings = settings_in(planned.search)
    assert share_of_time(planned, settings) < 1
    assert planned.expected_s() < 30
    shorter = within_budget(settings, 0.25, application=True)
    assert (shorter.trial_s, shorter.slice_s) == (0.5, 0.4)
    written = settings.model_copy(update={"trial_s": 3.0, "slice_s": 0.7})
    assert within_budget(written, 0.75, application=False) == written
    assert within_budget(written, 0.25, application=False) == written.model_copy(update={"quick": True})
    assert within_budget(settings, 1.0, application=False) == settings


def test_fewer_levels_have_the_first_and_the_last_ones() -> None:
    levels = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
    fewer = list(fewer_levels(levels))
    assert fewer[0] == levels
    assert [len(one) for one in fewer] == sorted((len(one) for one in fewer), reverse=True)
    assert all(one[0] == 1 and one[-1] == 64 and set(one) <= set(levels) for one in fewer)


def _alone(trial: PlannedTrial) -> PlannedTrial:
    return replace(trial, group="table")
