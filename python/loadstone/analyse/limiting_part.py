"""What limited a condition, as data: the part, one line that says why, and the figures it rests on."""

from typing import Literal

from pydantic import Field

from loadstone.judge.verdict import Piece
from loadstone.message import Recorded

Part = Literal["generator", "subject", "server", "pool", "network", "cpu", "latency", "paced", "unknown"]


class Bottleneck(Piece):
    """What limited a condition."""

    part: Part
    """cpu: parts that share CPUs filled them, and none was full alone.

    latency: nothing was saturated, users waited for round trips; paced: the load was set by a rate or by pauses.
    """
    message: Recorded
    """One line with the evidence, e.g. `server-bound: main thread of redis 98 % busy`."""
    named: list[str] = Field(default_factory=list)
    """The parts that the line names, servers and applications by their names."""
    evidence: dict[str, float]
    """The figures it rests on, shares of one core or of the response time: `redis`, `generator`, `pool`."""
