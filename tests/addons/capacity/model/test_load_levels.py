"""From trials to levels: which factor is a number of users, and what each part took."""

from typing import Any

import pytest
from tests.changed_facts import with_facts, with_model

from loadstone.addons.capacity.model.findings import capacity_of
from loadstone.addons.capacity.model.load_levels import conditions_of, levels_of
from loadstone.addons.capacity.model.model import groups_of
from loadstone.machine.placement import Placement
from loadstone.run_folder.trial import TrialRecord

KINDS = {"redis": "redis", "app": "subject", "generator": "driver", "host": "host"}
CPU_S = {"redis": 0.6, "app": 3.0, "generator": 1.2, "loadstone": 0.1}


def trial(synthetic: Any, users: int, **condition: Any) -> TrialRecord:
    made: TrialRecord = with_model(synthetic.make_trial(), {"kind": "closed", "users": users}, kinds=KINDS)
    return made.model_copy(update={"condition": condition, "cpu_s": CPU_S, "goodput_per_s": 1_000.0, "duration_s": 6.0})


def test_a_factor_that_is_a_number_of_users_is_no_condition(synthetic: Any) -> None:
    trials = [trial(synthetic, users, workers=users, storage=kind) for kind in ("json", "hash") for users in (1, 4, 16)]
    found = conditions_of(trials)
    assert [condition for condition, _ in found] == [{"storage": "json"}, {"storage": "hash"}]
    assert [level.users for level in levels_of(found[0][1])] == [1, 4, 16]


def test_users_who_do_something_else_are_another_condition(synthetic: Any) -> None:
    """A factor with other users at each level, that changes the operation, too."""
    read = trial(synthetic, 2, operation="read")
    plan = read.facts.plan
    assert plan is not None
    other = plan.model_copy(update={"operations": (plan.operations[0].model_copy(update={"name": "read"}),)})
    read = read.model_copy(update={"facts": read.facts.model_copy(update={"plan": other})})
    assert len(conditions_of([trial(synthetic, 8, operation="write"), read])) == 2


def test_a_level_has_the_cost_of_each_part(synthetic: Any) -> None:
    (level,) = levels_of([trial(synthetic, 4), trial(synthetic, 4)])
    assert level.per_s == pytest.approx(1_000)
    assert level.response_s == pytest.approx(4e-3)
    assert {name: part.demand_s for name, part in level.parts.items()} == {
        "redis": pytest.approx(100e-6),
        "app": pytest.approx(500e-6),
        "generator": pytest.approx(200e-6),
    }
    assert level.parts["redis"].one_thread
    assert (level.parts["redis"].place, level.parts["generator"].place) == ("servers", "generator")
    assert level.cpus_of == {"servers": 1, "generator": 1}


def test_the_thread_of_a_line_works_on_the_generators_cpus(synthetic: Any) -> None:
    made = trial(synthetic, 4)
    kinds, cpu_s = {**KINDS, "redis.link": "link"}, {**CPU_S, "redis.link": 1.8}
    made = made.model_copy(update={"facts": made.facts.model_copy(update={"kinds": kinds}), "cpu_s": cpu_s})
    (level,) = levels_of([made])
    assert level.parts["redis.link"].demand_s == pytest.approx(300e-6)
    full = {group.name: group.servers for group in groups_of(level)}
    assert full["redis.link + generator"] == 1


@pytest.mark.parametrize(
    ("server_cpus", "place", "cpus_of"),
    [
        ((0,), "generator", {"servers": 1, "generator": 1}),
        ((0, 1), "own", {"servers": 1, "own": 1, "generator": 1}),
    ],
)
def test_a_server_apart(synthetic: Any, server_cpus: tuple[int, ...], place: str, cpus_of: dict[str, int]) -> None:
    """On CPUs of its own; where the servers have one alone, on the generator's."""
    placed = Placement(server_cpus, (7,), shared=False, note="")
    made = trial(synthetic, 4)
    made = made.model_copy(update={"facts": made.facts.model_copy(update={"placement": placed})})
    (level,) = levels_of([made], ["redis"])
    assert level.parts["redis"].place == place
    assert level.parts["app"].place == "servers"
    assert level.cpus_of == cpus_of


def test_what_says_nothing_is_left_out(synthetic: Any) -> None:
    """A load at a rate, a trial of a moment, and one with errors."""
    open_ = with_model(trial(synthetic, 1), {"kind": "open", "rate_per_s": 100.0, "arrivals": "constant"})
    short = trial(synthetic, 4).model_copy(update={"duration_s": 0.1})
    sent = synthetic.counts(ok=900, errors={"timeout": 100})
    assert levels_of([open_, short, trial(synthetic, 4).model_copy(update={"counts": sent})]) == []
    assert conditions_of([open_]) == []


@pytest.mark.parametrize("per_s", [1e-300, 1e300, float("inf")])
@pytest.mark.parametrize("cpu_s", [1e-9, 1e308])
def test_figures_that_no_machine_has_are_left_out(synthetic: Any, per_s: float, cpu_s: float) -> None:
    made = trial(synthetic, 4)
    assert levels_of([made.model_copy(update={"goodput_per_s": per_s})]) == []
    spent = dict.fromkeys(CPU_S, cpu_s * 10)
    assert levels_of([made.model_copy(update={"cpu_s": spent, "goodput_per_s": 1e9})]) == []


@pytest.mark.parametrize("limit", [0.0, -1.0, 5e-324])
def test_a_limit_of_no_cpu_is_not_known(synthetic: Any, limit: float) -> None:
    made = trial(synthetic, 4)
    parts = {"redis": {"mean_share": 0.1, "main_thread_share": 0.1, "cpu_limit": limit}}
    (level,) = levels_of([with_facts(made, parts=parts)])
    assert level.parts["redis"].cpus is None
    found, _ = capacity_of({}, "", [level])
    assert [part.name for part in found.parts if part.cpus is None] == ["redis"]
