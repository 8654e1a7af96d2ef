"""What every kind of server software declares of itself: pure data, so that every stage may use it.

`SOFTWARE` collects the declarations. What a software does stands in its room, and is reached by the `room.py` of that
(see `servers.software_room`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loadstone.text.message import AnyText, said

_OFF = ("", "no", "false")
"""How a setting is written that is off."""


@dataclass(frozen=True)
class Software:
    """One kind of server software."""

    name: str
    """Name of its room in `servers/`, and as records have it: `redis`."""
    title: str
    """For people: `Redis`."""
    kinds: tuple[str, ...]
    """What `servers.NAME.kind` may say for it, but for `container`, which runs several kinds of software."""
    url_kind: str
    """The one of `kinds` that is a server of the user's, by its URL: never started, stopped or killed."""
    schemes: tuple[str, ...]
    """What its URLs begin with."""
    url_form: str
    """How a URL of it is written."""
    rows: Literal["commands", "table"]
    """How rows of `data` go in: by commands for each row, or into a table."""
    counts_by: tuple[str, ...]
    """The first words of what may count what is stored, in capitals; none: the rows of a table are counted."""
    how_to_count: AnyText
    """What to write where something else was written as a count."""
    protocols: tuple[str, ...] = ()
    """The wire protocols of the load that it takes, of `experiment.plan.protocols.PROTOCOLS`; none: it is no target of
    a load."""
    of_redis: bool = False
    """Whether it is a Redis, or works as one: the checks of forks, slow log and MONITOR apply."""
    has_counters: bool = False
    """Whether a trial's record keeps its own counters of before and after the drive."""
    in_container: bool = False
    """Whether kind `container` runs it."""
    starts_at_once: tuple[str, ...] = ()
    """Those of `kinds` of which a start takes some tenths of a second and finds nothing of the one before."""
    in_memory: bool = False
    """Whether it leaves the disk alone where its settings say nothing; else it goes on writing after it answered."""
    writes_by: tuple[str, ...] = ()
    """The settings by which one in memory writes to the disk, in small letters; not where they are no or empty."""
    quick: frozenset[str] = frozenset()
    """Commands, in capitals, that take no longer than a round trip and their document: on one key, which they neither
    wait for nor look through."""
    tls_schemes: tuple[str, ...] = ()
    """Those of `schemes` that stand for TLS."""
    article: str = "a"
    programs: tuple[str, ...] = ()
    """The names of its servers' processes, by which one is known that stands behind a service."""

    @property
    def takes_load(self) -> bool:
        """Whether it may be the target of a load, and then holds the keys of the plan."""
        return bool(self.protocols)

    def writes_on(self, settings: Mapping[str, object]) -> bool:
        """Whether one of ours with these settings goes on writing to the disk after it answered."""
        if not self.in_memory:
            return True
        written = {name.lower(): str(value).strip("\"'").lower() for name, value in settings.items()}
        return any(written.get(name, "") not in _OFF for name in self.writes_by)

    @property
    def one(self) -> str:
        """With its article: `a Redis`."""
        return f"{self.article} {self.title}"


_NAME_A_TABLE = said("name the table whose rows are counted: {{table: NAME}}")

MARIADB = Software(
    name="mariadb",
    title="MariaDB",
    kinds=("mariadb", "mariadb-url"),
    url_kind="mariadb-url",
    schemes=("mariadb", "mysql"),
    url_form="mariadb://USER:PASSWORD@HOST:PORT/DATABASE",
    rows="table",
    counts_by=(),
    how_to_count=_NAME_A_TABLE,
    in_container=True,
    programs=("mariadbd", "mysqld"),
)


MEMCACHED_COUNTING = ("STATS", "MG")
"""What may count what is stored: a figure of `stats`, or a key that holds a number."""

MEMCACHED = Software(
    name="memcached",
    title="memcached",
    kinds=("memcached", "memcached-url"),
    url_kind="memcached-url",
    schemes=("memcached",),
    url_form="memcached://HOST:PORT",
    rows="commands",
    counts_by=MEMCACHED_COUNTING,
    how_to_count="write 'stats curr_items', or 'mg KEY v' of a key that holds a number",
    protocols=("memcached",),
    has_counters=True,
    starts_at_once=("memcached",),
    programs=("memcached",),
    quick=frozenset({"MG", "MS", "MD", "MA"}),
    in_memory=True,
)


POSTGRESQL = Software(
    name="postgresql",
    title="PostgreSQL",
    kinds=("postgresql", "postgresql-url"),
    url_kind="postgresql-url",
    schemes=("postgresql", "postgres"),
    url_form="postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
    rows="table",
    counts_by=(),
    how_to_count=_NAME_A_TABLE,
    programs=("postgres",),
)


REDIS_COUNTING = ("DBSIZE", "EXISTS", "GET", "HLEN", "LLEN", "SCARD", "STRLEN", "XLEN", "ZCARD")
"""Commands that may count what is stored: they read, and answer one number."""

_QUICK_REDIS_COMMANDS = frozenset(
    {
        *("APPEND", "DECR", "DECRBY", "EXISTS", "EXPIRE", "GET", "GETDEL", "GETEX", "GETRANGE", "GETSET", "HEXISTS"),
        *("HGET", "HINCRBY", "HMGET", "HSET", "INCR", "INCRBY", "JSON.GET", "JSON.NUMINCRBY", "JSON.SET", "LINDEX"),
        *("LPOP", "LPUSH", "PFADD", "PING", "RPOP", "RPUSH", "SADD", "SET", "SETEX", "SETNX", "SETRANGE", "SISMEMBER"),
        *("SPOP", "SREM", "STRLEN", "TTL", "ZADD", "ZINCRBY", "ZPOPMIN", "ZSCORE"),
    }
)
REDIS = Software(
    name="redis",
    title="Redis",
    kinds=("embedded", "process", "cluster", "url", "replicated", "valkey"),
    url_kind="url",
    schemes=("redis", "rediss", "unix", "valkey", "valkeys", "redis+sentinel", "rediss+sentinel"),
    tls_schemes=("rediss", "valkeys", "rediss+sentinel"),
    url_form="redis://HOST:PORT",
    rows="commands",
    counts_by=REDIS_COUNTING,
    how_to_count=said("begin it with one of: {known}", known=", ".join(REDIS_COUNTING)),
    protocols=("resp2", "resp3"),
    of_redis=True,
    has_counters=True,
    in_container=True,
    starts_at_once=("embedded", "valkey", "process"),
    in_memory=True,
    writes_by=("appendonly", "save"),
    programs=("redis-server", "valkey-server", "keydb-server"),
    quick=_QUICK_REDIS_COMMANDS,
)


SOFTWARE: Mapping[str, Software] = {software.name: software for software in (REDIS, MARIADB, POSTGRESQL, MEMCACHED)}
"""Every server software by its name; what settings do not say otherwise is the first."""


def in_containers() -> tuple[str, ...]:
    """The software, by its names, that kind `container` runs."""
    return tuple(software.name for software in SOFTWARE.values() if software.in_container)


def software_of(settings: Mapping[str, Any]) -> Software:
    """The software of a server, by its settings in an experiment; the first one where they do not say."""
    named = SOFTWARE.get(str(settings.get("software", "")))
    if named is not None:
        return named
    return next((software for software in SOFTWARE.values() if settings.get("kind") in software.kinds), _first())


def is_users(settings: Mapping[str, Any]) -> bool:
    """Whether a server with these settings is the user's, and so never killed."""
    return any(settings.get("kind") == software.url_kind for software in SOFTWARE.values())


def software_by_url(url: str) -> Software:
    """The software that a URL is of, by its scheme; the first one where no software has that."""
    scheme = url.partition("://")[0]
    return next((software for software in SOFTWARE.values() if scheme in software.schemes), _first())


def software_by_program(program: str) -> Software | None:
    """The software whose server a process is, by its name; None: of none."""
    return next((software for software in SOFTWARE.values() if program in software.programs), None)


def with_tables() -> tuple[Software, ...]:
    """Every software that keeps rows in tables."""
    return tuple(software for software in SOFTWARE.values() if software.rows == "table")


def _first() -> Software:
    return next(iter(SOFTWARE.values()))
