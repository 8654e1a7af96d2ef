"""What loadstone can tell without measuring: the experiments, their plans, and this machine."""

from rich.console import Console

from loadstone.deploy import doctor
from loadstone.options import RunOptions, wanted_experiment, wanted_plan
from loadstone.plan.describe import describe
from loadstone.spec.catalogue import find, names


def list_experiments() -> list[tuple[str, str]]:
    """Name and question of each built-in experiment."""
    return [(name, find(name).question) for name in names()]


def describe_experiment(options: RunOptions) -> str:
    """What `loadstone show` prints. Raises UserError."""
    experiment = wanted_experiment(options)
    return describe(wanted_plan(experiment, options, ()), experiment)


def examine(console: Console) -> bool:
    """Print what `loadstone doctor` finds; False if something could be better."""
    facts = doctor.facts()
    for fact in facts:
        console.print(f"{fact.verdict:<5} {fact.name:<24} {fact.value}", markup=False, soft_wrap=True)
        if fact.remedy:
            console.print(f"{'':<30} {fact.remedy}", markup=False, soft_wrap=True)
    return all(fact.verdict == "ok" for fact in facts)
