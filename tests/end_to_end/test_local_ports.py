"""Local ports that run out are named as the cause, with figures; what needs more of them is refused beforehand."""

import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.end_to_end.conftest import Done, Lab, check_of, reason_of

FIRST, LAST = 40_000, 40_059
PORTS = LAST - FIRST + 1
SETUP = f'ip link set lo up && echo "{FIRST} {LAST}" > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"'
ONE = ("--only", "operation=set")
RECONNECTING = "pool: {connections: 4} => pool: {connections: 40, min_idle: 40, max_idle: 0}"
"""Every operation closes its connection, whose port then waits; there are always some to come."""
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def few_ports(lab: Lab) -> Callable[..., Done]:
    """The command on a network of its own, which has so few local ports."""
    if sys.platform != "linux" or shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("no networks of one's own here")
    inside = ["unshare", "--map-root-user", "--net", "--", "sh", "-c", SETUP, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network of its own")

    def run(*arguments: object) -> Done:
        return lab.begin(*map(str, arguments), within=inside).wait()

    return run


@pytest.mark.fault("a plan needs more connections than local ports", "refused, status 2", area="limits")
def test_a_plan_that_needs_more_ports_than_there_are_is_refused(lab: Lab, few_ports: Callable[..., Done]) -> None:
    more = lab.experiment(pool=f"pool: {{connections: 4}} => pool: {{connections: {PORTS + 1}}}")
    done = few_ports("run", more, *ONE)
    assert done.status == 2
    assert f"workload.pool.connections: {PORTS + 1} connections to one address" in done.error_line
    assert f"{PORTS} local ports (net.ipv4.ip_local_port_range {FIRST} to {LAST})" in done.error_line
    assert lab.runs() == []


@pytest.mark.fault("all local ports are in TIME_WAIT", "the trial is invalid, with figures", area="limits")
def test_ports_in_time_wait_make_the_trial_invalid_and_are_named(lab: Lab, few_ports: Callable[..., Done]) -> None:
    alike = "title: Workers} => title: Workers, alike: true}"
    path = lab.experiment(measure="1 s", pool=RECONNECTING, users='users: "${workers}" => users: 40', alike=alike)
    done = few_ports("run", path, *ONE, "--only", "workers=1")
    (trial,) = lab.trials()
    check = check_of(trial, "connections")
    assert check["verdict"] == "invalid", done.err
    assert check["measured"] > 0
    assert f"no local port was free: this machine has {PORTS} ({FIRST} to {LAST})" in reason_of(check)
    assert "in TIME_WAIT" in reason_of(check)
    assert done.status == 3
