from dataclasses import replace
from typing import Any

import pytest

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.required import PlannedCrash, RequiredData, RequiredSubject
from loadstone.experiment.plan.rounds import TRIAL_OVERHEAD_S
from loadstone.experiment.plan.run_plan import (
    CRASH_S,
    ROWS_PER_S,
    START_S,
    TABLE_GROUP,
    USUAL_WARM_UP_S,
    WARM_UP_TIMES,
    CrashTrial,
    PlannedTrial,
    RunPlan,
    expected_measure_s,
    expected_overhead_s,
)


def plan(model: dict[str, Any], phases: dict[str, Any]) -> Plan:
    return Plan.model_validate(
        {
            "endpoints": [{}],
            "model": model,
            "pool": {"connections": 1},
            "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
            "phases": phases,
        }
    )


CLOSED = {"kind": "closed", "users": 4}


@pytest.mark.parametrize(
    ("model", "phases", "seconds"),
    [
        (CLOSED, {"ramp_up_s": 2, "warm_up_s": 1, "measure_s": 3}, 3),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 100_000, "measure_max_s": 45}, 10),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 1000, "measure_max_s": 45}, 3),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 10**9, "measure_max_s": 45}, 45),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 10**9}, 3),
        (CLOSED | {"operations_per_user": 10_000}, {"warm_up_s": 0, "measure_s": 1, "measure_max_s": 60}, 4),
        (CLOSED | {"think_time_ms": 4}, {"warm_up_s": 0, "measure_operations": 6000, "measure_max_s": 9}, 6),
        ({"kind": "open", "rate_per_s": 50}, {"warm_up_s": 0, "measure_operations": 400, "measure_max_s": 9}, 8),
    ],
)  # fmt: skip
def test_the_length_of_a_measure_phase_is_guessed_from_its_plan(
    model: dict[str, Any], phases: dict[str, Any], seconds: float
) -> None:
    assert expected_measure_s(plan(model, phases)) == seconds


def test_a_trial_costs_more_than_its_measure_phase() -> None:
    phases = {"ramp_up_s": 2, "warm_up_s": 1, "measure_s": 3}
    assert expected_overhead_s(plan(CLOSED, phases)) == 3 + TRIAL_OVERHEAD_S


A, B = {"x": 1}, {"x": 2}


def group(name: str = TABLE_GROUP, **changes: Any) -> Group:
    given: dict[str, Any] = {"conditions": (A, B), "pairs": (), "metric": "goodput_per_s", "margin": 0.05}
    given |= {"looks": (2,), "sequential": False, "warm_block": False, "trial_s": 10.0, "overhead_s": 1.6}
    return Group(name=name, **(given | changes))


COMPARED = group("c", pairs=(PairDesign(A, B),), looks=(3, 5), sequential=True, warm_block=True, trial_s=3.0)


def run_plan(*groups: Group, budget_s: float = 0) -> RunPlan:
    phases = {"warm_up_s": 1, "measure_s": 3, "measure_operations": 100_000, "measure_max_s": 45}
    plans = {
        True: plan(CLOSED, phases | {"measure_operations": None, "measure_max_s": None}),
        False: plan(CLOSED, phases),
    }
    trials = [
        PlannedTrial(f"{g.name}-b{block:02d}-{i:03d}", c, block, i, {}, plans[bool(g.pairs)], None, g.name)
        for g in groups
        for block in range(0 if g.warm_block else 1, g.looks[-1] + 1)
        for i, c in enumerate(g.conditions, 1)
    ]
    return RunPlan("a", 1, False, False, budget_s, (A, B), tuple(groups), tuple(trials))


def test_a_run_is_expected_to_last_until_the_first_looks() -> None:
    assert run_plan(group()).expected_s() == pytest.approx(4 * 11.6)
    assert run_plan(group(), COMPARED).expected_s() == pytest.approx(4 * 11.6 + 8 * 4.6)


def test_a_run_lasts_no_longer_than_its_budget() -> None:
    assert run_plan(group()).longest_s() == pytest.approx(4 * 46.6)
    assert run_plan(group(), COMPARED).longest_s() == pytest.approx(4 * 46.6 + 12 * 4.6)
    assert run_plan(group(), COMPARED, budget_s=100).longest_s() == 100


def test_a_run_without_groups_is_all_its_trials() -> None:
    whole = run_plan(group())
    assert replace(whole, groups=()).expected_s() == whole.expected_s()


@pytest.mark.parametrize(
    ("budget_s", "looks"),
    [
        (0, {"table": 2, "c": 5, "d": 5}),
        (10, {"table": None, "c": None, "d": None}),
        (23.3 + 36.8 + 0.1, {"table": 1, "c": 3, "d": None}),
        (46.5, {"table": None, "c": 3, "d": None}),  # a first look before what only describes
        (46.5 + 36.8, {"table": 2, "c": 3, "d": None}),
        (46.5 + 73.6, {"table": 2, "c": 3, "d": 3}),
        (46.5 + 73.6 + 18.4, {"table": 2, "c": 5, "d": 3}),
        (1000, {"table": 2, "c": 5, "d": 5}),
    ],
)
def test_looks_are_taken_in_turns_as_far_as_the_budget_goes(budget_s: float, looks: dict[str, int | None]) -> None:
    plan_of_three = run_plan(group(), COMPARED, replace(COMPARED, name="d"), budget_s=budget_s)
    for _ in range(40):  # what is kept for the report comes on top
        plan_of_three = replace(plan_of_three, budget_s=budget_s + plan_of_three.ending_s())
    assert plan_of_three.looks_within_budget() == looks


def trial(
    name: str, number: int, subjects: dict[str, RequiredSubject], data: tuple[RequiredData, ...] = ()
) -> PlannedTrial:
    return PlannedTrial(
        name=name,
        condition={"number": number},
        block=1,
        order=1,
        servers={"mariadb": {"kind": "mariadb"}},
        plan=plan(CLOSED, {"warm_up_s": 1, "measure_s": 3}),
        load=None,
        subjects=subjects,
        data=data,
    )


def prepared(*trials: PlannedTrial) -> RunPlan:
    group = Group(
        name="table",
        conditions=(),
        pairs=(),
        metric="goodput_per_s",
        margin=0.05,
        looks=(1,),
        sequential=False,
        warm_block=False,
        trial_s=3.0,
        overhead_s=0.6,
    )
    return RunPlan("x", 1, False, False, 600.0, (), (group,), trials)


def test_subjects_start_once_for_all_trials_that_want_the_same() -> None:
    app, two = RequiredSubject(manifest="app", warm_up_s=5), RequiredSubject(manifest="app", replicas=2)
    once = prepared(trial("a", 1, {"app": app}), trial("b", 1, {"app": app}), trial("c", 2, {"app": app}))
    assert once.preparation_s() == START_S + 5 * WARM_UP_TIMES
    both = prepared(trial("a", 1, {"app": app}), trial("c", 2, {"app": two}))
    assert both.preparation_s() == 2 * START_S + (5 + USUAL_WARM_UP_S) * WARM_UP_TIMES
    users = prepared(trial("a", 1, {"app": RequiredSubject(urls=("http://host",))}))
    assert users.preparation_s() == 0
    assert prepared(trial("a", 1, {})).preparation_s() == 0


def test_rows_are_written_once() -> None:
    posts = RequiredData("posts", 100_000, {"id": "{number}"}, "mariadb", table="post")
    run_plan = prepared(trial("a", 1, {}, (posts,)), trial("b", 2, {}, (posts,)))
    assert run_plan.preparation_s() == 100_000 / ROWS_PER_S


def test_starts_and_crashes_are_in_the_expected_time() -> None:
    bare = prepared(trial("a", 1, {}))
    app = trial("a", 1, {"app": RequiredSubject(manifest="app", warm_up_s=5)})
    crash = CrashTrial(app, PlannedCrash("durability", "crash-1", "redis", "DBSIZE", 2.0, 1))
    whole = replace(prepared(app), crashes=(crash, crash))
    beside = START_S + 5 * WARM_UP_TIMES + 2 * (2 + CRASH_S)
    assert whole.expected_s() == pytest.approx(bare.expected_s() + beside)
    assert whole.longest_s() == pytest.approx(bare.longest_s() + beside)
