"""What a closed search answers: its interval reaches as far as what others had of the CPUs, and the generator."""

from types import ModuleType
from typing import Any

import pytest
from tests.saturation_trials import Facts, System, planned, system_of

from loadstone.judge.saturation.closed_answer import closed_answer
from loadstone.judge.statistics.saturation_model import Saturation
from loadstone.record.trial import TrialRecord
from loadstone.report.text.sentences import text


@pytest.fixture
def system(synthetic: ModuleType) -> System:
    return system_of(synthetic, noise=0.02)


def answered(system: System) -> Saturation:
    template, settings = planned(quick=True)
    trials: list[TrialRecord] = []
    system.carry_on(template, settings, trials)
    return closed_answer(trials, settings).saturation


def beside_the_generator(share: float) -> Facts:
    """Other programs had its CPU while it waited for that; the server then waited for the generator."""

    def change(facts: dict[str, Any], users: int) -> None:  # noqa: ARG001 (every change knows the users)
        facts["drive"]["threads"][0].update(cpu_s=0.4 * 6, wall_s=6.0, waited_s=share * 6)
        facts["parts"]["generator"] |= {"mean_share": 0.4, "wait_share": share}
        facts["parts"]["redis"].update(main_thread_share=0.5, mean_share=0.5)
        for cpu, (busy, others) in {"cpu0": (50, 0), "cpu1": (40 + 100 * share, 100 * share)}.items():
            shares = {"busy": busy, "stolen": 0.0, "others": others}
            facts["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in shares.items()}

    return change


def test_of_a_quiet_machine_the_interval_is_that_of_the_sweeps(system: System) -> None:
    found = answered(system)
    assert (found.kind, found.users is not None) == ("plateau", True)
    assert found.users is not None
    assert found.users.value == pytest.approx(8, rel=0.03)
    assert found.users.high < 8.6


def test_what_others_had_of_the_generators_cpu_may_be_missing_from_the_point(system: System) -> None:
    quiet = answered(system)
    system.facts = beside_the_generator(0.2)
    found = answered(system)
    assert quiet.per_s is not None
    assert found.per_s is not None
    assert found.users is not None
    assert found.per_s.value == pytest.approx(quiet.per_s.value, rel=0.05)
    assert found.per_s.high > 1.2 * found.per_s.value
    assert found.users.high > 1.2 * found.users.value
    assert found.message.figures["per_s"] == found.per_s.figures


def test_where_others_had_half_of_it_only_what_was_reached_is_known(system: System) -> None:
    system.facts = beside_the_generator(0.5)
    found = answered(system)
    assert found.kind == "at_least"
    assert found.users is None
    assert found.at_least_per_s == pytest.approx(8000, rel=0.03)
    assert "other programs took CPU time: without them the rate could be up to 100% higher" in text(found.message)


def test_where_time_ends_before_the_interval_the_levels_say_what_was_reached(system: System) -> None:
    """The search ran while others had the machine: the sweeps after it are what the system did."""
    template, settings = planned(quick=True)
    trials: list[TrialRecord] = []
    system.carry_on(template, settings, trials)
    slow = [
        one.model_copy(update={"goodput_per_s": 0.6 * one.goodput_per_s})
        for one in trials
        if one.saturation is not None and one.saturation.phase == "search"
    ]
    for times, why in ((3, "2 sweeps; an interval needs at least 6"), (1000, "no sweep was measured whole")):
        sweeps = [in_longer_sweeps(one, times) for one in trials if one.saturation and one.saturation.phase == "sweep"]
        found = closed_answer([*slow, *sweeps], settings).saturation
        assert why in text(found.message)
        assert found.at_least_per_s == pytest.approx(8000, rel=0.05)


def in_longer_sweeps(trial: TrialRecord, times: int) -> TrialRecord:
    """The trial in sweeps of so many times as many rounds: there are fewer of them."""
    step = trial.saturation
    assert step is not None
    longer = step.model_copy(update={"rounds_a_sweep": times * step.rounds_a_sweep})
    return trial.model_copy(update={"saturation": longer})


def test_a_rate_that_rose_with_time_is_said_so(system: System) -> None:
    system.capacity_per_s = 1e6
    _, settings = planned(users_max=8)
    search = [system.search(2**step, step + 1) for step in range(4)]
    same = closed_answer([*search, system.search(4, 5)], settings).saturation
    assert text(same.message).endswith("it had not levelled off at 8 users, the most that were allowed")
    later = closed_answer([*search, system.search(4, 5, goodput_per_s=5200.0)], settings).saturation
    assert text(later.message) == (
        "CAPACITY >= 8,000 a second: it did more with time, not only with users: 4 users 4,000 a second, and later "
        "5,200; warm it up for longer"
    )
