"""The experiments of ours that this installation can read: all, or without add-ons those that use no key of theirs."""

from functools import cache
from pathlib import Path

from loadstone.experiment.spec import built_in
from loadstone.experiment.spec.experiment import ADD_ON_FIELDS, Experiment
from loadstone.safety.bounds.bounded_yaml import load_yaml


@cache
def is_readable(file: Path) -> bool:
    """Whether an add-on for each key is there. A key that nobody knows is an add-on's that is missing."""
    return set(load_yaml(file.read_text())) <= {*Experiment.model_fields, *ADD_ON_FIELDS.names()}


def names() -> list[str]:
    """Built-in experiments."""
    return [name for name in built_in.names() if is_readable(built_in.FOLDER / f"{name}.yaml")]
