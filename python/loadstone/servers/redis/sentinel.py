"""A primary of the user's that Sentinels watch: which server that is by now, and its control after a failover.

It is never started or stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.run_folder.ledger import ServerIdentity
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import BadReply, ServerGone, ServerRefused, UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.redirect_targets import NodeAddress, require_address, require_few, require_plausible
from loadstone.servers.redis.replicas import (
    ReadFrom,
    replication,
    require_as_many,
    require_following,
    require_replicas,
    with_readers,
)
from loadstone.servers.redis.requirements import inspect_server
from loadstone.servers.redis.session import LoginRefused, RedisSession
from loadstone.servers.redis.settings import READ_BACK
from loadstone.servers.redis.url import SentinelAddress
from loadstone.servers.redis.users_process import local_pid, local_pids, parts_of
from loadstone.servers.server import DeployContext, Module, ServerFacts
from loadstone.servers.transport import remark_on_exposure
from loadstone.servers.users_server import UsersServer
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

TIMEOUT_S = 2.0


@dataclass(frozen=True)
class SentinelReply:
    """What one Sentinel says of a primary."""

    primary: NodeAddress
    replicas: tuple[NodeAddress, ...]
    in_sync: tuple[NodeAddress, ...]
    """Those of them that answer, and follow the primary."""


def ask(watched: SentinelAddress) -> SentinelReply:
    """What the first Sentinel says that answers and knows the primary.

    Raises:
        UserError: none does; one line with what each of them says, and the remedy.
    """
    failures: list[str] = []
    for sentinel in watched.sentinels:
        try:
            with RedisSession(sentinel, TIMEOUT_S) as session:
                return _answer(session, watched)
        except ServerGone as gone:
            failures.append(_failure(gone))
    raise UserError(
        "{sentinels}: no Sentinel answers as one ({failures}); {remedy}",
        sentinels=watched.label,
        failures="; ".join(failures),
        remedy=_remedy(failures),
    )


def _answer(session: RedisSession, watched: SentinelAddress) -> SentinelReply:
    where, name = session.endpoint.label, watched.name
    reply = session.call(b"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    if reply is None:
        with read_as(where, "SENTINEL MASTERS", said("the primaries that it watches")):
            known = [shortened(_fields(primary)["name"], 40) for primary in session.call(b"SENTINEL", "MASTERS")]
        raise UserError(
            "Sentinel {where}: it watches no '{name}'; it knows {known}: write one of these behind the address",
            where=where,
            name=name,
            known=", ".join(known) or "none",
        )
    with read_as(where, "SENTINEL GET-MASTER-ADDR-BY-NAME", said("a host and a port")):
        primary = _address(*reply)
    _require_plausible(session, watched, primary)
    with read_as(where, "SENTINEL REPLICAS", said("the replicas of the primary")):
        reply = session.call(b"SENTINEL", "REPLICAS", name)
        require_few(where, "replicas", len(reply))
        described = [_fields(replica) for replica in reply]
        replicas = tuple(_address(fields["ip"], fields["port"]) for fields in described)
        in_sync = tuple(address for address, fields in zip(replicas, described, strict=True) if _is_in_sync(fields))
    for replica in replicas:
        _require_plausible(session, watched, replica)
    return SentinelReply(primary, replicas, in_sync)


def _is_in_sync(described: Mapping[str, str]) -> bool:
    return described.get("flags") == "slave" and described.get("master-link-status") == "ok"


def _require_plausible(session: RedisSession, watched: SentinelAddress, address: NodeAddress) -> None:
    what, setting = said("a server of '{name}'", name=watched.name), "replica-announce-ip"
    require_plausible(session.endpoint, *address, what, setting, watched.allowed)


def _address(host: bytes | str, port: bytes | str) -> NodeAddress:
    address = _text(host), int(port)
    require_address(*address)
    return address


def _fields(reply: Sequence[Any]) -> dict[str, str]:
    """Names and values in turn."""
    texts = [_text(value) for value in reply]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _failure(gone: ServerGone) -> str:
    return shortened(str(gone).removeprefix("server ").partition("; it no longer")[0], 200)


def _remedy(failures: Sequence[str]) -> AnyText:
    if any("auth" in failure.lower() or "WRONGPASS" in failure for failure in failures):
        return said("Sentinels have a login of their own: ?sentinel_password_env=VARIABLE (and &sentinel_user=NAME)")
    return said("check the addresses; a Sentinel usually listens on port 26379")


class SentinelControl(RedisControl):
    """See `RedisControl`. A command that finds no primary is sent once more to the one that Sentinel names by now."""

    def __init__(
        self, watched: SentinelAddress, find: Callable[[], Endpoint], endpoint: Endpoint, timeout_s: float
    ) -> None:
        """`find`: where the primary is by now; raises LoadstoneError."""
        super().__init__(endpoint, timeout_s)
        self._watched = watched
        self._find = find

    def place(self, server: str) -> ServerIdentity:
        """See `RedisControl.place`."""
        return self._watched.place(server)

    def copies(self, server: str) -> None:
        """None that are noted: a Sentinel says which server is the primary."""

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
        if not _may_have_moved(gone):
            return False
        try:
            primary = self._find()
        except UserError:  # the first error says more
            return False
        if primary.label == self.endpoint.label:
            return False
        self.close()
        self.connect_to(primary)
        return True


def _may_have_moved(gone: ServerGone) -> bool:
    """Whether an error may mean that another server is the primary by now."""
    if isinstance(gone, ServerRefused):
        return gone.code in ("READONLY", "LOADING")
    return not isinstance(gone, BadReply | LoginRefused)


class UsersPrimary(UsersServer):
    """See `provider.ManyEndpoints`.

    Primary and replicas are those that Sentinel names when the run begins; no other address is connected to later.
    """

    def __init__(
        self, name: str, watched: SentinelAddress, modules: Sequence[Module], read_from: ReadFrom = "primary"
    ) -> None:
        super().__init__(name, ServerFacts(software="redis", version="", mode="", role=""))
        self._watched = watched
        self._modules = modules
        self._read_from: ReadFrom = read_from
        self._known: tuple[NodeAddress, ...] = ()
        self._in_sync: tuple[NodeAddress, ...] = ()
        self._primary: Endpoint | None = None
        self._inspected = ""
        self._readers: int | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The primary, those that may take over, and the Sentinels."""
        primary = self._known_primary()
        others = [address for address in self._known if address != (primary.host, primary.port)]
        read = [address for address in others if address in self._in_sync and self._read_from != "primary"]
        readers = [self._at(address, standby=True, replica_of=0) for address in read]
        standbys = [self._at(address, standby=True) for address in others if address not in read]
        return (*with_readers([primary, *readers], self._read_from), *standbys, *self._watched.sentinels)

    def _at(self, address: NodeAddress, **fields: Any) -> Endpoint:
        host, port = address
        return self._watched.login.model_copy(update={"host": host, "port": port, **fields})

    @property
    def _replicas(self) -> list[Endpoint]:
        """Those that are read from."""
        return [endpoint for endpoint in self.endpoints if endpoint.replica_of is not None]

    def control(self, timeout_s: float = 5.0) -> SentinelControl:
        """Queries whichever server is the primary; see `provider.Server.control`. Raises UserError: none is known."""
        return SentinelControl(self._watched, self._find, self._known_primary(), timeout_s).reading_from(self._replicas)

    def _inspect(self, context: DeployContext) -> Endpoint:
        """Ask Sentinel for the primary, and that whether it can be loaded."""
        context.progress(_("connecting to {name} ({address})", name=self.name, address=self._watched.label))
        primary = self._find()
        remark_on_exposure(context, self.name, primary)
        self.facts = inspect_server(primary, self._modules)
        if not self._inspected:  # later on a replica may have become the primary
            require_replicas(self._watched.label, self.endpoints, self._read_from)
        self._readers = require_as_many(self._watched.label, self.endpoints, self._readers)
        self._require_reached(primary)
        with self.control() as control:
            self.settings_read_back = control.config_get(READ_BACK)
        pids = [local_pid(primary, self.facts.process_id), *local_pids(self._replicas)]
        self._inspected = primary.label
        self.pids = parts_of(self.name, pids)
        return primary

    def _require_reached(self, primary: Endpoint) -> None:
        """Who is read from answers, and follows the primary. Raises UserError."""
        if self._replicas:
            data_set = replication(primary).get("master_replid")
            for replica in self._replicas:
                require_following(primary, replica, data_set)

    def _answers(self) -> bool:
        """The primary that was inspected last still is it; else `restart` inspects the new one."""
        if self._find().label != self._inspected:
            return False
        require_as_many(self._watched.label, self.endpoints, self._readers)
        return super()._answers()

    def _known_primary(self) -> Endpoint:
        return self._primary or self._find()

    def _find(self) -> Endpoint:
        """Where the primary is by now. Raises UserError."""
        answer = ask(self._watched)
        self._known = self._known or (answer.primary, *answer.replicas)
        self._in_sync = answer.in_sync
        if answer.primary not in self._known:
            host, port = answer.primary
            raise UserError(
                "server {name} ({watched_label}): the primary is {host}:{port}, which was not there when the run "
                "began and is not connected to; begin again",
                name=self.name,
                watched_label=self._watched.label,
                host=host,
                port=port,
            )
        self._primary = self._at(answer.primary)
        return self._primary
