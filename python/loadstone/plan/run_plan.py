"""The design of a run: conditions, blocks in random order, and the plan of each trial."""

from dataclasses import dataclass

from loadstone.plan.model import Plan

Level = str | int | float | bool
Condition = dict[str, Level]


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
        """Planned length of all phases, in seconds, without set-up."""
        return sum(
            t.plan.phases.ramp_up_s + t.plan.phases.warm_up_s + t.plan.phases.measure_s for t in self.trials
        )
