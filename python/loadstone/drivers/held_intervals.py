"""Which intervals of a drive without rests are handed out later than they end.

To take one costs time of the generator's CPU, where the server has the other one: two milliseconds of Python are three
in a thousand of a trial that measures for two thirds of a second, and its P99 shows them.
"""

EARLY_S = 0.1
"""How long before the measured phase the last interval ends that is handed out at once: monitors look then."""
LEAST_BEFORE_S = 0.3
"""With less time before the measured phase monitors look at its first interval."""
ROUNDING_S = 1e-6
"""How far sums of the lengths of phases and intervals may be off, in seconds: they are decimals in binary."""


def is_told_early(before_s: float) -> bool:
    """Whether the measured phase is told before it begins; `before_s`: length of the phases before it."""
    return before_s >= LEAST_BEFORE_S - ROUNDING_S


def held_from_s(before_s: float, interval_s: float) -> float:
    """Intervals that end later than this are handed out together.

    Where monitors were told early, these are all that are measured, and the one before, of which the end is the
    beginning of the measured phase, unless that is the one by which they are told.
    """
    if not is_told_early(before_s):
        return before_s + interval_s
    return before_s - EARLY_S if interval_s <= EARLY_S + ROUNDING_S else before_s
