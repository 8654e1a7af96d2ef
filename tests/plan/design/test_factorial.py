"""A factorial: all combinations in one group, its pairs, and the effects over them."""

import pytest

from loadstone.errors import UserError
from loadstone.plan.design.run_design import make_run_plan
from loadstone.spec.load_settings import load_experiment

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
