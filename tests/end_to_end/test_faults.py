"""What is killed, filled or interrupted: nothing finished is lost, and nothing is left behind."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from loadstone.machine.placement import place
from loadstone.servers.redis.local import LocalRedis
from tests.busy_loops import SHELL_LOOP
from tests.end_to_end.conftest import CALM, MANY, Lab, lab_in, reason_of

pytestmark = pytest.mark.timeout(600)  # several commands in a row, which take long on a busy machine


@pytest.mark.fault(
    "Redis that loadstone started dies in a trial", "the trial is invalid, the rest runs, status 3", area="servers"
)
def test_a_killed_redis_of_ours_spoils_one_trial_and_the_rest_goes_on(lab: Lab) -> None:
    command = lab.begin("run", lab.experiment(measure="1 s", many=MANY, calm=CALM))
    lab.until(lambda: lab.runs() and lab.trials())
    lab.until(command.under_load)  # between two trials it would only be started again, and no trial be spoiled
    command.servers()[0].kill()
    done = command.wait()
    lines = lab.lines()
    spoiled = [line for line in lines if "died" in json.dumps(line["checks"]) or not line["counts"]["sent"]]
    assert len(lab.trials()) == 6, done.err
    assert len(spoiled) == 1, done.err
    assert spoiled[0]["verdict"] == "invalid"
    assert len(lines) == 6, "no trial is measured again because of what happened in it"
    assert done.status == 3
    assert "Traceback" not in done.err


@pytest.mark.fault(
    "your Redis dies", "finished trials are reported, status 3; loadstone never restarts it", area="servers"
)
def test_a_killed_redis_of_the_users_ends_the_run_with_status_3(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    server, url = users_redis
    command = lab.begin("run", lab.experiment(measure="1500 ms", calm=CALM), "--server", f"redis={url}")
    lab.until(lambda: lab.runs() and lab.trials())
    os.kill(next(iter(server.pids.values())), signal.SIGKILL)
    done = command.wait()
    assert done.status == 3
    assert "--resume" in done.error_line
    assert lab.trials()[0]["counts"]["ok"] > 0
    assert (lab.run() / "report.html").is_file()


@pytest.mark.fault(
    "loadstone gets SIGKILL, also in a build",
    "no process, container, link or group stays; `--resume` finishes the run",
    area="interrupted",
)
def test_a_killed_loadstone_leaves_no_server_and_resume_finishes(lab: Lab) -> None:
    path = lab.experiment(measure="700 ms", calm=CALM)
    command = lab.begin("run", path)
    lab.until(lambda: lab.runs() and len(lab.trials()) >= 2)
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until_nothing_is_left()
    before = lab.lines()
    assert 2 <= len(before) < 6
    done = lab.loadstone("run", path, "--resume", lab.run())
    assert done.status in (0, 3), done.err
    assert lab.lines()[: len(before)] == before
    assert len(lab.trials()) == 6
    assert json.loads((lab.run() / "analysis.json").read_text())["complete"]


@pytest.mark.fault("Ctrl-C", "finished trials are reported, status 130, with the command to resume", area="interrupted")
def test_ctrl_c_keeps_what_was_finished_and_says_how_to_go_on(lab: Lab) -> None:
    command = lab.begin("run", lab.experiment(measure="700 ms", calm=CALM))
    lab.until(lambda: lab.runs() and lab.trials())
    command.signal(signal.SIGINT)
    done = command.wait()
    assert done.status == 130
    assert "--resume" in done.error_line
    assert (lab.run() / "report.html").is_file()
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    assert not analysis["complete"]
    assert 1 <= analysis["trials_done"] < 6


@pytest.mark.fault("Ctrl-C with your Redis", "no key of the run stays there", area="interrupted")
def test_ctrl_c_leaves_no_key_on_a_users_redis(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    _, url = users_redis
    command = lab.begin("run", lab.experiment(measure="3 s", calm=CALM), "--server", f"redis={url}")
    with redis.Redis.from_url(url) as client:
        lab.until(client.dbsize)
        command.signal(signal.SIGINT)
        assert command.wait().status == 130
        assert client.keys("*") == []


@pytest.mark.fault("Ctrl-C twice", "loadstone ends at once without traceback or lost line", area="interrupted")
def test_ctrl_c_twice_ends_at_once(lab: Lab) -> None:
    command = lab.begin("run", lab.experiment(measure="700 ms", calm=CALM))
    lab.until(lambda: lab.runs() and lab.trials())
    command.signal(signal.SIGINT)
    command.signal(signal.SIGINT)
    done = command.wait()
    assert done.status == 130
    assert "Traceback" not in done.err
    assert lab.trials()


ONE = ("--only", "workers=1", "--only")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A run of one trial that ended."""
    with lab_in(tmp_path_factory.mktemp("finished")) as lab:
        lab.loadstone("run", lab.experiment(), *ONE, "operation=set")
        yield lab


@pytest.mark.fault("resuming with another experiment or machine", "refused with the difference", area="interrupted")
def test_resume_refuses_another_experiment(finished: Lab) -> None:
    run = finished.run()
    done = finished.loadstone("run", finished.experiment(), *ONE, "operation=get", "--resume", run)
    assert done.status == 2
    assert "conditions differ" in done.error_line


@pytest.mark.fault("resuming with another experiment or machine")
def test_resume_refuses_another_machine(finished: Lab) -> None:
    environment = finished.run() / "environment.json"
    text = environment.read_text()
    record = json.loads(text)
    record["machine"]["machine_id"] = "0" * 64
    environment.write_text(json.dumps(record))
    done = finished.loadstone("run", finished.experiment(), *ONE, "operation=set", "--resume", finished.run())
    environment.write_text(text)
    assert done.status == 2
    assert "another machine" in done.error_line


@pytest.mark.fault("the disk of the run's folder is full", "finished trials are whole and readable", area="disk")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_loses_nothing_that_was_finished(lab: Lab, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        filler = small / "filler"
        command = lab.begin("run", lab.experiment(measure="700 ms", calm=CALM), "--out", small / "runs")
        lab.until(lambda: list(small.glob("runs/*/trials.jsonl")) and "b01-001" in _trials(small))
        with pytest.raises(OSError, match="No space left"):
            _fill(filler)
        done = command.wait()
        assert done.status == 2
        assert "no space left" in done.error_line
        filler.unlink()
        run = next(small.glob("runs/*"))
        report = lab.loadstone("report", run, "--format", "csv")
        assert report.status == 0, report.err
        assert json.loads((run / "analysis.json").read_text())["trials_done"] >= 1
    finally:
        subprocess.run(["umount", "-l", small], check=False)


def _fill(path: Path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def _trials(small: Path) -> str:
    return next(small.glob("runs/*/trials.jsonl")).read_text()


@pytest.mark.fault(
    "another program takes the generator's or server's core", "the trial names the program", area="users"
)
@pytest.mark.alone
@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_a_hot_loop_on_the_generators_core_is_observed(lab: Lab) -> None:
    cpu = place().generator_cpus[0]
    hog = subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", SHELL_LOOP])
    try:
        done = lab.loadstone("run", lab.experiment(), "--only", "operation=get")
    finally:
        hog.kill()
        hog.wait()
    trials = lab.trials()
    assert trials
    for trial in trials:
        bounds = {check["name"]: check for check in trial["checks"] if check["name"] in ("gain", "taken")}
        assert any(found["verdict"] in ("suspect", "invalid") for found in bounds.values()), bounds
        assert "other programs" in reason_of(bounds["taken"]) or bounds["taken"]["verdict"] == "valid", bounds
    assert done.status in (0, 3), done.err
