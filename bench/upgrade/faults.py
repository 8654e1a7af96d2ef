"""`loadstone upgrade-check` on pairs that are equal, and on pairs with a planted fault: what it answers.

python -m bench.upgrade.faults [--equal 20] [--commands 60000] [--file FILE]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

Command = tuple[object, ...]
CHANGED = Path(__file__).with_name("changed_replies.py")
"""A Redis that changes a reply in so many, as a program."""
FAULTS = {
    "1 reply in 10,000 changed": f"{CHANGED}",
    "memory full at 4 MB": "redis,maxmemory=4mb",
    "keys thrown away at 4 MB": "redis,maxmemory=4mb,maxmemory-policy=allkeys-random",
    "one database": "redis,databases=1",
    "values of at most 1 MB": "redis,proto-max-bulk-len=1mb",
    "hashes as tables": "redis,hash-max-listpack-entries=0",
    "sorted sets as tables": "redis,zset-max-listpack-entries=0",
    "lists of one element a node": "redis,list-max-listpack-size=1",
    "each write on disk": "redis,appendonly=yes,appendfsync=always",
    "Valkey": "valkey",
}


def commands(number: int, seed: int) -> Iterator[Command]:
    drawn = random.Random(seed)
    for value in range(number):
        key = f"k{drawn.randrange(2000)}"
        yield drawn.choice(
            [
                ("SET", key, "v" * drawn.randrange(400)),
                ("GET", key),
                ("INCR", f"n{key}"),
                ("HSET", f"h{key}", f"f{drawn.randrange(40)}", value),
                ("HGET", f"h{key}", f"f{drawn.randrange(40)}"),
                ("HGETALL", f"h{key}"),
                ("ZADD", f"z{key}", drawn.randrange(1000), f"m{drawn.randrange(60)}"),
                ("ZRANGE", f"z{key}", 0, -1),
                ("LPUSH", f"l{key}", value),
                ("LRANGE", f"l{key}", 0, 9),
                ("SADD", f"s{key}", f"m{drawn.randrange(60)}"),
                ("SISMEMBER", f"s{key}", f"m{drawn.randrange(60)}"),
                ("SET", f"e{key}", 1, "PX", drawn.randrange(1, 60_000)),
                ("GET", f"e{key}"),
                ("DEL", f"l{key}"),
                ("OBJECT", "ENCODING", f"h{key}"),
            ]
        )
        if value % 5000 == 0:
            yield ("SET", "large", "x" * 1_500_000)


def record(file: Path, number: int, seed: int) -> None:
    """A recording of MONITOR, a part of it on another database."""
    with file.open("w") as out:
        for at, command in enumerate(commands(number, seed)):
            database = 3 if at % 1000 < 10 else 0
            words = " ".join(f'"{word}"' for word in command)
            out.write(f"{1_700_000_000 + at / 1000:.6f} [{database} 127.0.0.1:5000] {words}\n")


def check(b: str, traffic: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "loadstone", "upgrade-check", "redis", b, "--traffic", traffic, "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    if not done.stdout:
        return {"status": done.returncode, "error": done.stderr.splitlines()[-1][:200]}
    found = json.loads(done.stdout)
    worst = [one["name"] for one in found["commands"] if one["differ"] + one["only_a_fails"] + one["only_b_fails"]]
    kept = ("answer", "sent", "compared", "differ", "unclear", "data_bytes", "cpu")
    return {"status": done.returncode, "commands": worst, **{name: found[name] for name in kept}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--equal", type=int, default=20)
    parser.add_argument("--commands", type=int, default=60_000)
    parser.add_argument("--file", type=Path, default=Path("runs/upgrade-faults.jsonl"))
    asked = parser.parse_args()
    asked.file.parent.mkdir(parents=True, exist_ok=True)
    plan = [("equal", "redis", seed) for seed in range(asked.equal)]
    plan += [(fault, b, 100 + seed) for seed, (fault, b) in enumerate(FAULTS.items())]
    with asked.file.open("w") as out, tempfile.TemporaryDirectory() as folder:
        for what, b, seed in plan:
            traffic = Path(folder) / "monitor.log"
            record(traffic, asked.commands, seed)
            row = {"date": date.today().isoformat(), "pair": what, "seed": seed, **check(b, traffic)}
            print(json.dumps(row), file=out, flush=True)
            print(json.dumps(row)[:200], file=sys.stderr)


if __name__ == "__main__":
    main()
