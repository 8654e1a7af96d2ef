"""Estimates how much a run stores: an upper bound in bytes of a Redis's memory, or of a database's disk, from the plan
alone.

The constants are bounds of what was measured on Redis 8.2 with RedisJSON 2.8 (jemalloc, 2026-11-22; growth of
`used_memory`, key spaces just beyond a doubling of the key table); `tests/experiment/plan/test_stored_bytes.py`
measures them again.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.operations import ServerCommand, is_one_key
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.required import RequiredData
from loadstone.experiment.plan.run_plan import ASSUMED_RATE_PER_S, PlannedTrial
from loadstone.experiment.spec.experiment import search_of
from loadstone.safety.bounds.replies import whole_number

PER_KEY_BYTES = 128
"""Entry, object, headers, the key table's place while it doubles, and an expiry: 56 to 106 measured."""
PER_ITEM_BYTES = 32
"""Bytes of a field's name or value in a hash: 24 measured."""
PER_ELEMENT_BYTES = 96
"""Bytes of an element in a list, set or sorted set beside its text: up to 88 measured."""
PER_JSON_BYTES = 256
"""Bytes of a JSON document: 196 to 324 measured, with what a key takes."""
PER_JSON_LITERAL = 8
"""Memory for each byte of JSON text, where it may be of small values: 4 to 7 measured."""
GROWTH = 1.25
"""The allocator's classes are a quarter apart at most: 1.03 to 1.15 measured of large values."""
PER_CONNECTION_BYTES = 20 * 1024
"""17.5 kB measured, idle; of large values 1.13 times a value beside it."""
FIRST_OF_KEY_BYTES = {"XADD": 4500, "PFADD": 14_500}
"""What the first element of a key takes: a stream's first block (4,368 measured), a HyperLogLog of 12 KiB at most."""
DOCUMENT_BYTES = 122
"""Bytes of a generated document beside its payload."""
NUMBER_BYTES = 20
KEY_NUMBER_BYTES = 12
TOGETHER_BYTES_MAX = 1 << 30
"""Upper bound for keys and connections of what takes turns on one server."""
LEVELS_MAX = 33
"""Numbers of users in a search for loads: from 1 to 65,536 by factors of sqrt 2."""

STORES_NOTHING = frozenset(
    {
        *("GET", "MGET", "STRLEN", "GETRANGE", "SUBSTR", "GETDEL", "GETEX", "EXISTS", "TYPE", "TTL", "PTTL", "TOUCH"),
        *("DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "OBJECT", "DUMP", "MEMORY"),
        *("HGET", "HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSTRLEN", "HSCAN", "HDEL", "HRANDFIELD"),
        *("LLEN", "LINDEX", "LRANGE", "LPOS", "LPOP", "RPOP", "LREM", "LTRIM", "LSET"),
        *("SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS", "SRANDMEMBER", "SSCAN", "SREM", "SPOP", "SINTER", "SUNION"),
        *("ZCARD", "ZCOUNT", "ZRANGE", "ZRANGEBYSCORE", "ZRANK", "ZREVRANGE", "ZREVRANK", "ZSCORE", "ZMSCORE", "ZREM"),
        *("ZSCAN", "ZPOPMIN", "ZPOPMAX", "XLEN", "XRANGE", "XREVRANGE", "XREAD", "XDEL", "XTRIM", "XINFO"),
        *("GETBIT", "BITCOUNT", "BITPOS", "PFCOUNT", "GEODIST", "GEOPOS", "GEOSEARCH"),
        *("JSON.GET", "JSON.MGET", "JSON.DEL", "JSON.TYPE", "JSON.STRLEN", "JSON.OBJKEYS", "JSON.OBJLEN", "JSON.RESP"),
        *("JSON.ARRLEN", "JSON.ARRINDEX", "JSON.ARRPOP", "JSON.CLEAR", "JSON.NUMINCRBY", "JSON.TOGGLE"),
        *("MG", "MD", "MN"),
        *("PING", "ECHO", "TIME", "WAIT", "WAITAOF", "INFO", "DBSIZE", "SCAN", "SELECT", "PUBLISH", "ROLE", "LASTSAVE"),
    }
)
"""Commands after which a server holds no more than before."""
VALUES = frozenset(
    {
        *("SET", "SETEX", "PSETEX", "SETNX", "GETSET", "INCR", "DECR", "INCRBY", "DECRBY", "INCRBYFLOAT"),
        *("JSON.SET", "JSON.MERGE", "MS", "MA"),
    }
)
"""Commands that put one value in the place of the one before."""
FIELDS = frozenset({"HSET", "HMSET", "HSETNX", "HINCRBY", "HINCRBYFLOAT"})
"""Commands that put values in the places of those of the same fields."""
MEMBERS = {"SADD": 2, "PFADD": 2, "ZADD": 3, "GEOADD": 4}
"""Commands that add what is not there yet, and which argument is the first that says what."""
RANGES = {"SETRANGE": 1, "SETBIT": 8}
"""Commands that make a text as long as they say, in bytes and in bits."""
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_RANDOM = re.compile(r"\{random (\d{1,19}) lowercase\}", re.ASCII)
_UNIFORM = re.compile(r"\{uniform (-?\d{1,19})\.\.(-?\d{1,19})\}", re.ASCII)
"""Longer numbers are none that the generator takes."""


@dataclass(frozen=True)
class Footprint:
    """What is stored at most."""

    bytes: int = 0
    grows: bool = False
    """Whether more may come: the number of operations, or what an application stores, is not known beforehand."""

    def __add__(self, other: "Footprint") -> "Footprint":
        return Footprint(self.bytes + other.bytes, self.grows or other.grows)

    def __or__(self, other: "Footprint") -> "Footprint":
        """The greater of both."""
        return Footprint(max(self.bytes, other.bytes), self.grows or other.grows)


def memory_of(trials: Iterable[PlannedTrial], server: str) -> Footprint:
    """What a Redis of this name holds at most at one time, of all these trials: their keys, rows and connections.

    A trial's keys are removed before the next one, but those of a block that is measured in rounds are there together;
    rows stay, and other rows for one place take the place of these.
    """
    keys, rows, together = Footprint(), dict[str, Footprint](), dict[tuple[str, int], Footprint]()
    for trial in trials:
        for data in trial.data:
            if data.server == server and data.commands:
                place = repr(data.commands)
                rows[place] = rows.get(place, Footprint()) | _of_rows(data)
        if trial.subjects:
            keys |= Footprint(grows=True)
        elif trial.target in (None, server) and PROTOCOLS[trial.plan.protocol].has_keys:
            if search_of(trial.group) is not None:
                keys |= _of_levels(of_load(trial.plan, trial.load))
            elif trial.in_rounds:
                block = (trial.group, trial.block)
                together[block] = together.get(block, Footprint()) + of_load(trial.plan, trial.load)
            else:
                keys |= of_load(trial.plan, trial.load)
    for stored in together.values():
        keys |= stored
    return sum(rows.values(), keys)


def _of_levels(one: Footprint) -> Footprint:
    """All levels of a search for loads, of which one holds so much: those that take turns are there together."""
    return Footprint(min(LEVELS_MAX * one.bytes, max(one.bytes, TOGETHER_BYTES_MAX)), one.grows)


def stored_by(plans: Sequence[Plan]) -> int:
    """Bytes that plans on one key space leave in a server together, at most, as far as that is known beforehand."""
    return _of_plans(plans).bytes if all(PROTOCOLS[plan.protocol].has_keys for plan in plans) else 0


def disk_of(trials: Iterable[PlannedTrial], server: str, *, binary_log: bool) -> int:
    """Bytes that the rows for a database's tables take there: half as much again as the bare rows, for its pages.

    Indexes beside the primary key are not in it. With a binary log every row is written once more.
    """
    rows: dict[str, int] = {}
    for trial in trials:
        for data in trial.data:
            if data.server == server and data.table is not None:
                bare = data.rows * (_row_bytes(data.columns) + PER_ITEM_BYTES)
                rows[data.table] = max(rows.get(data.table, 0), int(bare * (2.5 if binary_log else 1.5)))
    return sum(rows.values())


def of_load(plan: Plan, load: Plan | None) -> Footprint:
    """What a plan holds on a Redis at most, with what is stored for it before, and its connections."""
    stored = _of_plans([plan] if load is None else [load, plan])
    largest = max(_command_bytes(command, plan) for operation in plan.operations for command in operation.commands)
    reply = _document_bytes(plan)
    each = PER_CONNECTION_BYTES + int(GROWTH * plan.pipeline_depth * max(largest, reply))
    return stored + Footprint((plan.pool.connections + plan.receiving) * each)


def largest_command(plan: Plan) -> int:
    """Bytes of the arguments of the longest command that stores something, key and data; 0 if none does."""
    commands = (command for operation in plan.operations for command in operation.commands)
    stores = (command for command in commands if command.args[0].upper() not in STORES_NOTHING)
    return max((_command_bytes(command, plan) for command in stores), default=0)


def _of_plans(plans: Iterable[Plan]) -> Footprint:
    """What plans on one key space leave together."""
    replaced: dict[tuple[str, ...], int] = {}
    added, grows = 0, False
    for plan in plans:
        if plan.recording is not None:
            added += plan.recording.stored_bytes
            continue
        operations, known = _operations(plan)
        weights = sum(operation.weight for operation in plan.operations)
        for operation in plan.operations:
            executed = math.ceil(operations * operation.weight / weights)
            for command in operation.commands:
                if command.args[0].upper() in STORES_NOTHING:
                    continue
                place, times = _place(command), _different(_naming(command), plan)
                if times is None:
                    added += executed * _element_bytes(command, plan)
                    grows = grows or not known
                else:
                    stored = (min(times, executed) if known else times) * _stored_bytes(command, plan)
                    replaced[place] = max(replaced.get(place, 0), stored)
    return Footprint(sum(replaced.values(), added), grows)


def _place(command: ServerCommand) -> tuple[str, ...]:
    """What is the same of two commands of which the second stores in the place of the first."""
    name = command.args[0].upper()
    if name in VALUES:
        return command.args[1:2]
    return command.args[1::2] if name == "MSET" else command.args


def _naming(command: ServerCommand) -> Sequence[str] | None:
    """The arguments that say where a command stores; None: each time it is executed it may store more."""
    name, args = command.args[0].upper(), command.args
    if name in VALUES or name in RANGES:
        return args[1:2]
    if name == "MSET":
        return args[1::2]
    if name in FIELDS:
        return (*args[1:2], *args[2::2])
    first = MEMBERS.get(name)
    return None if first is None else (*args[1:2], *args[first:])


def _different(texts: Sequence[str] | None, plan: Plan) -> int | None:
    """Return how many different fillings these arguments have at most; None: as many as one likes."""
    places = (
        None
        if texts is None
        else {_alike(placeholder[0]) for text in texts for placeholder in _PLACE.finditer(text) if placeholder[1]}
    )
    if places is None:
        return None
    number = 1
    for place in places:
        uniform = _UNIFORM.fullmatch(place)
        if uniform is None and place != "{key}":
            return None
        number *= plan.keys.count if uniform is None else max(1, int(uniform[2]) - int(uniform[1]) + 1)
    return number


def _alike(place: str) -> str:
    """All keys of an operation are of the same key space."""
    return "{key}" if is_one_key(place) else place


def _operations(plan: Plan) -> tuple[int, bool]:
    """Return how many operations a plan does at most, and whether that is known; else a guess."""
    phases, model = plan.phases, plan.model
    length_s = phases.longest_s
    if isinstance(model, Open):
        rate_per_s = max([model.rate_per_s, *(step.rate_per_s for step in model.schedule)])
        return int(rate_per_s * length_s) + 1, True
    if isinstance(model, Closed) and model.operations is not None:
        return model.operations, True
    if plan.keys.distribution == "exactly_once":
        return plan.keys.count, True
    if model.think_time_ms > 0 and model.think_time == "constant":
        return int(model.users * (length_s * 1000 / model.think_time_ms + 1)), True
    return int(ASSUMED_RATE_PER_S * length_s), False


def _stored_bytes(command: ServerCommand, plan: Plan) -> int:
    """What one execution of a command stores, its key with it."""
    name, args = command.args[0].upper(), command.args
    if name in MEMBERS and _different(args[1:2], plan) == 1:
        return _element_bytes(command, plan)
    stored = PER_KEY_BYTES + FIRST_OF_KEY_BYTES.get(name, 0) + int(GROWTH * _command_bytes(command, plan))
    if name == "MSET":
        return stored + PER_KEY_BYTES * len(args[1::2])
    if name in FIELDS or name in MEMBERS:
        return stored + (PER_ITEM_BYTES if name in FIELDS else PER_ELEMENT_BYTES) * len(args[2:])
    if name in RANGES:
        return stored + _highest(args[2] if len(args) > 2 else "") // RANGES[name]
    if name.startswith("JSON."):
        literal = [text for text in args[2:] if not _PLACE.search(text)]
        return stored + PER_JSON_BYTES + PER_JSON_LITERAL * sum(map(len, literal))
    return stored


def _element_bytes(command: ServerCommand, plan: Plan) -> int:
    """What one more execution of a command adds; to a key of its own, if its key differs each time."""
    added = PER_ELEMENT_BYTES + int(GROWTH * _command_bytes(command, plan, first=2))
    if _different(command.args[1:2], plan) == 1:
        return added
    key = _text_bytes(command.args[1] if len(command.args) > 1 else "", plan)
    return added + PER_KEY_BYTES + FIRST_OF_KEY_BYTES.get(command.args[0].upper(), 0) + int(GROWTH * key)


def _highest(text: str) -> int:
    """The highest offset that an argument names; 0 where it cannot be determined."""
    uniform = _UNIFORM.fullmatch(text)
    number = uniform[2] if uniform else text
    return whole_number(number) or 0


def _command_bytes(command: ServerCommand, plan: Plan, first: int = 1) -> int:
    """The bytes of a command's arguments from the `first` on, at most."""
    return sum(_text_bytes(text, plan) for text in command.args[first:])


def _text_bytes(text: str, plan: Plan) -> int:
    """The bytes of an argument with its placeholders filled, at most."""
    documents = plan.documents
    sizes = {
        "key": len(plan.keys.prefix.encode()) + KEY_NUMBER_BYTES,
        "document": _document_bytes(plan),
        "changed": _document_bytes(plan),
        "value": documents.payload_bytes,
        "body": documents.payload_bytes,
        "field": documents.field_bytes,
        "field_json": documents.field_bytes + 2,
    }
    size = len(_PLACE.sub("", text).encode())
    for place in _PLACE.finditer(text):
        random = _RANDOM.fullmatch(place[0])
        name = place[1] or ""
        of_a_row = documents.payload_bytes if name.startswith("data.") else NUMBER_BYTES
        size += int(random[1]) if random else sizes.get("key" if is_one_key(place[0]) else name, of_a_row)
    return size


def _document_bytes(plan: Plan) -> int:
    return plan.documents.payload_bytes + DOCUMENT_BYTES


def _of_rows(data: RequiredData) -> Footprint:
    """The rows of a data set in keys: each command makes a key, or adds an element to one."""
    sizes = {name: _template_bytes(template) for name, template in data.columns.items()}
    json_bytes = _row_bytes(data.columns) + sum(len(name.encode()) + 6 for name in data.columns)
    each = 0
    for text in data.commands:
        name, key, *rest = (*text.split(), "", "")
        filled = int(GROWTH * sum(_filled_bytes(word, sizes, json_bytes) for word in rest))
        if _PLACE.search(key):
            filled += PER_KEY_BYTES + int(GROWTH * _filled_bytes(key, sizes, json_bytes))
        items = PER_ITEM_BYTES if name.upper() in FIELDS else PER_ELEMENT_BYTES
        each += filled + (PER_JSON_BYTES if name.upper().startswith("JSON.") else items * len(text.split()[2:]))
    return Footprint(data.rows * each)


def _filled_bytes(word: str, sizes: Mapping[str, int], json_bytes: int) -> int:
    size = len(_PLACE.sub("", word).encode())
    return size + sum(sizes.get(place[1], json_bytes) for place in _PLACE.finditer(word) if place[1])


def _row_bytes(columns: Mapping[str, str]) -> int:
    return sum(_template_bytes(template) + 1 for template in columns.values())


def _template_bytes(template: str) -> int:
    """A column's values: a template is no shorter than its numbers, and random letters come beside it."""
    return len(template.encode()) + sum(int(drawn[1]) for drawn in _RANDOM.finditer(template))
