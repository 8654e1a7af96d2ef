"""The steps of a measurement, on fakes of its seams: their order, what each brings, and that no key is left behind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loadstone.experiment.plan.operations import HttpRequest, Operation
from loadstone.experiment.plan.required import StoredCount
from loadstone.experiment.plan.run_plan import WARM_BLOCK, Block
from loadstone.judge.verdict import CpuCost
from loadstone.measure.drive_watch import DriveWatch
from loadstone.measure.measure_block import observe_block
from loadstone.measure.measurement import DisplayTarget, PreparedTrial
from loadstone.run_folder.ledger import CreatedObject, CreatedObjects, ServerIdentity
from loadstone.run_folder.observation import Observation, ObservedDrive
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.safety.errors import DriveFailed, LoadstoneError, ServerGone, UserError

from ..changed_facts import with_facts
from ..fakes import DONE, FakeProgress, FakeSubject
from .fake_rig import FakeRig, ignored

Open = Callable[..., FakeRig]


class Noted:
    """A ledger that keeps what is made and what is removed, or cannot be written."""

    run_id, run_name, advice = "0" * 32, "run", "loadstone clean"

    def __init__(self, fails: LoadstoneError | None = None) -> None:
        self.lines: list[tuple[str, CreatedObject]] = []
        self._fails = fails

    def makes(self, place: ServerIdentity, things: Any) -> None:  # noqa: ARG002 (the seam's signature)
        if self._fails is not None:
            raise self._fails
        self.lines += [("makes", thing) for thing in things]

    def removed(self, place: ServerIdentity, thing: CreatedObject) -> None:  # noqa: ARG002 (the seam's signature)
        self.lines.append(("removed", thing))

    def take_earlier(self, place: ServerIdentity, kinds: Any) -> list[CreatedObject]:  # noqa: ARG002 (the seam's signature)
        return []


def observed(rig: FakeRig, operation: str = "set", **changes: Any) -> tuple[PreparedTrial, Observation]:
    """All five steps."""
    steps, planned = rig.measurement, replace(rig.planned(operation), **changes)
    with steps.prepare(planned, rig.parts.need(planned)) as prepared, prepared.room:
        return prepared, observe_block(steps, Block.alone(planned), [prepared], ignored)[0]


class Exporter:
    """Keeps what it was shown."""

    def __init__(self) -> None:
        self.costs: dict[str, dict[str, CpuCost]] = {}

    def cost(self, condition: str, costs: dict[str, CpuCost]) -> None:
        self.costs[condition] = costs


def test_an_exporter_is_shown_what_a_request_cost_in_the_trials_that_count(synthetic: Any) -> None:
    exporter = Exporter()
    live = DisplayTarget(FakeProgress(), exporter, lambda condition: str(condition["operation"]))  # type: ignore[arg-type]
    made = with_facts(synthetic.make_trial(), kinds={"redis": "redis", "generator": "driver"}).model_copy(
        update={"condition": {"operation": "get"}, "checks": []}
    )
    replies = made.goodput_per_s * made.duration_s
    failed = CheckResult(name="errors", verdict="invalid", measured=None, limit=None, unit="")

    def trial(redis_s: float, **changes: Any) -> TrialRecord:
        return made.model_copy(update={"cpu_s": {"redis": redis_s}, **changes})

    live.recorded(trial(1.0))
    for left_out in (trial(9.0, block=WARM_BLOCK), trial(9.0, checks=[failed])):
        live.recorded(left_out)
    live.recorded(with_facts(trial(9.0), rate_share=0.5))
    live.recorded(trial(3.0))
    live.recorded(trial(4.0, search={"phase": "sweep", "users": 16}))
    live.recorded(trial(5.0, search={"phase": "bisect", "rate_per_s": 1000.4}))
    assert {name: costs["redis"].ns for name, costs in exporter.costs.items()} == pytest.approx(
        {"get": 2e9 / replies, "get, 16 users": 4e9 / replies, "get, 1000 a second": 5e9 / replies}
    )


def drive(
    rig: FakeRig, prepared: PreparedTrial, on_interval: Any = ignored, *, monitored: bool = True
) -> ObservedDrive:
    """The drive alone."""
    block, driver = Block.alone(prepared.planned), rig.measurement.drivers.of(prepared.planned.driver)
    with DriveWatch(rig.measurement, block, [prepared], on_interval, monitored=monitored) as watch:
        records = driver.drive([prepared.plan], watch.take)
    return watch.drives(records)[0]


def test_the_counters_are_read_last_before_the_drive_and_first_after_it(fake_rig: Open) -> None:
    rig = fake_rig()
    events = rig.server.events
    rig.driver.at = {"begin": lambda: events.append("drive"), "end": lambda: events.append("driven")}
    observed(rig, stored=(StoredCount("set", "redis", "SCARD loadstone:posts"),))
    begin, end = events.index("drive"), events.index("driven")
    first, last = events[:begin], events[end + 1 :]
    assert events[begin:end] == ["drive"], "nothing is sent to the server while it is measured, but by monitors"
    assert (first[0], first[-1], last[0]) == ("start", "INFO", "INFO")
    for count in ("DBSIZE", "SCARD"):
        assert first.index(count) < first.index("INFO"), "what counts is no load, and is not among the counters"
        assert last.index(count) > len(last) - 1 - last[::-1].index("INFO")
    assert last[-1] == "UNLINK"
    assert "UNLINK" not in last[:-1]


def test_the_observation_has_the_drive_the_slices_and_what_was_read_around_them(fake_rig: Open) -> None:
    rig = fake_rig()
    prepared, found = observed(rig, stored=(StoredCount("set", "redis", "DBSIZE"),))
    assert found.drive.name == prepared.planned.name
    assert found.drive.plan.endpoints == prepared.ready.endpoints(None)
    assert [one.phase for one in found.drive.intervals] == ["warm_up", "measure"]
    assert found.slices == ((0.1, 1.1),)
    before, after = found.readings.counters["redis"]
    assert before is not None
    assert after is not None
    assert after.commands["set"].calls == 2 * DONE
    assert (found.readings.stored[0].before, found.readings.stored[0].after) == (0, 2 * DONE)
    assert found.readings.starts["redis"].before == found.readings.starts["redis"].after is not None
    assert found.failure is None
    assert {sample.metric for sample in found.drive.samples} == {"id"}
    assert rig.live.intervals == found.drive.intervals
    assert rig.live.samples == found.drive.samples


def test_a_drive_without_monitors_asks_no_one(fake_rig: Open) -> None:
    rig = fake_rig()
    planned = rig.planned()
    with rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        driven = drive(rig, prepared, monitored=False)
    assert driven.samples == []
    assert len(driven.intervals) == 2


def test_where_a_part_is_not_ours_nothing_is_said_of_its_place(fake_rig: Open) -> None:
    assert observed(fake_rig())[1].placement is not None
    assert observed(fake_rig(ours=False))[1].placement is None


def test_each_node_of_a_cluster_has_a_pool_of_the_planned_size(fake_rig: Open) -> None:
    rig = fake_rig()
    planned = rig.planned()
    ready = rig.parts.need(planned)
    one = ready.servers["redis"]
    halves = (((0, 8191),), ((8192, 16383),))
    one.endpoints = tuple(one.endpoint.model_copy(update={"slots": slots}) for slots in halves)
    with rig.measurement.prepare(planned, ready) as prepared:
        assert prepared.plan.pool.connections == 2 * planned.plan.pool.connections


def test_keys_are_noted_before_they_are_made_and_struck_off_when_they_are_gone(fake_rig: Open) -> None:
    rig, ledger = fake_rig(ours=False), Noted()
    planned = rig.planned()
    ready = rig.parts.need(planned)
    ready.servers["redis"].traces = CreatedObjects(ServerIdentity("redis", "redis://127.0.0.1:1/0", False), ledger)
    made = CreatedObject("numbered_keys", planned.plan.keys.prefix, planned.plan.keys.count)
    rig.driver.at = {"begin": lambda: ledger.lines.append(("drive", made))}
    with rig.measurement.prepare(planned, ready) as prepared:
        drive(rig, prepared)
        assert len(rig.server.store.keys) == 2 * DONE
    assert ledger.lines == [("makes", made), ("drive", made), ("removed", made)]
    assert rig.server.store.keys == {}


def test_what_cannot_be_noted_is_not_made(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    planned = rig.planned()
    ready = rig.parts.need(planned)
    ledger = Noted(UserError("ledger.jsonl: the disk is full"))
    ready.servers["redis"].traces = CreatedObjects(ServerIdentity("redis", "redis://127.0.0.1:1/0", False), ledger)
    with pytest.raises(UserError, match="disk is full"), rig.measurement.prepare(planned, ready):
        pytest.fail("it went on")
    assert rig.driver.shares == []


@pytest.mark.parametrize("error", [UserError("the disk is full"), KeyboardInterrupt(), ValueError("a defect")])
@pytest.mark.parametrize("phase", ["warm_up", "measure"])
def test_keys_are_removed_whatever_ends_the_drive(fake_rig: Open, error: BaseException, phase: str) -> None:
    rig = fake_rig()
    planned = rig.planned()

    def breaks(_: int, interval: Any) -> None:
        if interval.phase == phase:
            assert rig.server.store.keys, "there is something to be removed"
            raise error

    with pytest.raises(type(error)), rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        drive(rig, prepared, breaks)
    assert rig.server.store.keys == {}
    assert prepared.gone is None


def test_of_keys_that_are_taken_in_order_those_that_were_offered_are_removed_and_no_others(fake_rig: Open) -> None:
    rig = fake_rig()
    planned = rig.planned()
    keys = planned.plan.keys.model_copy(update={"distribution": "exactly_once", "count": 50_000_000})
    planned = replace(planned, plan=planned.plan.model_copy(update={"keys": keys}))
    with rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        driven = drive(rig, prepared, monitored=False)
    offered = driven.record.total.offered
    assert prepared.offered == offered > 1000
    assert rig.server.events.count("UNLINK") == -(-offered // 1000), "a command for each thousand"
    assert rig.server.store.keys == {}


def test_a_server_of_ours_that_died_takes_its_keys_along(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.driver.at = {"end": rig.server.end}
    prepared, found = observed(rig)
    assert prepared.gone is None
    assert found.failure == "server redis died during the trial"
    assert rig.server.events.count("UNLINK") == 0


def test_a_server_of_the_users_that_is_gone_is_reported_when_keys_are_to_be_removed(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    rig.driver.at = {"end": rig.server.end}
    prepared, found = observed(rig)
    assert isinstance(prepared.gone, ServerGone)
    assert found.readings.counters["redis"][1] is None
    assert found.readings.starts["redis"].after is None


def test_an_application_that_gets_the_load_has_no_keys_of_ours_removed(fake_rig: Open) -> None:
    rig = fake_rig(subject=FakeSubject("app"))
    planned = rig.planned()
    with rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        assert prepared.plan.endpoints == prepared.ready.subjects["app"].endpoints
    assert "UNLINK" not in rig.server.events, "the plan's keys are for servers that get it themselves"


def test_a_load_of_http_has_no_keys_to_remove(fake_rig: Open) -> None:
    rig = fake_rig(subject=FakeSubject("app"))
    planned = rig.planned()
    post = Operation(name="post", requests=(HttpRequest(method="GET", path="/post"),))
    plan = planned.plan.model_copy(update={"protocol": "http1", "operations": (post,)})
    planned = replace(planned, plan=plan, target=None)
    with rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        found = drive(rig, prepared, monitored=False)
    assert found.record.total.ok > 0
    assert "UNLINK" not in rig.server.events


def test_a_target_that_is_no_part_is_named(fake_rig: Open) -> None:
    rig = fake_rig()
    planned = replace(rig.planned(), target="nobody")
    with (
        pytest.raises(UserError, match="'nobody' is no part"),
        rig.measurement.prepare(planned, rig.parts.need(planned)),
    ):
        pytest.fail("it went on")


def test_a_driver_that_reaches_no_one_leaves_nothing(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.driver.at = {"begin": rig.server.end}
    planned = rig.planned()
    with pytest.raises(DriveFailed), rig.measurement.prepare(planned, rig.parts.need(planned)) as prepared:
        drive(rig, prepared)
    assert prepared.offered is None


def test_a_drive_that_ended_before_it_measured_has_no_slice(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.driver.at = {"warm_up": rig.server.end}
    _, found = observed(rig)
    assert isinstance(found.drive, ObservedDrive)
    assert (found.slices, found.window.length_s) == ((), 0.0)
    assert found.failure == "server redis died during the trial (no connection for 2 s: Connection refused)"
