from collections import Counter
from dataclasses import replace

import pytest

from loadstone.errors import UserError
from loadstone.plan.conditions import identity
from loadstone.plan.design import derived_seed, make_run_plan
from loadstone.plan.model import Closed, Plan
from loadstone.spec.catalogue import find
from loadstone.spec.experiment import Experiment
from loadstone.spec.load import load_experiment
from loadstone.spec.overrides import override, parse_only


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
    everything = {identity(trial.condition): trial for trial in make_run_plan(experiment).trials}
    for trial in make_run_plan(experiment, only={"workers": (8,)}).trials:
        whole = everything[identity(trial.condition)]
        assert replace(whole, name=trial.name, order=trial.order) == trial


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


def test_derived_seeds_fit_into_63_bits() -> None:
    seeds = {derived_seed(1, "a", number) for number in range(1000)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derived_seed(1, "order", 1) == 692994953975066095, "a seed must mean the same on every machine"


def test_the_full_json_study_can_print_its_quantiles_and_ends_in_time() -> None:
    run_plan = make_run_plan(find("json-documents"))
    assert len(run_plan.trials) == 83
    for trial in run_plan.trials:
        phases = trial.plan.phases
        assert phases.measure_operations == 100_000, "100 operations beyond P99.9"
        assert phases.measure_s >= 3
        assert Plan.model_validate(trial.plan.model_dump()) == trial.plan
        assert (trial.load is None) == (trial.condition["operation"] == "set")
    assert run_plan.expected_s() < 20 * 60
    assert run_plan.longest_s() <= 83 * 46


def test_the_quick_json_study_takes_less_than_three_minutes() -> None:
    run_plan = make_run_plan(find("json-documents"), quick=True)
    assert len(run_plan.trials) == 54
    assert run_plan.longest_s() == pytest.approx(54 * 1.6)


def test_the_json_study_as_published_does_a_thousand_operations_a_worker() -> None:
    run_plan = make_run_plan(find("json-documents"), as_published=True)
    assert len(run_plan.trials) == 54
    for trial in run_plan.trials:
        users = trial.condition["workers"]
        assert trial.plan.model == Closed(users=users, operations_per_user=1000)
        assert trial.plan.phases.warm_up_s == 0


def test_every_storage_of_the_json_study_has_its_commands() -> None:
    trials = make_run_plan(find("json-documents")).trials
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
    experiment = override(find("json-documents"), sets=["tables.warm-up.quick=true"])
    only = parse_only(experiment, ["warm_up=off"])
    for quick in (True, False):
        trials = make_run_plan(experiment, only=only, quick=quick).trials
        assert {trial.plan.phases.warm_up_s for trial in trials} == {0}
