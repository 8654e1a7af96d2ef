"""What a plan and a run's folder keep of the search for a saturation point, in its own types."""

from collections.abc import Mapping
from typing import Any, Protocol

from loadstone.addons.saturation.spec import SATURATION_GROUP, SaturationPhase, SaturationSettings, SaturationStep


class OfSearch(Protocol):
    """A planned or a finished trial."""

    @property
    def group(self) -> str:
        """The group that it is of."""

    @property
    def search(self) -> Mapping[str, Any] | None:
        """What is noted of it; None: it is of no search."""


class WithSettings(Protocol):
    """A planned search, or its line in a run's folder."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the search is made by."""


def settings_in(plan: WithSettings) -> SaturationSettings:
    """The settings of a search."""
    return SaturationSettings.model_validate(plan.settings)


def step_of(trial: OfSearch) -> SaturationStep | None:
    """Which step of the search for its saturation point a trial is; None of all others."""
    if trial.search is None or trial.group != SATURATION_GROUP:
        return None
    return SaturationStep.model_validate(trial.search)


def phase_of(trial: OfSearch) -> SaturationPhase | None:
    """The phase of the search that a trial is of."""
    step = step_of(trial)
    return None if step is None else step.phase


def users_of(trial: OfSearch) -> int | None:
    """The number of users of a step of the closed model."""
    step = step_of(trial)
    return None if step is None else step.users


def rate_of(trial: OfSearch) -> float | None:
    """The rate a second of a step of the open model."""
    step = step_of(trial)
    return None if step is None else step.rate_per_s


def number_of(trial: OfSearch) -> int:
    """The number of a step, see `SaturationStep`; 0 of what is none."""
    step = step_of(trial)
    return 0 if step is None else step.number


def rounds_a_sweep_of(trial: OfSearch) -> int:
    """Rounds of a level that make one sweep; 0: the whole trial is of one sweep, or of none."""
    step = step_of(trial)
    return 0 if step is None else step.rounds_a_sweep
