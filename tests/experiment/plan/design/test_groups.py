"""Declared comparisons become pairs and groups."""

from dataclasses import replace

import pytest
from tests.experiments import find_experiment, with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.experiment.plan.rounds import trial_length_s
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.levels import identity
from loadstone.experiment.spec.loading import load_experiment


def groups(run_plan: RunPlan) -> dict[str, Group]:
    return {group.name: group for group in run_plan.groups}


def levels(group: Group, *factors: str) -> list[tuple[object, ...]]:
    """For each pair: the levels of `factors` of a, and of b."""
    return [(*(pair.a[name] for name in factors), *(pair.b[name] for name in factors)) for pair in group.pairs]


def test_every_two_levels_are_a_pair_at_each_place(compared: str) -> None:
    text = compared.replace("levels: [1, 8]\n", "levels: [1, 8, 16]\n")
    group = groups(make_run_plan(load_experiment(text)))["users"]
    assert levels(group, "operation", "workers") == [
        ("set", 1, "set", 8),
        ("set", 1, "set", 16),
        ("set", 8, "set", 16),
        ("get", 1, "get", 8),
        ("get", 1, "get", 16),
        ("get", 8, "get", 16),
    ]
    assert all(pair.a["payload"] == pair.b["payload"] == "100 B" for pair in group.pairs)
    assert all(pair.a["idle"] == pair.b["idle"] == "few" for pair in group.pairs), "the default"
    assert len(group.conditions) == 6


def test_the_pair_begins_with_the_baseline(compared: str) -> None:
    group = groups(make_run_plan(load_experiment(compared)))["kinds"]
    assert levels(group, "operation", "idle", "payload") == [("set", "few", "1 kB", "get", "few", "1 kB")]
    against = groups(make_run_plan(find_experiment("json-documents")))["storage"]
    assert {(pair.a["storage"], pair.b["storage"]) for pair in against.pairs} == {("json", "string"), ("json", "hash")}


def test_the_two_sides_of_a_pair_differ_in_one_factor() -> None:
    experiment = find_experiment("json-documents")
    between = {comparison.name: comparison.between for comparison in experiment.comparisons}
    for quick in (False, True):
        for name, group in groups(make_run_plan(experiment, quick=quick)).items():
            for pair in group.pairs:
                assert [key for key in pair.a if pair.a[key] != pair.b[key]] == [between[name]]


def test_metric_margin_looks_and_length(compared: str) -> None:
    table, users, kinds = make_run_plan(load_experiment(compared)).groups
    assert (users.metric, users.margin, users.looks) == ("goodput_per_s", 0.05, LOOKS[1:])
    assert (kinds.metric, kinds.margin, kinds.looks) == ("response_ns.p99", 0.2, LOOKS)
    assert (table.pairs, table.looks, table.sequential, table.warm_block) == ((), (3,), False, False)
    for group in (users, kinds):
        assert (group.sequential, group.warm_block, group.trial_s, group.overhead_s) == (True, True, 4, 1.6)
    assert users.block_s == pytest.approx(4 * 5.6)


def test_the_usual_margin_of_a_latency_is_a_tenth(compared: str) -> None:
    _, _, kinds = make_run_plan(load_experiment(compared.replace("    margin: 20 %\n", ""))).groups
    assert kinds.margin == 0.1


def test_without_a_trial_the_rule_decides_by_what_a_trial_costs_beside(compared: str) -> None:
    text = compared.replace("  trial: 4 s\n", "").replace("measure_s: 2 s", "measure_s: 2 s\n    warm_up_s: 9.4 s")
    run_plan = make_run_plan(load_experiment(text), budget_s=3600)
    group = groups(run_plan)["users"]
    assert group.overhead_s == 10
    assert group.trial_s == round(trial_length_s(10), 1) == 10.5
    assert {trial.plan.phases.measure_s for trial in run_plan.trials if trial.group == "users"} == {10.5}


def test_a_budget_without_room_for_first_looks_makes_compared_trials_shorter(compared: str) -> None:
    experiment = load_experiment(compared)
    usual = make_run_plan(experiment)
    assert usual.shortened_for_s == 0
    short = make_run_plan(experiment, budget_s=300)
    assert short.shortened_for_s == 300
    assert 0.7 <= groups(short)["users"].trial_s < groups(usual)["users"].trial_s
    first_looks_s = sum(group.seconds(range(group.looks[0] + 1)) for group in short.groups if group.pairs)
    assert first_looks_s <= 300
    resumed = make_run_plan(experiment, budget_s=3600, shortened_for_s=300)
    assert replace(resumed, budget_s=300) == short, "whatever its budget, a resumed run has the slices it had"


def test_a_length_that_the_experiment_gives_is_shortened_by_the_command_lines_budget_alone(compared: str) -> None:
    experiment = load_experiment(compared.replace("budget: 20m", "budget: 60s"))
    assert make_run_plan(experiment).shortened_for_s == 0
    assert make_run_plan(experiment, budget_s=60).shortened_for_s == 60


def test_conditions_that_are_compared_have_one_length_whatever_their_warm_up() -> None:
    experiment = with_overrides(find_experiment("json-documents"), sets=["design.trial=null"])
    run_plan = make_run_plan(experiment)
    group = groups(run_plan)["warm-up"]
    assert group.overhead_s == 1.1, "half of them have no warm-up"
    assert {trial.plan.phases.measure_s for trial in run_plan.trials if trial.group == "warm-up"} == {group.trial_s}


def test_quick_replaces_places_design_and_what_is_compared(compared: str) -> None:
    text = compared.replace(
        "  phases: {measure_s: 100 ms}", "  phases: {measure_s: 100 ms}\n  design: {budget: 70 s, trial: 900 ms}"
    )
    run_plan = make_run_plan(load_experiment(text), quick=True)
    assert run_plan.budget_s == 70
    found = groups(run_plan)
    assert found["table"].looks == (1,)
    assert {group.trial_s for group in (found["users"], found["kinds"])} == {0.9}
    assert levels(found["kinds"], "idle") == [("many", "many")]
    assert levels(groups(make_run_plan(load_experiment(text)))["kinds"], "idle") == [("few", "few")]
    never = text.replace("    quick_at: {idle: [many]}", "    quick: false")
    assert set(groups(make_run_plan(load_experiment(never), quick=True))) == {"table", "users"}


def test_quick_keeps_what_its_design_does_not_replace(compared: str) -> None:
    text = compared.replace(
        "  phases: {measure_s: 100 ms}",
        "  phases: {measure_s: 100 ms}\n  design: {budget: null, trial: null, table_blocks: null}",
    )
    run_plan = make_run_plan(load_experiment(text), quick=True)
    assert (run_plan.budget_s, groups(run_plan)["table"].looks, groups(run_plan)["users"].trial_s) == (1200, (3,), 4)


def test_only_leaves_pairs_whole_or_out(compared: str) -> None:
    experiment = load_experiment(compared)
    assert set(groups(make_run_plan(experiment, only={"workers": (8,)}))) == {"table"}
    only = groups(make_run_plan(experiment, only={"operation": ("get",)}))
    assert set(only) == {"table", "users"}
    assert levels(only["users"], "operation") == [("get", "get")]
    assert only["users"].looks == LOOKS, "one pair is left"


def test_the_table_has_what_no_comparison_has(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared))
    table = {identity(condition) for condition in groups(run_plan)["table"].conditions}
    under_own_load = [group for group in run_plan.groups if group.pairs and group.fixed_rate is None]
    compared_too = {identity(c) for group in under_own_load for c in group.conditions}
    assert not table & compared_too
    assert table | compared_too == {identity(condition) for condition in run_plan.conditions}


def test_a_comparison_needs_no_table(compared: str) -> None:
    """A condition that no table prints is measured all the same, under `--only` as well."""
    run_plan = make_run_plan(load_experiment(compared), only={"idle": ("many",)}, quick=True)
    found = groups(run_plan)
    assert set(found) == {"table", "kinds"}, "at full speed its latencies would say nothing: it has a rate of its own"
    assert len(run_plan.conditions) == 2
    by_rate = load_experiment(compared.replace("metric: response_ns.p99", "metric: goodput_per_s"))
    assert set(groups(make_run_plan(by_rate, only={"idle": ("many",)}, quick=True))) == {"kinds"}
