"""How fast the machine was: a fixed piece of work, timed on each CPU before and after every trial."""

from collections.abc import Sequence
from statistics import median

from loadstone.analyse.model import MachineSpeed
from loadstone.message import Message, message
from loadstone.record.trial import TrialRecord

APART_MAX = 0.10
"""J: a condition whose trials met a machine that was slower or faster by more than this is named."""
TRIALS_MIN = 3


def machine_speed(trials: Sequence[TrialRecord]) -> list[MachineSpeed]:
    """Each CPU's time for the piece of work over all trials: the median, and how far 8 of 10 lie from it."""
    times: dict[str, list[float]] = {}
    for trial in trials:
        for cpu, both in trial.facts.speed.items():
            times.setdefault(cpu, []).extend(both)
    return [_of(cpu, found) for cpu, found in sorted(times.items()) if len(found) >= TRIALS_MIN]


def slower_than_usual(trials: Sequence[TrialRecord], usual: Sequence[MachineSpeed]) -> Message | None:
    """What is to be said of a condition whose trials met another machine than the rest; None if they did not."""
    ratios = []
    for one in usual:
        met = [time for trial in trials for time in trial.facts.speed.get(one.cpu, ())]
        if met and one.typical_ns > 0:
            ratios.append((median(met) / one.typical_ns, one.cpu))
    worst, cpu = max(ratios, key=lambda ratio: abs(ratio[0] - 1), default=(1.0, ""))
    if abs(worst - 1) <= APART_MAX:
        return None
    return message("row.other_speed", cpu=cpu, slower=worst - 1)


def _of(cpu: str, times: Sequence[float]) -> MachineSpeed:
    ordered, last = sorted(times), len(times) - 1
    typical = median(ordered)
    low, high = ordered[round(0.1 * last)], ordered[round(0.9 * last)]
    return MachineSpeed(cpu=cpu, typical_ns=typical, spread=round(high / low - 1, 4) if low > 0 else 0.0)
