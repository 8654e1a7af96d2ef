from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.experiments import find_experiment, with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Plan
from loadstone.experiment.plan.run_plan import TABLE_GROUP, RunPlan, in_tables
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import identity
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError

EXPERIMENT = """\
format: 1
name: kinds
question: Which?
factors:
  storage: {levels: [json, string]}
tables: [{name: all, title: All, vary: {storage: [json, string]}}]
servers:
  redis: {kind: embedded, modules: [json]}
workload:
  model: {kind: closed, users: 1}
  pool: {connections: 1}
  operations:
    - {name: set, when: {storage: json}, commands: [{args: "JSON.SET {key} $ {document}"}], writes: document}
    - {name: set, when: {storage: string}, commands: [{args: "SET {key} {value}"}]}
"""


@pytest.fixture
def experiment(small: str) -> Experiment:
    return load_experiment(small, label="small.yaml")


def order(run_plan: object, block: int) -> list[str]:
    return [identity(trial.condition) for trial in run_plan.trials if trial.block == block]  # type: ignore[attr-defined]


def test_every_condition_stands_once_in_every_block_in_an_order_of_its_own(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment, blocks=6, seed=3)
    orders = [order(run_plan, block) for block in range(1, 7)]
    assert all(Counter(one) == Counter(orders[0]) for one in orders)
    assert len(orders[0]) == len(set(orders[0])) == len(run_plan.conditions) == 7
    assert len({tuple(one) for one in orders}) > 1
    assert [trial.name for trial in run_plan.trials[6:9]] == ["b01-007", "b02-001", "b02-002"]
    assert [(trial.block, trial.order) for trial in run_plan.trials[6:9]] == [(1, 7), (2, 1), (2, 2)]


def test_tables_have_the_designs_blocks_and_no_warm_one(experiment: Experiment, compared: str) -> None:
    assert [trial.block for trial in make_run_plan(experiment).trials] == [b for b in range(1, 7) for _ in range(7)]
    assert {trial.block for trial in make_run_plan(experiment, quick=True).trials} == {1}
    table = [trial for trial in make_run_plan(load_experiment(compared)).trials if trial.group == TABLE_GROUP]
    assert {trial.block for trial in table} == {1, 2, 3}


def test_the_same_seed_gives_the_same_plan_and_another_seed_another(experiment: Experiment) -> None:
    first, again, other = (make_run_plan(experiment, blocks=3, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert [order(first, block) for block in (1, 2, 3)] != [order(other, block) for block in (1, 2, 3)]
    assert {trial.plan.seed for trial in first.trials}.isdisjoint(trial.plan.seed for trial in other.trials)


def test_more_blocks_leave_the_first_ones_as_they_were(experiment: Experiment) -> None:
    assert make_run_plan(experiment, blocks=5).trials[:14] == make_run_plan(experiment, blocks=2).trials


def test_every_trial_has_a_seed_of_its_own_which_its_load_shares(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment, blocks=4)
    seeds = [trial.plan.seed for trial in run_plan.trials]
    assert len(set(seeds)) == len(seeds)
    loads = [(trial.load, trial.plan) for trial in run_plan.trials if trial.load is not None]
    assert loads
    assert all(load.seed == plan.seed and load.keys.prefix == plan.keys.prefix for load, plan in loads)
    assert all(plan.keys.loaded and not load.keys.loaded for load, plan in loads)
    assert not any(trial.plan.keys.loaded for trial in run_plan.trials if trial.load is None)


def test_a_trial_is_the_same_whatever_else_runs(experiment: Experiment) -> None:
    """Seed and keys of a condition depend on neither `--only` nor other tables."""
    everything = {(identity(trial.condition), trial.block): trial for trial in make_run_plan(experiment).trials}
    for trial in make_run_plan(experiment, only={"workers": (8,)}).trials:
        whole = everything[identity(trial.condition), trial.block]
        assert replace(whole, name=trial.name, order=trial.order) == trial


def test_every_trial_has_a_name_a_seed_and_a_place_of_its_own(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared))
    for of in (lambda t: t.name, lambda t: t.plan.seed, lambda t: (t.group, t.block, t.order)):
        assert len({of(trial) for trial in run_plan.trials}) == len(run_plan.trials)
    named = {trial.group: trial.name for trial in run_plan.trials if (trial.block, trial.order) == (1, 2)}
    assert named == {"table": "b01-002", "users": "users-b01-002", "kinds": "kinds-b01-002"}
    assert [trial.group for trial in run_plan.trials] == sorted(
        (trial.group for trial in run_plan.trials), key=["table", "users", "kinds"].index
    )


def test_every_block_of_every_group_is_complete(compared: str) -> None:
    for quick in (False, True):
        run_plan = make_run_plan(load_experiment(compared), quick=quick, seed=8)
        for group in run_plan.groups:
            first = 0 if group.warm_block else 1
            trials = [trial for trial in run_plan.trials if trial.group == group.name]
            assert [trial.block for trial in trials] == sorted(trial.block for trial in trials)
            assert {trial.block for trial in trials} == set(range(first, group.looks[-1] + 1))
            for block in range(first, group.looks[-1] + 1):
                there = [trial for trial in trials if trial.block == block]
                assert [trial.order for trial in there] == list(range(1, len(there) + 1))
                assert sorted(identity(t.condition) for t in there) == sorted(map(identity, group.conditions))


def test_a_condition_has_one_prefix_and_no_other_condition_has_it(compared: str) -> None:
    trials = make_run_plan(load_experiment(compared)).trials
    owners = {(trial.plan.keys.prefix, identity(trial.condition)) for trial in trials}
    assert len(owners) == len({prefix for prefix, _ in owners}) == len({condition for _, condition in owners}) == 9
    groups = {
        trial.group for trial in trials if trial.condition["payload"] == "1 kB" and trial.condition["workers"] == 1
    }
    assert groups == {"table", "kinds"}


def test_a_trial_that_is_compared_has_a_fixed_length(compared: str) -> None:
    text = compared.replace("measure_s: 2 s", "measure_s: 2 s\n    measure_operations: 1000\n    measure_max_s: 9 s")
    run_plan = make_run_plan(load_experiment(text))
    for trial in run_plan.trials:
        phases = trial.plan.phases
        if trial.group == TABLE_GROUP:
            assert (phases.measure_s, phases.measure_operations, phases.measure_max_s) == (2, 1000, 9)
        else:
            assert (phases.measure_s, phases.measure_operations, phases.measure_max_s) == (4, None, None)
            assert (phases.warm_up_s, trial.plan.interval_s) == (1, 0.4)
            assert Plan.model_validate(trial.plan.model_dump()) == trial.plan


def test_blocks_and_budget_of_the_command_line_win(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared), blocks=2, budget_s=77)
    assert run_plan.budget_s == 77
    assert [(group.name, group.looks, group.sequential) for group in run_plan.groups] == [
        ("table", (2,), False),
        ("users", (2,), False),
        ("kinds", (2,), False),
    ]
    assert {trial.block for trial in run_plan.trials if trial.group == "users"} == {0, 1, 2}


def test_as_published_is_one_block_in_which_nothing_is_compared(compared: str) -> None:
    run_plan = make_run_plan(load_experiment(compared), as_published=True)
    assert [(group.name, group.looks) for group in run_plan.groups] == [("table", (1,))]
    assert len(run_plan.trials) == len(run_plan.conditions) == 4


def test_conditions_share_no_keys_and_all_keys_are_ours(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment, seed=0x1_2345_6789, blocks=2)
    prefixes = {trial.plan.keys.prefix for trial in run_plan.trials}
    assert len(prefixes) == len(run_plan.conditions)
    assert all(prefix.startswith("loadstone:23456789:") and prefix.endswith(":") for prefix in prefixes)


def test_servers_take_the_levels_too(small: str) -> None:
    text = small.replace("{kind: embedded}", "{kind: embedded, config: {hz: '${workers}', name: 'w${workers}'}}")
    run_plan = make_run_plan(load_experiment(text), only={"workers": (8,)})
    assert run_plan.trials[0].servers == {"redis": {"kind": "embedded", "config": {"hz": 8, "name": "w8"}}}


def test_a_mistake_in_a_condition_that_does_not_run_is_found_as_well(small: str) -> None:
    experiment = load_experiment(small.replace("most: 2", "most: two"), label="small.yaml")
    with pytest.raises(UserError, match=r"^small\.yaml:37: workload\.pool\.max_idle: 'two' is not a whole number;"):
        make_run_plan(experiment, quick=True, only={"idle": ("many",)})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"seed": -1}, "--seed -1: must be from 0 to 9223372036854775807"),
        ({"seed": 2**63}, "--seed 9223372036854775808: must be from 0 to 9223372036854775807"),
        ({"blocks": 0}, "--blocks 0: must be at least 1"),
        ({"budget_s": 0}, "--budget 0: must be more than 0 s"),
    ],
)
def test_options_out_of_range(experiment: Experiment, options: dict[str, int], expected: str) -> None:
    with pytest.raises(UserError) as caught:
        make_run_plan(experiment, **options)  # type: ignore[arg-type]
    assert str(caught.value) == expected


def test_as_published_needs_published_counts(small: str) -> None:
    experiment = load_experiment(small[: small.index("as_published:")])
    with pytest.raises(UserError, match=r"^--as-published: small has no published counts; leave the option out$"):
        make_run_plan(experiment, as_published=True)


TABLES_OF_THE_STUDY = 89


def test_the_full_json_study_can_print_its_quantiles_and_ends_in_time() -> None:
    run_plan = make_run_plan(find_experiment("json-documents"))
    assert len(run_plan.conditions) == TABLES_OF_THE_STUDY
    tables = [group for group in run_plan.groups if in_tables(group.name)]
    assert [(group.name, len(group.pairs)) for group in run_plan.groups if group not in tables] == [
        ("partial-update", 6),
        ("storage", 12),
        ("small-pool", 1),
        ("warm-up", 1),
    ]
    for trial in run_plan.trials:
        if in_tables(trial.group) and not trial.in_rounds:
            of_all_blocks = (trial.plan.phases.measure_operations or 0) * tables[0].looks[-1]
            assert of_all_blocks >= 100_000, "100 operations beyond P99.9"
        assert (trial.load is None) == (trial.condition["operation"] == "set")
    assert run_plan.budget_s == 45 * 60
    assert run_plan.expected_s() < 42 * 60, "some time is left for further looks"
    assert all(run_plan.looks_within_budget().values())


def test_the_quick_json_study_takes_less_than_three_minutes() -> None:
    run_plan = make_run_plan(find_experiment("json-documents"), quick=True)
    assert [group.name for group in run_plan.groups] == ["table", "partial-update", "storage"]
    assert run_plan.budget_s == 190
    assert run_plan.expected_s() < 180
    assert run_plan.expected_s() + run_plan.ending_s() < run_plan.budget_s
    assert all(run_plan.looks_within_budget().values())


def test_the_json_study_as_published_does_a_thousand_operations_a_worker() -> None:
    run_plan = make_run_plan(find_experiment("json-documents"), as_published=True)
    assert len(run_plan.trials) == 54
    for trial in run_plan.trials:
        users = trial.condition["workers"]
        assert trial.plan.model == Closed(users=users, operations_per_user=1000)
        assert trial.plan.phases.warm_up_s == 0


def test_every_storage_of_the_json_study_has_its_commands() -> None:
    trials = make_run_plan(find_experiment("json-documents")).trials
    commands = {
        (trial.condition["storage"], trial.condition["operation"]): [
            command.args[0] for command in trial.plan.operations[0].commands
        ]
        for trial in trials
    }
    assert commands == {
        ("json", "set"): ["JSON.SET"],
        ("json", "get"): ["JSON.GET"],
        ("json", "update"): ["JSON.SET"],
        ("string", "set"): ["SET"],
        ("string", "get"): ["GET"],
        ("string", "update"): ["GET", "SET"],
        ("hash", "set"): ["HSET"],
        ("hash", "get"): ["HGETALL"],
        ("hash", "update"): ["HSET"],
    }
    fields = {(trial.plan.documents.payload_bytes, trial.plan.documents.field_bytes) for trial in trials}
    assert fields == {(10, 1), (100, 10), (500, 50), (1000, 100), (10_000, 1000), (100_000, 10_000)}


def test_warm_up_off_stays_off_when_quick() -> None:
    experiment = with_overrides(
        find_experiment("json-documents"), sets=["tables.warm-up.quick=true", "comparisons.warm-up.quick=true"]
    )
    for quick in (True, False):
        run_plan = make_run_plan(experiment, quick=quick)
        off = [trial for trial in run_plan.trials if trial.condition["warm_up"] == "off"]
        assert {"table" if in_tables(trial.group) else trial.group for trial in off} == {"table", "warm-up"}
        assert {trial.plan.phases.warm_up_s for trial in off} == {0}


def modules(run_plan: RunPlan) -> list[Any]:
    return list(
        {repr(trial.servers["redis"]["modules"]): trial.servers["redis"]["modules"] for trial in run_plan.trials}
    )


def plan(text: str = EXPERIMENT, **only: str) -> RunPlan:
    return make_run_plan(load_experiment(text), only={name: (level,) for name, level in only.items()})


def test_without_json_commands_no_module_is_needed() -> None:
    assert modules(plan(storage="string")) == ["[]"]
    assert modules(plan(storage="json")) == ["['json']"]


def test_all_conditions_of_a_run_share_a_server() -> None:
    assert modules(plan()) == ["['json']"]


@pytest.mark.parametrize(
    "change",
    [
        ('args: "SET {key} {value}"', """args: ["EVAL", "redis.call('JSON.SET', KEYS[1], '$', '1')", "1", "{key}"]"""),
        ('"SET {key} {value}"}]', '"SET {key} {value}"}], read_back: {args: "JSON.GET {key}", expect: field}'),
    ],
)
def test_a_module_may_be_used_in_other_places(change: tuple[str, str]) -> None:
    assert change[0] in EXPERIMENT
    assert modules(plan(EXPERIMENT.replace(*change), storage="string")) == ["['json']"]
