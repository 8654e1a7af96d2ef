"""The command line up to where something would be measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from loadstone.cli import ad_hoc_run
from loadstone.cli.ad_hoc_experiment import AdHocLoad, ad_hoc_source
from loadstone.cli.options import OutputOptions
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest
from tests.experiments import described
from tests.parser import parser

CAPACITY_PER_S = 10_000.0


@dataclass(frozen=True)
class Said:
    """What a command line stands for."""

    ad_hoc: AdHocLoad
    options: RunRequest
    output: OutputOptions

    @property
    def experiment(self) -> Experiment:
        labels = [target.label for target in self.ad_hoc.targets] if self.ad_hoc.compares else [""]
        capacities = {(row.name, label): CAPACITY_PER_S for row in self.ad_hoc.rows for label in labels}
        return described(ad_hoc_source(self.ad_hoc, capacities if self.ad_hoc.load.needs_capacity else None))

    @property
    def run_plan(self) -> RunPlan:
        return requested_plan(self.experiment, RunRequest(seed=1))

    @property
    def plans(self) -> dict[str, Plan]:
        """Of each condition, by its levels."""
        return {", ".join(map(str, trial.condition.values())): trial.plan for trial in self.run_plan.trials}

    def plan(self) -> Plan:
        """Of the one condition."""
        (plan,) = self.plans.values()
        return plan

    def sent(self) -> dict[str, tuple[float, str]]:
        """Of each operation its weight and its command."""
        return {
            one.name: (one.weight, " ".join(one.commands[0].args))
            for plan in self.plans.values()
            for one in plan.operations
        }


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """What a command line stands for; nothing is started."""

    def run(*arguments: str) -> Said:
        found: list[Any] = []
        monkeypatch.setattr("sys.argv", ["loadstone", *arguments])
        monkeypatch.setattr(ad_hoc_run, "run_ad_hoc", lambda *given: found.append(given))
        parser()(list(arguments), prog_name="loadstone", standalone_mode=False)
        ((ad_hoc, options, output),) = found
        return Said(ad_hoc, options, output)

    return run
