"""The commands that may be sent to a server of the user's, and where each has its keys.

Data commands of Redis 6 to 8, Valkey, KeyDB and Dragonfly, and of RedisJSON. What is in no table here is refused,
unless the server itself says what it is (`confine`). Tests hold each command's keys against those that a server finds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from loadstone.safety.bounds.replies import shortened, whole_number
from loadstone.servers.redis.commands.arguments import Argument
from loadstone.text.message import AnyText, said
from loadstone.text.problem import SaidError

Arguments = Sequence[Argument]
"""Arguments of a command, without its name."""
Keys = Callable[[Arguments], list[Argument]]
"""Where a command has its keys. Raises `Unclear`."""


class Unclear(SaidError):
    """Why a command's keys cannot be determined from what is written."""


def _placed(first: int, last: int, step: int, arguments: Arguments) -> list[Argument]:
    """Keys from the place `first` to `last`, counted from 1 as the server does; -1 is the last argument."""
    end = len(arguments) + last + 1 if last < 0 else last
    return list(arguments[first - 1 : end : step])


def _counted(place: int, before: int, arguments: Arguments) -> list[Argument]:
    """The first `before` arguments, and as many keys as the argument at `place` says, which stand behind it."""
    number = arguments[place - 1] if len(arguments) >= place else None
    count = whole_number(number.example) if number is not None and number.is_certain else None
    if count is None:
        written = "nothing" if number is None else f"'{shortened(number.written, 40)}'"
        raise Unclear("the number of its keys is {written}; write a whole number", written=written)
    return [*arguments[:before], *arguments[place : place + count]]


BEFORE_STREAMS = {"COUNT": 2, "BLOCK": 2, "CLAIM": 2, "GROUP": 3, "NOACK": 1}
"""Options of XREAD and XREADGROUP, in words with their values: a group may be called as an option is."""


def _streams(arguments: Arguments) -> list[Argument]:
    """XREAD and XREADGROUP: the first half of what stands behind STREAMS."""
    at = 0
    while at < len(arguments):
        word = arguments[at].example.upper()
        if not arguments[at].is_certain or word not in {*BEFORE_STREAMS, "STREAMS"}:
            raise Unclear("'{written}' is given where an option or STREAMS is expected", written=arguments[at].written)
        if word == "STREAMS":
            behind = arguments[at + 1 :]
            return list(behind[: (len(behind) + 1) // 2])
        at += BEFORE_STREAMS[word]
    raise Unclear("it has no STREAMS")


def _stored_radius(options: int, arguments: Arguments) -> list[Argument]:
    """GEORADIUS and GEORADIUSBYMEMBER: the first argument, and what stands behind STORE or STOREDIST."""
    keys = list(arguments[:1])
    for at in range(options, len(arguments)):
        if not arguments[at].may_be("STORE") and not arguments[at].may_be("STOREDIST"):
            continue
        if not arguments[at].is_certain:
            raise Unclear(
                "'{written}' may become STORE; write a text without placeholders", written=arguments[at].written
            )
        keys += arguments[at + 1 : at + 2]
    return keys


def _copied(arguments: Arguments) -> list[Argument]:
    """COPY: two keys, of this database alone."""
    for option in arguments[2:]:
        if option.may_be("DB"):
            raise Unclear(
                "'{written}' names another database, which loadstone does not use; leave it out", written=option.written
            )
    return list(arguments[:2])


def _names(text: str) -> list[str]:
    return text.split()


def _all(names: str, keys: Keys) -> Mapping[str, Keys]:
    return dict.fromkeys(_names(names), keys)


_FIRST = partial(_placed, 1, 1, 1)
_TWO = partial(_placed, 1, 2, 1)
_EVERY = partial(_placed, 1, -1, 1)
_BUT_LAST = partial(_placed, 1, -2, 1)

DATA: Mapping[str, Keys] = {
    **_all(
        "APPEND BITCOUNT BITFIELD BITFIELD_RO BITPOS DECR DECRBY GET GETBIT GETDEL GETEX GETRANGE GETSET INCR INCRBY "
        "INCRBYFLOAT PSETEX SET SETBIT SETEX SETNX SETRANGE STRLEN SUBSTR",
        _FIRST,
    ),
    **_all(
        "DUMP EXPIRE EXPIREAT EXPIRETIME PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PTTL TTL TYPE PFADD "
        "GEOADD GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH",
        _FIRST,
    ),
    **_all(
        "HDEL HEXISTS HEXPIRE HEXPIREAT HEXPIRETIME HGET HGETALL HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET "
        "HMSET HPERSIST HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN HTTL HVALS",
        _FIRST,
    ),
    **_all(
        "LINDEX LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM RPOP RPUSH RPUSHX "
        "SADD SCARD SISMEMBER SMEMBERS SMISMEMBER SPOP SRANDMEMBER SREM SSCAN",
        _FIRST,
    ),
    **_all(
        "ZADD ZCARD ZCOUNT ZINCRBY ZLEXCOUNT ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE "
        "ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE "
        "ZREVRANK ZSCAN ZSCORE",
        _FIRST,
    ),
    **_all(
        "XACK XACKDEL XADD XAUTOCLAIM XCLAIM XDEL XDELEX XLEN XPENDING XRANGE XREVRANGE XSETID XTRIM "
        "VADD VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VREM VSETATTR VSIM",
        _FIRST,
    ),
    **_all(
        "JSON.ARRAPPEND JSON.ARRINDEX JSON.ARRINSERT JSON.ARRLEN JSON.ARRPOP JSON.ARRTRIM JSON.CLEAR JSON.DEL "
        "JSON.FORGET JSON.GET JSON.MERGE JSON.NUMINCRBY JSON.NUMMULTBY JSON.NUMPOWBY JSON.OBJKEYS JSON.OBJLEN "
        "JSON.RESP JSON.SET JSON.STRAPPEND JSON.STRLEN JSON.TOGGLE JSON.TYPE",
        _FIRST,
    ),
    **_all("DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH", _EVERY),
    **_all("UNLINK WATCH", _EVERY),
    **_all("BLPOP BRPOP BZPOPMAX BZPOPMIN JSON.MGET", _BUT_LAST),
    **_all("MSET MSETNX", partial(_placed, 1, -1, 2)),
    "JSON.MSET": partial(_placed, 1, -1, 3),
    **_all("BLMOVE BRPOPLPUSH GEOSEARCHSTORE LCS LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE", _TWO),
    "COPY": _copied,
    "BITOP": partial(_placed, 2, -1, 1),
    **_all("LMPOP SINTERCARD ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION", partial(_counted, 1, 0)),
    **_all("BLMPOP BZMPOP", partial(_counted, 2, 0)),
    **_all("ZDIFFSTORE ZINTERSTORE ZUNIONSTORE", partial(_counted, 2, 1)),
    **_all("XREAD XREADGROUP", _streams),
    "GEORADIUS": partial(_stored_radius, 5),
    "GEORADIUSBYMEMBER": partial(_stored_radius, 4),
    **_all("PUBLISH SPUBLISH", _FIRST),  # the channel: who listens to others' channels hears nothing of ours
}
"""Commands that read and write the keys that they name, and no others."""


def placed(name: str, arguments: int) -> range | None:
    """The places of a command's keys among so many arguments, from 0 on; None where they depend on what these are."""
    keys = DATA[name]
    if not isinstance(keys, partial) or keys.func is not _placed:
        return None
    first, last, step = keys.args
    end = arguments + last + 1 if last < 0 else min(last, arguments)
    return range(first - 1, end, step)


READING = frozenset(
    _names(
        "BITCOUNT BITFIELD_RO BITPOS DUMP EXISTS EXPIRETIME GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO GEORADIUS_RO "
        "GEOSEARCH GET GETBIT GETRANGE HEXISTS HEXPIRETIME HGET HGETALL HKEYS HLEN HMGET HPEXPIRETIME HPTTL HRANDFIELD "
        "HSCAN HSTRLEN HTTL HVALS JSON.ARRINDEX JSON.ARRLEN JSON.GET JSON.MGET JSON.OBJKEYS JSON.OBJLEN JSON.RESP "
        "JSON.STRLEN JSON.TYPE LCS LINDEX LLEN LPOS LRANGE MGET PEXPIRETIME PTTL PUBLISH SCARD SDIFF SINTER SINTERCARD "
        "SISMEMBER SMEMBERS SMISMEMBER SPUBLISH SRANDMEMBER SSCAN STRLEN SUBSTR SUNION TOUCH TTL TYPE VCARD VDIM VEMB "
        "VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VSIM WATCH XLEN XPENDING XRANGE XREAD XREVRANGE ZCARD ZCOUNT "
        "ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE "
        "ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION JSON.DEBUG MEMORY OBJECT XINFO"
    )
)
"""Commands of `DATA` and `SUBCOMMANDS` that leave no key."""

SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "JSON.DEBUG": frozenset({"MEMORY"}),
    "MEMORY": frozenset({"USAGE"}),
    "OBJECT": frozenset({"ENCODING", "FREQ", "IDLETIME", "REFCOUNT"}),
    "XGROUP": frozenset({"CREATE", "CREATECONSUMER", "DELCONSUMER", "DESTROY", "SETID"}),
    "XINFO": frozenset({"CONSUMERS", "GROUPS", "STREAM"}),
}
"""Commands of several parts -> those parts that may be sent; their key stands behind the part."""

KEYLESS = frozenset({"DBSIZE", "DISCARD", "ECHO", "EXEC", "MULTI", "PING", "TIME", "UNWATCH", "WAIT", "WAITAOF"})
"""Commands without keys that change nothing but the state of their own connection."""

BLOCKING = frozenset(_names("BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN WAIT WAITAOF"))
"""Commands that may wait for what others do; so do XREAD and XREADGROUP with BLOCK."""

_SERVER = said("it acts on the whole server")
_OTHER_KEYS = said("it reaches keys that it does not name")
_SCRIPT = said("a script may reach any key")
_CONNECTION = said("it changes what the connection is, or to which database it writes")
_CHANNELS = said("it turns the connection into a listener")


def _because(names: str, reason: AnyText) -> Iterable[tuple[str, AnyText]]:
    return ((name, reason) for name in _names(names))


REFUSED: Mapping[str, AnyText] = dict(
    [
        *_because("ACL BGREWRITEAOF BGSAVE CLUSTER COMMAND CONFIG DEBUG FAILOVER FLUSHALL FLUSHDB INFO", _SERVER),
        *_because("LASTSAVE LATENCY LOLWUT MODULE MONITOR PFDEBUG PFSELFTEST PSYNC PUBSUB REPLCONF REPLICAOF", _SERVER),
        *_because("ROLE SAVE SHUTDOWN SLAVEOF SLOWLOG SWAPDB SYNC", _SERVER),
        *_because("KEYS MIGRATE MOVE RANDOMKEY RESTORE RESTORE-ASKING SCAN SORT SORT_RO", _OTHER_KEYS),
        *_because("EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO FUNCTION SCRIPT", _SCRIPT),
        *_because("ASKING AUTH CLIENT HELLO QUIT READONLY READWRITE RESET SELECT", _CONNECTION),
        *_because("PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE", _CHANNELS),
    ]
)
"""Commands that are never sent, and why, whatever a server says of them."""
STAYING = frozenset(
    {
        *DATA,
        *KEYLESS,
        *SUBCOMMANDS,
        *_names("BGREWRITEAOF BGSAVE COMMAND FLUSHALL FLUSHDB INFO LASTSAVE LATENCY LOLWUT MONITOR PUBSUB ROLE SAVE"),
        *_names("SLOWLOG SWAPDB KEYS MOVE RANDOMKEY SCAN SORT SORT_RO"),
        *_names("ASKING AUTH CLIENT HELLO QUIT READONLY READWRITE RESET SELECT"),
        *_names("PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE"),
    }
)
"""What a server of ours may be sent without a question: it works on the data, the connection and the server's own
figures. All others may reach files, modules, programs or other servers (scripts do by MIGRATE), and are asked about."""


def _of_module(module: str, names: str) -> list[str]:
    return [f"{module}.{name}" for name in _names(names)]


OTHERS = frozenset(
    [
        *_names("DELEX DIGEST HOTKEYS MSETEX VRANGE XCFGSET"),  # Redis 8.2 to 8.6
        *_names("CLUSTERSCAN COMMANDLOG DELIFEQ"),  # Valkey
        *_names("EXPIREMEMBER EXPIREMEMBERAT PEXPIREMEMBERAT FIELDEXPIRE FIELDTTL SADDEX STICK"),  # KeyDB, Dragonfly
        *_of_module("BF", "ADD CARD EXISTS INFO INSERT LOADCHUNK MADD MEXISTS RESERVE SCANDUMP"),
        *_of_module("CF", "ADD ADDNX COUNT DEL EXISTS INFO INSERT INSERTNX LOADCHUNK MEXISTS RESERVE SCANDUMP"),
        *_of_module("CMS", "INCRBY INFO INITBYDIM INITBYPROB MERGE QUERY"),
        *_of_module("TOPK", "ADD COUNT INCRBY INFO LIST QUERY RESERVE"),
        *_of_module("TDIGEST", "ADD BYRANK BYREVRANK CDF CREATE INFO MAX MERGE MIN QUANTILE RANK RESET REVRANK"),
        *_of_module("TDIGEST", "TRIMMED_MEAN"),
        *_of_module("TS", "ADD ALTER CREATE CREATERULE DECRBY DEL DELETERULE GET INCRBY INFO MADD MGET MRANGE"),
        *_of_module("TS", "MREVRANGE QUERYINDEX RANGE REVRANGE"),
        *_of_module("FT", "_LIST AGGREGATE ALIASADD ALIASDEL ALIASUPDATE ALTER CONFIG CREATE CURSOR DICTADD DICTDEL"),
        *_of_module("FT", "DICTDUMP DROPINDEX EXPLAIN EXPLAINCLI HYBRID INFO PROFILE SEARCH SPELLCHECK SUGADD SUGDEL"),
        *_of_module("FT", "SUGGET SUGLEN SYNDUMP SYNUPDATE TAGVALS"),
    ]
)
"""Further commands of Redis, of those that speak as it does, and of its modules: that a name is written right is known,
not where its keys are."""
