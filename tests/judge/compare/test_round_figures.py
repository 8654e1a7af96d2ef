"""The slices of a group as arrays."""

from typing import Any

import pytest
from tests.changed_facts import with_drive

from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.compare.round_figures import firsts, pair_slices, slices_in_time
from loadstone.run_folder.trial import TrialRecord


def trial(synthetic: Any, *slices: tuple[int, int, int]) -> TrialRecord:
    """A trial of slices of .1 s: round, position, correct replies."""
    made: TrialRecord = synthetic.make_trial()
    written = [
        {"round": number, "position": position, "begin_s": float(number), "end_s": number + 0.1, "ok": ok,
         "completed": ok + 1, "drained_s": number + 0.1, "offered": ok + 1, "failed": 1, "cpu_s": 0.0}
        for number, position, ok in slices
    ]  # fmt: skip
    return with_drive(made, slices=written)


def test_rounds_that_have_both_slices_are_pairs(synthetic: Any) -> None:
    block = PairBlock(1, trial(synthetic, (0, 0, 10), (1, 1, 20), (2, 0, 30)), trial(synthetic, (0, 1, 11), (1, 0, 22)))
    found = pair_slices([block], "goodput_per_s")
    assert (found.done_a.tolist(), found.done_b.tolist()) == ([10, 20], [11, 22])
    assert found.seconds_a.tolist() == pytest.approx([0.1, 0.1])
    assert pair_slices([block], "throughput_per_s").done_b.tolist() == [12, 23]
    assert firsts([block]) == [True, False]


def test_slices_of_all_conditions_stand_in_the_order_of_time(synthetic: Any) -> None:
    a, b = trial(synthetic, (0, 1, 10), (1, 0, 20)), trial(synthetic, (0, 0, 11), (1, 1, 22), (2, 0, 33))
    found = slices_in_time(GroupBlocks(2, (1,), {1: {"a": a, "b": b}}), (1,), "goodput_per_s")
    assert found.conditions == [[1, 0, 0, 1]], "a round that is not whole is left out"
    assert len(found.log_rates[0]) == 4
    assert found.log_rates[0][0] > found.log_rates[0][1]
