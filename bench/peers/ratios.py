"""The arithmetic of the tables: ratios within a round, their medians and ranges, and the targets."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.peers.load import VALUE_BYTES
from bench.peers.own import NAME
from bench.peers.results import Quantiles, Throughput

Key = tuple[str, int, int, int]
"""Load, connections, pipeline, bytes of a value."""
TARGET_CONNECTIONS = 50
FEW_CONNECTIONS, FEW_TARGET = 8, 0.95
"""Beside redis-benchmark so few connections have a target of their own."""
TARGETS: Mapping[tuple[str, int], float] = {
    ("redis-benchmark", 1): 0.47,
    ("redis-benchmark", 16): 0.55,
    ("memtier_benchmark", 1): 0.55,
    ("memtier_benchmark", 16): 0.45,
    ("wrk", 1): 0.75,
    ("oha", 1): 0.60,
    ("k6", 1): 0.11,
}
"""Peer and pipeline -> loadstone's CPU a request over the peer's, at the most, with 50 connections and 100 bytes."""
SMALL_BYTES, SMALL_TARGET, LARGE_TARGET = 10_000, 0.6, 0.9
"""The same for other sizes, up to so many bytes and beyond: whichever the peer, with how many connections."""


@dataclass(frozen=True)
class Spread:
    """The median of several figures, and their range."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        """Of one figure or more."""
        return cls(statistics.median(figures), min(figures), max(figures))


@dataclass(frozen=True)
class Row:
    """loadstone beside one peer on one load."""

    load: str
    connections: int
    pipeline: int
    value_bytes: int
    peer: str
    rounds: int
    own_us: Spread
    peer_us: Spread
    cpu: Spread
    """loadstone's CPU a request over the peer's, within a round."""
    work: Spread
    """The same without what loadstone's thread stayed awake for in waits."""
    rate: Spread
    """The same of the rates."""
    own_rate: float
    peer_rate: float
    timeouts: int
    """Requests of loadstone's that had no reply in time, over all rounds."""

    @property
    def target(self) -> float | None:
        """What `cpu` is to be at the most; None where nothing is required."""
        if self.value_bytes != VALUE_BYTES and self.load.startswith("HTTP"):
            return 1.0
        if self.value_bytes != VALUE_BYTES:
            return SMALL_TARGET if self.value_bytes <= SMALL_BYTES else LARGE_TARGET
        if self.peer == "redis-benchmark" and self.connections <= FEW_CONNECTIONS:
            return FEW_TARGET
        return TARGETS.get((self.peer, self.pipeline)) if self.connections == TARGET_CONNECTIONS else None

    @property
    def reached(self) -> bool | None:
        """Whether the median is as required; None where nothing is."""
        return None if self.target is None else self.cpu.median <= self.target

    @property
    def behind(self) -> bool:
        """Whether a request costs more CPU than the peer's, or fewer are done a second."""
        return self.cpu.median > 1 or self.rate.median < 1


def rows(results: Iterable[Throughput]) -> list[Row]:
    """A row for each load and peer that were measured in the same rounds, in the order in which loads are listed."""
    rounds: dict[Key, dict[str, dict[str, Throughput]]] = defaultdict(lambda: defaultdict(dict))
    for one in results:
        rounds[one.load, one.connections, one.pipeline, one.value_bytes][one.round][one.generator] = one
    found = []
    for key in sorted(rounds, key=_order):
        peers = dict.fromkeys(name for turn in rounds[key].values() for name in turn if name != NAME)
        for peer in sorted(peers, key=lambda name: (name not in {peer for peer, _ in TARGETS}, name)):
            pairs = [(turn[NAME], turn[peer]) for turn in rounds[key].values() if {NAME, peer} <= turn.keys()]
            if pairs:
                found.append(_row(key, peer, pairs))
    return found


def _order(key: Key) -> tuple[bool, int, int, int, str]:
    load, connections, pipeline, value_bytes = key
    return load.startswith("HTTP"), value_bytes, -connections, pipeline, load


def _row(key: Key, peer: str, pairs: Sequence[tuple[Throughput, Throughput]]) -> Row:
    return Row(
        *key,
        peer,
        len(pairs),
        Spread.of([own.cpu_us for own, _ in pairs]),
        Spread.of([other.cpu_us for _, other in pairs]),
        Spread.of([own.cpu_us / other.cpu_us for own, other in pairs]),
        Spread.of([(own.cpu_us - own.awake_us) / other.cpu_us for own, other in pairs]),
        Spread.of([own.rate_per_s / other.rate_per_s for own, other in pairs]),
        statistics.median([own.rate_per_s for own, _ in pairs]),
        statistics.median([other.rate_per_s for _, other in pairs]),
        sum(own.timeouts for own, _ in pairs),
    )


def errors(found: Quantiles, truth_ms: Sequence[float]) -> list[float | None]:
    """How far P50, P99 and P99.9 are from the truth, as shares of it; None where one is not printed."""
    printed = (found.p50_ms, found.p99_ms, found.p999_ms)
    return [None if ms is None else ms / true - 1 for ms, true in zip(printed, truth_ms, strict=True)]
