"""Ways to write rows into a Redis of our own, in turns: ours, the engine, and redis-py's packing and pipeline.

    python bench/row_writers.py [--rows 400000] [--rounds 5]

Prints rows a second (median, lowest and highest), and the ratio to ours of the same round. The engine reads the rows
from a CSV file, whose making is not counted; it sends one command a row, over one connection.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from pathlib import Path

import redis

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.operations import Command, DataFile, Operation
from loadstone.experiment.plan.required import RequiredData
from loadstone.servers import registry
from loadstone.servers.control import Rows
from loadstone.servers.data_rows import rows_of
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.pipe import Pipe
from loadstone.servers.redis.rows import writing_of
from loadstone.servers.server import DeployContext

COLUMNS = {"id": "{number}", "text": "{random 60 lowercase}", "score": "{uniform 0..1000}"}
KINDS = {
    "string": "SET loadstone:post:{id} {text}",
    "hash": "HSET loadstone:post:{id} text {text} score {score}",
}
BATCH = 2000
AT_ONCE = 1000
"""Commands of the engine without a reply."""


def main() -> None:
    """Write the rows by each way in turn, and print how fast each was."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=400_000)
    arguments.add_argument("--rounds", type=int, default=5)
    asked = arguments.parse_args()
    rows = rows_of(RequiredData(name="posts", rows=asked.rows, columns=COLUMNS, server="store"), DeployContext())
    server = registry.server("store", {"kind": "embedded"})
    server.start(DeployContext())
    try:
        with server.control(60) as control, tempfile.TemporaryDirectory() as folder:
            assert isinstance(control, RedisControl)
            file = Path(folder) / "rows.csv"
            file.write_bytes(as_csv(rows))
            for kind, command in KINDS.items():
                print_rates(kind, rates(control, rows, ways(control, rows, command, file), asked.rounds))
    finally:
        server.stop()


def ways(control: RedisControl, rows: Rows, command: str, file: Path) -> dict[str, Callable[[], object]]:
    """By name, what writes all rows."""
    args = tuple(command.replace("{", "{data.").split(" "))
    plan = Plan(
        endpoints=(control.endpoint,),
        model=Closed(users=AT_ONCE, operations_per_user=rows.count // AT_ONCE, operations_more=rows.count % AT_ONCE),
        pool=Pool(connections=1),
        pipeline_depth=AT_ONCE,
        phases=Phases(warm_up_s=0, measure_s=60),
        threads=1,
        data=DataFile(path=str(file)),
        operations=(Operation(name="row", commands=(Command(args=args),)),),
    )
    return {
        "ours": lambda: writing_of((command,), rows).write(control, rows, lambda _: None),
        "engine": lambda: drive_alone(NativeDriver(), plan),
        "packed by redis-py": lambda: packed(control, rows, command),
        "pipeline of redis-py": lambda: [control.pipelined(batch) for batch in batches(rows, command)],
    }


def packed(control: RedisControl, rows: Rows, command: str) -> None:
    """Our pipe, with commands that redis-py packs."""
    connection = redis.Connection()
    with Pipe(control) as pipe:
        for batch in batches(rows, command):
            pipe.send(b"".join(connection.pack_commands(batch)), len(batch))


def batches(rows: Rows, command: str) -> Iterator[list[tuple[bytes, ...]]]:
    """The commands of some rows at a time, the words of each apart; filled by column, as ours are."""
    width = len(rows.columns)
    for lines in rows.lines():
        for first in range(0, len(lines), BATCH):
            fields = b"\t".join(lines[first : first + BATCH]).split(b"\t")
            columns = {name.encode(): fields[place::width] for place, name in enumerate(rows.columns)}
            words = [filled(word, columns) for word in command.encode().split(b" ")]
            yield list(zip(*words, strict=False))


def filled(word: bytes, columns: dict[bytes, list[bytes]]) -> Iterable[bytes]:
    """A word for each row."""
    before, brace, name = word.removesuffix(b"}").partition(b"{")
    return [before + value for value in columns[name]] if brace else repeat(word)


def rates(
    control: RedisControl, rows: Rows, ways: dict[str, Callable[[], object]], rounds: int
) -> dict[str, list[float]]:
    """Rows a second of each way, round by round."""
    by_way: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, write in ways.items():
            control.remove_beginning("loadstone:")
            begun_s = time.perf_counter()
            write()
            by_way[name].append(rows.count / (time.perf_counter() - begun_s))
            assert control.keys() == rows.count, name
    return by_way


def print_rates(kind: str, by_way: dict[str, list[float]]) -> None:
    """A line a way."""
    for name, all_rates in by_way.items():
        ratios = [rate / ours for rate, ours in zip(all_rates, by_way["ours"], strict=True)]
        print(f"{kind:<7}{name:<21}{spread(all_rates, ',.0f')} rows/s, ratio {spread(ratios, '.2f')}", flush=True)


def spread(figures: list[float], form: str) -> str:
    """Median, lowest and highest."""
    return f"{statistics.median(figures):{form}} ({min(figures):{form}} to {max(figures):{form}})"


def as_csv(rows: Rows) -> bytes:
    """The rows as the engine reads them; no text of `COLUMNS` needs quotes."""
    lines = [",".join(rows.columns).encode()]
    lines += [line.replace(b"\t", b",") for part in rows.lines() for line in part]
    return b"\n".join([*lines, b""])


if __name__ == "__main__":
    main()
