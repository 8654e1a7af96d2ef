"""How often the ceiling is measured: once for each kind of load, and again where noise may have lowered it."""

from collections.abc import Callable
from types import ModuleType

import pytest

from loadstone.ceiling import NEAR, TRIES, TRIES_IN_ALL, CeilingGauge
from loadstone.deploy.provider import DeployContext
from loadstone.drive.native import NativeDriver
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.plan.model import Plan


class CountingDriver(NativeDriver):
    """The real driver, with a count of its drives."""

    def __init__(self) -> None:
        super().__init__()
        self.drives = 0

    def drive(self, share: Plan, on_interval: Callable[[Interval], None]) -> DriveRecord:
        self.drives += 1
        return super().drive(share, on_interval)


@pytest.fixture
def driver() -> CountingDriver:
    return CountingDriver()


def test_users_do_not_matter_and_the_commands_do(synthetic: ModuleType, driver: CountingDriver) -> None:
    gauge = CeilingGauge(driver, DeployContext())
    first = gauge.measure(synthetic.make_plan("set", users=32), 1.0)
    assert first is not None
    assert first.capacity_per_s > 0
    each = driver.drives
    assert gauge.measure(synthetic.make_plan("set", users=4), 1.0) == first
    assert driver.drives == each
    assert gauge.measure(synthetic.make_plan("update"), 1.0) is not None
    assert driver.drives == 2 * each


def test_a_rate_near_it_has_it_measured_again_and_not_for_ever(synthetic: ModuleType, driver: CountingDriver) -> None:
    gauge = CeilingGauge(driver, DeployContext())
    plan = synthetic.make_plan("set")
    found = gauge.measure(plan, 1e12)
    assert found is not None
    each = driver.drives // TRIES
    for _ in range(TRIES_IN_ALL):
        again = gauge.measure(plan, 1e12)
        assert again is not None
        assert again.capacity_per_s >= found.capacity_per_s
    assert driver.drives == TRIES_IN_ALL * each
    assert gauge.measure(plan, NEAR * again.capacity_per_s / 2) == again
