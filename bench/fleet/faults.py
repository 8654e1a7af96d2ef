"""What breaks in a fleet, many times each: what becomes of the run, its trials, its load and its processes.

Redis, a scheduler and two agents stand on hosts of their own (`fleet.namespaces`); a command drives three trials of
4 s at 400 SETs a second, of 7 s where a lease is to end the load, and in its second trial the fault comes. Each is
judged by what others saw: every SET by Redis's MONITOR, with the address that it came from; what is left by the marks
that processes inherit in their environment, and by the namespaces; trials by the lines of trials.jsonl before and
after; the rest by the command's status and the words that it wrote.

    kept      the lines of the trials that were finished are in the folder as they were
    load      no SET of an agent that lost its command is later than 5 s after that
    left      no process of the command is left, and none of an agent that ended; no engine 45 s after its command
    reason    what the trial, or the command, names
    status    of the command
    trials    their verdicts and agents

    scripts/bench fleet-faults [--times 10] [--beside 3] [--only WORDS] [--out FILE]

SIGTERM ends it after what is going on; with the same --out it goes on later.
"""

import argparse
import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from bench.fleet.cases import FAULTS
from bench.fleet.judge import judged
from bench.fleet.lab import Lab


def work() -> None:
    """A lab that does what it is told by a line each."""
    with contextlib.ExitStack() as held:
        lab: Lab | None = None
        for line in sys.stdin:
            one = FAULTS[line.strip()]
            try:
                if lab is None:
                    lab = held.enter_context(Lab.made())
                row = judged(lab, one)
            except Exception as error:  # a lab that is beside itself: a new one for the next
                row = {
                    "fault": one.name,
                    "right": False,
                    "wrong": ["trial"],
                    "said": f"{type(error).__name__}: {error}",
                }
                held.close()
                time.sleep(3.0)  # the kernel removes its hosts a little later
                lab = None
            print(json.dumps(row), flush=True)


def main() -> None:
    """All faults, so often, in labs side by side."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, help="how often each (10; 3 where one takes more than a minute)")
    parser.add_argument("--beside", type=int, default=3, help="fleets side by side (3)")
    parser.add_argument("--only", default="", help="faults whose name has these words")
    parser.add_argument("--out", type=Path, help="a line each is added here; what stands there is not done again")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work()
        return
    wanted = [one for one in FAULTS.values() if asked.only in one.name]
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    rows = (
        [] if asked.out is None or not asked.out.exists() else list(map(json.loads, asked.out.read_text().splitlines()))
    )
    done = {one.name: sum(row["fault"] == one.name for row in rows) for one in wanted}
    number = {one.name: min(one.times, asked.times or one.times) for one in wanted}
    for turn in range(max(number.values())):
        for one in sorted(wanted, key=lambda one: one.times):
            if done[one.name] <= turn < number[one.name]:
                todo.put(one.name)
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())
    telling = threading.Lock()

    def lab() -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "bench.fleet.faults", "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            with contextlib.suppress(queue.Empty):
                while not enough.is_set():
                    child.stdin.write(todo.get_nowait() + "\n")
                    child.stdin.flush()
                    row = json.loads(child.stdout.readline())
                    with telling:
                        rows.append(row)
                        _told(row, asked.out)
            child.stdin.close()

    labs = [threading.Thread(target=lab) for _ in range(asked.beside)]
    for each in labs:
        each.start()
    for each in labs:
        while each.is_alive():  # a signal is to be noticed meanwhile
            each.join(0.5)
    for one in wanted:
        own = [row for row in rows if row["fault"] == one.name]
        last = [at for row in own for at in row.get("last_load_after_s", {}).values()]
        named = sorted(row["named_after_s"] for row in own if row.get("named_after_s") is not None)
        print(
            f"{one.name:<52} {sum(row['right'] for row in own):>2} of {len(own):<2}"
            f" {'' if not last else f'last load {max(last):5.2f} s':<18}"
            f" {'' if not named else f'named {named[0]:.2f} to {named[-1]:.2f} s'}"
        )
    sys.exit(0 if all(row["right"] for row in rows) else 1)


def _told(row: dict[str, Any], out: Path | None) -> None:
    print(f"{row['fault']}: {'right' if row['right'] else 'WRONG: ' + ', '.join(row['wrong'])}", flush=True)
    if out is not None:
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
