"""Whole searches for saturation points by a script: what is measured, in which order, and how it goes on."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.addons.saturation.runs import Session
from tests.addons.saturation.trials import saturated, system_of, undriven

from loadstone.addons.saturation.options import SearchOptions
from loadstone.addons.saturation.recorded_steps import number_of, phase_of, rate_of, users_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import LoadstoneError

Begun = Callable[..., Session]


@pytest.fixture
def begun(synthetic: ModuleType, tmp_path: Path) -> Begun:
    """A search of 8,000 a second and 1 ms for one user, saturated by 8."""

    def make(search: SearchOptions = SearchOptions(), system: Any = None, **changes: Any) -> Session:
        return Session(tmp_path, synthetic, system or system_of(synthetic), saturated(search), **changes)

    return make


def phases(session: Session) -> list[str]:
    return [phase_of(one) for one in session.planned if one.search is not None]


def test_a_search_comes_first_and_then_blocks_of_sweeps(begun: Begun) -> None:
    session = begun()
    session.run()
    users = [users_of(one) for one in session.planned if phase_of(one) == "search"]
    assert users == [1, 2, 4, 8, 16, 32]
    assert phases(session)[6:] == ["sweep"] * (len(session.planned) - 6)
    assert session.ends() == [("saturation-001", 6, "decided")]
    assert len(set(session.ran)) == len(session.ran)


def test_levels_of_a_block_take_turns_in_another_order_each_round(begun: Begun) -> None:
    session = begun()
    run = session.run()
    block = [one for one in run.trials if one.search and (phase_of(one), number_of(one)) == ("sweep", 1)]
    by_round = zip(*([s.position for s in one.facts.drive.slices] for one in block), strict=True)
    orders = set(by_round)
    assert len(orders) > 3
    assert all(sorted(order) == list(range(len(block))) for order in orders)


def test_every_trial_has_keys_and_a_seed_of_its_own(begun: Begun) -> None:
    session = begun()
    session.run()
    by_seed = {one.plan.seed for one in session.planned}
    assert len(by_seed) == len(session.planned)
    users = {users_of(one) for one in session.planned if one.search}
    assert len({one.plan.keys.prefix for one in session.planned}) == len(users)


def test_what_ended_is_not_measured_again(begun: Begun) -> None:
    session = begun()
    session.run()
    session.run()
    assert session.ran == []


@pytest.mark.parametrize("after", [1, 4, 7])
def test_an_interrupted_search_goes_on_where_it_ended(begun: Begun, after: int) -> None:
    session = begun(SearchOptions(sweeps=12))
    count = 0

    def interrupted(trial: TrialRecord) -> TrialRecord:
        nonlocal count
        count += 1
        if count > after:
            raise LoadstoneError("interrupted")
        return trial

    session.spoiled = interrupted
    with pytest.raises(LoadstoneError):
        session.run()
    before = {one.trial for one in session.recorded().trials}
    assert len(before) == after
    session.spoiled = lambda trial: trial
    session.run()
    searched = {name for name in before if "search" in name}
    assert not searched & set(session.ran), "what was searched is not searched again"
    assert session.ends()[-1][2] == "decided"


def test_what_the_budget_ended_goes_on_with_more_of_it(begun: Begun) -> None:
    session = begun(budget_s=9.0)
    session.run()
    assert session.ends() == [("saturation-001", len(session.ran), "out of budget")]
    assert 0 < len(session.ran) < 6
    session.budget_s = 100_000.0
    session.run()
    assert session.ends()[-1] == ("saturation-001", 6, "decided")


@pytest.mark.fault("the budget is short for a search", "fewer levels, all of them swept", area="limits")
def test_a_short_budget_measures_fewer_levels_and_finds_the_point(begun: Begun) -> None:
    usual = begun()
    usual.run()
    short = begun(budget_s=20.0)
    short.run()
    assert short.ends()[-1] == ("saturation-001", 6, "decided")


def test_a_system_that_never_answers_ends_at_once(begun: Begun) -> None:
    session = begun(spoiled=undriven)
    session.run()
    assert session.ran == ["saturation-001-search-u1"] * 2
    assert session.ends() == [("saturation-001", 0, "decided")]


def test_a_ramp_is_driven_once_and_last(begun: Begun) -> None:
    session = begun(SearchOptions(ramp="40 over 20 s"))
    session.run()
    assert phases(session)[-1] == "ramp"
    assert phases(session).count("ramp") == 1
    session.run()
    assert session.ran == []


def test_without_time_for_the_ramp_there_is_none(begun: Begun) -> None:
    session = begun(SearchOptions(ramp="40 over 30 min"), budget_s=600.0)
    session.run(verbose=True)
    assert "ramp" not in phases(session)
    assert "no time is left for the classical ramp" in session.said


def test_the_open_model_locates_the_rate_and_then_bisects(begun: Begun) -> None:
    session = begun(SearchOptions(model="open", objective="p99 < 10 ms"))
    session.run()
    found = phases(session)
    assert found == ["search"] * 6 + ["locate"] * 8 + ["bisect"] * 32
    assert session.ends() == [("saturation-001", 46, "decided")]
    rates = [rate_of(one) for one in session.planned if one.search and rate_of(one)]
    assert rates[-1] == pytest.approx(5000, rel=0.1)


def test_the_open_model_goes_on_in_the_middle_of_a_block(begun: Begun) -> None:
    session = begun(SearchOptions(model="open", objective="p99 < 10 ms"), budget_s=60.0)
    session.run()
    assert session.ends()[-1][2] == "out of budget"
    before = len(session.ran)
    assert 6 < before < 46
    session.budget_s = 100_000.0
    session.run()
    assert before + len(session.ran) == 46
    assert session.ends()[-1][2] == "decided"
