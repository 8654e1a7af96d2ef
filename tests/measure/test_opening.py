"""What a run opens and closes, whatever becomes of it, on fakes: folder, lock, ledger, parts, signals."""

import json
import os
import signal
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.plan.run_plan import Block
from loadstone.machine.placement import Placement
from loadstone.machine.ports import free_port
from loadstone.run.opening import Dependencies, OpenRun, open_run
from loadstone.run.prepare import Prepared
from loadstone.run.request import RunRequest
from loadstone.safety.errors import Interrupted, UserError

from ..fake_redis import FakeServer
from ..fakes import FakeDriver, FakeGauge, FakeProgress, fake_monitors
from .fake_rig import EXPERIMENT, ignored, planned_run

USERS = EXPERIMENT.replace("{kind: embedded}", "{kind: url, url: 'redis://127.0.0.1:6379'}")


@dataclass
class World:
    """The fakes that stand behind the seams of a run."""

    out: Path
    servers: dict[str, FakeServer] = field(default_factory=dict)
    driver: FakeDriver = field(default_factory=FakeDriver)
    progress: FakeProgress = field(default_factory=FakeProgress)
    text: str = EXPERIMENT
    port: int | None = None

    def server(self, name: str, settings: Mapping[str, Any]) -> FakeServer:
        if name not in self.servers:
            self.servers[name] = FakeServer(name, ours=settings["kind"] != "url")
            self.servers[name].store.up = settings["kind"] == "url"
            self.driver.servers.append(self.servers[name])
        return self.servers[name]

    @property
    def seams(self) -> Dependencies:
        return Dependencies(lambda: self.driver, self.server, fake_monitors, lambda *_: FakeGauge())

    @property
    def options(self) -> RunRequest:
        return RunRequest("faked", out=self.out, command=("run", "faked"), prometheus=self.port)

    @property
    def prepared(self) -> Prepared:
        experiment, run_plan = planned_run(self.text)
        return Prepared(experiment, run_plan, Placement((), (), shared=True, note="not placed"))

    def open(self, *announcement: str, resume: Path | None = None) -> AbstractContextManager[OpenRun]:
        options = replace(self.options, resume=resume)
        return open_run(options, self.prepared, self.progress, announcement, self.seams)

    @property
    def folders(self) -> list[Path]:
        return sorted(self.out.glob("[!.]*")) if self.out.exists() else []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "runs")


def test_a_run_is_open_with_its_parts_started_and_closed_with_them_stopped(world: World) -> None:
    with world.open("What is recorded?") as parts:
        server = world.servers["redis"]
        assert (server.events[0], server.alive()) == ("start", True)
        assert server.contexts[0].log_folder == parts.folder.path / "logs"
        environment = json.loads((parts.folder.path / "environment.json").read_text())
        assert environment["servers"]["redis"]["version"] == "8.2.0"
        assert environment["command"] == "loadstone run faked"
        assert len(json.loads((parts.folder.path / "plan.json").read_text())["trials"]) == 2
        assert parts.conductor.run(Block.alone(world.prepared.run_plan.trials[0]), ignored)[0].facts.failure is None
        with pytest.raises(UserError, match="another loadstone is writing"), world.open(resume=parts.folder.path):
            pytest.fail("it was opened twice")
    assert server.events[-1] == "stop"
    assert world.progress.notes[0] == "What is recorded?"
    (line,) = (parts.folder.path / "trials.jsonl").read_text().splitlines()
    assert json.loads(line)["trial"] == "b01-001"
    assert world.folders == [parts.folder.path]


def test_a_part_that_does_not_start_leaves_no_folder_and_no_part(world: World) -> None:
    def refuses(*_: Any) -> Any:
        raise UserError("server redis: it does not start")

    server = world.server("redis", {"kind": "embedded"})
    server.start = refuses  # type: ignore[method-assign]
    with pytest.raises(UserError, match="does not start"), world.open():
        pytest.fail("it went on")
    assert world.folders == []


@pytest.mark.parametrize("error", [UserError("the disk is full"), KeyboardInterrupt(), ValueError("a defect")])
def test_everything_is_closed_whatever_ends_the_run(world: World, error: BaseException) -> None:
    before = signal.getsignal(signal.SIGTERM)  # a command that was called in this process may have set it
    with pytest.raises(type(error)), world.open() as parts:
        raise error
    assert not world.servers["redis"].alive()
    assert signal.getsignal(signal.SIGTERM) is before
    with world.open(resume=parts.folder.path):
        assert world.servers["redis"].alive(), "lock and folder are free again"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_the_run_in_order_and_a_second_one_at_once(world: World, number: signal.Signals) -> None:
    with world.open() as parts:
        os.kill(os.getpid(), number)
        assert world.driver.stops == 1
        with pytest.raises(Interrupted):
            parts.conductor.run(Block.alone(world.prepared.run_plan.trials[0]), ignored)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert not world.servers["redis"].alive()
    assert (parts.folder.path / "trials.jsonl").read_text() == ""


def test_a_closed_terminal_sends_two_signals_and_is_one_request(world: World) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with world.open():
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGHUP)
            assert world.driver.stops == 1
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        with world.open():
            os.kill(os.getpid(), signal.SIGHUP)
            assert world.driver.stops == 1
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_server_of_the_users_is_left_as_it_was_and_the_ledger_says_what_was_made(world: World) -> None:
    world.text = USERS
    theirs = world.server("redis", {"kind": "url"})
    theirs.store.keys["theirs"] = "x"
    with world.open() as parts:
        parts.conductor.run(Block.alone(world.prepared.run_plan.trials[0]), ignored)
    assert theirs.store.keys == {"theirs": "x"}
    assert theirs.alive()
    kinds = [line for line in (parts.folder.path / "ledger.jsonl").read_text().splitlines() if "numbered_keys" in line]
    assert [("removed" in line) for line in kinds] == [False, True]


def test_what_an_earlier_session_left_is_removed_when_the_run_goes_on(world: World) -> None:
    world.text = USERS
    theirs = world.server("redis", {"kind": "url"})
    with world.open() as parts:
        theirs_gone = Interrupted("the machine went down")

        def dies() -> None:
            theirs.store.up = False
            raise theirs_gone

        world.driver.at = {"end": dies}
        with pytest.raises(Interrupted):
            parts.conductor.run(Block.alone(world.prepared.run_plan.trials[1]), ignored)
    assert any("not everything that loadstone made could be removed" in one for one in world.progress.steps)
    theirs.store.up = True
    assert theirs.store.keys
    with world.open(resume=parts.folder.path):
        assert theirs.store.keys == {}


@pytest.mark.parametrize("changed", ["phases: {warm_up_s: 200 ms", "keys: {count: 251"])
def test_another_plan_does_not_go_on_and_the_folder_is_free_again(world: World, changed: str) -> None:
    with world.open() as parts:
        pass
    head = changed.partition(":")[0]
    before = "phases: {warm_up_s: 100 ms" if head == "phases" else "keys: {count: 250"
    world.text = EXPERIMENT.replace(before, changed)
    with pytest.raises(UserError, match="--resume"), world.open(resume=parts.folder.path):
        pytest.fail("it went on")
    world.text = EXPERIMENT
    with world.open(resume=parts.folder.path):
        assert len(world.folders) == 1


def test_live_figures_are_offered_while_it_runs(world: World) -> None:
    world.port = free_port()
    with world.open() as parts:
        parts.conductor.run(Block.alone(world.prepared.run_plan.trials[1]), ignored)
        with urllib.request.urlopen(f"http://127.0.0.1:{world.port}/metrics", timeout=10) as page:
            text = page.read().decode()
    assert "loadstone_requests_total" in text
    assert world.progress.notes[0] == f"live figures for Prometheus: http://127.0.0.1:{world.port}/metrics"


def test_a_port_that_is_taken_is_found_before_anything_is_said_or_started(world: World) -> None:
    world.port = free_port()
    with world.open():
        taken, world.servers, world.progress = world.port, {}, FakeProgress()
        again: Callable[..., Any] = world.open
        with pytest.raises(UserError, match=str(taken)), again("What is recorded?"):
            pytest.fail("it went on")
        assert (world.servers, world.progress.notes) == ({}, [])
