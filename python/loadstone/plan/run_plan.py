"""The design of a run: conditions, blocks in random order, and the plan of each trial."""

from dataclasses import dataclass

from loadstone.plan.model import Closed, Open, Plan

Level = str | int | float | bool
Condition = dict[str, Level]

ASSUMED_RATE_PER_S = 10_000
"""What a closed model is taken to reach as long as nothing has been measured."""


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to run. `plan` and `load` have placeholder endpoints until a server is deployed."""

    name: str
    """`b<block>-<order>`, e.g. `b01-007`."""
    condition: Condition
    block: int
    order: int
    servers: dict[str, dict[str, object]]
    """Settings of each server under this condition, after substitution."""
    plan: Plan
    load: Plan | None
    """Stores the data that the trial needs; None when it needs none."""


@dataclass(frozen=True)
class RunPlan:
    """All trials of a run in the order in which they are to run."""

    experiment: str
    seed: int
    quick: bool
    as_published: bool
    conditions: tuple[Condition, ...]
    trials: tuple[PlannedTrial, ...]

    def expected_s(self) -> float:
        """A guess at the length of all phases, in seconds, without set-up, before anything has run."""
        return sum(expected_s(trial.plan) for trial in self.trials)

    def longest_s(self) -> float:
        """What the phases of all trials can last at most, in seconds, without set-up and drain."""
        return sum(_before_measure_s(trial.plan) + _longest_measure_s(trial.plan) for trial in self.trials)


def expected_s(plan: Plan) -> float:
    """A guess at the length of a trial's phases in seconds, without drain.

    A measure phase that goes on until enough operations were done is guessed from the plan's rate,
    or from `ASSUMED_RATE_PER_S` where the server sets the pace.
    """
    model, operations = plan.model, plan.phases.measure_operations
    if isinstance(model, Closed) and model.operations_per_user is not None:
        operations = model.users * model.operations_per_user
    measure_s = max(plan.phases.measure_s, (operations or 0) / _rate_per_s(model))
    return _before_measure_s(plan) + min(measure_s, _longest_measure_s(plan))


def _rate_per_s(model: Closed | Open) -> float:
    if isinstance(model, Open):
        return model.rate_per_s
    if model.think_time_ms > 0:
        return min(ASSUMED_RATE_PER_S, model.users * 1000 / model.think_time_ms)
    return ASSUMED_RATE_PER_S


def _before_measure_s(plan: Plan) -> float:
    return plan.phases.ramp_up_s + plan.phases.warm_up_s


def _longest_measure_s(plan: Plan) -> float:
    return max(plan.phases.measure_s, plan.phases.measure_max_s or 0.0)
