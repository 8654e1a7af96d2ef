"""A stall of a real Redis that happens once, and one that is the condition's own: only the second one is its P99."""

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.end_to_end.conftest import Lab

pytestmark = pytest.mark.timeout(300)
LOAD = ("redis", "--rate", "1000", "--test-time", "15", "--repeat", "1", "-t", "get", "--json")


def _row(lab: Lab, stall: Callable[[psutil.Process], None]) -> dict[str, Any]:
    """The row of a load at a rate, during which something was done to its server."""
    command = lab.begin(*LOAD)
    lab.until(command.under_load)
    stall(command.servers()[0])
    done = command.wait()
    assert done.status in (0, 3), done.err
    (row,) = json.loads(done.out)["tables"][0]["rows"]
    assert row["interval_units"] >= 8, [reason["text"] for reason in row["reasons"]]
    return dict(row)


def _of_one_unit(row: dict[str, Any], quantile: str) -> bool:
    """Whether one second alone made it; a busy machine may leave any quantile open for other reasons."""
    return row["unsettled"].get(quantile, {}).get("kind") == "quantile_one_unit"


def _stopped(server: psutil.Process, length_s: float) -> None:
    server.send_signal(signal.SIGSTOP)
    time.sleep(length_s)
    server.send_signal(signal.SIGCONT)


def test_one_stall_is_told_apart_and_the_p99_is_that_of_the_other_seconds(lab: Lab) -> None:
    def once(server: psutil.Process) -> None:
        time.sleep(2.0)
        _stopped(server, 0.3)

    row = _row(lab, once)
    stalls, (low, high) = row["stalls"]["p99"], row["response_interval_ns"]["p99"]
    assert stalls["units"] >= 1
    assert stalls["share_low"] < stalls["units"] / stalls["of"] < stalls["share_high"]
    assert stalls["longest_ns"] > 2e8
    assert row["response_ns"]["p99"] > 5e7, "over everything"
    assert low >= row["service_ns"]["min"], "nothing is faster than every reply"
    if stalls["units"] > 0.15 * stalls["of"]:  # others on this machine made more of them
        assert stalls["without_ns"] is None
        return
    assert stalls["said"]["text"].startswith(f"P99: {stalls['units']} of {stalls['of']} ")
    assert stalls["without_ns"] < row["response_ns"]["p99"]
    assert low <= stalls["without_ns"] <= high


@pytest.mark.prove
def test_stalls_all_the_time_are_the_conditions_own(lab: Lab) -> None:
    def again_and_again(server: psutil.Process) -> None:
        while server.is_running() and time.monotonic() < end:
            try:
                _stopped(server, 0.05)
            except psutil.NoSuchProcess:
                return
            time.sleep(0.2)

    end = time.monotonic() + 60
    row = _row(lab, again_and_again)
    assert not _of_one_unit(row, "p99"), row["unsettled"]
    low, high = row["response_interval_ns"]["p99"]
    figure = row["stalls"]["p99"]["without_ns"] or row["response_ns"]["p99"]  # others may make longer ones in few units
    assert 1e7 < low <= figure <= high, "however rare stalls are told apart, these stay"
