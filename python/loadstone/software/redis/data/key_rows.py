"""Rows into keys of Redis: commands with places for a row's values, sent many at once."""

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from loadstone.deploy.row_files import Rows, Tell
from loadstone.errors import UserError
from loadstone.software.redis.commands.arguments import argument_of
from loadstone.software.redis.commands.confinement import NAMED
from loadstone.software.redis.data.packed import JSON, Batch, Command, Word, batches
from loadstone.software.redis.data.pipe import Pipe
from loadstone.software.redis.session import RedisSession
from loadstone.spec.experiment import OUR_PREFIX

WRITING = frozenset(
    {
        *("SET", "SETEX", "SETNX", "PSETEX", "APPEND", "INCR", "INCRBY", "HSET", "HMSET", "HSETNX", "HINCRBY"),
        *("SADD", "RPUSH", "LPUSH", "ZADD", "XADD", "EXPIRE", "PEXPIRE", "GEOADD", "PFADD", "SETBIT", "JSON.SET"),
    }
)
"""Commands whose first argument is their one key."""
PLACE = re.compile(r"(?P<brace>\{\{)|\{(?P<name>\w+)\}")


@dataclass(frozen=True)
class Writing:
    """Commands for each row, ready to be filled."""

    commands: tuple[Command, ...]
    beginnings: frozenset[str]
    """What their keys begin with, where a key differs by row."""
    keys: frozenset[str]
    """Keys that are the same for every row."""

    def remove(self, control: RedisSession) -> None:
        """Remove every key that the commands may have made."""
        for key in self.keys:
            control.remove_key(key)
        for beginning in self.beginnings:
            control.remove_beginning(beginning)

    def write(self, control: RedisSession, rows: Rows, tell: Tell) -> None:
        """Send the commands for every row, in the rows' order. `tell` is called with rows that are sent.

        Raises:
            LoadstoneError: the server is gone, or refuses a command.
        """
        done = 0
        with _sender(control, self.commands) as send:
            for batch in batches(rows, len(self.commands)):
                send(batch)
                done += batch.rows
                tell(done)


def writing_of(commands: Sequence[str], rows: Rows) -> Writing:
    """The commands, checked.

    Raises:
        UserError: one cannot be sent, or would write to a key that is not ours; names the command.
    """
    parsed: list[Command] = []
    beginnings: set[str] = set()
    keys: set[str] = set()
    for text in commands:
        words = _split(text)
        place = next((found for found in PLACE.finditer(words[1]) if found["name"]), None)
        beginning = words[1][: place.start() if place else None].replace("{{", "{")
        if not argument_of(words[1], None).is_ours:
            raise UserError(f"'{text}': its key must begin with '{OUR_PREFIX}'")
        if place and not NAMED.match(beginning):
            raise UserError(
                f"'{text}': keys are removed by their beginning, so it must name these alone: "
                f"write {OUR_PREFIX}NAME:{place[0]}"
            )
        (beginnings if place else keys).add(beginning)
        parsed.append(tuple(_word(word, rows, f"'{text}'") for word in words))
    return Writing(tuple(parsed), frozenset(beginnings), frozenset(keys))


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"'{text}': {str(error).lower()}; write it as in a shell") from None
    if len(words) < 2 or words[0].upper() not in WRITING:
        raise UserError(f"'{text}': begin it with one of {', '.join(sorted(WRITING))}, and its key")
    return words


def _word(text: str, rows: Rows, where: str) -> Word:
    form, values, end = b"", [], 0
    for found in PLACE.finditer(text):
        form += text[end : found.start()].encode().replace(b"%", b"%%")
        end = found.end()
        if found["brace"]:
            form += b"{"
            continue
        if found["name"] not in (*rows.columns, JSON):
            known = ", ".join(f"{{{column}}}" for column in (*rows.columns, JSON))
            raise UserError(f"{where}: '{found[0]}' is no column; known are {known}")
        form += b"%b"
        values.append(found["name"])
    form += text[end:].encode().replace(b"%", b"%%")
    return Word(form, tuple(values))


@contextlib.contextmanager
def _sender(control: RedisSession, commands: Sequence[Command]) -> Iterator[Callable[[Batch], None]]:
    """What sends the commands for a batch; the end waits for all replies."""
    nodes = control.each_node()
    if len(nodes) == 1:
        with Pipe(nodes[0]) as pipe:
            yield lambda batch: pipe.send(batch.packed(commands), batch.rows * len(commands))
        return
    with contextlib.ExitStack() as stack:
        pipes = {node: stack.enter_context(Pipe(node)) for node in nodes}

        def to_nodes(batch: Batch) -> None:
            parts: dict[RedisSession, list[bytes]] = {node: [] for node in pipes}
            for key, packed in batch.keyed(commands):
                parts[control.node_of(key)].append(packed)
            for node, own in parts.items():
                pipes[node].send(b"".join(own), len(own))

        yield to_nodes
