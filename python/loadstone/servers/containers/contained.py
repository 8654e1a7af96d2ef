"""The seam of software in a container: its settings, its password, and what it reports about itself.

Secrets go by files inside the container. A command line is observed by every user of the machine, and a
container's environment by everybody who may inspect it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers.control import Control
from loadstone.servers.server import ConfigValue, Module, ServerFacts
from loadstone.text.message import AnyText

Settings = Mapping[str, ConfigValue]
ANYWHERE = "0.0.0.0"


@dataclass(frozen=True)
class Contents:
    """What a container is given before it starts."""

    command: Sequence[str]
    files: Mapping[str, str] = field(repr=False)
    """Path -> text."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Contained(Protocol):
    """A kind of server software that runs in a container."""

    port: int
    """Where it listens inside."""
    program: str
    """What starts it, unless the experiment names another."""
    username: str | None
    """Whom the load logs in as."""

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:
        """What starts it with these settings. `volumes`: folders that the image keeps its data in."""

    def control(self, endpoint: Endpoint, timeout_s: float) -> Control:
        """A connection for loadstone's own questions."""

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[AnyText]]:
        """What it is, its settings, and where they are not as required, a line each."""

    def why_it_ended(self, log: Sequence[str]) -> AnyText:
        """What its output says about an end during the start."""


@dataclass(frozen=True)
class InContainer:
    """Way in which kind `container` runs it."""

    check: Callable[[Settings, Sequence[Module]], object]
    """Raises ValueError where a container of ours cannot be given these settings or modules."""
    contents: Callable[[Sequence[Module]], Contained]
    """What runs in the container, with these modules."""
