"""What Sentinels say: where the primary is, and which replicas it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.bounds.replies import read_as, shortened
from loadstone.errors import BadReply, ServerGone, ServerRefused, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.cluster.announced import Address, require_address, require_few, require_plausible
from loadstone.software.redis.sentinel.sentinel_url import Watched
from loadstone.software.redis.session import LoginRefused, RedisSession

TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Answer:
    """Of one Sentinel."""

    primary: Address
    replicas: tuple[Address, ...]
    in_sync: tuple[Address, ...]
    """Those of them that answer, and follow the primary."""


def ask(watched: Watched) -> Answer:
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
    raise UserError(f"{watched.label}: no Sentinel answers as one ({'; '.join(failures)}); {_remedy(failures)}")


def _answer(session: RedisSession, watched: Watched) -> Answer:
    where, name = session.endpoint.label, watched.name
    reply = session.call(b"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    if reply is None:
        with read_as(where, "SENTINEL MASTERS", "the primaries that it watches"):
            known = [shortened(_fields(one)["name"], 40) for one in session.call(b"SENTINEL", "MASTERS")]
        raise UserError(
            f"Sentinel {where}: it watches no '{name}'; it knows {', '.join(known) or 'none'}: write one of these "
            "behind the address"
        )
    with read_as(where, "SENTINEL GET-MASTER-ADDR-BY-NAME", "a host and a port"):
        primary = _address(*reply)
    _require_plausible(session, watched, primary)
    with read_as(where, "SENTINEL REPLICAS", "the replicas of the primary"):
        reply = session.call(b"SENTINEL", "REPLICAS", name)
        require_few(where, "replicas", len(reply))
        described = [_fields(one) for one in reply]
        replicas = tuple(_address(one["ip"], one["port"]) for one in described)
        in_sync = tuple(address for address, one in zip(replicas, described, strict=True) if _is_in_sync(one))
    for replica in replicas:
        _require_plausible(session, watched, replica)
    return Answer(primary, replicas, in_sync)


def _is_in_sync(described: Mapping[str, str]) -> bool:
    return described.get("flags") == "slave" and described.get("master-link-status") == "ok"


def _require_plausible(session: RedisSession, watched: Watched, address: Address) -> None:
    what, setting = f"a server of '{watched.name}'", "replica-announce-ip"
    require_plausible(session.endpoint, *address, what, setting, watched.allowed)


def _address(host: bytes | str, port: bytes | str) -> Address:
    found = _text(host), int(port)
    require_address(*found)
    return found


def _fields(reply: Sequence[Any]) -> dict[str, str]:
    """Names and values in turn."""
    texts = [_text(one) for one in reply]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _failure(gone: ServerGone) -> str:
    return shortened(str(gone).removeprefix("server ").partition("; it no longer")[0], 200)


def _remedy(failures: Sequence[str]) -> str:
    if any("auth" in one.lower() or "WRONGPASS" in one for one in failures):
        return "Sentinels have a login of their own: ?sentinel_password_env=VARIABLE (and &sentinel_user=NAME)"
    return "check the addresses; a Sentinel usually listens on port 26379"


def is_gone(gone: ServerGone) -> bool:
    """Whether an error may mean that another server is the primary by now."""
    if isinstance(gone, ServerRefused):
        return gone.code == "READONLY"
    return not isinstance(gone, BadReply | LoginRefused)


def at(login: Endpoint, address: Address) -> Endpoint:
    """A server of these with its address."""
    host, port = address
    return login.model_copy(update={"host": host, "port": port})
