"""Slices become one log ratio a round."""

from math import exp, log

import numpy as np
import pytest

from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.rounds import slices as slices_module
from loadstone.judge.statistics.rounds.round_evidence import round_evidence, start_evidence
from loadstone.judge.statistics.rounds.slices import NOTHING_DONE, ContrastSlices, PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats


def pair(done_a: list[float], done_b: list[float], seconds: float = 0.1) -> PairSlices:
    lengths = np.full(len(done_a), seconds)
    return PairSlices(np.array(done_a), lengths, np.array(done_b), lengths)


def test_a_ratio_is_that_of_the_rates() -> None:
    slices = PairSlices(np.array([100.0]), np.array([0.1]), np.array([300.0]), np.array([0.2]))
    assert slices.log_ratios == pytest.approx([np.log(1.5)])


def test_a_slice_with_nothing_done_counts_as_half_an_operation_on_either_side() -> None:
    slices = pair([0, 10, 0], [10, 0, 0])
    assert slices.log_ratios == pytest.approx([np.log(10 / NOTHING_DONE), -np.log(10 / NOTHING_DONE), 0])


def test_neighbours_are_merged_by_their_sums() -> None:
    merged = pair([1, 2, 3, 4, 5], [2, 2, 3, 3, 9]).merged(2)
    assert merged.done_a.tolist() == [3, 7]
    assert merged.done_b.tolist() == [4, 6]
    assert merged.seconds_a == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize(
    ("done_a", "done_b", "said"),
    [([1, 2], [1], "one entry a round"), ([1, -1], [1, 1], "A, round 1"), ([1, 1], [np.nan, 1], "B, round 0")],
)
def test_what_has_no_rate_is_named(done_a: list[float], done_b: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PairSlices(np.array(done_a), np.full(len(done_a), 0.1), np.array(done_b), np.full(len(done_b), 0.1))


def test_a_slice_without_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.0 operations in 0\.0 s"):
        pair([1.0], [1.0], seconds=0.0)


MAIN, INTERACTION = (-0.5, 0.5, -0.5, 0.5), (1.0, -1.0, -1.0, 1.0)
"""Of two factors, conditions in the order (0, 0), (0, 1), (1, 0), (1, 1): the second factor's effect, and both's."""
SETTINGS = Settings(unit="round", alpha=0.015, pairs=3)


def slices(effects: tuple[float, ...], rounds: int, seed: int, noise: float = 0.08) -> tuple[Floats, Floats]:
    """Rounds of four conditions whose ln rates are these, on a machine whose speed wanders for all of them alike."""
    rng = np.random.default_rng(seed)
    machine = np.cumsum(rng.normal(0, 0.1, rounds))
    done = 5000 * np.exp(np.array(effects)[:, None] + machine + rng.normal(0, noise, (4, rounds)))
    return done, np.full((4, rounds), 0.1)


def test_an_effect_is_the_mean_of_its_log_ratios_and_an_interaction_their_difference() -> None:
    done, seconds = slices((0.0, 0.2, 0.1, 0.6), 400, seed=1, noise=0.01)
    main = round_evidence(ContrastSlices(done, seconds, np.array(MAIN)), SETTINGS)
    both = round_evidence(ContrastSlices(done, seconds, np.array(INTERACTION)), SETTINGS)
    assert main.estimate == pytest.approx(0.35, abs=0.01)  # (0.2 + 0.5) / 2
    assert both.estimate == pytest.approx(0.3, abs=0.01)  # 0.5 - 0.2
    assert main.total == pytest.approx(0.35, abs=0.01)
    assert both.low is not None
    assert both.low > 0.25


def test_two_conditions_are_a_pair() -> None:
    done, seconds = slices((0.0, 0.2, 0.0, 0.0), 64, seed=2)
    pair = round_evidence(PairSlices(done[0], seconds[0], done[1], seconds[1]), SETTINGS)
    same = round_evidence(ContrastSlices(done[:2], seconds[:2], np.array([-1.0, 1.0])), SETTINGS)
    for name in ("estimate", "low", "high", "p_value", "spread", "total", "total_noise", "stalls_a", "stalls_b"):
        assert getattr(same, name) == pytest.approx(getattr(pair, name)), name
    assert same.typical == pytest.approx(pair.typical)


@pytest.mark.parametrize("weights", [MAIN, INTERACTION])
def test_nothing_is_rarely_called_an_effect(weights: tuple[float, ...]) -> None:
    found = 0
    for seed in range(200):
        done, seconds = slices((0.0, 0.0, 0.0, 0.0), 32, seed)
        verdict = verdict_of(round_evidence(ContrastSlices(done, seconds, np.array(weights)), SETTINGS), SETTINGS)
        found += verdict.kind in ("faster", "mixed")
    assert found <= 5


def test_the_typical_figures_are_geometric_means_of_either_side() -> None:
    done = np.array([[100.0], [400.0], [200.0], [100.0]])
    found = ContrastSlices(done, np.ones((4, 1)), np.array(MAIN))
    assert found.typical == pytest.approx((exp((log(100) + log(200)) / 2), exp((log(400) + log(100)) / 2)))


def test_blocks_of_starts_are_the_unit_where_servers_start_again() -> None:
    blocks = []
    for number in range(12):
        start = np.random.default_rng(number).normal(0, 0.02, 4)
        done, seconds = slices(tuple(np.array((0.0, 0.3, 0.0, 0.3)) + start), 8, number, noise=0.02)
        blocks.append(ContrastSlices(done, seconds, np.array(MAIN)))
    found = start_evidence(blocks, Settings(unit="block", pairs=3))
    assert found.blocks == 12
    assert found.estimate == pytest.approx(0.3, abs=0.03)


def test_neighbouring_rounds_are_merged_by_their_sums() -> None:
    done, seconds = slices((0.0, 0.2, 0.0, 0.0), 10, seed=3)
    merged = ContrastSlices(done, seconds, np.array(MAIN)).merged(4)
    assert merged.rounds == 2
    assert merged.done[1, 0] == pytest.approx(done[1, :4].sum())


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="give a row and a weight a condition"):
        ContrastSlices(np.ones((2, 3)), np.ones((2, 3)), np.ones(3))
    with pytest.raises(ValueError, match=r"condition 1, round 0: -1\.0 operations"):
        ContrastSlices(np.array([[1.0], [-1.0]]), np.ones((2, 1)), np.ones(2))
    with pytest.raises(ValueError, match="without a single operation"):
        _ = ContrastSlices(np.array([[1.0], [0.0]]), np.ones((2, 1)), np.array([-1.0, 1.0])).total


@pytest.mark.parametrize(("shared", "expected"), [(0.3, 0.1 / 0.316), (0.0, 1.0)])
def test_pairing_takes_away_the_noise_that_both_slices_of_a_round_meet(shared: float, expected: float) -> None:
    rng = np.random.default_rng(1)
    machine = rng.normal(0, shared, 300)
    a, b = (1000 * np.exp(machine + rng.normal(0, 0.1, 300)) for _ in range(2))
    seconds = np.full(300, 0.1)
    slices = PairSlices(a, seconds, b, seconds)
    assert slices.pairing == pytest.approx(expected, rel=0.2)
    assert verdict_of(round_evidence(slices, Settings(unit="round")), Settings(unit="round")).pairing == slices.pairing


def test_without_noise_or_a_second_round_nothing_is_known_of_pairing() -> None:
    assert pair([10], [20]).pairing is None
    assert pair([10, 10], [20, 20]).pairing is None


def test_pairing_of_many_rounds_is_that_of_neighbours_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spread looks at every two rounds."""
    rng, seconds = np.random.default_rng(2), np.full(600, 0.1)
    slices = PairSlices(*(each for side in rng.normal(1000, 10, (2, 600)) for each in (side, seconds)))
    merged = slices.merged(6).pairing
    monkeypatch.setattr(slices_module, "ROUNDS_MAX", 100)
    assert slices.pairing == merged
