"""Experiments with an application between the load and Redis, as a user runs them."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from loadstone.machine.ports import free_port
from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import Lab, check_of, reason_of

pytestmark = pytest.mark.timeout(600)  # several commands in a row, which take long on a busy machine
APP = Path(__file__).parent / "subject" / "app.py"
MANIFEST = f"""\
name: app
run:
  command: {sys.executable} {APP} {{port}}
  ready: /ready
  ready_within_s: 90
environment:
  REDIS_HOST: ${{redis.host}}
  REDIS_PORT: ${{redis.port}}
  REDIS_PASS: ${{redis.password}}
warm_up_s: 0.3
"""
EXPERIMENT = """\
format: 1
name: application
question: Does the application keep what it is given?
factors:
  behaviour: {levels: BEHAVIOURS, title: What the application does}
  replicas: {levels: [1, 2], title: Replicas}
tables:
  - name: all
    title: Everything
    vary: {behaviour: BEHAVIOURS, replicas: REPLICAS}
    columns: [tps, goodput, mtt, stored, app_cpu, held_back]
servers:
  redis: {kind: embedded, settings: {maxclients: 500}}
subjects:
  app:
    manifest: app/subject.yaml
    replicas: ${replicas}
    environment: {APP_BEHAVIOUR: "${behaviour}"}
workload:
  protocol: http1
  model: {kind: closed, users: 6, think_time_ms: 10}
  pool: {connections: 6}
  phases: {warm_up_s: 200 ms, measure_s: 700 ms, drain_s: 5 s}
  timeouts: {request_ms: 10 s}
  operations:
    - name: add
      requests:
        - {method: POST, path: /item, body: "{random 10 lowercase}", expect: {status: 201, json_fields: [stored]}}
  stored:
    - {operation: add, server: redis, count: "LLEN loadstone:app:items"}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""


def experiment(lab: Lab, behaviours: str = "[right]", replicas: str = "[1]", more: str = "") -> Path:
    """The experiment and its application's manifest, in the lab's folder."""
    folder = lab.folder / "app"
    folder.mkdir(exist_ok=True)
    (folder / "subject.yaml").write_text(MANIFEST)
    path = lab.folder / "application.yaml"
    path.write_text(EXPERIMENT.replace("BEHAVIOURS", behaviours).replace("REPLICAS", replicas) + more)
    return path


def stored(trial: dict[str, Any]) -> dict[str, Any]:
    """What was counted around a trial."""
    (found,) = trial["facts"]["stored"]
    return dict(found)


def test_what_is_stored_is_what_was_answered_and_replicas_get_the_same(lab: Lab) -> None:
    done = lab.loadstone("run", "--trust", experiment(lab, replicas="[1, 2]"))
    trials = lab.trials()
    assert len(trials) == 2, done.err
    for trial in trials:
        counted = stored(trial)
        assert counted["after"] - counted["before"] == counted["answered"] > 0
        assert check_of(trial, "stored_rows")["verdict"] == "valid"
        sent = [endpoint["sent"] for endpoint in trial["facts"]["drive"]["endpoints"]]
        assert len(sent) == trial["condition"]["replicas"]
        assert max(sent) <= 1.01 * min(sent) + 6, "each replica gets the same load"
        parts = set(trial["cpu_s"])
        assert {"redis", "generator"} < parts
        assert sum(part.startswith("app") for part in parts) == trial["condition"]["replicas"]
    assert (lab.run() / "logs").is_dir()
    assert "Traceback" not in done.err
    environment = json.loads((lab.run() / "environment.json").read_text())
    assert environment["subjects"]["app"]["ours"] is True


def test_an_application_that_goes_wrong_spoils_its_own_trials_and_says_why(lab: Lab) -> None:
    done = lab.loadstone("run", "--trust", experiment(lab, behaviours="[right, dies, garbage, failing, forgets]"))
    trials = {trial["condition"]["behaviour"]: trial for trial in lab.trials()}
    assert done.status == 3, done.err
    assert "Traceback" not in done.err
    reason = " ".join(reason_of(check) for check in trials["dies"]["checks"])
    assert trials["dies"]["verdict"] == "invalid"
    assert "app" in reason
    assert "out of luck" in reason
    for behaviour, kind in (("garbage", "malformed_reply"), ("failing", "status_5xx")):
        assert trials[behaviour]["verdict"] == "invalid"
        assert trials[behaviour]["counts"]["ok"] == 0
        assert set(trials[behaviour]["counts"]["errors"]) == {kind}
    counted = stored(trials["forgets"])
    assert counted["after"] - counted["before"] < counted["answered"]
    assert check_of(trials["forgets"], "stored_rows")["verdict"] == "invalid"
    counted = stored(trials["right"])
    assert counted["after"] - counted["before"] == counted["answered"] > 0
    assert check_of(trials["right"], "stored_rows")["verdict"] == "valid"


def test_an_application_that_is_never_ready_is_one_line(lab: Lab) -> None:
    path = experiment(lab, behaviours="[unready]")
    manifest = lab.folder / "app" / "subject.yaml"
    manifest.write_text(manifest.read_text().replace("ready_within_s: 90", "ready_within_s: 2"))
    done = lab.loadstone("run", "--trust", path)
    assert done.status == 2
    assert "/ready is not ready within 2 s" in done.error_line
    assert lab.runs() == [], "a run that never began leaves no folder"


@pytest.fixture
def users_app(users_redis: tuple[LocalRedis, str]) -> Iterator[str]:
    """An application that plays the user's, on the user's Redis: its URL."""
    where = urlsplit(users_redis[1])
    port = free_port()
    variables = {"REDIS_HOST": where.hostname, "REDIS_PORT": str(where.port), "REDIS_PASS": where.password}
    with subprocess.Popen([sys.executable, str(APP), str(port)], env={**os.environ, **variables}) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def test_an_application_by_url_is_neither_started_nor_stopped(
    lab: Lab, users_redis: tuple[LocalRedis, str], users_app: str
) -> None:
    lab.until(lambda: answers(users_app))
    arguments = ("--subject", users_app, "--server", f"redis={users_redis[1]}")
    done = lab.loadstone("run", "--trust", experiment(lab), *arguments)
    assert answers(users_app), "it still runs"
    (trial,) = lab.trials()
    counted = stored(trial)
    assert counted["after"] - counted["before"] == counted["answered"] > 0, done.err
    assert trial["facts"]["subjects"]["app"]["ours"] is False
    assert "app" in trial["cpu_s"], "on this machine its process is watched, too"


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def test_live_figures_for_prometheus(lab: Lab) -> None:
    port = free_port()
    command = lab.begin(
        "run", "--trust", experiment(lab), "--set", "workload.phases.measure_s=3", "--prometheus", str(port)
    )

    def page() -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
                return str(reply.read().decode())
        except OSError:
            return ""

    lab.until(lambda: re.search(r'loadstone_requests_total\{operation="add",outcome="ok"\} [1-9]', page()))
    lab.until(lambda: 'part="app"' in page())
    assert command.wait().status in (0, 3)


CRASH = """\
crashes:
  - name: kept
    title: What is kept
    server: redis
    vary: {keys: [exactly_once], aof: ["no", "yes"]}
    promise: {lost: 0}
    after: 300 ms
    times: 1
"""


def test_a_server_that_is_killed_is_queried_what_it_kept(lab: Lab) -> None:
    path = lab.folder / "crash.yaml"
    path.write_text(
        """\
format: 1
name: crash
question: What is lost?
factors:
  aof: {levels: ["no", "yes"]}
  keys: {levels: [sequential, exactly_once]}
tables:
  - {name: all, title: Writing, vary: {aof: ["no"]}}
servers:
  redis: {kind: embedded, settings: {appendonly: "${aof}", appendfsync: always}}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 0 s, measure_s: 500 ms}
  keys: {count: 1000000, distribution: "${keys}"}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
        + CRASH
    )
    done = lab.loadstone("run", "--trust", path)
    lines = [json.loads(line) for line in (lab.run() / "crashes.jsonl").read_text().splitlines()]
    kept = {line["condition"]["aof"]: line for line in lines}
    assert set(kept) == {"no", "yes"}, done.err
    assert all(line["failure"] is None and line["acknowledged"] > 0 for line in lines)
    assert all(line["looked_up"]["keys"] == line["acknowledged"] for line in lines)
    assert kept["no"]["looked_up"]["present"] == 0, "nothing was on the disk"
    assert kept["yes"]["looked_up"]["lost"] == 0, "what was acknowledged had been handed to the kernel"
    assert kept["yes"]["looked_up"]["unacknowledged_present"] <= kept["yes"]["unknown"]
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    (table,) = analysis["crashes"]
    worst = {row["condition"]["aof"]: row["lost_worst"] for row in table["rows"]}
    assert worst == {"no": kept["no"]["acknowledged"], "yes": 0}
    assert {row["condition"]["aof"]: row["broken"] for row in table["rows"]} == {"no": True, "yes": False}
    assert "lose none of the acknowledged writes, and lost" in " ".join((done.out + done.err).split())
    assert "ALARM: " in (lab.run() / "report.html").read_text()
    assert "What is kept" in (lab.run() / "report.html").read_text()
    again = lab.loadstone("run", "--trust", path, "--resume", lab.run())
    assert "Traceback" not in again.err
    assert len((lab.run() / "crashes.jsonl").read_text().splitlines()) == 2, "what was recorded is not repeated"
