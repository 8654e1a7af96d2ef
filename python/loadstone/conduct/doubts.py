"""Commands that look wrong: said by `show` and before a run, when no server has been started or connected to."""

from collections.abc import Iterator

from loadstone import registry
from loadstone.bounds.replies import shortened
from loadstone.deploy.control import Doubt, Look
from loadstone.errors import UserError
from loadstone.plan.drive_plan import Plan
from loadstone.plan.run_plan import PlannedTrial, RunPlan


def doubts(run_plan: RunPlan) -> tuple[str, ...]:
    """A remark on each command that its server may not have. Raises UserError for one that no server takes."""
    remarks: dict[str, None] = {}
    for trial in run_plan.every_trial:
        for place, text, doubt in _of(trial.plan, _look(trial)):
            line = f"operation '{place}': '{shortened(text, 60)}' {doubt.text}"
            if doubt.is_certain:
                raise UserError(line)
            remarks[line] = None
    return tuple(remarks)


def _look(trial: PlannedTrial) -> Look | None:
    """That of the server which gets the load."""
    for name, settings in trial.servers.items():
        if trial.loads(name):
            return registry.room(registry.software_of(settings).name).doubt_about
    return None


def _of(plan: Plan, look: Look | None) -> Iterator[tuple[str, str, Doubt]]:
    """Of a recording only the names of its commands are in the plan."""
    if look is None or plan.recording is not None:
        return
    for operation in plan.operations:
        for command in operation.commands:
            if (doubt := look(command.args)) is not None:
                yield operation.name, " ".join(command.args), doubt
