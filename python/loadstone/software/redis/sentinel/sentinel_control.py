"""The control of a primary that Sentinel watches: after a failover it queries the one that took over."""

from collections.abc import Callable, Sequence
from typing import Any

from loadstone.deploy.ledger import Place
from loadstone.errors import ServerGone, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.sentinel.sentinel_question import is_gone
from loadstone.software.redis.sentinel.sentinel_url import Watched


class SentinelControl(RedisControl):
    """See `RedisControl`. A command that finds no primary is sent once more to the one that Sentinel names by now."""

    def __init__(self, watched: Watched, find: Callable[[], Endpoint], endpoint: Endpoint, timeout_s: float) -> None:
        """`find`: where the primary is by now; raises LoadstoneError."""
        super().__init__(endpoint, timeout_s)
        self._watched = watched
        self._find = find

    def place(self, server: str) -> Place:
        """See `RedisControl.place`."""
        return self._watched.place(server)

    def call(self, *command: Any) -> Any:
        """See `RedisControl.call`."""
        try:
            return super().call(*command)
        except ServerGone as gone:
            if not self._turned(gone):
                raise
        return super().call(*command)

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """See `RedisControl.pipelined`."""
        try:
            return super().pipelined(commands)
        except ServerGone as gone:
            if not self._turned(gone):
                raise
        return super().pipelined(commands)

    def _turned(self, gone: ServerGone) -> bool:
        """Whether another server is the primary by now, which is queried from now on."""
        if not is_gone(gone):
            return False
        try:
            found = self._find()
        except UserError:  # the first error says more
            return False
        if found.label == self.endpoint.label:
            return False
        self.close()
        self.connect_to(found)
        return True
