"""When to look, and at which level, so that stopping early costs no honesty.

Source: Pocock's boundary (Jennison & Turnbull 2000, ch. 2) at five looks, the level found by
simulation of the exact signed-rank test: alpha' = .0157 at each look gives at most 5 % over all.
The five are those of a run's whole life, however often it is gone on with: see `looks_left`.
Rounds of slices have nine looks, with a level of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from loadstone.experiment.spec.experiment import Experiment
from loadstone.slot import Slot

LOOKS = (8, 12, 18, 27, 40)
"""Numbers of blocks at which a sequential comparison is judged."""
LOOK_ALPHA = 0.0157
"""Level of each look, for all comparisons of the experiment together."""
FIXED_ALPHA = 0.05
"""Level of a comparison that is judged once, after a number of blocks fixed beforehand."""
BLOCKS_MIN = 8
"""Fewer blocks get no verdict."""
BLOCKS_MIN_PAIRS = 12
"""The first look when several pairs are compared."""
EARLY_ROUND_LOOKS = (12, 20)
LATER_ROUND_LOOKS = (32, 48, 72, 108, 160, 240, 360)
ROUND_LOOKS = (*EARLY_ROUND_LOOKS, *LATER_ROUND_LOOKS)
"""Numbers of rounds at which a sequential comparison in rounds is judged, however many pairs are compared. The early
ones decide what is far from alike: not of applications, which may still warm up, nor of quantiles, whose intervals are
not widened for few rounds."""
ROUND_LOOK_ALPHA = 0.015
"""Level of each of these looks, for all comparisons together: at most 5 % over all nine (`bench/judge/round_level.py`).

The exact test alone would need .009 for that. Its interval is widened for rounds that may depend on each other, the
more the fewer they are (`judge.statistics.rounds`): so the early looks add next to nothing. Independent rounds without
a difference show one in 2.3 % of the comparisons (simulated, with the early looks and without them), and those with the
strongest memory that was recorded in at most 5 %.
"""
ROUNDS_MIN = ROUND_LOOKS[0]
"""Fewer rounds get no verdict; with many pairs more are needed (`signed_rank.fewest_blocks`)."""


def looks(pairs: int = 1) -> tuple[int, ...]:
    """The looks of an experiment that declares `pairs` comparisons."""
    return tuple(blocks for blocks in LOOKS if pairs == 1 or blocks >= BLOCKS_MIN_PAIRS)


def next_look(blocks: int, pairs: int = 1) -> int | None:
    """The first look beyond `blocks`; None after the last one."""
    return next((look for look in looks(pairs) if look > blocks), None)


def next_round_look(rounds: int) -> int | None:
    """The first look beyond so many rounds; None after the last one."""
    return next((look for look in ROUND_LOOKS if look > rounds), None)


def rounds_of_blocks(early: bool = True) -> tuple[int, ...]:
    """Return how many rounds each block of a sequential group has, so that every block ends at a look.

    `early`: whether the early looks are taken, too.
    """
    looks_at = ROUND_LOOKS if early else LATER_ROUND_LOOKS
    return tuple(look - before for before, look in zip((0, *looks_at), looks_at, strict=False))


def level(sequential: bool, in_rounds: bool = False) -> float:
    """Level of one look, to be divided by the number of pairs for an interval."""
    looks_at = ROUND_LOOK_ALPHA if in_rounds else LOOK_ALPHA
    return looks_at if sequential else FIXED_ALPHA


class LookSchedule(Protocol):
    """When the comparisons of an experiment are looked at, and what goes with that."""

    @property
    def restarts(self) -> bool:
        """Whether applications are started again for each block."""

    @property
    def starts_all(self) -> bool:
        """Whether all applications run before the first trial: they take turns, and are the only question."""

    @property
    def is_timed_by_looks(self) -> bool:
        """Whether a run has lasted as long as its last look says: starts and warm-ups may be most of it."""

    def looks(self, pairs: int) -> tuple[int, ...]:
        """The looks at whole trials, or at blocks that are a start each, of a group of so many pairs."""

    def level(self, *, sequential: bool, in_rounds: bool) -> float:
        """Level of one look, to be divided by the number of pairs for an interval."""

    def announced(self, question: str, budget_s: float) -> str | None:
        """What is told before it starts, in place of all else; None: what is told of every run."""


class OrdinarySchedule:
    """The looks of experiments of which no add-on says otherwise."""

    restarts = starts_all = is_timed_by_looks = False

    def looks(self, pairs: int) -> tuple[int, ...]:
        """The looks at whole trials."""
        return looks(pairs)

    def level(self, *, sequential: bool, in_rounds: bool) -> float:
        """Level of one look."""
        return level(sequential, in_rounds)

    def announced(self, question: str, budget_s: float) -> str | None:  # noqa: ARG002 (as the protocol has it)
        """What is told of every run."""
        return None


SCHEDULES: Slot[Callable[[Any], LookSchedule]] = Slot("look_schedules")
"""Key of an experiment -> the schedule where something is written under it, made of its `AddOnPart`."""


def schedule_of(experiment: Experiment) -> LookSchedule:
    """When the comparisons of an experiment are looked at."""
    made = (make(part) for key, part in experiment.parts.items() if (make := SCHEDULES.get(key)) is not None)
    return next(made, OrdinarySchedule())


def looks_left(planned: Sequence[int], taken: Iterable[int], fewest: int = BLOCKS_MIN) -> tuple[int, ...]:
    """The planned looks that may still be taken after those at `taken` blocks, of all sessions of the run.

    A look that the budget forced between two planned ones stands for the next of them: so there are never more than
    planned, however often the run is gone on with. One at fewer blocks than get any verdict, `fewest`, is none.
    """
    left = list(planned)
    at = sorted(blocks for blocks in set(taken) if blocks >= fewest)
    for blocks in at:
        stands_for = next((look for look in left if look >= blocks), None)
        if stands_for is not None:
            left.remove(stands_for)
    return tuple(look for look in left if not at or look > at[-1])


def keeps_last(planned: Sequence[int], left: Sequence[int], blocks: int) -> bool:
    """Whether the only look that is left is too good for `blocks`, where the budget ends: then none is taken."""
    return len(planned) > 1 and len(left) == 1 and blocks < planned[-2]
