"""`--fleet local:2` on a real Redis: what two agents do together, and what becomes of a run that loses one."""

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.end_to_end.conftest import CALM, MANY, Command, Done, Lab
from tests.real_servers import is_gone, wait_until

from loadstone.servers.redis.local import LocalRedis

pytest.importorskip("distributed")

ENGINE = "loadstone.addons.fleet.engine_process"
WORKER = "fleet agent"
RATE_PER_S = 2000
LEASE_S = 5.0
SETS = (*("--only", "operation=set", "--only", "workers=4", "--blocks", "2"), "--fleet", "local:2", "--share-machine")
"""Two trials."""
MEASURED = (0, 3)
"""On a machine that others keep busy the checks may refuse the figures."""


def processes(command: Command, words: str) -> list[psutil.Process]:
    """What the command started with these words in its command line, and runs."""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(command.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if words in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                    found.append(child)
    return found


def driving(lab: Lab, command: Command) -> None:
    """Returns once both agents make load."""
    lab.until(lambda: len(processes(command, ENGINE)) == 2 and command.under_load())
    time.sleep(1.0)


def trials_of(folder: Path) -> list[dict[str, Any]]:
    (run,) = folder.glob("[!.]*")
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines() if '"trial"' in line]


def paced(lab: Lab, url: str, *more: str) -> Done:
    return lab.loadstone(
        "redis", url, "-t", "set,get", "-c", "8", "--rate", str(RATE_PER_S), "-n", str(2 * RATE_PER_S), "--repeat", "1",
        "--seed", "7", "--share-machine", "--out", "kept", *more,
    )  # fmt: skip


def test_two_agents_offer_exactly_what_the_plan_says(lab: Lab, plain_redis: tuple[LocalRedis, str]) -> None:
    _, url = plain_redis
    done = paced(lab, url, "--fleet", "local:2")
    assert done.status in MEASURED, done.err
    trials = trials_of(lab.folder / "kept")
    assert sorted(trial["condition"]["operation"] for trial in trials) == ["get", "set"]
    for trial in trials:
        counts = trial["counts"]
        assert counts["offered"] == 2 * RATE_PER_S
        assert (
            counts["sent"] == counts["ok"] + sum(counts["errors"].values()) + counts["timeouts"] + counts["in_flight"]
        )
        agents = trial["facts"]["drive"]["agents"]
        assert [agent["name"] for agent in agents] == ["agent-1", "agent-2"]
        assert [agent["counts"]["offered"] for agent in agents] == [RATE_PER_S, RATE_PER_S]
        for agent in agents:
            assert abs(agent["skew_ns"]) <= agent["skew_bound_ns"] + 1_000_000, "one clock: the skew is that of waking"
    environment = json.loads(next((lab.folder / "kept").glob("*/environment.json")).read_text())
    assert environment["fleet"]["fleet"] == "local:2"
    assert [agent["name"] for agent in environment["fleet"]["agents"]] == ["agent-1", "agent-2"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--fleet", "local:0"), "--fleet local:0: write a number of agents"),
        (("--lost-agent", "end"), "--lost-agent end: there is no fleet"),
        (("--fleet", "local:2", "--lost-agent", "never"), "--lost-agent never: write go-on, wait or end"),
        (("--fleet", "local:2", "--driver", "redis-py"), "redis-py is a client library's program"),
    ],
)
def test_what_a_fleet_cannot_do_is_refused_before_anything_starts(
    lab: Lab, words: tuple[str, ...], problem: str
) -> None:
    done = lab.loadstone("run", lab.experiment(), *words)
    assert done.status == 2
    assert problem in done.error_line
    assert not lab.runs()


@pytest.mark.fault(
    "An agent's engine is killed",
    "the trial is invalid and names the agent, the run goes on with the others, status 3",
    area="fleet",
)
def test_an_agent_whose_engine_is_killed_is_named_and_left_out(lab: Lab) -> None:
    path = lab.experiment(measure="2500 ms", change=MANY, calm=CALM)
    command = lab.begin("run", path, *SETS)
    driving(lab, command)
    processes(command, ENGINE)[0].send_signal(signal.SIGKILL)
    done = command.wait()
    assert done.status == 3, done.err
    lost, other = lab.trials()
    assert lost["verdict"] == "invalid"
    assert "its engine ended during the drive: it was killed by signal 9 (SIGKILL)" in json.dumps(lost)
    (name,) = {name for name in ("agent-1", "agent-2") if f"{name}: its engine" in json.dumps(lost)}
    assert [agent["name"] for agent in other["facts"]["drive"]["agents"]] == [
        each for each in ("agent-1", "agent-2") if each != name
    ]
    assert f"{name}: its engine ended" in done.err


@pytest.mark.fault(
    "The command of a fleet is killed",
    "its agents make no load after the lease of 5 s, and no process stays",
    area="fleet",
)
def test_agents_make_no_load_once_the_command_is_killed(lab: Lab, plain_redis: tuple[LocalRedis, str]) -> None:
    server, url = plain_redis
    command = lab.begin(
        "redis", url, "-t", "set", "--duration", "60", "--rate", "500", "--fleet", "local:2", "--share-machine"
    )
    with server.control() as control:

        def sets() -> int:
            return control.commandstats().get("set", 0)  # type: ignore[attr-defined, no-any-return]

        wait_until(lambda: sets() > 100)
        started = [*processes(command, ENGINE), *processes(command, WORKER)]
        assert len(started) >= 4
        command.signal(signal.SIGKILL)
        command.wait()
        time.sleep(LEASE_S)
        before = sets()
        time.sleep(1.0)
        assert sets() == before
    wait_until(lambda: all(is_gone(process.pid) for process in started))


@pytest.mark.fault(
    "An agent's worker stands still",
    "it is lost after three heartbeats, its engine ends with its lease, and the run goes on",
    area="fleet",
)
def test_an_agent_whose_worker_stands_still_is_lost(lab: Lab) -> None:
    path = lab.experiment(measure="5 s", change=MANY, calm=CALM)
    command = lab.begin("run", path, *SETS)
    driving(lab, command)
    with standing_still(worker_of(processes(command, ENGINE)[0])):
        done = command.wait()
    assert done.status == 3, done.err
    lost, other = lab.trials()
    assert lost["verdict"] == "invalid"
    assert "not heard for" in json.dumps(lost)
    assert len(other["facts"]["drive"]["agents"]) == 1


@contextlib.contextmanager
def standing_still(process: psutil.Process) -> Iterator[None]:
    process.suspend()
    try:
        yield
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()


def worker_of(engine: psutil.Process) -> psutil.Process:
    worker = engine.parent()
    assert worker is not None
    return worker


@pytest.mark.fault(
    "An agent is lost and `--lost-agent end` is given", "the run ends then; what was finished is kept", area="fleet"
)
def test_the_run_ends_with_the_agent_where_asked(lab: Lab) -> None:
    path = lab.experiment(measure="4 s", change=MANY, calm=CALM)
    command = lab.begin("run", path, *SETS, "--lost-agent", "end")
    driving(lab, command)
    processes(command, ENGINE)[1].send_signal(signal.SIGKILL)
    done = command.wait()
    assert done.status == 3
    assert "--lost-agent end ends the run then" in done.error_line
    assert len(lab.trials()) == 1


def test_a_run_of_a_fleet_is_gone_on_with_by_that_fleet_alone(lab: Lab) -> None:
    path = lab.experiment(measure="5 s", change=MANY, calm=CALM)
    command = lab.begin("run", path, *SETS)
    driving(lab, command)
    command.signal(signal.SIGINT)
    assert command.wait().status == 130
    alone = lab.loadstone("run", "--resume", "latest", "--share-machine")
    assert alone.status == 2
    assert "its load came from the fleet local:2" in alone.error_line
    assert "name the same by --fleet" in alone.error_line


def test_two_agents_take_turns_on_two_servers_by_one_timetable(
    lab: Lab, plain_redis: tuple[LocalRedis, str], users_redis: tuple[LocalRedis, str]
) -> None:
    urls = plain_redis[1], users_redis[1]
    for budget in ("12s", "40s"):  # the agents' start is part of it, and may be all of it where others take the CPUs
        done = lab.loadstone(
            "redis", urls[0], "--against", urls[1], "-t", "set", "-c", "8", "--budget", budget, "--share-machine",
            "--fleet", "local:2", "--out", f"kept-{budget}",
        )  # fmt: skip
        assert done.status in MEASURED, done.err
        trials = trials_of(lab.folder / f"kept-{budget}")
        compared = [trial["facts"]["drive"] for trial in trials if trial["block"] > 0]
        if compared:
            break
    assert compared
    for drive in compared:
        assert [agent["name"] for agent in drive["agents"]] == ["agent-1", "agent-2"]
        assert all(agent["edge_ns"] >= agent["skew_bound_ns"] for agent in drive["agents"])
        assert drive["slices"], "a machine that others keep busy misses some, and not all"
        assert all(one["parts"] for one in drive["slices"]), "the servers' CPU time is read in each"
