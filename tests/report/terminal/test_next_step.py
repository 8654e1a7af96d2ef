"""The next step is a command that can be pasted."""

import shlex
from pathlib import Path

import pytest

from loadstone.analyse.model import Analysis
from loadstone.report.terminal.ending import next_step

FOLDER = Path("runs/my run")


def given(analysis: Analysis, command: str, **changes: object) -> Analysis:
    return analysis.model_copy(
        update={"environment": {"command": command}, "complete": True, "quick": False, "families": []} | changes
    )


def undecided(judged: Analysis, ended: str) -> Analysis:
    """One comparison that time left undecided, with 3.2 minutes more to go."""
    family = judged.families[1]
    one = next(pair for pair in family.comparisons if pair.primary.kind == "undecided")
    primary = one.primary.model_copy(update={"more_minutes": 3.2})
    pair = one.model_copy(update={"ended": ended, "primary": primary})
    return judged.model_copy(update={"families": [family.model_copy(update={"comparisons": [pair]})]})


def command_of(analysis: Analysis, folder: Path | None = FOLDER) -> list[str]:
    found = next_step(analysis, folder)
    assert found is not None
    return shlex.split(found.command)


def test_a_run_that_was_cut_short_is_gone_on_with(analysis: Analysis) -> None:
    cut = given(analysis, "loadstone run json-documents --quick --only 'payload=1 kB' --out /tmp/x --budget=3m --json")
    words = command_of(cut.model_copy(update={"complete": False}))
    expected = ["run", "json-documents", "--quick", "--only", "payload=1 kB", "--resume", "runs/my run"]
    assert words == ["loadstone", *expected]


def test_what_the_budget_left_undecided_gets_more_of_it(judged: Analysis) -> None:
    run = undecided(judged, "out of budget")
    changes = {"families": run.families, "budget_s": 180.0, "elapsed_s": 171.0}
    found = given(run, "loadstone run json-documents --quick --budget 3m --resume runs/old", **changes)
    expected = ["json-documents", "--quick", "--budget", "7m", "--resume", "runs/my run"]
    assert command_of(found) == ["loadstone", "run", *expected]


@pytest.mark.parametrize(("needed_s", "budget"), [(35.0, "35s"), (130.0, "3m")])
def test_a_budget_in_which_nothing_was_measured_becomes_one_in_which_something_is(
    analysis: Analysis, needed_s: float, budget: str
) -> None:
    found = given(analysis, "loadstone run a.yaml --quick --budget 12s", needed_budget_s=needed_s, tables=[])
    assert command_of(found) == ["loadstone", "run", "a.yaml", "--quick", "--budget", budget]


@pytest.mark.parametrize("ended", ["last look", "decided"])
def test_where_more_of_the_same_cannot_help_the_full_study_does(judged: Analysis, ended: str) -> None:
    run = undecided(judged, ended)
    found = given(run, "loadstone run json-documents --quick --set workload.seed=1", quick=True, families=run.families)
    assert command_of(found) == ["loadstone", "run", "json-documents", "--set", "workload.seed=1"]


def test_a_command_with_a_hidden_secret_is_not_offered(analysis: Analysis) -> None:
    run = given(analysis, "loadstone run json-documents --quick --server redis=redis://***@host", quick=True)
    assert command_of(run)[:2] == ["loadstone", "report"]
    assert next_step(run, None) is None


def test_a_whole_study_ends_with_its_figures(analysis: Analysis) -> None:
    assert command_of(given(analysis, "loadstone run json-documents")) == [
        "loadstone", "report", "runs/my run", "--format", "html,csv,md",
    ]  # fmt: skip
