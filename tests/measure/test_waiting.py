"""`--wait`: a run begins when the one that measures on this machine ends."""

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from loadstone.cli.carry_out import _in_turn
from loadstone.measure import machine_lock
from loadstone.measure.machine_lock import AnotherRunMeasures, measuring, wait_for_others
from loadstone.run.request import RunRequest
from loadstone.run.run import RunResult
from loadstone.safety.errors import UserError

HOLDS = """
import sys
from pathlib import Path
from typing import cast
from loadstone.measure.machine_lock import measuring
with measuring(Path("their-run"), share=False, remark=print):
    print("measures", flush=True)
    sys.stdin.readline()
"""


def test_of_several_that_wait_the_slower_ones_wait_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may begin between the end of the wait and the lock."""
    monkeypatch.setenv(machine_lock.VARIABLE, str(tmp_path))
    begun: list[float] = []

    def run(options: RunRequest) -> RunResult:
        begun.append(options.began_s or 0.0)
        if len(begun) < 3:
            raise AnotherRunMeasures("it was faster")
        return cast("RunResult", "the outcome")

    assert _in_turn(RunRequest(wait=True), run) == "the outcome"
    assert begun == sorted(begun)
    assert len(set(begun)) == 3


def test_it_begins_when_the_other_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_lock.VARIABLE, str(tmp_path))
    said: list[str] = []
    wait_for_others(said.append)
    assert said == []
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "measures\n"
        with (
            pytest.raises(UserError, match="add --wait to begin when it ends"),
            measuring(tmp_path, share=False, remark=said.append),
        ):
            pass
        steps = 0

        def sleep(_: float) -> None:
            nonlocal steps
            steps += 1
            if steps == 70:  # the other ends
                other.communicate("\n")

        wait_for_others(said.append, sleep)
    assert steps == 70
    assert len(said) == 2
    assert all(
        line.startswith("--wait: another run is in progress on this machine: ") and "their-run" in line for line in said
    )
    assert said[1].endswith("; 1 min so far")
