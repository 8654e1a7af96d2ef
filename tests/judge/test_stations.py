"""What a request takes of each station: demands by the utilisation law, their intervals, and what is nested."""

from typing import Any

import pytest
from tests.changed_facts import with_drive, with_facts
from tests.judge.checks import injectors

from loadstone.judge.bottleneck import bottleneck_of
from loadstone.judge.stations import Station, stations_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

SLICE_S = 0.1
PHASE_S = 6.0


def by_kind(trial: TrialRecord) -> dict[str, Station]:
    return {station.kind: station for station in stations_of([trial])}


def changed(trial: TrialRecord, **parts: Any) -> TrialRecord:
    return with_facts(trial, parts={**trial.facts.model_dump(mode="json")["parts"], **parts})


def of_redis(synthetic: Any, ran: float, waited: float, disk: float) -> TrialRecord:
    """One thread that runs, waits for a CPU that others have, and waits for its disk, as shares of the time."""
    figures = {"mean_share": ran, "main_thread_share": ran, "wait_share": waited, "disk_share": disk}
    return changed(synthetic.make_trial(), redis=figures)


def test_a_demand_is_busy_time_over_correct_replies(synthetic: Any) -> None:
    trial = of_redis(synthetic, ran=0.5, waited=0.0, disk=0.2)
    found = by_kind(trial)
    for kind, share in {"cpu": 0.5, "disk": 0.2}.items():
        station = found[kind]
        assert (station.part, station.servers, station.thread) == ("redis", 1.0, True)
        assert station.demand_ns == pytest.approx(1e9 * share / trial.goodput_per_s, rel=1e-6)
        assert station.busy == pytest.approx(share)


def test_the_utilisation_law_holds_for_what_may_be_full(synthetic: Any) -> None:
    trial = of_redis(synthetic, ran=0.5, waited=0.3, disk=0.2)
    for station in stations_of([trial]):
        assert station.servers is not None
        assert station.busy == pytest.approx(trial.goodput_per_s * station.demand_ns / 1e9 / station.servers)


def test_the_fullest_stands_first_and_idle_ones_are_left_out(synthetic: Any) -> None:
    found = stations_of([of_redis(synthetic, ran=0.2, waited=0.0, disk=0.6)])
    assert [station.kind for station in found][:2] == ["disk", "cpu"]
    assert all((station.busy or 0.0) >= 0.002 for station in found)
    assert "disk" not in by_kind(of_redis(synthetic, ran=0.2, waited=0.0, disk=0.0005))


def in_slices(synthetic: Any, disk_s: list[float | None], replies: list[int]) -> TrialRecord:
    slices = [
        {"round": number, "position": 0, "begin_s": float(number), "end_s": number + SLICE_S, "ok": ok, "completed": ok,
         "drained_s": number + SLICE_S, "offered": ok, "failed": 0, "cpu_s": 0.01,
         "parts": {"redis": {"cpu_s": 0.02, "main_s": 0.02, "main_wait_s": 0.0, "main_disk_s": seconds}}}
        for number, (seconds, ok) in enumerate(zip(disk_s, replies, strict=True))
    ]  # fmt: skip
    trial = with_drive(of_redis(synthetic, 0.2, 0.0, 0.5), slices=slices)
    length_s = SLICE_S * len(slices)
    return trial.model_copy(update={"duration_s": length_s, "goodput_per_s": sum(replies) / length_s})


def test_its_interval_is_that_of_the_slices(synthetic: Any) -> None:
    found = by_kind(in_slices(synthetic, [0.04, 0.06] * 10, [100] * 20))["disk"]
    assert found.demand_ns == pytest.approx(500_000)
    assert found.low_ns is not None
    assert found.high_ns is not None
    assert 430_000 < found.low_ns < 500_000 < found.high_ns < 570_000


def test_without_the_disk_of_each_slice_there_is_no_interval(synthetic: Any) -> None:
    found = by_kind(in_slices(synthetic, [0.05, None] * 10, [100] * 20))
    assert found["disk"].low_ns is None
    assert found["cpu"].low_ns is not None


def test_several_trials_have_the_stations_that_all_of_them_have(synthetic: Any) -> None:
    with_disk, without = of_redis(synthetic, 0.4, 0.0, 0.3), of_redis(synthetic, 0.2, 0.0, 0.0)
    found = {station.kind: station for station in stations_of([with_disk, without])}
    assert "disk" not in found
    assert found["cpu"].busy == pytest.approx(0.3)
    assert stations_of([]) == []


def test_a_cpu_limit_is_so_many_servers(synthetic: Any) -> None:
    limited = {"mean_share": 0.45, "main_thread_share": 0.45, "wait_share": 0.0, "cpu_limit": 0.5}
    found = by_kind(changed(synthetic.make_trial(), redis=limited))["cpu"]
    assert (found.servers, found.busy) == (0.5, pytest.approx(0.9))


def behind(synthetic: Any, **line: Any) -> TrialRecord:
    written = synthetic.make_trial().model_dump(mode="json")
    injectors.behind_line(**line)(written)
    return TrialRecord.model_validate(written)


def test_a_line_delays_each_request_and_is_never_full_by_that(synthetic: Any) -> None:
    found = by_kind(behind(synthetic, busy_share=0.2))
    assert found["delay"].demand_ns == pytest.approx(1_005_000)
    assert (found["delay"].servers, found["delay"].busy) == (None, None)
    assert found["line"].busy == pytest.approx(0.2)
    assert [station.kind for station in stations_of([behind(synthetic)])][-1] == "delay"


def test_a_narrow_line_is_busy_for_as_long_as_bytes_pass_it(synthetic: Any) -> None:
    """It is named though the line's thread has little to do."""
    trial = behind(synthetic, busy_share=0.02)
    sent = trial.facts.drive.total.sent  # type: ignore[union-attr]
    each_bytes = 1_000
    width = 8 * each_bytes * trial.throughput_per_s / 0.96  # so that it is busy for .96 of the time
    trial = behind(synthetic, busy_share=0.02, bits_per_s=width, carried_bytes=[each_bytes * sent, 10 * sent])
    found = by_kind(trial)["line"]
    assert found.busy == pytest.approx(0.96, rel=0.02)
    assert found.demand_ns == pytest.approx(8e9 * each_bytes / width, rel=0.02)
    limit = bottleneck_of([trial])
    assert limit is not None
    assert limit.part == "network"
    assert render_message(limit.message).startswith("network-bound: the line to redis 9")
    assert limit.demand_ns == found.demand_ns


def test_connections_that_users_share_are_held_and_waited_for(synthetic: Any) -> None:
    trial = synthetic.make_trial()
    plan = trial.facts.model_dump(mode="json")["plan"]
    users = plan["model"]["users"]
    assert "pool" not in by_kind(trial), "each user has a connection"
    shared = with_facts(trial, plan={**plan, "pool": {"connections": 2}})
    found = by_kind(shared)["pool"]
    assert (found.servers, found.part) == (2.0, "generator")
    service_ns = next(iter(trial.facts.drive.operations.values())).service_ns.mean
    assert found.demand_ns == pytest.approx(service_ns)
    assert users > 2
    assert found.queue_ns is not None


def locked(synthetic: Any, **seen: float) -> TrialRecord:
    """An application whose threads wait for a lock, as its monitors saw them."""
    written = synthetic.make_trial().model_dump(mode="json")
    facts = written["facts"]
    facts["kinds"]["app"] = "subject"
    facts["subjects"]["app"] = {"replicas": 1, "ours": True}
    facts["parts"]["app"] = {"mean_share": 0.1}
    facts["seen"]["app"] = {metric: {"avg": value, "max": value} for metric, value in seen.items()}
    return TrialRecord.model_validate(written)


def test_a_lock_that_threads_wait_for_is_the_limit(synthetic: Any) -> None:
    trial = locked(synthetic, lock_wait_share=0.9, lock_waiters=20.0)
    found = by_kind(trial)["lock"]
    assert found.demand_ns == pytest.approx(0.9e9 / trial.goodput_per_s)
    assert found.queue_ns == pytest.approx(20e9 / trial.goodput_per_s)
    limit = bottleneck_of([trial])
    assert limit is not None
    assert (limit.part, limit.demand_ns) == ("lock", found.demand_ns)
    assert render_message(limit.message).startswith(
        "lock-bound: threads of app wait for a lock, 100 ms a request, 63 % of its response time; it is held for "
        "4.50 ms a request, 90 % of the time; "
    )


@pytest.mark.parametrize(
    "seen",
    [
        {"lock_wait_share": 0.9, "lock_waiters": 5.0},  # most of the users are elsewhere
        {"lock_wait_share": 0.3, "lock_waiters": 20.0},  # it is free most of the time
        {"lock_wait_share": 0.0, "lock_waiters": 0.0},
    ],
)
def test_a_lock_that_explains_little_is_not_named(synthetic: Any, seen: dict[str, float]) -> None:
    written = locked(synthetic, **seen).model_dump(mode="json")
    limit = bottleneck_of([TrialRecord.model_validate(written)])
    assert limit is not None
    assert limit.part == "latency"
    injectors.becomes_http(written)
    limit = bottleneck_of([TrialRecord.model_validate(written)])
    assert limit is not None
    assert limit.part == "subject"
    assert render_message(limit.message).startswith("subject-bound: app held each request for 15"), (
        "where the load is for it"
    )


def test_threads_that_a_jvm_calls_blocked_wait_for_a_lock(synthetic: Any) -> None:
    found = by_kind(locked(synthetic, jvm_blocked=12.0, lock_waiters=1.0, lock_wait_share=0.1))["lock"]
    assert found.busy == 1.0
    assert found.queue_ns == pytest.approx(60e6, rel=0.01)


def test_servers_beside_the_one_that_is_loaded_are_no_stations(synthetic: Any) -> None:
    written = synthetic.make_trial().model_dump(mode="json")
    written["facts"]["kinds"]["other"] = "redis"
    written["facts"]["parts"]["other"] = {"mean_share": 0.1, "main_thread_share": 0.1}
    assert "other" in {station.part for station in stations_of([TrialRecord.model_validate(written)])}
    written["facts"]["target"] = "redis"
    assert "other" not in {station.part for station in stations_of([TrialRecord.model_validate(written)])}


@pytest.mark.parametrize(("share", "part"), [(0.8, "disk"), (0.5, "latency")])
def test_many_threads_at_the_disk(synthetic: Any, share: float, part: str) -> None:
    trial = locked(synthetic, disk_wait_share=share)
    found = by_kind(trial)["disk"]
    assert (found.servers, found.thread, found.busy) == (1.0, False, pytest.approx(share))
    limit = bottleneck_of([trial])
    assert limit is not None
    assert limit.part == part
    if part == "disk":
        assert render_message(limit.message).startswith(
            "disk-bound: threads of app wait for the disk, 4.00 ms a request, 80 % of the time; nothing was saturated ("
        )


@pytest.mark.parametrize("share", [-1e300, 1e308, float("inf")])
def test_figures_that_nobody_measured_are_no_station(synthetic: Any, share: float) -> None:
    """A run's folder may hold any numbers."""
    assert not {"cpu", "disk"} & by_kind(of_redis(synthetic, ran=share, waited=0.0, disk=share)).keys()
