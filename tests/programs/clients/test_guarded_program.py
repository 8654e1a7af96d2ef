"""A driver's program as a process: what it gets, what becomes of one that goes wrong, and that nothing stays."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.drivers.driver import Driver, drive_alone
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.machine import hardware
from loadstone.machine.processes.log_filter import LEFT_OUT, LOG_BYTES_MAX, START_BYTES
from loadstone.programs.clients import plausible_record, program_driver
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.programs.clients.drivers import client_driver
from loadstone.programs.clients.program import DriverBroken, DriverDied, DriverHung, DriverImplausible, DriverTooLarge
from loadstone.safety.errors import DriveFailed
from loadstone.safety.secrets import references
from loadstone.safety.secrets.known import learn
from loadstone.safety.secrets.references import resolve
from loadstone.servers.server import DeployContext

ROGUE = Path(__file__).with_name("rogue.py")
SHARE = Plan.model_validate(
    {
        "endpoints": [{"password": "a-long-secret-of-the-load"}],
        "model": {"kind": "closed", "users": 8},
        "pool": {"connections": 16},
        "phases": {"warm_up_s": 1, "measure_s": 1},
        "operations": [{"name": "set", "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"]}]}],
    }
)


def manifest(folder: Path, *what: str, **changed: object) -> Path:
    command = " ".join([sys.executable, str(ROGUE), *what])
    written = {
        "name": "rogue",
        "title": "Rogue",
        "library": "go-redis",
        "version": "9.7.0",
        "run": {"command": command, "environment": {"OWN": 1}, "ready_within_s": 20},
        "can": {"protocols": ["resp2"], "models": ["closed"], "distributions": ["uniform"]},
        **changed,
    }
    (folder / "driver.yaml").write_text(json.dumps(written))
    return folder


def driver(folder: Path, context: DeployContext, *what: str) -> Driver:
    return client_driver(chosen_driver(str(manifest(folder, *what))), context).driver


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_driver, "SILENCE_S", 0.5)
    monkeypatch.setattr(plausible_record, "CLOCKS_OFF_S", float("inf"))  # the examples are of another day


@pytest.mark.fault(
    "a driver hangs, dies, leaves processes or floods its log",
    "one line with the reason; all end with it",
    area="drivers",
)
@pytest.mark.parametrize(
    ("what", "fault", "said"),
    [
        ("hangs", DriverHung, "it hangs: no message for"),
        ("rubbish", DriverBroken, "Segmentation fault"),
        ("dies", DriverDied, "killed by signal 9 (SIGKILL); its log ends with: out of luck"),
        ("panics", DriverDied, "status 2; its log says: panic: runtime error: makeslice: len out of range"),
        ("nothing", DriverDied, "it ended with status 0"),
    ],
)
def test_a_program_that_goes_wrong_is_ended_with_the_reason(
    tmp_path: Path, context: DeployContext, what: str, fault: type[DriveFailed], said: str
) -> None:
    with pytest.raises(fault) as failed:
        drive_alone(driver(tmp_path, context, what), SHARE)
    assert said in str(failed.value)


@pytest.mark.fault("a driver hangs, dies, leaves processes or floods its log")
def test_one_that_obeys_no_order_is_killed(
    tmp_path: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_driver, "LATE_S", 0.1)
    deaf = driver(tmp_path, context, "deaf")
    with pytest.raises(DriverHung, match=r"it goes on 0\.1 s after an order to stop"):
        drive_alone(deaf, SHARE, lambda _: deaf.stop())


@pytest.mark.fault("a driver takes memory without end", "it is ended and named", area="drivers")
def test_one_that_takes_all_memory_is_ended_and_named(
    tmp_path: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a library does that keeps a reply without end."""
    monkeypatch.setattr(program_driver, "SILENCE_S", 30.0)
    monkeypatch.setattr(hardware, "installed_bytes", lambda: 400_000_000)
    with pytest.raises(
        DriverTooLarge, match=r"^driver rogue: it takes 0\.\d+ GB of memory, and 0\.2 GB are the most; "
    ):
        drive_alone(driver(tmp_path, context, "swells"), SHARE)


def test_the_most_memory_that_it_held_is_recorded(tmp_path: Path, context: DeployContext) -> None:
    """Although it gave it back before its record."""
    held = [drive_alone(driver(tmp_path, context, "holds", size), SHARE) for size in ("1", "100_000_000")]
    little, much = (record.program.peak_memory_bytes for record in held if record.program is not None)
    assert little is not None
    assert much is not None
    assert 1_000_000 < little < much - 90_000_000


@pytest.mark.fault("a driver hangs, dies, leaves processes or floods its log")
def test_what_it_started_ends_with_it(tmp_path: Path, context: DeployContext) -> None:
    record = drive_alone(driver(tmp_path, context, "leaves", str(tmp_path / "pid")), SHARE)
    assert record.total.ok == 5
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.fault("a driver hangs, dies, leaves processes or floods its log")
def test_its_log_holds_no_secret(tmp_path: Path, context: DeployContext) -> None:
    learn("a-long-secret-of-the-load")
    logged = replace(context, log_folder=tmp_path / "logs")
    drive_alone(driver(tmp_path, logged, "prints"), SHARE)
    log = (tmp_path / "logs" / "driver-rogue.log").read_text()
    assert log.strip()
    assert "a-long-secret" not in log


def test_it_has_its_cpus_and_its_environment(tmp_path: Path, context: DeployContext) -> None:
    cpu = min(os.sched_getaffinity(0))
    logged = replace(context, log_folder=tmp_path / "logs")
    record = drive_alone(driver(tmp_path, logged, "cpus"), SHARE.model_copy(update={"cpus": (cpu,)}))
    assert (tmp_path / "logs" / "driver-rogue.log").read_text().split("\n")[0] == f"[{cpu}] 1"
    assert [thread.cpu for thread in record.threads] == [cpu]


def test_of_loadstones_own_environment_it_gets_what_every_program_needs(
    tmp_path: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No secret, and nothing that changes what is measured: what it needs stands in its manifest."""
    for name in ("REDIS_PASSWORD", "NODE_OPTIONS", "PYTHONPATH"):
        monkeypatch.setenv(name, "a-long-secret-of-the-load")
    monkeypatch.setenv("TZ", resolve("${env:REDIS_PASSWORD}"))
    monkeypatch.setattr(references, "_VARIABLES", {"REDIS_PASSWORD", "TZ"})
    logged = replace(context, log_folder=tmp_path / "logs")
    drive_alone(driver(tmp_path, logged, "environment"), SHARE)
    names = (tmp_path / "logs" / "driver-rogue.log").read_text().split()
    assert {"PATH", "HOME", "OWN"} <= set(names)
    assert not {"REDIS_PASSWORD", "NODE_OPTIONS", "PYTHONPATH", "TZ"} & set(names)


def test_a_library_of_another_version_than_the_manifest_says_drives_nothing(
    tmp_path: Path, context: DeployContext
) -> None:
    folder = manifest(tmp_path, "leaves", str(tmp_path / "pid"), version="9.8.0")
    with pytest.raises(
        DriverImplausible, match=r"drives with go-redis 9\.7\.0, and its driver\.yaml names go-redis 9\.8"
    ):
        drive_alone(client_driver(chosen_driver(str(folder)), context).driver, SHARE)


def test_the_cpu_time_of_what_left_it_is_its_own(tmp_path: Path, context: DeployContext) -> None:
    """A process in a session of its own, whose parent ended, is below the guard still."""
    spent: list[float] = []
    busy = driver(tmp_path, context, "daemon", str(tmp_path / "pid"))
    record = drive_alone(busy, SHARE, lambda interval: spent.append(sum(interval.cpu_s)))
    assert record.total.ok == 5
    assert max(spent) > 0.01
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.fault("a driver hangs, dies, leaves processes or floods its log")
def test_a_flood_of_its_log_is_cut_off(tmp_path: Path, context: DeployContext) -> None:
    logged = replace(context, log_folder=tmp_path / "logs")
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "driver-rogue.log"
    with log.open("wb") as file:
        file.truncate(LOG_BYTES_MAX)
    drive_alone(driver(tmp_path, logged, "floods"), SHARE)
    assert log.stat().st_size == LOG_BYTES_MAX + START_BYTES + len(LEFT_OUT)
    assert log.read_bytes().endswith(LEFT_OUT)


def test_a_command_that_is_not_there_is_named(tmp_path: Path, context: DeployContext) -> None:
    folder = manifest(tmp_path, run={"command": "/no/such/program"})
    with pytest.raises(DriveFailed, match=r"^driver rogue: it cannot be started .*No such file"):
        drive_alone(client_driver(chosen_driver(str(folder)), context).driver, SHARE)


LOADSTONE = """
import sys
from pathlib import Path
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.programs.clients.drivers import client_driver
from loadstone.servers.server import DeployContext
from loadstone.drivers.driver import drive_alone
from loadstone.experiment.plan.drive_plan import Plan
context = DeployContext(work_root=Path(sys.argv[2]))
driver = client_driver(chosen_driver(sys.argv[1]), context).driver
drive_alone(driver, Plan.model_validate_json(sys.argv[3]), lambda _: print("driven", flush=True))
"""


def test_kill_9_of_loadstone_leaves_nothing_behind(tmp_path: Path, context: DeployContext) -> None:
    assert context.work_root is not None
    folder = manifest(tmp_path, "deaf")
    command = [sys.executable, "-c", LOADSTONE, str(folder), str(context.work_root), SHARE.model_dump_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as loadstone:
        assert loadstone.stdout is not None
        assert loadstone.stdout.readline() == b"driven\n"
        below = psutil.Process(loadstone.pid).children(recursive=True)
        assert any("rogue.py" in " ".join(one.cmdline()) for one in below)
        loadstone.send_signal(signal.SIGKILL)
    wait_until(lambda: all(is_gone(one.pid) for one in below))
    wait_until(lambda: not list(context.work_root.iterdir()))
