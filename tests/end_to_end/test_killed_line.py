"""The line to a server is killed in the middle of a run: one clear line, what was measured is kept, nothing is left."""

import contextlib
import json
import re
import signal
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.conftest import CALM, MANY, Command, Lab, plain, reason_of

pytestmark = pytest.mark.timeout(600)
LINE = "redis: {kind: embedded, modules: [json]} => redis: {kind: embedded, modules: [json], link: 1 ms}"
SAID = re.compile(r"the link of redis (ended during the trial|has ended): it was killed by signal 9 \(SIGKILL\)")
"""Under load, or while its connections were still made."""
ROWS = 6


def behind_a_line(lab: Lab, measure: str, **replaced: str) -> Path:
    return lab.experiment(measure=measure, line=LINE, calm=CALM, **replaced)


def line_of(command: Command) -> psutil.Process:
    """The only line that the command started."""
    (line,) = lines_below(psutil.Process(command.process.pid).children(recursive=True))
    return line


def lines_below(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if {"loadstone.drivers.engine_program", "link"} <= set(process.cmdline()):
                found.append(process)
    return found


def lines_left(lab: Lab) -> list[psutil.Process]:
    """Lines of any command of the lab: they have its temporary folder in their environment."""
    left = []
    for process in lines_below(list(psutil.process_iter())):
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR") == str(lab.temporary):
                left.append(process)
    return left


@pytest.mark.fault(
    "the link to a server dies in a trial",
    "the trial is invalid, later trials use a new link, status 3",
    area="servers",
)
def test_one_trial_is_spoiled_and_says_why_and_the_rest_goes_on(lab: Lab) -> None:
    command = lab.begin("run", behind_a_line(lab, "1200 ms", many=MANY))
    lab.until(lambda: lab.runs() and lab.trials())
    lab.until(command.under_load)
    line_of(command).kill()
    done = command.wait()
    assert done.status == 3, done.err
    assert "Traceback" not in done.err
    assert len(lab.trials()) == ROWS
    spoiled = [trial for trial in lab.trials() if SAID.search(json.dumps(trial["checks"]))]
    assert len(spoiled) == 1, done.err
    (finished,) = [check for check in spoiled[0]["checks"] if check["name"] == "finished"]
    assert SAID.search(reason_of(finished))
    assert all(trial["counts"]["ok"] > 0 for trial in lab.trials() if trial["trial"] != spoiled[0]["trial"])
    assert "\n" not in reason_of(finished)
    assert SAID.search(" ".join(plain(done.out + done.err).split()))
    assert (lab.run() / "report.html").is_file()
    lab.until(lambda: not lines_left(lab))


@pytest.mark.fault("the link to a server dies in a trial")
def test_rows_that_took_turns_are_spoiled_together(lab: Lab) -> None:
    path = behind_a_line(lab, "2 s", turns="rounds: never} => rounds: auto}")
    command = lab.begin("run", path)
    lab.until(command.under_load)
    line_of(command).kill()
    done = command.wait()
    assert done.status == 3, done.err
    assert "Traceback" not in done.err
    assert len(lab.trials()) == ROWS
    assert {trial["verdict"] for trial in lab.trials()} == {"invalid"}
    assert all("the link of redis" in json.dumps(trial["checks"]) for trial in lab.trials()), done.err
    lab.until(lambda: not lines_left(lab))


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
def test_a_killed_loadstone_leaves_no_line(lab: Lab) -> None:
    command = lab.begin("run", behind_a_line(lab, "1500 ms", many=MANY))
    lab.until(command.under_load)
    line = line_of(command)
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until(lambda: not line.is_running() or line.status() == psutil.STATUS_ZOMBIE)
    lab.until(lambda: not lines_left(lab))
