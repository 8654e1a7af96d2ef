"""Whether a server can serve an experiment: queried once before the first trial, answered in one line."""

import secrets
from collections.abc import Collection, Mapping
from typing import Any

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.safety.bounds.deadlines import bound_that_ended
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import BadReply, ServerGone, UserError
from loadstone.servers.redis.memory import full
from loadstone.servers.redis.probe import probe
from loadstone.servers.redis.session import LoginRefused, RedisSession
from loadstone.servers.server import ServerFacts
from loadstone.text.message import AnyText, said

PROCESS_ID_END = 2**31
NODE_OF_A_CLUSTER = said(
    "this server is one node of a Redis Cluster; add --cluster, or ?cluster=yes to the URL, to load every node"
)
JSON_REMEDY = said(
    "run Redis 8 or Redis Stack, or start it with --loadmodule /path/to/rejson.so, "
    "or use the embedded server (kind: embedded)"
)


def inspect_server(
    endpoint: Endpoint, modules: Collection[str] = (), timeout_s: float = 5.0, *, ours: bool = False
) -> ServerFacts:
    """What the server at `endpoint` is, once it is sure that it can be loaded.

    Writes and removes one key under our prefix, unless that would evict a key of others; `ours`: there are none.

    Raises:
        UserError: it cannot be loaded; one line with the server's message and the remedy.
    """
    probe(endpoint)
    with RedisSession(endpoint, timeout_s) as control:
        return ask(control, modules, ours=ours)


def ask(control: RedisSession, modules: Collection[str] = (), *, ours: bool = False) -> ServerFacts:
    """What the server behind `control` is; see `inspect_server`."""
    try:
        control.ping()
        with read_as(control.endpoint.label, "INFO", said("what a Redis says of itself")):
            info = control.info()
            facts = _facts(info)
        if not ours:
            _require_place(control, info)
        _require_writable(control)
        if "json" in modules:
            _require_json(control)
    except BadReply as bad:
        raise UserError.of(str(bad)) from None
    except ServerGone as gone:
        raise UserError.of(explain(control, gone)) from None
    return facts


def _require_place(control: RedisSession, info: Mapping[str, Any]) -> None:
    """Returns if a write evicts no key of others. A read-only replica refuses writes by itself."""
    if str(info.get("slave_read_only", "0")) == "1":
        return
    problem = full(control, info)
    if problem:
        raise UserError("server {address}: {why}", address=control.endpoint.label, why=problem)


def _require_writable(control: RedisSession) -> None:
    key = f"{OUR_PREFIX}probe:{secrets.token_hex(8)}"
    control.call("SET", key, "", "PX", 10_000)
    control.call("UNLINK", key)


def _require_json(control: RedisSession) -> None:
    try:
        control.call("JSON.GET", f"{OUR_PREFIX}probe:json")
    except ServerGone as gone:
        if "unknown command" in str(gone).lower():
            raise UserError(
                "server {endpoint_label}: it has no JSON ({gone}); {json_remedy}",
                endpoint_label=control.endpoint.label,
                gone=_said(gone),
                json_remedy=JSON_REMEDY,
            ) from None
        raise


def _said(gone: ServerGone) -> str:
    """The server's own message, shortened."""
    return shortened((gone.said or str(gone)).split(", with args")[0], 200)


def explain(control: RedisSession, gone: ServerGone) -> AnyText:
    """One line for a person: where, what the server said, what helps."""
    if bound_that_ended(gone) is not None:
        return gone.message
    endpoint, told = control.endpoint, _said(gone)
    code = told.split(" ")[0]
    low = told.lower()
    user = endpoint.username or "default"
    if code == "NOAUTH" or "authentication required" in low:
        text = said(
            "it requires a password ({told}); give it as redis://:PASSWORD@HOST or ?password_env=VARIABLE", told=told
        )
    elif "without any password configured" in low or "no password is set" in low:
        text = said("it has no password, and one was given ({told}); leave the password out", told=told)
    elif code == "WRONGPASS" or "invalid password" in low or isinstance(gone, LoginRefused):
        text = said(
            "it refuses the password of user '{user}' ({told}); check the name and the password", user=user, told=told
        )
    elif code == "NOPERM":
        grant = f"~{OUR_PREFIX}* +@all -@dangerous +info +config|get"
        text = said(
            "user '{user}' may not do what a run does ({told}); grant it {grant}", user=user, told=told, grant=grant
        )
    elif code == "LOADING":
        text = said("it is loading its data ({told}{more}); wait until it is done", told=told, more=_loading(control))
    elif code == "READONLY":
        text = said(
            "it is a read-only replica ({told}); give the address of its primary{more}",
            told=told,
            more=_primary(control),
        )
    elif code == "OOM":
        text = said(
            "its memory is full and nothing may be evicted ({told}){memory}; raise maxmemory, or free some",
            told=told,
            memory=_memory(control),
        )
    elif code == "MISCONF":
        text = said(
            "it refuses writes after a failed snapshot ({told}); see its own log, or free its disk",
            told=shortened(told, 120),
        )
    elif code in ("MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT"):
        text = said("{node_of_a_cluster} ({told})", node_of_a_cluster=NODE_OF_A_CLUSTER, told=told)
    elif code == "MASTERDOWN" or "noreplicas" in low:
        text = said("its replication is broken ({told}); repair it, or give another server", told=told)
    elif "unknown command" in low and "'set'" in low:
        text = said("it stores no keys ({told}), as a Sentinel does; give the address of the server itself", told=told)
    elif "db index" in low:
        text = said(
            "it has no database {database} ({told}); use another one; /0 always exists",
            database=endpoint.database,
            told=told,
        )
    else:
        text = said("it cannot be used ({told}); the log of the server itself may say why", told=told)
    return said("server {address}: {text}", address=endpoint.label, text=text)


def _tell(control: RedisSession, section: str) -> Mapping[str, Any]:
    """A section of INFO for an explanation; nothing if the server does not tell."""
    try:
        return control.info(section)
    except ServerGone:
        return {}


def _loading(control: RedisSession) -> AnyText:
    reported = _tell(control, "persistence")
    if "loading_loaded_perc" not in reported:
        return ""
    done, left = (shortened(str(reported.get(f"loading_{name}", "?")), 12) for name in ("loaded_perc", "eta_seconds"))
    return said(", {percent} % done, {left} s left", percent=done.partition(".")[0], left=left)


def _primary(control: RedisSession) -> str:
    reported = _tell(control, "replication")
    return f", {reported['master_host']}:{reported['master_port']}" if "master_host" in reported else ""


def _memory(control: RedisSession) -> AnyText:
    memory = _tell(control, "memory")
    if "maxmemory" not in memory:
        return ""
    return said(
        ", {used} of {maxmemory} bytes used, policy {policy}",
        used=memory.get("used_memory"),
        maxmemory=memory["maxmemory"],
        policy=memory.get("maxmemory_policy"),
    )


def _facts(info: Mapping[str, Any]) -> ServerFacts:
    modules = info.get("modules", [])
    software, version = _software(info)
    return ServerFacts(
        software=software,
        version=version,
        mode=str(info.get("redis_mode") or info.get("server_mode", "unknown")),
        role=str(info.get("role", "unknown")),
        modules={str(module["name"]): _dotted(module["ver"]) for module in modules},
        process_id=_process_id(info),
        details={
            name: str(info[name])
            for name in ("os", "arch_bits", "gcc_version", "mem_allocator", "multiplexing_api", "maxmemory", "run_id")
            if name in info
        },
    )


def _process_id(info: Mapping[str, Any]) -> int | None:
    """Its process, where it tells a number that one can have."""
    number = int(info.get("process_id") or 0)
    return number if 0 < number < PROCESS_ID_END else None


def _software(info: Mapping[str, Any]) -> tuple[str, str]:
    """What it is, and its own version: relatives report as `redis_version` that of the Redis they are compatible with.

    KeyDB has no version of its own in INFO; its program's name or the depth of its snapshots tell.
    """
    for name in ("valkey", "dragonfly"):
        if f"{name}_version" in info:
            return name, str(info[f"{name}_version"]).removeprefix("df-").removeprefix("v")
    is_keydb = "mvcc_depth" in info or str(info.get("executable", "")).endswith("keydb-server")
    name = "keydb" if is_keydb else str(info.get("server_name", "redis"))
    return name, str(info.get("redis_version", "unknown"))


def _dotted(version: object) -> str:
    """A module's version as people write it: 20803 is 2.8.3; small numbers stay."""
    number = int(str(version))
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}" if number >= 10_000 else str(number)
