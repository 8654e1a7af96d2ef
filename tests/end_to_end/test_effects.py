"""Effects of two factors on a real Redis, the whole way: measured in the same rounds, and in every report."""

import csv
import json

import pytest

from tests.end_to_end.conftest import CALM, Lab

pytestmark = pytest.mark.timeout(600)  # a machine of two cores that does other things, too
EFFECTS = """servers: => effects:
  - name: both
    question: What do operation and workers change together?
    factors: [operation, workers]
    reference: {operation: set}
servers:"""
SHORT = (
    "design: {table_blocks: 1, at_rate: never, rounds: never} => "
    "design: {table_blocks: 1, at_rate: never, slice: 50 ms}"
)
ONLY = ("--only", "operation=set,get", "--only", "workers=1,4")


def test_effects_are_measured_in_the_same_rounds_and_reported(lab: Lab) -> None:
    done = lab.loadstone("run", lab.experiment(effects=EFFECTS, short=SHORT, calm=CALM), *ONLY, "--blocks", "2")
    assert done.status in (0, 3), done.err  # 3: this machine spoiled a trial
    trials = [trial for trial in lab.trials() if trial["group"] == "both"]
    assert {(trial["condition"]["operation"], trial["condition"]["workers"]) for trial in trials} == {
        (operation, workers) for operation in ("set", "get") for workers in (1, 4)
    }
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    (answer,) = analysis["effects"]
    assert [(term["kind"], term["levels"]) for term in answer["terms"]] == [
        ("main", {"operation": "get"}),
        ("main", {"workers": 4}),
        ("interaction", {"operation": "get", "workers": 4}),
    ]
    (family,) = [one for one in analysis["families"] if one["name"] == "both"]
    assert len(family["comparisons"]) == 4
    assert len(answer["cells"]) == 4
    report = (lab.run() / "report.md").read_text()
    assert "### What do operation and workers change together?" in report
    page = (lab.run() / "report.html").read_text()
    assert 'id="effects"' in page
    with (lab.run() / "effects.csv").open() as file:
        assert [line["kind"] for line in csv.DictReader(file)] == ["main", "main", "interaction"]
    with (lab.run() / "combinations.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4
    looks = [json.loads(line) for line in (lab.run() / "looks.jsonl").read_text().splitlines()]
    (look,) = [one for one in looks if one["group"] == "both"]
    assert len(look["verdicts"]) == 7  # of the pairs, and of the effects
