"""A factorial: all combinations in one group, its pairs, and the effects over them."""

import pytest
from tests.experiments import find_experiment

from loadstone.experiment.plan.design.conditions import all_conditions, select
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Condition, matches
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError


@pytest.fixture
def experiment(small: str) -> Experiment:
    return load_experiment(small)


def test_tables_become_conditions_each_once_in_order(experiment: Experiment) -> None:
    found = all_conditions(experiment)
    assert [one.number for one in found] == list(range(1, 8))
    assert found[0].condition == {"operation": "set", "payload": "100 B", "workers": 1, "idle": "few"}
    levels = [tuple(one.condition.values()) for one in found]
    assert levels == [
        ("set", "100 B", 1, "few"),
        ("set", "1 kB", 1, "few"),
        ("get", "100 B", 1, "few"),
        ("get", "1 kB", 1, "few"),
        ("set", "1 kB", 1, "many"),
        ("set", "1 kB", 8, "few"),
        ("set", "1 kB", 8, "many"),
    ]
    assert found[1].tables == ("by-size", "by-users")
    assert found[2].tables == ("by-size",)


def test_levels_of_different_kind_are_different_conditions(small: str) -> None:
    text = small.replace("levels: [1, 8]", "levels: [1, 8, true]").replace("workers: [1, 8]", "workers: [1, true]")
    assert len(all_conditions(load_experiment(text))) == 7


def test_quick_and_only_leave_conditions_out_and_keep_their_numbers(experiment: Experiment) -> None:
    quick = select(experiment, only={}, quick=True)
    assert [one.number for one in quick] == [1, 2, 3, 4]
    only = select(experiment, only={"workers": (8,)})
    assert [one.number for one in only] == [6, 7]
    both = select(experiment, only={"payload": ("1 kB",), "operation": ("set", "get")}, quick=True)
    assert [one.number for one in both] == [2, 4]
    published = select(experiment, only={}, as_published=True)
    assert [one.number for one in published] == [1, 2, 3, 4]


def test_quick_may_leave_some_levels_of_a_table_in(small: str) -> None:
    text = small.replace("name: by-size\n", "name: by-size\n    quick_only: {payload: [1 kB]}\n", 1)
    experiment = load_experiment(text)
    assert [one.number for one in select(experiment, only={}, quick=True)] == [2, 4]
    assert select(experiment, only={}) == all_conditions(experiment)


@pytest.mark.parametrize(
    ("left_in", "words"),
    [
        ("{payload: [2 kB]}", "'2 kB' is not varied here; of payload there are: "),
        ("{idle: [few]}", "'few' is not varied here; of idle there are: none"),
        ("{payload: []}", "leaves nothing in; name a level, or write 'quick: false'"),
    ],
)
def test_what_quick_leaves_in_is_varied_by_the_table(small: str, left_in: str, words: str) -> None:
    with pytest.raises(UserError) as refused:
        load_experiment(small.replace("name: by-size\n", f"name: by-size\n    quick_only: {left_in}\n", 1))
    assert "tables.0.quick_only" in str(refused.value)
    assert words in str(refused.value)


def test_conditions_of_comparisons_come_after_those_of_tables(small: str, compared: str) -> None:
    printed, found = all_conditions(load_experiment(small)), all_conditions(load_experiment(compared))
    assert found[:7] == printed
    assert [(tuple(one.condition.values()), one.tables) for one in found[7:]] == [
        (("set", "100 B", 8, "few"), ()),
        (("get", "100 B", 8, "few"), ()),
        (("get", "1 kB", 1, "many"), ()),
    ]
    assert [one.number for one in found] == list(range(1, 11))


def test_what_is_compared_runs_whether_or_not_a_table_prints_it(compared: str) -> None:
    experiment = load_experiment(compared)
    assert [one.number for one in select(experiment, only={})] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [one.number for one in select(experiment, only={}, quick=True)] == [1, 2, 3, 4, 5, 8, 9, 10]
    assert [one.number for one in select(experiment, only={"workers": (8,)})] == [6, 7], "a pair needs both"
    assert [one.number for one in select(experiment, only={"idle": ("many",)}, quick=True)] == [5, 10]
    assert [one.number for one in select(experiment, only={}, as_published=True)] == [1, 2, 3, 4]


def test_no_condition_left_is_an_error_that_says_what_there_is(experiment: Experiment) -> None:
    with pytest.raises(UserError) as caught:
        select(experiment, only={"workers": (8,)}, quick=True)
    assert str(caught.value) == "--only workers=8 --quick: no condition is left; without --quick there are 2"
    with pytest.raises(UserError) as caught:
        select(experiment, only={"workers": (8,), "payload": ("100 B",)})
    assert str(caught.value) == (
        "--only workers=8 --only payload=100 B: no table and no comparison has such a condition; "
        "`loadstone show` lists what they vary"
    )


def figures_of(experiment: Experiment, condition: Condition) -> int:
    """How many published figures there are for a condition."""
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    rows = [(row, level) for published in experiment.published for row in published.rows for level in row.levels]
    return sum(matches(condition, usual | row.where | {row.along: level}) for row, level in rows)


def test_the_json_study_has_its_54_scenarios_and_a_published_figure_for_each() -> None:
    experiment = find_experiment("json-documents")
    scenarios = select(experiment, only={}, as_published=True)
    assert len(scenarios) == 54
    assert [figures_of(experiment, one.condition) for one in scenarios] == [1] * 54
    beyond = [one for one in all_conditions(experiment) if one not in scenarios]
    assert [figures_of(experiment, one.condition) for one in beyond] == [0] * 35
    quick = select(experiment, only={}, quick=True)
    assert {one.number for one in scenarios} < {one.number for one in quick}
    assert all(one in scenarios or one.condition["storage"] != "json" for one in quick)


def test_the_published_figures_of_the_json_study_are_the_authors() -> None:
    experiment = find_experiment("json-documents")
    values = [value for row in experiment.published[0].rows for value in row.values]
    assert len(values) == 54
    by_operation = {
        operation: sum(sum(row.values) for row in experiment.published[0].rows if row.where["operation"] == operation)
        for operation in ("set", "get", "update")
    }
    assert by_operation == {
        "set": 1089 + 1394 + 1005 + 899 + 799 + 395
        + 3562 + 4597 + 6334 + 8051 + 3188 + 4564 + 5931 + 7099 + 1796 + 2203 + 2411 + 2657,
        "get": 1174 + 1102 + 1039 + 1078 + 780 + 371
        + 2816 + 4379 + 5250 + 6851 + 3224 + 4703 + 6278 + 7028 + 2562 + 3427 + 3784 + 4034,
        "update": 887 + 1135 + 1038 + 992 + 1143 + 814
        + 3163 + 5048 + 6049 + 7221 + 3237 + 4916 + 5916 + 7690 + 2882 + 4549 + 5836 + 7091,
    }  # fmt: skip


TEXT = """format: 1
name: both
question: What?
factors:
  pipeline: {levels: [1, 16]}
  payload: {levels: [100 B, 1 kB, 10 kB]}
  users: {levels: [8, 16]}
tables:
  - {name: all, title: All, vary: {pipeline: [1]}}
effects:
  - name: effects
    question: Do they depend on each other?
    factors: [pipeline, payload]
    reference: {payload: 1 kB}
    where: {users: 16}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: "${users}"}
  pool: {connections: "${users}"}
  pipeline_depth: ${pipeline}
  documents: {payload_bytes: "${payload}"}
  phases: {measure_s: 1 s}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
design: {at_rate: never}
"""


def group_of(text: str = TEXT, **options):  # type: ignore[no-untyped-def]
    plan = make_run_plan(load_experiment(text), **options)
    return next(group for group in plan.groups if group.name == "effects")


def test_all_combinations_are_one_group_with_a_pair_at_each_place() -> None:
    group = group_of()
    assert len(group.conditions) == 6
    assert {condition["users"] for condition in group.conditions} == {16}
    assert len(group.pairs) == 7  # pipeline at 3 payloads, 2 payloads against 1 kB at 2 depths
    assert all(pair.a["payload"] == "1 kB" for pair in group.pairs if pair.a["payload"] != pair.b["payload"])


def test_effects_are_averages_over_places_and_interactions_differences_of_pairs() -> None:
    group = group_of()
    mains = [one for one in group.contrasts if one.kind == "main"]
    both = [one for one in group.contrasts if one.kind == "interaction"]
    assert [one.levels for one in mains] == [{"pipeline": 16}, {"payload": "100 B"}, {"payload": "10 kB"}]
    assert [len(one.places) for one in mains] == [3, 2, 2]
    assert [one.levels for one in both] == [
        {"pipeline": 16, "payload": "100 B"},
        {"pipeline": 16, "payload": "10 kB"},
    ]
    for one in both:
        ((base, there),) = one.places
        assert group.pairs[base].a["payload"] == "1 kB" == group.pairs[base].b["payload"]
        assert group.pairs[there].a["payload"] == one.levels["payload"]
        assert group.pairs[there].b["pipeline"] == 16


def test_one_factor_that_is_left_has_pairs_and_no_effects() -> None:
    group = group_of(only={"pipeline": (16,)})
    assert len(group.pairs) == 2
    assert group.contrasts == ()


def test_the_first_level_that_is_left_takes_the_place_of_the_reference() -> None:
    group = group_of(only={"payload": ("100 B", "10 kB")})
    assert {pair.a["payload"] for pair in group.pairs if pair.a["payload"] != pair.b["payload"]} == {"100 B"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[pipeline, payload]", "[pipeline, payloat]", "effects.0.factors.1: 'payloat' is no factor"),
        ("[pipeline, payload]", "[pipeline, pipeline]", "effects.0.factors.1: 'pipeline' is given twice"),
        ("{payload: 1 kB}", "{payload: 2 kB}", "effects.0.reference.payload: '2 kB' is no level of payload"),
        ("{payload: 1 kB}", "{users: 8}", "effects.0.reference.users: 'users' is none of the factors"),
        ("where: {users: 16}", "where: {pipeline: 1}", "effects.0.where.pipeline: 'pipeline' is combined"),
        ("name: effects", "name: table", "effects.0.name: 'table' is a reserved name"),
        ("    where:", "    metric: response_ns.p99\n    where:", "effects.0.metric"),
    ],
)
def test_a_misfit_is_one_line_with_its_place(old: str, new: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        load_experiment(TEXT.replace(old, new, 1))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
