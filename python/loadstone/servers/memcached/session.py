"""A connection to one memcached for loadstone's own questions, apart from the load.

Commands sent: `mn`, `stats`, `stats settings`; `mg`, `ms` and `md` on keys of ours; `set` as the login.
While a trial runs only `stats` is sent, so the server's counts of the load's commands stay exact.
"""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, ClassVar, Self

from loadstone.experiment.plan.drive_plan import numbered_key
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import MEMCACHED, MEMCACHED_COUNTING
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.deadlines import bound_that_ended, require_time, step_s
from loadstone.safety.bounds.replies import bad_reply, read_as, recordable, shortened
from loadstone.safety.errors import ServerGone, ServerRefused, UserError
from loadstone.servers.control import untold
from loadstone.servers.memcached.settings import SPELLING, reported
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.servers.transport import error_text
from loadstone.text.message import said
from loadstone.text.problem import Problem

BATCH = 1000
LINE_MAX_BYTES = 8192
VALUE_MAX_BYTES = 1024 * 1024
"""Limit of a value that loadstone itself reads: it counts."""
PARTING = re.compile(rb"[\x00-\x20\x7f]")
"""What ends a word or a line."""
LINES_MAX = 10_000
"""Limit of one reply to `stats`."""
ANSWER_TIMES = 12.0
"""All that answers one request may take so many times as long as one step of it."""
ANSWER_MAX_BYTES = 16 * 1024 * 1024
"""A batch of meta commands answers with a line each, a count with one value."""
NUMBERED_MAX = 100_000_000
"""It does not list its keys: each name of a plan is tried, some 200,000 a second."""
ERRORS = (b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")
UNAUTHENTICATED = b"CLIENT_ERROR unauthenticated"
TOO_OLD = "it does not know the meta commands (it said '{said}'); run memcached 1.6.12 or newer (tried with 1.6.18)"


class MemcachedSession:
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    Raises:
        ServerGone: the server does not answer; one line with the reason.
        ServerRefused: it answers with an error; one line with its text.
    """

    software: ClassVar[str] = MEMCACHED.name
    spelling: ClassVar[SettingNotation] = SPELLING

    def __init__(self, endpoint: Endpoint, timeout_s: float = 5.0) -> None:
        self.endpoint = endpoint
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._socket: BoundedSocket | None = None
        self._replies: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with self._lock:
            self._drop()

    def by_way_of(self, endpoint: Endpoint) -> Self:
        """See `servers.control.ServerQueries`."""
        return type(self)(endpoint, self._timeout_s)

    def ping(self) -> None:
        """Returns if the server answers, by a command that changes nothing."""
        self.call("mn")

    def call(self, *command: str | bytes) -> bytes:
        """The reply to one meta command: the value of one that returns a value, else its line."""
        return bytes(self.pipelined([command])[0])

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several meta commands that are sent all at once; the first error as ServerGone.

        Of `ms` the data stand behind the key, as in an experiment: their length is written in their place.
        """
        request = b"".join(_framed(command) for command in commands)
        with self._connected(str(commands[0][0]) if commands else "") as replies:
            self._send(request)
            answers = [self._reply(replies) for _ in commands]
        for reply in answers:
            if reply.startswith(ERRORS):
                told = shortened(reply.decode(errors="replace"))
                raise ServerRefused("server {server}: {problem}", server=self.endpoint.label, problem=told).answered(
                    told.split(" ")[0], told
                )
        return answers

    def stats(self, what: str = "") -> dict[str, str]:
        """The names and values of `stats`, or of `stats settings`."""
        command = f"stats {what}".strip()
        values: dict[str, str] = {}
        with self._connected(command) as replies, read_as(self.endpoint.label, command, said("names and values")):
            self._send(f"{command}\r\n".encode())
            for _ in range(LINES_MAX):
                line = self._line(replies).decode(errors="replace")
                if line == "END":
                    return values
                word, name, *value = line.split(" ", 2)
                if word != "STAT":
                    raise ValueError(shortened(line))
                values[name] = value[0] if value else ""
            raise Problem("lines without end")

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings under the names that they are requested by; without those that it does not report."""
        return reported(self.stats("settings"), names)

    def keys(self) -> int:
        """Return how many items the server holds."""
        with read_as(self.endpoint.label, "stats", said("the number of items")):
            return self._whole("curr_items")

    def present(self, keys: Sequence[str]) -> list[bool]:
        """Whether the server holds each of these keys."""
        return [reply.startswith(b"HD") for reply in self.pipelined([("mg", key) for key in keys])] if keys else []

    def count(self, text: str) -> int:
        """The number that `stats NAME` or `mg KEY v` answers; 0 of a key that is not there.

        Raises:
            UserError: the text is neither, or the answer is not a number.
        """
        words = text.split()
        if len(words) < 2 or words[0].upper() not in MEMCACHED_COUNTING:
            raise UserError("count '{text}': {how_to_count}", text=text, how_to_count=MEMCACHED.how_to_count)
        try:
            if words[0].upper() == MEMCACHED_COUNTING[0]:
                return self._whole(words[1])
            value = self.call("mg", words[1], "v")
            return 0 if value == b"EN" else recordable(int(value))
        except ValueError:
            raise UserError("count '{text}': the answer is no number; name a key that holds one", text=text) from None
        except KeyError:
            raise UserError(
                "count '{text}': memcached reports no '{words}'; name a line of stats", text=text, words=words[1]
            ) from None

    def remove_numbered(self, prefix: str, count: int, tell: Callable[[int], None] = untold) -> int:
        """Remove the keys of a plan, `prefix` and a 12-digit number below `count`; how many there were.

        Raises:
            UserError: `prefix` does not begin with `loadstone:`.
        """
        removed = 0
        for start in range(0, count, BATCH):
            removed += self.remove_keys(
                [numbered_key(prefix, number) for number in range(start, min(start + BATCH, count))]
            )
            tell(min(start + BATCH, count))
        return removed

    def remove_keys(self, keys: Sequence[str]) -> int:
        """Remove these keys of ours; how many there were. Raises UserError if a key is not ours."""
        for key in keys:
            if not key.startswith(OUR_PREFIX):
                raise UserError(
                    "key '{key}': only keys that begin with '{prefix}' are removed; use such a key",
                    key=key,
                    prefix=OUR_PREFIX,
                )
        return sum(reply.startswith(b"HD") for reply in self.pipelined([("md", key) for key in keys])) if keys else 0

    def _whole(self, name: str) -> int:
        """A whole number of `stats`. Raises KeyError, ValueError."""
        return recordable(int(self.stats()[name]))

    @contextlib.contextmanager
    def _connected(self, command: str) -> Iterator[BinaryIO]:
        """The replies of a connection that is logged in; after any error it is made anew."""
        with self._lock:
            try:
                replies = self._replies or self._connect()
                self._begin()
                yield replies
            except BaseException as error:
                self._drop()
                if isinstance(error, OSError | EOFError):
                    told = bound_that_ended(error) or error_text(error)
                    raise ServerGone(
                        "server {server}: {command}: {problem}",
                        server=self.endpoint.label,
                        command=command,
                        problem=told,
                    ) from error
                raise

    def _begin(self) -> None:
        """What is sent from now on is another request."""
        if self._socket is not None:
            self._socket.begin(ANSWER_TIMES * self._timeout_s, ANSWER_MAX_BYTES)

    def _connect(self) -> BinaryIO:
        require_time()
        self._socket = BoundedSocket(dialled(self.endpoint, step_s(self._timeout_s)), self._timeout_s)
        self._begin()
        self._replies = replies = self._socket.makefile("rb")
        # A server that requires no login would store one as a value: so we first ask whether it does.
        self._send(b"mn\r\n")
        line = self._line(replies)
        if line == UNAUTHENTICATED:
            self._log_in(replies)
        elif line == b"ERROR":
            raise ServerRefused(
                "server {endpoint_label}: {format}",
                endpoint_label=self.endpoint.label,
                format=TOO_OLD.format(said="ERROR"),
            )
        elif line != b"MN":
            told = shortened(line.decode(errors="replace"), 60)
            raise ServerRefused(
                "server {endpoint_label}: what listens there is not memcached (it said '{told}'); give the address of "
                "a memcached server",
                endpoint_label=self.endpoint.label,
                told=told,
            )
        elif self.endpoint.password is not None:
            raise ServerRefused(
                "server {endpoint_label}: it requires no password, and one was given; leave it out",
                endpoint_label=self.endpoint.label,
            )
        return replies

    def _log_in(self, replies: BinaryIO) -> None:
        where = said("server {address}", address=self.endpoint.label)
        user = self.endpoint.username or ""
        if self.endpoint.password is None:
            raise ServerRefused(
                "{where}: it requires a password; give it as memcached://USER:PASSWORD@HOST:PORT", where=where
            )
        login = f"{user} {self.endpoint.password}".encode()
        self._send(b"set %sprobe:login 0 0 %d\r\n%s\r\n" % (OUR_PREFIX.encode(), len(login), login))
        line = self._line(replies)
        if line != b"STORED":
            told = shortened(line.decode(errors="replace"), 60)
            problem = said(
                "it refuses the password of user '{user}' ({told}); check the name and the password",
                user=user,
                told=told,
            )
            raise ServerRefused("{where}: {why}", where=where, why=problem)

    def _drop(self) -> None:
        for part in (self._replies, self._socket):
            if part is not None:
                with contextlib.suppress(OSError):
                    part.close()
        self._replies = self._socket = None

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            raise EOFError("the connection is closed")
        self._socket.sendall(data)

    def _line(self, replies: BinaryIO) -> bytes:
        line = replies.readline(LINE_MAX_BYTES)
        if not line:
            raise EOFError("it closed the connection")
        if not line.endswith(b"\r\n"):
            raise bad_reply(self.endpoint.label, "a command", said("a line"), line)
        return line[:-2]

    def _reply(self, replies: BinaryIO) -> bytes:
        line = self._line(replies)
        if not line.startswith(b"VA "):
            return line
        with read_as(self.endpoint.label, "mg", said("the length of a value")):
            length = int(line.split()[1])
            if not 0 <= length <= VALUE_MAX_BYTES:
                raise Problem("{length} bytes", length=length)
        value = replies.read(length + 2)
        if len(value) < length + 2:
            raise EOFError("it closed the connection within a value")
        if not value.endswith(b"\r\n"):
            raise bad_reply(self.endpoint.label, "mg", said("the end of a value"), value[-2:])
        return value[:-2]


def dialled(endpoint: Endpoint, timeout_s: float) -> socket.socket:
    """A connection to an endpoint, on which every step may take so long."""
    if endpoint.unix_path is None:
        return socket.create_connection((endpoint.host, endpoint.port), timeout=timeout_s)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        connection.connect(endpoint.unix_path)
    except OSError:
        connection.close()
        raise
    return connection


def is_one_word(text: str | bytes) -> bool:
    """Whether a text may stand on a line of the protocol: nothing in it ends a word or the line."""
    return PARTING.search(text.encode() if isinstance(text, str) else text) is None and len(text) > 0


def _framed(command: Sequence[str | bytes]) -> bytes:
    """Raises UserError where a word would be two, or a command another one: names of keys come from files, too."""
    words = [word.encode() if isinstance(word, str) else word for word in command]
    data = words.pop(2) if words[0] == b"ms" else None
    for word in words:
        if not is_one_word(word):
            raise UserError(
                "'{word}' is no word of memcached's protocol; write it without spaces", word=shortened(word)
            )
    if data is None:
        return b" ".join(words) + b"\r\n"
    return b" ".join([*words[:2], b"%d" % len(data), *words[2:]]) + b"\r\n" + data + b"\r\n"
