"""Experiments as a run has them: by their names, and with what the command line changes in them."""

from collections.abc import Sequence
from typing import Any

from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.run.prepare import requested_experiment
from loadstone.run.request import RunRequest


def find_experiment(name: str) -> Experiment:
    """The built-in experiment of this name, or the one in this file."""
    return requested_experiment(RunRequest(name))


def described(source: ExperimentSource) -> Experiment:
    """The experiment that a command line describes."""
    return requested_experiment(RunRequest(described=source))


def with_overrides(
    experiment: Experiment,
    *,
    sets: Sequence[str] = (),
    servers: Sequence[str] = (),
    subjects: Sequence[str] = (),
    **others: Any,
) -> Experiment:
    """What an experiment becomes by `--set`, `--server`, `--subject`, and what else a request has."""
    request = RunRequest(
        described=experiment.source, set=tuple(sets), servers=tuple(servers), subjects=tuple(subjects), **others
    )
    return requested_experiment(request)
