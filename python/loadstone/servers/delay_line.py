"""`link:` of a server: the line between it and what loads it, a process of its own on the generator's CPUs.

The line forwards later what is sent. The load and the applications connect to it, loadstone's own control connections
to the server itself.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from loadstone.drivers.engine_process import EngineProcess
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.processes.endings import ending_of_process
from loadstone.safety.errors import UserError
from loadstone.text.problem import Problem
from loadstone.text.units import BITS_PER_SECOND, SECONDS, parse

LONGEST_S = 10.0
"""A longer delay is a mistake in the unit."""
SLOWEST_BITS_PER_S, FASTEST_BITS_PER_S = 10_000, 1_000_000_000_000
NO_LINE = ("none", "")
"""Texts that stand for no line, for factors whose other levels have one."""


def _time_s(value: object) -> float:
    """Seconds of a text with its unit. Raises ValueError."""
    seconds = float(parse(value if isinstance(value, str) else f"{value}", SECONDS))
    if not 0 <= seconds <= LONGEST_S:
        raise Problem(
            "'{value}' must be 0 to {longest_s:g} s; write for example `1 ms`", value=value, longest_s=LONGEST_S
        )
    return seconds


def _bits_per_s(value: object) -> int | None:
    """Bits a second of a text with its unit; None for `none`. Raises ValueError."""
    if value is None or value in NO_LINE:
        return None
    bits = int(parse(value if isinstance(value, str) else f"{value}", BITS_PER_SECOND))
    if not SLOWEST_BITS_PER_S <= bits <= FASTEST_BITS_PER_S:
        raise Problem("'{value}' must be 10 kbit/s to 1000 Gbit/s; write for example `100 Mbit/s`", value=value)
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
    """Amount by which the delay of a round trip varies, in seconds; see `distribution`."""
    distribution: Literal["uniform", "normal", "exponential"] = "normal"
    """uniform: up to `jitter` more or less; normal: with `jitter` as its standard deviation; exponential: later by
    `jitter` on average. Nothing arrives before what was sent before it on the same connection."""
    bandwidth: Bandwidth = None
    """On each way, for all connections together, in bits a second; None: no limit."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of the jitter."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"delay": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _jitter_fits(self) -> Self:
        if self.distribution != "exponential" and self.jitter > self.delay:
            raise Problem(
                "jitter: {jitter:g} ms is more than the delay of {delay:g} ms, and nothing arrives before it was "
                "sent; make it less, or write distribution: exponential",
                jitter=1000.0 * self.jitter,
                delay=1000.0 * self.delay,
            )
        return self

    @property
    def requested_ns(self) -> int:
        """What is added to a round trip on average, in nanoseconds, without what the bandwidth adds."""
        later_s = self.jitter if self.distribution == "exponential" else 0.0
        return round(1e9 * (self.delay + later_s))


def link_of(settings: Mapping[str, Any]) -> LinkSettings | None:
    """The line of a server with these settings, which were found valid; None without one."""
    written = settings.get("link")
    return None if written is None or written in NO_LINE else LinkSettings.model_validate(written)


def _none_of_text(value: object) -> object:
    return None if isinstance(value, str) and value in NO_LINE else value


Link = Annotated[LinkSettings | None, BeforeValidator(_none_of_text)]
"""The field of a server's settings: `link: 1 ms`, `link: {delay: 1 ms, ...}`, or `none`."""


HOST = "127.0.0.1"
ALL = 2**31
"""More connections than there can be."""


def part_of(server: str) -> str:
    """The name of a line's part in the record."""
    return f"{server}.link"


class DelayLine:
    """The line to one server; it runs from the first `reach` to `stop`."""

    def __init__(self, server: str, settings: LinkSettings, cpus: Sequence[int]) -> None:
        self.settings = settings
        self._server = server
        self._cpus = cpus
        self._program = EngineProcess("link")
        self._port = 0
        self._led_to: tuple[str, int] | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        """Its process, by its part in the record; empty while it does not run."""
        pid = self._program.pid
        return {} if pid is None else {part_of(self._server): pid}

    def alive(self) -> bool:
        """Whether its process runs."""
        return self._program.alive()

    def how_it_ended(self) -> str:
        """` (killed by SIGKILL)` or the like; empty while it runs."""
        return ending_of_process(self._program.exit_status) if self._program.started else ""

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Lead to the server that is there; where to connect to it through the line.

        Raises:
            UserError: it cannot be reached by TCP, or the line does not start.
        """
        if endpoint.unix_path is not None:
            raise UserError(
                "servers.{server}.link: {endpoint_label} is a Unix socket, and a line needs a host and port; "
                "give the server by redis://HOST:PORT, or leave out link",
                server=self._server,
                endpoint_label=endpoint.label,
            )
        led_to = endpoint.host, endpoint.port
        if not self.alive():
            self._start(*led_to)
        elif self._led_to != led_to:
            self._ask({"lead_to": led_to})
        self._led_to = led_to
        return self._through(endpoint)

    def _through(self, endpoint: Endpoint) -> Endpoint:
        """The line's address; a certificate is still held against the server's own name."""
        tls = endpoint.tls
        if tls is not None and tls.server_name is None:
            tls = tls.model_copy(update={"server_name": endpoint.host})
        return endpoint.model_copy(update={"host": HOST, "port": self._port, "tls": tls})

    def drop(self, connections: int = ALL) -> int:
        """Lose so many connections, the oldest first: both sides see a reset. How many there were to lose.

        Raises:
            UserError: the line does not run.
        """
        return int(self._ask({"drop": connections})["dropped"])

    def report(self) -> dict[str, Any] | None:
        """What it did since the last report, as the engine's `Link` has it; None if it does not run."""
        try:
            return self._ask({"report": True})
        except UserError:
            return None

    def stop(self) -> None:
        """End it, and all connections through it. May be called more than once."""
        self._program.stop()

    def _start(self, host: str, port: int) -> None:
        """Start it, where it listened before if that port is free: applications may know it."""
        for own_port in dict.fromkeys((self._port, 0)):
            options = {**_ways(self.settings), "host": HOST, "port": own_port, "to_host": host, "to_port": port}
            answer = self._program.start({"cpus": self._cpus, "options": options})
            if "port" in answer:
                self._port = int(answer["port"])
                return
        self.stop()
        raise UserError(
            "link of {server}: {answer}; check that the server's host can be found",
            server=self._server,
            answer=answer["failed"],
        )

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._program.exchange(order) if self.alive() else {"failed": f"it does not run{self.how_it_ended()}"}
        if "failed" in answer:
            raise UserError("link of {server}: {answer}", server=self._server, answer=answer["failed"])
        return answer


def _ways(settings: LinkSettings) -> dict[str, Any]:
    """The engine's options for both ways. Half of the delay is on each, or all of it on the way to the server.

    What varies by chance on two ways varies less on both together: a standard deviation by the root of two.
    """
    share = 1.0 if settings.one_way else 0.5
    spread = 1.0 if settings.one_way else 0.5**0.5 if settings.distribution == "normal" else 0.5
    slow = {
        "delay_us": 1e6 * settings.delay * share,
        "jitter_us": min(1e6 * settings.jitter * spread, 1e6 * settings.delay * share)
        if settings.distribution != "exponential"
        else 1e6 * settings.jitter * spread,
        "distribution": settings.distribution,
    }
    width = {"bits_per_s": float(settings.bandwidth or 0)}
    return {
        "to_server": {**slow, **width},
        "to_client": {**({} if settings.one_way else slow), **width},
        "seed": settings.seed,
    }
