"""What is measured, and what a generator says of it."""

from dataclasses import dataclass
from typing import Literal

from loadstone.plan.endpoints import Endpoint

Kind = Literal["GET", "SET", "HTTP"]
KEYS = 1000
VALUE_BYTES = 100


@dataclass(frozen=True)
class Case:
    """One load: of Redis a command, of a service GET of one page."""

    kind: Kind
    connections: int
    pipeline: int = 1

    def __str__(self) -> str:
        depth = "" if self.kind == "HTTP" else f", pipeline {self.pipeline}"
        return f"{self.kind}, {self.connections} {'connection' if self.connections == 1 else 'connections'}{depth}"


@dataclass(frozen=True)
class Target:
    """Where the load goes."""

    endpoint: Endpoint

    @property
    def url(self) -> str:
        """Of a service."""
        return f"http://{self.endpoint.host}:{self.endpoint.port}/"


@dataclass(frozen=True)
class Length:
    """How long a run takes: a time, and as many requests as are expected in it, for who ends by requests."""

    seconds: float
    requests: int


@dataclass(frozen=True)
class Reading:
    """What a generator printed. Quantiles are in ms; None where it prints no such quantile."""

    requests: int
    rate_per_s: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None


class UnreadableOutput(Exception):
    """A generator printed something else than expected, or that requests failed."""
