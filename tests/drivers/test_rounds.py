"""Real servers whose drives take turns: all is counted, and who is paused does nothing. Needs the built engine."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
import redis
from tests.real_servers import settled

from loadstone.drivers.driver import RoundsOptions, Timetable
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord, Interval, read_record
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.safety.errors import DriveFailed
from loadstone.servers.redis.control import RedisControl

from .conftest import Store

Stores = tuple[Store, Store]
ROUNDS = 6
SOME_S = 0.001
"""Who paused last may still be on its way to sleep when the next slice begins: some microseconds of CPU time."""
MODELS: dict[str, dict[str, object]] = {
    "closed": {},
    "thinking": {"model": Closed(users=16, think_time_ms=2.0, think_time="exponential")},
    "few connections": {"model": Closed(users=16), "pool": Pool(connections=3)},
    "pipelines of two threads": {"threads": 2, "pipeline_depth": 8},
    "constant arrivals": {"model": Open(rate_per_s=2000.0)},
    "poisson arrivals of two threads": {"threads": 2, "model": Open(rate_per_s=2000.0, arrivals="poisson")},
}


def plan(endpoint: Endpoint, **parts: object) -> Plan:
    return Plan(
        **{  # type: ignore[arg-type]
            "endpoints": (endpoint,),
            "model": Closed(users=4),
            "pool": Pool(connections=4),
            "phases": Phases(warm_up_s=0, measure_s=1.0, drain_s=5.0),
            "operations": (
                Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
            ),
            "keys": Keys(prefix="loadstone:rounds:", count=50),
            "interval_s": 0.1,
            **parts,
        }
    )


def options(rounds: int = ROUNDS, **parts: object) -> RoundsOptions:
    orders = tuple((number % 2, 1 - number % 2) for number in range(rounds))
    return RoundsOptions(**{"slice_s": 0.05, "settle_s": 0.005, "orders": orders, **parts})  # type: ignore[arg-type]


def drive(shares: Sequence[Plan], rounds: RoundsOptions) -> list[DriveRecord]:
    return NativeDriver().drive(shares, lambda _, __: None, rounds)


def runtime_s(schedstat: Path) -> float:
    """CPU time of a thread, or of the first thread of a process, to the nanosecond."""
    return int(schedstat.read_text().split()[0]) / 1e9


def process_s(process: psutil.Process) -> float:
    """CPU time of all threads of a process, to the nanosecond where they are idle."""
    return sum(runtime_s(Path(f"/proc/{process.pid}/task/{thread.id}/schedstat")) for thread in process.threads())


def watched(look: Callable[[], object], work: Callable[[], list[DriveRecord]]) -> tuple[list, list[DriveRecord]]:  # type: ignore[type-arg]
    """What `look` found while work was going on: time before, time after, finding."""
    found: list[tuple[int, int, object]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            before = time.time_ns()
            finding = look()
            found.append((before, time.time_ns(), finding))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        return found, work()
    finally:
        done.set()
        thread.join()


def within_turns(found: list, record: DriveRecord, settle_s: float) -> list[list[object]]:  # type: ignore[type-arg]
    """The findings of each of a drive's slices, from its begin to the end of its drain."""
    seconds = [
        ((before - record.started_unix_ns) / 1e9, (after - record.started_unix_ns) / 1e9, finding)
        for before, after, finding in found
    ]
    return [
        [finding for before, after, finding in seconds if one.begin_s - settle_s <= before and after <= one.drained_s]
        for one in record.slices
    ]


@pytest.mark.parametrize("model", MODELS)
def test_all_is_counted_as_the_servers_count_it(stores: Stores, model: str) -> None:
    before = [store.calls() for store in stores]
    taken: list[tuple[int, Interval]] = []
    driver = NativeDriver()
    shares = [plan(store.endpoint, **MODELS[model]) for store in stores]
    records = driver.drive(shares, lambda number, interval: taken.append((number, interval)), options())
    for number, (store, record) in enumerate(zip(stores, records, strict=True)):
        assert store.calls() - before[number] == record.commands["SET"].sent == record.total.ok
        assert (record.stopped, len(record.slices)) == (None, ROUNDS)
        counts = record.operations["set"].counts
        assert counts.offered == counts.sent + counts.dropped + counts.unsent
        assert counts.sent == counts.ok + sum(counts.errors.values()) + counts.timeouts + counts.in_flight
        assert sum(one.offered for one in record.slices) == counts.offered
        assert sum(one.completed for one in record.slices) == record.operations["set"].window_completed
        assert sum(one.ok for one in record.slices) == record.operations["set"].window_ok > 0
        assert sum(one.turn_ok or 0 for one in record.slices) == record.total.ok
        assert sum(one.end_s - one.begin_s for one in record.slices) == pytest.approx(record.measure_s)
        own = [interval for of, interval in taken if of == number]
        assert [one.index for one in own] == list(range(len(own)))
        assert sum(one.operations["set"].ok for one in own) == record.total.ok
        assert sum(one.duration_s for one in own if one.phase == "measure") == pytest.approx(record.measure_s)
        assert all(one.start_unix_ns >= record.started_unix_ns for one in own)


def test_slices_never_overlap_and_every_round_is_in_its_order(stores: Stores) -> None:
    rounds = options()
    records = drive([plan(store.endpoint) for store in stores], rounds)
    assert records[0].started_unix_ns == records[1].started_unix_ns
    slices = sorted((one.begin_s, one, number) for number, record in enumerate(records) for one in record.slices)
    for (_, one, _), (_, following, _) in pairwise(slices):
        assert one.begin_s < one.end_s <= one.drained_s <= following.begin_s
    assert [number for _, _, number in slices] == [number for order in rounds.orders for number in order]
    assert [one.round * 2 + one.position for _, one, _ in slices] == list(range(2 * ROUNDS))


def test_who_is_paused_requests_nothing(stores: Stores) -> None:
    shares = [plan(store.endpoint) for store in stores]
    rounds = options(4, slice_s=0.3)
    found, records = watched(lambda: tuple(store.calls() for store in stores), lambda: drive(shares, rounds))
    for number, record in enumerate(records):
        for findings in within_turns(found, record, rounds.settle_s):
            paused = {calls[1 - number] for calls in findings}  # type: ignore[index]
            assert len(paused) <= 1
        assert any(len(set(findings)) > 1 for findings in within_turns(found, record, rounds.settle_s))


def test_threads_of_a_paused_drive_use_no_cpu(stores: Stores) -> None:
    def usage() -> dict[str, float]:
        used = {}
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError, IndexError):
                if (task / "comm").read_text().startswith("engine-"):
                    used[task.name] = runtime_s(task / "schedstat")
        return used

    shares = [plan(store.endpoint, threads=2) for store in stores]
    rounds = options(4, slice_s=0.3)
    found, records = watched(usage, lambda: drive(shares, rounds))
    users: list[set[str]] = []
    for record in records:
        turns = [findings for findings in within_turns(found, record, rounds.settle_s) if len(findings) > 1]
        assert turns, "the machine left no time to look"
        used = [{task for task in last if last[task] > first[task] + SOME_S} for first, *_, last in turns]  # type: ignore
        users.append(set().union(*used))
    assert not users[0] & users[1]
    assert users[0]
    assert users[1]


def test_the_cpu_of_parts_is_what_the_kernel_counts_elsewhere(stores: Stores) -> None:
    stat = [Path(f"/proc/{store.pid}/schedstat") for store in stores]
    shares = [plan(store.endpoint) for store in stores]
    rounds = options(8, slice_s=0.2, settle_s=0, parts=tuple({"redis": (store.pid,)} for store in stores))
    before = [runtime_s(path) for path in stat]
    records = drive(shares, rounds)
    for path, earlier, record in zip(stat, before, records, strict=True):
        spent_s = runtime_s(path) - earlier
        measured_s = sum(one.parts["redis"].cpu_s or 0.0 for one in record.slices)
        in_kernel_s = [one.parts["redis"].system_s for one in record.slices]
        assert None not in in_kernel_s
        assert sum(filter(None, in_kernel_s)) <= measured_s + 0.02 * len(record.slices), "to a tick at both ends"
        outside_s = sum(one.drained_s - one.end_s for one in record.slices) + 0.05
        # The first thread of a Redis does its work; its others have next to nothing to do.
        assert spent_s - outside_s <= measured_s <= spent_s * 1.02 + 0.01
        assert measured_s <= record.measure_s * 1.02
        main_s = sum(one.parts["redis"].main_s or 0.0 for one in record.slices)
        assert main_s == pytest.approx(measured_s, rel=0.1)
        waited_s = sum(one.parts["redis"].main_wait_s or 0.0 for one in record.slices)
        assert 0 <= waited_s <= record.measure_s
        assert set(record.cpus) >= {"0"}
        busy_s = sum(one.cpus_busy_s or 0.0 for one in record.slices)
        assert busy_s == pytest.approx(sum(cpu.busy_s + cpu.steal_s for cpu in record.cpus.values()), abs=0.01)
        assert busy_s + 0.02 * len(record.slices) * len(record.cpus) > measured_s, "to the tick"


def test_turns_and_pauses_hold_all_cpu_time_of_a_part(stores: Stores) -> None:
    """At the ends of a turn a server is idle: none of its time is missed, or counted twice, in short slices either."""
    processes = [psutil.Process(store.pid) for store in stores]
    shares = [plan(store.endpoint, model=Closed(users=32), pool=Pool(connections=32)) for store in stores]
    rounds = options(40, slice_s=0.02, parts=tuple({"redis": (store.pid,)} for store in stores))
    before_s = [process_s(one) for one in processes]
    records = drive(shares, rounds)
    for process, earlier_s, record in zip(processes, before_s, records, strict=True):
        spent_s = process_s(process) - earlier_s
        parts = [one.parts["redis"] for one in record.slices]
        turns_s = sum(part.turn_cpu_s or 0.0 for part in parts)
        paused_s = sum(part.paused_cpu_s or 0.0 for part in parts)
        assert turns_s > sum(part.cpu_s or 0.0 for part in parts)
        # Before the first turn its connections were opened, and after the last one they were closed.
        assert spent_s - 0.02 <= turns_s + paused_s <= spent_s


def test_what_parts_do_while_their_drive_is_paused_is_counted_apart(stores: Stores) -> None:
    """Someone else keeps the first server busy all the time."""
    stat = Path(f"/proc/{stores[0].pid}/schedstat")
    done = threading.Event()

    def keep_busy() -> None:
        at = stores[0].endpoint
        client = redis.Redis(port=at.port, username=at.username, password=at.password)
        while not done.is_set():
            client.ping()

    other = threading.Thread(target=keep_busy)
    rounds = options(8, slice_s=0.1, settle_s=0, parts=tuple({"redis": (store.pid,)} for store in stores))
    other.start()
    try:
        before_s = runtime_s(stat)
        records = drive([plan(store.endpoint) for store in stores], rounds)
        spent_s = runtime_s(stat) - before_s
    finally:
        done.set()
        other.join()
    busy, idle = (record.slices for record in records)
    assert (busy[0].paused_s, busy[0].parts["redis"].paused_cpu_s) == (None, None)
    paused_s = [sum(one.parts["redis"].paused_cpu_s or 0.0 for one in slices) for slices in (busy, idle)]
    assert 2 * paused_s[1] < paused_s[0] <= spent_s
    within_s = sum(one.parts["redis"].cpu_s or 0.0 for one in busy)
    assert within_s + paused_s[0] <= spent_s * 1.02 + 0.01
    for slices in (busy, idle):
        for earlier, later in pairwise(slices):
            assert later.paused_s == pytest.approx(later.begin_s - earlier.drained_s, abs=0.005)


def test_a_part_that_other_drives_use_says_nothing_of_pauses(stores: Stores) -> None:
    rounds = options(3, parts=({"redis": (stores[0].pid,)}, {"redis": (stores[0].pid, stores[1].pid)}))
    for record in drive([plan(store.endpoint) for store in stores], rounds):
        assert {one.parts["redis"].paused_cpu_s for one in record.slices} == {None}


def test_the_cpu_of_a_part_that_is_not_there_is_unknown(stores: Stores) -> None:
    rounds = options(1, parts=({"redis": (stores[0].pid, 4194304)}, {}))
    records = drive([plan(store.endpoint) for store in stores], rounds)
    assert [one.parts["redis"].cpu_s for one in records[0].slices] == [None]
    assert [one.parts for one in records[1].slices] == [{}]


def test_a_stop_in_mid_slice_ends_all_and_every_later_drive_at_once(stores: Stores) -> None:
    driver = NativeDriver()
    shares = [plan(store.endpoint) for store in stores]
    stopper = threading.Timer(0.5, driver.stop)
    stopper.start()
    long = options(100, slice_s=60.0)
    begun = time.monotonic()
    for records in (driver.drive(shares, lambda _, __: None, long) for _ in range(2)):
        for record in records:
            assert record.stopped == "stopped on request"
            assert record.total.sent == record.total.ok + record.total.in_flight
            assert sum(one.completed for one in record.slices) == record.operations["set"].window_completed
    assert time.monotonic() - begun < 20
    stopper.join()


def test_a_server_that_dies_ends_the_rounds_and_its_drive_says_so(stores: Stores) -> None:
    killed = threading.Event()

    def kill(_: int, __: Interval) -> None:
        if not killed.is_set():
            os.kill(stores[0].pid, signal.SIGKILL)
        killed.set()

    shares = [plan(store.endpoint, timeouts=Timeouts(gone_s=0.3)) for store in stores]
    before = stores[1].calls()
    dead, alive = NativeDriver().drive(shares, kill, options(10_000))
    assert str(dead.stopped).startswith("server gone: no connection for 0.3 s")
    assert alive.stopped == f"drive 0 of the rounds ended: {dead.stopped}"
    assert (alive.total.in_flight, alive.total.errors) == (0, {})
    assert stores[1].calls() - before == alive.commands["SET"].sent
    assert all(one.end_s - one.begin_s == pytest.approx(0.05) for one in alive.slices)


def test_what_the_callback_raises_ends_all_drives(stores: Stores) -> None:
    def full(_: int, __: Interval) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        NativeDriver().drive([plan(store.endpoint) for store in stores], full, options(10_000))
    calls = [settled(store.calls) for store in stores]
    time.sleep(0.2)
    assert [store.calls() for store in stores] == calls


def test_what_cannot_be_driven_by_turns_fails_in_one_line(stores: Stores) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    good = plan(stores[0].endpoint)
    for other, why in (
        (plan(stores[1].endpoint, keys=Keys(count=50, distribution="exactly_once")), "plans[1].keys.distribution: "),
        (plan(stores[1].endpoint, start_at_unix_ns=1), "plans[1].start_at_unix_ns: "),
        (plan(Endpoint(port=port)), f"127.0.0.1:{port}: "),
    ):
        with pytest.raises(DriveFailed) as failed:
            drive([good, other], options())
        assert str(failed.value).startswith(f"driver: {why}")
        assert "\n" not in str(failed.value)
    with pytest.raises(DriveFailed, match=r"^driver: orders\[0\]: \[0\]: must hold each drive's number once"):
        drive([good, good], RoundsOptions(orders=((0,),)))


def test_a_record_without_slices_is_that_of_a_drive_as_a_whole(stores: Stores) -> None:
    record = drive([plan(store.endpoint) for store in stores], options(1))[0]
    earlier = record.model_dump(exclude={"slices", "cpus"})
    read = DriveRecord.model_validate(earlier)
    assert (read.slices, read.cpus) == ((), {})
    assert read_record(record.model_dump_json()) == record


def test_drives_by_turns_leave_no_connection(stores: Stores) -> None:
    drive([plan(store.endpoint) for store in stores], options(1))
    for store in stores:
        assert isinstance(store.control, RedisControl)
        assert len(str(store.control.call("CLIENT", "LIST")).strip().splitlines()) <= 1


def test_whoever_drives_runs_in_rests_alone(stores: Stores) -> None:
    """Python beside a slice takes CPU time from what is measured: it waits, and nothing is sent while it runs."""
    seen: list[tuple[str, tuple[int, int]]] = []

    def calls() -> tuple[int, int]:
        return stores[0].calls(), stores[1].calls()

    def rest() -> None:
        seen.append(("rest", calls()))
        time.sleep(0.02)
        seen.append(("rested", calls()))

    shares = [plan(store.endpoint) for store in stores]
    rounds = options(rest_every_s=0.1)
    records = NativeDriver().drive(shares, lambda place, _: seen.append((f"interval {place}", calls())), rounds, rest)
    assert all(record.stopped is None and len(record.slices) == ROUNDS for record in records)
    kinds = [kind for kind, _ in seen]
    assert kinds.count("rest") == kinds.count("rested") >= 3
    assert {"interval 0", "interval 1"} <= set(kinds)
    for (kind, before), (_, after) in pairwise(seen[: kinds[::-1].index("rested") * -1 or None]):
        if kind != "rested":
            assert after == before, "something was sent while Python ran"


def test_a_rest_that_raises_ends_the_rounds(stores: Stores) -> None:
    def rest() -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        NativeDriver().drive(
            [plan(store.endpoint) for store in stores], lambda *_: None, options(rest_every_s=0.1), rest
        )


def test_a_timetable_leaves_no_time_for_rests(stores: Stores) -> None:
    rounds = options(rest_every_s=0.1, timetable=Timetable(pause_s=0.05))
    with pytest.raises(DriveFailed, match=r"rest_every_s: a timetable leaves no time for rests"):
        drive([plan(store.endpoint) for store in stores], rounds)


def test_in_a_drive_without_rests_whoever_drives_runs_several_times_a_second(stores: Stores) -> None:
    """Also where intervals come so fast that nobody ever waits long for one."""
    rested: list[float] = []
    phases = Phases(warm_up_s=0, measure_s=1.0, drain_s=5.0)
    share = plan(stores[0].endpoint, phases=phases, interval_s=0.05)
    NativeDriver().drive([share], lambda *_: None, None, lambda: rested.append(time.monotonic()))
    assert len(rested) >= 4
