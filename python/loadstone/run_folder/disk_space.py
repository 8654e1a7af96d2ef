"""Room on the disk: what a run will write, and whether there is room for it."""

import shutil
from pathlib import Path

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import RunPlan, in_tables
from loadstone.safety.bounds.files import exists
from loadstone.safety.errors import NoPlace

HISTOGRAM_BYTES = 6_000
"""Upper bound of one encoded histogram of an interval, observed at wide latencies."""
LINE_BYTES = 800
"""Upper bound of a line of `intervals.jsonl`."""
SAMPLES_BYTES = 4_000
"""What the monitors of one second take in `samples.jsonl`."""
BASE_BYTES = 100_000
"""What stands in the folder before the first trial."""
TRIAL_BYTES = 20_000
"""Upper bound of a line of `trials.jsonl`."""


def estimate_bytes(run_plan: RunPlan) -> int:
    """Bytes that the run's folder will take, rather too many than too few.

    A table's first block is counted whole, all else as far as the budget goes.
    """
    first = [trial.plan for trial in run_plan.trials if in_tables(trial.group) and trial.block == 1]
    others = [trial.plan for trial in run_plan.trials if not in_tables(trial.group) or trial.block != 1]
    others_s = sum(plan.phases.longest_s for plan in others)
    share = min(1.0, run_plan.budget_s / others_s) if run_plan.budget_s > 0 and others_s > 0 else 1.0
    return int(BASE_BYTES + sum(map(_trial_bytes, first)) + share * sum(map(_trial_bytes, others)))


def _trial_bytes(plan: Plan) -> float:
    all_s = plan.phases.longest_s + plan.phases.drain_s
    intervals = all_s / plan.interval_s + len(("ramp_up", "warm_up", "measure", "drain"))
    per_interval = len(plan.operations) * (2 * HISTOGRAM_BYTES + LINE_BYTES)
    return TRIAL_BYTES + intervals * per_interval + (all_s + 1) * SAMPLES_BYTES


def check_space(path: Path, needed_bytes: int) -> None:
    """Refuse to begin what would not fit. `path` need not exist yet.

    Raises:
        NoPlace: there is less room than `needed_bytes` where `path` is or would be.
    """
    place = next((p for p in (path, *path.absolute().parents) if exists(p)), None)
    if place is None:
        return
    free = shutil.disk_usage(place).free
    if free < needed_bytes:
        raise NoPlace(
            "--out {path}: {free} free and {needed_bytes} needed; free some space or give another folder",
            path=path,
            free=_size(free),
            needed_bytes=_size(needed_bytes),
        )


def _size(size_bytes: int) -> str:
    """In the unit in which there is something to read."""
    units = ((10**6, "MB"), (1000, "kB"), (1, "bytes"))
    unit, name = next((one for one in units if size_bytes >= one[0]), units[-1])
    return f"{size_bytes / unit:,.0f} {name}"
