"""One trial from its plan to its line, on fakes: in which order, and what is recorded whatever becomes of its parts."""

from collections.abc import Callable
from typing import Any

import pytest

from loadstone.drivers.outcome import Interval
from loadstone.measure.conductor import START_TRIES
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import Interrupted, OutOfSpace, ServerGone, UserError

from ..fakes import DONE, FakeSubject, FullFile
from .conftest import check_of
from .fake_rig import FakeRig

Open = Callable[..., FakeRig]
FILES = ("intervals", "samples", "trials")


def lines(rig: FakeRig, name: str) -> int:
    return len((rig.folder.path / f"{name}.jsonl").read_text().splitlines())


def in_phase(phase: str, act: Callable[[], Any]) -> Callable[[Interval], None]:
    """Does `act` at the first interval of a phase."""
    done: list[Interval] = []

    def on_interval(interval: Interval) -> None:
        if interval.phase == phase and not done:
            done.append(interval)
            act()

    return on_interval


def test_a_trial_is_loaded_driven_observed_judged_and_recorded(fake_rig: Open) -> None:
    rig = fake_rig()
    shown: list[Interval] = []
    found = rig.trial("get", shown.append)
    preloaded, driven = rig.driver.shares
    assert (preloaded.operations[0].name, driven.operations[0].name) == ("set", "get")
    assert found == rig.recorded()[0]
    assert (found.drive, found.slices) == (found.trial, ((0.1, 1.1),))
    assert found.counts.ok == DONE
    assert found.goodput_per_s == DONE
    assert found.facts.failure is None
    assert found.facts.ceiling.users == 64
    assert found.checks
    assert [one.phase for one in shown] == ["warm_up", "measure"]
    assert (lines(rig, "intervals"), lines(rig, "trials")) == (2, 1)
    assert lines(rig, "samples") >= 1
    assert (rig.folder.path / "latency" / f"{found.trial}.hlog").exists()
    assert rig.server.store.keys == {}


def test_the_ceiling_is_measured_after_the_drive_by_what_was_driven(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.trial()
    assert rig.gauge.measured == [rig.driver.shares[-1]]


# A part ends


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_that_dies_before_the_drive(fake_rig: Open, *, ours: bool) -> None:
    rig = fake_rig(ours=ours)
    rig.driver.at = {"begin": rig.server.end}
    found = ends_with_it(rig, ours)
    assert found.verdict == "invalid"
    assert "Connection refused" in found.facts.failure
    assert (found.drive, found.counts.offered) == ("", 0)
    assert len(rig.gauge.measured) == int(ours), "that of the next trial"


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_that_dies_while_the_data_is_loaded(fake_rig: Open, *, ours: bool) -> None:
    rig = fake_rig(ours=ours)
    rig.driver.at = {"measure": rig.server.end}
    found = ends_with_it(rig, ours, operation="get")
    why = "loading the data: 0 of 250 keys were stored (no connection for 2 s: Connection refused)"
    assert found.facts.failure == why + ("; server redis died" if ours else "")
    assert [one.operations[0].name for one in rig.driver.shares][:1] == ["set"]
    assert len(rig.driver.shares) == 1 + int(ours), "nothing is measured on half of the data; one is the next trial"


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_that_dies_during_the_drive(fake_rig: Open, *, ours: bool) -> None:
    rig = fake_rig(ours=ours)
    rig.driver.at = {"measure": lambda: rig.server.end("it was killed by signal 11 (SIGSEGV)")}
    found = ends_with_it(rig, ours)
    assert found.verdict == "invalid"
    assert found.facts.failure == (
        "server redis died during the trial: it was killed by signal 11 (SIGSEGV) "
        "(no connection for 2 s: Connection refused)"
    )
    assert found.drive == found.trial, "what was driven is in the record"
    assert found.facts.servers["redis"].after is None
    assert len(rig.gauge.measured) == int(ours), "that of the next trial"


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_that_dies_after_the_drive(fake_rig: Open, *, ours: bool) -> None:
    rig = fake_rig(ours=ours)
    rig.driver.at = {"end": rig.server.end}
    found = ends_with_it(rig, ours)
    assert found.verdict == "invalid"
    assert found.counts.ok == DONE
    assert found.facts.failure == "server redis died during the trial"


def ends_with_it(rig: FakeRig, ours: bool, operation: str = "set") -> TrialRecord:
    """The trial's record, from the folder: the run goes on with a server of ours, and ends with one of the user's."""
    if ours:
        rig.trial(operation)
        assert rig.trial("set").facts.failure is None, "the next trial has it started again"
        return rig.recorded()[0]
    with pytest.raises(ServerGone):
        rig.trial(operation)
    return rig.recorded()[0]


def test_a_server_of_the_users_that_is_gone_before_the_trial_ends_the_run_without_a_record(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    rig.trial()
    rig.server.end()
    with pytest.raises(ServerGone, match="does not answer any more"):
        rig.trial()
    assert len(rig.recorded()) == 1


@pytest.mark.parametrize("moment", ["begin", "measure", "end"])
def test_the_oom_kill_of_a_server_is_named(fake_rig: Open, moment: str) -> None:
    rig = fake_rig()
    rig.driver.at = {moment: lambda: rig.server.end("it was killed by signal 9 (SIGKILL)", oom=True)}
    why = rig.trial().facts.failure
    assert "server redis: the kernel's OOM killer ended a process of it" in why
    assert "raise limits.memory" in why
    assert "OOM" not in (rig.trial().facts.failure or ""), "the kill before does not count for the next trial"


def test_an_application_that_dies_says_its_last_lines(fake_rig: Open) -> None:
    app = FakeSubject("app")
    rig = fake_rig(subject=app)

    def dies() -> None:
        app.words = "java.lang.OutOfMemoryError"

    rig.driver.servers[0]._endpoint = rig.driver.servers[0]._endpoint.model_copy(update={"port": 6379})
    rig.driver.at = {"end": dies}
    why = rig.trial().facts.failure
    assert why == "subject app died during the trial; its last lines are: java.lang.OutOfMemoryError"


def test_an_application_that_died_explains_why_no_one_could_connect(fake_rig: Open) -> None:
    app = FakeSubject("app")
    rig = fake_rig(subject=app)

    def dies() -> None:
        app.words = "no main manifest attribute"

    rig.driver.at = {"begin": dies}
    why = rig.trial().facts.failure
    assert why.endswith("Connection refused; subject app has ended, and its last lines are: no main manifest attribute")


def test_a_server_that_was_restarted_makes_the_trial_invalid_and_all_is_prepared_again(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    ready = rig.parts.need(rig.planned())
    ready.servers["redis"].contents["rows"] = "written"

    def again() -> None:
        rig.server.end()
        rig.server.come_back()

    found = rig.trial("set", in_phase("measure", again))
    restarted = check_of(found, "restarted")
    assert (found.verdict, restarted.verdict, restarted.measured) == ("invalid", "invalid", 1)
    assert ready.servers["redis"].contents == {}


# Parts that do not start


def test_parts_that_do_not_start_are_recorded_and_tried_again_but_not_for_ever(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.parts.fails = UserError("server redis: it does not start: no such image")
    why = [rig.trial().facts.failure for _ in range(START_TRIES + 1)]
    assert why[:START_TRIES] == ["server redis: it does not start: no such image"] * START_TRIES
    assert why[START_TRIES] == f"could not be started before, and is not tried again: {why[0]}"
    assert len(rig.parts.needed) == START_TRIES
    assert {one.verdict for one in rig.recorded()} == {"invalid"}


def test_one_start_that_succeeds_allows_as_many_failures_again(fake_rig: Open) -> None:
    rig = fake_rig()
    for fails in (UserError("no"), None, UserError("no"), None):
        rig.parts.fails = fails
        assert (rig.trial().facts.failure is None) == (fails is None)


# Room


def test_rows_that_find_no_room_are_recorded_and_end_the_run(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    rig.parts.fails = OutOfSpace("server redis: it is full")
    with pytest.raises(OutOfSpace, match="it is full"):
        rig.trial()
    assert rig.recorded()[0].facts.failure == "server redis: it is full"


def test_a_server_of_the_users_that_throws_keys_away_stops_the_load_and_ends_the_run(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    rig.driver.at = {"measure": lambda: rig.server.store.info.update(evicted_keys=7)}
    with pytest.raises(OutOfSpace, match="evicted 7 keys"):
        rig.trial()
    (found,) = rig.recorded()
    assert found.verdict == "invalid"
    assert "evicted 7 keys" in found.facts.failure
    assert rig.server.store.keys == {}
    assert rig.gauge.measured == []


def test_a_server_of_ours_may_throw_away_what_it_will(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.driver.at = {"measure": lambda: rig.server.store.info.update(evicted_keys=7)}
    assert rig.trial().facts.failure is None


# The user requests a stop


@pytest.mark.parametrize("moment", ["begin", "warm_up", "measure", "end"])
@pytest.mark.parametrize("operation", ["set", "get"])
def test_an_interrupted_trial_is_not_recorded_and_leaves_no_key(fake_rig: Open, moment: str, operation: str) -> None:
    rig = fake_rig(ours=False)
    rig.driver.at = {moment: rig.interrupt}
    with pytest.raises(Interrupted, match="what was finished is kept"):
        rig.trial(operation)
    assert rig.recorded() == []
    assert rig.server.store.keys == {}


def test_a_request_to_stop_while_parts_start_leaves_no_record_of_their_failure(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.parts.fails = UserError("server redis: it does not start")
    rig.stopping.set()
    with pytest.raises(Interrupted):
        rig.trial()
    rig.parts.fails = Interrupted("interrupted")
    with pytest.raises(Interrupted):
        rig.trial()
    assert rig.recorded() == []
    assert rig.driver.shares == []


def test_a_request_to_stop_while_an_application_is_warmed_up(fake_rig: Open) -> None:
    rig = fake_rig(subject=FakeSubject("app", warm_up_s=2.0))
    rig.driver.servers[0]._endpoint = rig.driver.servers[0]._endpoint.model_copy(update={"port": 6379})
    rig.driver.at = {"measure": rig.interrupt}
    with pytest.raises(Interrupted):
        rig.trial()
    assert any("warming app up" in one for one in rig.progress.steps)
    assert rig.recorded() == []


def test_a_second_ctrl_c_ends_it_at_once_and_leaves_no_key(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)

    def twice(_: Interval) -> None:
        assert rig.server.store.keys
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rig.trial("set", twice)
    assert rig.recorded() == []
    assert rig.server.store.keys == {}


# The disk is full


@pytest.mark.parametrize("file", FILES)
def test_a_full_disk_ends_the_run_keeps_what_is_finished_and_leaves_no_key(fake_rig: Open, file: str) -> None:
    rig = fake_rig(ours=False)
    rig.trial()
    setattr(rig.folder, file, FullFile(getattr(rig.folder, file)))
    with pytest.raises(UserError, match=r"No space left|full"):
        rig.trial()
    assert len(rig.recorded()) == 1
    assert rig.server.store.keys == {}


def test_a_full_disk_at_the_interval_log(fake_rig: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = fake_rig()

    def full(*_: Any) -> None:
        raise UserError("latency: the disk is full")

    monkeypatch.setattr("loadstone.run_folder.folder.write_file", full)
    with pytest.raises(UserError, match="disk is full"):
        rig.trial()
    assert rig.recorded() == []
    assert rig.server.store.keys == {}
