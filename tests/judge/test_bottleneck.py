"""What limited a condition, from trials whose bottleneck is known."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.analysis.analysis import Bottleneck
from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.typical_load import typical_load
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

Line = dict[str, Any]
Change = Callable[[Line], Any]


@pytest.fixture(scope="module")
def clean(synthetic: ModuleType) -> Line:
    """32 users at 200 a second, so 160 ms a round trip; the server at 55 % of a core, the driver at next to nothing."""
    return synthetic.make_trial().model_dump(mode="json")


@pytest.fixture
def limited(clean: Line) -> Callable[..., Bottleneck | None]:
    """The bottleneck of the clean trial after some changes."""

    def found(*changes: Change) -> Bottleneck | None:
        return bottleneck_of([changed(clean, *changes)])

    return found


def changed(line: Line, *changes: Change) -> TrialRecord:
    line = copy.deepcopy(line)
    for change in changes:
        change(line)
    return TrialRecord.model_validate(line)


def busy(part: str, share: float) -> Change:
    if part == "generator":
        return lambda line: line["facts"]["drive"]["threads"][0].update(cpu_s=share * 6, wall_s=6.0, waited_s=0.0)
    return lambda line: line["facts"]["parts"][part].update(main_thread_share=share, mean_share=share, wait_share=0.0)


def with_app(cores: float, main_thread: float = 0.1, cpus: tuple[int, ...] = (0, 1)) -> Change:
    def change(line: Line) -> None:
        line["facts"]["kinds"]["app"] = "subject"
        line["facts"]["parts"]["app"] = {"mean_share": cores, "main_thread_share": main_thread}
        line["facts"]["placement"]["server_cpus"] = list(cpus)

    return change


def behind_app(
    cores: float,
    *,
    replicas: int = 1,
    limit: float | None = None,
    throttled: float = 0.0,
    stores: dict[str, float] | None = None,
    cpus: tuple[int, ...] = (0, 2, 3, 4),
    **observed: float,
) -> Change:
    """An application of so many cores before a MariaDB and a Redis that take so many each."""

    def change(line: Line) -> None:
        facts = line["facts"]
        driven_s = max(phase["end_s"] for phase in facts["drive"]["phases"].values())
        names = ["spring"] if replicas == 1 else [f"spring-{number}" for number in range(1, replicas + 1)]
        shares = {"mariadb": 0.12, "redis": 0.03} if stores is None else stores
        held = {"cpu": {"status": "in_force", "value": limit}} if limit else {}
        facts["subjects"]["spring"] = {
            "replicas": replicas, "ours": True, "limits": held,
            "throttled_s": throttled * driven_s * replicas if limit else None,
        }  # fmt: skip
        facts["kinds"]["spring"] = "subject"
        for name in names:
            facts["parts"][name] = {"mean_share": cores / replicas}
            facts["seen"][name] = {metric: {"avg": value, "max": value} for metric, value in observed.items()}
        redis = facts["parts"].pop("redis")
        if "redis" in shares:
            facts["parts"]["redis"] = redis | {"mean_share": shares["redis"], "main_thread_share": shares["redis"]}
        elif shares:
            facts["servers"] = {}
            del facts["kinds"]["redis"]
        if "mariadb" in shares:
            facts["kinds"]["mariadb"] = "mariadb"
            facts["parts"]["mariadb"] = {"mean_share": shares["mariadb"], "cpu_limit": 1.0}
            facts["seen"]["mariadb"] = {"threads_connected": {"avg": 12, "max": 12}}
        facts["placement"]["server_cpus"] = list(cpus)

    return change


def behind_line(busy_share: float) -> Change:
    return lambda line: line["facts"].update(
        links={"redis": {"requested_ns": 1_000_000, "part": "redis.link", "busy_share": busy_share}}
    )


def waits_for_disk(wa: float, **rates: float) -> Change:
    def change(line: Line) -> None:
        observed = line["facts"]["seen"]
        observed.setdefault("host", {})["wa"] = {"avg": wa, "max": wa}
        observed.setdefault("mariadb", {}).update({name: {"avg": value, "max": value} for name, value in rates.items()})

    return change


def waiting(share: float) -> Change:
    def change(line: Line) -> None:
        drive = line["facts"]["drive"]
        drive["pool_wait_ns"]["mean"] = share * drive["operations"]["set"]["response_ns"]["mean"]

    return change


def at_a_rate(reached: float) -> Change:
    def change(line: Line) -> None:
        line["facts"]["plan"]["model"] = {"kind": "open", "rate_per_s": 200.0}
        operation = line["facts"]["drive"]["operations"]["set"]
        operation["window_completed"] = round(reached * line["counts"]["offered"])

    return change


def pausing(milliseconds: float) -> Change:
    return lambda line: line["facts"]["plan"]["model"].update(think_time_ms=milliseconds)


def unobserved(line: Line) -> None:
    line["facts"]["parts"] = {}


def test_with_nothing_full_the_users_waited_for_round_trips(limited: Callable[..., Bottleneck]) -> None:
    found = limited()
    assert found.part == "latency"
    assert render_message(found.message).startswith("latency-bound, X = N/(R+Z) = 32 users / 1")
    assert "redis 55 %" in render_message(found.message)
    assert found.evidence["redis"] == pytest.approx(0.55, abs=0.005)
    assert found.evidence["generator"] == pytest.approx(0.002, abs=0.0005)
    assert found.evidence["pool"] < 0.01


def test_the_rate_of_the_formula_is_the_rate_that_was_measured(clean: Line, limited: Callable[..., Bottleneck]) -> None:
    rate = float(render_message(limited().message).split(" a second")[0].split("= ")[-1].replace(",", ""))
    assert rate == pytest.approx(clean["throughput_per_s"], rel=0.03)


@pytest.mark.parametrize(
    ("share", "part"), [(0.5, "latency"), (0.89, "latency"), (0.91, "server"), (0.96, "server"), (1.0, "server")]
)
def test_a_full_server(limited: Callable[..., Bottleneck], share: float, part: str) -> None:
    found = limited(busy("redis", share))
    assert found.part == part
    if part == "server":
        assert render_message(found.message).startswith("server-bound: main thread of redis")
        assert f"{100 * share:.0f} %" in render_message(found.message)


def test_a_thread_that_others_keep_from_its_cpu_is_full_earlier(limited: Callable[..., Bottleneck]) -> None:
    def kept_waiting(line: Line) -> None:
        line["facts"]["parts"]["redis"]["wait_share"] = 0.2

    assert limited(busy("redis", 0.78)).part == "latency"
    assert limited(busy("redis", 0.78), kept_waiting).part == "server"
    waits = {"cpu_s": 0.78 * 6, "wall_s": 6.0, "waited_s": 0.2 * 6}
    assert limited(lambda line: line["facts"]["drive"]["threads"][0].update(waits)).part == "generator"


def starved(ran: float, lost: float) -> Change:
    """A generator that ran for this share of the time, and waited for its CPU while other programs had it."""

    def change(line: Line) -> None:
        line["facts"]["drive"]["threads"][0].update(cpu_s=ran * 6, wall_s=6.0, waited_s=lost * 6)
        line["facts"]["parts"]["generator"].update(mean_share=ran, wait_share=lost)
        others = {"busy": 100 * (ran + lost), "stolen": 0, "others": 100 * lost}
        each_cpu(cpu0={"busy": 58, "stolen": 0, "others": 3}, cpu1=others)(line)

    return change


def test_a_generator_whose_cpu_others_have_is_the_limit(limited: Callable[..., Bottleneck]) -> None:
    """Neither it nor the server is full of the time that it had: they took turns with the other programs."""
    found = limited(busy("redis", 0.55), starved(0.43, 0.44))
    assert found.part == "generator"
    assert render_message(found.message) == (
        "generator-bound: hottest thread of the generator needed a CPU for 87 % of the time and waited for it for "
        "44 %, as other programs had it; beside it redis 55 %"
    )
    assert limited(busy("redis", 0.55), starved(0.8, 0.05)).part == "latency", "they had little of it"
    assert limited(busy("redis", 0.55), starved(0.2, 0.3)).part == "latency", "it waited for replies most of the time"
    assert limited(busy("redis", 0.95), starved(0.43, 0.44)).part == "server"
    assert limited(waiting(0.5), starved(0.43, 0.44)).part == "pool"
    assert limited(at_a_rate(1.0), starved(0.43, 0.44)).part == "paced"


def test_a_server_whose_cpu_others_have_is_the_limit(limited: Callable[..., Bottleneck]) -> None:
    def kept(waited: float, others: float) -> Change:
        def change(line: Line) -> None:
            line["facts"]["parts"]["redis"].update(main_thread_share=0.55, mean_share=0.55, wait_share=waited)
            shares = {"busy": 100 * (0.55 + waited), "stolen": 0, "others": 100 * others}
            each_cpu(cpu0=shares, cpu1={"busy": 10, "stolen": 0, "others": 0})(line)

        return change

    found = limited(kept(0.3, 0.3))
    assert found.part == "server"
    assert render_message(found.message).startswith(
        "server-bound: main thread of redis needed a CPU for 85 % of the time and waited for it for 30 %"
    )
    assert limited(kept(0.3, 0.02)).part == "latency", "it waited for parts of its own system"


def test_a_rate_that_the_round_trips_do_not_give_is_not_said(limited: Callable[..., Bottleneck]) -> None:
    """One stall stands in the mean of the responses."""

    def stalled(line: Line) -> None:
        operation = line["facts"]["drive"]["operations"]["set"]
        operation["response_sum_ns"] *= 5

    found = limited(stalled)
    assert found.part == "latency"
    assert render_message(found.message).startswith("latency-bound: 32 users wait for round trips, ")
    assert "X = N" not in render_message(found.message)


def test_of_several_numbers_of_users_one_round_trip_is_said(clean: Line) -> None:
    def users(number: int) -> Change:
        def change(line: Line) -> None:
            line["facts"]["plan"]["model"]["users"] = number
            operation = line["facts"]["drive"]["operations"]["set"]
            operation["response_sum_ns"] = operation["response_sum_ns"] * number // 32

        return change

    found = bottleneck_of([changed(clean, users(number)) for number in (16, 32, 64)])
    assert found is not None
    assert render_message(found.message).startswith("latency-bound, X = N/(R+Z) = 32 users / 1")


def test_a_full_driver(limited: Callable[..., Bottleneck]) -> None:
    found = limited(busy("generator", 0.97))
    assert (found.part, render_message(found.message)) == (
        "generator",
        "generator-bound: hottest thread of the generator 97 % busy, 4.85 ms a request",
    )


def test_a_line_that_is_full_is_named_before_what_is_less_so(limited: Callable[..., Bottleneck]) -> None:
    found = limited(busy("redis", 0.6), behind_line(0.97))
    assert found.part == "network"
    assert render_message(found.message).startswith(
        "network-bound: the line to redis 97 % busy, 4.85 ms a request; beside it redis 60 %"
    )
    assert found.evidence["redis.link"] == 0.97
    assert limited(busy("redis", 0.96), behind_line(0.95)).part == "server"
    assert limited(busy("redis", 0.92), behind_line(0.95)).part == "network"
    assert limited(busy("redis", 0.6), behind_line(0.85)).part == "latency"


def test_of_two_that_are_full_both_are_named(limited: Callable[..., Bottleneck]) -> None:
    found = limited(busy("generator", 0.99), busy("redis", 0.96))
    assert found.part == "server"
    assert "main thread of redis 96 %" in render_message(found.message)
    assert "generator 99 %" in render_message(found.message)
    assert limited(busy("generator", 0.99), busy("redis", 0.92)).part == "generator"


def test_the_parts_that_its_line_names_are_known_by_their_names(limited: Callable[..., Bottleneck]) -> None:
    assert limited(busy("redis", 0.96)).named == ["redis"]
    assert limited(busy("generator", 0.99), busy("redis", 0.96)).named == ["generator", "redis"]
    assert limited().named == ["redis", "generator"], "nothing is full, and how full all are is said"
    assert limited(with_app(1.9)).named == ["app", "redis"], "the store behind it, too"
    assert limited(waiting(0.875)).named == []


def test_a_driver_that_spins_is_not_full(limited: Callable[..., Bottleneck]) -> None:
    spins = at_a_rate(1.0), lambda line: line["facts"]["plan"]["model"].update(spin_us=30.0)
    assert limited(busy("generator", 1.0), *spins).part == "paced"


def test_cpu_that_the_driver_stayed_awake_for_is_free(clean: Line) -> None:
    def awake(line: Line) -> None:
        calls = {"wakeups": 9, "receives": 9, "replies": 9, "sends": 9, "requests": 9, "spun_ns": int(5.4e9)}
        line["facts"]["host"]["idle_share"] = 0.01
        line["facts"]["drive"]["measure_s"] = 6.0
        line["facts"]["drive"]["threads"][0].update(cpu_s=5.6, wall_s=6.0, waited_s=0.0, calls=calls)
        line["facts"]["placement"].update(server_cpus=[0], generator_cpus=[1])

    load = typical_load([changed(clean, awake)])
    assert load is not None
    assert load.free == pytest.approx(0.01 + 0.9 / 2)


def test_a_pool_smaller_than_its_users(limited: Callable[..., Bottleneck]) -> None:
    found = limited(waiting(0.875))
    assert found.part == "pool"
    assert "64 connections for 32 users" in render_message(found.message)
    assert limited(waiting(0.05)).part == "latency"
    assert limited(waiting(0.875), busy("redis", 0.99)).part == "server"


def test_a_load_that_was_set_is_paced(limited: Callable[..., Bottleneck]) -> None:
    assert limited(at_a_rate(1.0)).part == "paced"
    assert limited(pausing(500)).part == "paced"
    short = limited(pausing(5))
    assert short.part == "latency"
    assert "5.00 ms pause" in render_message(short.message)


def test_a_rate_that_was_not_reached_is_not_paced(limited: Callable[..., Bottleneck]) -> None:
    assert limited(at_a_rate(0.7)).part == "unknown"
    assert limited(at_a_rate(0.7), waiting(0.9)).part == "pool"
    assert limited(at_a_rate(0.7), busy("redis", 0.99)).part == "server"


def test_a_subject_may_use_all_its_cpus(limited: Callable[..., Bottleneck]) -> None:
    found = limited(with_app(1.9))
    assert found.part == "subject"
    assert (
        render_message(found.message)
        == "subject-bound: app 1.90 of its 2 CPUs, 9.50 ms a request; the store behind it: redis 55 %"
    )
    assert limited(with_app(1.2)).part == "latency"
    assert limited(with_app(1.0, main_thread=0.97)).part == "subject"


def each_cpu(**figures: dict[str, float]) -> Change:
    """What was observed of each CPU, in per cent."""

    def change(line: Line) -> None:
        for cpu, shares in figures.items():
            line["facts"]["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in shares.items()}

    return change


def both_cpus(busy: float, stolen: float = 0.0, others: float = 0.0) -> Change:
    shares = {"busy": busy, "stolen": stolen, "others": others}
    return each_cpu(cpu0=shares, cpu1=shares)


def test_parts_that_fill_their_cpus_together_are_named_together(limited: Callable[..., Bottleneck]) -> None:
    found = limited(with_app(1.3), both_cpus(96))
    assert found.part == "cpu", "neither of them is full: the CPUs that they share are"
    assert render_message(found.message) == (
        "bound by a shared CPU: app 1.30, redis 0.60 share 2 CPUs, 96 % busy: the placement decides, and more "
        "instances cannot help on them"
    )
    assert limited(with_app(1.3), both_cpus(80)).part == "latency"


def test_a_full_cpu_is_never_called_round_trips(limited: Callable[..., Bottleneck]) -> None:
    """A server that had 80 % of a CPU of which neighbours took the rest: nothing of ours was full, the CPU was."""
    one = limited(busy("redis", 0.7), each_cpu(cpu0={"busy": 95, "stolen": 15, "others": 10}))
    assert one.part == "server"
    assert (
        render_message(one.message)
        == "server-bound: redis 0.70, other programs 0.10, other machines 0.15 of 1 CPU, 95 % busy"
    )


def test_others_that_had_more_than_what_is_measured_are_the_bottleneck(limited: Callable[..., Bottleneck]) -> None:
    found = limited(busy("redis", 0.3), each_cpu(cpu0={"busy": 99, "stolen": 0, "others": 66}))
    assert found.part == "unknown"
    assert (
        render_message(found.message) == "not the measured system: redis 0.30, other programs 0.66 of 1 CPU, 99 % busy"
    )


def test_a_server_that_cannot_be_observed_is_not_called_idle(limited: Callable[..., Bottleneck]) -> None:
    assert limited(unobserved).part == "unknown"
    assert limited(unobserved, busy("generator", 0.97)).part == "generator"
    assert limited(unobserved, at_a_rate(1.0)).part == "unknown"


def test_of_several_trials_the_median_counts(clean: Line) -> None:
    trials = [changed(clean, busy("redis", share)) for share in (0.2, 0.96, 0.97)]
    found = bottleneck_of(trials)
    assert found is not None
    assert found.part == "server"
    assert found.evidence["redis"] == pytest.approx(0.96)
    assert bottleneck_of(trials[:1] * 2 + trials[1:2]).part == "latency"  # type: ignore[union-attr]


def test_without_data_there_is_no_bottleneck(
    synthetic: ModuleType, clean: Line, limited: Callable[..., Bottleneck | None]
) -> None:
    from loadstone.run_folder.make_trial import failed_trial_record

    assert bottleneck_of([]) is None
    plan = synthetic.make_plan()
    failed = failed_trial_record(synthetic.planned_trial("b01-001", {}, plan), plan, "connection refused", 1)
    assert bottleneck_of([failed]) is None
    assert limited(lambda line: line["counts"].update(ok=0)) is None
    assert limited(lambda line: line["facts"]["drive"].update(measure_s=0.3)) is None
    assert limited(lambda line: line.update(facts={})) is None
    assert limited(lambda line: line["facts"]["drive"].update(operations={})) is None
    assert bottleneck_of([failed, changed(clean, busy("redis", 0.99))]).part == "server"  # type: ignore[union-attr]


def test_an_application_at_its_limit_is_named_beside_its_idle_stores(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(1.02, limit=1.0))
    assert found.part == "subject"
    assert (
        render_message(found.message)
        == "subject-bound: spring 1.02 of its 1 CPU, 5.10 ms a request; the stores are idle (mariadb 12 %, redis 3 %)"
    )
    assert found.evidence["spring"] == pytest.approx(1.02)
    one = limited(behind_app(1.02, limit=1.0, stores={"redis": 0.03}))
    assert render_message(one.message).endswith("; the store is idle (redis 3 %)")
    busy_store = limited(behind_app(1.02, limit=1.0, stores={"mariadb": 0.7}))
    assert render_message(busy_store.message).endswith("; the store behind it: mariadb 70 %")


def test_replicas_count_together_against_the_limits_of_all(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(1.96, replicas=2, limit=1.0))
    assert render_message(found.message).startswith("subject-bound: spring 1.96 of its 2 CPUs, 9.80 ms a request;")
    assert limited(behind_app(1.02, replicas=2, limit=1.0)).part == "latency"
    crowded = limited(behind_app(1.96, replicas=4, limit=1.0, cpus=(0, 2)))
    assert render_message(crowded.message).startswith(
        "bound by a shared CPU: spring 1.96 of its 2 CPUs, 9.80 ms a request (4 processes share them: more of them "
        "cannot help);"
    ), "no more than it was given"
    assert crowded.part == "cpu"


def test_a_limit_that_is_not_in_force_is_none(limited: Callable[..., Bottleneck]) -> None:
    def unavailable(line: Line) -> None:
        line["facts"]["subjects"]["spring"]["limits"] = {"cpu": {"status": "unavailable", "why": "no control group"}}

    assert limited(behind_app(1.02, limit=1.0), unavailable).part == "latency"


def test_a_throttled_application_is_at_its_limit_whatever_its_average(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(0.4, limit=0.5, throttled=0.34))
    assert found.part == "subject"
    assert "spring 0.40 of its 0.5 CPU, throttled by its limit for 34 % of the time" in render_message(found.message)
    assert limited(behind_app(0.4, limit=0.5, throttled=0.05)).part == "latency"


def test_a_mariadb_is_a_server_of_many_threads(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(0.8, stores={"mariadb": 0.98}))
    assert (found.part, render_message(found.message)) == (
        "server",
        "server-bound: mariadb 0.98 of its 1 CPU, 4.90 ms a request",
    )


def test_a_server_that_waits_for_the_disk(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(0.8), waits_for_disk(31, fsyncs_per_s=120.0))
    assert found.part == "disk"
    assert (
        render_message(found.message) == "disk-bound: mariadb, with 120 fsyncs a second, waits for the disk (wa 31 %)"
    )
    assert found.evidence["disk"] == pytest.approx(0.31 * 5)
    assert limited(behind_app(0.8), waits_for_disk(5, fsyncs_per_s=120.0)).part == "latency"
    assert limited(behind_app(0.8), waits_for_disk(31, fsyncs_per_s=0.0)).part == "latency", "somebody else's disk"
    assert limited(behind_app(1.0, limit=1.0), waits_for_disk(31, fsyncs_per_s=120.0)).part == "subject"


def test_a_machine_that_others_filled_tells_nothing(limited: Callable[..., Bottleneck]) -> None:
    def others(line: Line) -> None:
        line["facts"]["host"]["idle_share"] = 0.01

    assert render_message(limited(behind_app(0.8), others).message) == (
        "not the measured system: spring 0.80, mariadb 0.12, redis 0.03, other programs 3.05 of 4 CPUs, 100 % busy"
    )
    assert limited(behind_app(0.8), others, waits_for_disk(30)).part == "latency", "waiting for the disk is not work"
    assert limited(behind_app(1.0, limit=1.0), others).part == "subject"


def test_an_applications_own_pool(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(0.8, hikari_pending=41.0, hikari_active=10.0))
    assert found.part == "pool"
    assert (
        render_message(found.message)
        == "pool-bound: 41 threads of spring wait for its connections to the database, 10 of which are in use"
    )
    assert limited(behind_app(0.8, redis_pool_pending=0.2)).part == "latency"
    both = limited(behind_app(0.8, replicas=2, redis_pool_pending=3.0, redis_pool_active=8.0))
    assert (
        render_message(both.message)
        == "pool-bound: 6 threads of spring wait for its connections to Redis, 16 of which are in use"
    )
    assert limited(behind_app(1.0, limit=1.0, hikari_pending=41.0)).part == "subject"


def test_a_store_that_cannot_be_observed_may_be_what_is_full(limited: Callable[..., Bottleneck]) -> None:
    found = limited(behind_app(0.8, stores={}))
    assert found.part == "unknown"
    assert render_message(found.message).startswith(
        "not known: how busy redis was could not be observed; nothing else was saturated (spring 20 %"
    )
    assert limited(behind_app(1.0, limit=1.0, stores={})).part == "subject"


def _at_the_disk(share: float) -> Callable[[Any], None]:
    def inject(line: Any) -> None:
        line["facts"]["parts"]["redis"]["disk_share"] = share

    return inject


def test_a_server_that_waits_for_its_disk_is_bound_by_that_and_not_by_round_trips(
    limited: Callable[..., Bottleneck],
) -> None:
    found = limited(busy("redis", 0.3), _at_the_disk(0.38))
    assert (found.part, found.share, found.demand_ns) == ("disk", 0.38, 1_900_000)
    assert render_message(found.message) == (
        "disk-bound: the disk (fsync) of redis, 1.90 ms a request, 38 % of the time; its CPU 1.50 ms a request, "
        "30 % of the time; beside it generator 0 %"
    )
    found = limited(busy("redis", 0.4), _at_the_disk(0.25))
    assert (found.part, found.share, found.demand_ns) == ("server", 0.4, 2_000_000)
    assert render_message(found.message).startswith(
        "server-bound: main thread of redis, 2.00 ms a request, 40 % of the time; the disk (fsync) 1.25 ms a request, "
    )
    full = limited(busy("redis", 0.55), _at_the_disk(0.4))
    assert render_message(full.message) == (
        "server-bound: main thread of redis 95 % busy, 2.75 ms a request, 40 % of the time waiting for the disk (fsync)"
    )
    assert limited(busy("redis", 0.3), _at_the_disk(0.6)).part == "disk", "it is full, of that"
    assert limited(busy("redis", 0.4), _at_the_disk(0.1)).part == "latency"


def test_replicas_on_one_cpu_are_named_with_it(limited: Callable[..., Bottleneck]) -> None:
    """Two processes of 42 % and a Redis of 16 % fill the CPU that they share: none of them is the limit."""

    def two(line: Line) -> None:
        line["facts"]["kinds"]["app"] = "subject"
        line["facts"]["subjects"]["app"] = {"replicas": 2, "ours": True}
        for number in (1, 2):
            line["facts"]["parts"][f"app-{number}"] = {"mean_share": 0.42, "main_thread_share": 0.42}

    found = limited(two, busy("redis", 0.16), each_cpu(cpu0={"busy": 100, "stolen": 0, "others": 0}))
    assert found.part == "cpu"
    assert "app 0.84 (2 processes), redis 0.16 share 1 CPU, 100 % busy" in render_message(found.message)
    assert "more instances cannot help on it" in render_message(found.message)


def test_a_line_whose_delay_users_wait_for_is_named(limited: Callable[..., Bottleneck]) -> None:
    def slow(line: Line) -> None:
        line["facts"]["links"] = {"redis": {"requested_ns": 120_000_000, "part": "redis.link", "busy_share": 0.02}}

    found = limited(slow)
    assert (found.part, found.demand_ns) == ("network", 120_000_000)
    assert render_message(found.message).startswith("network-bound: the line to redis adds 120 ms to a request, 7")
    assert limited(behind_line(0.02)).part == "latency", "a millisecond of 160"


def test_neighbours_do_not_take_the_place_of_a_line_that_explains_the_time(limited: Callable[..., Bottleneck]) -> None:
    def far(delay_ns: int) -> Change:
        link = {"requested_ns": delay_ns, "part": "redis.link", "busy_share": 0.02}
        return lambda line: line["facts"].update(links={"redis": link})

    crowd = each_cpu(cpu0={"busy": 99, "stolen": 0, "others": 66})
    assert limited(busy("redis", 0.3), crowd, far(120_000_000)).part == "network"
    assert limited(busy("redis", 0.3), crowd, far(20_000_000)).part == "unknown"
