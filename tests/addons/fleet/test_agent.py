"""What an agent does when it is called, with a real engine behind it."""

import json
import os
import queue
import signal
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from loadstone.addons.fleet import agent, cluster_seam
from loadstone.experiment.plan.drive_plan import Phases, Plan

from .conftest import Store

ENDLESS = Phases(warm_up_s=0.0, measure_s=600.0, drain_s=2.0)
PATIENCE_S = 60.0


class Said:
    """What the agent said, line by line."""

    def __init__(self) -> None:
        self._lines: queue.Queue[object] = queue.Queue()

    def say(self, topic: str, message: object) -> None:
        assert topic == agent.TOPIC
        self._lines.put(message)

    def until(self, kind: str) -> dict[str, Any]:
        while True:
            line = self._lines.get(timeout=PATIENCE_S)
            assert isinstance(line, str)
            message: dict[str, Any] = json.loads(line)
            if message["type"] == kind:
                return message


@pytest.fixture
def said() -> Iterator[Said]:
    said = Said()
    cluster_seam.speak_by(said.say)
    yield said
    cluster_seam.speak_by(None)
    for engine in agent._HELD:
        engine.end()
    agent._HELD.clear()


def work(plan: Plan) -> dict[str, Any]:
    return {"plans": [plan.model_dump(mode="json")], "rounds": None}


def opened(store: Store, drive: str, **changed: Any) -> dict[str, Any]:
    answer = agent.open_drive(drive, work(store.plan(**changed)), 5.0, PATIENCE_S)
    assert answer["type"] == "opened", answer
    return answer


def begin(drive: str) -> None:
    agent.begin(drive, time.monotonic_ns() + 200_000_000)


def test_one_process_serves_one_drive_after_another(said: Said, store: Store) -> None:
    pids = set()
    for drive in ("first", "second"):
        pids.add(opened(store, drive, phases=Phases(warm_up_s=0.0, measure_s=0.3))["pid"])
        begin(drive)
        record = said.until("records")
        assert record["drive"] == drive
        assert record["records"][0]["stopped"] is None
    assert len(pids) == 1


def test_a_drive_that_goes_on_gives_way_to_the_next(said: Said, store: Store) -> None:
    first = opened(store, "first", phases=ENDLESS)
    begin("first")
    said.until("heartbeat")
    second = opened(store, "second")
    assert second["pid"] != first["pid"]
    assert not psutil.pid_exists(first["pid"])
    agent.stop("first")
    agent.renew("second", 5.0)
    begin("second")
    assert said.until("records")["drive"] == "second"


def test_an_engine_that_is_killed_is_reported_and_replaced(said: Said, store: Store) -> None:
    first = opened(store, "first", phases=ENDLESS)
    begin("first")
    said.until("heartbeat")
    os.kill(first["pid"], signal.SIGKILL)
    ended = said.until("ended")
    assert ended["drive"] == "first"
    assert "killed by signal 9 (SIGKILL)" in ended["why"]
    assert opened(store, "second")["pid"] != first["pid"]


def test_what_cannot_be_opened_is_answered_with_the_reason(said: Said, store: Store) -> None:  # noqa: ARG001
    nowhere = store.endpoint.model_copy(update={"port": 1})
    answer = agent.open_drive("d", work(store.plan(endpoints=(nowhere,))), 5.0, PATIENCE_S)
    assert answer["type"] == "failed"
    assert "127.0.0.1:1" in answer["why"]


def test_an_engine_that_stands_still_is_replaced(said: Said, store: Store) -> None:
    first = opened(store, "first", phases=Phases(warm_up_s=0.0, measure_s=0.3))
    begin("first")
    said.until("records")
    os.kill(first["pid"], signal.SIGSTOP)
    answer = agent.open_drive("second", work(store.plan()), 5.0, 2.0)
    assert answer["type"] == "opened" or "2 s" in answer["why"], "on a machine that others keep busy"
    assert opened(store, "third")["pid"] != first["pid"]
    assert not psutil.pid_exists(first["pid"])


def test_the_end_of_a_drive_leaves_no_process(said: Said, store: Store) -> None:
    first = opened(store, "first", phases=ENDLESS)
    begin("first")
    said.until("heartbeat")
    agent.end("another")
    assert psutil.pid_exists(first["pid"])
    agent.end("first")
    assert not psutil.pid_exists(first["pid"])
    assert agent.here()["pid"] == os.getpid()
