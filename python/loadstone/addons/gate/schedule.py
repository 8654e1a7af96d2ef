"""When a gate looks, and at which level: as often as it says slower by chance, over all of its figures and looks."""

import math

from loadstone.addons.gate.spec import Gate
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.text.language import _, translated

BLOCK_LOOKS, ROUND_LOOKS = 4.0, 6.0
"""Number of independent looks for which those of blocks and of rounds count at the small levels of gates. Found by
simulation (`scripts/bench gate-level`)."""
LOOKS, GROWTH = 5, 1.35


def gate_level(level_of_gate: float, figures: int, *, sequential: bool, in_rounds: bool) -> float:
    """Level of one look at one figure, at which all figures and looks of a gate together keep its level.

    A gate errs to one side alone: where it says slower. So both sides of an interval have twice its level.
    """
    looks_at = 1.0 if not sequential else ROUND_LOOKS if in_rounds else BLOCK_LOOKS
    return 2 * level_of_gate / figures / looks_at


def gate_looks(alpha: float) -> tuple[int, ...]:
    """Numbers of blocks at which a gate is judged: the first ones that give an interval at this level, and more."""
    first = max(BLOCKS_MIN, math.ceil(1 - math.log2(alpha)) + 1)
    return tuple(round(first * GROWTH**number) for number in range(LOOKS))


class GateSchedule:
    """The looks of a gate."""

    starts_all = True
    is_timed_by_looks = True

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.restarts = gate.restarts

    def looks(self, pairs: int) -> tuple[int, ...]:
        """The looks at whole trials, or at blocks that are a start each."""
        return gate_looks(self.level(sequential=True, in_rounds=False) / pairs)

    def level(self, *, sequential: bool, in_rounds: bool) -> float:
        """Level of one look."""
        return gate_level(self._gate.level, self._gate.figures, sequential=sequential, in_rounds=in_rounds)

    def announced(self, question: str, budget_s: float) -> str:
        """It ends when it knows: nothing else of its plan is of interest."""
        from loadstone.report.figure_format import plain, rough_time  # only now: it takes time to load

        return _(
            "{question} Both take turns until that is known, {budget} at most.",
            question=plain(translated(question)),
            budget=rough_time(budget_s),
        )
