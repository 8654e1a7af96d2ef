"""What was measured, a line of JSON each, added while it is measured: tables are made from the file alone."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class Machine:
    """Where and when one call of the bench measured."""

    kind: ClassVar[str] = "machine"
    date: str
    cpu: str
    cpus: int
    kernel: str
    versions: dict[str, str]
    engine: dict[str, str]
    service: str
    """What the requests over HTTP went to."""
    start_cpu_s: float
    """What loadstone's process took to start, which is in no figure of a request."""
    network: str = ""
    """What requests and replies went through; empty as written before that was noted."""


@dataclass(frozen=True)
class Throughput:
    """One generator on one case, once."""

    kind: ClassVar[str] = "throughput"
    generator: str
    load: str
    connections: int
    pipeline: int
    round: str
    """All that have it were measured in turn, close in time."""
    rate_per_s: float
    cpu_us: float
    """Generator CPU in microseconds a request."""
    awake_us: float = 0.0
    """What of it loadstone's thread stayed awake for in waits, without work; 0 as written before that was noted."""
    value_bytes: int = 100
    """Of a value or a page."""
    timeouts: int = 0
    """Requests of loadstone's that had no reply in time; they are in no rate."""


@dataclass(frozen=True)
class Quantiles:
    """What one generator reports of the server that freezes; in ms, None where it prints no such quantile."""

    kind: ClassVar[str] = "quantiles"
    generator: str
    options: str
    protocol: str
    rate_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    recorded_ms: list[float] | None = None
    """P50, P99 and P99.9 as the server itself recorded them; None where it cannot know when requests were intended."""


@dataclass(frozen=True)
class Users:
    """Many users who think, on one thread."""

    kind: ClassVar[str] = "users"
    users: int
    connections: int
    offered_per_s: float
    rate_per_s: float
    lag_p50_us: float
    lag_p99_us: float
    cpu_us: float
    user_bytes: float
    """Memory that a user more takes."""


@dataclass(frozen=True)
class Delay:
    """How late requests of the open model are sent."""

    kind: ClassVar[str] = "delay"
    mode: str
    """`default` or `--precise`."""
    rate_per_s: float
    connections: int
    lag_p50_us: float
    lag_p99_us: float
    cpu_us: float


@dataclass(frozen=True)
class Added:
    """What one generator reports with one connection of a server that works for a known time on each request."""

    kind: ClassVar[str] = "added"
    generator: str
    service_us: float
    p50_us: float


@dataclass(frozen=True)
class Threads:
    """One generator with so many threads, beside a server that its line limits."""

    kind: ClassVar[str] = "threads"
    generator: str
    threads: int
    connections: int
    rate_per_s: float
    cpu_us: float
    p50_ms: float | None


Result = Machine | Throughput | Quantiles | Users | Delay | Added | Threads
_KINDS: dict[str, type[Result]] = {
    one.kind: one for one in (Machine, Throughput, Quantiles, Users, Delay, Added, Threads)
}


def add(file: Path, result: Result) -> None:
    """Add a line."""
    with file.open("a") as lines:
        lines.write(json.dumps({"kind": result.kind, **asdict(result)}) + "\n")


def read(file: Path) -> list[Result]:
    """All lines."""
    return list(_results(file.read_text()))


def _results(text: str) -> Iterator[Result]:
    for line in text.splitlines():
        fields: dict[str, Any] = json.loads(line)
        yield _KINDS[fields.pop("kind")](**fields)
