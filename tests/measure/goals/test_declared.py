"""A goal that an experiment declares: its settings, what it measures, its answer and its section of every report."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from tests.add_ons import distribution, install
from tests.core_reports import nothing_drawn
from tests.tiny_experiment import TINY

from loadstone.cli import main
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import GoalPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.measure.goals import registry
from loadstone.measure.goals.goal import (
    GoalContext,
    GoalPhase,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RunClock,
    RunHistory,
    TimeBudget,
)
from loadstone.run.describe import describe_experiment
from loadstone.run.prepare import prepare
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError

from .first_slow import FirstSlow, FirstSlowAnswer, FirstSlowGoal, FirstSlowRow
from .scripted_loop import ScriptedJudge, no_histogram

GOALS = """\
goals:
  - {name: cold, kind: first_slow, vary: {users: [1, 2]}, time: 20 s, slow: 1 ns, times: 2}
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    install(monkeypatch, site)


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a package of others."""
    return distribution(tmp_path_factory.mktemp("site"), first_slow="tests.measure.goals.first_slow:ADD_ON")


def experiment(text: str) -> Experiment:
    return load_experiment(text, label="x.yaml")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("first_slow", "first_slwo", "goals.0.kind: 'first_slwo' is not known; did you mean 'first_slow'?"),
        ("slow: 1 ns", "slow: fast", "goals.0.slow: "),
        ("times: 2", "times: 0", "goals.0.times: "),
        ("times: 2", "tries: 2", "goals.0.tries: "),
    ],
)
def test_a_mistake_names_the_field(before: str, after: str, said: str) -> None:
    registry.check_goals(experiment(TINY + GOALS))
    with pytest.raises(UserError, match="goals") as error:
        registry.check_goals(experiment(TINY + GOALS.replace(before, after)))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kind_that_nobody_knows_is_refused_before_it_is_shown_or_run(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TINY + GOALS.replace("first_slow", "third_slow"))
    options = RunRequest(experiment=str(tmp_path / "x.yaml"))
    for asked in (describe_experiment, prepare):
        with pytest.raises(UserError, match=r"goals\.0\.kind: 'third_slow' is not known"):
            asked(options)


def test_its_conditions_are_planned_and_its_time_is_kept() -> None:
    (goal,) = make_run_plan(experiment(TINY + GOALS)).goals
    assert [trial.name for trial in goal.trials] == ["cold-001", "cold-002"]
    assert [trial.condition for trial in goal.trials] == [{"users": 1}, {"users": 2}]
    plan, without = (make_run_plan(experiment(text), budget_s=600) for text in (TINY + GOALS, TINY))
    assert plan.ending_s() == without.ending_s() + 20
    assert plan.trials == without.trials, "it changes nothing of the tables"
    assert make_run_plan(experiment(TINY + GOALS.replace("times: 2", "quick: false")), quick=True).goals == ()


@pytest.fixture
def goal(synthetic: ModuleType) -> FirstSlow:
    """Of one condition, in a plan."""
    template = synthetic.planned_trial("cold-001", {"n": 1}, synthetic.make_plan())
    planned = GoalPlan("cold", FirstSlow.kind, {"times": 2}, 20.0, (replace(template, group="cold"),))
    plan = replace(synthetic.make_run_plan(), goals=(planned,))
    asked = GoalContext(synthetic.make_experiment(), plan, ScriptedJudge(), no_histogram)
    (goal,) = [one for one in registry.goals_of(asked) if isinstance(one, FirstSlow)]
    return goal


def test_it_goes_on_until_it_has_all_and_then_it_is_looked_at(goal: FirstSlow, synthetic: ModuleType) -> None:
    history, time, names = RunHistory(), RunClock(TimeBudget(0.0), lambda: 0.0, GoalPhase.AFTER), []
    while isinstance(step := goal.next(history, time), MeasureBlocks):
        (shown,) = step.blocks
        (planned,) = shown.block.trials
        names.append(planned.name)
        drive = synthetic.make_drive(planned.plan)
        history.trials.append(synthetic.make_trial(drive, planned).model_copy(update={"group": "cold"}))
        assert planned.plan.phases.warm_up_s == 0
    assert names == ["cold-001-1", "cold-001-2"]
    assert isinstance(step, RecordLook)
    assert (step.look.group, step.look.reason, step.look.stop) == ("cold", "last look", True)
    history.looks.append(step.look)
    assert isinstance(goal.next(history, time), NothingMore)
    assert goal.expected(history, time) == (0.0, 0.0)


def test_what_the_budget_ended_goes_on_with_more_time(goal: FirstSlow) -> None:
    history = RunHistory()
    short, long = (RunClock(TimeBudget(budget_s), lambda: 0.0, GoalPhase.AFTER) for budget_s in (0.001, 600.0))
    step = goal.next(history, short)
    assert isinstance(step, RecordLook)
    assert step.look.reason == "out of budget"
    history.looks.append(step.look)
    assert isinstance(goal.next(history, short), NothingMore)
    assert isinstance(goal.next(history, long), MeasureBlocks)


def test_an_answer_comes_back_from_a_file_as_what_it_was(synthetic: ModuleType, tmp_path: Path) -> None:
    small = analyse(synthetic.write_run(tmp_path))
    assert "first_slow" not in json.loads(small.model_dump_json()), "there is none"
    row = FirstSlowRow(label="x", times=2, slow=1, first_s=0.1)
    one = small.with_part("first_slow", FirstSlowAnswer([FirstSlowGoal(name="cold", slow_s=0.01, rows=[row])]))
    assert Analysis.model_validate_json(one.model_dump_json()) == one


def test_a_run_answers_it_in_every_report_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way, on a Redis of its own; in this process, where nothing is drawn."""
    (tmp_path / "cold.yaml").write_text(TINY.replace("measure_s: 1 s", "measure_s: 300 ms, drain_s: 200 ms") + GOALS)

    monkeypatch.setattr("loadstone.run.command_line._OF_FOLDER", [])  # the last command is one of a folder's

    def loadstone(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["loadstone", *map(str, arguments)])
        with nothing_drawn(), pytest.raises(SystemExit) as ended:
            main.main()
        said = capsys.readouterr()
        assert ended.value.code in (None, 0, 3), said.err
        return said.out + said.err

    said = loadstone("run", tmp_path / "cold.yaml", "--quick", "--out", tmp_path / "runs", "--verbose")
    (run,) = (tmp_path / "runs").glob("*/")
    analysis = json.loads((run / "analysis.json").read_text())
    lines = (run / "trials.jsonl").read_text().splitlines()
    trials = [trial for trial in map(json.loads, lines) if trial["group"] == "cold"]
    assert [trial["trial"] for trial in trials] == ["cold-001-1", "cold-002-1", "cold-001-2", "cold-002-2"]
    measured = sum(trial["verdict"] != "invalid" for trial in trials)  # others may have had the machine
    (cold,) = analysis["first_slow"]
    rows = cold["rows"]
    assert cold["name"] == "cold"
    assert sum(row["times"] for row in rows) == sum(row["slow"] for row in rows) == measured
    assert analysis["complete"]
    heading, sentence = "The first slow reply", "The first reply slower than 1 ns came"
    for text in (said, (run / "report.md").read_text(), (run / "report.html").read_text()):
        assert heading in text
        assert sentence in " ".join(text.split()) or not measured
    assert all(len(row["trials"]) == 1 for table in analysis["tables"] for row in table["rows"]), "it is in no table"
    loadstone("run", "--resume", run)  # which measures again what others disturbed, but not for an answer that is there
    after = (run / "trials.jsonl").read_text().splitlines()
    assert after[: len(lines)] == lines
    assert not [line for line in after[len(lines) :] if json.loads(line)["group"] == "cold"], "it has its answer"
