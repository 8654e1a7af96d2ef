"""Equal conditions on a real Redis, of which one leaves something behind: no difference is claimed."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Lab
from tests.real_servers import UserRedis

pytestmark = [pytest.mark.prove, pytest.mark.timeout(600)]
BENCH = Path(__file__).parents[2] / "bench"
LAG_MS = 90
"""For so long after the first condition's last command the second one's wait: all of the slice that follows."""


@contextlib.contextmanager
def lagging(port: int) -> Iterator[str]:
    """The URL of a relay in front of this server."""
    command = [sys.executable, str(BENCH / "judge" / "lagging_relay.py"), str(port), str(LAG_MS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None
        try:
            yield f"redis://127.0.0.1:{relay.stdout.readline().strip()}"
        finally:
            relay.kill()


def test_what_reaches_into_the_next_slice_is_no_difference(lab: Lab, user_redis: Callable[..., UserRedis]) -> None:
    """How far it comes with longer slices depends on the machine: `bench/judge/provoked_carry_over.py` goes on."""
    with lagging(user_redis().port) as url:
        options = ("--server", f"redis={url}", "--budget", "80s", "--at-rate", "never")
        done = lab.loadstone("run", BENCH / "experiments" / "carried.yaml", *options)
    assert done.status in (0, 3), done.err
    looks = [json.loads(line) for line in (lab.run() / "looks.jsonl").read_text().splitlines()]
    first = next(look for look in looks if look["reason"] != "go on")
    assert (first["stage"], first["reason"]) == (0, "carry-over"), done.err
    assert [verdict["check"] for verdict in first["verdicts"]] == ["carry_over"]
    assert {verdict["kind"] for look in looks for verdict in look["verdicts"]} <= {
        "undecided",
        "not_decidable",
        "invalid",
    }
    assert "what a condition did reached into the next slice by" in done.out + done.err
    assert "FASTER" not in done.out
