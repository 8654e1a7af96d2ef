"""From the trials of a whole search to its answers, against a system whose saturation point is known."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from tests.addons.saturation.runs import Session
from tests.addons.saturation.trials import System, failing, full_generator, saturated, system_of, undriven

from loadstone.addons.saturation.answer import saturations_of
from loadstone.addons.saturation.options import SearchOptions
from loadstone.addons.saturation.recorded_steps import users_of
from loadstone.addons.saturation.results import SaturationAnswer, SaturationAnswers
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import verbatim
from loadstone.text.sentences import render_message

CLOSED = SearchOptions(objective="p99 < 4 ms", ramp="40 over 20 s")
OPEN = SearchOptions(model="open", objective="p99 < 10 ms")
Answered = Callable[..., SaturationAnswer]


@pytest.fixture(scope="module")
def answered(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """The answer of a search of 8,000 a second and 1 ms for one user: saturated by 8."""

    def answer(search: SearchOptions = SearchOptions(), system: System | None = None, **changes: Any) -> Any:
        folder = tmp_path_factory.mktemp("searched")
        session = Session(folder, synthetic, system or system_of(synthetic), saturated(search), **changes)
        run = session.run()
        (found,) = saturations_of(run, run.trials)
        return found

    return answer


@pytest.fixture(scope="module")
def closed(answered: Answered, synthetic: ModuleType) -> SaturationAnswer:
    return answered(CLOSED, system_of(synthetic, noise=0.01, own_noise=0.01))


@pytest.fixture(scope="module")
def opened(answered: Answered) -> SaturationAnswer:
    return answered(OPEN)


def test_the_point_of_a_plateau_with_its_interval(closed: SaturationAnswer) -> None:
    assert (closed.kind, closed.model, closed.sweeps) == ("plateau", "closed", 6)
    assert closed.users is not None
    assert closed.per_s is not None
    assert closed.users.low < 8 < closed.users.high
    assert closed.users.value == pytest.approx(8, rel=0.03)
    assert closed.per_s.value == pytest.approx(8000, rel=0.03)
    assert closed.unloaded_s == pytest.approx(0.001, rel=0.02)
    assert closed.rounds_a_sweep > 0
    assert closed.seconds > 0


def test_every_level_is_a_point_of_all_its_sweeps(closed: SaturationAnswer) -> None:
    assert [point.users for point in closed.points] == [1, 2, 3, 4, 6, 8, 11, 16, 23, 32]
    assert {point.sweeps for point in closed.points} == {6}
    at_four = next(point for point in closed.points if point.users == 4)
    assert at_four.low < at_four.per_s < at_four.high
    assert at_four.per_s == pytest.approx(4000, rel=0.02)
    assert at_four.errors == 0.0
    assert at_four.verdict == "valid"
    assert at_four.response_ns is not None
    assert at_four.response_ns.p50 == pytest.approx(1e6, rel=0.01)


def test_the_search_stands_beside_it(closed: SaturationAnswer) -> None:
    assert [(one.users, one.per_s) for one in closed.search.points] == [
        (1, 1000), (2, 2000), (4, 4000), (8, 8000), (16, 8000), (32, 8000),
    ]  # fmt: skip
    assert closed.search.why is not None
    assert closed.search.why.kind == "no_longer_exceeded"


def test_an_objective_is_met_up_to_where_its_quantile_crosses_it(closed: SaturationAnswer) -> None:
    """P99 is twice the mean: 4 ms are reached where 2 ms are the mean, by 16 users."""
    assert closed.objective is not None
    assert closed.objective.kind == "limit"
    assert closed.objective.users is not None
    assert closed.objective.users.value == pytest.approx(16, rel=0.02)
    assert closed.objective.rate_per_s is not None
    assert closed.objective.rate_per_s.value == pytest.approx(8000, rel=0.03)
    assert "of 32 measured" in render_message(closed.objective.message)


@pytest.mark.parametrize(("objective", "kind"), [("p99 < 1 s", "met_always"), ("p99 < 1 us", "never")])
def test_an_objective_that_is_met_always_or_never(answered: Answered, objective: str, kind: str) -> None:
    found = answered(SearchOptions(objective=objective)).objective
    assert found is not None
    assert found.kind == kind
    assert found.rate_per_s is None


def test_a_ramp_is_read_off_beside_the_point(closed: SaturationAnswer) -> None:
    assert closed.ramp is not None
    steps = closed.ramp.steps
    assert [one.users for one in steps] == list(range(1, 41))
    assert all(one.to_s - one.from_s == pytest.approx(0.5) for one in steps)
    assert steps[3].per_s == pytest.approx(4000, rel=0.01)
    assert closed.ramp.eye_users is not None
    assert closed.users is not None
    assert "times the measured point" in render_message(closed.ramp.message)
    assert f"{closed.ramp.eye_users / closed.users.value:.2g} times" in render_message(closed.ramp.message)


def test_the_server_is_the_limit_and_how_full_it_was_at_three_loads(closed: SaturationAnswer) -> None:
    assert closed.limiting is not None
    assert closed.limiting.bottleneck.part == "server"
    assert closed.limiting.users in (16, 23), "from twice the point on"
    (redis,) = [one for one in closed.limiting.shares if one.part == "redis"]
    assert redis.unloaded == pytest.approx(0.98 / 8, abs=0.01)
    assert redis.knee == pytest.approx(0.98, abs=0.01)
    assert redis.beyond == pytest.approx(0.98, abs=0.01)


def test_a_generator_that_gives_out_is_a_bound_and_the_limit(answered: Answered, synthetic: ModuleType) -> None:
    def beyond_four(facts: dict[str, Any], users: int) -> None:
        if users > 4:
            full_generator()(facts, users)

    found = answered(SearchOptions(), system_of(synthetic, facts=beyond_four))
    assert (found.kind, found.at_least_per_s) == ("at_least", 8000)
    assert found.users is None
    assert found.limiting is not None
    assert found.limiting.bottleneck.part == "generator"
    assert [one.users for one in found.points] == [1, 2, 4, 8], "of the search, where nothing was swept"


def test_a_system_that_never_answers_has_no_point(answered: Answered) -> None:
    found = answered(SearchOptions(objective="p99 < 4 ms"), spoiled=undriven)
    assert found.kind == "none"
    assert found.limiting is None
    assert found.objective is not None
    assert found.objective.kind == "unknown"
    assert found.unloaded_s is None


def test_errors_from_some_load_on_end_the_levels_before_it(answered: Answered) -> None:
    def from_sixteen(trial: TrialRecord) -> TrialRecord:
        users = users_of(trial)
        return failing(trial, 0.2) if (users or 0) >= 16 else trial

    found = answered(spoiled=from_sixteen)
    assert [one.users for one in found.points] == [1, 2, 3, 4, 6, 8]
    assert found.kind == "at_least"
    assert found.at_least_per_s == pytest.approx(8000, rel=0.03)
    assert found.search.why is not None
    assert found.search.why.kind == "replies_failed_at"


def test_a_point_is_as_doubtful_as_its_trials(answered: Answered) -> None:
    suspect = CheckResult(
        name="stolen", verdict="suspect", measured=9, limit=5, unit="%", reason=verbatim("Others took 9 %.")
    )

    def at_two(trial: TrialRecord) -> TrialRecord:
        of_two = users_of(trial) == 2
        return trial.model_copy(update={"checks": [suspect], "verdict": "suspect"}) if of_two else trial

    found = answered(spoiled=at_two)
    verdicts = {one.users: one.verdict for one in found.points}
    assert verdicts.pop(2) == "suspect"
    assert set(verdicts.values()) == {"valid"}
    assert next(one for one in found.points if one.users == 2).reasons


def test_the_highest_rate_that_keeps_its_objective(opened: SaturationAnswer) -> None:
    assert (opened.kind, opened.model, opened.users, opened.sweeps) == ("limit", "open", None, 8)
    assert opened.per_s is not None
    assert opened.per_s.low < 5000 < opened.per_s.high
    assert opened.per_s.value == pytest.approx(5000, rel=0.02)
    assert opened.objective is not None
    assert (opened.objective.kind, opened.objective.rate_per_s) == ("limit", opened.per_s)


def test_every_rate_is_a_point_in_the_order_of_the_rates(opened: SaturationAnswer) -> None:
    rates = [one.rate_per_s or 0 for one in opened.points]
    assert len(rates) == 40
    assert rates == sorted(rates)
    located = [one for one in opened.search.points if one.rate_per_s is not None]
    assert len(located) == 8
    assert all(one.kept == ((one.rate_per_s or 0) <= 5000) for one in located)


def test_a_run_whose_budget_ended_says_how_far_it_came(answered: Answered) -> None:
    found = answered(budget_s=9.0)
    assert found.kind == "at_least"
    assert "--resume" in render_message(found.message)
    nothing = answered(OPEN, budget_s=9.0)
    assert nothing.kind == "none"
    assert nothing.objective is not None
    assert nothing.objective.kind == "unknown"


def test_the_headline_has_every_condition(closed: SaturationAnswer, opened: SaturationAnswer) -> None:
    assert SaturationAnswers([]).headline() is None
    said = render_message(SaturationAnswers([closed, opened.model_copy(update={"label": "list"})]).headline())
    assert said.startswith("MAXIMUM: ")
    assert "list: KEEPS P99 <= 10 ms up to " in said
