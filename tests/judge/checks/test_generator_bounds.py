"""The gain rule: how wrong a rate can be, from trials whose limit is known."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.checks import judge_trial
from loadstone.judge.checks.evidence import evidence_of
from loadstone.judge.checks.generator_bounds import DISPLACED, BoundLimits, bound_of, bound_over, limits_of
from loadstone.judge.verdict import UNBOUNDED, GeneratorBound
from loadstone.run_folder.make_trial import failed_trial_record
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.sentences import render_message

Line = dict[str, Any]
Change = Callable[[Line], Any]
LimitsOf = Callable[..., BoundLimits]


def changed(line: Line, *changes: Change) -> TrialRecord:
    line = copy.deepcopy(line)
    for change in changes:
        change(line)
    return TrialRecord.model_validate(line)


@pytest.fixture(scope="module")
def clean(synthetic: ModuleType) -> Line:
    """32 users at 200 a second; Redis on CPU 0, the driver on CPU 1."""
    return synthetic.make_trial().model_dump(mode="json")


@pytest.fixture
def limits(clean: Line) -> LimitsOf:
    def found(*changes: Change) -> BoundLimits:
        evidence = evidence_of(changed(clean, *changes))
        assert evidence is not None
        return limits_of(evidence)

    return found


def check(line: Line, name: str, *changes: Change) -> CheckResult | None:
    judged = judge_trial(changed(line, *changes))
    return next((found for found in judged.checks if found.name == name), None)


def each_cpu(**figures: tuple[float, float, float]) -> Change:
    """CPU -> per cent busy, stolen, and taken by others."""

    def change(line: Line) -> None:
        for cpu, shares in figures.items():
            named = zip(("busy", "stolen", "others"), shares, strict=True)
            line["facts"]["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in named}

    return change


def server(share: float, waited: float = 0.0, stolen: float = 0.0, others: float = 0.0) -> Change:
    """A Redis of this share of CPU 0, and what others had of that CPU."""

    def change(line: Line) -> None:
        cpu = {"mean_share": share, "main_thread_share": share, "wait_share": waited}
        line["facts"]["parts"]["redis"] |= cpu
        each_cpu(cpu0=(100 * (share + stolen + others), 100 * stolen, 100 * others), cpu1=(50, 0, 0))(line)

    return change


def driver(*threads: float, waited: float = 0.0, cpus: tuple[int, ...] = (1,)) -> Change:
    """A driver whose threads ran for these shares of the time."""

    def change(line: Line) -> None:
        wall_s = line["facts"]["drive"]["threads"][0]["wall_s"]
        line["facts"]["drive"]["threads"] = [
            {"cpu": cpus[number % len(cpus)], "cpu_s": share * wall_s, "wall_s": wall_s, "waited_s": waited * wall_s}
            for number, share in enumerate(threads)
        ]
        line["facts"]["parts"]["generator"] |= {"mean_share": sum(threads), "wait_share": waited}
        line["facts"]["placement"]["generator_cpus"] = list(cpus)

    return change


def model(**changes: Any) -> Change:
    return lambda line: line["facts"]["plan"]["model"].update(changes)


def unseen(line: Line) -> None:
    """A server of which nothing is known."""
    line["facts"]["parts"].pop("redis")
    line["facts"]["host"] |= {"idle_share": None, "steal_share": None}
    line["facts"]["placement"] = None


# The generator


@pytest.mark.parametrize(
    ("busy", "driven", "gain"),
    [
        (0.97, 0.90, 1 / 0.97 - 1),  # the server was the limit: +3 %
        (0.98, 0.95, 1 / 0.98 - 1),  # busy as the generator was
        (0.98, 1.00, 1.2 / 0.98 - 1),  # at its limit it feeds the server one by one, which costs the server more
        (0.98, 0.9725, 1.1 / 0.98 - 1),
        (1.00, 0.95, 0.0),
        (0.30, 0.20, 1 / 0.80 - 1),  # nothing was saturated: the cycle without the generator's part
        (0.50, 0.02, 1 / 0.98 - 1),
    ],
)
def test_the_server_or_the_rest_of_the_cycle_bounds_the_gain(
    limits: LimitsOf, busy: float, driven: float, gain: float
) -> None:
    found = limits(server(busy), driver(driven))
    assert found.server == pytest.approx(busy)
    assert found.generator == pytest.approx(driven)
    assert found.gain == pytest.approx(gain, abs=1e-4)


@pytest.mark.parametrize(("busy", "cost"), [(0.9, 11.6), (0.5, 29.6)])
def test_a_server_that_is_not_saturated_does_cheaper_work_once_it_is(
    limits: LimitsOf, busy: float, cost: float
) -> None:
    """Measured: 29.6, 11.6 and 10.6 us an operation at busy shares of .5, .9 and .97."""
    found = limits(server(busy), driver(0.99))
    assert found.gain is not None
    assert 1 + found.gain >= 1 / busy
    if busy == 0.9:
        assert 1 + found.gain >= cost / 10.6 / busy * 0.97, "4 users: 64 of them brought 20 and 24 % more"


def test_a_generator_at_its_limit_with_an_idle_server_has_no_bound(clean: Line, limits: LimitsOf) -> None:
    at_its_limit = (server(0.07), driver(1.0))
    assert limits(*at_its_limit).gain == UNBOUNDED
    found = check(clean, "gain", *at_its_limit)
    assert found is not None
    assert (found.verdict, found.measured) == ("suspect", 100 * UNBOUNDED)
    assert "no upper limit of the rate is known" in render_message(found.reason)
    half = check(clean, "gain", server(0.17), driver(0.9))
    assert half is not None
    assert half.verdict == "suspect"


def test_waiting_for_its_cpu_is_the_generators_time_too(limits: LimitsOf) -> None:
    found = limits(server(0.3), driver(0.1, waited=0.2))
    assert found.generator == pytest.approx(0.3)
    assert found.gain == pytest.approx(1 / 0.7 - 1, abs=1e-4)


def test_threads_that_take_turns_count_together(limits: LimitsOf) -> None:
    """Two threads of .45 on one CPU kept users waiting for .9 of the time; on two CPUs each did for itself."""
    assert limits(server(0.3), driver(0.45, 0.45)).generator == pytest.approx(0.9)
    assert limits(server(0.3), driver(0.45, 0.45, cpus=(1, 2))).generator == pytest.approx(0.45)


def test_a_generator_that_a_cpu_limit_held_is_slower_by_that(limits: LimitsOf) -> None:
    def throttled(line: Line) -> None:
        line["facts"]["host"]["throttled_s"] = 0.3 * line["facts"]["drive"]["threads"][0]["wall_s"]

    found = limits(server(0.3), driver(0.2), throttled)
    assert found.generator == pytest.approx(0.5)
    assert found.gain == pytest.approx(1.0)


def test_users_who_think_cannot_do_more_than_their_pauses_allow(limits: LimitsOf) -> None:
    """32 users with pauses of 150 ms do at most 213 a second, and did 200."""
    found = limits(server(0.3), driver(0.9), model(think_time_ms=150.0))
    assert found.gain == pytest.approx(32 / 0.150 / 200 - 1, rel=0.01)


def test_one_user_is_a_round_trip_and_no_capacity(clean: Line, limits: LimitsOf) -> None:
    found = limits(server(0.3), driver(0.9), model(users=1))
    assert found.round_trip
    assert found.gain is None
    assert check(clean, "gain", server(0.3), driver(0.9), model(users=1)) is None
    assert check(clean, "taken", server(0.3), driver(0.9), model(users=1)) is not None


def test_a_rate_that_was_set_gains_nothing(clean: Line, limits: LimitsOf) -> None:
    def opened(line: Line) -> None:
        line["facts"]["plan"]["model"] = {"kind": "open", "rate_per_s": 200.0}

    assert limits(opened, server(0.3), driver(0.9)).gain is None
    assert check(clean, "gain", opened, server(0.3), driver(0.9)) is None


def test_on_a_shared_cpu_the_generators_own_part_is_not_the_servers(limits: LimitsOf) -> None:
    """CPU 0 is full, and .4 of it the generator: one that costs nothing would leave that to the server."""

    def shared(line: Line) -> None:
        line["facts"]["placement"] |= {"server_cpus": [0], "generator_cpus": [0], "shared": True}
        line["facts"]["parts"]["loadstone"] = {"mean_share": 0.0}

    alone = limits(server(0.6), driver(0.4), each_cpu(cpu0=(100, 0, 0)))
    together = limits(server(0.6), driver(0.4, cpus=(0,)), each_cpu(cpu0=(100, 0, 0)), shared)
    assert alone.server == pytest.approx(1.0)
    assert together.server == pytest.approx(0.6)
    assert together.gain == pytest.approx(1 / 0.6 - 1, abs=1e-4)


def test_what_cannot_be_observed_bounds_nothing(clean: Line, limits: LimitsOf) -> None:
    def silent(line: Line) -> None:
        line["facts"]["drive"]["threads"] = []

    assert limits(driver(0.2), unseen).gain == pytest.approx(0.25), "the generator's part alone tells"
    nothing = limits(unseen, silent)
    assert (nothing.server, nothing.generator, nothing.gain, nothing.taken) == (None, None, None, None)
    for name in ("gain", "taken"):
        found = check(clean, name, unseen, silent)
        assert found is not None
        assert found.verdict == "unknown"
        assert found.measured is None


def test_an_own_pool_that_is_full_is_the_limit(limits: LimitsOf) -> None:
    def waits(line: Line) -> None:
        line["facts"]["parts"]["spring"] = {"mean_share": 0.3}
        line["facts"]["subjects"]["spring"] = {"replicas": 1, "ours": True, "limits": {}, "throttled_s": None}
        pool = {"hikari_pending": 3.0, "hikari_active": 10.0, "hikari_idle": idle}
        line["facts"]["seen"]["spring"] = {name: {"avg": value, "max": value} for name, value in pool.items()}

    assert limits(server(0.3), driver(0.9)).gain == pytest.approx((1 + 2.5 * 0.65) / 0.3 - 1, abs=1e-3)
    idle = 0.0
    assert limits(server(0.3), driver(0.9), waits).gain == 0.0
    idle = 30.0  # threads that queue now and then for a pool that is mostly idle
    assert limits(server(0.3), driver(0.9), waits).gain == pytest.approx((1 + 2.5 * 0.65) / 0.3 - 1, abs=1e-3)


# What others took


def test_on_a_full_cpu_it_is_missing_in_proportion(limits: LimitsOf) -> None:
    found = limits(server(0.85, waited=0.0, stolen=0.15), driver(0.2))
    assert found.server == pytest.approx(1.0)
    assert found.taken == pytest.approx(0.15 / 0.85, abs=1e-4)


def test_below_a_full_cpu_it_is_missing_from_the_whole_cycle(limits: LimitsOf) -> None:
    """5 % stolen from either of two CPUs: 2s/(1 - 2s)."""
    found = limits(server(0.4, stolen=0.05), each_cpu(cpu1=(30, 5, 0)), driver(0.2))
    assert found.taken == pytest.approx(0.1 / 0.9, abs=1e-4)


def test_of_a_full_server_the_generators_losses_count_for_what_was_left_of_it(limits: LimitsOf) -> None:
    found = limits(server(0.97), each_cpu(cpu1=(100, 40, 0)), driver(0.2))
    assert found.taken == pytest.approx(1 / 0.97 - 1, abs=1e-3)


def one_cpu(line: Line) -> None:
    """Server and generator on one CPU, which is full: each waits for the other."""
    line["facts"]["placement"] |= {"server_cpus": [0], "generator_cpus": [0], "shared": True}
    line["facts"]["parts"]["redis"] |= {"mean_share": 0.52, "main_thread_share": 0.52, "wait_share": 0.44}
    line["facts"]["parts"]["generator"] |= {"mean_share": 0.45, "wait_share": 0.5}
    line["facts"]["parts"]["loadstone"] |= {"mean_share": 0.03}
    (thread,) = line["facts"]["drive"]["threads"]
    thread |= {"cpu_s": 0.45 * thread["wall_s"], "waited_s": 0.5 * thread["wall_s"]}
    line["facts"]["seen"]["cpu0"] = {
        n: {"avg": v, "max": v} for n, v in (("busy", 100.0), ("stolen", 0.0), ("others", 0.0))
    }


def test_on_one_cpu_the_server_waits_for_the_generator_and_is_not_busy_by_that(limits: LimitsOf) -> None:
    """A generator that costs nothing would leave it nearly half of the CPU more."""
    found = limits(one_cpu)
    assert found.gain == pytest.approx(1 / 0.55 - 1, abs=0.02)


def test_a_server_that_no_one_placed_loses_what_it_waited_for_while_others_ran(limits: LimitsOf) -> None:
    def by_url(line: Line) -> None:
        line["facts"]["placement"] = None
        line["facts"]["plan"]["cpus"] = [1]
        line["facts"]["parts"]["redis"] |= {"main_thread_share": 0.55, "mean_share": 0.55, "wait_share": 0.4}

    found = limits(driver(0.2), by_url, each_cpu(cpu0=(100, 0, 79), cpu1=(60, 0, 0)))
    assert found.taken == pytest.approx(1 / (1 - DISPLACED * 0.4 / 0.95) - 1, abs=0.01)
    assert limits(driver(0.2), by_url).taken is None, "its CPUs were not observed"


def test_one_user_with_a_pipeline_is_no_round_trip(limits: LimitsOf) -> None:
    def deep(line: Line) -> None:
        line["facts"]["plan"]["model"]["users"] = 1
        line["facts"]["plan"]["pipeline_depth"] = 16

    found = limits(server(0.5), driver(0.9), deep)
    assert not found.round_trip
    assert found.gain is not None


def test_stolen_time_of_the_cpu_that_lost_most_counts(limits: LimitsOf) -> None:
    def four(line: Line) -> None:
        line["facts"]["placement"] |= {"server_cpus": [0, 2, 3, 4], "generator_cpus": [1]}

    cpus = each_cpu(cpu0=(95, 40, 0), cpu1=(20, 0, 0), cpu2=(5, 0, 0), cpu3=(5, 0, 0), cpu4=(5, 0, 0))
    found = limits(server(0.55), four, cpus, driver(0.2))
    assert found.taken == pytest.approx(0.4 / 0.6, abs=0.02)


def test_a_redis_loses_to_others_no_more_than_it_waited(limits: LimitsOf) -> None:
    """Others had a third of its CPU, most of it while Redis required none."""
    found = limits(server(0.4, waited=0.02, others=0.33), each_cpu(cpu1=(30, 0, 0)), driver(0.2))
    assert found.taken == pytest.approx(more(DISPLACED * 0.02), abs=1e-3)


def test_a_cpu_that_others_use_while_the_server_idles_is_not_full_to_it(limits: LimitsOf) -> None:
    """Neighbours of a low priority fill what a Redis leaves, which waits for a driver without a CPU."""
    fills = each_cpu(cpu0=(98, 0, 45), cpu1=(100, 0, 50))
    found = limits(server(0.5, waited=0.03), driver(0.46, waited=0.48), fills)
    assert found.server == pytest.approx(0.56, abs=0.005)
    assert found.taken is not None
    assert found.taken > 0.9, "the driver lost half of the time"


def more(lost: float) -> float:
    """What was lost of the time as a share of what was had."""
    return lost / (1 - lost)


def beside(others: float, mean: float = 0.0) -> Change:
    """An application on two CPUs, and a second one beside it that burns `others` of one of them in all."""

    def change(line: Line) -> None:
        facts = line["facts"]
        facts["parts"] = {
            "spring": {"mean_share": mean or 1 - others, "main_thread_share": 0.1, "max_share": 1.0},
            "generator": facts["parts"]["generator"],
        }
        facts["subjects"]["spring"] = {"replicas": 1, "ours": True, "limits": {}, "throttled_s": None}
        facts["seen"]["others"] = {"lettuce": {"avg": others, "max": others}}
        each_cpu(cpu0=(100, 0, 100 * others), cpu1=(20, 0, 0))(line)

    return change


def test_a_second_application_that_burns_half_a_cpu_halves_the_figure(clean: Line, limits: LimitsOf) -> None:
    assert limits(beside(0.5), driver(0.1)).taken == pytest.approx(more(DISPLACED * 0.5), abs=0.01)
    found = check(clean, "taken", beside(0.5), driver(0.1))
    assert found is not None
    assert found.verdict == "suspect"
    assert render_message(found.reason).startswith(
        "lettuce 0.50 CPU used the CPUs of this condition: without them the rate could be"
    )
    little = check(clean, "taken", beside(0.05), driver(0.1))
    assert little is not None
    assert little.verdict == "valid"
    assert little.measured == pytest.approx(100 * more(DISPLACED * 0.05), abs=0.1)
    much = check(clean, "taken", beside(0.2), driver(0.1))
    assert much is not None
    assert much.verdict == "suspect"


def test_time_of_a_cpu_that_no_one_is_found_for_went_to_others(limits: LimitsOf) -> None:
    """Its CPU was full, its own parts had half of it, and no process was observed with the rest."""

    def hidden(line: Line) -> None:
        beside(0.5)(line)
        each_cpu(cpu0=(100, 0, 0))(line)

    found = limits(hidden, driver(0.1))
    assert found.taken == pytest.approx(more(DISPLACED * 0.4), abs=0.01), "but for a tenth: ticks and interrupts"


def test_an_older_folder_tells_by_the_machines_totals(limits: LimitsOf) -> None:
    """Without figures of each CPU all that was stolen is counted on the servers' side."""

    def totals(steal: float, idle: float) -> Change:
        return lambda line: line["facts"]["host"].update(steal_share=steal, idle_share=idle)

    quiet = limits(totals(0.0, 0.65), driver(0.05))
    assert quiet.taken == pytest.approx(0.0, abs=0.005)
    stolen = limits(totals(0.05, 0.60), driver(0.05))
    assert stolen.taken == pytest.approx(0.1 / 0.9, abs=0.01)


# Over trials


def test_what_was_not_driven_has_no_bound(synthetic: ModuleType) -> None:
    plan = synthetic.make_plan()
    failed = failed_trial_record(synthetic.planned_trial("b01-001", {}, plan), plan, "connection refused", 1)
    assert bound_of(failed) is None
    assert bound_over([failed]) is None
    assert bound_over([]) is None


def test_the_bound_over_trials_weighs_each_by_its_work(clean: Line) -> None:
    """Half of the time at 1,000 a second that could not be more, half at 100 that could be double: +9 % in all."""

    def rate(per_s: float) -> Change:
        return lambda line: line.update(goodput_per_s=per_s)

    fast = changed(clean, server(1.0), driver(0.5), rate(1000.0))
    slow = changed(clean, server(0.3), driver(0.5), rate(100.0))
    found = bound_over([fast, slow])
    assert found is not None
    assert found.generator == pytest.approx(100 / 1100, abs=1e-3)
    assert bound_over([slow]) == bound_of(slow)


def test_both_bounds_multiply() -> None:
    assert GeneratorBound(generator=0.1, taken=0.2).total == pytest.approx(0.32)
    assert GeneratorBound(generator=None, taken=0.2).total == pytest.approx(0.2)
    assert GeneratorBound(generator=None, taken=None).total == 0.0


def test_waiting_for_the_disk_bounds_nothing(limits: LimitsOf) -> None:
    """appendfsync always: .62 of the time at work and .33 in fsync. One fsync serves all requests that are there, so
    a generator that sends them together does more than this one: the bound is that of the CPU."""

    def at_the_disk(line: Line) -> None:
        line["facts"]["parts"]["redis"]["disk_share"] = 0.33

    without, found = limits(server(0.62), driver(0.75)), limits(server(0.62), at_the_disk, driver(0.75))
    assert (found.server, found.disk) == (without.server, 0.33)
    assert found.gain is not None
    assert without.gain is not None
    assert found.gain > without.gain > 0.5
