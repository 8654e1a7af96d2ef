"""`link:` of a server in an experiment: what the line to it is like."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from loadstone.spec.units import BITS_PER_SECOND, SECONDS, parse

LONGEST_S = 10.0
"""A longer delay is a mistake in the unit."""
SLOWEST_BITS_PER_S, FASTEST_BITS_PER_S = 10_000, 1_000_000_000_000
NO_LINE = ("none", "")
"""Texts that stand for no line, for factors whose other levels have one."""


def _time_s(value: object) -> float:
    """Seconds of a text with its unit. Raises ValueError."""
    seconds = float(parse(value if isinstance(value, str) else f"{value}", SECONDS))
    if not 0 <= seconds <= LONGEST_S:
        raise ValueError(f"'{value}' must be 0 to {LONGEST_S:g} s; write for example `1 ms`")
    return seconds


def _bits_per_s(value: object) -> int | None:
    """Bits a second of a text with its unit; None for `none`. Raises ValueError."""
    if value is None or value in NO_LINE:
        return None
    bits = int(parse(value if isinstance(value, str) else f"{value}", BITS_PER_SECOND))
    if not SLOWEST_BITS_PER_S <= bits <= FASTEST_BITS_PER_S:
        raise ValueError(f"'{value}' must be 10 kbit/s to 1000 Gbit/s; write for example `100 Mbit/s`")
    return bits


TimeS = Annotated[float, BeforeValidator(_time_s, json_schema_input_type=str)]
Bandwidth = Annotated[int | None, BeforeValidator(_bits_per_s, json_schema_input_type=str | None)]


class LinkSettings(BaseModel):
    """A line. A text alone is its delay: `link: 1 ms`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delay: TimeS = 0.0
    """Added to each round trip, in seconds: half of it on each way, or all of it on the way to the server."""
    one_way: bool = False
    """Whether all of the delay is on the way to the server."""
    jitter: TimeS = 0.0
    """By how much the delay of a round trip varies, in seconds; see `distribution`."""
    distribution: Literal["uniform", "normal", "exponential"] = "normal"
    """uniform: up to `jitter` more or less; normal: with `jitter` as its standard deviation; exponential: later by
    `jitter` on average. Nothing arrives before what was sent before it on the same connection."""
    bandwidth: Bandwidth = None
    """On each way, for all connections together, in bits a second; None: no limit."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Of the jitter."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"delay": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _jitter_fits(self) -> Self:
        if self.distribution != "exponential" and self.jitter > self.delay:
            raise ValueError(
                f"jitter: {1e3 * self.jitter:g} ms is more than the delay of {1e3 * self.delay:g} ms, and nothing "
                "arrives before it was sent; make it less, or write distribution: exponential"
            )
        return self

    @property
    def requested_ns(self) -> int:
        """What is added to a round trip on average, in nanoseconds, without what the bandwidth adds."""
        later_s = self.jitter if self.distribution == "exponential" else 0.0
        return round(1e9 * (self.delay + later_s))


def link_of(settings: Mapping[str, Any]) -> LinkSettings | None:
    """The line of a server with these settings, which were found valid; None: there is none."""
    written = settings.get("link")
    return None if written is None or written in NO_LINE else LinkSettings.model_validate(written)


def _none_of_text(value: object) -> object:
    return None if isinstance(value, str) and value in NO_LINE else value


Link = Annotated[LinkSettings | None, BeforeValidator(_none_of_text)]
"""The field of a server's settings: `link: 1 ms`, `link: {delay: 1 ms, ...}`, or `none`."""
