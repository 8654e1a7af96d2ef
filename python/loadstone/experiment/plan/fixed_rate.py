"""Plans a condition at a fixed rate: its load in the open model, beside the closed one at full speed.

Under a closed load without think time latency is users / throughput and no property of the server. At a rate that
leaves it room, half of its own capacity, latency is how long the server takes.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.rounds import BETWEEN_S, SETTLE_S, TABLE_WARM_UP_S, Rounds

AT_RATE_GROUP = "at-rate"
"""The group of what is measured at a fixed rate, for the rows of tables. No comparison is called so."""
USUAL_SHARE = 0.5
RATE_NOT_KNOWN_PER_S = 1.0
"""Stands in a plan until the capacity that the rate is a share of was measured."""
OPERATIONS = (200, 2_000, 10_000, 100_000)
"""What P50, P95, P99 and P99.9 need: 100 beyond the quantile."""
SPARE = 1.1
"""Factor of the time, for slices that end a little early and for rates that are missed by a little."""
LEAST_S, MOST_S = 0.1, 10.0
"""For how long a row is measured at least; at most, however long its own trials are."""
ROUNDS_MIN = 8
"""A row is measured in so many slices: they are the units of the intervals of its quantiles, and a neighbour's busy
second does not strike one row alone."""
SLICE_MIN_S, SLICE_MAX_S = 0.025, 0.5
ALIKE = 1.6
"""Rows that take turns have equally long slices, so they are measured for about as long."""
TOGETHER_MAX = 16


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


def times_at_rate(
    rates_per_s: Sequence[float], openings_s: Sequence[float], room_s: float, most_s: float = MOST_S
) -> list[float]:
    """Seconds for which each row is measured; 0 where there is no time for as much as a P50.

    Args:
        rates_per_s: of each row.
        openings_s: what each row costs beside the time for which it is measured.
        room_s: seconds that there are for all of them.
        most_s: the longest time that a row is measured.
    """
    times = [0.0] * len(rates_per_s)
    steps = [
        (opening_s + sliced_s(min(most_s, _needed_s(rate, 0))), place, 0)
        for place, (rate, opening_s) in enumerate(zip(rates_per_s, openings_s, strict=True))
    ]
    heapq.heapify(steps)
    while steps and steps[0][0] <= room_s:
        cost_s, place, step = heapq.heappop(steps)
        room_s, times[place] = room_s - cost_s, min(most_s, _needed_s(rates_per_s[place], step))
        for further in range(step + 1, len(OPERATIONS)):
            needed_s = _needed_s(rates_per_s[place], further)
            if times[place] < needed_s <= most_s:
                heapq.heappush(steps, (sliced_s(needed_s) - sliced_s(times[place]), place, further))
                break
    return times


def _needed_s(rate_per_s: float, step: int) -> float:
    """For how long a row is measured that has a quantile: more than a P50 in as many slices as an interval needs."""
    return max(LEAST_S if step == 0 else ROUNDS_MIN * SLICE_MIN_S, SPARE * OPERATIONS[step] / rate_per_s)


def sliced_s(measure_s: float) -> float:
    """Return how long a row takes that is measured for so long: its slices settle, and are given one after the
    other."""
    rounds = rounds_at_rate(measure_s)
    return measure_s + rounds.of(1) * (SETTLE_S + BETWEEN_S)


def rows_alike(times_s: Sequence[float]) -> list[list[int]]:
    """The places of rows that take turns: those that are measured for about as long, the shortest first."""
    families: list[list[int]] = []
    for place in sorted(range(len(times_s)), key=lambda place: times_s[place]):
        last = families[-1] if families else []
        if last and len(last) < TOGETHER_MAX and times_s[place] <= ALIKE * times_s[last[0]]:
            last.append(place)
        else:
            families.append([place])
    return families


def rounds_at_rate(measure_s: float) -> Rounds:
    """The rounds of rows that are measured for so many seconds each, in one block."""
    sliced_s = min(SLICE_MAX_S, max(SLICE_MIN_S, measure_s / ROUNDS_MIN))
    rounds = max(1, -(-round(1000 * measure_s) // round(1000 * sliced_s)))
    return Rounds((rounds,), round(sliced_s + SETTLE_S, 3), SETTLE_S, TABLE_WARM_UP_S)
