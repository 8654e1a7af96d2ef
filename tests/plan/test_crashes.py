"""Crashes: which conditions, how often, and with what load."""

import pytest

from loadstone.errors import UserError
from loadstone.plan.describe import describe
from loadstone.plan.design import make_run_plan
from loadstone.plan.model import Closed
from loadstone.spec.experiment import Experiment
from loadstone.spec.load import load_experiment
from loadstone.spec.overrides import override


@pytest.fixture
def experiment(app: str) -> Experiment:
    return load_experiment(app, label="app.yaml")


def test_every_condition_is_tried_so_many_times(experiment: Experiment) -> None:
    crashes = make_run_plan(experiment, blocks=1, seed=4).crashes
    tried = [(one.trial.condition["aof"], one.crash.number) for one in crashes]
    assert tried == [(aof, number) for aof in ("no", "everysec", "always") for number in (1, 2, 3)]
    assert {one.trial.condition["work"] for one in crashes} == {"direct"}
    assert [one.crash.trial for one in crashes] == [one.trial.name for one in crashes]
    assert crashes[4].trial.name == "crash-durability-12-2"
    assert (crashes[4].crash.server, crashes[4].crash.count, crashes[4].crash.after_s) == ("redis", "DBSIZE", 1)
    assert crashes[8].trial.servers["redis"]["settings"] == {"appendonly": "yes", "appendfsync": "always"}
    assert len(make_run_plan(experiment, quick=True).crashes) == 3


def test_each_try_has_keys_and_a_seed_of_its_own(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment, blocks=1)
    plans = [one.trial.plan for one in run_plan.crashes]
    others = {trial.plan.keys.prefix for trial in run_plan.trials}
    assert len({plan.keys.prefix for plan in plans} | others) == len(plans) + len(others)
    assert len({plan.seed for plan in plans}) == len(plans)
    assert all(plan.keys.prefix.startswith("loadstone:") for plan in plans)


def test_the_load_has_no_warm_up_and_outlasts_the_kill(app: str) -> None:
    text = app.replace('users: "${users}"}', 'users: "${users}", operations_per_user: 10, ramp_up: {initial_users: 1, '
                       'step_users: 1, step_every_s: 1 s}}').replace("after: 1 s", "after: 5 s")  # fmt: skip
    plan = make_run_plan(load_experiment(text), blocks=1, scale=1.0).crashes[0].trial.plan
    assert plan.model == Closed(users=20)
    assert (plan.phases.ramp_up_s, plan.phases.warm_up_s, plan.phases.measure_s) == (0, 0, 7)
    assert (plan.keys.distribution, plan.keys.count) == ("exactly_once", 1_000_000)


def test_crashes_stand_outside_of_tables_and_comparisons(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment, blocks=1)
    assert not any(condition["work"] == "direct" for condition in run_plan.conditions)
    assert not any(condition["work"] == "direct" for group in run_plan.groups for condition in group.conditions)
    assert {one.trial.group for one in run_plan.crashes} == {"crash-durability"}


def test_only_and_as_published_leave_crashes_out(app: str, experiment: Experiment) -> None:
    only = {"store": ("redis-json",), "aof": ("no", "always"), "work": ("write", "direct")}
    assert [one.trial.condition["aof"] for one in make_run_plan(experiment, only=only, quick=True).crashes] == [
        "no",
        "always",
    ]
    assert make_run_plan(experiment, only={"work": ("write",)}).crashes == ()
    published = load_experiment(app + "as_published: {note: as it was}\n")
    assert make_run_plan(published, as_published=True).crashes == ()


def test_a_server_of_the_users_is_never_killed(experiment: Experiment) -> None:
    changed = override(experiment, servers=["redis=redis://host"])
    run_plan = make_run_plan(changed, blocks=1)
    assert run_plan.crashes == ()
    assert "  durability: not in this run (redis is yours, and is never killed)" in describe(run_plan, changed)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "keys: exactly_once}",
            "keys: zipf}",
            "146: crashes.0.vary: keys are 'zipf' for {}; set workload.keys.distribution to exactly_once",
        ),
        (
            "    server: redis\n    vary",
            "    server: mariadb\n    vary",
            "150: crashes.0.count: 'DBSIZE' does not count on mariadb, a MariaDB; write SELECT COUNT(*) FROM a table",
        ),
        (
            "  stored:\n",
            "  load: [{operation: set, when: {work: direct}}]\n  stored:\n",
            "147: crashes.0.vary: workload.load stores the same keys before for {}; narrow its `when`",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(app: str, old: str, new: str, expected: str) -> None:
    assert app.count(old) == 1
    condition = "work=direct, store=redis-json, users=20, replicas=1, aof=no"
    with pytest.raises(UserError) as caught:
        make_run_plan(load_experiment(app.replace(old, new), label="app.yaml"), only={"work": ("write",)})
    assert str(caught.value) == f"app.yaml:{expected.replace('{}', condition)}"
