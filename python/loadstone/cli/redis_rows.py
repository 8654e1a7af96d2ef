"""The operations of `loadstone redis`: redis-benchmark's tests, memtier_benchmark's ratio and sizes, whole commands."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadstone.cli.operations import KNOWN, LoadRow, YamlMapping, mix, operation, redis_row, size_bytes
from loadstone.cli.redis_documents import OwnDocuments, with_documents
from loadstone.cli.redis_options import SIZE, RedisWork
from loadstone.safety.bounds.files import read_bytes
from loadstone.safety.errors import UserError
from loadstone.text.message import said
from loadstone.text.wording import listed, nearest

DEFAULT_TESTS = "get,set"
FILE_MAX_BYTES, LINES_MAX = 1_000_000, 500
SIZES_MAX = 16
"""A range of sizes is driven as so many sizes, evenly spread over it."""
DOCUMENT_BYTES = 122
"""What a value that names its own key and version takes beside its payload."""
_RANGE_LENGTHS = (100, 300, 500, 600)
_RATIO = re.compile(r"(\d{1,6}):(\d{1,6})", re.ASCII)
_WEIGHTED = re.compile(r"(\d{1,6})\s+(\S.*)", re.ASCII)
_SIZE_RANGE = re.compile(r"(\d{1,8})-(\d{1,8})", re.ASCII)
_PLACES = (
    (re.compile(r"\bkey:__rand_int__|__key__"), "{key}"),
    (re.compile(r"__data__"), "{value}"),
)
"""What the peers write for a key and a value."""
_RANDOM = "__rand_int__"
_SET, _GET = KNOWN["set"].operations[0], KNOWN["get"].operations[0]


def _range(length: int) -> LoadRow:
    load = {"name": "load", "commands": [{"args": "RPUSH {key} {value}", "expect": "integer", "repeat": length}]}
    return LoadRow(f"lrange_{length}", (operation(f"lrange-{length}", f"LRANGE {{key}} 0 {length - 1}", "any"),), load)


TESTS: dict[str, LoadRow] = {
    "ping": LoadRow("ping", (operation("ping", "PING", "any"),)),
    **KNOWN,
    "lpush": LoadRow("lpush", (operation("lpush", "LPUSH {key} {value}", "integer"),)),
    "rpush": LoadRow("rpush", (operation("rpush", "RPUSH {key} {value}", "integer"),)),
    **{f"lrange_{length}": _range(length) for length in _RANGE_LENGTHS},
    "mset": LoadRow(
        "mset", (operation("mset", "MSET " + " ".join(f"{{key}}:{n} {{value}}" for n in range(10)), "ok"),)
    ),
}
"""What `-t` takes, by redis-benchmark's names and ours."""
_GROUPS = {"lrange": [f"lrange_{length}" for length in _RANGE_LENGTHS], "ping_mbulk": ["ping"]}
_POPS = {"lpop": "LPUSH", "rpop": "RPUSH", "spop": "SADD", "zpopmin": "ZADD"}
_REMEDIES = {
    "ping_inline": said("the inline form is not sent; write -t ping"),
    "xadd": said(
        "streams are not driven by name; write {instead}",
        instead="--command 'XADD {key} MAXLEN ~ 1000 * field {value}'",
    ),
    **{
        pop: said(
            "it would soon find nothing; write a mix: {mix}",
            mix=f"--command '{push} {{key}} {'1 {value}' if push == 'ZADD' else '{value}'}' "
            f"--command '{pop.upper()} {{key}}'",
        )
        for pop, push in _POPS.items()
    },
}
"""Tests of redis-benchmark that are not driven under its name, and what to write."""


def redis_rows(work: RedisWork, documents: OwnDocuments | None, key_count: int) -> tuple[LoadRow, ...]:
    """The rows that are driven, with the user's documents if there are some. Raises UserError that names the option."""
    rows = _rows(work, key_count)
    if documents is not None:
        rows = with_documents(rows, documents, verify=work.verify)
    elif work.verify:
        rows = tuple(_verified(row) for row in rows)
    sizes = value_sizes(work)
    if sizes:
        rows = tuple(_sized(row, sizes, work) for row in rows)
    return tuple(replace(row, load=None) for row in rows) if work.no_load else rows


def payload_bytes(work: RedisWork, documents: OwnDocuments | None) -> int:
    """Return the bytes of `{value}`; if the value is verified, what is left for its payload. Raises UserError."""
    sizes = value_sizes(work)
    if sizes:
        total = sum(weight for _, weight in sizes)
        return max(2, round(sum(size * weight for size, weight in sizes) / total))
    if documents is not None:
        if work.size != SIZE:
            raise UserError("-d {size}: documents have their own sizes; leave it or --documents out", size=work.size)
        return documents.mean_bytes
    size = size_bytes("-d", work.size)
    if not work.verify:
        if size < 2:
            raise UserError("-d {size}: too small; write at least 2", size=work.size)
        return size
    least = DOCUMENT_BYTES + 2
    if work.size == SIZE:
        return 2
    if size < least:
        raise UserError(
            "-d {size}: with --verify a value names its key and version; write at least {least}",
            size=work.size,
            least=least,
        )
    return size - DOCUMENT_BYTES


def value_sizes(work: RedisWork) -> list[tuple[int, int]]:
    """Sizes with their weights; empty: all values have the size of -d. Raises UserError."""
    if work.size_range is None and work.size_list is None:
        return []
    if work.documents is not None:
        option = "--data-size-range" if work.size_range is not None else "--data-size-list"
        raise UserError("{option}: documents have their own sizes; leave it or --documents out", option=option)
    if work.size_range is not None and work.size_list is not None:
        raise UserError("--data-size-range, --data-size-list: leave one of them out")
    if work.verify:
        raise UserError("--verify: values that are verified have one size; write -d SIZE")
    return _sizes_between(work.size_range) if work.size_range is not None else _sizes_listed(work.size_list or "")


def _rows(work: RedisWork, key_count: int) -> tuple[LoadRow, ...]:
    given = {
        "-t": work.tests is not None,
        "--ratio": work.ratio is not None,
        "--command": bool(work.commands),
        "--commands": work.commands_file is not None,
    }
    options = [name for name, is_given in given.items() if is_given]
    if len(options) > 1:
        raise UserError("{options}: each says what is sent; leave all but one out", options=", ".join(options))
    if work.command_ratios and not work.commands:
        raise UserError("--command-ratio: belongs to a --command; write one for each of them")
    if work.load is not None and not (work.commands or work.commands_file):
        raise UserError("--load: -t and --ratio store what they need by themselves; leave it out")
    if work.ratio is not None:
        return (_of_ratio(work.ratio),)
    if work.commands:
        return (_of_commands(_weighted(work), work.load, key_count),)
    if work.commands_file is not None:
        return (_of_commands(_in_file(work.commands_file), work.load, key_count),)
    return _of_tests(work.tests or DEFAULT_TESTS)


def _of_tests(text: str) -> tuple[LoadRow, ...]:
    rows: dict[str, LoadRow] = {}
    for written in text.split(","):
        name = written.strip().lower()
        if name in _REMEDIES:
            raise UserError("{option}: {why}", option=f"-t {name}", why=_REMEDIES[name])
        for test in _GROUPS.get(name, [name]):
            if test not in TESTS:
                hint = nearest(test, TESTS)
                raise UserError(
                    "-t '{written}': no such test; {hint}known are: {tests}; or --command",
                    written=written,
                    hint=hint,
                    tests=listed(TESTS),
                )
            rows[test] = TESTS[test]
    return tuple(rows.values())


def _of_ratio(text: str) -> LoadRow:
    """memtier_benchmark's SETs to GETs."""
    match = _RATIO.fullmatch(text.strip())
    if match is None or not any(map(int, match.groups())):
        raise UserError("--ratio {text}: no ratio of SETs to GETs; write for example 1:10", text=text)
    sets, gets = map(int, match.groups())
    weighted = [(sets, _SET), (gets, _GET)]
    name = f"set:get {sets}:{gets}"
    return mix(name, [(weight, fields) for weight, fields in weighted if weight], _SET if gets else None)


def _weighted(work: RedisWork) -> list[tuple[int, str]]:
    if work.command_ratios and len(work.command_ratios) != len(work.commands):
        raise UserError(
            "--command-ratio: {ratios} for {commands} commands; write one for each --command, or none",
            ratios=len(work.command_ratios),
            commands=len(work.commands),
        )
    return list(zip(work.command_ratios or (1,) * len(work.commands), work.commands, strict=True))


def _in_file(path: Path) -> list[tuple[int, str]]:
    """A line a command, perhaps with its weight before it; `#` begins a comment. Raises UserError."""
    try:
        text = read_bytes(path, FILE_MAX_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or said("not a text in UTF-8 of at most 1 MB")
        raise UserError(
            "--commands {path}: cannot be read ({why}); name a file with a command a line", path=path, why=why
        ) from None
    lines = [line.strip() for line in text.splitlines()]
    commands = [line for line in lines if line and not line.startswith("#")]
    if not commands or len(commands) > LINES_MAX:
        raise UserError(
            "--commands {path}: {commands_count} commands; write 1 to {lines_max}, one a line",
            path=path,
            commands_count=len(commands),
            lines_max=LINES_MAX,
        )
    split = [(_WEIGHTED.fullmatch(line), line) for line in commands]
    weighted = [(int(match[1]), match[2]) if match else (1, line) for match, line in split]
    if not all(weight for weight, _ in weighted):
        raise UserError(
            "--commands {path}: a command has the weight 0; remove its line, or write 1 and more", path=path
        )
    return weighted


def _of_commands(weighted: Sequence[tuple[int, str]], stores: str | None, key_count: int) -> LoadRow:
    """One row of all of them. Raises UserError."""
    load = None if stores is None else _ours(stores, key_count)
    built = [(weight, _of_command(_ours(text, key_count), load)) for weight, text in weighted]
    stored = [row.load for _, row in built if row.load]
    if any(row != stored[0] for row in stored):
        raise UserError("--command: these need different things stored before; measure them apart by -t, or add --load")
    name = ", ".join(dict.fromkeys(row.name for _, row in built))
    row = mix(name[:60], [(weight, row.operations[0]) for weight, row in built], stored[0] if stored else None)
    return replace(row, modules=tuple(dict.fromkeys(module for _, row in built for module in row.modules)))


def _of_command(text: str, load: str | None) -> LoadRow:
    """A command by a short name, or written out."""
    known = TESTS.get(text.strip().lower())
    if known is not None and load is None:
        return known
    if known is not None:
        return replace(known, load=operation("load", load or "", "any"))
    return redis_row(text, load)


def _ours(text: str, keys: int) -> str:
    """A command with the peers' placeholders as ours."""
    for theirs, ours in _PLACES:
        text = theirs.sub(ours, text)
    return text.replace(_RANDOM, f"{{uniform 0..{keys - 1}}}")


def _verified(row: LoadRow) -> LoadRow:
    """Return the row with values that name their key and version, so that each reply is held to what was written."""
    names = {fields["name"] for fields in row.operations}
    if not names <= set(_VERIFIED):
        wrong = next(fields["name"] for fields in row.operations if fields["name"] not in _VERIFIED)
        raise UserError(
            "--verify: '{wrong}' has no value that could be verified; write -t get,set or --ratio", wrong=wrong
        )
    operations = tuple({**_VERIFIED[fields["name"]], "weight": fields.get("weight", 1)} for fields in row.operations)
    return replace(row, operations=operations, load=_VERIFIED["set"] if row.load else None)


_VERIFIED: dict[str, YamlMapping] = {
    "get": operation("get", "GET {key}", "document"),
    "set": operation(
        "set",
        "SET {key} {document}",
        "ok",
        writes="document",
        read_back={"args": "GET {key}", "expect": "document"},
    ),
}


def _sized(row: LoadRow, sizes: Sequence[tuple[int, int]], work: RedisWork) -> LoadRow:
    """Return the row with SETs of several sizes. Raises UserError."""
    option = "--data-size-range" if work.size_range is not None else "--data-size-list"
    names = [fields["name"] for fields in row.operations]
    if "set" not in names or not set(names) <= {"set", "get"}:
        raise UserError(
            "{option}: '{row}' stores no values of several sizes; write -t set or --ratio 1:10",
            option=option,
            row=row.name,
        )
    total = sum(weight for _, weight in sizes)
    weighted: list[tuple[float, YamlMapping]] = []
    for fields in row.operations:
        share = fields.get("weight", 1)
        if fields["name"] == "get":
            weighted.append((share, operation("get", "GET {key}", "any")))
            continue
        for size, weight in sizes:
            text = operation(f"set-{size}", f"SET {{key}} {{random {size} lowercase}}", "ok")
            weighted.append((share * weight / total, text))
    return replace(row, operations=tuple({**fields, "weight": weight} for weight, fields in weighted))


def _sizes_between(text: str) -> list[tuple[int, int]]:
    match = _SIZE_RANGE.fullmatch(text.strip())
    low, high = map(int, match.groups()) if match else (0, 0)
    if not 0 < low <= high:
        raise UserError("--data-size-range {text}: no range of sizes in bytes; write for example 32-1024", text=text)
    count = min(SIZES_MAX, high - low + 1)
    step = (high - low) / max(1, count - 1)
    return [(round(low + place * step), 1) for place in range(count)]


def _sizes_listed(text: str) -> list[tuple[int, int]]:
    """`32:80,1024:20`: 80 of 100 values have 32 bytes."""
    matches = [_RATIO.fullmatch(part.strip()) for part in text.split(",")]
    sizes = [(int(match[1]), int(match[2])) for match in matches if match is not None]
    good = len(sizes) == len(matches) and len(sizes) <= SIZES_MAX and all(size and weight for size, weight in sizes)
    if not good or len({size for size, _ in sizes}) < len(sizes):
        raise UserError(
            "--data-size-list {text}: no sizes with weights; write at most {sizes_max}, as 32:80,1024:20",
            text=text,
            sizes_max=SIZES_MAX,
        )
    return sizes
