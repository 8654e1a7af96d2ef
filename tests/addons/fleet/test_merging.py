"""Records and intervals of several agents as one: by a part of the same drive, and by real drives on a real Redis."""

import itertools
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.drivers.conftest import Store
from tests.drivers.test_rounds import plan as redis_plan
from tests.run_folder.synthetic import encoded, make_drive, make_plan, recorded, summary

from loadstone.addons.fleet.merging import AgentRecordSet, MergedIntervals, merged_interval, merged_record
from loadstone.drivers.histogram import Histogram, added
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import (
    Connections,
    CpuTimes,
    DriveRecord,
    EndpointRecord,
    ErrorExample,
    Failover,
    Interval,
    PhaseTimes,
    ProgramRecord,
    ReadBack,
    Redirections,
    Stall,
    ThreadRecord,
)
from loadstone.drivers.slices import PartSlice, Slice
from loadstone.experiment.plan.drive_plan import Keys, Plan, Pool
from loadstone.safety.errors import DriveFailed


def share_of(seed: int, **changes: object) -> tuple[DriveRecord, list[Interval]]:
    """What one agent delivered: everything in it is its own."""
    rng = random.Random(seed)
    drive = make_drive(make_plan(), seed=seed, per_interval=rng.randrange(50, 300), errors={f"kind_{seed % 3}": seed})
    waits = [rng.randrange(1, 10**6) for _ in range(300)]
    lags = [rng.randrange(1, 10**5) for _ in range(300)]
    parts: dict[str, Any] = {
        "pool_wait_ns": summary(waits),
        "schedule_lag_ns": summary(lags),
        "pool_wait_histogram": encoded(recorded(waits)),
        "schedule_lag_histogram": encoded(recorded(lags)),
        "connections": Connections(planned=4, opened=seed + 4, open_at_end=4, lost=seed, failed=0, closed_idle=0),
        "endpoints": [EndpointRecord(sent=seed * 100, ok=seed * 90, stale=seed)],
        "read_back": ReadBack(checked=seed, wrong=0, skipped=1),
        "threads": [ThreadRecord(cpu=seed, cpu_s=0.1 * seed, wall_s=6.0)],
        "clock_quantum_ns": 20 + seed,
        "overflowed": seed,
        "started_monotonic_ns": seed,
        "start_lag_ns": 10 * seed,
        **changes,
    }
    return drive.record.model_copy(update=parts), drive.intervals


@pytest.mark.parametrize("agents", [2, 5])
def test_counts_are_added_and_summaries_are_those_of_all_latencies(agents: int) -> None:
    records = [share_of(seed)[0] for seed in range(1, agents + 1)]
    merged = merged_record(records)
    operation, each = merged.operations["set"], [record.operations["set"] for record in records]
    assert operation.counts.ok == sum(one.counts.ok for one in each)
    assert operation.counts.errors == {
        kind: sum(one.counts.errors.get(kind, 0) for one in each) for one in each for kind in one.counts.errors
    }
    for counts in (operation.counts, merged.total):
        assert counts.offered == counts.sent + counts.dropped + counts.unsent
        assert counts.sent == counts.ok + sum(counts.errors.values()) + counts.timeouts + counts.in_flight
    for name in ("response", "service"):
        texts = [getattr(one, f"{name}_histogram") for one in each]
        together = added(map(Histogram.read, texts))
        assert Histogram.read(getattr(operation, f"{name}_histogram")).text() == together.text()
        assert getattr(operation, f"{name}_ns") == together.summary()
        assert together.total == operation.counts.ok
    assert merged.pool_wait_ns.count == 300 * agents
    assert merged.pool_wait_ns.max == max(record.pool_wait_ns.max for record in records)
    assert (
        merged.schedule_lag_ns.p99
        == added(Histogram.read(record.schedule_lag_histogram or "") for record in records).summary().p99
    )
    total = sum(range(1, agents + 1))
    assert merged.endpoints == [EndpointRecord(sent=100 * total, ok=90 * total, stale=total)]
    assert (merged.connections.planned, merged.connections.lost) == (4 * agents, total)
    assert (merged.read_back.checked, merged.read_back.skipped) == (total, agents)
    assert [thread.cpu for thread in merged.threads] == list(range(1, agents + 1))
    assert merged.commands["JSON.SET"].sent == sum(record.commands["JSON.SET"].sent for record in records)
    assert (merged.clock_quantum_ns, merged.overflowed) == (20 + agents, total)
    assert (merged.started_monotonic_ns, merged.start_lag_ns) == (None, 10 * agents)
    assert merged.bytes_sent == sum(record.bytes_sent for record in records)
    assert merged.agents == ()


def test_every_figure_of_a_record_is_merged_and_a_tree_yields_the_same() -> None:
    records = [share_of(seed)[0] for seed in range(1, 8)]
    flat = merged_record(records)
    in_a_tree = merged_record([merged_record(records[:3]), records[3], merged_record(records[4:])])
    assert in_a_tree == flat
    assert merged_record(records[:1]) is records[0]
    # What is new in a record and forgotten here would have its default, whatever the agents deliver.
    unmerged = DriveRecord.model_fields.keys() - flat.model_fields_set
    assert unmerged == {"receivers", "acknowledged", "program"}


def test_times_are_those_of_the_latest_agent() -> None:
    early, late = share_of(1)[0], share_of(2)[0]
    phases = {name: PhaseTimes(start_s=one.start_s + 0.5, end_s=one.end_s + 0.25) for name, one in late.phases.items()}
    merged = merged_record([early, late.model_copy(update={"phases": phases, "clock_set_s": -3.0})])
    assert merged.phases == phases
    assert merged.measure_s == pytest.approx(5.75)
    assert merged.clock_set_s == -3.0


def test_the_first_that_stopped_is_named_with_its_reason() -> None:
    records = [share_of(1)[0], share_of(2, stopped="lease ran out")[0], share_of(3, stopped="server gone")[0]]
    agents = [AgentRecordSet(f"a{number}", f"host{number}", skew_ns=number, skew_bound_ns=50) for number in range(3)]
    assert merged_record(records).stopped == "lease ran out"
    merged = merged_record(records, agents)
    assert merged.stopped == "agent a1: lease ran out"
    assert [agent.stopped for agent in merged.agents] == [None, "lease ran out", "server gone"]
    assert merged_record(records[1:2], agents[1:2]).stopped == "agent a1: lease ran out"


def test_each_agents_own_figures_stand_beside_the_sums() -> None:
    records = [share_of(seed)[0] for seed in (1, 2, 3)]
    agents = [
        AgentRecordSet("a0", "here", True, 2, 0, 0),
        AgentRecordSet("a1", "there", False, 4, 120, 40),
        AgentRecordSet("a2", "there", False, 4, -30, 35),
    ]
    merged = merged_record(records, agents)
    assert [(one.name, one.host, one.cpus) for one in merged.agents] == [
        ("a0", "here", 2),
        ("a1", "there", 4),
        ("a2", "there", 4),
    ]
    assert [(one.skew_ns, one.skew_bound_ns) for one in merged.agents] == [(0, 0), (120, 40), (-30, 35)]
    assert sum(one.counts.ok for one in merged.agents) == merged.operations["set"].counts.ok
    assert [one.response_ns.count for one in merged.agents] == [r.operations["set"].counts.ok for r in records]
    assert sum(one.threads for one in merged.agents) == len(merged.threads)
    pairs = [merged_record(records[:2], agents[:2]), merged_record(records[2:], agents[2:])]
    assert merged_record(pairs) == merged
    assert DriveRecord.model_validate_json(merged.model_dump_json()) == merged
    assert "agents" not in merged_record(records).model_dump(mode="json")


def test_what_cannot_be_added_is_refused_in_one_line() -> None:
    one, other = share_of(1)[0], share_of(2)[0]
    program = ProgramRecord(name="jedis", library="jedis", version="1", runtime="java", reports_pool_wait=True)
    renamed = {"get": other.operations["set"]}
    damaged = {"set": other.operations["set"].model_copy(update={"response_histogram": "HISTF"})}
    for changes, why in (
        ({"engine": "loadstone-engine 9"}, "differ in their engines"),
        ({"program": program}, "client library's program"),
        ({"operations": renamed}, "differ in their operations"),
        ({"operations": damaged}, "a histogram cannot be read"),
        ({"pool_wait_histogram": None}, "has no pool_wait_histogram"),
    ):
        with pytest.raises(DriveFailed, match=why) as refused:
            merged_record([one, other.model_copy(update=changes)])
        assert "\n" not in str(refused.value)


def stall(of: str, begin_s: float, end_s: float, waiting: int = 1) -> Stall:
    return Stall(of=of, begin_s=begin_s, end_s=end_s, waiting=waiting)  # type: ignore[arg-type]


def test_a_server_stood_still_where_no_agent_heard_of_it_and_a_driver_where_any_did_not_run() -> None:
    stalls = [
        (stall("server", 1, 3), stall("driver", 5, 6)),
        (stall("server", 2, 4, 7), stall("driver", 5.5, 7, 2), stall("server", 8, 9)),
    ]
    merged = merged_record([share_of(seed, stalls=own)[0] for seed, own in enumerate(stalls, 1)])
    assert merged.stalls == (stall("server", 2, 3, 8), stall("driver", 5, 7, 3))


def gap(lost_s: float, answered_s: float | None, primary: int) -> Failover:
    return Failover(lost_s=lost_s, answered_s=answered_s, primary=primary)


def test_outages_that_agents_saw_at_once_are_one() -> None:
    failovers = [(gap(1, 4, 2), gap(9, None, 0)), (gap(1.5, 3.5, 1), gap(5, 6, 0))]
    merged = merged_record([share_of(seed, failovers=own)[0] for seed, own in enumerate(failovers, 1)])
    assert merged.failovers == (gap(1, 3.5, 1), gap(5, 6, 0), gap(9, None, 0))


def test_redirections_and_examples_are_of_all_agents() -> None:
    sent_on = [None, Redirections(moved=2, ask=1), Redirections(moved=3, ask=0, unknown=1, unknown_address="x:1")]
    examples = [ErrorExample(operation="set", kind="server_oom", reply=f"OOM {number}") for number in range(3)]
    records = [share_of(1)[0]] + [
        share_of(seed, redirections=sent_on[seed], examples=(examples[seed],))[0] for seed in (1, 2)
    ]
    merged = merged_record(records)
    assert merged.redirections == Redirections(moved=5, ask=1, unknown=1, unknown_address="x:1")
    assert merged.examples == (examples[1],)


def slices_of(agent: int, rounds: Sequence[int], late_s: float) -> tuple[Slice, ...]:
    return tuple(
        Slice(
            round=number,
            position=0,
            begin_s=number + late_s,
            end_s=number + 0.1 + late_s,
            drained_s=number + 0.11 + late_s,
            offered=100 * agent,
            completed=90 * agent,
            ok=80 * agent,
            ok_first_half=40 * agent,
            failed=agent,
            ended=95 * agent,
            response_sum_ns=1000 * agent,
            cpu_s=0.01 * agent,
            turn_ok=100 * agent,
            cpus_busy_s=0.2,
            parts={} if agent == 1 else {"redis": PartSlice(cpu_s=0.05 * agent)},
        )
        for number in rounds
    )


def test_slices_of_the_same_round_are_added_and_their_windows_keep_their_length() -> None:
    cpus = {"0": CpuTimes(busy_s=1, idle_s=2, steal_s=0)}
    records = [
        share_of(1, slices=slices_of(1, [0, 1, 2], 0.0), cpus=cpus, measure_s=0.3)[0],
        share_of(2, slices=slices_of(2, [0, 1], 0.002), cpus=cpus, measure_s=0.2)[0],
        share_of(3, slices=slices_of(3, [0, 1, 2], 0.001), cpus=cpus, measure_s=0.3)[0],
    ]
    merged = merged_record(records)
    assert [one.round for one in merged.slices] == [0, 1]
    first = merged.slices[0]
    assert (first.offered, first.completed, first.ok, first.ok_first_half, first.failed) == (600, 540, 480, 240, 6)
    assert (first.ended, first.response_sum_ns, first.turn_ok) == (570, 6000, 600)
    assert first.end_s - first.begin_s == pytest.approx(0.1)
    assert first.drained_s == pytest.approx(0.112)
    # What the operations count was measured in 8 slices of .1 s by three agents.
    assert merged.measure_s == pytest.approx(0.8 / 3)
    assert first.parts == {"redis": PartSlice(cpu_s=0.1)}
    # Of several machines there is no sum: that of the command is told, where an agent is on it.
    assert (merged.cpus, first.cpus_busy_s) == ({}, None)
    agents = [AgentRecordSet("a", "there"), AgentRecordSet("b", "here", here=True), AgentRecordSet("c", "there")]
    for parts in (records, [merged_record(records[:2], agents[:2]), merged_record(records[2:], agents[2:])]):
        here = merged_record(parts, agents if len(parts) == 3 else ())
        assert (here.cpus, here.slices[0].cpus_busy_s) == (cpus, 0.2)
        assert here.measure_s == pytest.approx(0.8 / 3)
    unknown = [records[0], records[1].model_copy(update={"slices": (replace(records[1].slices[0], turn_ok=None),)})]
    assert merged_record(unknown).slices[0].turn_ok is None
    other = [records[0], records[1].model_copy(update={"slices": (replace(records[1].slices[0], position=1),)})]
    with pytest.raises(DriveFailed, match="orders of slices"):
        merged_record(other)


def test_an_interval_is_that_of_all_agents() -> None:
    each = [share_of(seed)[1][2] for seed in (1, 2, 3)]
    later = each[2].model_copy(update={"start_s": each[2].start_s - 0.25, "duration_s": 1.5, "index": 9})
    merged = merged_interval([*each[:2], later])
    operations = [one.operations["set"] for one in each]
    assert merged.operations["set"].ok == sum(one.ok for one in operations)
    assert merged.operations["set"].errors == {"kind_1": 1, "kind_2": 2, "kind_0": 3}
    assert merged.operations["set"].response_ns.count == sum(one.response_ns.count for one in operations)
    assert merged.operations["set"].response_ns.max == max(one.response_ns.max for one in operations)
    assert (merged.index, merged.start_s, merged.duration_s) == (each[0].index, each[0].start_s - 0.25, 1.5)
    assert (merged.users, merged.connections, len(merged.cpu_s)) == (96, 192, 3)
    assert merged_interval(each[:1]) is each[0]
    assert merged_interval([merged_interval(each[:2]), each[2]]) == merged_interval(each)
    with pytest.raises(DriveFailed, match="differ in their phases"):
        merged_interval([each[0], each[1].model_copy(update={"phase": "drain"})])


def deliveries(names: Sequence[str]) -> dict[str, list[Interval]]:
    return {name: share_of(seed)[1] for seed, name in enumerate(names, 1)}


def test_intervals_are_handed_on_once_every_agent_has_delivered_them() -> None:
    names = ("a", "b", "c")
    left = {name: list(intervals) for name, intervals in deliveries(names).items()}
    whole = [merged_interval(each) for each in zip(*left.values(), strict=True)]
    merging, published, rng = MergedIntervals(names), [], random.Random(5)
    while any(left.values()):
        name = rng.choice([name for name, intervals in left.items() if intervals])
        published += merging.take(name, left[name].pop(0))
        assert len(published) == min(8 - len(intervals) for intervals in left.values())
    assert published == whole
    assert merging.rest() == []


def test_who_skips_an_interval_or_is_lost_holds_no_one_up() -> None:
    left = deliveries(("a", "b"))
    merging = MergedIntervals(left)
    assert merging.take("a", left["a"][0]) == []
    # b had no warm-up.
    (first,) = merging.take("b", left["b"][1])
    assert (first.phase, first.users) == ("warm_up", 32)
    published = [merging.take("a", interval) for interval in left["a"][1:4]]
    assert [len(each) for each in published] == [1, 0, 0]
    assert published[0][0].users == 64
    alone = merging.without("b")
    assert [(one.index, one.users) for one in alone] == [(2, 32), (3, 32)]
    assert [one.index for one in merging.take("a", left["a"][4])] == [4]
    assert MergedIntervals(["a"]).rest() == []


def test_an_agent_that_joined_intervals_is_in_step_afterwards() -> None:
    left = deliveries(("a", "b"))
    measured = [place for place, interval in enumerate(left["a"]) if interval.phase == "measure"]
    merging, published = MergedIntervals(left), []
    for interval in left["a"]:
        published += merging.take("a", interval)
    joined = left["b"][measured[1]].model_copy(update={"joined": 1})
    for interval in [*left["b"][: measured[0]], joined, *left["b"][measured[2] :]]:
        published += merging.take("b", interval)
    assert [one.users for one in published] == [64 if place != measured[0] else 32 for place in range(8)]


def test_the_rest_is_handed_on_at_the_end() -> None:
    left = deliveries(("a", "b"))
    merging = MergedIntervals(left)
    for interval in left["a"]:
        merging.take("a", interval)
    rest = merging.rest()
    assert [one.index for one in rest] == list(range(8))
    assert [one.phase for one in rest] == [one.phase for one in left["a"]]


def test_real_drives_at_once_are_merged_to_what_their_server_counted(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    before = store.calls()
    names = ("a", "b", "c")
    agents = [AgentRecordSet(name, "here") for name in names]
    delivered: dict[str, list[Interval]] = {name: [] for name in names}

    def share(number: int) -> DriveRecord:
        name = names[number]
        plan: Plan = redis_plan(
            store.endpoint,
            threads=1 + number % 2,
            keys=Keys(prefix=f"loadstone:merging:{name}:", count=50),
            pool=Pool(connections=4 + number),
        )
        return NativeDriver().drive([plan], lambda _, interval: delivered[name].append(interval))[0]

    with ThreadPoolExecutor(3) as threads:
        records = list(threads.map(share, range(3)))
    merged = merged_record(records, agents)
    assert merged.commands["SET"].sent == store.calls() - before
    assert merged.total.ok == merged.total.offered == merged.commands["SET"].replied
    operation = merged.operations["set"]
    assert operation.response_ns.count == operation.counts.ok == sum(one.counts.ok for one in merged.agents)
    assert len(merged.threads) == 4
    assert merged.connections.planned == 15
    # A summary made here from the engine's histogram is the engine's own.
    for record in records:
        own = record.operations["set"]
        for ours, text in (
            (own.response_ns, own.response_histogram),
            (own.service_ns, own.service_histogram),
            (record.pool_wait_ns, record.pool_wait_histogram),
            (record.schedule_lag_ns, record.schedule_lag_histogram),
        ):
            found = Histogram.read(text or "").summary()
            assert replace(found, mean=0.0) == replace(ours, mean=0.0)
            assert found.mean == pytest.approx(ours.mean)
    merging = MergedIntervals(names)
    published = [
        one
        for each in itertools.zip_longest(*delivered.values())
        for name, interval in zip(names, each, strict=True)
        if interval is not None
        for one in merging.take(name, interval)
    ] + merging.rest()
    assert [one.index for one in published] == list(range(len(published)))
    assert sum(one.operations["set"].ok for one in published) == merged.total.ok
    texts = [one.operations["set"].response_histogram for one in published if one.phase in ("measure", "drain")]
    assert added(map(Histogram.read, texts)).text() == operation.response_histogram
