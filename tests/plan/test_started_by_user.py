"""A subject by URL cannot be started otherwise: what the chosen conditions vary must not ask for that."""

import pytest

from loadstone.errors import UserError
from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.outline import outline
from loadstone.report.terminal.announcement import description
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Level
from loadstone.spec.load_settings import load_experiment
from loadstone.spec.overrides import override

MARIADB = {"store": ("mariadb",)}
Only = dict[str, tuple[Level, ...]]


def by_url(text: str, urls: str = "http://user:secret@host:81") -> Experiment:
    return override(load_experiment(text, label="app.yaml"), subjects=[urls])


def refusal(experiment: Experiment, only: Only) -> str:
    with pytest.raises(UserError) as caught:
        make_run_plan(experiment, only=only)
    return str(caught.value)


def test_a_factor_of_its_start_must_stand_still(app: str) -> None:
    assert refusal(by_url(app), {}) == (
        "--subject: store changes what app is started with; choose one level: --only store=mariadb"
    )
    assert refusal(by_url(app), {"store": ("redis-json",)}) == (
        "--subject: replicas changes what app is started with; choose one level: --only replicas=1"
    )


def test_other_factors_may_vary(app: str) -> None:
    run_plan = make_run_plan(by_url(app), only=MARIADB, blocks=1, scale=1.0)
    assert {trial.condition["users"] for trial in run_plan.trials} == {20, 60}
    assert {trial.subjects["app"].urls for trial in run_plan.trials} == {("http://user:secret@host:81",)}


def test_conditions_without_the_subject_are_not_queried(app: str) -> None:
    """The crash varies the append-only file, and drives Redis itself."""
    text = app.replace("SUBJECT_CACHE: false", "SUBJECT_CACHE: ${aof}")
    run_plan = make_run_plan(by_url(text), only={"store": ("redis-json",), "replicas": (1,)}, blocks=1)
    assert {one.trial.condition["aof"] for one in run_plan.crashes} == {"no", "everysec", "always"}


def test_as_many_urls_as_replicas(app: str) -> None:
    only: Only = {"store": ("redis-json",), "replicas": (2,)}
    assert refusal(by_url(app), only) == ("--subject: replicas of app are 2, and URLs given are 1; give one for each")
    run_plan = make_run_plan(by_url(app, "http://a,http://b"), only=only, blocks=1, scale=1.0)
    assert {trial.plan.pool.connections for trial in run_plan.trials} == {40}
    fixed = app.replace("replicas: ${replicas}", "replicas: 1")
    free = make_run_plan(by_url(fixed, "http://a,http://b"), only=MARIADB, blocks=1, scale=1.0)
    assert free.trials[0].plan.pool.connections == 2 * free.trials[0].plan.model.users  # type: ignore[union-attr]


def test_what_the_user_must_have_done_is_reported(app: str) -> None:
    experiment = override(by_url(app), servers=["mariadb=mariadb://user:secret@host"])
    text = description(outline(make_run_plan(experiment, only=MARIADB, blocks=1), experiment), experiment)
    reported = " ".join(text[text.index("Subject app") :].split())
    assert reported.startswith(
        "Subject app: yours, 1 URL (work write, read); it must run with SUBJECT_STORE=mariadb "
        "SUBJECT_CACHE as the experiment has it Data"
    )
    assert "secret" not in text
    ours = description(outline(make_run_plan(by_url(app), only=MARIADB, blocks=1), by_url(app)), by_url(app))
    assert "its mariadb is unknown: give it by --server" in " ".join(ours.split())
