"""Which commands may be sent to a Redis that is not ours: the one place that decides.

A command is sent if it works on data, and every key in it is `{key}` of the plan or begins with `loadstone:`. Both our
table (`table`) and the server (`info`) are queried, and either may refuse: names, flags and keys. Of a command that our
table lacks the server alone decides, by its ACL categories; a server that does not say leaves it out.

The server does not replace the table: it finds the keys of one example, where placeholders may become others; of SORT
with BY and GET it finds the first key, and in COPY no other database. Nor does ACL DRYRUN: only administrators may ask
it, and only about users that the server has.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from loadstone.experiment.plan.operations import is_one_key
from loadstone.experiment.software import REDIS_COUNTING
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.servers.control import CommandRefusal, CommandWarning
from loadstone.servers.redis.commands.arguments import Argument, argument_of
from loadstone.servers.redis.commands.info import UNKNOWN, CommandInfo, ServerCommands
from loadstone.servers.redis.commands.table import (
    DATA,
    KEYLESS,
    OTHERS,
    READING,
    REFUSED,
    STAYING,
    SUBCOMMANDS,
    Unclear,
)
from loadstone.text.message import said
from loadstone.text.wording import nearest

DATA_CATEGORIES = frozenset(
    {
        *("@string", "@hash", "@list", "@set", "@sortedset", "@stream", "@geo", "@bitmap", "@hyperloglog", "@keyspace"),
        *("@json", "@vectorset", "@bloom", "@cuckoo", "@cms", "@topk", "@tdigest", "@timeseries"),
    }
)
"""What a command must be of that stands in no table of ours."""
NEVER = ("@dangerous", "@admin", "@scripting", "admin")
NEVER_UNLESS_KNOWN = frozenset({"@pubsub", "@connection", "@transaction", "pubsub"})
"""Refused where our table does not say that the command is harmless."""
NAMED = re.compile(rf"{OUR_PREFIX}[^:]+:")
"""What a key begins with that is not always the same: so begin no keys of other software, and no other kind of ours."""
OTHER_COMMAND = said("use a command on keys that begin with '{prefix}', as {{key}} does", prefix=OUR_PREFIX)
OTHER_KEY = said("write a key that begins with '{prefix}', as {{key}} does", prefix=OUR_PREFIX)
OF_ROWS = said("write a key that begins with '{prefix}'", prefix=OUR_PREFIX)


class ConfinedCommands:
    """See `servers.control.Confinement`. `server` is consulted, too; None: our table alone."""

    def __init__(self, server: ServerCommands | None) -> None:
        self._server = server

    def command(self, command: Sequence[str], prefix: str) -> None:
        """See `servers.control.Confinement.command`."""
        require_confined(command, prefix, self._server)

    def row_command(self, text: str) -> None:
        """See `servers.control.Confinement.row_command`."""
        require_confined(_split(text), None, self._server)

    def count(self, text: str, *, of_application: bool) -> None:
        """An application keeps what it stores where it likes; without one nothing but keys of ours can be counted."""
        parts = _split(text)
        reads_any_key = of_application and parts[0].upper() in REDIS_COUNTING
        require_confined(parts, None, self._server, reads_any_key=reads_any_key)


def require_confined(
    command: Sequence[str],
    prefix: str | None,
    server: ServerCommands | None = None,
    *,
    reads_any_key: bool = False,
) -> None:
    """Returns if a command may be sent to a server of the user's.

    Args:
        command: name and arguments, with placeholders.
        prefix: what `{key}` begins with; None: placeholders are the columns of a data set.
        server: queried, too; None: not yet, and what our table lacks passes.
        reads_any_key: for commands that read one number (`Software.counts_by`): their keys may be an application's.

    Raises:
        Refusal: it may not.
        ServerGone: the server does not answer any more.
    """
    if prefix is not None and not prefix.startswith(OUR_PREFIX):
        raise CommandRefusal(
            said("{{key}} begins with '{prefix}'", prefix=prefix),
            said("let it begin with '{our_prefix}'", our_prefix=OUR_PREFIX),
        )
    name, *arguments = (argument_of(text, prefix) for text in command)
    if not name.is_certain:
        raise CommandRefusal(said("its name is not always the same"), said("write the name without placeholders"))
    info = None if server is None else server.info(name.example)
    known = _known_keys(name.example.upper(), arguments)
    if info is not None and info is not UNKNOWN and info.name != name.example.upper():
        known = _known_keys(info.name, arguments)  # the server has it under another name
    if not reads_any_key:
        for key in known or ():
            _require_ours(key, prefix)
    if server is None:
        return
    info = _with_part(info, server, name, arguments)
    _require_harmless(info, arguments, is_known=known is not None)
    keys = server.keys([word.example for word in (name, *arguments)]) or []
    if known is None and not keys:
        raise CommandRefusal(said("the server finds no key in it"), OTHER_COMMAND)
    for text in [] if reads_any_key else keys:
        if not text.startswith(OUR_PREFIX.encode()):
            raise CommandRefusal(
                said("its key '{text}' is not loadstone's", text=text.decode(errors="replace")), OTHER_KEY
            )


def keys_made(commands: Iterable[Sequence[str]], prefix: str) -> tuple[set[str], set[str]]:
    """Keys of ours that commands may leave beside `{key}`: names, and beginnings of names that differ.

    Those that begin as `{key}` does have the beginning that all keys of a run have in common.
    """
    names: set[str] = set()
    beginnings: set[str] = set()
    for command in commands:
        name, *arguments = (argument_of(text, prefix) for text in command)
        called = name.example.upper()
        try:
            keys = [] if called in READING else _known_keys(called, arguments) or []
        except CommandRefusal:  # it was let pass; which keys it makes is not known
            continue
        for key in keys:
            of_a_name = NAMED.match(key.beginning)
            if key.is_certain and key.is_ours:
                names.add(key.example)
            elif not is_one_key(key.written) and of_a_name:
                beginnings.add(of_a_name[0] if key.beginning.startswith(prefix) else key.beginning)
    return names, beginnings


def _known_keys(name: str, arguments: Sequence[Argument]) -> list[Argument] | None:
    """The keys as our table has them; None: it does not have the command. Raises Refusal."""
    if name in REFUSED:
        raise CommandRefusal(REFUSED[name], OTHER_COMMAND)
    if name in KEYLESS:
        return []
    if name in SUBCOMMANDS:
        part = arguments[0] if arguments else None
        if part is None or not part.is_certain or part.example.upper() not in SUBCOMMANDS[name]:
            known = ", ".join(f"{name} {own}" for own in sorted(SUBCOMMANDS[name]))
            raise CommandRefusal(
                said("it does not work on a key"), said("of {name} use one of: {known}", name=name, known=known)
            )
        return list(arguments[1:2])
    if name not in DATA:
        return None
    try:
        return DATA[name](arguments)
    except Unclear as unclear:
        raise CommandRefusal(said("which keys it reaches is not known"), unclear.message) from None


def _require_ours(key: Argument, prefix: str | None) -> None:
    if not key.is_ours:
        raise CommandRefusal(
            said("its key '{written}' is not loadstone's", written=key.written),
            OF_ROWS if prefix is None else OTHER_KEY,
        )
    if not key.is_certain and not NAMED.match(key.beginning):
        why = said(
            "keys are removed by their beginning, and that of '{written}' may belong to another run",
            written=key.written,
        )
        raise CommandRefusal(why, said("write '{our_prefix}NAME:' before what differs", our_prefix=OUR_PREFIX))


def _with_part(
    info: CommandInfo | None, server: ServerCommands, name: Argument, arguments: Sequence[Argument]
) -> CommandInfo | None:
    """What the server says of a command, and of its part where it has several."""
    if info is None or info.name not in SUBCOMMANDS or not arguments:
        return info
    part = server.info(f"{name.example}|{arguments[0].example}")
    return info if part is None else CommandInfo(info.name, info.marks | part.marks)


def _require_harmless(info: CommandInfo | None, arguments: Sequence[Argument], *, is_known: bool) -> None:
    """Raises Refusal where the server marks a command as dangerous, or where nothing marks it as one on data."""
    if info is None or info is UNKNOWN:
        if not is_known:
            unknown, silent = said("the server does not know it"), said("the server does not report what it does")
            raise CommandRefusal(unknown if info is UNKNOWN else silent, OTHER_COMMAND)
        return
    if bad := [mark for mark in NEVER if mark in info.marks]:
        raise CommandRefusal(said("the server marks it as {bad}", bad=bad[0]), OTHER_COMMAND)
    if is_known:
        return
    if info.marks & NEVER_UNLESS_KNOWN or not info.marks & DATA_CATEGORIES:
        raise CommandRefusal(said("the server does not mark it as a command on data"), OTHER_COMMAND)
    loose = next((argument for argument in arguments if not argument.is_certain and not argument.is_ours), None)
    if "movablekeys" in info.marks and loose is not None:
        why = said(
            "the positions of its keys depend on its arguments, and '{written}' is not always the same",
            written=loose.written,
        )
        raise CommandRefusal(why, said("write a text without placeholders"))


def reaches_out(command: Sequence[str]) -> bool:
    """Return whether a command is not known to stay within the data of a server of ours (`STAYING`).

    It does unless our tables have it: a name that is not certain may be any, and a command that is not known, of a
    module or of a newer server, may do what these can.
    """
    return not command or command[0].upper() not in STAYING


def _split(text: str) -> list[str]:
    """A command that is written as in a shell. Raises Refusal."""
    try:
        parts = shlex.split(text)
    except ValueError:
        raise CommandRefusal(said("its quotes are not closed"), said("write it as in a shell")) from None
    if not parts:
        raise CommandRefusal(said("it is empty"), said("write a command"))
    return parts


KNOWN = {*DATA, *KEYLESS, *REFUSED, *SUBCOMMANDS, *OTHERS}
"""Names of commands that are written right, whatever they may be sent to."""
MODULES = {name.partition(".")[0] for name in KNOWN if "." in name}
"""What stands before the dot in the names of modules whose commands are all in `KNOWN`."""
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


def doubt_about(command: Sequence[str]) -> CommandWarning | None:
    """A command with too few or too many arguments, which no Redis takes; or one that loadstone does not know.

    A name with a dot is a module's, which may be the user's own: it passes, unless its module is known.
    """
    name = command[0].upper() if command else ""
    if not name or "{" in name:
        return None
    words = ARITIES.get(name)
    if words is not None and (len(command) != words if words > 0 else len(command) < -words):
        has = said("has 1 argument") if len(command) == 2 else said("has {has} arguments", has=len(command) - 1)
        figures = {"has": has, "name": name, "takes": abs(words) - 1}
        exactly = said("{has}, and {name} takes {takes}; correct the command", **figures)
        at_least = said("{has}, and {name} takes at least {takes}; correct the command", **figures)
        return CommandWarning(exactly if words > 0 else at_least, is_certain=True)
    if name in KNOWN:
        return None
    module, dot, _ = name.partition(".")
    if dot and module not in MODULES:
        why = said("is of a module that loadstone does not know; a server without it refuses every request")
        return CommandWarning(why)
    why = said("is no command of Redis or of a module that loadstone knows")
    return CommandWarning(why, is_unknown=True, hint=nearest(name, KNOWN))
