"""What a line adds and did, for the record; and the trial whose line was killed. A real Redis."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.measure.failures import OomKillCounts, failure
from loadstone.measure.links import begin_links, link_facts, median_interval
from loadstone.measure.processes import watch_of
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.facts import LinkFacts
from loadstone.servers import registry
from loadstone.servers.deployed import RunningServer
from loadstone.servers.pool import ServerPool
from loadstone.servers.server import DeployContext

PATIENCE_S = 60.0


@pytest.fixture
def linked() -> Iterator[RunningServer]:
    pool = ServerPool(registry.make_server, DeployContext(), lambda: None)
    yield pool.need({"redis": {"kind": "embedded", "link": "5 ms"}})["redis"]
    pool.stop()


def driven(one: RunningServer) -> DriveRecord:
    plan = Plan.model_validate(
        {
            "endpoints": list(one.endpoints),
            "pool": {"connections": 2},
            "model": {"kind": "closed", "users": 2},
            "phases": {"measure_s": 0.2},
            "operations": [{"name": "ping", "commands": [{"args": ["PING"], "expect": "any"}]}],
        }
    )
    return drive_alone(NativeDriver(), plan)


def observed(ready: RunningParts) -> tuple[DriveRecord, LinkFacts]:
    before = begin_links(ready)
    record = driven(ready.servers["redis"])
    return record, link_facts(ready, before)["redis"]


def shows_it(found: LinkFacts) -> bool:
    """Whether the pings beside the line were not held up themselves: on a busy machine they wait for a CPU, too."""
    added, in_drive = found.added_ns, found.added_in_drive_ns
    return added is not None and in_drive is not None and added[0] >= 4_000_000 and in_drive[2] >= 0.98 * 5_000_000


def test_pings_say_what_it_adds_and_the_line_what_it_carried(linked: RunningServer) -> None:
    ready = RunningParts({"redis": linked}, {})
    record, found = observed(ready)
    until_s = time.monotonic() + PATIENCE_S
    while not shows_it(found) and time.monotonic() < until_s:
        record, found = observed(ready)
    assert (found.requested_ns, found.part) == (5_000_000, "redis.link")
    assert found.pings >= 8
    assert found.added_ns is not None
    assert found.added_ns[0] >= 4_000_000
    assert found.pieces >= record.total.ok
    assert found.late_ns is not None
    assert found.busy_share is not None
    assert found.busy_share > 0
    assert found.added_in_drive_ns is not None
    value, low, high = found.added_in_drive_ns
    assert low <= value <= high
    assert high >= 0.98 * 5_000_000
    assert found.excess_ns == (value - 5_000_000, low - 5_000_000, high - 5_000_000)
    assert set(watch_of(ready, ()).pids) == {"redis", "redis.link"}


def test_a_trial_whose_line_was_killed_does_not_count(linked: RunningServer) -> None:
    ready, record = RunningParts({"redis": linked}, {}), driven(linked)
    none = OomKillCounts({}, None)
    assert failure(record, ready, none) is None
    line = linked.line
    assert line is not None
    (pid,) = line.pids.values()
    os.kill(pid, signal.SIGKILL)
    while line.alive():
        time.sleep(0.01)
    said = "the link of redis ended during the trial: it was killed by signal 9 (SIGKILL)"
    assert failure(record, ready, none) == said
    assert link_facts(ready, begin_links(ready))["redis"].added_ns is None


def test_the_interval_of_a_median_is_by_ranks() -> None:
    middle, low, high = median_interval([float(n) for n in range(61)])
    assert (middle, low, high) == (30.0, 22.0, 38.0)
    assert median_interval([1.0]) == (1.0, 1.0, 1.0)
