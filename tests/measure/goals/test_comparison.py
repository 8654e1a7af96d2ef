"""Which trial comes next, and when a comparison ends."""

from tests.verdicts import verdict

from .scripted_loop import BLOCK_S, FASTER, TRIAL_S, Bench, compared, table


def test_a_block_of_the_table_comes_first_and_the_others_after_the_first_looks(bench: Bench) -> None:
    assert bench.run(bench.plan(table(blocks=3), compared())) is None
    assert bench.ran[:3] == ["b01-001", "b01-002", "b01-003"]
    assert bench.ran[3:5] == ["storage-b00-001", "storage-b00-002"]
    rest = 3 + 2 * 9
    assert bench.ran[rest : rest + 6] == ["b02-001", "b02-002", "b02-003", "b03-001", "b03-002", "b03-003"]
    assert bench.looks()[:3] == [("storage", 8, "go on"), ("table", 3, "last look"), ("storage", 12, "go on")]


def test_the_table_never_takes_the_time_of_a_first_look(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=9), compared(), budget_s=3 * TRIAL_S + 9 * BLOCK_S + 4 * TRIAL_S))
    assert bench.looks()[:2] == [("storage", 8, "go on"), ("table", 2, "out of budget")]


def test_the_table_is_whole_where_there_is_nothing_to_compare(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=2)))
    assert bench.ran == ["b01-001", "b01-002", "b01-003", "b02-001", "b02-002", "b02-003"]
    assert bench.looks() == [("table", 2, "last look")]


def test_groups_take_turns_look_by_look_until_each_is_decided(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12, "pool": 8}
    bench.run(bench.plan(compared("storage"), compared("pool"), compared("update")))
    assert bench.looks() == [
        ("storage", 8, "go on"),
        ("pool", 8, "decided"),
        ("update", 8, "go on"),
        ("storage", 12, "decided"),
        ("update", 12, "go on"),
        ("update", 18, "go on"),
        ("update", 27, "go on"),
        ("update", 40, "last look"),
    ]
    assert bench.blocks("pool") == list(range(9))
    assert bench.blocks("update") == list(range(41))


def test_what_is_decided_and_inexact_goes_on_once_nothing_is_left_to_decide(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8, "pool": 12}
    bench.judge.exact = {"storage": 18}
    bench.run(bench.plan(compared("storage"), compared("pool")))
    assert bench.looks() == [
        ("storage", 8, "go on"),
        ("pool", 8, "go on"),
        ("pool", 12, "decided"),
        ("storage", 12, "go on"),
        ("storage", 18, "decided"),
    ]


def test_without_time_for_more_the_inexact_is_decided_all_the_same(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    bench.judge.exact = {"storage": 40}
    bench.run(bench.plan(compared(), budget_s=10 * BLOCK_S))
    assert bench.looks()[-1] == ("storage", 9, "decided")


def test_a_question_that_only_its_cost_answers_counts_as_decided(bench: Bench) -> None:
    """Also where the run ends without a verdict by rate, and after a resume."""
    by_cost = {"metric": "cpu_ns.redis", "larger_is_faster": False, "winner": "b"}
    bench.judge.costs = {"storage": verdict("faster", -20, -25, -15, names=("A", "B"), **by_cost)}
    bench.judge.decides = {"pool": 12}
    plan = bench.plan(compared("storage"), compared("pool"), budget_s=32 * BLOCK_S)
    bench.run(plan)
    assert bench.looks()[-1][2] == "out of budget"
    assert bench.counted == [(0, 2), (1, 2), (2, 2)]
    assert "storage, after 8 blocks: not decided yet, more follow: B uses 20 % [15, 25] less" in bench.said
    bench.run(bench.plan(compared("storage"), compared("pool"), budget_s=1e6))
    assert bench.counted == [(2, 2)]


def test_the_verdict_of_each_pair_is_recorded_with_the_look(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    bench.run(bench.plan(compared()))
    (look,) = bench.recorded().looks
    assert look.verdicts == [FASTER.of_look()]
    assert (look.verdicts[0].kind, look.verdicts[0].winner) == ("faster", "a")
    assert look.stop
    assert look.elapsed_s == 9 * BLOCK_S
    assert "storage, after 8 blocks: decided: B SLOWER by 11 % [8, 13]" in bench.said


def test_an_undecided_look_says_what_the_next_one_will_show(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12}
    bench.run(bench.plan(compared()))
    assert bench.said.count("storage: its blocks spread by 12 %") == 1


def test_a_fixed_design_is_judged_once_at_its_end(bench: Bench) -> None:
    bench.judge.decides = {"storage": 1}
    bench.run(bench.plan(compared(sequential=False, looks=(5,), warm=False)))
    assert bench.looks() == [("storage", 5, "decided")]
    assert bench.blocks("storage") == [1, 2, 3, 4, 5]


def test_nothing_is_measured_again_because_of_what_a_trial_says(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    doubtful = {"storage-b03-002": "taken", "storage-b04-001": "gain", "b01-002": "errors"}
    bench.run(bench.plan(table(), compared()), lambda planned, _: doubtful.get(planned.name))
    assert len(bench.ran) == len(set(bench.ran))
    assert bench.recorded().superseded == ()
    assert bench.looks()[0] == ("storage", 8, "decided")
