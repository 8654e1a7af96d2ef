"""A look and what a request costs: how exactly it is known, and that it answers where neighbours hide the rate."""

import math
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.changed_facts import with_drive, with_facts

from loadstone.experiment.plan.rounds import sequential_rounds
from loadstone.judge.analysis.looks import EXACT_ROUNDS_MAX, LookResult, look_at
from loadstone.report.verdicts import verdict_text

OK, REDIS_S = 2_000, 0.02


def slices(rounds: int, side: int, spread: float, rate: float = 1.5, rate_spread: float = 0.0) -> list[dict[str, Any]]:
    """Slices of A, or of B, which does `rate` times as much and costs Redis a third less a request."""
    rng, a_is_first = np.random.default_rng(side), np.random.default_rng(2).random(rounds) < 0.5
    made = []
    for number in range(rounds):
        place = side if a_is_first[number] else 1 - side
        ok = round(OK * (rate if side else 1.0) * math.exp(rng.normal(0, rate_spread)))
        begin_s = 0.2 * number + 0.1 * place
        spent_s = REDIS_S * ok / OK / (1.5 if side else 1.0) * math.exp(rng.normal(0, spread))
        part = {"redis": {"cpu_s": spent_s}}
        made.append(
            {
                "round": number, "position": place, "begin_s": begin_s, "end_s": begin_s + 0.085, "parts": part,
                "drained_s": begin_s + 0.09, "offered": ok, "completed": ok, "ok": ok, "ok_first_half": ok // 2,
                "failed": 0, "ended": ok, "response_sum_ns": round(1e6 * ok), "cpu_s": 0.01,
            }
        )  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("within", "rounds", "spread", "exact"),
    [
        (None, 32, 0.15, True),
        ("3 %", 32, 0.15, False),
        ("3 %", 32, 0.005, True),
        ("30 %", 32, 0.15, True),
        ("3 %", EXACT_ROUNDS_MAX, 0.15, True),
    ],
)
def test_a_decided_comparison_says_whether_its_cost_is_exact(
    studies: ModuleType, synthetic: ModuleType, within: str | None, rounds: int, spread: float, exact: bool
) -> None:
    found = looked(studies, synthetic, within, rounds, spread=spread)
    assert (found.decided, found.exact, found.answered, found.costs) == (True, exact, True, [None])


def test_what_a_request_costs_answers_where_neighbours_hide_the_rate(
    studies: ModuleType, synthetic: ModuleType
) -> None:
    found = looked(studies, synthetic, None, 32, spread=0.01, rate=1.0, rate_spread=0.6)
    (verdict,), (cost,) = found.verdicts, found.costs
    assert (verdict.kind, found.decided, found.answered) == ("undecided", False, True)
    assert cost is not None
    assert verdict_text(cost).startswith("get uses 34 % [32, 35] less redis CPU")


def looked(studies: ModuleType, synthetic: ModuleType, within: str | None, rounds: int, **figures: float) -> LookResult:
    study = studies.Study(synthetic, ratios=[(studies.condition(), 1.0), (studies.condition(operation="get"), 1.0)])
    first = [trial for trial in study.trials() if trial.block == 1]
    planned = sequential_rounds(0.1, settle_s=0.015)
    group = replace(study.group(), rounds=planned, looks=tuple(range(1, len(planned.blocks) + 1)))
    trials = []
    for side, condition in enumerate(group.conditions):
        trial = next(one for one in first if one.condition == condition)
        trial = with_drive(with_facts(trial, kinds={"redis": "redis"}), slices=slices(rounds, side, **figures))
        trials.append(trial.model_copy(update={"cpu_s": {"redis": REDIS_S * rounds}}))
    experiment = study.made_experiment
    asked = experiment.model_copy(update={"design": experiment.design.model_copy(update={"cost_within": within})})
    found: LookResult = look_at(group, asked, trials, None)
    return found
