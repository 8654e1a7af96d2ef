"""The checks of one trial: each a function of its evidence, with a line for people.

A check answers None where its question does not arise (a schedule in the closed model).
"""

from collections.abc import Callable
from dataclasses import dataclass

from loadstone.analyse import limits
from loadstone.analyse.checks import accounting, generator, load, surroundings, time
from loadstone.analyse.evidence import TrialEvidence
from loadstone.analyse.limits import Limit
from loadstone.record.trial import CheckResult


@dataclass(frozen=True)
class Check:
    """One validity rule. `explanation` is one line for a person who has read no statistics."""

    function: Callable[[TrialEvidence], CheckResult | None]
    limit: Limit | None
    explanation: str
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""

    @property
    def name(self) -> str:
        return self.function.__name__


CHECKS: tuple[Check, ...] = (
    Check(load.finished, None, "Did the trial run to its planned end?", less_is_worse=True),
    Check(generator.generator_cpu, limits.GENERATOR_CPU, "Was the program that makes the load itself out of breath?"),
    Check(generator.generator_wait, limits.CPU_WAIT, "Did other programs take the load program's CPU away?"),
    Check(
        generator.generator_ceiling, limits.CEILING, "Could the load program have done clearly more than it did here?"
    ),
    Check(
        generator.round_trip, limits.ROUND_TRIP, "Is the typical latency the server's, or that of any answer at all?"
    ),
    Check(time.clock, limits.CLOCK, "Is the clock fine enough for the latencies that are printed?"),
    Check(time.schedule_sent, limits.SCHEDULE_SENT, "Was everything sent that the schedule asked for?"),
    Check(time.schedule_lag, limits.SCHEDULE_LAG, "Did the load program send on time?"),
    Check(time.dropped_arrivals, limits.DROPPED, "Was any arrival turned away because too many were waiting?"),
    Check(accounting.errors, limits.ERRORS, "Did operations fail?"),
    Check(accounting.conservation, limits.CONSERVATION, "Does every operation that was begun have exactly one end?"),
    Check(accounting.server_counter, limits.SERVER_COUNTER, "Did the server count the same commands as we did?"),
    Check(accounting.replies, limits.REPLIES, "Were the replies right, and was the data really stored?"),
    Check(accounting.payload, limits.PAYLOAD, "Did the server read the bytes that were sent, and no others?"),
    Check(
        load.little, limits.LITTLE, "Were the virtual users busy all the time, as they should be?", less_is_worse=True
    ),
    Check(load.pool_wait, limits.POOL_WAIT, "Did operations queue for a connection instead of for the server?"),
    Check(load.connections, limits.CONNECTIONS, "Were all connections there all the time?"),
    Check(load.warm_up, limits.WARM_UP, "Had the rate settled before the measurement began?"),
    Check(
        load.samples,
        limits.SAMPLES,
        "Were enough operations measured for the rarest latencies that are printed?",
        less_is_worse=True,
    ),
    Check(surroundings.steal, limits.STEAL, "Did other virtual machines take CPU time away?"),
    Check(surroundings.server_wait, limits.CPU_WAIT, "Did other programs take the server's CPU away?"),
    Check(surroundings.swap, limits.SWAP, "Was memory moved to the disk and back?"),
    Check(surroundings.placement, limits.PLACEMENT, "Did the load program and the server get in each other's way?"),
    Check(surroundings.background, limits.BACKGROUND, "Did the server save its data while it was measured?"),
    Check(surroundings.evicted_keys, limits.EVICTED, "Did the server throw data away?"),
    Check(surroundings.server_cpu, limits.SERVER_CPU, "For information: how busy was the server's main thread?"),
)
