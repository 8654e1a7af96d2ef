"""Runs that were interrupted, or ended, and go on."""

from loadstone.safety.errors import Interrupted

from .scripted_loop import BLOCK_S, EQUIVALENT, LOOKS, NOT_DECIDABLE, Bench, Script, compared, table


def stop_at(name: str, attempt: int = 1) -> Script:
    ends = Interrupted("interrupted; what was finished is kept")
    return lambda planned, now: ends if planned.name == name and now == attempt else None


def test_an_interrupted_group_has_no_look_and_goes_on_where_it_was(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(table(), compared())
    assert isinstance(bench.run(plan, stop_at("storage-b05-002")), Interrupted)
    assert bench.looks() == []
    bench.run(plan)
    assert bench.ran[0] == "storage-b05-002"
    assert bench.blocks("storage") == [5, 6, 7, 8]
    assert bench.looks() == [("storage", 8, "decided"), ("table", 2, "last look")]


def test_after_a_long_pause_a_half_done_block_is_begun_again(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(compared())
    bench.run(plan, stop_at("storage-b05-002"))
    bench.clock.now += 3600
    bench.run(plan)
    assert bench.ran[:2] == ["storage-b05-001", "storage-b05-002"]
    assert "block 5 of storage is measured again: it was interrupted for too long" in bench.said
    assert bench.judge.requested == [("storage", 8)]


def test_ended_groups_are_not_touched(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(table(), compared())
    bench.run(plan)
    before = bench.looks()
    bench.run(plan)
    assert bench.ran == []
    assert bench.looks() == before


def test_earlier_sessions_count_in_the_budget_and_the_pause_between_does_not(bench: Bench) -> None:
    plan = bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5)
    bench.run(plan, stop_at("storage-b05-002"))
    bench.clock.now += 3600
    bench.run(plan)
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 9, "out of budget")]  # a trial was measured twice


def test_a_look_that_the_budget_forced_stands_for_the_next_planned_one(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12}
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 10, "out of budget")
    bench.run(bench.plan(compared()))
    assert bench.blocks("storage") == list(range(11, 19))
    assert bench.looks()[-1] == ("storage", 18, "decided")


def test_however_often_a_run_goes_on_there_are_no_more_looks_than_planned(bench: Bench) -> None:
    for blocks in (*range(7, 12), *range(12, 41, 3)):
        bench.run(bench.plan(compared(), budget_s=(1 + blocks) * BLOCK_S + 5))
    judged = sorted({blocks for _, blocks in bench.judge.requested if blocks >= 8})
    assert judged == [8, 9, 10, 11, 27]
    assert bench.looks()[-1] == ("storage", 27, "out of budget")
    assert len(judged) == len(LOOKS)


def test_the_last_look_is_kept_where_the_budget_ends_far_before_it(bench: Bench) -> None:
    for blocks in (8, 9, 10, 11, 14):
        bench.run(bench.plan(compared(), budget_s=(1 + blocks) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 11, "out of budget")  # 14 blocks are there, and not looked at
    assert 14 not in {blocks for _, blocks in bench.judge.requested}
    bench.judge.decides = {"storage": 40}
    bench.run(bench.plan(compared()))
    assert bench.looks()[-1] == ("storage", 40, "decided")


def test_a_fixed_design_is_looked_at_once_however_much_time_it_gets(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 9}, NOT_DECIDABLE
    fixed = compared(sequential=False, looks=(20,))
    bench.run(bench.plan(fixed, budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 10, "decided")]
    bench.run(bench.plan(fixed))
    assert bench.ran == []
    assert bench.looks() == [("storage", 10, "decided")]


def test_what_was_not_decidable_goes_on_with_more_time_to_the_looks_that_are_left(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 9}, NOT_DECIDABLE
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 10, "decided")
    bench.judge.verdict = EQUIVALENT
    bench.run(bench.plan(compared()))
    assert bench.looks()[-1] == ("storage", 18, "decided")
    bench.run(bench.plan(compared(), budget_s=2e6))
    assert bench.ran == []


def test_a_table_out_of_budget_goes_on_with_more(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=2), budget_s=45))
    bench.run(bench.plan(table(blocks=2)))
    assert bench.ran == ["b02-001", "b02-002", "b02-003"]
    assert bench.looks()[-1] == ("table", 2, "last look")


def test_blocks_that_were_measured_and_not_looked_at_are_looked_at_first(bench: Bench) -> None:
    """The process was killed between the last trial of a block and the look."""
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(compared())
    bench.run(plan)
    (path,) = bench.root.glob("[!.]*")
    (path / "looks.jsonl").write_text("")
    bench.run(plan)
    assert bench.ran == []
    assert bench.looks() == [("storage", 8, "decided")]
