"""The wall clock is set forth and back while a run measures: no duration, figure or verdict comes of it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import CALM, MANY, Lab, check_of

pytestmark = pytest.mark.timeout(300)
SOURCE = Path(__file__).with_name("step_clock.c")
HOUR_S = 3600


@pytest.fixture
def preloaded(tmp_path: Path) -> Path:
    """A library that sets the wall clock of a process and of all that it starts."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("no C compiler, or no Linux")
    library = tmp_path / "step_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)], check=True)
    return library


@pytest.mark.fault("the clock is set in a trial")
def test_a_clock_that_is_set_in_a_trial_changes_no_figure(lab: Lab, preloaded: Path) -> None:
    step = lab.folder / "step"
    command = lab.begin(
        "run",
        lab.experiment(measure="1500 ms", many=MANY, calm=CALM),
        *("--only", "operation=set"),
        LD_PRELOAD=str(preloaded),
        STEP_FILE=str(step),
    )
    for seconds in (HOUR_S, -HOUR_S):  # forth in the first trial, and back by two hours in the second
        lab.until(command.under_load)
        finished = len(lab.trials())
        step.with_suffix(".new").write_text(str(seconds))
        step.with_suffix(".new").rename(step)
        lab.until(lambda n=finished: len(lab.trials()) > n)
    done = command.wait()
    assert done.status in (0, 3), done.err
    trials = lab.trials()
    assert len(trials) == 2
    began = [trial["started_unix_ns"] / 1e9 for trial in trials]
    assert 0 < began[1] - began[0] < HOUR_S / 2
    for trial in trials:
        assert 1.4 < trial["duration_s"] < HOUR_S / 2
        assert trial["cpu_s"]["redis"] > 0
        assert trial["facts"]["seen"]["host"]
        assert check_of(trial, "server_counter")["verdict"] == "valid", trial["checks"]
        for stalls in ("stalls", "own_stalls"):  # per cent of the time: those of a busy machine, and not all of it
            assert check_of(trial, stalls)["measured"] < 30, trial["checks"]
    moved_s = [check_of(trial, "clock_set")["measured"] for trial in trials]
    assert [round(one / HOUR_S) for one in moved_s] == [1, -2], "said, and nothing rests on it"
    for name, moment in (("samples.jsonl", "unix_s"), ("intervals.jsonl", "start_s")):
        lines = [json.loads(line) for line in (lab.run() / name).read_text().splitlines()]
        moments = [line[moment] for line in lines]
        assert 0 <= max(moments) - min(moments) < HOUR_S / 2, name
    begun_ns = [line["start_unix_ns"] for line in lines]
    assert max(begun_ns) - min(begun_ns) < HOUR_S / 2 * 1e9
