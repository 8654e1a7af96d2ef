"""Saturation of the open model: what a trial must keep, bisections, and their interval."""

import random

import pytest

from loadstone.addons.saturation.bisection import (
    BLOCK_STEPS,
    Bisection,
    OpenTrial,
    RateObjective,
    around,
    failing,
    locate,
    open_saturation,
    trial_length_s,
)
from loadstone.text.sentences import render_message

OBJECTIVE = RateObjective(latency_s=0.005)


def bisected(start: Bisection, limit: float) -> Bisection:
    while not start.done:
        start = start.after(keeps=start.rate_per_s <= limit)
    return start


def test_a_trial_keeps_its_objective_or_says_what_it_misses() -> None:
    kept = OpenTrial(1000, 10_000, 10_000, 0.004, (5, 9, 7, 4, 8, 6))
    assert failing(kept, OBJECTIVE) is None
    assert render_message(failing(OpenTrial(1000, 10_000, 10_000, 0.006), OBJECTIVE)) == "P99 6 ms, objective 5 ms"
    assert render_message(failing(OpenTrial(1000, 10_000, 10_000, None), OBJECTIVE)).startswith(
        "P99 too long to measure"
    )
    said = render_message(failing(OpenTrial(1000, 10_000, 9_800, 0.004), OBJECTIVE))
    assert said == "98.0% answered correctly, objective 99.0%"
    growing = OpenTrial(1000, 10_000, 10_000, 0.004, (0, 100, 200, 300, 400, 500))
    assert render_message(failing(growing, OBJECTIVE)) == "the backlog grew by 400 arrivals"


def test_a_bisection_ends_near_the_limit() -> None:
    found = bisected(locate(100, 25_600), 3000)
    assert found.rate_per_s == pytest.approx(3000, rel=0.011)
    assert found.passed + found.failed == 8


def test_a_block_looks_around_what_is_known() -> None:
    block = around(1000)
    assert (block.low, block.high, block.steps_left) == pytest.approx((1000 / 1.22, 1220, BLOCK_STEPS))
    assert bisected(block, 1100).rate_per_s == pytest.approx(1100, rel=0.013)
    later = around(1000, [bisected(around(1000), 1150), bisected(around(1000), 1150)])
    assert later.rate_per_s == pytest.approx(1150, rel=0.013)
    assert around(1000, dither=1.0).rate_per_s == pytest.approx(1000 * 1.0513, rel=1e-4)


def test_blocks_give_a_limit_with_an_interval() -> None:
    dice = random.Random(1)
    blocks: list[Bisection] = []
    for _ in range(8):
        blocks.append(bisected(around(1000, blocks, dice.uniform(-1, 1)), 1030))
    found = open_saturation(blocks, OBJECTIVE)
    assert found.kind == "limit"
    assert found.per_s is not None
    assert found.per_s.low < 1030 < found.per_s.high
    assert found.per_s.value == pytest.approx(1030, rel=0.01)
    assert render_message(found.message).startswith("KEEPS P99 <= 5 ms up to 1,0")


def test_few_blocks_give_none() -> None:
    assert render_message(open_saturation([bisected(around(1000), 1000)], OBJECTIVE).message).startswith(
        "NO POINT: 1 block of"
    )


def test_a_limit_outside_of_what_was_tried_is_said_to_be() -> None:
    above = open_saturation([bisected(around(1000), 9000)] * 8, OBJECTIVE)
    assert above.kind == "at_least"
    assert above.at_least_per_s == pytest.approx(1220, rel=0.03)
    below = open_saturation([bisected(around(1000), 10)] * 8, OBJECTIVE)
    assert below.kind == "none"
    assert "lower rates" in render_message(below.message)


def test_a_trial_must_last_the_longer_the_fuller_the_queue() -> None:
    assert trial_length_s(1, 0.001, 0.0) == pytest.approx(0.1)
    assert trial_length_s(1, 0.001, 0.77) == pytest.approx(6.66, rel=0.01)
    assert trial_length_s(8, 0.001, 0.5) == pytest.approx(trial_length_s(1, 0.001, 0.5) / 8)
    with pytest.raises(ValueError, match="never settles"):
        trial_length_s(1, 0.001, 1.0)
