"""A load on memcached from end to end: measured, checked against its own counters, and nothing of ours left there."""

import getpass
import json
import subprocess
from collections.abc import Iterator

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import free_port
from loadstone.safety.errors import LoadstoneError
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.local import find
from tests.end_to_end.conftest import Lab
from tests.real_servers import wait_until

EXPERIMENT = """\
format: 1
name: tiny-cache
question: Does memcached work from end to end?
factors:
  operation: {levels: [set, get], title: Operation}
tables:
  - {name: all, title: Everything, vary: {operation: [set, get]}}
servers:
  cache: {kind: memcached, settings: {threads: 1}}
workload:
  protocol: memcached
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: 300 ms, drain_s: 1 s}
  keys: {count: 100}
  documents: {payload_bytes: PAYLOAD, field_share: 10 %}
  operations:
    - name: set
      when: {operation: set}
      commands: [{args: "ms {key} {document}", expect: ok}]
      writes: document
      read_back: {args: "mg {key} v", expect: document}
    - name: get
      when: {operation: get}
      commands: [{args: "mg {key} v", expect: document}]
  load:
    - {operation: set, when: {operation: get}}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
CHECKED = ("server_counter", "payload", "replies", "conservation", "errors", "key_count")
pytestmark = pytest.mark.skipif(find() is None, reason="no memcached: scripts/apt installs it where it can")


@pytest.fixture
def theirs() -> Iterator[Endpoint]:
    """A memcached of the user's, with a key of theirs."""
    endpoint = Endpoint(port=free_port())
    arguments = ["-l", "127.0.0.1", "-p", str(endpoint.port), "-U", "0", "-u", getpass.getuser()]
    process = subprocess.Popen([str(find()), *arguments])
    with MemcachedControl(endpoint) as control:

        def answers() -> bool:
            try:
                control.call("ms", "theirs", "kept")
            except LoadstoneError:
                return False
            return True

        wait_until(answers)
        yield endpoint
        process.kill()
        process.wait()


def experiment(lab: Lab, payload: str = "100 B") -> str:
    (lab.folder / "tiny-cache.yaml").write_text(EXPERIMENT.replace("PAYLOAD", payload))
    return "tiny-cache.yaml"


def trials(lab: Lab) -> list[dict[str, object]]:
    lines = (lab.run() / "trials.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "trial" in line]


def test_what_was_sent_is_what_memcached_counted(lab: Lab) -> None:
    done = lab.loadstone("run", experiment(lab))
    assert done.status in (0, 3), done.err
    assert len(trials(lab)) == 2
    for trial in trials(lab):
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}  # type: ignore[attr-defined]
        assert {name: verdicts[name] for name in CHECKED} == dict.fromkeys(CHECKED, "valid"), trial["checks"]
        assert "slow_log" not in verdicts, "a check of a Redis"
        assert trial["cpu_s"]["cache"] > 0  # type: ignore[index]
    reading = next(one for one in trials(lab) if one["condition"] == {"operation": "get"})
    assert {one["name"]: one["verdict"] for one in reading["checks"]}["hit_rate"] == "valid"  # type: ignore[attr-defined]


def test_on_a_server_of_the_users_nothing_of_ours_stays(lab: Lab, theirs: Endpoint) -> None:
    done = lab.loadstone("run", experiment(lab), "--server", f"cache=memcached://{theirs.label}")
    assert done.status in (0, 3), done.err
    with MemcachedControl(theirs) as control:
        assert control.keys() == 1
        assert control.call("mg", "theirs", "v") == b"kept"


def test_an_item_that_is_too_large_is_one_line(lab: Lab) -> None:
    done = lab.loadstone("run", experiment(lab, "2 MB"))
    assert done.status == 2
    assert "max-item-size, -I" in done.error_line


def test_a_command_on_other_keys_is_not_sent_to_the_users_server(lab: Lab, theirs: Endpoint) -> None:
    path = lab.folder / experiment(lab)
    path.write_text(path.read_text().replace("ms {key} {document}", "ms theirs {document}"))
    done = lab.loadstone("run", path.name, "--server", f"cache=memcached://{theirs.label}")
    assert done.status == 2
    assert "'ms theirs {document}' is not sent to cache" in done.error_line
