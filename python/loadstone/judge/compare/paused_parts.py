"""What a condition's own servers and applications do while it is paused: that takes CPU from the others' slices.

What strikes both conditions alike in the long run, such as an fsync every second or a checkpoint, leaves no trace in
the order of the slices. But who works while paused uses CPU then, and the driver reads it. A part that several
conditions use tells nothing: it works for the others.
"""

from collections.abc import Sequence

from loadstone.drive.outcome import Slice
from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.round_figures import slices_of
from loadstone.record.trial import TrialRecord

PAUSED_MAX = 0.05
"""J: of the CPU time a second that a condition's own parts use in their slices. An idle Redis uses .002 of it."""


def busiest_while_paused(group: GroupBlocks, judged: Sequence[int]) -> float | None:
    """The largest share, over the conditions; None where no condition has parts of its own."""
    by_condition: dict[str, list[TrialRecord]] = {}
    for block in judged:
        for condition, trial in group.trials[block].items():
            by_condition.setdefault(condition, []).append(trial)
    slices = [[one for trial in trials for one in slices_of(trial).values()] for trials in by_condition.values()]
    shares = [_share(of_condition) for of_condition in slices]
    return max((share for share in shares if share is not None), default=None)


def _share(slices: Sequence[Slice]) -> float | None:
    """CPU a second while paused over that within the windows."""
    paused_s = paused_cpu_s = window_s = window_cpu_s = 0.0
    for one in slices:
        own = [part for part in one.parts.values() if part.paused_cpu_s is not None]
        if own and one.paused_s:
            paused_s += one.paused_s
            paused_cpu_s += sum(part.paused_cpu_s or 0.0 for part in own)
            window_s += one.end_s - one.begin_s
            window_cpu_s += sum(part.cpu_s or 0.0 for part in own)
    if not paused_s or not window_s or not window_cpu_s:
        return None
    return (paused_cpu_s / paused_s) / (window_cpu_s / window_s)
