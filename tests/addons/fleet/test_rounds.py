"""Drives that take turns on a fleet: slices of all agents begin together, and add up, on real Redis."""

from itertools import pairwise
from pathlib import Path

import pytest

from loadstone.addons.fleet import fleet_drive
from loadstone.addons.fleet.driver import FleetDriver
from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Open, Phases
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

from .conftest import Store

pytest.importorskip("distributed")

from loadstone.addons.fleet.clocks import ClocksOfMembers

from .local_fleets import local_fleet

ROUNDS = 6


def test_slices_of_all_agents_begin_together_and_add_up(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_drive, "PAUSE_S", 0.3)  # others may keep the machine busy
    other = registry.make_server("redis", {"kind": "embedded"})
    rounds = RoundsOptions(
        slice_s=0.1,
        settle_s=0.2,
        orders=((0, 1), (1, 0)) * (ROUNDS // 2),
    )
    try:
        endpoint = other.start(DeployContext(work_root=tmp_path))
        rounds = rounds.model_copy(update={"parts": ({}, {"redis": tuple(other.pids.values())})})
        phases = Phases(warm_up_s=0.1, measure_s=1.0, drain_s=2.0)
        plans = [
            store.plan(phases=phases),
            store.plan(phases=phases, model=Open(rate_per_s=2000.0), endpoints=(endpoint,)),
        ]
        shown: list[tuple[int, Interval]] = []
        with local_fleet(2) as cluster:
            driver = FleetDriver(cluster, ClocksOfMembers(cluster), one_machine=True)
            before = store.sets()
            records = driver.drive(plans, lambda *interval: shown.append(interval), rounds)
            assert store.sets() - before == records[0].total.ok
    finally:
        other.stop()
    for number, record in enumerate(records):
        assert [agent.name for agent in record.agents] == ["agent-1", "agent-2"]
        assert record.stopped is None
        assert len(record.slices) == ROUNDS
        assert sum(one.offered for one in record.slices) == record.operations["set"].counts.offered
        assert sum(one.ok for one in record.slices) == record.operations["set"].window_ok
        assert record.measure_s == pytest.approx(0.1 * len(record.slices), abs=1e-6)
        measured = [interval for place, interval in shown if place == number and interval.phase == "measure"]
        assert sum(one.operations["set"].ok for one in measured) == record.operations["set"].window_ok
    assert all(one.offered == pytest.approx(200, abs=2) for one in records[1].slices), "of both agents: 2,000/s"
    assert all(one.parts["redis"].turn_cpu_s for one in records[1].slices), "the first agent reads them"
    windows = sorted((one.begin_s, one.drained_s) for record in records for one in record.slices)
    assert all(drained_s <= begin_s for (_, drained_s), (begin_s, _) in pairwise(windows))
