"""How long a subject is warmed up: a driver that tells made-up rates, on the real seam; real processes that compute."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from tests.busy_loops import TESTS_RUN

from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.machine import process_table
from loadstone.measure.warm_up import FEW_USERS, GENTLY, LONGEST, QUIET_CORES, WINDOWS, warm_up
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.url import UrlSubject
from loadstone.safety.errors import DriveFailed, Interrupted

LENGTH_S = 4.0


@dataclass
class Rates:
    """Drives at these rates, the last one for ever; 0 is a failure. A few users are answered at the next one."""

    template: DriveRecord
    rates: Sequence[int]
    driven: list[Plan] = field(default_factory=list)

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,  # noqa: ARG002 (the seam's)
        rounds: RoundsOptions | None = None,  # noqa: ARG002
        on_rest: OnRest = nothing,  # noqa: ARG002
    ) -> list[DriveRecord]:
        (share,) = shares
        rate = self.rates[min(len(self.of_all_users), len(self.rates) - 1)]
        self.driven.append(share)
        if not rate:
            raise DriveFailed("driver: nobody answers")
        name, operation = next(iter(self.template.operations.items()))
        length_s = share.phases.measure_s
        done = operation.model_copy(update={"window_ok": round(rate * length_s)})
        return [self.template.model_copy(update={"operations": {name: done}, "measure_s": length_s})]

    def stop(self) -> None:
        """Nothing runs."""

    @property
    def of_all_users(self) -> list[Plan]:
        return [plan for plan in self.driven if isinstance(plan.model, Closed) and plan.model.users > FEW_USERS]


@pytest.fixture
def ready() -> RunningParts:
    subject = UrlSubject("app", ["http://127.0.0.1:9"])
    return RunningParts({}, {"app": RunningSubject(subject, (), {}, LENGTH_S)})


def drive_of(synthetic: ModuleType) -> DriveRecord:
    drive: DriveRecord = synthetic.make_drive(synthetic.make_plan("set")).record
    return drive


def warmed_s(synthetic: ModuleType, ready: RunningParts, rates: Sequence[int]) -> float:
    """How long it was warmed up in all."""
    driver = Rates(drive_of(synthetic), rates)
    warm_up(driver, ready, None, synthetic.make_plan("set"), lambda _: None)
    return sum(plan.phases.measure_s for plan in driver.driven)


def test_a_steady_rate_ends_after_the_planned_length(synthetic: ModuleType, ready: RunningParts) -> None:
    assert warmed_s(synthetic, ready, [1000]) == LENGTH_S
    assert warmed_s(synthetic, ready, [1000]) == 0, "once for each kind of load"


def test_a_rising_rate_has_it_go_on_but_not_for_ever(synthetic: ModuleType, ready: RunningParts) -> None:
    assert warmed_s(synthetic, ready, [500, 900, 1200, 1210]) == 2 * LENGTH_S
    ready.subjects["app"].warmed.clear()
    assert warmed_s(synthetic, ready, [2**power for power in range(10, 40)]) == LONGEST * LENGTH_S


def test_each_stretch_begins_with_a_few_users_who_leave_the_compiler_its_cpu(
    synthetic: ModuleType, ready: RunningParts
) -> None:
    driver = Rates(drive_of(synthetic), [1000])
    plan = synthetic.make_plan("set")
    warm_up(driver, ready, None, plan, lambda _: None)
    users = [one.model.users for one in driver.driven if isinstance(one.model, Closed)]
    assert users == [FEW_USERS, plan.model.users] * 2
    assert all(one.pool.connections >= 1 and one.threads <= FEW_USERS for one in driver.driven[::2])


def test_a_rate_that_is_set_leaves_it_as_it_is(synthetic: ModuleType, ready: RunningParts) -> None:
    driver = Rates(drive_of(synthetic), [1000])
    plan = synthetic.make_plan("set").model_copy(update={"model": Open(rate_per_s=100)})
    warm_up(driver, ready, None, plan, lambda _: None)
    assert {one.model for one in driver.driven} == {plan.model}
    assert sum(one.phases.measure_s for one in driver.driven) == LENGTH_S


def test_another_kind_of_load_is_another_warm_up(synthetic: ModuleType, ready: RunningParts) -> None:
    assert warmed_s(synthetic, ready, [1000]) == LENGTH_S
    driver = Rates(drive_of(synthetic), [1000])
    warm_up(driver, ready, None, synthetic.make_plan("get"), lambda _: None)
    assert len(driver.of_all_users) == 2


def test_what_fails_is_tried_again_by_the_next_trial(synthetic: ModuleType, ready: RunningParts) -> None:
    assert warmed_s(synthetic, ready, [0]) == GENTLY * LENGTH_S / 2
    assert warmed_s(synthetic, ready, [1000]) == LENGTH_S


def test_nothing_but_the_load_of_the_trial_is_driven(synthetic: ModuleType, ready: RunningParts) -> None:
    driver = Rates(drive_of(synthetic), [1000])
    plan = synthetic.make_plan("set")
    warm_up(driver, ready, "redis", plan, lambda _: None)
    assert not driver.driven, "the load goes to a server"
    warm_up(driver, ready, "app", plan, lambda _: None)
    assert {one.operations for one in driver.driven} == {plan.operations}
    assert all(one.phases.warm_up_s == 0 and one.phases.measure_operations is None for one in driver.driven)


COMPUTING = f"""
import os, pathlib, sys, time
while not pathlib.Path(sys.argv[1]).exists() and {TESTS_RUN}:
    sum(range(10000))
while {TESTS_RUN}:
    time.sleep(1)
"""
PARENT = "import subprocess, sys; subprocess.call([sys.executable, '-c', *sys.argv[1:]])"


class OursUnderLoad(UrlSubject):
    """A subject of ours that goes on computing without load, until it is done: a process and its child."""

    def __init__(self, folder: Path) -> None:
        super().__init__("app", ["http://127.0.0.1:9"])
        self.ours = True
        self.done = folder / "done"
        self.process = subprocess.Popen([sys.executable, "-c", PARENT, COMPUTING, str(self.done)])
        self.pids = {"app": self.process.pid}


@pytest.fixture
def computing(tmp_path: Path) -> Iterator[OursUnderLoad]:
    subject = OursUnderLoad(tmp_path)
    yield subject
    for pid in process_table.tree(subject.pids.values()):
        os.kill(pid, signal.SIGKILL)
    subject.process.wait()


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_it_is_waited_for_until_it_falls_quiet(synthetic: ModuleType, computing: OursUnderLoad) -> None:
    deployed = RunningSubject(computing, (), dict(computing.pids), 600.0)
    looks = []

    def going_on() -> None:
        looks.append(computing.done.exists())
        if len(looks) == 5:
            computing.done.touch()

    driver = Rates(drive_of(synthetic), [1000])
    plan = synthetic.make_plan("set")
    warm_up(driver, RunningParts({}, {"app": deployed}), None, plan, lambda _: None, going_on)
    assert looks[:5] == [False] * 5, "it was waited for as long as it computed"
    assert len(looks) >= 5 + WINDOWS, "and until it was quiet for some time"
    assert deployed.restless_cores is None
    warm_up(driver, RunningParts({}, {"app": deployed}), None, plan, lambda _: None, going_on)
    assert len(driver.of_all_users) == 2, "once for each kind of load"


@linux
def test_one_that_never_falls_quiet_is_taken_as_it_is(synthetic: ModuleType, computing: OursUnderLoad) -> None:
    deployed = RunningSubject(computing, (), dict(computing.pids), 0.4)
    said: list[str] = []
    warm_up(
        Rates(drive_of(synthetic), [1000]),
        RunningParts({}, {"app": deployed}),
        None,
        synthetic.make_plan("set"),
        said.append,
    )
    assert deployed.restless_cores is not None
    assert deployed.restless_cores > QUIET_CORES
    assert said[-1].startswith("app still takes ")
    assert len(deployed.warmed) == 1


@linux
def test_waiting_for_it_ends_when_the_user_asks_to_stop(synthetic: ModuleType, computing: OursUnderLoad) -> None:
    deployed = RunningSubject(computing, (), dict(computing.pids), 600.0)

    def going_on() -> None:
        raise Interrupted("interrupted")

    with pytest.raises(Interrupted):
        warm_up(
            Rates(drive_of(synthetic), [1000]),
            RunningParts({}, {"app": deployed}),
            None,
            synthetic.make_plan("set"),
            lambda _: None,
            going_on,
        )


def test_one_of_the_users_is_not_waited_for(synthetic: ModuleType, computing: OursUnderLoad) -> None:
    computing.ours = False
    deployed = RunningSubject(computing, (), dict(computing.pids), 600.0)
    looks: list[int] = []
    ready = RunningParts({}, {"app": deployed})
    warm_up(
        Rates(drive_of(synthetic), [1000]),
        ready,
        None,
        synthetic.make_plan("set"),
        lambda _: None,
        lambda: looks.append(1),
    )
    assert not looks
