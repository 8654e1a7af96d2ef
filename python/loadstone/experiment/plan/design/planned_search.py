"""The plan of a search for loads by an add-on: what it is asked with, and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.plan.run_plan import PlannedTrial, SearchPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Condition, Level
from loadstone.slot import Slot


@dataclass(frozen=True)
class SearchContext:
    """What a search is planned from."""

    experiment: Experiment
    quick: bool
    chosen: Sequence[Condition]
    """The conditions of tables and comparisons that are measured."""
    varied: Callable[[Mapping[str, tuple[Level, ...]]], Sequence[Condition]]
    """The conditions of such levels, as far as the command line leaves them in."""
    template: Callable[[Condition, int], PlannedTrial]
    """A condition under the workload's own load, with as many threads as many users need; with its number from 1."""


SEARCHES: Slot[Callable[[Any, SearchContext], SearchPlan | None]] = Slot("planned_searches")
"""Key of an experiment -> what plans the search, of the `AddOnPart` that is written there; None: none is left."""
