"""Two runs at once on one machine: the second one is reported of the first, or both say that they were not alone."""

import json
import signal
import sys

import pytest

from tests.end_to_end.conftest import CALM, MANY, Lab

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are identified by /proc"),
]
ONE = ("--only", "operation=set", "--only", "workers=1")


@pytest.mark.fault("two runs at once", "the second ends with status 2; `--share-machine` records both", area="users")
def test_a_second_run_names_the_first_or_says_that_it_was_beside_it(lab: Lab) -> None:
    first = lab.begin("run", lab.experiment(measure="300 s", many=MANY, calm=CALM), *ONE)
    lab.until(first.under_load)
    running = lab.run()
    refused = lab.loadstone("run", lab.experiment(), *ONE)
    assert refused.status == 2
    assert f"{running} (process {first.process.pid}, " in refused.error_line
    assert "--share-machine" in refused.error_line
    assert lab.runs() == [running]

    for harmless in (("list",), ("runs",), ("show", lab.folder / "tiny.yaml"), ("report", running, "--format", "csv")):
        assert lab.loadstone(*harmless).status == 0, harmless

    shared = lab.loadstone("run", lab.experiment(), *ONE, "--share-machine", "--out", "beside")
    assert shared.status in (0, 3), shared.err
    assert "another run is in progress on this machine at the same time" in shared.err
    (beside,) = (lab.folder / "beside").glob("[!.]*")
    noted = json.loads((beside / "environment.json").read_text())["other_runs"]
    assert noted == [{"run": running.name, "process": first.process.pid}]
    assert running.name in (beside / "report.md").read_text()

    first.signal(signal.SIGTERM)
    assert first.wait().status == 130
    alone = lab.loadstone("run", lab.experiment(), *ONE, "--out", "alone")
    assert alone.status in (0, 3), alone.err
    (folder,) = (lab.folder / "alone").glob("[!.]*")
    assert json.loads((folder / "environment.json").read_text())["other_runs"] == []


def test_a_run_that_is_gone_on_with_says_what_it_was_beside(lab: Lab) -> None:
    path = lab.experiment(measure="1 s")
    cut = lab.begin("run", path, "--only", "operation=set")
    lab.until(lambda: lab.runs() and lab.trials())
    cut.signal(signal.SIGKILL)
    cut.wait()
    folder = lab.run()
    other = lab.begin("run", lab.experiment(measure="300 s", many=MANY, calm=CALM), *ONE, "--out", "other")
    lab.until(other.under_load)
    lab.experiment(measure="1 s")
    assert lab.loadstone("run", "--resume", folder).status == 2
    done = lab.loadstone("run", "--resume", folder, "--share-machine")
    assert done.status in (0, 3), done.err
    (noted,) = json.loads((folder / "environment.json").read_text())["other_runs"]
    assert noted["process"] == other.process.pid
    other.signal(signal.SIGTERM)
    other.wait()
