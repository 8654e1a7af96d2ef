"""What is measured, and what a generator says of it."""

from dataclasses import dataclass
from typing import Literal

from loadstone.experiment.plan.endpoints import Endpoint

Kind = Literal["GET", "SET", "GET and SET", "JSON.SET", "HTTP", "HTTP chunked", "HTTPS"]
KEYS = 1000
VALUE_BYTES = 100
MEMORY_BYTES = 256_000_000
"""What all values of a load take together, at the most: large ones have fewer keys."""
DOCUMENT = (
    '{{"id":"000000000000","version":"0000000001","type":"document","author":"loadstone","state":"current",'
    '"field":"A","body":"{body}"}}'
)
"""What a peer sends that has no documents of its own: laid out as loadstone's, always the same."""


@dataclass(frozen=True)
class Case:
    """One load: of Redis a command, of a service GET of one page."""

    kind: Kind
    connections: int
    pipeline: int = 1
    value_bytes: int = VALUE_BYTES
    """Of a value, of a document without what is around its contents, or of a page."""

    def __str__(self) -> str:
        size = "" if self.value_bytes == VALUE_BYTES else f" of {self.value_bytes:,} bytes"
        depth = "" if self.of_http else f", pipeline {self.pipeline}"
        count = f"{self.connections} {'connection' if self.connections == 1 else 'connections'}"
        return f"{self.kind}{size}, {count}{depth}"

    @property
    def of_http(self) -> bool:
        """Whether it goes to a service."""
        return self.kind.startswith("HTTP")

    @property
    def keys(self) -> int:
        """Of how many keys."""
        return max(1, min(KEYS, MEMORY_BYTES // self.value_bytes))

    @property
    def path(self) -> str:
        """Of a service's page."""
        if self.kind == "HTTP chunked":
            return f"/chunked/{self.value_bytes}"
        return "/" if self.value_bytes == VALUE_BYTES else f"/{self.value_bytes}"

    @property
    def document(self) -> str:
        """What a peer stores as JSON."""
        return DOCUMENT.format(body="A" * (self.value_bytes - 1))


@dataclass(frozen=True)
class Target:
    """Where the load goes."""

    endpoint: Endpoint

    def url(self, case: Case) -> str:
        """Of a service's page."""
        scheme = "http" if self.endpoint.tls is None else "https"
        return f"{scheme}://{self.endpoint.host}:{self.endpoint.port}{case.path}"


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
