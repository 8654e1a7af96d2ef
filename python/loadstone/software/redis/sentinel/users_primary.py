"""A primary of the user's that Sentinels watch, by their addresses. It is never started or stopped."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.bounds.conversation import LOOK, OPENING, within
from loadstone.deploy.provider import DeployContext, Module, ServerFacts
from loadstone.deploy.transport import remark_on_exposure
from loadstone.deploy.users_parts import PING_TIMEOUT_S, answering_again
from loadstone.errors import ServerGone, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.cluster.announced import Address
from loadstone.software.redis.reads.following import replication, require_following
from loadstone.software.redis.reads.read_from import ReadFrom, require_as_many, require_replicas, with_readers
from loadstone.software.redis.requirements import READ_BACK, inspect_server
from loadstone.software.redis.sentinel.sentinel_control import SentinelControl
from loadstone.software.redis.sentinel.sentinel_question import ask, at
from loadstone.software.redis.sentinel.sentinel_url import Watched
from loadstone.software.redis.users_process import local_pid, local_pids, parts_of


class UsersPrimary:
    """See `provider.Server` and `provider.ManyEndpoints`.

    Primary and replicas are those that Sentinel names when the run begins; no other address is connected to later.
    """

    ours = False

    def __init__(self, name: str, watched: Watched, modules: Sequence[Module], read_from: ReadFrom = "primary") -> None:
        self.name = name
        self.facts = ServerFacts(software="redis", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
        self._watched = watched
        self._modules = modules
        self._read_from: ReadFrom = read_from
        self._known: tuple[Address, ...] = ()
        self._in_sync: tuple[Address, ...] = ()
        self._primary: Endpoint | None = None
        self._inspected = ""
        self._readers: int | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The primary, those that may take over, and the Sentinels."""
        primary = self._found()
        others = [one for one in self._known if one != (primary.host, primary.port)]
        read = [one for one in others if one in self._in_sync and self._read_from != "primary"]
        readers = [self._at(one, standby=True, replica_of=0) for one in read]
        standbys = [self._at(one, standby=True) for one in others if one not in read]
        return (*with_readers([primary, *readers], self._read_from), *standbys, *self._watched.sentinels)

    def _at(self, address: Address, **fields: Any) -> Endpoint:
        return at(self._watched.login, address).model_copy(update=fields)

    @property
    def _replicas(self) -> list[Endpoint]:
        """Those that are read from."""
        return [endpoint for endpoint in self.endpoints if endpoint.replica_of is not None]

    def control(self, timeout_s: float = 5.0) -> SentinelControl:
        """Queries whichever server is the primary; see `provider.Server.control`. Raises UserError: none is known."""
        return SentinelControl(self._watched, self._find, self._found(), timeout_s).reading_from(self._replicas)

    @within(OPENING)
    def start(self, context: DeployContext) -> Endpoint:
        """Ask Sentinel for the primary, and that whether it can be loaded; see `provider.Server.start`."""
        context.progress(f"connecting to {self.name} ({self._watched.label})")
        primary = self._find()
        remark_on_exposure(context, self.name, primary)
        self.facts = inspect_server(primary, self._modules)
        if not self._inspected:  # later on a replica may have become the primary
            require_replicas(self._watched.label, self.endpoints, self._read_from)
        self._readers = require_as_many(self._watched.label, self.endpoints, self._readers)
        self._require_reached(primary)
        try:
            with self.control() as control:
                self.settings_read_back = control.config_get(READ_BACK)
            pids = [local_pid(primary, self.facts.process_id), *local_pids(self._replicas)]
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        self._inspected = primary.label
        self.pids = parts_of(self.name, pids)
        return primary

    def _require_reached(self, primary: Endpoint) -> None:
        """Who is read from answers, and follows the primary. Raises UserError."""
        if self._replicas:
            data_set = replication(primary).get("master_replid")
            for replica in self._replicas:
                require_following(primary, replica, data_set)

    def restart(self) -> Endpoint:
        """Go on if the primary answers again. Raises ServerGone: it does not."""
        return answering_again(self.start)

    @within(LOOK)
    def alive(self) -> bool:
        """Whether the primary that was inspected last still is it, and answers; else `restart` inspects the new one."""
        try:
            if self._find().label != self._inspected:
                return False
            require_as_many(self._watched.label, self.endpoints, self._readers)
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except (ServerGone, UserError):
            return False
        return True

    def stop(self) -> None:
        """Nothing: the server is the user's."""

    def _found(self) -> Endpoint:
        return self._primary or self._find()

    def _find(self) -> Endpoint:
        """Where the primary is by now. Raises UserError."""
        answer = ask(self._watched)
        self._known = self._known or (answer.primary, *answer.replicas)
        self._in_sync = answer.in_sync
        if answer.primary not in self._known:
            host, port = answer.primary
            raise UserError(
                f"server {self.name} ({self._watched.label}): the primary is {host}:{port}, which was not there when "
                "the run began and is not connected to; begin again"
            )
        self._primary = at(self._watched.login, answer.primary)
        return self._primary
