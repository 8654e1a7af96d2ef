"""`loadstone saturate`: what its options make of an experiment, and what a slip is answered by. Nothing is started."""

import subprocess
from pathlib import Path

import pytest
from tests.calling import called
from tests.experiments import described

from loadstone.addons.saturation.experiment import http_source, redis_source
from loadstone.addons.saturation.options import OneCommand, SearchOptions
from loadstone.addons.saturation.spec import Ramp, Saturate, ramp_of
from loadstone.cli.http_options import HttpWork
from loadstone.cli.operations import KNOWN
from loadstone.cli.redis_options import Login
from loadstone.cli.targets import http_target
from loadstone.experiment.spec.experiment import Experiment
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest
from loadstone.run_folder.earlier_runs import options_given
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.command_line import hidden_arguments


def loadstone(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return called("saturate", *words, folder=folder, environment={"COLUMNS": "200"})


def of_redis(command: str = "get", url: str | None = None, search: SearchOptions = SearchOptions()) -> Experiment:
    return described(redis_source(url, OneCommand(command), search))


@pytest.mark.parametrize("command", [*KNOWN, "GETRANGE {key} 0 9"])
def test_every_command_is_an_experiment_that_can_be_planned(command: str) -> None:
    experiment = of_redis(command)
    requested_plan(experiment, RunRequest(seed=1))
    assert experiment.part(Saturate) is not None
    assert experiment.question.endswith("and which part is the limit?")
    assert ("modules" in experiment.servers["redis"]) == command.startswith("json")


def test_what_is_given_stands_in_the_experiment() -> None:
    search = SearchOptions("closed", 64, 5, "p99 < 2 ms", 8, "100 over 20 s", 4, 2)
    experiment = of_redis("set", "redis://127.0.0.1:7000/1", search)
    load = experiment.part(Saturate)
    assert load is not None
    assert (load.users_max, load.sweeps, load.objective) == (64, 8, "p99 < 2 ms")
    assert load.ramp == "100 over 20 s"
    assert experiment.workload.model["think_time_ms"] == 5
    assert experiment.workload.pool == {"connections": 4}
    assert experiment.workload.threads == 2
    assert experiment.servers["redis"] == {"kind": "url", "url": "redis://127.0.0.1:7000/1"}
    assert "127.0.0.1:7000" in experiment.question


def test_a_service_is_requested_by_its_own_path_or_by_several() -> None:
    assert http_target("http://me:secret@host:8080/a/b?c=1").path == "/a/b?c=1"
    assert http_target("http://host:8080/api/", below=True).base == "http://host:8080/api"
    work = HttpWork(
        paths=("/x", "/y/{number}"),
        method="POST",
        headers=("X-Token: ${env:HOME}",),
        text="{}",
        expect="200,201",
        expect_text="ok",
        numbers=9,
    )
    experiment = described(http_source("http://host:8080/api/", work, SearchOptions()))
    requests = [one.requests[0] for one in experiment.workload.operations]
    assert [one["path"] for one in requests] == ["/x", "/y/{number}"]
    assert requests[0]["expect"] == {"status": [200, 201], "contains": "ok"}
    assert experiment.subjects["service"].url == "http://host:8080/api"


def test_a_password_stands_nowhere() -> None:
    url = "redis://me:s3cr3tpw@127.0.0.1:7000"
    experiment = of_redis("get", url)
    assert "s3cr3tpw" not in experiment.question
    assert "s3cr3tpw" not in " ".join(hidden_arguments(["saturate", "redis", url]))
    assert "s3cr3tpw" not in " ".join(hidden_arguments(["saturate", "http", "http://me:s3cr3tpw@host/"]))


def test_a_login_is_by_the_options_of_the_redis_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = redis_source("redis://h:1", OneCommand(), SearchOptions(), Login("s3cr3tpw", "me", tls=True))
    assert source.data["servers"]["redis"]["url"] == "rediss://me:s3cr3tpw@h:1"
    monkeypatch.setattr("sys.argv", ["loadstone", "saturate", "redis", "redis://h:1", "-a", "s3cr3tpw"])
    assert "s3cr3tpw" not in " ".join(RunRequest().command)
    done = loadstone("redis", "-a", "x", folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "loadstone: -a: is for a server of yours; add its URL, or leave it out\n",
    )


def test_threads_of_http_have_the_name_that_wrk_gives_them(tmp_path: Path) -> None:
    done = loadstone("http", "http://127.0.0.1:1/", "-t", "0", folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "loadstone: -t 0: not a number of threads; write a number from 1 to 256\n",
    )


def test_a_recorded_command_goes_on() -> None:
    assert options_given("loadstone saturate redis --quick") == ["saturate", "redis", "--quick"]
    assert options_given("loadstone run x --quick") == ["run", "x", "--quick"]
    assert options_given("loadstone report x") is None


def test_a_ramp_is_read() -> None:
    assert ramp_of("1,000 vUsers over 10 min") == Ramp(1000, 600.0)
    for wrong in ("1000", "1000 over", "2 over 1 min", "99999999 over 1 min", "10 over 5 x", 7):
        with pytest.raises(ValueError, match="write"):
            ramp_of(wrong)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("redis --users-max 0", "--users-max 0: not a number of users; write a number from 1 to 65536"),
        ("redis --sweeps 2", "--sweeps 2: not a number of sweeps; write a number from 6 to 100"),
        ("redis --command gett", "--command 'gett': no such command; did you mean 'get'? known are: get, set"),
        ("redis -t get -c 4 -P 2 -r 50 -d 10x", "-d 10x: '10x' is not a size; write for example"),
        ("http http://127.0.0.1:1/ -m PUT -H x -c 4", "-H x: write 'NAME: VALUE'"),
        ("redis --value-size 10x", "--value-size 10x: '10x' is not a size; write for example"),
        ("redis --objective fast", "--objective: 'fast' is no objective; write for example 'p99 < 10"),
        ("redis --ramp quickly", "--ramp: 'quickly' is no ramp; write for example '1000 over 10 min'"),
        ("redis --model open", "--model: the open model needs an objective that a rate must keep; write"),
        ("redis --think 5x", "--think 5x: '5x' is not a time; "),
        ("redis --fail-if capacity<5%", "--fail-if 'capacity<5%': saturation points are not compared by ratios; write"),
        ("redis --fail-if p99>5ms", "--fail-if 'p99>5ms': this run has no figure but saturation points; write for"),
        ("redis localhost:6379", "URL 'localhost:6379': it begins with no scheme; write redis://localhost:6379"),
        ("redis me:hunter2@host:1", "URL 'HOST:PORT': it begins with no scheme; write redis://HOST:PORT"),
        ("redis http://localhost", "URL: 'http://' is no Redis; write redis://HOST:PORT"),
        ("http localhost:80", "URL 'localhost:80': it begins with no scheme; write http://localhost:80"),
        ("http ftp://host", "URL: 'ftp://' is not HTTP; write http://HOST:PORT or https://HOST:PORT"),
        ("http http://127.0.0.1:1 --path x", "--path 'x': must begin with '/'; write for example /x"),
        ("http http://127.0.0.1:1 --expect fine", "--expect fine: no status of HTTP; write for example 200, 2xx, or"),
        ("http http://127.0.0.1:1 --header x", "--header x: write 'NAME: VALUE'; secrets as ${env:NAME}"),
        ("http http://127.0.0.1:1 --body @none", "--body @none: cannot be read (No such file or directory); write"),
        ("http http://127.0.0.1:1/", "subject service (127.0.0.1:1): "),
        ("redis redis://127.0.0.1:1", "server 127.0.0.1:1: nothing listens there"),
    ],
)
def test_a_slip_is_answered_by_one_line(command: str, error: str, tmp_path: Path) -> None:
    done = loadstone(*command.split(), folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert error in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "hunter2" not in done.stderr
    assert not list(tmp_path.glob("runs/*"))


def test_help_says_what_there_is(tmp_path: Path) -> None:
    for words in (("--help",), ("redis", "--help"), ("http", "--help")):
        done = loadstone(*words, folder=tmp_path)
        assert done.returncode == 0
        assert "--model" in done.stdout or "redis" in done.stdout


@pytest.mark.parametrize("words", [("saturate", "redis"), ("saturate", "http"), ("run",), ("show",)])
def test_options_stand_in_groups_of_what_they_are_about(words: tuple[str, ...], tmp_path: Path) -> None:
    told = called(*words, "--help", folder=tmp_path)
    groups = {part.split(":\n")[0]: part for part in told.stdout.split("\n\n") if ":\n" in part}
    assert "Options" not in groups
    assert groups["Help"].endswith("-h, --help  Show this message and exit.\n")
    assert "--quick" in groups["How long, and how often"]
    if words[0] == "saturate":
        assert "--model" in groups["The search"]
        assert "--connections" in groups["The load"]
        assert list(groups).index("The load") < list(groups).index("The search")
    if words != ("show",):
        assert "--fail-if" in groups["What is printed, and the exit status"]


def test_an_objective_that_cannot_be_read_raises() -> None:
    with pytest.raises(UserError, match="--objective"):
        of_redis(search=SearchOptions(objective="p99"))
