"""Rows of tables that take turns, and a server is killed, memory or disk fills up, or the run is interrupted."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import redis

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import CALM, MANY_CONNECTIONS, Lab, check_of

pytestmark = pytest.mark.timeout(600)
ROWS = 6
TURNS = "rounds: never} => rounds: auto}"


def rows_in_turns(lab: Lab, measure: str = "2 s", **replaced: str) -> Path:
    """Six rows of `measure` each, which take turns; together they have more connections than loadstone itself."""
    return lab.experiment(measure=measure, turns=TURNS, calm=CALM, **replaced)


def test_a_killed_redis_of_ours_spoils_the_rows_that_took_turns(lab: Lab) -> None:
    path = rows_in_turns(lab)
    command = lab.begin("run", path)
    lab.until(command.under_load)
    command.servers()[0].kill()
    done = command.wait()
    assert "Traceback" not in done.err
    assert done.status == 3, done.err
    assert len(of_the_table(lab)) == ROWS
    assert {trial["verdict"] for trial in lab.trials()} == {"invalid"}
    spoiled = (
        "died",
        "server gone",
        "closed the connection",
        "reset by peer",
        "Connection refused",
    )  # under load, while the data was still loaded, or where a row's own connections were still to be made
    assert all(any(one in json.dumps(trial["checks"]) for one in spoiled) for trial in lab.trials()), done.err
    rows = json.loads((lab.run() / "analysis.json").read_text())["tables"][0]["rows"]
    assert all(row["verdict"] == "invalid" for row in rows)


def test_a_killed_redis_of_the_users_ends_the_run_with_status_3(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    server, url = users_redis
    command = lab.begin("run", rows_in_turns(lab), "--server", f"redis={url}")
    with redis.Redis.from_url(url) as client:
        lab.until(lambda: client.info("clients")["connected_clients"] >= MANY_CONNECTIONS)
    os.kill(next(iter(server.pids.values())), signal.SIGKILL)
    done = command.wait()
    assert done.status == 3
    assert "--resume" in done.error_line
    assert (lab.run() / "report.html").is_file()


def of_the_table(lab: Lab) -> list[dict[str, Any]]:
    """The trials of the table: where no row fills the server, one with more users may follow."""
    return [trial for trial in lab.trials() if trial["group"] == "table"]


def test_ctrl_c_leaves_no_key_and_resume_measures_all_rows_again(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    """Rows that take turns end together, so one that was interrupted is not among those that were finished."""
    _, url = users_redis
    server = ("--server", f"redis={url}")
    path = rows_in_turns(lab, measure="1 s")
    command = lab.begin("run", path, *server)
    with redis.Redis.from_url(url) as client:
        lab.until(lambda: client.info("clients")["connected_clients"] >= MANY_CONNECTIONS)
        command.signal(signal.SIGINT)
        done = command.wait()
        assert done.status == 130
        assert "--resume" in done.error_line
        assert client.keys("*") == []
        went_on = lab.loadstone("run", path, *server, "--resume", lab.run())
        assert went_on.status in (0, 3), went_on.err
        assert client.keys("*") == []
    assert len(of_the_table(lab)) == ROWS
    assert json.loads((lab.run() / "analysis.json").read_text())["complete"]


def test_a_killed_loadstone_leaves_no_server_and_resume_finishes(lab: Lab) -> None:
    path = rows_in_turns(lab, measure="1 s")
    command = lab.begin("run", path)
    lab.until(command.under_load)
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until_nothing_is_left()
    done = lab.loadstone("run", path, "--resume", lab.run())
    assert done.status in (0, 3), done.err
    assert len(of_the_table(lab)) == ROWS
    assert all(check_of(trial, "conservation")["verdict"] == "valid" for trial in lab.trials())


def test_the_first_eviction_ends_the_run(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    """Somebody else fills the server while rows take turns on it, so that it throws keys away."""
    _, url = users_redis
    with redis.Redis.from_url(url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", 30_000_000)
        command = lab.begin("run", rows_in_turns(lab, measure="20 s"), "--server", f"redis={url}")
        lab.until(lambda: client.info("clients")["connected_clients"] >= MANY_CONNECTIONS)
        with client.pipeline(transaction=False) as pipe:
            for number in range(4000):
                pipe.set(f"more:{number}", "x" * 10_000)
            pipe.execute()
        done = command.wait()
        assert done.status == 3, done.err
        assert "evicted" in done.error_line or "are free" in done.error_line
        assert "--resume" in done.error_line
        assert {line["verdict"] for line in lab.lines()} == {"invalid"}
        assert not list(client.scan_iter("loadstone:*"))
    assert (lab.run() / "report.html").is_file()
