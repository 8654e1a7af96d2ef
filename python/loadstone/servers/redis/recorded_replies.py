"""Recorded commands on four servers in the order of the recording: the two, and both once more, their twins.

Where each answers as its twin does, and the second one otherwise than the first, that is a finding. Where twins differ,
nothing can be said: the replay itself is the cause.

All commands go over one connection a server, so that their order is that of the recording. Those of a transaction are
sent one by one, and each reply is compared. The servers are loadstone's own and empty, so that keys stay as they are.
"""

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import psutil
import redis

from loadstone.machine import process_table
from loadstone.safety.bounds.replies import MISREAD, read_as
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.compared_replies import (
    BrokenOff,
    CommandReplies,
    ComparedReplies,
    ComparedServer,
    FourNs,
    ReplyDifference,
)
from loadstone.servers.redis.append_only_file import open_commands
from loadstone.servers.redis.commands.table import READING, SUBCOMMANDS
from loadstone.servers.redis.recorded_commands import (
    CLOSES,
    DIGITS_MAX,
    OPENS,
    LeftOut,
    grows_to,
    keys_of_command,
    name_of,
)
from loadstone.servers.redis.recording import NAMES_MAX, TOO_MANY_NAMES, MonitorLine
from loadstone.servers.redis.replies import CommandTips, ReplyRules, first_difference, tips_of
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.server import FourServers, Server
from loadstone.servers.transport import error_text
from loadstone.text.message import said

WINDOW = 256
"""Most commands that are on their way to a server at once."""
WINDOW_BYTES = 64 << 20
"""What their replies may take, if each is as large as the largest value so far."""
LEFT_BYTES = 256 << 20
"""Memory that the machine keeps: what four servers store of a recording is not known before."""
DATABASES = 16
"""Those that a server has as it is installed."""
ON_OURS = frozenset({"FLUSHALL", "FLUSHDB", "INFO", "KEYS", "RANDOMKEY", "SCAN", "SORT", "SORT_RO"})
"""Commands that a replay leaves out on a server with others' data, and that are sent to these."""
_OF_THE_FIRST = (0, 2)
"""Places of the first server and its twin."""
PARTS_MAX = 128
"""Parts of a recording for which CPU times are compared; then two become one."""
EXAMPLES = 3
"""Most examples of a command."""
FOLLOWED_MAX = 1_000_000
"""Most keys that are remembered for what chance or a clock decided of them."""
_SORTS = frozenset({"SORT", "SORT_RO"})
TRANSACTIONS = frozenset({OPENS, *CLOSES, "WATCH", "UNWATCH"})
"""What stands between is sent one by one, and these are not."""
_NO_DATABASE = said("its database is none of the 16 that a server has as installed")
_REPLACES = frozenset({"DEL", "GETDEL", "PSETEX", "SET", "SETEX", "UNLINK"})
_FIELDS_EXPIRE = frozenset({"HEXPIRE", "HEXPIREAT", "HGETEX", "HPEXPIRE", "HPEXPIREAT", "HSETEX"})
_EXPIRES = frozenset({"EXPIRE", "EXPIREAT", "PEXPIRE", "PEXPIREAT", "PSETEX", "SETEX"})
"""Commands whose second argument says when a key expires."""
_EXPIRY_OPTIONS = {b"EX": "EXPIRE", b"EXAT": "EXPIREAT", b"PX": "PEXPIRE", b"PXAT": "PEXPIREAT"}
"""Options of SET and GETEX, and the command that each stands for."""
NEAR_S = 1.0
"""Seconds before and after its expiry in which a key may be gone on one server and not yet on another."""
_ALONE = frozenset(
    {
        *("BITOP", "COPY", "SORT", "SDIFFSTORE", "SINTERSTORE", "SUNIONSTORE", "ZDIFFSTORE", "ZINTERSTORE"),
        *("ZRANGESTORE", "ZUNIONSTORE", "GEOSEARCHSTORE", "GEORADIUS", "GEORADIUSBYMEMBER", "PFMERGE"),
    }
)
"""Commands that may store as much as there is already: before each the memory is looked at."""


@dataclass(frozen=True)
class _Sent:
    line: int
    name: str
    """`GET`, `OBJECT|ENCODING`; empty: it chose a database."""
    words: Sequence[bytes]
    by_chance: bool
    """Whether chance, or a clock, decided on what a key of it holds."""


def compare_replies(servers: FourServers, recording: Path, each_window: Callable[[int], None]) -> ComparedReplies:
    """Send a recording to servers of our own, which run and hold the same, and compare what they answer.

    Args:
        servers: the first one, the second one, and both once more.
        recording: what `redis-cli MONITOR` printed, or an append-only file.
        each_window: called some times a second with the number of commands that were sent.

    Raises:
        UserError: the recording cannot be read.
        ServerGone: a server does not answer.
    """
    with ExitStack() as held, open_commands(recording) as lines:
        sessions = [_session(held, server) for server in servers]
        tips = [_tips(session) for session in sessions]
        settings = [_settings(session) for session in sessions]
        channels = [held.enter_context(_Channel(_session(held, server), server)) for server in servers]
        sending = _SentAgain(ReplyRules(*tips[:2]), channels)
        broken_off = sending.run(lines, each_window)
        held_bytes = [0 if broken_off and place else _data_bytes(session) for place, session in enumerate(sessions[:2])]
        of_a, of_b = (
            ComparedServer(known.names, told, data_bytes)
            for known, told, data_bytes in zip(tips[:2], settings[:2], held_bytes, strict=True)
        )
        return ComparedReplies(
            sending.commands,
            sending.left_out,
            lines.cut_off,
            lines.only_writes,
            broken_off,
            sending.cpu.parts,
            of_a,
            of_b,
        )


def _session(held: ExitStack, server: Server) -> RedisSession:
    control = held.enter_context(server.control())
    assert isinstance(control, RedisSession)
    return control


def _tips(session: RedisSession) -> CommandTips:
    with read_as(session.endpoint.label, "COMMAND", said("its commands")):
        return tips_of(session.call(b"COMMAND"))


def _settings(session: RedisSession) -> dict[str, str]:
    told = session.call(b"CONFIG", b"GET", b"*")
    with read_as(session.endpoint.label, "CONFIG GET", said("names and values")):
        words = [word.decode(errors="replace") for word in told]
    return dict(zip(words[::2], words[1::2], strict=True))


def _data_bytes(session: RedisSession) -> int:
    """What a server takes beyond what it took when it started."""
    info = session.info("memory")
    with read_as(session.endpoint.label, "INFO", said("figures")):
        return int(info["used_memory"]) - int(info["used_memory_startup"])


class _SecondGone(Exception):
    """The second server, or its twin, does not answer what the first one does."""


class _Channel:
    """A connection on which many commands are on their way; a context.

    Raises:
        ServerGone: the server does not answer.
    """

    def __init__(self, session: RedisSession, server: Server) -> None:
        self._label = session.endpoint.label
        self._pids = tuple(server.pids.values())
        self.alive = server.alive
        self._pool = session.client.connection_pool
        self._connection: Any = None

    def __enter__(self) -> Self:
        with self._or_gone():
            self._connection = self._pool.get_connection()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.disconnect()
        self._pool.release(self._connection)

    @property
    def cpu_ns(self) -> int | None:
        """Return the CPU time of the server so far; None where it cannot be observed."""
        spent = [process_table.cpu_ns(pid) for pid in self._pids]
        known = [ns for ns in spent if ns is not None]
        return sum(known) if known and len(known) == len(spent) else None

    def replies(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """Send them at once, and read the replies; an error of the server is one, too."""
        with self._or_gone():
            self._connection.send_packed_command(self._connection.pack_commands(commands))
            return [self._reply() for _ in commands]

    def _reply(self) -> Any:
        try:
            return self._connection.read_response(disable_decoding=True)
        except redis.ResponseError as error:
            return error

    @contextlib.contextmanager
    def _or_gone(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, OSError, *MISREAD) as error:
            raise ServerGone("server {server}: {problem}", server=self._label, problem=error_text(error)) from error


class _SentAgain:
    """Sends commands and compares their replies."""

    def __init__(self, rules: ReplyRules, channels: Sequence[_Channel]) -> None:
        """`channels`: of the first server, the second one, and their twins."""
        self.commands: dict[str, CommandReplies] = {}
        self.left_out: Counter[tuple[str, str]] = Counter()
        """Command and why it was not sent -> how many."""
        self.cpu = CpuInParts()
        self._rules = rules
        self._channels = channels
        self._database = 0
        self._window: list[_Sent] = []
        self._windows = 0
        self._largest = 1
        self._by_chance = _KeysByChance()

    @property
    def sent(self) -> int:
        """Return how many commands were sent to each server."""
        return sum(one.sent for one in self.commands.values())

    def run(self, recording: Iterable[tuple[int, MonitorLine]], each_window: Callable[[int], None]) -> BrokenOff | None:
        """Send all of it; `each_window` is called some times a second.

        Returns: where the second server broke off, and nothing was sent any more; None: it did not.

        Raises:
            UserError: the recording cannot be read.
            ServerGone: the first server, or its twin, does not answer.
        """
        try:
            for number, line in recording:
                if alone := name_of(line.arguments) in _ALONE:
                    self._flush()
                self._take(number, line)
                if alone or len(self._window) >= min(WINDOW, max(1, WINDOW_BYTES // self._largest)):
                    self._flush()
                    each_window(self.sent)
            self._flush()
        except _SecondGone:
            ended = not all(channel.alive() for channel in self._channels)
            return BrokenOff((self._window[0].line, self._window[-1].line), ended=ended)
        return None

    def _take(self, number: int, line: MonitorLine) -> None:
        name = name_of(line.arguments)
        if name in TRANSACTIONS:
            return
        try:
            keys = _keys(name, line)
        except LeftOut as reason:
            apart = name if len(self.left_out) < NAMES_MAX else TOO_MANY_NAMES
            self.left_out[apart, str(reason)] += 1
            return
        if line.database != self._database:
            self._database = line.database
            self._window.append(_Sent(number, "", (b"SELECT", b"%d" % line.database), by_chance=False))
        if name in SUBCOMMANDS:
            name = f"{name}|{line.arguments[1].decode(errors='replace').upper()}"
        at = [(line.database, key) for key in keys]
        by_chance = self._by_chance.any(at)
        self._window.append(_Sent(number, name, line.arguments, by_chance))
        self._largest = max(self._largest, *map(len, line.arguments), grows_to(name, line.arguments))
        self._follow(name, line.arguments, at, by_chance=by_chance)

    def _follow(self, name: str, words: Sequence[bytes], at: Sequence[tuple[int, bytes]], *, by_chance: bool) -> None:
        """Remember of which keys chance or a clock decides from now on."""
        if name.startswith("FLUSH"):
            return
        if name in _REPLACES:
            self._by_chance.forget(at)
        elif name in _FIELDS_EXPIRE or (name not in READING and (by_chance or self._rules.is_free(name))):
            self._by_chance.add(at)
        lives_s = _lives_s(name, words)
        if lives_s is not None:
            self._by_chance.add_at_end(at, time.monotonic() + lives_s)

    def _flush(self) -> None:
        if not self._window:
            return
        free = psutil.virtual_memory().available
        if free < LEFT_BYTES + len(self._channels) * self._largest:
            raise UserError(
                "the recording fills this machine: {free:,.0f} MB of its memory are left; take a shorter one",
                free=free / 1e6,
            )
        words = [sent.words for sent in self._window]
        before = [channel.cpu_ns for channel in self._channels]
        replies: list[list[Any]] = [[], [], [], []]
        gone: ServerGone | None = None
        for place in sorted(range(4), key=lambda place: (place + self._windows) % 4):  # none is always the first
            try:
                replies[place] = self._channels[place].replies(words)
            except ServerGone as error:
                if place in _OF_THE_FIRST:
                    raise
                gone = error
        if gone is not None:  # both of the first one's answered the same commands
            raise _SecondGone from gone
        self.cpu.add(before, [channel.cpu_ns for channel in self._channels])
        self._windows += 1
        for sent, *each in zip(self._window, *replies, strict=True):
            if sent.name:
                self._compare(sent, *each)
            elif any(map(_fails, each)):  # else it is no command of the recording
                self._compare(replace(sent, name="SELECT"), *each)
        self._window.clear()

    def _compare(self, sent: _Sent, a: Any, b: Any, a_twin: Any, b_twin: Any) -> None:
        of_command = self.commands.setdefault(sent.name, CommandReplies())
        of_command.sent += 1
        outcome = self._rules.outcome(sent.name, a, b)
        if sent.by_chance and outcome not in ("only_a_fails", "only_b_fails"):
            outcome = "free"
        if outcome in ("equal", "unordered", "numbers", "free"):
            of_command.outcomes[outcome] += 1
        elif not (self._alike(sent, a, a_twin) and self._alike(sent, b, b_twin)):
            of_command.unclear += 1
        else:
            of_command.outcomes[outcome] += 1
            if len(of_command.examples) < EXAMPLES:
                of_command.examples.append(ReplyDifference(sent.line, *first_difference(a, b)))

    def _alike(self, sent: _Sent, one: Any, twin: Any) -> bool:
        """Whether a server and its twin answered alike: where chance decides, both or neither by an error."""
        if sent.by_chance:
            return _fails(one) == _fails(twin)
        return self._rules.outcome(sent.name, one, twin) in ("equal", "unordered", "free")


def _fails(reply: Any) -> bool:
    return isinstance(reply, redis.RedisError)


class CpuInParts:
    """CPU time of the four servers, in at most `PARTS_MAX` parts of as many windows each."""

    def __init__(self) -> None:
        self._parts: list[FourNs] = []
        self._windows_each = 1
        self._windows = 0
        self._sum: FourNs = (0, 0, 0, 0)
        self._known = True

    @property
    def parts(self) -> Sequence[FourNs]:
        """Return the parts that are full, in ns; empty where a server cannot be observed."""
        return tuple(self._parts) if self._known else ()

    def add(self, before: Sequence[int | None], after: Sequence[int | None]) -> None:
        """Add one window: what each server had taken before it, and after it."""
        spent = [end - begin for begin, end in zip(before, after, strict=True) if begin is not None and end is not None]
        if len(spent) < len(self._sum):
            self._known = False
            return
        self._sum = _sum(self._sum, spent)
        self._windows += 1
        if self._windows < self._windows_each:
            return
        self._parts.append(self._sum)
        self._windows, self._sum = 0, (0, 0, 0, 0)
        if len(self._parts) == PARTS_MAX:
            self._parts = [_sum(*pair) for pair in zip(self._parts[::2], self._parts[1::2], strict=True)]
            self._windows_each *= 2


def _sum(ns: FourNs, others_ns: Sequence[int]) -> FourNs:
    a, b, a_twin, b_twin = (one + other for one, other in zip(ns, others_ns, strict=True))
    return a, b, a_twin, b_twin


class _KeysByChance:
    """Keys, by their database, of whose content chance or a clock decides; all keys once there are too many."""

    def __init__(self) -> None:
        self._keys: set[tuple[int, bytes]] = set()
        self._ends_s: dict[tuple[int, bytes], float] = {}
        self._all = False

    def any(self, keys: Sequence[tuple[int, bytes]]) -> bool:
        """Whether one of these is such a key; a command without keys may concern each that is."""
        now_s = time.monotonic()
        for key in keys:
            left_s = self._ends_s.get(key, math.inf) - now_s
            if abs(left_s) < NEAR_S:
                self._keys.add(key)
            elif left_s < 0:
                del self._ends_s[key]
        return self._all or any(key in self._keys for key in keys) or (not keys and bool(self._keys))

    def add(self, keys: Sequence[tuple[int, bytes]]) -> None:
        """From now on, until they are replaced."""
        self._keys.update(keys)
        self._all = self._all or len(self._keys) > FOLLOWED_MAX

    def add_at_end(self, keys: Sequence[tuple[int, bytes]], end_s: float) -> None:
        """If they are used near the end of their time, in seconds of the steady clock."""
        if self._all:
            return
        self._ends_s.update(dict.fromkeys(keys, end_s))
        if len(self._ends_s) > FOLLOWED_MAX:
            over_s = time.monotonic() - NEAR_S
            self._ends_s = {key: one_s for key, one_s in self._ends_s.items() if one_s > over_s}
            self._all = len(self._ends_s) > FOLLOWED_MAX // 2  # else the next one looks through all again

    def forget(self, keys: Sequence[tuple[int, bytes]]) -> None:
        """They were replaced."""
        self._keys.difference_update(keys)
        for key in keys:
            self._ends_s.pop(key, None)


def _lives_s(name: str, words: Sequence[bytes]) -> float | None:
    """For how long the command lets its keys live; None: that stays as it is, or cannot be read."""
    if name in _EXPIRES:
        return _seconds(name, words[2:3])
    if name in ("SET", "GETEX"):
        for at, word in enumerate(words[2:], 2):
            if (unit := _EXPIRY_OPTIONS.get(word.upper())) is not None:
                return _seconds(unit, words[at + 1 : at + 2])
    return None


def _seconds(unit: str, written: Sequence[bytes]) -> float | None:
    if not written or not written[0].isdigit() or len(written[0]) > DIGITS_MAX:
        return None
    seconds = int(written[0]) / (1000 if unit.startswith("P") else 1)
    return seconds - time.time() if unit.endswith("AT") else seconds


def _keys(name: str, line: MonitorLine) -> list[bytes]:
    """The keys of a command that is sent. Raises LeftOut."""
    if line.database >= DATABASES:
        raise LeftOut.of(_NO_DATABASE)
    if name in _SORTS:
        stored = [key for word, key in pairwise(line.arguments) if word.upper() == b"STORE"]
        return [*line.arguments[1:2], *stored]
    if name in ON_OURS:
        return []
    return [line.arguments[place + 1] for place in keys_of_command(name, line.arguments[1:])]
