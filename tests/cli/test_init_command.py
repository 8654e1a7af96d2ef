"""`loadstone init`: what users start from."""

from pathlib import Path

import pytest

from loadstone.cli.init_command import write_experiment
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError


def test_the_experiment_can_be_planned_and_is_named_after_its_file(tmp_path: Path) -> None:
    write_experiment(tmp_path / "pipeline.yaml")
    experiment = load_experiment(tmp_path / "pipeline.yaml")
    plan = make_run_plan(experiment, quick=True)
    assert plan.experiment == "pipeline"
    assert plan.budget_s <= 60
    assert all(plan.looks_within_budget().values())
    assert {trial.plan.pipeline_depth for trial in plan.trials} == {1, 16}
    text = (tmp_path / "pipeline.yaml").read_text()
    assert "loadstone run pipeline.yaml --quick" in text
    assert "experiment.yaml" not in text


def test_a_name_that_no_experiment_may_have_is_not_taken_over(tmp_path: Path) -> None:
    write_experiment(tmp_path / "My test.yaml")
    assert load_experiment(tmp_path / "My test.yaml").name == "experiment"


@pytest.mark.parametrize(
    ("change", "depths"),
    [
        ("  # metric: response_ns.p99 ", 1),
        ("  # model: {kind: open, rate_per_s: 5000/s, arrivals: poisson}", 1),
    ],
)
def test_lines_that_are_switched_off_can_be_switched_on(tmp_path: Path, change: str, depths: int) -> None:
    write_experiment(tmp_path / "e.yaml")
    text = (tmp_path / "e.yaml").read_text()
    assert text.count(change) == depths
    text = text.replace(change, change.replace("# ", "", 1))
    if "model" in change:
        text = text.replace("  model: {kind: closed, users: 16}\n", "")
    make_run_plan(load_experiment(text))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text("mine")
    with pytest.raises(UserError, match=r"init .*experiment\.yaml: there is such a file already; give another name"):
        write_experiment(file)
    assert file.read_text() == "mine"
    with pytest.raises(UserError, match="cannot be written"):
        write_experiment(tmp_path / "nowhere" / "experiment.yaml")
    with pytest.raises(UserError, match=r"write for example .*pipeline\.yaml"):
        write_experiment(tmp_path / "pipeline")
