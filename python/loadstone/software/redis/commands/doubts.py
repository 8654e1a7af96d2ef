"""What is wrong with a command by its look alone: before a server is there that could say so."""

from collections.abc import Mapping, Sequence

from loadstone.deploy.control import Doubt
from loadstone.language import said
from loadstone.software.redis.commands.table import DATA, KEYLESS, REFUSED, SUBCOMMANDS
from loadstone.spec.problems import nearest

KNOWN = {*DATA, *KEYLESS, *REFUSED, *SUBCOMMANDS}
ARITIES: Mapping[str, int] = {
    name: words
    for words, names in {
        -8: "GEOSEARCHSTORE",
        -7: "GEOSEARCH XREADGROUP",
        -6: "GEORADIUS GEORADIUS_RO HEXPIRE HEXPIREAT HPEXPIRE HPEXPIREAT HSETEX XACKDEL XAUTOCLAIM XCLAIM",
        -5: (
            "BLMPOP BZMPOP GEOADD GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO HEXPIRETIME HGETDEL HGETEX HPERSIST "
            "HPEXPIRETIME HPTTL HTTL XADD XDELEX ZRANGESTORE"
        ),
        -4: (
            "BITOP GEODIST HMSET HSET LMPOP XACK XRANGE XREAD XREVRANGE XTRIM ZADD ZDIFFSTORE ZINTERSTORE "
            "ZMPOP ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZUNIONSTORE"
        ),
        -3: (
            "BITPOS BLPOP BRPOP BZPOPMAX BZPOPMIN COPY EXPIRE EXPIREAT HDEL HMGET HSCAN LCS LPOS LPUSH LPUSHX "
            "MSET MSETNX PEXPIRE PEXPIREAT RPUSH RPUSHX SADD SDIFFSTORE SET SINTERCARD SINTERSTORE SMISMEMBER "
            "SREM SSCAN SUNIONSTORE XDEL XPENDING XSETID ZDIFF ZINTER ZINTERCARD ZMSCORE ZRANK ZREM ZREVRANK "
            "ZSCAN ZUNION"
        ),
        -2: (
            "BITCOUNT BITFIELD BITFIELD_RO DEL EXISTS GEOHASH GEOPOS GETEX HRANDFIELD LPOP MGET PFADD PFCOUNT "
            "PFMERGE RPOP SDIFF SINTER SPOP SRANDMEMBER SUNION TOUCH UNLINK WATCH ZPOPMAX ZPOPMIN ZRANDMEMBER"
        ),
        -1: "PING VADD VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VREM VSETATTR VSIM",
        1: "DBSIZE DISCARD EXEC MULTI TIME UNWATCH",
        2: (
            "DECR DUMP ECHO EXPIRETIME GET GETDEL HGETALL HKEYS HLEN HVALS INCR LLEN PERSIST PEXPIRETIME PTTL "
            "SCARD SMEMBERS STRLEN TTL TYPE XLEN ZCARD"
        ),
        3: (
            "APPEND DECRBY GETBIT GETSET HEXISTS HGET HSTRLEN INCRBY INCRBYFLOAT LINDEX PUBLISH RENAME "
            "RENAMENX RPOPLPUSH SETNX SISMEMBER SPUBLISH WAIT ZSCORE"
        ),
        4: (
            "BRPOPLPUSH GETRANGE HINCRBY HINCRBYFLOAT HSETNX LRANGE LREM LSET LTRIM PSETEX SETBIT SETEX "
            "SETRANGE SMOVE SUBSTR WAITAOF ZCOUNT ZINCRBY ZLEXCOUNT ZREMRANGEBYLEX ZREMRANGEBYRANK "
            "ZREMRANGEBYSCORE"
        ),
        5: "LINSERT LMOVE",
        6: "BLMOVE",
    }.items()
    for name in names.split()
}
"""How many words a command has, by Redis 8: its name counts; -3 is three or more. A test holds it against a server."""


def doubt_about(command: Sequence[str]) -> Doubt | None:
    """A command with too few or too many arguments, which no Redis takes; or one that loadstone does not know."""
    name = command[0].upper() if command else ""
    if not name or "{" in name:
        return None
    words = ARITIES.get(name)
    if words is not None and (len(command) != words if words > 0 else len(command) < -words):
        has = said("has 1 argument") if len(command) == 2 else said("has {has} arguments", has=len(command) - 1)
        figures = {"has": has, "name": name, "takes": abs(words) - 1}
        exactly = said("{has}, and {name} takes {takes}; correct the command", **figures)
        at_least = said("{has}, and {name} takes at least {takes}; correct the command", **figures)
        return Doubt(exactly if words > 0 else at_least, is_certain=True)
    if name in KNOWN:
        return None
    hint = nearest(name, KNOWN)
    return Doubt(
        said("is not a command that loadstone knows; {hint}the server is queried about it at the run", hint=hint)
    )
