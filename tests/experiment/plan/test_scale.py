"""What a smaller scale changes: users, their pool, rows, and under the published counts the phases."""

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Plan, RampUp
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.plan.substitute import PlanMode
from loadstone.experiment.spec.loading import load_experiment
from loadstone.report.terminal.announcement import description
from loadstone.safety.errors import UserError

RAMP_UP = "{kind: closed, users: 200, ramp_up: {initial_users: 10, step_users: 20, step_every_s: 2 s}}"
POOL = "{connections: 100, min_idle: 4, max_idle: 40}"


def plan_of(text: str, **options: object) -> Plan:
    run_plan = make_run_plan(load_experiment(text), blocks=1, **options)  # type: ignore[arg-type]
    return next(trial.plan for trial in run_plan.trials if trial.condition["work"] == "read")


@pytest.fixture
def ramped(app: str) -> str:
    text = app.replace('{kind: closed, users: "${users}"}', RAMP_UP).replace('{connections: "${users}"}', POOL)
    assert RAMP_UP in text
    assert POOL in text
    return text


def test_users_their_steps_and_their_pool(ramped: str) -> None:
    plan = plan_of(ramped, scale=0.1)
    assert plan.model == Closed(users=20, ramp_up=RampUp(initial_users=1, step_users=2, step_every_s=2))
    assert (plan.pool.connections, plan.pool.min_idle, plan.pool.max_idle) == (10, 1, 4)
    assert (plan.phases.warm_up_s, plan.phases.measure_s, plan.keys.count) == (1, 5, 1000)
    assert plan_of(ramped, scale=1.0).model == Closed(
        users=200, ramp_up=RampUp(initial_users=10, step_users=20, step_every_s=2)
    )


def test_there_is_at_least_one_of_what_there_is() -> None:
    mode = PlanMode(scale=0.01)
    assert [mode.scaled(number) for number in (0, 1, 40, 60, 149, 1000)] == [0, 1, 1, 1, 1, 10]
    assert [PlanMode().scaled(number) for number in (0, 1, 7)] == [0, 1, 7]


def test_a_condition_may_be_left_as_it_is(ramped: str) -> None:
    text = ramped.replace("  target: ${work.target}\n", "  target: ${work.target}\n  scaled: ${work.scaled}\n")
    for work, scaled in (("write", "true"), ("read", "false"), ("direct", "true")):
        text = text.replace(f"{work}: {{target", f"{work}: {{scaled: {scaled}, target")
    run_plan = make_run_plan(load_experiment(text), blocks=1, scale=0.1)
    users = {trial.condition["work"]: trial.plan.model.users for trial in run_plan.trials}  # type: ignore[union-attr]
    assert users == {"write": 20, "read": 200}
    with pytest.raises(UserError, match=r"workload\.scaled: 'sometimes' is not true or false; write true or false$"):
        make_run_plan(load_experiment(text.replace("scaled: ${work.scaled}", "scaled: sometimes")))


def test_published_counts_are_shorter_too(ramped: str) -> None:
    text = ramped + "as_published:\n  phases: {measure_s: 2 min, warm_up_s: 10 s, ramp_up_s: 20 s}\n"
    plan = plan_of(text, as_published=True, scale=0.1)
    assert (plan.phases.ramp_up_s, plan.phases.warm_up_s, plan.phases.measure_s) == pytest.approx((2, 1, 12))
    assert plan.model == Closed(users=20, ramp_up=RampUp(initial_users=1, step_users=2, step_every_s=0.2))
    assert plan_of(text, as_published=True, scale=1.0).phases.measure_s == 120
    experiment = load_experiment(text)
    words = description(preview_plan(make_run_plan(experiment, as_published=True, scale=0.1), experiment), experiment)
    assert "Scale 10 %: users and rows are 10 % of those written, and phases as much shorter" in words


def test_the_command_line_wins_over_quick_and_quick_over_the_experiment(app: str) -> None:
    experiment = load_experiment(app)
    assert make_run_plan(experiment, blocks=1).scale == 0.5
    assert make_run_plan(experiment, blocks=1, quick=True).scale == 0.25
    assert make_run_plan(experiment, blocks=1, quick=True, scale=1.0).scale == 1
    bare = load_experiment(app.replace("\nscale: 0.5", "").replace("  scale: 0.25\n", ""))
    assert make_run_plan(bare, blocks=1, quick=True).scale == 1
    for wrong in (0.0, 1.1, -1.0):
        with pytest.raises(UserError, match=rf"^--scale {wrong}: must be more than 0 and at most 1"):
            make_run_plan(experiment, scale=wrong)


def test_a_scale_of_one_is_not_reported(app: str) -> None:
    experiment = load_experiment(app)
    assert "Scale" not in description(
        preview_plan(make_run_plan(experiment, blocks=1, scale=1.0), experiment), experiment
    )
    words = description(preview_plan(make_run_plan(experiment, blocks=1), experiment), experiment)
    assert "Scale 50 %: users and rows are 50 % of those written\n" in words
