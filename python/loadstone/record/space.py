"""Room on the disk: what a run will write, and whether there is room for it."""

import shutil
from pathlib import Path

from loadstone.errors import UserError
from loadstone.plan.model import Phases
from loadstone.plan.run_plan import RunPlan

HISTOGRAM_BYTES = 6_000
"""Upper bound of one encoded histogram of an interval, seen at wide latencies."""
LINE_BYTES = 800
"""Upper bound of a line of `intervals.jsonl`."""
SAMPLES_BYTES = 4_000
"""What the monitors of one second take in `samples.jsonl`."""
TRIAL_BYTES = 20_000
"""Upper bound of a line of `trials.jsonl`."""


def estimate_bytes(run_plan: RunPlan) -> int:
    """Bytes that the run's folder will take, rather too many than too few."""
    total = 100_000
    for trial in run_plan.trials:
        seconds = _longest_s(trial.plan.phases)
        intervals = seconds / trial.plan.interval_s + len(("ramp_up", "warm_up", "measure", "drain"))
        per_interval = len(trial.plan.operations) * (2 * HISTOGRAM_BYTES + LINE_BYTES)
        total += int(TRIAL_BYTES + intervals * per_interval + (seconds + 1) * SAMPLES_BYTES)
    return total


def _longest_s(phases: Phases) -> float:
    measure_s = max(phases.measure_s, phases.measure_max_s or 0.0)
    return phases.ramp_up_s + phases.warm_up_s + measure_s + phases.drain_s


def check_space(path: Path, needed_bytes: int) -> None:
    """Refuse to begin what would not fit. `path` need not exist yet.

    Raises:
        UserError: there is less room than `needed_bytes` where `path` is or would be.
    """
    place = next((p for p in (path, *path.absolute().parents) if p.exists()), None)
    if place is None:
        return
    free = shutil.disk_usage(place).free
    if free < needed_bytes:
        raise UserError(
            f"--out {path}: {free / 1e6:,.0f} MB free and {needed_bytes / 1e6:,.0f} MB needed; "
            "free some space or give another folder"
        )
