"""What makes the load of each condition: by the experiment, by a factor, by the command line."""

from pathlib import Path

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.programs.clients.chosen import chosen_drivers
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.safety.errors import UserError
from loadstone.text.message import message

EXPERIMENT = """\
format: 1
name: clients
question: Which one is faster?
factors:
  client: {levels: [native, go-redis]}
  users: {levels: [1, 8]}
tables:
  - {name: all, title: All, vary: {client: [native, go-redis], users: [1, 8]}}
comparisons:
  - {name: client, question: Which?, between: client, levels: [native, go-redis], at: {users: [8]}}
  - {name: users, question: More?, between: users, levels: [1, 8], at: {client: [native]}}
servers:
  redis: {kind: embedded}
workload:
  driver: ${client}
  model: {kind: closed, users: "${users}"}
  pool: {connections: 8}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
"""


def plan(text: str = EXPERIMENT) -> RunPlan:
    return make_run_plan(load_experiment(text), seed=1)


def test_a_condition_has_the_driver_of_its_level() -> None:
    for trial in plan().every_trial:
        assert trial.driver == trial.condition["client"]


def test_conditions_of_a_program_are_measured_by_whole_trials_and_it_is_said_why() -> None:
    why = message("whole_trials.driver", driver="go-redis")
    groups = {group.name: group for group in plan().groups}
    assert (groups["client"].rounds, groups["client"].whole_trials) == (None, why)
    assert groups["users"].rounds is not None
    assert why in [group.whole_trials for group in groups.values() if group.name.startswith("table")]
    assert all(trial.driver == "native" for trial in plan().every_trial if trial.in_rounds)


def test_where_a_drivers_tools_are_missing_it_says_what_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UserError) as refused:
        chosen_drivers(plan())
    assert "driver go-redis: requires.go: it is not installed" in str(refused.value)
    assert str(refused.value).endswith("; or measure the others: --only client=native")
    with pytest.raises(UserError) as refused:
        chosen_drivers(plan(EXPERIMENT.replace("driver: ${client}", "driver: go-redis")))
    assert "--only" not in str(refused.value)


def test_the_command_line_chooses_one_for_all() -> None:
    chosen = RunRequest("json-documents", quick=True, seed=1, driver="go-redis")
    trials = requested_plan(requested_experiment(chosen), chosen).every_trial
    assert {trial.driver for trial in trials} == {"go-redis"}
    assert not any(trial.in_rounds for trial in trials)


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        ("go-rediz", "--driver go-rediz: 'go-rediz' is no driver; did you mean 'go-redis'"),
        ("native:x=y", "--driver native:x=y: 'native:x=y': the native engine has no options"),
    ],
)
def test_a_driver_that_is_none_is_refused(driver: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        requested_experiment(RunRequest("json-documents", driver=driver))
    assert said in str(refused.value)


@pytest.mark.parametrize("written", ["go-rediz", "17", "''"])
def test_a_driver_that_is_none_is_refused_with_its_line(written: str) -> None:
    with pytest.raises(UserError, match=r"workload\.driver"):
        plan(EXPERIMENT.replace("driver: ${client}", f"driver: {written}"))


def test_a_path_counts_from_the_experiments_file(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "driver.yaml").write_text("")
    text = EXPERIMENT.replace("driver: ${client}", "driver: mine").replace("go-redis]}", "go-redis], alike: true}", 1)
    (tmp_path / "x.yaml").write_text(text)
    options = RunRequest(str(tmp_path / "x.yaml"), seed=1)
    trials = requested_plan(requested_experiment(options), options).every_trial
    assert {trial.driver for trial in trials} == {str(tmp_path / "mine")}


def test_another_driver_is_another_plan() -> None:
    one, other = (
        summarise_plan(plan(EXPERIMENT.replace("driver: ${client}", f"driver: {name}"))).trials[0].plan_sha256
        for name in ("native", "go-redis")
    )
    assert one != other
