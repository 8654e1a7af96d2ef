"""A server that stands still in mid-trial, and loadstone that does: told apart, and neither is left out unsaid."""

import signal
import time
from typing import Any

import pytest

from tests.end_to_end.conftest import CALM, MANY, Lab, check_of

pytestmark = pytest.mark.timeout(300)
STOPPED_S = 2.5
KEYS = "  keys: {count: 100}"


def _stopped(lab: Lab, which: str, *changes: str) -> tuple[list[dict[str, Any]], str]:
    """The trials of a run in which the Redis or loadstone was stopped under load, and what was printed."""
    experiment = lab.experiment(
        measure="5 s", many=MANY, calm=CALM, **{f"change{n}": one for n, one in enumerate(changes)}
    )
    command = lab.begin("run", experiment, "--only", "operation=set", "--only", "workers=4")
    lab.until(command.under_load)
    time.sleep(1.0)
    process = command.servers()[0] if which == "redis" else command.process
    process.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_S)
    process.send_signal(signal.SIGCONT)
    done = command.wait()
    assert done.status in (0, 3), done.err
    return lab.trials(), done.out + done.err


@pytest.mark.fault(
    "a server stops answering in a trial",
    "the row counts the timeouts, and a line gives duration, waiting requests and cause",
    area="servers",
)
def test_a_server_that_is_stopped_stands_in_its_row_with_the_length_and_the_reason(lab: Lab) -> None:
    (trial,), printed = _stopped(lab, "redis", f"{KEYS} =>   timeouts: {{request_ms: 1 s}}\n{KEYS}")
    stalls = check_of(trial, "stalls")
    assert stalls["verdict"] == "suspect", trial["checks"]
    assert STOPPED_S - 0.5 < stalls["measured"] < STOPPED_S + 2
    assert (stalls["reason"]["figures"]["part"], stalls["reason"]["figures"]["state"]) == ("redis", "stopped")
    assert trial["counts"]["timeouts"] > 0
    assert check_of(trial, "own_stalls")["measured"] == 0
    refused = {check["name"] for check in trial["checks"] if check["verdict"] == "invalid"}
    assert refused <= {"gain", "taken"}, "what it found is no reason to leave it out"
    assert "Nothing was answered for" in printed.replace("\n", " ")


@pytest.mark.fault(
    "loadstone is stopped by SIGSTOP in a trial", "the report blames loadstone, not the server", area="servers"
)
def test_loadstone_that_is_stopped_says_that_it_was_itself(lab: Lab) -> None:
    (trial,), _ = _stopped(lab, "loadstone")
    own = check_of(trial, "own_stalls")
    assert own["verdict"] == "suspect", trial["checks"]
    assert STOPPED_S - 0.5 < own["measured"] < STOPPED_S + 2
    assert check_of(trial, "stalls")["measured"] == 0, "the server stood still for nobody"
    assert own["reason"]["figures"]["no_cpu_s"] < own["measured"] / 2
    assert trial["counts"]["timeouts"] == 0
