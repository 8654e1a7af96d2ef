"""Processes that were started once: what still moves, or was measured beside other programs, claims no difference."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest
from tests.changed_facts import with_drive
from tests.verdicts import verdict

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import Processes, sequential_rounds
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.looks import LookResult, look_at
from loadstone.judge.compare.blocks import group_blocks
from loadstone.judge.compare.cases import GroupCase
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.steadiness import unsteady
from loadstone.judge.verdict import Verdict
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.trial import TrialRecord

ROUNDS = 48
OK = 2000.0
SPREAD = 0.02
Compared = Callable[..., Verdict]
Speed = Callable[[float], float]
"""Of how much of the measurement is over (0 to 1): how fast a condition is then."""


class Made(NamedTuple):
    """What a look takes."""

    group: Group
    experiment: Experiment
    trials: list[TrialRecord]


def steady(_: float) -> float:
    return 1.0


def compiling(over: float) -> float:
    """Half as fast at first, and faster up to the end."""
    return 0.5 + 0.5 * over


def compiled_early(over: float) -> float:
    """Half as fast for the first twentieth."""
    return 0.5 if over < 0.05 else 1.0


def slices_of(speeds: Sequence[Speed], ratio: float, seed: int, spread: float) -> list[list[dict[str, Any]]]:
    """Slices of A and of B, which is `ratio` times as fast; the machine's own noise is the same within a round."""
    rng = np.random.default_rng(seed)
    found: list[list[dict[str, Any]]] = [[], []]
    for number in range(ROUNDS):
        machine = math.exp(rng.normal(0, 0.1))
        for position, own in enumerate(rng.permutation(2)):
            factor = speeds[own](number / (ROUNDS - 1)) * (ratio if own else 1.0)
            ok = round(OK * machine * factor * math.exp(rng.normal(0, spread)))
            begin_s = 0.2 * number + 0.1 * position
            found[own].append(
                {
                    "round": number, "position": position, "begin_s": begin_s, "end_s": begin_s + 0.085,
                    "drained_s": begin_s + 0.09, "offered": ok, "completed": ok, "ok": ok, "ok_first_half": ok // 2,
                    "failed": 0, "ended": ok, "response_sum_ns": round(1e6 * ok / factor), "cpu_s": 0.01,
                }
            )  # fmt: skip
    return found


@pytest.fixture
def made(studies: ModuleType, synthetic: ModuleType) -> Callable[..., Made]:
    """A group of `set` (A) and `get` (B), and one block of their slices."""
    study = studies.Study(synthetic, ratios=[(studies.condition(), 1.0), (studies.condition(operation="get"), 1.0)])
    first = [trial for trial in study.trials() if trial.block == 1]

    def at(
        speeds: Sequence[Speed] = (steady, steady),
        ratio: float = 1.0,
        taken: Sequence[float] = (0.0, 0.0),
        processes: Processes = "once",
        seed: int = 3,
        spread: float = SPREAD,
        metric: str = "goodput_per_s",
    ) -> Made:
        rounds = sequential_rounds(0.1, settle_s=0.015, processes=processes)
        looks = tuple(range(1, len(rounds.blocks) + 1))
        group: Group = replace(study.group(), rounds=rounds, looks=looks, metric=metric)
        both = slices_of(speeds, ratio, seed, spread)
        trials = []
        for condition, slices, share in zip(group.conditions, both, taken, strict=True):
            trial = next(one for one in first if one.condition == condition)
            trial = studies.loses(share)(trial) if share else trial
            trials.append(with_drive(trial, slices=slices))
        return Made(group, study.made_experiment, trials)

    return at


def never(*_: object) -> NoReturn:
    raise AssertionError("no histogram is read")


@pytest.fixture
def look(made: Callable[..., Made]) -> Callable[..., LookResult]:
    """A look at that block."""

    def at(*given: Any, **options: Any) -> LookResult:
        return look_at(*made(*given, **options), None)

    return at


@pytest.fixture
def compared(look: Callable[..., LookResult]) -> Compared:
    """The verdict of that look."""

    def judge(*speeds: Speed, **options: Any) -> Verdict:
        (found,) = look(speeds or (steady, steady), **options).verdicts
        return found

    return judge


def kind(found: Verdict) -> str:
    return "" if found.unsteady is None else found.unsteady.kind


def test_a_steady_difference_is_claimed(compared: Compared) -> None:
    found = compared(ratio=1.3)
    assert (found.kind, found.winner_name, kind(found)) == ("faster", "get", "")
    assert compared(ratio=1.0).kind == "equivalent"


def test_one_that_still_compiles_claims_nothing(compared: Compared) -> None:
    found = compared(steady, compiling)
    assert (found.kind, kind(found), found.winner) == ("undecided", "verdict_still_rising", None)
    assert found.estimate is not None, "its ratio is given all the same"
    said = verdict_text(found)
    assert said.startswith("UNDECIDED: -2")
    assert "get still got " in said
    assert said.endswith("; warm it up for longer and run it again, so that it is started again")
    assert "more minutes" not in said, "more of the same decides nothing"


def test_what_is_undecided_because_it_moves_says_so(compared: Compared) -> None:
    assert compared(steady, compiling, ratio=1.02).unsteady is not None
    noisy = compared(ratio=1.05, spread=0.3)
    assert (noisy.kind, kind(noisy)) == ("undecided", "")
    assert noisy.more_minutes is not None


def test_a_comparison_goes_on_as_with_what_is_undecided(look: Callable[..., LookResult]) -> None:
    assert not look((steady, compiling)).decided
    assert look((steady, steady), ratio=1.3).decided


def test_both_that_rise_alike_are_not_steady_either(compared: Compared) -> None:
    found = compared(compiling, compiling, ratio=1.3)
    assert (found.kind, kind(found)) == ("undecided", "verdict_still_rising")
    assert compared(compiling, compiling).kind == "equivalent", "nothing is claimed to differ"


def test_a_difference_much_larger_than_what_moves_stands(compared: Compared) -> None:
    assert compared(steady, compiling, ratio=12.0).kind == "faster"


def test_a_ratio_that_moves_is_noticed_though_no_side_rises_much(compared: Compared) -> None:
    def falls(over: float) -> float:
        return 1 - 0.15 * over

    found = compared(steady, falls)
    assert (found.kind, kind(found)) == ("undecided", "verdict_still_moving")
    assert "the ratio still moved by 1" in verdict_text(found)


def test_what_was_warm_after_the_first_rounds_is_steady(compared: Compared) -> None:
    assert compared(steady, compiled_early, ratio=1.3).kind == "faster"


@pytest.mark.parametrize("processes", ["shared", "restarted"])
def test_only_what_was_started_once_is_held_to_it(compared: Compared, processes: Processes) -> None:
    """Blocks on fresh starts hold in their interval what differs from start to start; shared servers are one."""
    found = compared(steady, compiling, processes=processes)
    assert kind(found) == ""


@pytest.mark.parametrize("metric", ["response_ns.mean", "response_ns.p99"])
def test_a_response_time_that_still_falls_is_not_steady(made: Callable[..., Made], metric: str) -> None:
    """By its mean, slice by slice, whichever quantile decides."""
    for speeds, expected in (((steady, compiling), "verdict_still_rising"), ((steady, steady), "")):
        group, experiment, trials = made(speeds, ratio=1.3, metric=metric)
        blocks = group_blocks(group.name, group.conditions, trials)
        case = GroupCase(group, experiment, blocks, blocks.complete, HistogramCache(never, never))
        a, b = (identity(condition) for condition in group.conditions)
        why = unsteady(case, verdict("faster", 30, 20, 40, larger_is_faster=False), {a: -1.0, b: 1.0})
        assert ("" if why is None else why.kind) == expected


def test_noise_alone_is_seldom_taken_for_a_trend(compared: Compared) -> None:
    found = [compared(ratio=1.15, seed=seed) for seed in range(40)]
    assert sum(one.kind == "faster" for one in found) >= 38
    assert sum(one.unsteady is not None for one in found) <= 1


def test_beside_other_programs_a_difference_within_what_they_took_is_not_claimed(compared: Compared) -> None:
    """At a load average of 25 a process of 128 threads was 43 % faster than one of few; when calm 28 % slower."""
    found = compared(ratio=1.43, taken=(0.9, 0.9))
    assert (found.kind, kind(found), found.winner) == ("undecided", "verdict_others_had_cpus", None)
    said = verdict_text(found)
    assert "other programs used the CPUs; without them the rates could be up to " in said
    assert said.startswith("UNDECIDED: +42 % [")
    assert "; the interval excludes 0, but other programs" in said
    assert said.endswith("; more time does not help: run it again on a calm machine")


def test_what_others_took_refuses_no_difference_beyond_it(compared: Compared) -> None:
    assert compared(ratio=3.0, taken=(0.9, 0.9)).kind == "faster"


@pytest.mark.parametrize("taken", [(0.3, 0.3), (0.9, 0.0), (0.0, 0.9)])
def test_as_long_as_a_rate_holds_the_difference_does(compared: Compared, taken: Sequence[float]) -> None:
    """Both have their slices at the same times: what others take from one alone is taken by chance."""
    assert compared(ratio=1.43, taken=taken).kind == "faster"


def test_others_beside_shared_servers_are_the_same_for_all(compared: Compared) -> None:
    assert compared(ratio=1.43, taken=(0.9, 0.9), processes="shared").kind == "faster"


def test_the_whole_verdict_is_read_back(compared: Compared) -> None:
    found = compared(steady, compiling)
    assert Verdict.model_validate(found.model_dump(mode="json")).unsteady == found.unsteady
    assert found.of_look().kind == "undecided"
