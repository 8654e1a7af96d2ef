"""The replay calibration of rounds in small: the judge keeps its promise, and a wrong level would be noticed."""

import importlib
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from loadstone.experiment.plan.look_schedule import FIXED_ALPHA, ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings

RUNS = 50
LEVEL_RUNS = 6000


def module(name: str) -> ModuleType:
    return importlib.import_module(f"bench.judge.{name}")


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    return module("replay_rounds")


@pytest.fixture(scope="module")
def slices() -> ModuleType:
    return module("slices")


def found_at_any_look(level: float) -> float:
    """The share of simulated runs without a difference of which a look finds one."""
    bench = module("round_level")
    rng = np.random.default_rng(1)
    drawn = [bench.log_ratios(rng, changing=number % 2 == 1) for number in range(LEVEL_RUNS // bench.CHUNK)]
    smallest = np.concatenate([bench.smallest_p(d, memory=False)[1] for d in drawn])
    return float(np.mean(smallest <= level))


def test_all_looks_together_find_at_most_one_in_twenty_by_chance() -> None:
    assert 0.02 < found_at_any_look(ROUND_LOOK_ALPHA) < 0.035
    assert found_at_any_look(FIXED_ALPHA) > 0.08


@pytest.fixture(scope="module")
def by_noise(replay: ModuleType, slices: ModuleType) -> dict[str, list[Any]]:
    """Noise -> its outcomes, an effect each."""
    return {
        noise.name: replay.outcomes(noise.name, replay.simulated_runs(noise, [1, number], RUNS))
        for number, noise in enumerate(slices.NOISES)
    }


@pytest.mark.prove
def test_all_simulated_comparisons_together_keep_the_limits(replay: ModuleType, by_noise: dict[str, list[Any]]) -> None:
    false = [found[0].false_verdict.share for found in by_noise.values()]
    assert np.mean(false) <= replay.FALSE_MAX
    for at, effect in enumerate(replay.EFFECTS):
        assert np.mean([found[at].coverage.share for found in by_noise.values()]) >= replay.COVERAGE_MIN, effect
        assert effect == 0 or all(found[at].wrong.share == 0 for found in by_noise.values())


@pytest.mark.prove
def test_no_noise_breaks_them_by_more_than_chance_allows(by_noise: dict[str, list[Any]]) -> None:
    most = float(binom.isf(1e-3, RUNS, 0.05))
    for found in by_noise.values():
        assert found[0].false_verdict.share * RUNS <= most
        assert all((1 - one.coverage.share) * RUNS <= most for one in found)


@pytest.mark.prove
def test_power_grows_with_the_effect(by_noise: dict[str, list[Any]]) -> None:
    for noise, (_, three, five, ten) in by_noise.items():
        assert three.faster.share <= five.faster.share <= ten.faster.share
        assert five.decided_by_s["30"] <= ten.decided_by_s["30"]
        assert ten.faster.share >= (0.85 if noise == "heavy" else 0.98)


@pytest.mark.prove
@pytest.mark.parametrize(("number", "every"), [(12, 9), (32, 4), (160, 2)])
def test_a_rows_own_interval_holds_the_rate_of_its_time(
    replay: ModuleType, slices: ModuleType, number: int, every: int
) -> None:
    share = replay.row_coverage(slices.NOISES[1], [3, 0], 300, number, every)
    assert share.share >= replay.ROW_COVERAGE_MIN


def test_the_machine_is_as_recorded(slices: ModuleType) -> None:
    noise = slices.SliceNoise("alone", 0.1, stall_share=0.0)
    logs = np.log(slices.simulated(noise, np.random.default_rng(1), 300, 360).rates)
    rate, ratio = logs[..., 0], logs[..., 1] - logs[..., 0]
    assert [kept(rate, lag) for lag in (1, 2, 3, 20)] == pytest.approx([0.78, 0.75, 0.72, 0.57], abs=0.05)
    assert [kept(ratio, lag) for lag in (1, 2, 3)] == pytest.approx([0, 0, 0], abs=0.03)


def kept(series: np.ndarray, lag: int) -> float:
    """Autocorrelation over many series of mean zero."""
    centred = series - series.mean()
    return float((centred[:, lag:] * centred[:, :-lag]).mean() / (centred**2).mean())


def test_a_recording_is_replayed_as_it_was_written(replay: ModuleType, slices: ModuleType, tmp_path: Path) -> None:
    made = slices.simulated(slices.NOISES[0], np.random.default_rng(4), 1, 400)
    slices.write(made, tmp_path / "equal.jsonl")
    back, names = slices.recorded((tmp_path / "equal.jsonl").read_text().splitlines())
    assert names == ["a", "b"]
    assert (back.b_first == made.b_first).all()
    assert back.rates == pytest.approx(made.rates, abs=5 / slices.SLICE_S)
    [first, *_] = replay.replayed_runs(back, [1], 3)
    assert first.shape == (ROUND_LOOKS[-1], 2)
    found = list(replay.replay([tmp_path / "equal.jsonl"], 1, 10))
    assert [one.effect for one in found] == list(replay.EFFECTS)
    assert found[3].faster.share == 1
    assert found[0].noise == "equal"


def test_a_recording_that_is_too_short_or_of_one_condition_is_refused(replay: ModuleType, slices: ModuleType) -> None:
    made = slices.simulated(slices.NOISES[0], np.random.default_rng(4), 1, 100)
    with pytest.raises(ValueError, match="100 recorded rounds"):
        list(replay.replayed_runs(made, [1], 1))
    with pytest.raises(ValueError, match="needs the slices of two"):
        slices.recorded(['{"round": 0, "position": 0, "condition": "a", "ok": 5, "seconds": 0.1}'])


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_the_replay_judges_as_the_judge_does(replay: ModuleType, slices: ModuleType, effect: float) -> None:
    """Same runs, with the effect in the counts instead of in the evidence: the same endings."""
    settings = Settings(unit="round", alpha=ROUND_LOOK_ALPHA)
    seconds = np.full(ROUND_LOOKS[-1], slices.SLICE_S)
    for rates in replay.simulated_runs(slices.NOISES[1], [5, 0], 8):
        ending = replay.endings(rates)[replay.EFFECTS.index(effect)]
        done = rates[: ending.rounds] * slices.SLICE_S * (1, 1 + effect)
        part = seconds[: ending.rounds]
        found = verdict_of(round_evidence(PairSlices(done[:, 0], part, done[:, 1], part), settings), settings)
        assert (found.kind, found.winner) == (ending.verdict.kind, ending.verdict.winner)
        assert found.estimate == pytest.approx(ending.verdict.estimate)
        assert math.isclose(found.total, ending.verdict.total, abs_tol=1e-9)
