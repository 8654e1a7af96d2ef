"""When operations are intended: by users who wait and think, or by arrivals at a rate. Times count from the start."""

import math
from collections.abc import Iterator
from random import Random

from driver.plan import Closed, Open, Phases, RateStep

S = 1_000_000_000
RAMP_UP, WARM_UP, MEASURE, DRAIN = "ramp_up", "warm_up", "measure", "drain"
PHASES = (RAMP_UP, WARM_UP, MEASURE, DRAIN)


def ns(seconds: float) -> int:
    return round(seconds * S)


class Timeline:
    """When each phase begins. The end of the measure phase may move closer."""

    def __init__(self, phases: Phases) -> None:
        warm_up = ns(phases.ramp_up_s)
        measure = warm_up + ns(phases.warm_up_s)
        longest_s = phases.measure_s if phases.measure_max_s is None else max(phases.measure_max_s, phases.measure_s)
        self._starts = [0, warm_up, measure, measure + ns(longest_s)]
        self._shortest_ns = measure + ns(phases.measure_s)

    @property
    def drain_ns(self) -> int:
        return self._starts[3]

    def phase_of(self, time_ns: int) -> str:
        """The phase that a time lies in."""
        _, warm_up, measure, drain = self._starts
        if time_ns >= measure:
            return MEASURE if time_ns < drain else DRAIN
        return WARM_UP if time_ns >= warm_up else RAMP_UP

    def start_of(self, phase: str) -> int:
        return self._starts[PHASES.index(phase)]

    def end_of(self, phase: str) -> int | None:
        """When a phase ends; that of the drain is not known before."""
        return None if phase == DRAIN else self._starts[PHASES.index(phase) + 1]

    def enough_measured(self, now_ns: int) -> None:
        """As many operations were measured as required: the measure phase ends, but not before its shortest length."""
        self.end_measure(max(now_ns, self._shortest_ns))

    def end_measure(self, end_ns: int) -> None:
        """The measure phase ends then at the latest; phases that would begin later have no length."""
        self._starts = [min(start, end_ns) for start in self._starts]


def user_start_ns(closed: Closed, phases: Phases, user: int) -> int:
    """When a user begins: in steps, or spread evenly over the ramp-up."""
    if closed.ramp_up is None:
        return ns(phases.ramp_up_s * user / closed.users)
    later = max(0, user + 1 - closed.ramp_up.initial_users)
    return ns(math.ceil(later / closed.ramp_up.step_users) * closed.ramp_up.step_every_s)


def think_ns(closed: Closed, random: Random) -> int:
    """How long a user thinks now."""
    mean_ns = closed.think_time_ms * 1e6
    return int(random.expovariate(1 / mean_ns) if mean_ns and closed.think_time == "exponential" else mean_ns)


def arrivals(open_: Open, phases: Phases, random: Random) -> Iterator[int]:
    """When each operation is intended, one after the other, without end."""
    stretches = _stretches(open_, phases)
    is_constant = open_.arrivals == "constant"
    start_s, start_work = 0.0, 0.0
    rate, end_rate, length_s = next(stretches)
    work = 0.0 if is_constant else random.expovariate(1.0)
    while True:
        while work - start_work >= (area := length_s * (rate + end_rate) / 2):
            start_s, start_work = start_s + length_s, start_work + area
            rate, end_rate, length_s = next(stretches)
        slope = 0.0 if math.isinf(length_s) else (end_rate - rate) / length_s
        rest = work - start_work
        # rate * t + slope * t^2 / 2 = rest
        yield ns(start_s + (2 * rest / (rate + math.sqrt(rate * rate + 2 * slope * rest)) if rest else 0.0))
        work += 1.0 if is_constant else random.expovariate(1.0)


def _stretches(open_: Open, phases: Phases) -> Iterator[tuple[float, float, float]]:
    """Rate at the start, rate at the end, and length in seconds: of the ramp-up, the warm-up, and the steps."""
    if phases.ramp_up_s:
        yield 0.0, open_.rate_per_s, phases.ramp_up_s
    steps = open_.schedule or (RateStep(open_.rate_per_s, math.inf),)
    if open_.schedule and phases.warm_up_s:
        yield open_.rate_per_s, open_.rate_per_s, phases.warm_up_s
    for step in steps[:-1]:
        yield step.rate_per_s, step.rate_per_s, step.duration_s
    yield steps[-1].rate_per_s, steps[-1].rate_per_s, math.inf
