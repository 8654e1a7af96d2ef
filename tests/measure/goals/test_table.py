"""Tables in rounds: how many rounds a deck gets, and which of its blocks."""

from dataclasses import replace

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import Rounds
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.safety.errors import Interrupted

from .scripted_loop import Bench, compared, table

ROUNDS = Rounds((16, 16, 16), 0.5, 0.01, opening_each_s=1.0)
DECK_S = 3 * (1.0 + 16 * 0.502)
"""What one block of three conditions is taken to last."""


def deck(name: str = "table", blocks: int = 1) -> Group:
    rounds = replace(ROUNDS, blocks=ROUNDS.blocks[:blocks])
    return replace(table(blocks=blocks), name=name, rounds=rounds, trial_s=8.0, overhead_s=1.0)


def test_a_deck_of_one_block_is_done_before_the_comparisons(bench: Bench) -> None:
    bench.run(bench.plan(deck(), compared()))
    assert bench.ran[:3] == ["b01-001", "b01-002", "b01-003"]
    assert bench.looks()[0] == ("table", 1, "last look")
    assert bench.rounds[:1] == [16]


def test_other_blocks_come_after_the_first_looks(bench: Bench) -> None:
    bench.run(bench.plan(deck(blocks=3), compared()))
    assert bench.looks()[:2] == [("storage", 8, "go on"), ("table", 3, "last look")]


def test_every_row_has_some_rounds_where_there_is_no_time_for_all(bench: Bench) -> None:
    bench.run(bench.plan(deck(), budget_s=DECK_S / 2))
    (rounds,) = bench.rounds
    assert 2 <= rounds < 16
    assert len(bench.ran) == 3
    assert bench.looks() == [("table", 1, "last look")]


def test_decks_share_what_time_there_is(bench: Bench) -> None:
    bench.run(bench.plan(deck(), deck("table-2"), budget_s=1.4 * DECK_S))
    first, second = bench.rounds
    assert 2 <= first < 16
    assert second >= 2


def test_without_time_for_two_rounds_nothing_is_begun(bench: Bench) -> None:
    bench.run(bench.plan(deck(), budget_s=3.5))
    assert bench.ran == []
    assert bench.looks() == [("table", 0, "out of budget")]


def test_an_interrupted_block_is_measured_again_whole(bench: Bench) -> None:
    plan = bench.plan(deck(blocks=2))

    def interrupted(planned: PlannedTrial, attempt: int) -> Interrupted | None:
        return Interrupted("stop") if planned.name == "b02-002" and attempt == 1 else None

    assert isinstance(bench.run(plan, interrupted), Interrupted)
    assert bench.looks() == []
    assert bench.run(plan) is None
    assert bench.ran == ["b02-001", "b02-002", "b02-003"]
    assert bench.looks() == [("table", 2, "last look")]


def test_what_the_budget_ended_goes_on_with_more_of_it(bench: Bench) -> None:
    bench.run(bench.plan(deck(blocks=2), budget_s=1.2 * DECK_S))
    assert bench.looks() == [("table", 1, "out of budget")]
    assert bench.run(bench.plan(deck(blocks=2))) is None
    assert bench.looks()[-1] == ("table", 2, "last look")
