"""The commands that measure nothing, and the documents that show how to use them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loadstone import __version__
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.judge.checks.checks import BOUNDS
from loadstone.programs.manifest import read_manifest
from tests.end_to_end.conftest import Lab

ROOT = Path(__file__).parents[2]


def test_version_and_list(lab: Lab) -> None:
    assert __version__ in lab.loadstone("--version").out
    done = lab.loadstone("list")
    assert done.status == 0
    assert "json-documents" in done.out


def test_show_says_how_long_it_takes_and_what_it_can_see(lab: Lab) -> None:
    done = lab.loadstone("show", "json-documents", "--quick", "--budget", "3m")
    assert done.status == 0
    assert "2 comparisons" in done.out
    assert "the budget ends it after 3 min" in done.out
    assert "an estimate for an idle machine" in done.out


def test_doctor_names_what_is_there(lab: Lab) -> None:
    done = lab.loadstone("doctor")
    assert done.status in (0, 1)  # 1: something on this machine could be better
    for name in ("redis-server", "RedisJSON", "CPUs", "clock source"):
        assert name in done.out
    assert done.err == ""


def test_every_command_explains_itself(lab: Lab) -> None:
    for command in ("list", "show", "init", "run", "runs", "report", "compare", "doctor"):
        done = lab.loadstone(command, "--help")
        assert done.status == 0
        assert command in done.out
    assert lab.loadstone(command, "-h") == done


@pytest.mark.fault("stdout's reader goes away", "no traceback", area="input")
def test_a_reader_that_goes_away_gives_no_traceback(lab: Lab) -> None:
    for command in ("list", "doctor"):
        line = f"{sys.executable} -m loadstone.cli.main {command} | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], cwd=lab.folder, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert done.stdout.strip() in ("0", "1")  # 1: doctor found that something could be better


def gives_a_rate(trial: dict[str, Any]) -> bool:
    """Whether it counts for what its condition can do at most: on a busy machine a stall may forbid that."""
    forbidden = any(check["verdict"] == "invalid" and check["name"] not in BOUNDS for check in trial["checks"])
    return trial["group"] == "depth" and trial["block"] > 0 and not forbidden


def test_an_experiment_to_start_from_is_written_and_runs_as_it_is(lab: Lab) -> None:
    lab.draws = True
    done = lab.loadstone("init")
    assert done.out.splitlines() == [
        "written: experiment.yaml",
        "try it: loadstone run experiment.yaml --quick",
    ]
    again = lab.loadstone("init")
    assert again.status == 2
    assert "there is such a file already" in again.error_line
    run = lab.loadstone("run", "experiment.yaml", "--quick", "--blocks", "1")
    groups = [trial["group"] for trial in lab.trials()]
    assert groups.count("depth") == 4, run.err  # one block, and the warm one
    assert groups.count("at-rate") == len({one["condition"]["pipeline"] for one in lab.trials() if gives_a_rate(one)})
    assert "What does a pipeline of 16 bring" in run.out
    assert "Report: " in run.out
    assert "Report: " not in run.err
    assert "Time: about" in run.err
    again = lab.loadstone("report", "latest", "--quiet")
    assert again.err == ""
    assert f"Report: runs/{lab.run().name}/report.html" in again.out


def test_the_experiments_of_the_pages_can_be_planned(tmp_path: Path) -> None:
    pages = [(ROOT / "docs" / name).read_text() for name in ("tutorial.md", "subjects.md")]
    texts = [text for page in pages for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    experiments = [text for text in texts if "\nquestion: " in text]
    (manifest,) = [text for text in texts if "\nbuild:" in text]
    (tmp_path / "subject.yaml").write_text(manifest)
    assert read_manifest(tmp_path)[0].name == "shop"
    plans = {}
    for text in experiments:
        (tmp_path / "experiment.yaml").write_text(text)
        plan = make_run_plan(load_experiment(tmp_path / "experiment.yaml"))
        plans[plan.experiment] = plan
    assert {trial.plan.pipeline_depth for trial in plans["pipeline"].trials} == {1, 16}
    assert {trial.condition["users"] for trial in plans["shop"].trials} == {10, 50, 200}


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
