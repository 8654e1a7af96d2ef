"""How the levels of a sweep are measured: taking turns in rounds of slices, or each in a trial of its own.

In rounds every level is open all the time, and a sweep is some rounds together: the machine's slow noise is then the
same for all levels of a sweep. What a slice must hold follows from the search: a slice that is short against a response
would count none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.machine.local_ports import local_ports
from loadstone.message import Message, message
from loadstone.plan.design.decks import CONNECTIONS_MAX
from loadstone.plan.design.sliceable import why_whole_plan
from loadstone.plan.drive_plan import Plan
from loadstone.plan.footprint import TOGETHER_BYTES_MAX, of_load
from loadstone.plan.protocols import PROTOCOLS
from loadstone.plan.rounds import (
    APPLICATION_SETTLE_S,
    APPLICATION_SLICE_S,
    SETTLE_S,
    SLICE_S,
    TABLE_OPENING_S,
    TABLE_WARM_UP_S,
    Rounds,
)
from loadstone.plan.run_plan import PlannedTrial
from loadstone.plan.saturation.level_plans import CYCLES, think_s, with_users
from loadstone.plan.saturation.saturation_settings import SaturationSettings

RESPONSES_A_SLICE = 20
"""A slice lasts so many of the longest responses: what is cut at its ends is little then."""
SLICE_MAX_S, WARM_UP_MAX_S = 5.0, 3.0
"""A longer slice, or a longer time to settle at the beginning of every block, is for whole trials."""
REPLIES_A_SWEEP = 100
"""So many replies are to come to a single user in each sweep: R_0 rests on them."""
SWEEP_S, QUICK_SWEEP_S = 0.3, 0.15
"""Each level is measured for so long in a sweep, at least."""
SWEEP_MAX_S = 10.0
QUICK_SLICE_SHARE = 0.5
"""Behind an application slices of a quick run are so many times as long."""
BLOCK_S = 15.0
"""A block is about so long: what is lost where it is interrupted, beside what opening it costs."""
TRIAL_S, APPLICATION_TRIAL_S = 2.0, 5.0
"""Of a level that is measured in one stretch."""


@dataclass(frozen=True)
class SweepPlan:
    """How the sweeps of one condition are measured."""

    levels: tuple[int, ...]
    rounds: Rounds | None
    """One block; None: each level is a whole trial."""
    rounds_a_sweep: int
    """0 where there are no rounds."""
    sweeps_a_block: int
    trial_s: float
    """For how long a level is measured in a sweep."""
    why_whole: Message | None = None
    """Why levels do not take turns."""

    @property
    def block_s(self) -> float:
        """Seconds that a block is expected to take."""
        if self.rounds is not None:
            return self.rounds.block_s(1, len(self.levels))
        return len(self.levels) * (self.trial_s + 1.0)


def plan_sweeps(
    template: PlannedTrial, settings: SaturationSettings, levels: Sequence[int], *, unloaded_s: float, slowest_s: float
) -> SweepPlan:
    """The sweeps of these levels.

    Args:
        template: the condition, under the workload's own load.
        settings: the run's.
        levels: numbers of users.
        unloaded_s: the mean response time with one user.
        slowest_s: the same at the highest level.
    """
    application = bool(template.subjects)
    cycle_s = unloaded_s + think_s(template.plan)
    needed_s = min(SWEEP_MAX_S, max(QUICK_SWEEP_S if settings.quick else SWEEP_S, REPLIES_A_SWEEP * cycle_s))
    why = _why_whole(template, settings, levels, slowest_s)
    if why is not None:
        trial_s = settings.trial_s or (APPLICATION_TRIAL_S if application else TRIAL_S)
        trial_s = max(trial_s, min(SWEEP_MAX_S, RESPONSES_A_SLICE * slowest_s))
        return SweepPlan(tuple(levels), None, 0, 1, trial_s, why)
    slice_s, settle_s = _slice(settings, slowest_s, application=application)
    rounds_a_sweep = max(1, math.ceil(round(needed_s / (slice_s - settle_s), 6)))
    warm_up_s = max(TABLE_WARM_UP_S, CYCLES * (slowest_s + think_s(template.plan)))
    of_sweep_s = rounds_a_sweep * slice_s * len(levels)
    sweeps = min(settings.sweeps, max(1, round(BLOCK_S / of_sweep_s)))
    while settings.sweeps % sweeps:
        sweeps -= 1
    rounds = Rounds(
        (sweeps * rounds_a_sweep,),
        slice_s,
        settle_s,
        round(warm_up_s, 3),
        opening_each_s=TABLE_OPENING_S,
    )
    measured_s = round(rounds_a_sweep * rounds.measured_s, 6)
    return SweepPlan(tuple(levels), rounds, rounds_a_sweep, sweeps, measured_s)


def _slice(settings: SaturationSettings, slowest_s: float, *, application: bool) -> tuple[float, float]:
    """How long a slice is, and how much of it is not measured."""
    usual_s, settle_s = (APPLICATION_SLICE_S, APPLICATION_SETTLE_S) if application else (SLICE_S, SETTLE_S)
    if settings.quick and application:
        usual_s, settle_s = QUICK_SLICE_SHARE * usual_s, QUICK_SLICE_SHARE * settle_s
    slice_s = max(settings.slice_s or usual_s, RESPONSES_A_SLICE * slowest_s)
    return round(slice_s, 3), round(min(slice_s / 4, max(settle_s, CYCLES * slowest_s)), 6)


def _why_whole(
    template: PlannedTrial, settings: SaturationSettings, levels: Sequence[int], slowest_s: float
) -> Message | None:
    """Why each level is a whole trial; None where they take turns."""
    if not settings.rounds:
        return message("whole_trials.as_written")
    if (why := why_whole_plan(with_users(template.plan, 1))) is not None:
        return why
    pause_s = think_s(template.plan)
    if RESPONSES_A_SLICE * slowest_s > SLICE_MAX_S or CYCLES * (slowest_s + pause_s) > WARM_UP_MAX_S:
        return message("whole_trials.slow", response_s=slowest_s, pause_s=pause_s)
    plans = [with_users(template.plan, users) for users in levels]
    connections, ports = sum(plan.pool.connections for plan in plans), local_ports()
    if connections > min(CONNECTIONS_MAX, CONNECTIONS_MAX if ports is None else ports.count // 2):
        return message("whole_trials.connections", connections=connections)
    if not template.subjects and _bytes(template, plans) > TOGETHER_BYTES_MAX:
        return message("whole_trials.data", levels=len(levels))
    return None


def _bytes(template: PlannedTrial, plans: Sequence[Plan]) -> int:
    """What all levels hold together at most, each with keys of its own."""
    if not PROTOCOLS[template.plan.protocol].has_keys:
        return 0
    return sum(of_load(plan, template.load).bytes for plan in plans)
