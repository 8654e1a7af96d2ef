"""Latencies in nanoseconds with 3 significant digits, as HdrHistogram counts and encodes them."""

import time

from hdrh.histogram import HdrHistogram

LOWEST, LONGEST_NS, DIGITS = 1, 3_600_000_000_000, 3
EXACT_BITS = 11
"""Values below 2^11 have a count each; of longer ones the first 11 bits do."""


class Histogram:
    """Counts by value. Recording costs a look-up: HdrHistogram itself comes in where one is encoded."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def record(self, value_ns: int) -> bool:
        """False if the value is too long to be recorded."""
        if value_ns > LONGEST_NS:
            return False
        beyond = value_ns.bit_length() - EXACT_BITS
        value = value_ns >> beyond << beyond if beyond > 0 else max(value_ns, 0)
        self._counts[value] = self._counts.get(value, 0) + 1
        return True

    def add(self, other: "Histogram") -> None:
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count

    def encoded(self) -> str:
        """HdrHistogram's V2 encoding, compressed, in base64. In between, other threads get their turn."""
        histogram = HdrHistogram(LOWEST, LONGEST_NS, DIGITS)
        time.sleep(0)
        for value, count in self._counts.items():
            histogram.record_value(value, count)
        time.sleep(0)
        text: bytes = histogram.encode()
        return text.decode()
