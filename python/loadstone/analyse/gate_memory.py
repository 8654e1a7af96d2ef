"""What the versions of a gate take of memory: the most in each block, of one against the other."""

from collections.abc import Sequence
from statistics import median

from loadstone.judge.statistics.decision import verdict_of_blocks
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.plan.looks import gate_level
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.reading import Run
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import TWIN, TWIN_LEVELS
from loadstone.spec.gate_spec import BASE, HEAD, Gate
from loadstone.spec.units import margin_share

TARGET = "target"
"""The factor of a gate."""


def memory_verdict(run: Run, trials: Sequence[TrialRecord], gate: Gate) -> Verdict | None:
    """The most resident memory of both in each block, compared block by block; None where it was not seen."""
    by_block: dict[tuple[str, int], dict[str, float]] = {}
    for trial in trials:
        side = str(trial.condition.get(TARGET, ""))
        peak = _peak_bytes(run, trial, side)
        if trial.block != WARM_BLOCK and trial.condition.get(TWIN) != TWIN_LEVELS[1] and peak is not None:
            by_block.setdefault((trial.group, trial.block), {})[side] = peak
    both = [peaks for peaks in by_block.values() if {BASE, HEAD} <= peaks.keys() and min(peaks.values()) > 0]
    if not both:
        return None
    settings = Settings(
        metric="rss_bytes",
        larger_is_faster=False,
        margin=margin_share(gate.memory_margin),
        alpha=gate_level(gate.level, gate.figures, sequential=True, in_rounds=False),
        names=(BASE, HEAD),
    )
    of_base, of_head = ([one[side] for one in both] for side in (BASE, HEAD))
    found = verdict_of_blocks(of_base, of_head, settings)
    a, b = (
        side.model_copy(update={"typical": median(peaks)}) for side, peaks in ((found.a, of_base), (found.b, of_head))
    )
    return found.model_copy(update={"a": a, "b": b})


def _peak_bytes(run: Run, trial: TrialRecord, side: str) -> float | None:
    """The most resident memory in a trial: of the program with a client library, or of the part that is compared."""
    drive = trial.facts.drive
    if drive is not None and drive.program is not None:
        return drive.program.peak_memory_bytes
    seen = (one.value for one in run.samples.get(trial.trial, ()) if (one.part, one.metric) == (side, "rss_bytes"))
    return max(seen, default=None)
