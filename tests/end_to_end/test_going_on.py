"""Going on with a run, what is printed where, and the report in a browser."""

import json
import os
import signal
from pathlib import Path

from loadstone.servers.redis.local import LocalRedis
from loadstone.text.message import read_message
from loadstone.text.sentences import render_message
from tests.end_to_end.conftest import CALM, MANY, Lab

ONLY = ("--only", "operation=set")


def test_resume_needs_no_more_than_the_folder(lab: Lab) -> None:
    command = lab.begin("run", lab.experiment(measure="30 s", change=MANY, calm=CALM), *ONLY, "--quick", "--json")
    lab.until(command.under_load)
    command.signal(signal.SIGINT)
    done = command.wait()
    assert done.status == 130
    assert done.error_line.endswith(f"continue with: loadstone run --resume {lab.run().relative_to(lab.folder)}")
    assert lab.trials() == []
    differs = lab.loadstone("run", lab.experiment(), "--resume", "latest")
    assert differs.status == 2
    assert "--quick was on and is now off" in differs.error_line


def test_resume_finishes_what_was_begun(lab: Lab) -> None:
    path = lab.experiment(measure="1 s", calm=CALM)
    command = lab.begin("run", path, *ONLY, "--blocks", "2")
    lab.until(lambda: lab.runs() and lab.lines())
    command.signal(signal.SIGKILL)
    command.wait()
    path.unlink()  # the folder has a copy
    done = lab.loadstone("run", "--resume", "latest", "--quiet")
    assert done.status in (0, 3), done.err  # 3: this machine spoiled a trial
    assert {(trial["condition"]["operation"], trial["block"]) for trial in lab.trials()} == {("set", 1), ("set", 2)}
    assert done.err == ""
    assert "Report: " in done.out


def test_with_json_nothing_else_is_on_stdout(lab: Lab) -> None:
    done = lab.loadstone("run", lab.experiment(calm=CALM), *ONLY, "--json")
    assert json.loads(done.out)["experiment"] == "tiny"
    assert "Report: " in done.err
    only = lab.loadstone("report", "latest", "--json", "--quiet")
    assert json.loads(only.out) == json.loads(done.out)
    assert only.err == ""
    browser = lab.folder / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)
    lab.loadstone("report", "latest", "--open", BROWSER=f"{browser} %s")
    assert (lab.folder / "opened").read_text().strip() == (lab.run() / "report.html").as_uri()
    none = lab.loadstone("report", "latest", "--open", BROWSER="", PATH="/nowhere", DISPLAY="")
    assert none.status == 0
    assert "--open: no browser was found; open" in none.err


def test_json_is_needed_only_where_a_condition_needs_it(lab: Lab, plain_redis: tuple[LocalRedis, str]) -> None:
    _, url = plain_redis
    path = lab.experiment(
        a='commands: [{args: "JSON.GET {key}", expect: document}] => commands: [{args: "GET {key}"}]',
        b="load:\n    - {operation: set, when: {operation: [get, update]}} => load:\n"
        "    - {operation: set, when: {operation: update}}",
    )
    done = lab.loadstone("run", path, "--only", "operation=get", "--server", f"redis={url}")
    assert done.status in (0, 3), done.err
    assert len(lab.trials()) == 2
    refused = lab.loadstone("run", path, "--only", "operation=set", "--server", f"redis={url}")
    assert refused.status == 2
    assert "it has no JSON" in refused.error_line
    assert len(refused.err.splitlines()) == 1, "before anything is announced"


def test_the_budget_cuts_the_table_short(lab: Lab) -> None:
    options = ["--budget", "8 s", "--set", "design.rounds=never"]
    done = lab.loadstone("run", lab.experiment(measure="2 s", calm=CALM), *options)
    assert done.status in (0, 3), done.err
    assert "Time: 8 s, the budget; about " in done.err
    assert 0 < len(lab.trials()) < 6
    assert "not measured" in " ".join(done.out.split())
    notes = json.loads((lab.run() / "analysis.json").read_text())["notes"]
    assert any(
        "conditions of the tables were not measured: budget." in render_message(read_message(note)) for note in notes
    ), notes


def test_the_budget_gives_every_row_of_a_table_in_rounds_some(lab: Lab) -> None:
    done = lab.loadstone(
        "run", lab.experiment(measure="3 s", calm=CALM), "--set", "design.rounds=auto", "--budget", "12 s"
    )
    assert done.status in (0, 3), done.err
    rows = [trial for trial in lab.trials() if trial["group"] == "table" and trial["block"] == 1]
    assert len(rows) == 6
    slices = {len(trial["facts"]["drive"]["slices"]) for trial in rows}
    assert len(slices) == 1
    assert 2 <= slices.pop() < 35, "35 are planned"


def test_nothing_is_queried_of_a_folder_that_is_no_run(lab: Lab) -> None:
    assert not Path(lab.folder / "runs").exists()
    done = lab.loadstone("run", "--resume", "latest")
    assert done.status == 2
    assert "there is no run in runs" in done.error_line
    assert os.listdir(lab.folder) == ["tmp"]  # noqa: PTH208 (the fixture's own)
