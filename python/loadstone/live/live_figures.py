"""What an interval of the load shows to who waits: a few figures of all its operations together."""

from dataclasses import dataclass

from loadstone.drive.outcome import Interval


@dataclass(frozen=True)
class LiveFigures:
    """The load over about a second."""

    phase: str
    tps: float
    """Correct replies a second."""
    p50_ns: int | None = None
    """Of response time, of the operation whose P50 is the largest; None without a reply."""
    p99_ns: int | None = None
    """The same."""
    errors: int = 0
    """Operations that failed, timeouts too."""
    generator_cpu: float = 0.0
    """CPUs that the generator's threads took."""

    @classmethod
    def of(cls, interval: Interval) -> "LiveFigures | None":
        """None of an interval that has no length, and of a drain: then there is no load to show."""
        if interval.duration_s <= 0 or interval.phase == "drain":
            return None
        operations = interval.operations.values()
        return cls(
            phase=interval.phase,
            tps=sum(one.ok for one in operations) / interval.duration_s,
            p50_ns=max((one.response_ns.p50 for one in operations), default=0) or None,
            p99_ns=max((one.response_ns.p99 for one in operations), default=0) or None,
            errors=sum(one.timeouts + sum(one.errors.values()) for one in operations),
            generator_cpu=sum(interval.cpu_s) / interval.duration_s,
        )
