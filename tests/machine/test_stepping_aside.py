"""While the generator stays awake, this process' other threads run only where nobody else wants the CPU."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from loadstone.deploy.null_server import NullServerProcess
from loadstone.deploy.provider import DeployContext
from loadstone.drive.driver import drive_alone
from loadstone.drive.native import NativeDriver
from loadstone.machine import stepping_aside as module
from loadstone.machine.stepping_aside import stepping_aside
from loadstone.plan.drive_plan import Plan

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="the system has no such policy")
MAY_COME_BACK = module._may_come_back()


@contextmanager
def waiting(name: str) -> Iterator[int]:
    """A thread of this name that waits; its id."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name=name)
    thread.start()
    assert thread.native_id is not None
    try:
        yield thread.native_id
    finally:
        over.set()
        thread.join()


def test_every_thread_but_the_engines_steps_aside_and_comes_back() -> None:
    if not MAY_COME_BACK:
        pytest.skip("this user may not take a thread back")
    with waiting("sampler") as sampler, waiting("engine-0") as engine:
        with stepping_aside():
            policies = [os.sched_getscheduler(one) for one in (0, sampler, engine)]
        after = [os.sched_getscheduler(one) for one in (0, sampler, engine)]
    assert policies == [os.SCHED_IDLE, os.SCHED_IDLE, os.SCHED_OTHER]
    assert after == [os.SCHED_OTHER] * 3


def test_who_cannot_come_back_leaves_only_threads_that_end_with_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_may_come_back", lambda: False)
    with waiting("sampler") as sampler:
        with stepping_aside():
            assert (os.sched_getscheduler(0), os.sched_getscheduler(sampler)) == (os.SCHED_OTHER, os.SCHED_IDLE)
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.parametrize("spin_us", [0.0, 50.0])
def test_it_is_so_while_the_engine_polls_and_never_for_its_own_threads(spin_us: float) -> None:
    server = NullServerProcess({})
    endpoint = server.start(DeployContext())
    seen: dict[str, int] = {}

    def look(_: object) -> None:
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # it has ended
                seen[(task / "comm").read_text().strip()] = os.sched_getscheduler(int(task.name))
        seen["main"] = os.sched_getscheduler(0)

    try:
        plan = Plan.model_validate(
            {
                "endpoints": [endpoint.model_dump()],
                "pool": {"connections": 2},
                "model": {"kind": "open", "rate_per_s": 500, "spin_us": spin_us},
                "phases": {"measure_s": 0.3, "drain_s": 1.0},
                "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "any"}]}],
                "keys": {"count": 10},
                "interval_s": 0.1,
            }
        )
        drive_alone(NativeDriver(), plan, look)
    finally:
        server.stop()
    assert seen["engine-0"] == os.SCHED_OTHER
    assert seen["collector"] == (os.SCHED_IDLE if spin_us else os.SCHED_OTHER)
    assert seen["main"] == (os.SCHED_IDLE if spin_us and MAY_COME_BACK else os.SCHED_OTHER)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
