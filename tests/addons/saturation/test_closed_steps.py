"""Which step of the closed model comes next, against a system whose saturation point is known."""

from dataclasses import replace
from types import ModuleType

import pytest
from tests.addons.saturation.trials import System, failing, full_generator, planned, system_of, undriven

from loadstone.addons.saturation.closed_estimate import Estimate, Saturation, closed_saturation, no_point
from loadstone.addons.saturation.closed_steps import (
    SEARCH_MAX_S,
    SearchEnded,
    SearchStep,
    SweepStep,
    is_precise,
    next_step,
)
from loadstone.addons.saturation.options import SearchOptions
from loadstone.addons.saturation.spec import SaturationSettings
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import message

ONE, SETTINGS = planned()


@pytest.fixture
def system(synthetic: ModuleType) -> System:
    """8,000 a second, 1 ms for one user: saturated by 8 users."""
    return system_of(synthetic)


def searched(system: System, *users: int) -> list[TrialRecord]:
    return [system.search(one, number) for number, one in enumerate(users or (1, 2, 4, 8, 16, 32), start=1)]


def following(trials: list[TrialRecord], *, refine: bool = True) -> SearchStep | SweepStep | SearchEnded:
    return next_step(ONE, SETTINGS, trials, refine=refine)


def sweeping(trials: list[TrialRecord], *, refine: bool = True) -> SweepStep:
    step = following(trials, refine=refine)
    assert isinstance(step, SweepStep), step
    return step


def test_it_begins_with_one_user_and_doubles(system: System) -> None:
    assert following([]) == SearchStep(1, 1, 1.0, 0.0)
    assert following(searched(system, 1, 2, 4)) == SearchStep(8, 4, 1.0, 0.001)


@pytest.mark.parametrize(("response_s", "measure_s"), [(0.01, 1.0), (0.05, 2.0), (5.0, SEARCH_MAX_S)])
def test_a_probe_is_as_long_as_responses_require(system: System, response_s: float, measure_s: float) -> None:
    system.unloaded_s = response_s
    step = following(searched(system, 1))
    assert isinstance(step, SearchStep)
    assert (step.measure_s, step.response_s) == pytest.approx((measure_s, response_s))


def test_users_who_pause_are_probed_for_longer(system: System) -> None:
    template, settings = planned(SearchOptions(think_ms=2000))
    step = next_step(template, settings, searched(system, 1), refine=True)
    assert isinstance(step, SearchStep)
    assert step.measure_s == pytest.approx(4 * 2.001)


def test_what_could_not_be_driven_is_probed_once_more(system: System) -> None:
    trials = [*searched(system, 1, 2), undriven(system.search(4, 3))]
    assert isinstance(step := following(trials), SearchStep)
    assert step.users == 4
    twice = following([*trials, undriven(system.search(4, 3))])
    assert isinstance(twice, SweepStep)
    assert twice.plan.levels == (1, 2), "up to what was driven"


def test_two_doublings_without_a_gain_end_the_search(system: System) -> None:
    assert isinstance(following(searched(system, 1, 2, 4, 8, 16)), SearchStep)
    step = sweeping(searched(system))
    assert step.first == 1
    assert step.plan.levels == (1, 2, 3, 4, 6, 8, 11, 16, 23, 32)
    assert step.plan.levels[-1] >= 4 * system.point


def test_a_quick_run_sweeps_every_second_level_and_the_last_three(system: System) -> None:
    template, settings = planned(quick=True)
    step = next_step(template, settings, searched(system), refine=True)
    assert isinstance(step, SweepStep)
    assert step.plan.levels == (1, 2, 4, 8, 16, 23, 32)


def test_a_quick_run_has_a_tail_where_one_or_two_users_saturate(system: System) -> None:
    """The search puts the point at 1; were it 1.3, two levels lie beyond twice of it."""
    system.capacity_per_s = 1000.0
    template, settings = planned(quick=True)
    step = next_step(template, settings, searched(system, 1, 2, 4), refine=True)
    assert isinstance(step, SweepStep)
    assert step.plan.levels == (1, 2, 3, 4)


def test_users_that_are_too_few_leave_nothing_to_sweep(system: System) -> None:
    template, settings = planned(users_max=8)
    assert next_step(template, settings, searched(system, 1, 2, 4, 8), refine=True) == SearchEnded("decided", 0)


def test_a_generator_that_gave_out_leaves_nothing_to_sweep(system: System) -> None:
    system.facts = full_generator()
    assert isinstance(following(searched(system, 1)), SearchStep), "one user is a round trip, whatever is full"
    assert following(searched(system, 1, 2)) == SearchEnded("decided", 0)


def test_wrong_replies_end_the_search_at_the_level_before(system: System) -> None:
    trials = [*searched(system, 1, 2, 4), failing(system.search(8, 4), 0.5)]
    assert sweeping(trials).plan.levels == (1, 2, 3, 4)


def test_a_point_that_is_narrow_is_decided_by_the_fewest_sweeps(system: System) -> None:
    steps, done = system.carry_on(ONE, SETTINGS, trials := [])
    assert [step.users for step in steps if isinstance(step, SearchStep)] == [1, 2, 4, 8, 16, 32]
    assert done == SearchEnded("decided", SETTINGS.sweeps)
    assert len(trials) > 6 + len(steps)


def test_a_wide_point_is_swept_on_in_the_second_pass_only(system: System) -> None:
    system.own_noise = 0.3
    trials: list[TrialRecord] = []
    _, first = system.carry_on(ONE, SETTINGS, trials, refine=False)
    assert first == SearchEnded("last look", SETTINGS.sweeps)
    step = sweeping(trials)
    assert step.first == SETTINGS.sweeps + 1
    _, second = system.carry_on(ONE, SETTINGS, trials)
    assert second.sweeps > SETTINGS.sweeps
    assert second.reason == ("decided" if second.sweeps < SETTINGS.sweeps_max else "last look")


def test_sweeps_have_an_end_however_wide_the_point_is(system: System) -> None:
    system.own_noise = 0.4
    template, settings = planned(precision=0.001, sweeps_max=12)
    _, done = system.carry_on(template, settings, trials := [])
    assert done == SearchEnded("last look", 12)
    assert len(trials) > 0


def test_two_blocks_without_a_sweep_are_the_end(system: System) -> None:
    trials = searched(system)
    plan = sweeping(trials).plan
    trials += [undriven(one) for one in system.block(plan, 1)]
    second = sweeping(trials)
    assert second.first == 1 + plan.sweeps_a_block, "one is tried again, under another number"
    trials += [undriven(one) for one in system.block(plan, second.first)]
    assert following(trials) == SearchEnded("last look", 0)


def test_a_failed_block_between_whole_ones_ends_nothing(system: System) -> None:
    system.own_noise = 0.4
    trials = searched(system)
    plan = sweeping(trials).plan
    trials += [undriven(one) for one in system.block(plan, 1)]
    trials += system.block(plan, 1 + plan.sweeps_a_block)
    trials += [undriven(one) for one in system.block(plan, 1 + 2 * plan.sweeps_a_block)]
    assert isinstance(following(trials), SweepStep)


def test_half_of_a_sweep_of_whole_trials_is_gone_on_with(system: System) -> None:
    template, settings = planned(rounds=False)
    trials = searched(system)
    step = next_step(template, settings, trials, refine=True)
    assert isinstance(step, SweepStep)
    assert step.plan.rounds is None
    trials += system.whole_sweep(step.plan.levels, 1)
    trials += system.whole_sweep(step.plan.levels[:3], 2)
    half = next_step(template, settings, trials, refine=True)
    assert isinstance(half, SweepStep)
    assert half.first == 2
    trials += system.whole_sweep(step.plan.levels[3:], 2)
    whole = next_step(template, settings, trials, refine=True)
    assert isinstance(whole, SweepStep)
    assert whole.first == 3


def test_slow_responses_are_swept_by_whole_trials(system: System) -> None:
    system.unloaded_s, system.capacity_per_s = 1.0, 8.0
    step = sweeping(searched(system))
    assert step.plan.rounds is None
    assert step.plan.trial_s >= 4.0


def estimate(low: float, value: float, high: float) -> Estimate:
    return Estimate(value, low, high, 0.95)


@pytest.mark.parametrize(
    ("users", "precise"),
    [
        (estimate(9.5, 10, 10.5), True),
        (estimate(9.5, 10, 11.5), False),
        (estimate(8.5, 10, 10.5), False),
        (None, False),
    ],
)
def test_the_interval_of_the_users_decides_what_is_precise(users: Estimate | None, precise: bool) -> None:
    wide = estimate(1, 10, 100)
    assert is_precise(Saturation("plateau", message("saturation_none", why=None), wide, users), 0.1) == precise


def test_without_a_point_more_sweeps_may_help_but_not_beyond_a_bound(system: System) -> None:
    assert not is_precise(no_point(message("sweeps_not_measured")), 0.1)
    assert is_precise(Saturation("at_least", message("saturation_none", why=None), at_least_per_s=9.0), 0.1)
    assert closed_saturation([]).kind == "none", "which is where every condition begins"
    assert system.point == 8


def behind_an_application() -> tuple[PlannedTrial, SaturationSettings]:
    template, settings = planned(users_max=64)
    return replace(template, subjects={"app": template}), settings  # type: ignore[dict-item] # it is enough that there is one


def test_an_application_that_never_levelled_off_is_measured_again_in_the_middle(system: System) -> None:
    system.capacity_per_s = 1e6
    template, settings = behind_an_application()
    trials = searched(system, 1, 2, 4, 8, 16, 32, 64)
    step = next_step(template, settings, trials, refine=True)
    assert isinstance(step, SearchStep)
    assert (step.users, step.number) == (8, 8)
    trials.append(system.search(8, 8))
    assert next_step(template, settings, trials, refine=True) == SearchEnded("decided", 0), "once"
    assert next_step(*planned(users_max=64), trials[:-1], refine=True) == SearchEnded("decided", 0), (
        "no server warms up"
    )


def test_a_level_that_does_more_later_ends_a_search_that_only_time_carried_on(system: System) -> None:
    system.capacity_per_s = 1e6
    template, settings = behind_an_application()
    trials = [*searched(system, 1, 2, 4, 8, 16, 32, 64), system.search(8, 8, goodput_per_s=64_000.0)]
    step = next_step(template, settings, trials, refine=True)
    assert isinstance(step, SweepStep)
