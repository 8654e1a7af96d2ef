"""A look at slices that reach into each other gives no verdict, and says why."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.changed_facts import with_drive, with_facts

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import sequential_rounds
from loadstone.judge.analysis.looks import LookResult, look_at
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

ROUNDS = 32
OK = 2000
Looked = Callable[..., LookResult]


@pytest.fixture
def looked(studies: ModuleType, synthetic: ModuleType) -> Looked:
    """A look at one block of slices of `set` (A) and `get` (B)."""
    study = studies.Study(synthetic, ratios=[(studies.condition(), 1.0), (studies.condition(operation="get"), 1.0)])
    rounds = sequential_rounds(0.1, settle_s=0.015)

    def look(carried_before: float = 0.0, *, one_process: bool = False, **slices: Any) -> LookResult:
        looks = tuple(range(1, len(rounds.blocks) + 1))
        group: Group = replace(study.group(), rounds=rounds, looks=looks, longer_s=90.0, carried_before=carried_before)
        first = [trial for trial in study.trials() if trial.block == 1]
        both = [next(one for one in first if one.condition == condition) for condition in group.conditions]
        facts = made(**slices)
        trials = [with_slices(trial, facts[number]) for number, trial in enumerate(both)]
        if one_process:
            trials = [with_facts(trial, one_process_with=("redis",)) for trial in trials]
        return look_at(group, study.made_experiment, trials, None)

    return look


def with_slices(trial: TrialRecord, slices: list[dict[str, Any]]) -> TrialRecord:
    return with_drive(trial, slices=slices)


def made(
    left_behind: float = 0.0, faster: float = 0.0, sd: float = 0.02, halves: bool = True, **more: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Slices of A and of B, which is `faster`; what A leaves behind takes a share of the begin of B's next slice."""
    rng = np.random.default_rng(3)
    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    before = None
    for number in range(ROUNDS):
        for position, own in enumerate(rng.permutation(2)):
            ok = OK * float(np.exp(rng.normal(0, sd))) * (1 + faster * own)
            lost = ok * left_behind * (own == 1 and before == 0)
            begin_s = 0.2 * number + 0.1 * position
            half = {"ok_first_half": round(ok / 2 - lost)} if halves else {}
            done = round(ok - lost)
            given = {"round": number, "position": position, "begin_s": begin_s, "end_s": begin_s + 0.085}
            given |= {"drained_s": begin_s + 0.09, "offered": done, "failed": 0, "cpu_s": 0.01}
            found[own].append({**given, "ok": done, "completed": done, **half, **more})
            before = own
    return found


def test_what_one_condition_leaves_behind_is_no_difference(looked: Looked) -> None:
    found = looked(left_behind=0.3)
    assert not found.decided
    assert found.carried is not None
    assert render_message(found.carried).startswith("what a condition did reached into the next slice by ")
    (verdict,) = found.verdicts
    assert (verdict.kind, verdict.low, verdict.estimate) == ("undecided", None, None)
    assert verdict.more_minutes == 1.5
    assert verdict_text(verdict).startswith("UNDECIDED: what a condition did reached into the next slice by ")
    assert verdict.of_look().check == "carry_over"


@pytest.mark.parametrize("halves", [True, False])
def test_equal_conditions_and_those_that_differ_are_judged_as_ever(looked: Looked, halves: bool) -> None:
    for faster, kind in ((0.0, "equivalent"), (0.2, "faster")):
        found = looked(faster=faster, halves=halves)
        assert found.carried is None
        assert found.decided
        assert found.verdicts[0].kind == kind


def test_folders_whose_slices_have_no_halves_are_checked_by_their_rates(looked: Looked) -> None:
    assert looked(left_behind=0.3, halves=False).carried is not None


def test_a_difference_within_what_may_still_reach_over_waits(looked: Looked) -> None:
    found = looked(faster=0.06, carried_before=0.1)
    (verdict,) = found.verdicts
    assert (verdict.kind, verdict.doubted, found.decided) == ("undecided", True, False)
    assert verdict.estimate is not None
    assert "it may be due to what reaches from one slice into the next" in verdict_text(verdict)
    assert looked(faster=0.3, carried_before=0.1).decided


def test_parts_that_work_while_their_condition_is_paused_are_noticed(looked: Looked) -> None:
    def parts(paused_cpu_s: float | None) -> dict[str, Any]:
        return {"paused_s": 0.1, "parts": {"redis": {"cpu_s": 0.08, "paused_cpu_s": paused_cpu_s}}}

    assert looked(**parts(0.0002)).carried is None
    assert looked(**parts(None)).carried is None, "a part that others use, too"
    found = looked(**parts(0.02))
    said = "a condition went on working while it was paused, with 21 % of the CPU of its slices"
    assert render_message(found.carried) == said
    assert looked(**parts(0.02), one_process=True).carried is None, "it works for the other side then"


def test_a_block_that_failed_has_no_slices(studies: ModuleType, synthetic: ModuleType) -> None:
    study = studies.Study(synthetic, ratios=[(studies.condition(), 1.0), (studies.condition(operation="get"), 1.0)])
    group = replace(study.group(), rounds=sequential_rounds(0.1, settle_s=0.015), looks=(1, 2), longer_s=90.0)
    trials = [with_slices(trial, []) for trial in study.trials() if trial.block == 1]
    assert look_at(group, study.made_experiment, trials, None).carried is None
