"""The time that storing and removing the keys of a trial is taken to take, where these are many."""

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.protocols import PROTOCOLS

LOADED_PER_S = REMOVED_PER_S = 400_000
"""J: keys that are stored a second, and looked for and removed. 40 million were stored within 90 s, and these removed
from among 100 million numbers in 224 s, by one Redis on a machine of two CPUs (2026-11-30)."""
MANY = 1_000_000
"""How far it is with so many keys is told, and nobody who asks twice to stop waits until they are removed."""
FEW = 100_000
"""Keys whose storing and removing is in what each trial costs anyway (`experiment.plan.rounds.TRIAL_OVERHEAD_S`)."""


def keys_s(plan: Plan, load: Plan | None) -> float:
    """A guess at the seconds that a trial takes to store its keys, if it does, and to remove them."""
    if not PROTOCOLS[plan.protocol].has_keys:
        return 0.0
    stored = 0 if load is None else load.keys.count
    return max(0, stored - FEW) / LOADED_PER_S + max(0, plan.keys.count - FEW) / REMOVED_PER_S
