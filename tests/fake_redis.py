"""A Redis in a dictionary, behind the real seams of a server and of its control."""

import fnmatch
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import ServerGone, ServerRefused, UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext, ServerFacts

NO_PID = 5_000_000
"""More than any process id of Linux: nothing is ever found there, and nothing is sent to it."""
_PORTS = itertools.count(10_000)
_STARTS = itertools.count(1)


def numbered(prefix: str, number: int) -> str:
    """The key of a plan with this number, as the engine names it."""
    return f"{prefix}{number:012d}"


@dataclass
class Store:
    """What one start of a server holds and counts, and whether it answers."""

    config: dict[str, str]
    events: list[str]
    """What was sent to it, in order: the names of the commands."""
    run_id: str = field(default_factory=lambda: f"{next(_STARTS):040x}")
    uptime_s: int = 0
    keys: dict[str, Any] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    info: dict[str, Any] = field(default_factory=dict)
    """What INFO says beside the rest."""
    up: bool = True

    def answer(self, label: str, command: Sequence[Any]) -> Any:
        """The reply to one command as redis-py parses it. Raises ServerGone."""
        if not self.up:
            raise ServerGone.of(
                f"server {label}: Connection refused; it no longer answers; its own log may give the reason"
            )
        name, *arguments = [one if isinstance(one, str | bytes) else str(one) for one in command]
        name = str(name).upper()
        self.events.append(name)
        self.calls[name.lower().replace(" ", "|")] += 1
        try:
            return _COMMANDS[name](self, *arguments)
        except KeyError:
            error = redis.ResponseError(f"unknown command '{name}'")
        except TypeError:
            error = redis.ResponseError(f"wrong number of arguments, or wrong kind of value, for '{name}'")
        raise ServerRefused.of(f"server {label}: {error}") from error

    def _info(self, *sections: str) -> dict[str, Any]:
        commands = {f"cmdstat_{name}": {"calls": number, "usec": number} for name, number in self.calls.items()}
        if sections == ("commandstats",):
            return commands
        spaces = {"db0": {"keys": len(self.keys), "expires": 0}} if self.keys else {}
        memory = {"used_memory": 1_000_000, "maxmemory": int(self.config["maxmemory"]), "evicted_keys": 0}
        own = {"run_id": self.run_id, "uptime_in_seconds": self.uptime_s, "connected_clients": 3}
        policy = {"maxmemory_policy": self.config["maxmemory-policy"]}
        return {**own, **memory, **policy, **commands, **spaces, **self.info}

    def _config(self, pattern: str) -> dict[str, str]:
        return {name: value for name, value in self.config.items() if fnmatch.fnmatchcase(name, pattern)}

    def _unlink(self, *keys: str) -> int:
        return sum(self.keys.pop(key if isinstance(key, str) else key.decode(), None) is not None for key in keys)

    def _scan(self, _: str, *options: Any) -> tuple[str, list[bytes]]:
        pattern = str(options[options.index("MATCH") + 1]) if "MATCH" in options else "*"
        return "0", [key.encode() for key in list(self.keys) if fnmatch.fnmatchcase(key, pattern)]

    def _of(self, kind: type, key: str) -> Any:
        """The value of a key, which must be of this kind. Raises TypeError."""
        value = self.keys.get(key, kind())
        if not isinstance(value, kind):
            raise TypeError(key)
        return value

    def _get(self, key: str) -> bytes | None:
        return str(self._of(str, key)).encode() if key in self.keys else None

    def _add(self, kind: type, key: str, *values: str) -> int:
        self.keys[key] = [*self._of(list, key), *values] if kind is list else self._of(set, key) | set(values)
        return len(self.keys[key])


_COMMANDS: dict[str, Callable[..., Any]] = {
    "PING": lambda store: True,  # noqa: ARG005 (of one signature)
    "INFO": Store._info,
    "CONFIG GET": Store._config,
    "CLIENT LIST": lambda store: [],  # noqa: ARG005
    "SLOWLOG LEN": lambda store: 0,  # noqa: ARG005
    "LATENCY LATEST": lambda store: [],  # noqa: ARG005
    "DBSIZE": lambda store: len(store.keys),
    "UNLINK": Store._unlink,
    "SCAN": Store._scan,
    "EXISTS": lambda store, *keys: sum(key in store.keys for key in keys),
    "GET": Store._get,
    "SET": lambda store, key, value: store.keys.update({key: value}),
    "SADD": lambda store, key, *values: store._add(set, key, *values),
    "SCARD": lambda store, key: len(store._of(set, key)),
    "RPUSH": lambda store, key, *values: store._add(list, key, *values),
    "LLEN": lambda store, key: len(store._of(list, key)),
}


class FakeControl(RedisControl):
    """The real control without its connection: every command goes to the store."""

    def __init__(self, server: "FakeServer", endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._server = server

    def call(self, *command: Any) -> Any:
        return self._server.store.answer(self.endpoint.label, command)

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        return [self.call(*command) for command in commands]


class FakeServer:
    """A server of loadstone's own, or of the user's. `lose` and `end` are what the outside does to it."""

    settings_read_back: Mapping[str, str] = {"maxmemory-policy": "noeviction"}

    def __init__(self, name: str, *, ours: bool = True, settings: Mapping[str, str] | None = None) -> None:
        self.name, self.ours = name, ours
        self.events: list[str] = []
        self.oom_killed = 0
        self.ending = ""
        self.contexts: list[DeployContext] = []
        """What it was started with."""
        self.starts_again = True
        """Whether it comes back when it is restarted."""
        self._config = {"maxmemory": "0", "maxmemory-policy": "noeviction", "loglevel": "notice", "appendonly": "no"}
        self._config |= dict(settings or {})
        self.store = Store(self._config, self.events, up=False)
        self._endpoint = Endpoint(port=next(_PORTS))
        self._pid: int | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        return {self.name: self._pid} if self._pid is not None and self.store.up else {}

    @property
    def facts(self) -> ServerFacts:
        return ServerFacts("redis", "8.2.0", "standalone", "master", process_id=self._pid)

    def control(self, timeout_s: float = 5.0) -> FakeControl:  # noqa: ARG002 (the seam's signature)
        return FakeControl(self, self._endpoint)

    def start(self, context: DeployContext) -> Endpoint:
        self.contexts.append(context)
        if not self.ours and self.store.up:
            self.events.append("found")
            return self._endpoint
        return self._begin("start")

    def restart(self) -> Endpoint:
        if not self.ours and not self.store.up:
            raise ServerGone.of(f"server {self.name}: it does not answer any more")
        if not self.starts_again:
            raise UserError.of(f"server {self.name}: it does not start: no room for its log")
        return self._begin("restart")

    def _begin(self, how: str) -> Endpoint:
        kept = self.store.keys
        self.store = Store(self._config, self.events, keys=kept, uptime_s=1000 if how == "start" else 0)
        self._pid = NO_PID + next(_STARTS)
        self.events.append(how)
        return self._endpoint

    def alive(self) -> bool:
        return self.store.up

    def stop(self) -> None:
        if self.ours:
            self.store.up = False
        self.events.append("stop")

    def oom_kills(self) -> int | None:
        return self.oom_killed

    def how_it_ended(self) -> str:
        return self.ending

    def end(self, how: str = "", *, oom: bool = False) -> None:
        """It dies from outside; `oom`: by the kernel's OOM killer."""
        self.store.up = False
        self.ending = how
        self.oom_killed += oom

    def come_back(self) -> None:
        """Somebody else starts it again: it is another one, with what it kept."""
        self._begin("come back")
