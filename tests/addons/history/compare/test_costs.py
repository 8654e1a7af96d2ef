"""CPU per request between two runs: found where it differs, and left open where the machine may be the reason."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.changed_facts import with_drive, with_facts
from tests.judge.test_cost import ABSURD, in_slices, pair

from loadstone.addons.history.compare_report import notable_comparisons, summarise_rest
from loadstone.addons.history.cost_between_runs import NEIGHBOURS, compare_costs_of_runs
from loadstone.experiment.plan.run_plan import TABLE_GROUP
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

from .conftest import HOURS_S, MANY, reported

Write = Callable[..., Path]
SECOND = {"seed": 2, "started_s": HOURS_S}


def costing(
    few_us: float,
    many_us: float = 40.0,
    speed_ns: int = 1_400_000,
    others: float = 0.0,
    times: float = 24.0,
    **facts: Any,
) -> Callable[[TrialRecord], TrialRecord]:
    """Trials in which each correct reply takes Redis so much CPU, on a machine of two CPUs: at `times` a thousand a
    second it is hardly idle."""

    def finish(trial: TrialRecord) -> TrialRecord:
        each_us = few_us if trial.condition["idle"] == "few" else many_us
        rate_per_s = times * trial.goodput_per_s
        spent_s = each_us * 1e-6 * rate_per_s * trial.duration_s
        seen = {"others": {"other programs": {"avg": 2 * others, "max": 2 * others}}}
        speed = {"0": (speed_ns, speed_ns)}
        made = with_facts(trial, kinds={"redis": "redis", "generator": "driver"}, seen=seen, speed=speed, **facts)
        rates = {"goodput_per_s": rate_per_s, "throughput_per_s": rate_per_s}
        return made.model_copy(update={"cpu_s": {"redis": spent_s}, **rates})

    return finish


def costs(found: Any) -> Mapping[str, Any]:
    return {str(one.primary.a.condition["idle"]): one.costs[0] for one in found.report.comparisons}


def test_a_cost_that_differs_is_found_and_equal_ones_are_not_called_different(write: Write) -> None:
    found = reported(write(finish=costing(40.0)), write(**SECOND, finish=costing(56.0)))
    few, many = costs(found)["few"], costs(found)["many"]
    assert (few.kind, few.winner, few.role, few.metric) == ("faster", "a", "cost", "cpu_ns.redis")
    assert math.expm1(few.low) < 0.4 < math.expm1(few.high)
    assert many.kind == "undecided"
    assert math.expm1(many.high) > 0.05, "what runs may differ by is in the interval"
    line = next(line for line in found.text.splitlines() if " CPU per request: " in line)
    assert line.startswith("set, 1 kB, 32 workers: ")
    assert " uses 40 % [" in line
    assert line.endswith(" more redis CPU per request: 56 µs against 40 µs")
    assert found.text.count("CPU per request") == 1


def test_a_cost_stands_where_trials_are_too_few_for_a_rate(write: Write) -> None:
    short = {"groups": (TABLE_GROUP,), "blocks": 6, "conditions": (MANY,)}
    found = reported(write(**short, finish=costing(40.0)), write(**SECOND, **short, finish=costing(40.0, 56.0)))
    (one,) = found.report.comparisons
    assert one.primary.low is None
    assert one.leading.metric == "cpu_ns.redis"
    assert notable_comparisons(found.report) == [one]
    assert summarise_rest(found.report) == []
    assert "uses 40 %" in found.text


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ({"speed_ns": 1_750_000}, "its CPUs were 25 % slower in the second run"),
        ({"others": 0.9}, "other programs took up to 90 % of the CPUs"),
        ({"times": 12.0}, "for 41 % of the time the part was idle, and each wake-up is in its cost"),
    ],
)
def test_what_the_machine_may_have_added_decides_nothing(write: Write, machine: dict[str, Any], said: str) -> None:
    found = reported(write(finish=costing(40.0)), write(**SECOND, finish=costing(49.0, **machine)))
    few = costs(found)["few"]
    assert few.kind == "undecided"
    assert few.low < 0
    assert render_message(few.said).endswith(f"; the machine may be the reason: {said}")
    assert said in " ".join(found.text.split())


def test_a_slower_machine_does_not_hide_what_it_made_dearer(write: Write) -> None:
    """The first run had the neighbour and the slower CPUs, and was cheaper all the same."""
    disturbed = costing(40.0, speed_ns=1_500_000, others=0.5)
    found = reported(write(finish=disturbed), write(**SECOND, finish=costing(56.0)))
    few = costs(found)["few"]
    assert (few.kind, few.winner) == ("faster", "a")
    assert few.high > math.log(1.4) + NEIGHBOURS * 0.5, "it may be more than that"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"machine": {"machine_id": "another"}}, "were measured on different machines"),
        ({"kernel": {"release": "9.9.9"}}, "kernel release"),
        ({"placement": {"shared": True, "server_cpus": [7]}}, "placement"),
    ],
)
def test_other_machines_have_other_costs(write: Write, environment: dict[str, Any], said: str) -> None:
    other = write(**SECOND, finish=costing(80.0), environment=environment)
    found = reported(write(finish=costing(40.0)), other, across=True)
    assert all(one.costs == [] for one in found.report.comparisons)
    (note,) = [render_message(note) for note in found.report.notes if "CPU per request" in render_message(note)]
    assert note.startswith("CPU per request is not compared: ")
    assert said in note
    assert note in " ".join(found.text.split())


def test_another_version_of_a_server_is_what_is_asked(write: Write) -> None:
    server = {"servers": {"redis": {"version": "9.0.0", "settings": {"appendonly": "yes"}}}}
    other = write(**SECOND, finish=costing(56.0), environment=server)
    found = reported(write(finish=costing(40.0)), other, across=True)
    assert costs(found)["few"].kind == "faster"


def test_an_objective_is_held_against_it(write: Write) -> None:
    runs = write(finish=costing(40.0)), write(**SECOND, finish=costing(56.0))
    assert reported(*runs, fail_if=("cpu redis > +5% where idle=few",)).outcome.status == 1
    assert reported(*runs, fail_if=("cpu > +5% where idle=few",)).outcome.status == 1, "there is one part"
    assert reported(*runs, fail_if=("cpu redis > +90% where idle=few",)).outcome.status == 0


@pytest.mark.parametrize("seconds", ABSURD)
def test_figures_that_nobody_measured_give_no_difference(synthetic: Any, seconds: float) -> None:
    made = in_slices(synthetic, [{"redis": seconds}] * 12, [1_000] * 12)
    whole = with_drive(made, slices=[]).model_copy(update={"cpu_s": {"redis": seconds}})
    for trial in (made, whole):
        assert compare_costs_of_runs([trial], [trial], 2, pair(trial, trial).settings) == []
