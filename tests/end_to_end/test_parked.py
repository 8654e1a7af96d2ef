"""Applications of other conditions while a trial is measured: they stand still, serve again, and end with the run."""

import signal
import sys

import psutil
import pytest

from loadstone.measure.warm_up import QUIET_CORES
from tests.end_to_end.conftest import Command, Lab
from tests.end_to_end.test_subjects import experiment, stored

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="who else used a CPU is seen on Linux only"),
]
BUSY = "[burns, right]"
"""The first computes without end: beside the second it would take a whole CPU."""


@pytest.mark.alone
def test_what_a_trial_does_not_need_takes_nothing_beside_it(lab: Lab) -> None:
    path = experiment(lab, behaviours=BUSY)
    path.write_text(path.read_text().replace("table_blocks: 1", "table_blocks: 2"))
    done = lab.loadstone("run", "--trust", path)
    trials = lab.trials()
    assert len(trials) == 4, done.err
    for trial in trials:
        facts = trial["facts"]
        counted = stored(trial)
        assert facts["failure"] is None
        assert counted["after"] - counted["before"] == counted["answered"] > 0, "it serves after it stood still, too"
        assert "app" not in facts["seen"].get("others", {}), facts["seen"]
        restless = facts["subjects"]["app"]["restless_cores"]
        if trial["condition"]["behaviour"] == "burns":
            assert restless > QUIET_CORES, "it did not become idle"
        else:
            assert restless is None
        placed = facts["placement"]
        for cpu in {*placed["server_cpus"], *placed["generator_cpus"]}:
            assert {"busy", "stolen", "others"} == set(facts["seen"][f"cpu{cpu}"])
            before_ns, after_ns = facts["speed"][f"cpu{cpu}"]
            assert before_ns > 0 < after_ns
    assert "app still takes " in done.err + done.out
    assert "Traceback" not in done.err


def held(command: Command) -> bool:
    """Whether something that the command started stands still."""
    try:
        children = psutil.Process(command.process.pid).children(recursive=True)
        return any(child.status() == psutil.STATUS_STOPPED for child in children)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_that_stands_still_outlives_the_run(lab: Lab, number: signal.Signals) -> None:
    path = experiment(lab, behaviours=BUSY)
    path.write_text(path.read_text().replace("table_blocks: 1", "table_blocks: 8"))
    command = lab.begin("run", "--trust", path, "--set", "workload.phases.measure_s=2")
    lab.until(lambda: held(command))
    command.signal(number)
    command.wait()
    lab.until_nothing_is_left()
