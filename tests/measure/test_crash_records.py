"""What is recorded of a crash whatever becomes of it, on fakes and a process that may be killed."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from loadstone.experiment.plan.required import PlannedCrash
from loadstone.experiment.plan.run_plan import CrashTrial, PlannedTrial
from loadstone.measure.crashes import Crashes
from loadstone.measure.goals.goal import CrashServer
from loadstone.run_folder.crash import CrashRecord
from loadstone.safety.errors import Interrupted, ServerGone, UserError

from ..fake_redis import FakeServer, numbered
from ..fakes import DONE, FakeParts, FullFile
from .fake_rig import FakeRig

Open = Callable[..., FakeRig]
PATIENCE_S = 60.0


class Killable(FakeServer):
    """A fake whose process is a real one, which does nothing; it is down once that is gone."""

    process: "subprocess.Popen[bytes] | None" = None

    def _begin(self, how: str) -> Any:
        endpoint = super()._begin(how)
        self.release()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
        )
        self._pid = self.process.pid
        return endpoint

    def await_death(self) -> None:
        """Return once it was killed; what it held is gone."""
        assert self.process is not None
        self.process.wait()
        self.store.up = False
        self.store.keys.clear()

    def release(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


class Lab:
    """Crashes on one killable server."""

    def __init__(self, rig: FakeRig) -> None:
        self.rig, self.server = rig, Killable("redis")
        self.parts = FakeParts({"redis": self.server})
        rig.driver.servers[:] = [self.server]
        rig.measurement.parts = self.parts
        self.crashes = Crashes(rig.measurement)
        rig.driver.at = {"measure": self.server.await_death}

    def planned(
        self, *, count: str | None = None, look_up: tuple[str, ...] = ("EXISTS",), after_s: float = 0.0
    ) -> CrashTrial:
        trial: PlannedTrial = self.rig.planned()
        keys = trial.plan.keys.model_copy(update={"distribution": "exactly_once", "count": 100_000})
        plan = trial.plan.model_copy(update={"keys": keys, "acknowledged": bool(look_up)})
        trial = replace(trial, name="crash-kept-1-1", plan=plan)
        return CrashTrial(trial, PlannedCrash("kept", trial.name, "redis", count, after_s, 1, look_up))

    def one(self, **changes: Any) -> CrashRecord:
        self.rig.folder.add_crash(self.crashes.run(CrashServer(self.planned(**changes), 1, 1)))
        (line,) = (self.rig.folder.path / "crashes.jsonl").read_text().splitlines()
        return CrashRecord.model_validate_json(line)


@pytest.fixture
def lab(fake_rig: Open) -> Iterator[Lab]:
    lab = Lab(fake_rig())
    yield lab
    lab.server.release()


def test_a_server_that_lost_all_is_looked_up_key_by_key(lab: Lab) -> None:
    found = lab.one()
    assert found.failure is None
    assert found.looked_up is not None
    written = 10 * DONE
    assert (found.acknowledged, found.looked_up.keys, found.looked_up.lost) == (written, written, written)
    assert found.looked_up.lost_keys[0] == numbered(lab.planned().trial.plan.keys.prefix, 0)
    assert 0 <= found.killed_after_s < 60
    assert found.restart_s is not None
    assert lab.rig.live.samples == [], "nobody observes a crash"
    assert lab.rig.progress.steps == ["crash 1 of 1: killing redis under load"]


def test_the_steps_in_their_order(lab: Lab) -> None:
    events = lab.server.events
    lab.rig.driver.at["begin"] = lambda: events.append("drive")
    lab.server.store.config["appendonly"] = "yes"
    lab.one(count="DBSIZE", look_up=())
    named = [event for event in events if event in ("start", "drive", "restart", "DBSIZE", "UNLINK")]
    assert named == ["start", "DBSIZE", "drive", "restart", "DBSIZE", "UNLINK"]


def test_what_is_counted_is_counted_without_what_was_there_before(lab: Lab) -> None:
    lab.parts.need(lab.rig.planned())
    kept: dict[str, Any] = {"theirs": "x"}
    lab.server.store.keys |= kept

    def dies() -> None:
        lab.server.await_death()
        lab.server.store.keys |= {**kept, "loadstone:a": "1", "loadstone:b": "1"}

    lab.rig.driver.at["measure"] = dies
    found = lab.one(count="DBSIZE", look_up=())
    assert (found.failure, found.found, found.looked_up) == (None, 2, None)


def test_the_keys_that_it_kept_are_removed_and_no_others(lab: Lab) -> None:
    prefix = lab.planned().trial.plan.keys.prefix

    def dies() -> None:
        lab.server.await_death()
        lab.server.store.keys |= {"theirs": "x", **{numbered(prefix, number): "1" for number in range(5)}}

    lab.rig.driver.at["measure"] = dies
    found = lab.one()
    assert found.looked_up is not None
    assert found.looked_up.present == 5
    assert lab.server.store.keys == {"theirs": "x"}


def test_a_drive_that_ends_before_the_kill_says_so(lab: Lab) -> None:
    lab.rig.driver.at = {}
    found = lab.one(after_s=60.0)
    assert found.failure == "it ended before it was killed"
    assert found.killed_after_s == 0.0
    assert not found.tells


def test_a_server_of_the_users_is_never_killed(lab: Lab) -> None:
    lab.server.ours = False
    found = lab.one()
    assert found.failure == "the server is not loadstone's own, and is never killed"
    assert lab.rig.driver.shares == []
    assert lab.server.process is not None
    assert lab.server.process.poll() is None


def test_a_server_that_may_throw_keys_away_proves_nothing(lab: Lab) -> None:
    lab.server.store.config |= {"maxmemory": "1000", "maxmemory-policy": "allkeys-lru"}
    lab.server._config |= lab.server.store.config
    assert "(allkeys-lru); set maxmemory-policy noeviction" in (lab.one().failure or "")
    assert lab.rig.driver.shares == []


def test_a_server_that_is_dead_already_is_reported(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.parts.need(lab.rig.planned())
    lab.server.release()
    monkeypatch.setattr(lab.parts, "need", lambda _: ready)
    ready = FakeParts.need(lab.parts, lab.rig.planned())
    assert lab.one().failure == "the server was dead before the load began"


def test_a_server_that_may_not_be_killed_is_reported(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int, number: int) -> None:  # noqa: ARG001 (the signature of os.kill)
        raise PermissionError

    monkeypatch.setattr("loadstone.measure.crashes.os.kill", refused)
    assert "may not be killed by this user" in (lab.one().failure or "")


def test_a_server_that_does_not_start_again_is_reported_with_the_kill(lab: Lab) -> None:
    lab.server.starts_again = False
    found = lab.one(after_s=0.001)
    assert found.failure == "it did not start again: server redis: it does not start: no room for its log"
    assert found.killed_after_s > 0
    assert found.restart_s is None


@pytest.mark.parametrize("error", [UserError("it does not start"), ServerGone("it does not answer")])
def test_parts_that_do_not_start_are_recorded(lab: Lab, error: Exception) -> None:
    lab.parts.fails = error
    assert lab.one().failure == str(error)


def test_a_driver_that_reaches_no_one_is_recorded(lab: Lab) -> None:
    lab.rig.driver.at = {"begin": lab.server.end}
    assert "Connection refused" in (lab.one().failure or "")


def test_an_interrupted_crash_is_not_recorded_and_is_done_again(lab: Lab) -> None:
    lab.rig.driver.at["end"] = lab.rig.interrupt
    with pytest.raises(Interrupted):
        lab.one()
    assert (lab.rig.folder.path / "crashes.jsonl").read_text() == ""
    assert lab.server.store.keys == {}


def test_a_full_disk_ends_the_run_and_leaves_no_key(lab: Lab) -> None:
    lab.server.store.config["appendonly"] = "yes"
    lab.rig.folder.crashes = FullFile(lab.rig.folder.crashes)  # type: ignore[assignment]
    with pytest.raises(UserError, match=r"crashes\.jsonl"):
        lab.one()
    assert lab.server.store.keys == {}


def test_a_process_that_took_the_id_is_spared(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, compared = [1, 2], threading.Event()

    def started(_: int) -> int:
        if len(starts) == 1:
            compared.set()
        return starts.pop(0)

    monkeypatch.setattr("loadstone.measure.crashes.started", started)
    lab.rig.driver.at = {"end": lambda: bool(compared.wait(PATIENCE_S))}
    assert lab.one().failure == "it ended before it was killed"
    assert compared.is_set()
    assert lab.server.process is not None
