"""The limit of each check, and where it comes from. One table; `docs/checks.md` explains each.

Sources: S - simulation, J - judgement, X - exact by definition. All are upper limits; a figure up to
`valid` passes, up to `invalid` it is suspect, beyond that it is invalid.
"""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Limit:
    """Where a check's figure stops being valid, and where it becomes invalid. In `unit`."""

    valid: float
    invalid: float
    unit: str
    source: str


GAIN = Limit(10, 50, "%", "J: up to a tenth more is good; a rate that could be half as high again is another one")
TAKEN = Limit(10, 50, "%", "J: as the gain")
ROUND_TRIP = Limit(10, inf, "%", "J: a P50 that a server doing nothing would also have says little about the server")
CLOCK = Limit(2.5, 5, "%", "S: half of the margin of 5 %; a quantum of a whole margin can hide or make a difference")
SCHEDULE_SENT = Limit(1, 1, "%", "J: 99 % of the schedule must be sent")
SCHEDULE_LAG = Limit(5, 50, "%", "J: its P99 against the P50; invalid: its P50 is half of the P50")
DROPPED = Limit(0, 0, "arrivals", "J: an arrival that was dropped has no latency")
RESTARTED = Limit(0, 0, "parts", "X: what was started again in the trial is not the part that it began with")
RESTARTED_TOLERANCE_S = 2.0
"""J: a server tells its uptime in whole seconds, at both ends."""
ERRORS = Limit(0.5, 1, "%", "J: an error is an infinite latency; beyond 1 % throughput means nothing")
CONSERVATION = Limit(0, 0, "operations", "X: every operation has exactly one end")
SERVER_COUNTER = Limit(0, 0, "commands", "X: the server counted what was sent, no more and no less")
REPLIES = Limit(0, 0, "replies", "X: a wrong reply is a wrong result")
LITTLE_TOLERANCE = 0.01
"""S: |1 - X R / N| may be so much, and the edges of the window beside it, R / T at least."""
LITTLE = Limit(0.95, 0.80, "", "S: below .95 users are missing, below .8 the driver is the limit; the same above 1")
POOL_WAIT = Limit(10, inf, "%", "J: beyond a tenth the pool is what is measured; that is named, not refused")
CONNECTIONS = Limit(1, 10, "%", "J: the planned number in 99 % of the seconds; beyond a tenth it is another experiment")
RECONNECTS = Limit(0, inf, "connections", "J: a connection that was lost had to be made again within the measurement")
LOCAL_PORTS = Limit(0, 0, "connections", "X: what waits for a port of the generator's says nothing of the server")
PAYLOAD = Limit(1, 5, "%", "J: what the server read must be what was encoded")
PAYLOAD_ALLOWED_BYTES = 2_000
PAYLOAD_ALLOWED_BYTES_PER_S = 200
"""What loadstone itself queries the server in addition to the load: INFO once a second."""
WARM_UP = Limit(10, inf, "%", "S: first and last third differ by more than 10 %: not settled. At most suspect")
WARM_UP_SHORTEST_S = 10.0
"""J: in a shorter measure phase a change is the machine's noise as often as a warm-up."""
WARM_UP_NOISE = 2
"""J: a change within so many standard errors is the machine's noise, not a trend."""
WARM_UP_CORRELATION = 0.6
"""S: correlation of neighbouring intervals in the noise model."""
WARM_UP_INTERVALS = 6
"""Fewer intervals than that cannot show a trend."""
SWAP = Limit(0, inf, "bytes", "J: memory that had to come back from the disk")
BACKGROUND = Limit(0, inf, "forks", "J: a fork or a rewrite of the append-only file takes CPU, memory and disk")
HIT_RATE = Limit(1, 5, "%", "J: a read that finds nothing is cheaper; one in a hundred is within the noise")
KEY_COUNT = Limit(0, 0, "keys", "X: every key that was stored is there, and no other")
MONITOR_CLIENTS = Limit(0, inf, "clients", "J: each command is copied to each of them")
SLOW_LOG = Limit(1000, inf, "us", "J: a shorter limit than 1 ms writes ordinary commands to the slow log")
LOG_LEVEL = Limit(0, inf, "", "J: at the level debug the server writes its log while it works")
HUGE_PAGES = Limit(0, inf, "forks", "J: with huge pages the first write after a fork copies 2 MB instead of 4 kB")
OVERCOMMIT = Limit(1, inf, "", "J: at 0 the kernel may refuse a fork; information only")
STORED_ROWS = Limit(0, 0, "rows", "X: what was answered as stored is there, and nothing else")
SETTINGS = Limit(0, 0, "settings", "X: a server with other settings is another condition")
LIMITS = Limit(0, inf, "limits", "J: a part without the limit that it was to have is another condition")
CONNECTION_LEAK = Limit(4, inf, "connections", "J: more from the first to the last third, rising all the time")
SUBJECT_THROTTLED = Limit(5, inf, "%", "J: time that a CPU limit took from a subject; information only")
EVICTED = Limit(0, 0, "keys", "J: what was evicted can no longer be read or counted")
PLACEMENT = Limit(0, inf, "", "J: parts on one CPU slow each other down, unless a tenth of all CPU time is idle")
PLACEMENT_IDLE = 0.10
SERVER_CPU = Limit(95, inf, "%", "J: from .95 of a core on a server's main thread has nothing left; information only")
SAMPLES = Limit(100, 100, "operations", "J: so many must lie beyond the highest quantile that is printed")
