"""Warming up in rounds: block 0 of a comparison is measured again for as long as what it measures gets faster."""

from collections.abc import Iterable, Sequence

from loadstone.goals.passes import Passes
from loadstone.plan.group import Group
from loadstone.plan.rounds import APPLICATION_SLICE_S, Rounds
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.trial import TrialRecord

RISING = 1.05
"""A stretch that is so many times as fast as the fastest before it shows that what was measured was still cold."""
WARM_SHARE_MAX, WARM_LEAST_S = 0.3, 20.0
"""All passes together take at most so much of the time up to the first look, or so many seconds if that is more: then
the conditions are taken as they are."""


class WarmRounds:
    """Block 0 is measured again for as long as an application still gets faster.

    A JVM that was warmed up alone compiles once more under the load of its slices: one got twice as fast within the
    first minute of rounds, and the intervals were as wide as that. What an earlier session warmed up is cold again.
    """

    def __init__(self) -> None:
        self._passes: dict[tuple[str, int], list[list[TrialRecord]]] = {}
        """Those through block 0 that this process measured, by group and stage."""

    def required(self, passes: Passes) -> bool:
        """Whether block 0 is to be measured, for the first time or again."""
        if not passes.warm:
            return True
        group = passes.group
        if not group.warm_block or group.rounds is None or not _gets_faster(group.rounds) or passes.complete:
            return False
        measured = self._passes.get(_key(group), [])
        return not measured or (_fit(group, len(measured) + 1) and _rising(measured))

    def add(self, group: Group, trials: Iterable[TrialRecord]) -> None:
        """A pass through block 0 ended."""
        self._passes.setdefault(_key(group), []).append(list(trials))


def _key(group: Group) -> tuple[str, int]:
    return group.name, group.stage


def _gets_faster(rounds: Rounds) -> bool:
    """Applications, and processes that stay up; servers that start again are as cold in each block."""
    return rounds.processes == "once" or rounds.slice_s >= APPLICATION_SLICE_S


def _fit(group: Group, passes: int) -> bool:
    first_look_s = group.seconds(range(WARM_BLOCK + 1, group.looks[0] + 1))
    return passes * group.seconds([WARM_BLOCK]) <= max(WARM_LEAST_S, WARM_SHARE_MAX * first_look_s)


def _rising(passes: Sequence[Sequence[TrialRecord]]) -> bool:
    fastest: dict[str, float] = {}
    for trial in (trial for trials in passes[:-1] for trial in trials):
        fastest[trial.trial] = max(trial.goodput_per_s, fastest.get(trial.trial, 0.0))
    return any(trial.goodput_per_s > RISING * fastest.get(trial.trial, 0.0) for trial in passes[-1])
