"""Whether what an agent reports can be: its record against its own intervals, and when it must be at its end.

Who has a certificate of the fleet may run code here anyway. This is for one that is broken: its figures would be added
to those of the others, and nobody would see it.
"""

import math
from collections.abc import Iterator, Sequence

from loadstone.addons.fleet.cluster_seam import AgentFailed
from loadstone.drivers.counted import QUIET_S, THINKS_MORE, Counted
from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.outcome import Counts, DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Plan
from loadstone.text.message import said

SLICES = 4
"""In rounds an interval holds a slice of each plan; so many times as long none may come."""


def require_plausible(name: str, record: DriveRecord, counted: Counted, longest_s: float) -> None:
    """Raises AgentFailed with the first contradiction of an agent's record.

    `counted`: what its intervals held; `longest_s`: how long its load may last.
    """
    for wrong in _wrong(record, counted, longest_s):
        raise AgentFailed(
            name, said("its record is wrong: {wrong}; install one version on all, or leave it out", wrong=wrong)
        )


def longest_s(plans: Sequence[Plan], rounds: RoundsOptions | None) -> float:
    """Return how long a load that ends with time may last; infinite for another one, and in rounds."""
    if rounds is not None or plans[0].ends_by_itself:
        return math.inf
    phases = plans[0].phases
    return phases.longest_s + phases.drain_s + patience_s(plans, rounds)


def patience_s(plans: Sequence[Plan], rounds: RoundsOptions | None) -> float:
    """Return how long an agent may deliver no interval: one comes each second, or with a slice, and none while it
    drains."""
    waits_s = [
        plan.phases.drain_s
        + (plan.timeouts.connect_ms + plan.timeouts.request_ms) / 1e3
        + (THINKS_MORE * plan.model.think_time_ms / 1e3 if isinstance(plan.model, Closed) else 0.0)
        for plan in plans
    ]
    slices_s = 0.0 if rounds is None else SLICES * rounds.slice_s * len(plans)
    return QUIET_S + max(waits_s) + slices_s


def _wrong(record: DriveRecord, counted: Counted, longest_s: float) -> Iterator[str]:
    total = record.total
    for what, counts in (("total", total), *((name, one.counts) for name, one in record.operations.items())):
        yield from _impossible(what, counts)
    for what, whole, parts in (
        ("offered", total.offered, counted.offered),
        ("sent", total.sent, counted.sent),
        ("ok", total.ok, counted.ok),
        ("dropped", total.dropped, counted.dropped),
        ("timeouts", total.timeouts, counted.timeouts),
        ("errors", sum(total.errors.values()), counted.errors),
    ):
        if parts > whole:
            yield f"{whole} {what}, and {parts} in its intervals"
    if "measure" not in record.phases:
        yield "it has no measure phase"
    times = [second for phase in record.phases.values() for second in (phase.start_s, phase.end_s)]
    if not all(0.0 <= second <= longest_s and math.isfinite(second) for second in (*times, record.measure_s)):
        yield "a phase begins or ends when no load of its plan does"
    elif any(phase.end_s < phase.start_s for phase in record.phases.values()):
        yield "a phase ends before it begins"


def _impossible(what: str, counts: Counts) -> Iterator[str]:
    """Numbers below 0, beyond what a record can hold, or that do not add up."""
    ended = counts.ok + sum(counts.errors.values()) + counts.timeouts
    numbers = (counts.offered, counts.sent, counts.ok, counts.timeouts, counts.dropped, counts.in_flight, counts.unsent)
    if not all(0 <= number < 2**63 for number in (*numbers, *counts.errors.values())):
        yield f"{what}: a count is below 0, or beyond 64 bits"
    elif counts.offered != counts.sent + counts.dropped + counts.unsent:
        followed = f"{counts.sent} sent, {counts.dropped} dropped and {counts.unsent} unsent"
        yield f"{what}: {counts.offered} offered are not {followed}"
    elif counts.sent != ended + counts.in_flight:
        yield f"{what}: {counts.sent} sent are not {ended} ended and {counts.in_flight} in flight"
