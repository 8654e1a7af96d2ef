"""Crashes: which conditions, how often, and with what load."""

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.plan.run_plan import CrashTrial
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.report.terminal.announcement import description
from loadstone.safety.errors import UserError


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
    assert plan.phases.measure_max_s == 7, "what waits for a dead node of a cluster ends, too"
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
    changed = with_overrides(experiment, servers=["redis=redis://host"])
    run_plan = make_run_plan(changed, blocks=1)
    assert run_plan.crashes == ()
    assert "  durability: not in this run (redis is yours, and is never killed)" in description(
        preview_plan(run_plan, changed), changed
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "keys: exactly_once}",
            "keys: zipf}",
            "146: crashes.0.vary: keys are 'zipf' for {}; set workload.keys.distribution to exactly_once, or let "
            "each operation write {document} to {key}",
        ),
        (
            "    server: redis\n    vary",
            "    server: mariadb\n    vary",
            "150: crashes.0.count: 'DBSIZE' does not count on mariadb, a MariaDB; name the table whose rows are "
            "counted: {table: NAME}",
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
    assert str(caught.value) == f"app.yaml:{expected.replace('for {}', f'for {condition}')}"


SET = '{args: "SET {key} {value}", expect: ok}'
"""The command of the operation `set` in app.yaml."""


def crash_of(text: str) -> CrashTrial:
    return make_run_plan(load_experiment(text, label="app.yaml"), quick=True).crashes[0]


@pytest.mark.parametrize(
    ("commands", "found"),
    [
        (SET, "EXISTS"),
        ("{args: 'SET {key} {value} NX'}", "EXISTS"),
        ("{args: 'LPUSH {key} {value}'}, {args: WAIT 1 100, expect: positive}", "EXISTS"),
        ("{args: 'SET {key} {value} EX 5'}", ""),
        ("{args: 'SADD all {key}'}", ""),
        ("{args: 'SET {key} {value}'}, {args: 'EXPIRE {key} 5'}", ""),
        ("{args: 'GET {key}'}", ""),
    ],
)
def test_a_key_that_is_written_once_is_looked_up_if_it_stays(app: str, commands: str, found: str) -> None:
    one = crash_of(app.replace(f"- {SET}", f"- {commands}".replace("}, {", "}\n        - {")))
    assert one.crash.look_up == ((found,) if found else ())
    assert one.trial.plan.acknowledged is bool(found)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("SET {key} {document}", ("GET",)),
        ("JSON.SET {key} $ {document}", ("JSON.GET",)),
        ("HSET {key} id {id} v {version} body {body}", ("HGET", "v")),
    ],
)
def test_an_overwritten_key_is_looked_up_by_its_version(app: str, command: str, found: tuple[str, ...]) -> None:
    text = app.replace("keys: exactly_once}", "keys: zipf}").replace("    count: DBSIZE\n    after", "    after")
    text = text.replace("- name: set\n", "- name: set\n      writes: document\n")
    one = crash_of(text.replace(SET, f"{{args: '{command}'}}"))
    assert (one.crash.look_up, one.crash.count) == (found, None)
    assert one.trial.plan.acknowledged


def test_what_cannot_be_looked_up_needs_a_count(app: str) -> None:
    text = app.replace(SET, "{args: 'SADD all {key}'}")
    assert crash_of(text).crash.count == "DBSIZE"
    with pytest.raises(UserError, match=r"crashes\.0\.vary: keys cannot be looked up for .*; add `count`"):
        crash_of(text.replace("    count: DBSIZE\n    after", "    after"))


def test_through_an_application_writes_are_counted(app: str) -> None:
    text = app.replace("read: {target: app, protocol: http1, count_of: posts, keys: uniform}",
                       "read: {target: app, protocol: http1, count_of: posts, keys: exactly_once}")  # fmt: skip
    one = crash_of(text.replace("work: [direct]", "work: [read]"))
    assert (one.crash.look_up, one.crash.count, one.trial.plan.acknowledged) == ((), "DBSIZE", False)


def test_keys_that_no_server_could_store_are_not_kept(app: str) -> None:
    plan = crash_of(app.replace("count: 1000000,", "count: 1000000000000,")).trial.plan
    assert plan.keys.count == 9_000_000


def test_trials_beside_crashes_keep_nothing(experiment: Experiment) -> None:
    assert not any(trial.plan.acknowledged for trial in make_run_plan(experiment, blocks=1).trials)
