"""Bad input: one clear line, exit status 2, no traceback, nothing left behind."""

import pytest

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import Lab


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "json-document"], "did you mean 'json-documents'?"),
        (["run", "json-documents", "--only", "operation=st"], "did you mean 'set'?"),
        (["run", "json-documents", "--only", "operatoin=set"], "did you mean 'operation'?"),
        (["run", "json-documents", "--only", "operation"], "FACTOR=LEVEL"),
        (["run", "json-documents", "--set", "workload.pool.conections=3"], "connections"),
        (["run", "json-documents", "--set", "workload.phases.measure_s=fast"], "fast"),
        (["run", "json-documents", "--server", "rediss=redis://127.0.0.1:1"], "servers of json-documents are"),
        (["run", "json-documents", "--server", "redis=redis://127.0.0.1:1"], "127.0.0.1:1"),
        (["run", "json-documents", "--server", "redis=http://127.0.0.1:1"], "redis://"),
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "json-documents", "--resume", "nowhere"], "nowhere"),
        (["run"], "Missing argument"),
        (["rnu"], "No such command"),
        (["report", "nowhere"], "nowhere"),
        (
            ["run", "json-documents", "--blocks", "0"],
            "--blocks 0: not a number of blocks; write a number from 1 to 1000",
        ),
        (
            ["run", "json-documents", "--prometheus", "abc"],
            "--prometheus abc: not a port; write a number from 1 to 65535",
        ),
        (["run", "json-documents", "--prometheus", "99999"], "--prometheus 99999: not a port; "),
        (["run", "json-documents", "--seed", "-1"], "--seed -1: not a seed; write a number from 0 on"),
        (["run", "json-documents", "--budget", "soon"], "--budget"),
        (["run", "json-documents", "--fail-if", "p99 is bad"], "--fail-if 'p99 is bad'"),
        (["run", "json-documents", "--fail-if", "goodput < -5%"], "loadstone compare"),
        (["run", "json-documents", "--quiet", "--verbose"], "leave one of them out"),
        (["run", "json-documents", "--set", "workload.threads=some"], "workload.threads"),
        (["run", "json-documents", "--out", "/dev/null/runs"], "--out /dev/null/runs"),
        (["report", "latest"], "there is no run in runs"),
        (["init", "nowhere/experiment.yaml"], "init nowhere/experiment.yaml: cannot be written"),
    ],
)
def test_one_line_and_status_2(lab: Lab, arguments: list[str], says: str) -> None:
    done = lab.loadstone(*arguments)
    assert done.status == 2, done.err
    assert says in done.error_line
    assert done.out == ""
    assert len(done.err.splitlines()) == 1, "nothing is announced before it"
    assert lab.runs() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("count: 100 => coutn: 100", ":17: workload.keys.coutn"),
        ("count: 100 => count: many", ":17: workload.keys.count"),
        ("warm_up_s: 100 ms => warm_up_s: 100 kB", ":16: workload.phases.warm_up_s"),
        ("{key} $ {document} => {kye} $ {document}", "{kye}"),
        ("${workers} => ${worker}", ":14: workload.model.users"),
        ("kind: embedded => kind: embeded", "embeded"),
    ],
)
def test_a_mistake_in_the_file_is_shown_with_its_place(lab: Lab, change: str, says: str) -> None:
    done = lab.loadstone("run", lab.experiment(change=change))
    assert done.status == 2, done.err
    assert says in done.error_line
    assert lab.runs() == []


@pytest.mark.fault("bad URL, wrong password, refused input, or an application that prints its password")
def test_a_wrong_password_is_said_and_not_shown(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    _, url = users_redis
    wrong = url.replace(url.split(":")[2].split("@")[0], "wrong-password")
    done = lab.loadstone("run", lab.experiment(), "--server", f"redis={wrong}")
    assert done.status == 2
    assert "password" in done.error_line
    assert "wrong-password" not in done.err


@pytest.mark.fault("no room for the run", "refused before anything starts", area="disk")
def test_no_room_on_the_disk_is_said_before_the_run(lab: Lab) -> None:
    done = lab.loadstone("run", lab.experiment(measure="100000000 s"))
    assert done.status == 2
    assert "MB needed" in done.error_line
    assert lab.runs() == []
