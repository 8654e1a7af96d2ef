"""The line to a server: a process of its own on the generator's CPUs, which forwards what is sent later.

The load and the applications connect to the line, loadstone's own control connections to the server itself.
"""

from collections.abc import Mapping
from typing import Any

from loadstone.deploy.json_program import JsonProgram
from loadstone.deploy.link_settings import LinkSettings
from loadstone.deploy.processes.endings import ending_of_process
from loadstone.deploy.provider import DeployContext
from loadstone.errors import UserError
from loadstone.plan.endpoints import Endpoint

HOST = "127.0.0.1"
ALL = 2**31
"""More connections than there can be."""


def part_of(server: str) -> str:
    """The name of a line's part in the record."""
    return f"{server}.link"


class Line:
    """The line to one server; it runs from the first `reach` to `stop`."""

    def __init__(self, server: str, settings: LinkSettings, context: DeployContext) -> None:
        self.settings = settings
        self._server = server
        self._cpus = context.generator_cpus
        self._program = JsonProgram("loadstone.deploy.link_program")
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
                f"servers.{self._server}.link: {endpoint.label} is a Unix socket, and a line needs a host and port; "
                "give the server by redis://HOST:PORT, or leave out link"
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
        raise UserError(f"link of {self._server}: {answer['failed']}; check that the server's host can be found")

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._program.exchange(order) if self.alive() else {"failed": f"it does not run{self.how_it_ended()}"}
        if "failed" in answer:
            raise UserError(f"link of {self._server}: {answer['failed']}")
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
