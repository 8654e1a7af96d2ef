"""The same condition at a fixed rate: its load in the open model, beside the closed one at full speed.

Under a closed load without think time latency is users / throughput and no property of the server. At a rate that
leaves it room, half of its own capacity, latency is how long the server takes.
"""

from dataclasses import dataclass

from loadstone.plan.drive_plan import Closed, Open, Plan

AT_RATE_GROUP = "at-rate"
"""The group of what is measured at a fixed rate, for the rows of tables. No comparison is called so."""
USUAL_SHARE = 0.5
RATE_NOT_KNOWN_PER_S = 1.0
"""Stands in a plan until the capacity that the rate is a share of was measured."""


@dataclass(frozen=True)
class FixedRate:
    """The rate of all conditions, or the share of its own capacity that is each one's."""

    rate_per_s: float | None = None
    share: float | None = USUAL_SHARE
    """None: the rate is the same for all."""

    def of(self, capacity_per_s: float | None) -> float | None:
        """The rate of a condition that can do so much; None where that is needed and not known."""
        if self.share is None:
            return self.rate_per_s
        return None if capacity_per_s is None else self.share * capacity_per_s


def is_saturating(plan: Plan) -> bool:
    """Whether its load is a closed model without think time: full speed, so that latency is users / throughput."""
    return isinstance(plan.model, Closed) and plan.model.think_time_ms == 0


def with_rate(plan: Plan, rate_per_s: float) -> Plan:
    """The plan with constant arrivals at a rate; operations, keys, pool and phases stay as they are."""
    return plan.model_copy(update={"model": Open(rate_per_s=rate_per_s)})
