"""Where the capacity of each condition of a run goes, from its folder alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.addons.capacity.model.answer import Capacities, Capacity
from loadstone.addons.capacity.model.findings import Checked, capacity_of
from loadstone.addons.capacity.model.load_levels import LoadLevel, conditions_of, levels_of
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import Experiment, level_behind
from loadstone.experiment.spec.levels import REFERENCE, Condition, is_level
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.checks.checks import forbidding
from loadstone.machine.placement import OWN_CPUS
from loadstone.run_folder.part_kinds import SUBJECT
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord


@dataclass(frozen=True)
class ConditionCapacity:
    """One condition, with the model that foretells it where that holds."""

    capacity: Capacity
    levels: tuple[LoadLevel, ...]
    checked: Checked | None


def find_capacities(run: RecordedRun, judged: Sequence[TrialRecord]) -> list[ConditionCapacity]:
    """Every condition of the closed model whose parts were observed, in the order in which they were measured."""
    usable = [trial for trial in judged if trial.block != WARM_BLOCK and not forbidding(trial)]
    groups = [
        (condition, levels_of(trials, _with_own_cpus(run.experiment, condition)))
        for condition, trials in conditions_of(usable)
    ]
    found = [(condition, levels) for condition, levels in groups if levels]
    varied = _varied([condition for condition, _ in found])
    made = []
    for condition, levels in found:
        capacity, checked = capacity_of(condition, condition_label(run.experiment, condition, varied), levels)
        made.append(ConditionCapacity(capacity, tuple(levels), checked))
    return made


def evaluate_capacities(found: RunFindings) -> Capacities | None:
    """The answer that stands under `capacities` in the analysis."""
    capacities = capacities_of(found.run, found.trials)
    return Capacities(capacities) if capacities else None


def capacities_of(run: RecordedRun, judged: Sequence[TrialRecord]) -> list[Capacity]:
    """Return the capacities of the conditions with an application, for the report: its parts share its CPUs, or stand
    behind it."""
    of_applications = [trial for trial in judged if SUBJECT in trial.facts.kinds.values()]
    return [found.capacity for found in find_capacities(run, of_applications)]


def _with_own_cpus(experiment: Experiment, condition: Condition) -> list[str]:
    """The servers that a condition gives CPUs of their own."""
    return [
        name
        for name, server in experiment.servers.items()
        if _setting(experiment, condition, server.get("cpus")) == OWN_CPUS
    ]


def _setting(experiment: Experiment, condition: Condition, value: object) -> object:
    """What stands there, or the level or setting of a level that it refers to; None where that is not known."""
    found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    try:
        return level_behind(found[1], condition, experiment.factors)
    except KeyError:
        return None


def _varied(conditions: Sequence[Condition]) -> list[str]:
    """The factors of which there is more than one level, in the order of the conditions."""
    names = dict.fromkeys(name for condition in conditions for name in condition)
    return [
        name
        for name in names
        if all(name in condition for condition in conditions)
        and any(not is_level(condition[name], [conditions[0][name]]) for condition in conditions)
    ]
