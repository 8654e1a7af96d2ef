"""Agents that share a plan, against a real Redis: engines in processes of their own, each with its lease."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import redis
from pydantic import ValidationError
from tests.real_servers import settled

from loadstone._engine import Engine, Rounds
from loadstone.drivers.driver import RoundsOptions, Timetable
from loadstone.drivers.outcome import DriveRecord, read_record
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool, Share
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, Receivers, ServerCommand

from .conftest import Store

Stores = tuple[Store, Store]
PREFIX = "loadstone:shares:"
SOON_NS = 300_000_000
"""From now: by then a busy machine has told all agents when they begin."""
SET = Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),), writes="document")
GET = Operation(name="get", weight=3, commands=(ServerCommand(args=("GET", "{key}"), expect="value"),))
PHASES = Phases(warm_up_s=0, measure_s=1.0)
"""Of a drive in slices, or a short one."""
ECHO = Operation(name="echo", commands=(ServerCommand(args=("ECHO", "{seq} {random 3 lowercase}")),))


def plan(endpoint: Endpoint, **parts: object) -> Plan:
    return Plan(
        **{  # type: ignore[arg-type]
            "endpoints": (endpoint,),
            "model": Open(rate_per_s=2000.0, arrivals="poisson"),
            "threads": 2,
            "pool": Pool(connections=12),
            "phases": Phases(ramp_up_s=0.2, warm_up_s=0.2, measure_s=0.6, drain_s=5.0),
            "operations": (GET, ECHO),
            "keys": Keys(prefix=PREFIX, count=50, distribution="zipf"),
            "interval_s": 0.2,
            **parts,
        }
    )


def by_agents(whole: Plan, agents: int) -> list[DriveRecord]:
    """Drives the shares of a plan, whose load begins at one instant."""
    shares = [whole.model_copy(update={"share": Share(number=number, of=agents)}) for number in range(agents)]
    engines = [Engine(share.model_dump_json()) for share in shares]
    for engine in engines:
        engine.open()
    at_ns = time.monotonic_ns() + SOON_NS
    assert [engine.begin(at_ns) for engine in engines] == [at_ns] * agents
    records = [read_record(engine.result()) for engine in engines]
    assert [record.started_monotonic_ns for record in records] == [at_ns] * agents
    return records


def seen_by(endpoint: Endpoint, work: Callable[[], object]) -> Counter[str]:
    """How often each command came in while something was done, as MONITOR shows them."""
    client = redis.Redis(host=endpoint.host, port=endpoint.port, password=endpoint.password)
    seen: Counter[str] = Counter()
    with client.monitor() as monitor:

        def listen() -> None:
            for command in monitor.listen():
                if command["command"] == "ECHO it is over":
                    return
                seen[command["command"]] += 1

        listening = threading.Thread(target=listen)
        listening.start()
        work()
        client.echo("it is over")
        listening.join(60)
        assert not listening.is_alive()
    return Counter({command: count for command, count in seen.items() if command.split()[0] in ("GET", "SET", "ECHO")})


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_agents_together_send_the_very_commands_that_one_sends(stores: Stores, arrivals: str) -> None:
    endpoint = stores[0].endpoint
    model = Open(rate_per_s=2000.0, arrivals=arrivals)  # type: ignore[arg-type]
    one = seen_by(endpoint, lambda: by_agents(plan(endpoint, model=model, threads=6), 1))
    several = seen_by(endpoint, lambda: by_agents(plan(endpoint, model=model, threads=2), 3))
    assert one == several
    assert sum(one.values()) > 1000


def test_reads_of_what_other_agents_write_are_right(stores: Stores) -> None:
    documents = Operation(
        name="write",
        commands=(ServerCommand(args=("SET", "{key}", "{document}"), expect="ok"),),
        writes="document",
        read_back=ServerCommand(args=("GET", "{key}"), expect="document"),
    )
    reads = Operation(name="read", weight=4, commands=(ServerCommand(args=("GET", "{key}"), expect="document"),))
    whole = plan(
        stores[0].endpoint, model=Closed(users=12), operations=(documents, reads), keys=Keys(prefix=PREFIX, count=5)
    )
    records = by_agents(whole, 3)
    assert [record.total.errors for record in records] == [{}, {}, {}]
    assert sum(record.read_back.checked for record in records) > 0
    assert sum(record.read_back.wrong for record in records) == 0
    assert all(record.operations["read"].counts.ok > 0 for record in records)


def test_each_key_is_written_once_by_all_agents_together(stores: Stores) -> None:
    keys = Keys(prefix=PREFIX, count=1000, distribution="exactly_once")
    whole = plan(stores[0].endpoint, model=Closed(users=6), operations=(SET,), keys=keys)
    seen = seen_by(stores[0].endpoint, lambda: by_agents(whole, 3))
    written = Counter(command.split()[1] for command in seen.elements())
    assert written == Counter(f"{PREFIX}{number:012d}" for number in range(1000))


ENGINE = """
import json, sys
from loadstone._engine import Engine
engine = Engine(sys.stdin.readline())
engine.lease(float(sys.argv[1]))
engine.start()
print("begun", flush=True)
print(engine.result(), flush=True)
"""
"""A drive in a process of its own, whose lease nobody renews."""


@pytest.mark.fault(
    "An agent's process stands still for longer than its lease (SIGSTOP)",
    "nothing is sent when it goes on, but what it had just begun to send",
    area="load",
)
@pytest.mark.parametrize("model", [Closed(users=12), Open(rate_per_s=2000.0), Closed(users=40)])
def test_an_engine_that_stood_still_beyond_its_lease_sends_nothing_when_it_goes_on(
    stores: Stores, model: Closed | Open
) -> None:
    store, lease_s = stores[0], 2.0
    phases = Phases(warm_up_s=0, measure_s=60.0, drain_s=5.0)
    written = plan(store.endpoint, model=model, operations=(SET,), phases=phases, pool=Pool(connections=12))
    command = [sys.executable, "-c", ENGINE, str(lease_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        try:
            engine.stdin.write(written.model_dump_json() + "\n")
            engine.stdin.flush()
            assert engine.stdout.readline() == "begun\n"
            leased_s = time.monotonic()
            time.sleep(0.5)
            os.kill(engine.pid, signal.SIGSTOP)
            time.sleep(leased_s + lease_s + 0.5 - time.monotonic())
            before = settled(store.calls)
            os.kill(engine.pid, signal.SIGCONT)
            record = read_record(engine.stdout.readline())
        finally:
            engine.kill()
    assert record.stopped == "lease ran out"
    assert before > 100
    # It may have been stopped between a look at its lease and the send that follows: one request a connection.
    assert settled(store.calls) - before <= written.pool.connections


def test_a_lease_that_is_renewed_does_not_run_out(stores: Stores) -> None:
    engine = Engine(plan(stores[0].endpoint, phases=PHASES).model_dump_json())
    assert engine.lease(0.3)
    engine.start()
    while not engine.finished():
        engine.next_interval(0.05)
        engine.lease(0.3)
    assert read_record(engine.result()).stopped is None
    for seconds in (0.0, -1.0, float("nan"), 100_000.0):
        with pytest.raises(ValueError, match="must be above 0 and at most a day"):
            engine.lease(seconds)


def test_drives_in_rounds_have_one_lease(stores: Stores) -> None:
    plans = [plan(store.endpoint, model=Closed(users=4), phases=PHASES).model_dump_json() for store in stores]
    rounds = Rounds(plans, json.dumps({"slice_s": 0.02, "orders": [[0, 1], [1, 0]] * 5000}))
    assert rounds.lease(0.2)
    rounds.start()
    records = [read_record(rounds.result(number)) for number in range(2)]
    assert [record.stopped for record in records] == ["lease ran out"] * 2
    assert not rounds.lease(5.0)


def test_agents_that_take_turns_by_a_timetable_measure_at_the_same_time(stores: Stores) -> None:
    rounds = RoundsOptions(
        slice_s=0.05,
        settle_s=0.01,
        orders=((0, 1), (1, 0)) * 10,
        timetable=Timetable(pause_s=0.02, edge_s=0.001),
    )
    engines = []
    for number in range(2):
        share = Share(number=number, of=2)
        plans = [plan(store.endpoint, model=Closed(users=4), phases=PHASES, share=share) for store in stores]
        engines.append(Rounds([one.model_dump_json() for one in plans], rounds.model_dump_json()))
    for engine in engines:
        engine.open()
    at_ns = time.monotonic_ns() + SOON_NS
    assert [engine.begin(at_ns) for engine in engines] == [at_ns] * 2
    for drive in range(2):
        one, other = (read_record(engine.result(drive)) for engine in engines)
        places = {(slice.round, slice.position): (slice.begin_s, slice.end_s) for slice in one.slices}
        common = [slice for slice in other.slices if (slice.round, slice.position) in places]
        assert len(common) >= 5, "a busy machine may be late for some"
        for slice in common:
            assert (slice.begin_s, slice.end_s) == places[slice.round, slice.position]
            assert slice.begin_s == pytest.approx(0.011 + (2 * slice.round + slice.position) * 0.082, abs=1e-6)
        assert {one.started_monotonic_ns, other.started_monotonic_ns} == {at_ns}


def test_the_measure_phase_ends_where_it_is_told_to(stores: Stores) -> None:
    phases = Phases(warm_up_s=0, measure_s=0.1, measure_operations=1, measure_max_s=60.0)
    shared = plan(stores[0].endpoint, phases=phases, share=Share(number=0, of=2))
    engine = Engine(shared.model_dump_json())
    engine.open()
    at_ns = engine.begin()
    engine.end_measure(at_ns + 700_000_000)
    assert read_record(engine.result()).measure_s == pytest.approx(0.7, abs=1e-6)
    with pytest.raises(RuntimeError, match="nothing is open"):
        engine.begin()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"share": {"number": 3, "of": 3}}, "number 3 must be below 3, the number of agents"),
        ({"share": {"number": 0, "of": 20_000}}, "less than or equal to 10000"),
        ({"start_at_unix_ns": 5, "start_at_monotonic_ns": 5}, "leave one of them out"),
        (
            {"share": {"number": 0, "of": 2}, "acknowledged": True, "operations": (SET,)},
            "acknowledged cannot be shared by several agents; use one agent",
        ),
        (
            {
                "share": {"number": 0, "of": 2},
                "keys": Keys(count=1),
                "receivers": Receivers(kind="subscribe", connections=1),
                "operations": (
                    Operation(name="say", commands=(ServerCommand(args=("PUBLISH", "{key}", "{message}")),)),
                ),
            },
            "receivers cannot be shared by several agents; use one agent",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        plan(Endpoint(), **parts)


def test_an_agent_without_a_user_is_refused() -> None:
    share = plan(Endpoint(), model=Closed(users=2), share=Share(number=0, of=3))
    with pytest.raises(ValueError, match=r"^share\.of: 3: more agents than users; use at most 2, or more users$"):
        Engine(share.model_dump_json())
