"""How often the ceiling is measured: once for each kind of load."""

from collections.abc import Sequence
from types import ModuleType

import pytest

from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.measure.ceiling import BUSY_USERS, CeilingGauge
from loadstone.servers.server import DeployContext


class CountingDriver(NativeDriver):
    """The real driver, with a count of its drives."""

    def __init__(self) -> None:
        super().__init__()
        self.drives = 0

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        self.drives += 1
        return super().drive(shares, on_interval, rounds, on_rest)


@pytest.fixture
def driver() -> CountingDriver:
    return CountingDriver()


def test_users_do_not_matter_and_the_commands_do(synthetic: ModuleType, driver: CountingDriver) -> None:
    gauge = CeilingGauge(driver, DeployContext())
    first = gauge.measure(synthetic.make_plan("set", users=32))
    assert first is not None
    assert first.capacity_per_s > 0
    each = driver.drives
    assert gauge.measure(synthetic.make_plan("set", users=4)) == first
    assert driver.drives == each
    assert gauge.measure(synthetic.make_plan("update")) is not None
    assert driver.drives == 2 * each


def test_both_its_figures_come_from_one_measurement(synthetic: ModuleType, driver: CountingDriver) -> None:
    found = CeilingGauge(driver, DeployContext()).measure(synthetic.make_plan("set"))
    assert found is not None
    assert driver.drives == 2, "as fast as it can, and with one user"
    assert found.floor_p50_ns
    assert found.users == 64


def http_plan(*, expect: dict[str, object], users: int = 4) -> Plan:
    """Requests whose replies the null server cannot know."""
    return Plan.model_validate(
        {
            "protocol": "http1",
            "endpoints": [{"port": 1}],
            "model": {"kind": "closed", "users": users},
            "pool": {"connections": users},
            "operations": [{"name": "read", "requests": [{"path": "/api/post/{number}", "expect": expect}]}],
        }
    )


def test_http_has_a_ceiling_of_its_own_for_each_size_of_reply(driver: CountingDriver) -> None:
    gauge = CeilingGauge(driver, DeployContext())
    plan = http_plan(expect={"status": 201, "contains": "{number}", "json_fields": ["id"]})
    small = gauge.measure(plan, 200.0)
    assert small is not None
    assert small.capacity_per_s > 0
    assert small.floor_p50_ns is not None, "the null server's replies are right, whatever the plan expects"
    each = driver.drives
    assert gauge.measure(http_plan(expect={}), 200.0) is not None
    assert driver.drives == 2 * each, "other checks are another kind of load"
    assert gauge.measure(plan, 190.0) == small
    assert driver.drives == 2 * each, "about the same size"
    large = gauge.measure(plan, 500_000.0)
    assert large is not None
    assert large.capacity_per_s < small.capacity_per_s


@pytest.mark.fault(
    "long replies for many threads, and clients that do not read",
    "the null server holds no copies of them",
    area="limits",
)
def test_all_replies_together_are_bounded(driver: CountingDriver) -> None:
    plan = http_plan(expect={}).model_copy(update={"threads": 4})
    found = CeilingGauge(driver, DeployContext()).measure(plan, 12e6)
    assert found is not None
    assert found.capacity_per_s > 0
    assert found.users == 4, "one a thread: sixteen times as many would hold four gigabytes"
    small = CeilingGauge(driver, DeployContext()).measure(plan, 200.0)
    assert small is not None
    assert small.users == 4 * BUSY_USERS
