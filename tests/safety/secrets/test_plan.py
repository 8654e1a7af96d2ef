"""A secret decides nothing: a plan's fingerprint holds none, and a run goes on after it was renewed."""

import json

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run_folder.plan_summary import PlanSummary, summarise_plan
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.safety.secrets.known import forget

HEADER = "workload.operations.0.requests.0.headers.Authorization"
VARIABLE = "subjects.app.environment.DB_PASSWORD"


def plan_with(app: str, *sets: str) -> RunPlan:
    forget()
    return make_run_plan(
        with_overrides(load_experiment(app), sets=sets), only={}, quick=True, as_published=False, seed=1
    )


def summary_with(app: str, *sets: str) -> PlanSummary:
    return summarise_plan(plan_with(app, *sets))


def test_the_driver_gets_the_secret_and_the_experiment_keeps_the_reference(
    app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", "first-secret-1")
    experiment = with_overrides(load_experiment(app), sets=[f"{HEADER}='Bearer ${{env:PW}}'"])
    trials = make_run_plan(experiment, only={}, quick=True, as_published=False, seed=1).trials
    headers = [r.headers for trial in trials for operation in trial.plan.operations for r in operation.requests]
    assert "Bearer first-secret-1" in {one.get("Authorization") for one in headers}
    assert "Bearer ${env:PW}" in json.dumps(experiment.model_dump(mode="json"))


@pytest.mark.fault("a secret is renewed before `--resume`", "the run continues", area="secrets")
def test_a_renewed_secret_is_the_same_plan(app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [f"{HEADER}='Bearer ${{env:PW}}'", f"{VARIABLE}=${{env:PW}}"]
    monkeypatch.setenv("PW", "first-secret-1")
    first = summary_with(app, *sets)
    monkeypatch.setenv("PW", "second-secret-2")
    assert summary_with(app, *sets) == first
    assert summary_with(app, f"{HEADER}='Bearer ${{env:HOME}}'", sets[1]) != first, "another secret is another plan"


def test_a_fingerprint_cannot_be_searched_for_a_secret(app: str) -> None:
    assert summary_with(app, f"{HEADER}='Bearer one-1234'") == summary_with(app, f"{HEADER}='Bearer two-5678'")
    assert summary_with(app, f"{HEADER}='Bearer one-1234'") != summary_with(app)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--set", f"{VARIABLE}=ab"], ["--set", f"{VARIABLE}=***"]),
        ([f"--set={VARIABLE}=ab"], [f"--set={VARIABLE}=***"]),
        (["--set", f"{VARIABLE}=${{env:PW}}"], ["--set", f"{VARIABLE}=${{env:PW}}"]),
        (["--set", "workload.keys.count=100"], ["--set", "workload.keys.count=100"]),
        (["--server", "redis=redis://:a/b@c@h:1"], ["--server", "redis=redis://***@h:1"]),
        (["--server", "redis=redis://u:${env:PW}@h"], ["--server", "redis=redis://u:${env:PW}@h"]),
        (["--subject=http://u:p@h/x?token=t"], ["--subject=http://***@h/x?token=***"]),
        (["--only", "payload=1 kB"], ["--only", "payload=1 kB"]),
        (["-H", "X-Api-Key: 7654321"], ["-H", "X-Api-Key: ***"]),
        (["-HCookie:a=b", "--header=Token: 7"], ["-HCookie: ***", "--header=Token: ***"]),
        (["--header", "Authorization: Bearer ${env:PW}"], ["--header", "Authorization: Bearer ${env:PW}"]),
        (["-H", "Accept: text/html", "-H"], ["-H", "Accept: text/html", "-H"]),
        (["--body", '{"pin": 1, "password": 7654321}'], ["--body", '{"pin": 1, "password": "***"}']),
    ],
)
def test_a_command_is_recorded_without_secrets(words: list[str], shown: list[str]) -> None:
    assert hidden_arguments(words) == shown
