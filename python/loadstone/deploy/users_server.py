"""A server of the user's, of whatever software: it is asked, and never started or stopped."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from loadstone.bounds.conversation import LOOK, OPENING, within
from loadstone.deploy.provider import DeployContext, ServerFacts
from loadstone.deploy.users_parts import PING_TIMEOUT_S, answering_again
from loadstone.errors import LoadstoneError, ServerGone, UserError
from loadstone.plan.endpoints import Endpoint


class Pinged(Protocol):
    """Of a `control.Control` what is common to all software."""

    def ping(self) -> None:
        """Returns if the server answers. Raises LoadstoneError."""


class UsersServer(ABC):
    """See `provider.Server`."""

    ours = False

    def __init__(self, name: str, facts: ServerFacts) -> None:
        """`facts`: what is known before it is asked."""
        self.name = name
        self.facts = facts
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}

    @abstractmethod
    def control(self, timeout_s: float = 5.0) -> AbstractContextManager[Pinged]:
        """See `provider.Server.control`."""

    @abstractmethod
    def _inspect(self, context: DeployContext) -> Endpoint:
        """Find out what it is, and whether it can be loaded. Raises UserError, ServerGone."""

    @within(OPENING)
    def start(self, context: DeployContext) -> Endpoint:
        """Ask it whether it can be loaded; see `provider.Server.start`."""
        try:
            return self._inspect(context)
        except ServerGone as gone:
            raise UserError(str(gone)) from None

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(self.start)

    @within(LOOK)
    def alive(self) -> bool:
        """Whether it answers, as what it was."""
        try:
            return self._answers()
        except LoadstoneError:
            return False

    def _answers(self) -> bool:
        """The same; raises LoadstoneError where it does not."""
        with self.control(PING_TIMEOUT_S) as control:
            control.ping()
        return True

    def stop(self) -> None:  # noqa: B027 - what made nothing on it keeps this
        """Nothing: it is the user's."""
