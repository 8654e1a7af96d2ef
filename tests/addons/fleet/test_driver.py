"""A fleet's driver: all agents begin at one instant, one record comes of them, and a lost one ends the trial."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.fakes import DONE

from loadstone.addons.fleet import driver as fleet_driver
from loadstone.addons.fleet import fleet_drive, plausible
from loadstone.addons.fleet.certificates import read_tls_files
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost
from loadstone.drivers.driver import ProcessOfDrive, RoundsOptions, drive_alone
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Closed, Open, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.operations import HttpRequest, Operation
from loadstone.safety.errors import DriveFailed, FleetGone

from .scripted import BOUND_NS, ScriptedCluster, fleet

SKEW_NS = 3_000


def plan(**changed: Any) -> Plan:
    """A load of HTTP: the fake engine makes it on no server."""
    fields: dict[str, Any] = {
        "endpoints": (Endpoint(port=8080, password="hunter2"),),
        "protocol": "http1",
        "model": Open(rate_per_s=100.0),
        "pool": Pool(connections=8),
        "threads": 2,
        "phases": Phases(warm_up_s=1.0, measure_s=3.0, drain_s=0.0),
        "operations": (Operation(name="get", requests=(HttpRequest(path="/"),)),),
        **changed,
    }
    return Plan(**fields)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is shorter: what is tested is what follows."""
    monkeypatch.setattr(fleet_driver, "LEAD_S", 0.05)
    monkeypatch.setattr(fleet_drive, "SILENT_S", 0.8)
    monkeypatch.setattr(fleet_drive, "MISSING_S", 0.4)
    monkeypatch.setattr(fleet_drive, "RENEWED_EVERY_S", 0.02)
    monkeypatch.setattr(fleet_drive, "LEASE_S", 0.2)


def test_every_agent_drives_its_share_of_one_plan_from_one_instant_on() -> None:
    cluster = ScriptedCluster(3)
    shown: list[Interval] = []
    record = drive_alone(fleet(cluster), plan(), shown.append)
    agents = list(cluster.agents.values())
    assert [(one.share.number, one.share.of) for agent in agents for (one,) in agent.plans if one.share] == [
        (0, 3), (1, 3), (2, 3),
    ]  # fmt: skip
    assert len({agent.begun_ns[0] - agent.offset_ns for agent in agents}) == 1, "one instant, by each one's own clock"
    assert all(agent.leases > 0 for agent in agents)
    assert [one.phase for one in shown] == ["warm_up", "measure", "measure", "measure"]
    assert [one.index for one in shown] == [0, 1, 2, 3]
    assert all(one.operations["get"].ok == 3 * DONE for one in shown)
    for one in shown:
        assert [(agent.name, agent.ok) for agent in one.agents] == [(f"agent-{at}", DONE) for at in (1, 2, 3)]
    assert "agents" not in shown[0].model_dump(), "they stand in no file of intervals"
    assert record.total.ok == 4 * 3 * DONE
    assert record.operations["get"].response_ns.count == 3 * 3 * DONE
    assert [one.start_unix_ns - record.started_unix_ns for one in shown] == [0, 10**9, 2 * 10**9, 3 * 10**9]


def test_the_record_says_when_each_agent_began() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].late_ns = SKEW_NS
    record = drive_alone(fleet(cluster), plan())
    assert [(one.name, one.skew_ns, one.skew_bound_ns, one.cpus) for one in record.agents] == [
        ("agent-1", 0, BOUND_NS, 2),
        ("agent-2", SKEW_NS, BOUND_NS, 2),
    ]


def test_files_of_tls_go_with_the_plan(tmp_path: Path) -> None:
    cluster, ca = ScriptedCluster(2), tmp_path / "ca.pem"
    ca.write_text("a certificate")
    secured = plan(endpoints=(Endpoint(tls=Tls(ca_file=str(ca))),))
    drive_alone(fleet(cluster), secured)
    assert [agent.files for agent in cluster.agents.values()] == [{str(ca): "a certificate"}] * 2
    ca.unlink()
    with pytest.raises(DriveFailed, match=r"ca\.pem: cannot be read \(No such file"):
        read_tls_files([secured])


def test_an_agent_that_cannot_open_is_named_and_nobody_begins() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].refuses = "127.0.0.1:1: Connection refused"
    driver = fleet(cluster)
    with pytest.raises(AgentFailed, match=r"agent-2: 127\.0\.0\.1:1: Connection refused"):
        drive_alone(driver, plan(endpoints=(Endpoint(host="db-1"),)))
    assert [agent.begun_ns for agent in cluster.agents.values()] == [[], []]
    assert [agent.ended for agent in cluster.agents.values()] == [1, 1], "what is open is closed"
    cluster.agents["agent-2"].refuses = None
    assert len(drive_alone(driver, plan()).agents) == 2, "it is there, and drives again"


def test_a_server_of_this_machine_alone_is_named_where_agents_elsewhere_do_not_reach_it() -> None:
    cluster = ScriptedCluster(1)
    cluster.agents["agent-1"].refuses = "127.0.0.1:8080: Connection refused"
    with pytest.raises(AgentFailed, match=r"refused \(127\.0\.0\.1 is its own machine; name servers by an address"):
        drive_alone(fleet(cluster), plan())
    with pytest.raises(AgentFailed, match=r"refused$"):
        drive_alone(fleet(cluster, one_machine=True), plan())


def test_an_order_that_comes_too_late_makes_the_next_one_earlier() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-1"].ordered_late = True
    driver = fleet(cluster)
    with pytest.raises(AgentFailed, match="agent-1: the order to begin came"):
        drive_alone(driver, plan())
    cluster.agents["agent-1"].ordered_late = False
    before_ns = time.monotonic_ns()
    assert len(drive_alone(driver, plan()).agents) == 2, "it is not lost"
    assert cluster.agents["agent-1"].begun_ns[-1] - before_ns >= 2 * 0.05 * 1e9


LOST = {
    "silent": ({"falls_silent": True}, "agent-2: not heard for"),
    "engine ended": ({"dies": "its engine ended: it was killed by signal 9 (SIGKILL)"}, "agent-2: its engine ended"),
}


@pytest.mark.parametrize("how", LOST)
def test_a_lost_agent_ends_the_trial_and_the_run_goes_on_without_it(how: str) -> None:
    cluster, notes, states = ScriptedCluster(3), list[str](), list[list[str]]()
    script, why = LOST[how]
    for name, value in script.items():
        setattr(cluster.agents["agent-2"], name, value)
    lost_s: list[float] = []

    def note(line: str) -> None:
        notes.append(line)
        lost_s.append(time.monotonic())

    driver = fleet(cluster, note=note, show=lambda now: states.append([one.state for one in now]))
    with pytest.raises(AgentLost, match=why):
        drive_alone(driver, plan(phases=Phases(warm_up_s=1.0, measure_s=60.0)))
    assert time.monotonic() - lost_s[0] >= 0.2, "whoever reads a server's counters next finds none of its load in them"
    assert all(cluster.agents[name].stopped.is_set() for name in ("agent-1", "agent-3")), "the others are stopped"
    record = drive_alone(driver, plan())
    assert [one.name for one in record.agents] == ["agent-1", "agent-3"]
    assert [one.share.of for (one,) in cluster.agents["agent-1"].plans if one.share] == [3, 2]
    assert len(notes) == 1
    assert why in notes[0]
    assert states[0] == ["ready"] * 3
    assert states[-1] == ["ready", "lost", "ready"]
    assert (["ready", "silent", "ready"] in states) == (how == "silent")


@pytest.mark.fault(
    "the command's own link, or the scheduler, stands still", "that is the reason; no agent is blamed", area="fleet"
)
def test_where_no_agent_is_heard_none_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_drive, "ALL_SILENT_S", 0.6)
    cluster = ScriptedCluster(3)
    for one in cluster.agents.values():
        one.falls_silent = True
    driver = fleet(cluster)
    with pytest.raises(AgentLost, match="no agent is heard: the link to the scheduler, or the scheduler, stands still"):
        drive_alone(driver, plan())
    with pytest.raises(FleetGone, match=r"no agent is left \(no agent is heard"):
        drive_alone(driver, plan())


@pytest.mark.fault(
    "an agent's clock is set, or its machine suspended, in a trial", "the trial is invalid and names it", area="fleet"
)
def test_a_clock_that_moved_in_a_trial_makes_it_invalid() -> None:
    cluster = ScriptedCluster(2)
    driver = fleet(cluster)
    cluster.agents["agent-2"].moved_ns = 10**9
    with pytest.raises(AgentFailed, match=r"agent-2: its monotonic clock moved by 1,000 ms in this trial"):
        drive_alone(driver, plan())
    assert len(drive_alone(driver, plan()).agents) == 2, "it is not lost"


@pytest.mark.parametrize(
    "said",
    [
        "no JSON", "[]", "{}", {"type": "interval"}, {"type": "records", "records": 1}, {"type": "failed", "why": 1},
        {"type": "interval", "number": -1, "interval": {}}, {"type": "interval", "interval": {"index": "x"}},
    ],
)  # fmt: skip
def test_what_is_no_message_is_that_agents_failure(said: str | dict[str, Any]) -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].says = said
    with pytest.raises(AgentFailed, match=r"^agent agent-2: it wrote what is no message"):
        drive_alone(fleet(cluster), plan(phases=Phases(warm_up_s=1.0, measure_s=60.0)))
    assert cluster.agents["agent-1"].stopped.is_set()


@pytest.mark.fault("an agent reports figures that cannot be", "the trial is invalid and names it", area="fleet")
@pytest.mark.parametrize(
    ("lies", "said"),
    [
        ({"total.ok": 4000}, "total: 400 sent are not 4000 ended"),
        ({"total.ok": -5}, "a count is below 0"),
        ({"total.ok": 2**70}, "beyond 64 bits"),
        ({"operations.get.counts.offered": 1}, "get: 1 offered are not"),
        ({"total.offered": 1, "total.sent": 1, "total.ok": 1}, "1 offered, and 400 in its intervals"),
        ({"phases": {}}, "no measure phase"),
        ({"phases.measure.end_s": -5.0}, "a phase begins or ends when no load"),
        ({"phases.measure.end_s": 1e9}, "a phase begins or ends when no load"),
        ({"phases.measure.start_s": 50.0}, "a phase ends before it begins"),
        ({"measure_s": 1e308}, "a phase begins or ends when no load"),
    ],
)
def test_a_record_that_cannot_be_is_that_agents_failure(lies: dict[str, object], said: str) -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].lies = lies
    with pytest.raises(AgentFailed, match=rf"^agent agent-2: its record is wrong: .*{said}"):
        drive_alone(fleet(cluster), plan())


@pytest.mark.fault("an agent reports figures that cannot be")
def test_intervals_that_are_said_twice_are_that_agents_failure() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].repeats = 2
    with pytest.raises(AgentFailed, match=r"^agent agent-2: .* and 800 in its intervals"):
        drive_alone(fleet(cluster), plan())


@pytest.mark.fault("an agent is heard and comes to no end", "the trial ends and names it", area="fleet")
def test_heartbeats_alone_do_not_hold_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausible, "QUIET_S", 0.0)
    monkeypatch.setattr(plausible, "THINKS_MORE", 0)
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].never_ends = True
    short = {"phases": Phases(warm_up_s=0.1, measure_s=0.3, drain_s=0.1), "timeouts": Timeouts(request_ms=400)}
    with pytest.raises(AgentFailed, match="agent-2: it does not end: "):
        drive_alone(fleet(cluster), plan(**short))


def test_a_reason_of_an_agents_is_one_line() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].dies = "first\nsecond\x1b[2J" + "z" * 100_000
    with pytest.raises(AgentLost) as lost:
        drive_alone(fleet(cluster), plan())
    assert str(lost.value).isprintable()
    assert len(str(lost.value)) < 500


def test_engines_of_earlier_drives_are_no_part_of_what_makes_the_load() -> None:
    cluster, pids = ScriptedCluster(2), {7}
    driver = fleet(cluster, one_machine=True, pids=pids)
    drive_alone(driver, plan())
    assert pids == {7, 4_000_000}
    cluster.pid = 4_000_001
    drive_alone(driver, plan())
    assert pids == {7, 4_000_001}


def test_what_the_cluster_itself_knows_counts_at_once() -> None:
    cluster = ScriptedCluster(2)

    def lose(_: Interval) -> None:
        cluster.gone["agent-1"] = "its process ended (signal 9)"

    with pytest.raises(AgentLost, match=r"agent-1: its process ended \(signal 9\)"):
        drive_alone(fleet(cluster), plan(phases=Phases(warm_up_s=1.0, measure_s=60.0)), lose)


def test_the_run_ends_where_the_user_asked_for_that() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-1"].dies = "its engine ended"
    driver = fleet(cluster, lost_agent="end")
    with pytest.raises(AgentLost):
        drive_alone(driver, plan())
    with pytest.raises(FleetGone, match="agent-1 was lost"):
        drive_alone(driver, plan())


def test_the_run_waits_where_the_user_asked_for_that() -> None:
    cluster, notes = ScriptedCluster(2), list[str]()
    lost = cluster.agents["agent-2"]
    lost.falls_silent, lost.answers = True, True
    driver = fleet(cluster, lost_agent="wait", note=notes.append)
    with pytest.raises(AgentLost):
        drive_alone(driver, plan())
    lost.answers = False
    threading.Timer(0.5, lambda: (setattr(lost, "falls_silent", False), setattr(lost, "answers", True))).start()
    assert len(drive_alone(driver, plan()).agents) == 2
    assert any(note.startswith("waiting for agent-2") for note in notes)


def test_an_agent_that_is_waited_for_in_vain_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_driver, "WAITED_S", 0.1)
    cluster = ScriptedCluster(2)
    cluster.agents["agent-2"].falls_silent = True
    driver = fleet(cluster, lost_agent="wait")
    with pytest.raises(AgentLost):
        drive_alone(driver, plan())
    cluster.agents["agent-2"].answers = False
    with pytest.raises(FleetGone, match="agent-2 does not answer again"):
        drive_alone(driver, plan())


def test_nothing_is_left_when_every_agent_is_lost() -> None:
    cluster = ScriptedCluster(1)
    cluster.gone["agent-1"] = "the scheduler is gone"
    with pytest.raises(FleetGone, match=r"no agent is left \(the scheduler is gone"):
        drive_alone(fleet(cluster), plan())


def test_a_share_that_ends_early_ends_all_and_says_why() -> None:
    cluster = ScriptedCluster(2)
    cluster.agents["agent-1"].stops = "no connection for 2 s: Connection refused"
    record = drive_alone(fleet(cluster), plan(phases=Phases(warm_up_s=1.0, measure_s=60.0)))
    assert record.stopped == "agent agent-1: no connection for 2 s: Connection refused"
    assert cluster.agents["agent-2"].stopped.is_set()
    assert [one.stopped for one in record.agents] == ["no connection for 2 s: Connection refused", None]


def test_an_order_to_stop_reaches_every_agent() -> None:
    cluster = ScriptedCluster(2)
    driver = fleet(cluster)
    record = drive_alone(driver, plan(phases=Phases(measure_s=60.0)), lambda _: driver.stop())
    assert record.stopped is not None
    assert "stopped on request" in record.stopped
    assert all(agent.stopped.is_set() for agent in cluster.agents.values())


def test_what_the_callback_raises_ends_the_drive() -> None:
    cluster = ScriptedCluster(2)

    def full(_: Interval) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        drive_alone(fleet(cluster), plan(), full)
    assert all(agent.stopped.is_set() for agent in cluster.agents.values())


def test_a_number_of_operations_is_ended_in_all_at_one_instant() -> None:
    cluster = ScriptedCluster(2)
    phases = Phases(warm_up_s=0.0, measure_s=1.0, measure_max_s=60.0, measure_operations=2 * DONE + 1)
    drive_alone(fleet(cluster), plan(phases=phases.model_copy(update={"measure_s": 5.0})))
    ends = {agent.ends_ns[0] - agent.offset_ns for agent in cluster.agents.values()}
    assert len(ends) == 1
    assert all(len(agent.ends_ns) == 1 for agent in cluster.agents.values())


ORDERS = ((0, 1), (1, 0), (0, 1))


def test_in_rounds_slices_of_all_agents_begin_by_one_timetable() -> None:
    cluster = ScriptedCluster(2)
    shown: list[tuple[int, Interval]] = []
    rounds = RoundsOptions(orders=ORDERS, parts=({"redis": (17,)}, {}))
    driver = fleet(cluster, one_machine=True)
    records = driver.drive([plan(), plan(seed=2)], lambda place, one: shown.append((place, one)), rounds)
    assert [one.total.ok for one in records] == [4 * 2 * DONE] * 2
    assert {place for place, _ in shown} == {0, 1}
    assert all(one.operations["get"].ok == 2 * DONE for _, one in shown)
    given = [agent.rounds for agent in cluster.agents.values()]
    assert [one.parts for one in given if one is not None] == [rounds.parts, ()], "a part's CPU is read once"
    (timetable,) = {one.timetable for one in given if one is not None}
    assert timetable is not None
    assert timetable.edge_s >= 2e-9 * BOUND_NS, "clocks may differ by that"
    assert {one.edge_ns for record in records for one in record.agents} == {round(1e9 * timetable.edge_s)}
    assert [[one.seed for one in agent.plans[0]] for agent in cluster.agents.values()] == [[1, 2], [1, 2]]
    driver = fleet(cluster)
    driver.drive([plan(), plan(seed=2)], lambda *_: None, rounds)
    assert {agent.rounds.parts for agent in cluster.agents.values() if agent.rounds} == {()}, "they run elsewhere"


def test_slices_that_drain_slowly_get_more_time_in_the_next_rounds() -> None:
    cluster = ScriptedCluster(2)
    driver, pauses = fleet(cluster), list[float]()
    for drain_s in (0.3, 0.001, 0.001):
        cluster.agents["agent-2"].drain_s = drain_s
        driver.drive([plan(), plan(seed=2)], lambda *_: None, RoundsOptions(orders=ORDERS))
        given = {agent.rounds.timetable for agent in cluster.agents.values() if agent.rounds is not None}
        pauses += [timetable.pause_s for timetable in given if timetable is not None]
    assert pauses == pytest.approx([fleet_drive.PAUSE_S, 0.6, fleet_drive.PAUSE_S])


def test_one_slice_that_drained_slowly_lengthens_no_other() -> None:
    cluster = ScriptedCluster(2)
    driver, rounds = fleet(cluster), RoundsOptions(orders=ORDERS * 10)
    cluster.agents["agent-2"].first_drain_s = 5.0
    for _ in range(2):
        driver.drive([plan(), plan(seed=2)], lambda *_: None, rounds)
    timetables = [agent.rounds.timetable for agent in cluster.agents.values() if agent.rounds is not None]
    assert [one.pause_s for one in timetables if one is not None] == pytest.approx([fleet_drive.PAUSE_S] * 2)


def test_rounds_of_applications_that_stand_still_are_refused() -> None:
    paused = ((ProcessOfDrive(pid=1, started_ticks=1),), ())
    with pytest.raises(DriveFailed, match="applications cannot stand still"):
        fleet(ScriptedCluster(2)).drive([plan(), plan()], lambda *_: None, RoundsOptions(orders=ORDERS, paused=paused))


def test_no_more_agents_drive_than_have_users() -> None:
    cluster = ScriptedCluster(3)
    record = drive_alone(fleet(cluster), plan(model=Closed(users=2), pool=Pool(connections=2)))
    assert [one.name for one in record.agents] == ["agent-1", "agent-2"]
    assert {one.threads for agent in cluster.agents.values() for (one,) in agent.plans} == {1}
