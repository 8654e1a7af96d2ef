"""Every client library on servers of known truth: quantiles, differences, counts, and kill -9. A row a client.

    python -m bench.engine.clients [go-redis jedis ...] [--column slower] [--json FILE]

For each driver (none named: every library, in each way in which an operation gets its connection):

freezing    400 operations a second, open model, 8 connections, on a server that answers at once and stands still for
            .5 s in every 2.5 s. The true P99 follows from the intended times. Limit: 2 %.
slower      4 users on a server that takes 10 ms, and on one that takes 10 % more, in turn (A B B A): how much longer
            the library says that the median operation took. Limit: 1 point.
counts      GET, SET and updates at a pool of 1, 8 and 64: sent = ok + errors + timeouts + in flight, and each command
            counted by the driver is what the server's commandstats has. The limit is 0.
kill -9     in the middle of a load: it is found, with its reason, and no process stays.

JVMs are hardly warmed up: none of it is a matter of speed. The exit status is 1 if anything is beyond its limit.
"""

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import fmean

from loadstone.addons.driver_contract import faults, sent
from loadstone.addons.driver_contract.lab import VALUE, Lab, NotClaimed, Wrong, lab_of, null_server
from loadstone.drivers.native import require_release_engine
from loadstone.drivers.outcome import OperationRecord
from loadstone.experiment.plan.drive_plan import Closed, Open, Phases, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.spec.driver_names import resolved
from loadstone.machine.placement import place
from loadstone.programs.clients.chosen import ChosenDriver, chosen_driver
from loadstone.safety.errors import LoadstoneError
from loadstone.servers.server import DeployContext

EVERY = ("go-redis", "jedis", "lettuce", "redis-py", "redis-py:mode=asyncio", "ioredis", "ioredis:pool=exclusive")
LEAST_WARM_UP_S = 0.5
RATE_PER_S, FREEZE_EVERY_S, FREEZE_S, PERIODS = 400, 2.5, 0.5, 4
P99_OFF = 0.02
DELAY_US, SLOWER = 10_000, 0.10
SLOWER_OFF = 0.01
PINNED = place()


def true_p99_s() -> float:
    """Of the response times over whole periods; who is intended in a freeze is answered at its end."""
    step_s, open_s = 1 / RATE_PER_S, FREEZE_EVERY_S - FREEZE_S
    intended = (number * step_s % FREEZE_EVERY_S for number in range(round(FREEZE_EVERY_S * RATE_PER_S)))
    took = sorted(FREEZE_EVERY_S - at_s if at_s >= open_s else 0.0 for at_s in intended)
    return took[-(-len(took) * 99 // 100) - 1]


def driven(lab: Lab, endpoint: Endpoint, **changed: object) -> OperationRecord:
    """What the library says of a load of GETs."""
    plan = lab.plan(VALUE, endpoint=endpoint, verify=Verify(count_mismatch=False, read_back_max=0), **changed)
    return lab.drive(plan.model_copy(update={"cpus": PINNED.generator_cpus})).operations["get"]


def freezing(lab: Lab) -> tuple[str, bool]:
    """The P99 of the open model beside the true one."""
    phases = Phases(warm_up_s=LEAST_WARM_UP_S, measure_s=PERIODS * FREEZE_EVERY_S, drain_s=2.0)
    with null_server(lab, freeze_every_s=FREEZE_EVERY_S, freeze_s=FREEZE_S) as endpoint:
        load = {"model": Open(rate_per_s=RATE_PER_S), "pool": Pool(connections=8), "interval_s": 1.0}
        found_s = driven(lab, endpoint, phases=phases, **load).response_ns.p99 / 1e9
    off = found_s / true_p99_s() - 1
    return f"{found_s * 1e3:.1f} / {true_p99_s() * 1e3:.1f} ms, {off:+.1%}", abs(off) <= P99_OFF


def slower(lab: Lab) -> tuple[str, bool]:
    """How much longer half of the operations take on a server that takes 10 % longer."""
    took_ms: dict[float, list[float]] = {DELAY_US: [], DELAY_US * (1 + SLOWER): []}
    plain, more = took_ms
    phases = Phases(warm_up_s=LEAST_WARM_UP_S, measure_s=1.0, drain_s=2.0)
    for delay_us in (plain, more, more, plain):
        with null_server(lab, delay_us=delay_us) as endpoint:
            found = driven(lab, endpoint, model=Closed(users=4), phases=phases)
            took_ms[delay_us].append(found.service_ns.p50 / 1e6)
    a, b = fmean(took_ms[plain]), fmean(took_ms[more])
    return f"{a:.2f} to {b:.2f} ms, {b / a - 1:+.1%}", abs(b / a - 1 - SLOWER) <= SLOWER_OFF


def counted(lab: Lab) -> tuple[str, bool]:
    """Operations at each pool size, all of which the server counted, too."""
    return ", ".join(f"{sent.operations_at(lab, pool):,}" for pool in sent.POOLS), True


def killed(lab: Lab) -> tuple[str, bool]:
    """What it is said to have died of."""
    return faults.killed(lab), True


Column = Callable[[Lab], tuple[str, bool]]
COLUMNS: dict[str, Column] = {
    f"P99 on a server that stands still for {FREEZE_S:g} s in {FREEZE_EVERY_S:g} s: found / true": freezing,
    "10 % slower: median service time": slower,
    "operations at pool 1, 8, 64, each as the server counted": counted,
    "kill -9": killed,
}


def cells(lab: Lab, columns: Iterable[Column]) -> Iterator[tuple[str, bool]]:
    """A text for each column, and whether it is within its limit."""
    for column in columns:
        try:
            yield column(lab)
        except (NotClaimed, Wrong, LoadstoneError) as wrong:
            yield f"FAILED: {wrong}", False


def hardly_warmed(word: str) -> ChosenDriver:
    chosen = chosen_driver(resolved(word, Path()))
    warm_up_s = min(chosen.manifest.warm_up_s, LEAST_WARM_UP_S)
    return dataclasses.replace(chosen, manifest=chosen.manifest.model_copy(update={"warm_up_s": warm_up_s}))


def main() -> None:
    """Print a row for each client."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drivers", nargs="*", metavar="DRIVER")
    parser.add_argument("--column", default="", help="only those with this in their name")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    columns = {name: column for name, column in COLUMNS.items() if options.column in name}
    require_release_engine()
    rows: dict[str, list[str]] = {}
    good = True
    print(f"| client | {' | '.join(columns)} |\n|{'---|' * (1 + len(columns))}", flush=True)
    for word in options.drivers or EVERY:
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="loadstone-clients-") as work:
            context = DeployContext(work_root=Path(work), log_folder=Path(work) / "logs")
            with lab_of(hardly_warmed(word), Path(work), context) as lab:
                found = list(cells(lab, columns.values()))
        rows[word] = [text for text, _ in found]
        good = good and all(within for _, within in found)
        print(f"| `{word}` | {' | '.join(rows[word])} |", flush=True)
        print(f"{word}: {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(not good)


if __name__ == "__main__":
    main()
