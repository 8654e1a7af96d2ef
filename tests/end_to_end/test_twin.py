"""`--twin`: one condition of each comparison against itself in the same rounds, on a real Redis."""

import json

import pytest

from loadstone.experiment.spec.experiment import AA_FACTOR, TWIN_LEVELS
from tests.end_to_end.conftest import Lab

pytestmark = pytest.mark.timeout(300)

COMPARED = (
    "tables:\n => comparisons:\n  - {name: kinds, question: Which is faster?, between: operation,"
    " levels: [set, get]}\ntables:\n"
)
IN_ROUNDS = "rounds: never} => rounds: auto, budget: 25 s}"


def test_the_noise_floor_of_a_condition_is_measured_and_printed(lab: Lab) -> None:
    path = lab.experiment(compared=COMPARED, rounds=IN_ROUNDS)
    done = lab.loadstone("run", path, "--twin", "--only", "workers=1", "--out", "runs")
    assert "Traceback" not in done.err
    (folder,) = (lab.folder / "runs").glob("*/")
    (family,) = json.loads((folder / "analysis.json").read_text())["families"]
    (comparison,) = family["comparisons"]
    assert (comparison["primary"]["a"]["name"], comparison["primary"]["b"]["name"]) == ("set", "get")
    twin = family["twin"]
    levels = [twin["primary"][side]["condition"] for side in "ab"]
    assert [condition.pop(AA_FACTOR) for condition in levels] == list(TWIN_LEVELS)
    assert levels[0] == levels[1]
    assert twin["primary"]["low"] < 0 < twin["primary"]["high"]
    assert [cost["metric"] for cost in twin["costs"]] == ["cpu_ns.redis"]
    said = "Noise floor, set against itself in the same rounds: correct replies a second "
    assert said in " ".join(done.out.split())
    assert said in (folder / "report.md").read_text().replace("\\", "")
    assert "twin against original" not in family["answer"]["text"]


def test_a_run_that_compares_nothing_has_no_twin(lab: Lab) -> None:
    done = lab.loadstone("run", lab.experiment(), "--twin")
    assert done.status == 2
    assert done.error_line == "loadstone: --twin: tiny compares nothing; leave it out"
