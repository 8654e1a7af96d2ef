"""How often verdicts by rate and by cost mislead together, and what intervals of costs hold, on recorded slices.

    scripts/bench cost-level [--families 2500] [--slices FILE] [--out FILE]
    scripts/bench cost-level --record FILE --state calm|busy|disturbed [--rounds 250]

Recorded are rounds of one Redis, 8 users: SET of 1 kB twice (equal conditions), HSET and JSON.SET of the same document.
calm: nothing else was to do. busy: other programs used four fifths of both CPUs, as it came. disturbed: busy loops that
came and went on every CPU, and a compiler, in addition (`disturbance.py`).

Level: families of 1 and 4 pairs of slices that are alike, each judged by rate and by cost at every look, as a run
judges. A family begins at a random round; which slice of a pair is A is drawn anew. Per cent of families in which any
pair is called different at any look by any metric: at most 5.

Coverage: windows of 20 to 108 rounds of two different conditions that others disturbed, and how many of their intervals
hold the calm ratio (of all calm rounds): those of the slices as they are, those without others on the machine, and
those that are printed, which hold what runs differ by, too.
"""

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.common.disturbance import Disturbance
from bench.judge.simulated import share_of
from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.slices import Slice
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.rounds import SETTLE_S, SLICE_S
from loadstone.judge.cost import NO_OTHERS, Turns, reach_of, wider, without_others
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.machine.placement import place
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

ROOT = Path(__file__).parents[2]
SLICES = ROOT / "bench" / "results" / "slices-of-costs-2026-11-26.jsonl"
STATES = ("calm", "busy", "disturbed")
EQUAL = ("set", "twin")
HSET = (
    "HSET", "{key}", "id", "{id}", "version", "{version}", "type", "document", "author", "loadstone", "state",
    "current", "field", "{field}", "body", "{body}",
)  # fmt: skip
OPERATIONS = {
    "set": ServerCommand(args=("SET", "{key}", "{document}"), expect="ok"),
    "twin": ServerCommand(args=("SET", "{key}", "{document}"), expect="ok"),
    "hash": ServerCommand(args=HSET, expect="integer"),
    "json": ServerCommand(args=("JSON.SET", "{key}", "$", "{document}"), expect="ok"),
}
FIGURES = ("ok", "seconds", "cpu_s", "others", "waited_s")
"""Of a slice: correct replies, its length, CPU time of Redis, share of the CPUs that others used, and for how long
Redis was ready to run and had no CPU."""
PAIRS = (("set", "hash"), ("set", "json"), ("hash", "json"))
FAMILIES = (1, 4)
WINDOWS = (20, 32, 48, 72, 108)
BLOCK_ROUNDS = 25
USERS = 8
FALSE_MAX, COVERAGE_MIN = 0.05, 0.95
NS = 1e9

Floats = NDArray[np.float64]


# Recording


def record(path: Path, rounds: int, state: str) -> None:
    """Append so many rounds; a line a round, with `FIGURES` of each condition."""
    require_release_engine()
    dice, where = random.Random(path.name), place()
    server = registry.make_server("redis", {"kind": "embedded", "modules": ["json"]})
    endpoint = server.start(DeployContext(cpus=where.server_cpus))
    try:
        with path.open("a") as file:
            _drive(endpoint, server.pids, 8, dice)
            for block in range(-(-rounds // BLOCK_ROUNDS)):
                with ExitStack() as held:
                    if state == "disturbed":
                        held.enter_context(Disturbance((*where.server_cpus, *where.generator_cpus)))
                    for line in _drive(endpoint, server.pids, BLOCK_ROUNDS, dice):
                        file.write(json.dumps({"state": state, "block": block} | line) + "\n")
    finally:
        server.stop()


def _drive(
    endpoint: Endpoint, pids: Mapping[str, int], rounds: int, dice: random.Random
) -> Iterator[dict[str, object]]:
    plans = [_plan(endpoint, name, side, dice.randrange(2**40)) for side, name in enumerate(OPERATIONS)]
    orders = tuple(tuple(dice.sample(range(len(plans)), len(plans))) for _ in range(rounds))
    parts = tuple({"redis": tuple(pids.values())} for _ in plans)
    options = RoundsOptions(slice_s=SLICE_S - SETTLE_S, settle_s=SETTLE_S, orders=orders, parts=parts)
    records = NativeDriver().drive(plans, lambda *_: None, options)
    if any(one.stopped or len(one.slices) != rounds for one in records):
        sys.exit(f"a drive ended early: {[one.stopped for one in records]}")
    for number in range(rounds):
        figures = [_figures(one.slices[number], len(one.cpus)) for one in records]
        yield {"round": number} | dict(zip(OPERATIONS, figures, strict=True))


def _figures(found: Slice, cpus: int) -> list[float]:
    part, seconds = found.parts["redis"], found.end_s - found.begin_s
    spent_s = part.cpu_s or 0.0
    others = ((found.cpus_busy_s or 0.0) - found.cpu_s - spent_s) / (cpus * seconds)
    waited_s = part.main_wait_s or 0.0
    return [found.ok, round(seconds, 6), round(spent_s, 7), round(min(1.0, max(0.0, others)), 4), round(waited_s, 7)]


def _plan(endpoint: Endpoint, name: str, side: int, seed: int) -> Plan:
    return Plan(
        seed=seed,
        endpoints=(endpoint,),
        cpus=place().generator_cpus[:1],
        model=Closed(users=USERS),
        pool=Pool(connections=USERS),
        phases=Phases(warm_up_s=0.05, measure_s=1.0, drain_s=1.0),
        operations=(Operation(name=name, commands=(OPERATIONS[name],), writes="document"),),
        keys=Keys(prefix=f"loadstone:cost:{side}:", count=1000),
        documents=Documents(payload_bytes=1000),
        verify=Verify(count_mismatch=False, read_back_max=0),
    )


# Judging


@dataclass(frozen=True)
class Recorded:
    """Of one condition in one state, in the order of time."""

    ok: Floats
    seconds: Floats
    spent_ns: Floats
    others: Floats

    def at(self, rounds: NDArray[np.intp]) -> "Recorded":
        """These rounds."""
        return Recorded(self.ok[rounds], self.seconds[rounds], self.spent_ns[rounds], self.others[rounds])


def read(path: Path) -> dict[tuple[str, str], Recorded]:
    """By state and condition; rounds in which a condition had no reply are left out for all of them."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    columns: dict[tuple[str, str], Recorded] = {}
    for state in STATES:
        of_state = [line for line in lines if line["state"] == state]
        names = [name for name in OPERATIONS if of_state and name in of_state[0]]
        whole = [line for line in of_state if all(line[name][0] and line[name][2] for name in names)]
        for name in names:
            ok, seconds, cpu_s, others, _ = np.array([line[name] for line in whole], dtype=np.float64).T
            columns[state, name] = Recorded(ok, seconds, NS * cpu_s, others)
    return columns


def by_rate(a: Recorded, b: Recorded, settings: Settings) -> Evidence:
    """As a run judges goodput."""
    return round_evidence(PairSlices(a.ok, a.seconds, b.ok, b.seconds), settings)


def by_cost(a: Recorded, b: Recorded, settings: Settings, *, corrected: bool = True, runs: bool = True) -> Evidence:
    """As a run judges CPU a request; without the correction for others, or without what runs differ by."""
    slices, others = [PairSlices(a.spent_ns, a.ok, b.spent_ns, b.ok)], NO_OTHERS
    if corrected:
        slices, others = without_others([Turns(slices[0], a.others, b.others)])
    evidence = round_evidence(slices[0], settings)
    return wider(evidence, reach_of(others, settings, runs=runs))


def claims(evidence: Evidence, settings: Settings) -> bool:
    """Whether it says that there is a difference, however small."""
    verdict = verdict_of(evidence, settings)
    return verdict.kind in ("faster", "mixed") or verdict.negligible


def settings_of(pairs: int) -> tuple[Settings, Settings]:
    """For rates, and for costs of one part."""
    rate = Settings(metric="goodput_per_s", unit="round", alpha=ROUND_LOOK_ALPHA, pairs=pairs, trial_s=SLICE_S)
    cost = replace(rate, metric="cpu_ns.redis", larger_is_faster=False)
    return rate, cost


def misleads(pairs: Sequence[tuple[Recorded, Recorded]], runs: bool) -> tuple[bool, bool]:
    """Whether any of a family's pairs, which are alike, is called different by rate, and by cost."""
    rate, cost = settings_of(len(pairs))
    wrong = [False, False]
    for a, b in pairs:
        for look in (look for look in ROUND_LOOKS if look <= len(a.ok)):
            rounds = np.arange(look)
            wrong[0] |= claims(by_rate(a.at(rounds), b.at(rounds), rate), rate)
            wrong[1] |= claims(by_cost(a.at(rounds), b.at(rounds), cost, runs=runs), cost)
    return wrong[0], wrong[1]


def alike(
    recorded: dict[tuple[str, str], Recorded], state: str, rng: np.random.Generator, rounds: int
) -> tuple[Recorded, Recorded]:
    """So many rounds in a row of the two conditions that are alike, from a random one on; A and B drawn anew."""
    a, b = (recorded[state, name] for name in EQUAL)
    at = (rng.integers(len(a.ok)) + np.arange(rounds)) % len(a.ok)
    a, b, turn = a.at(at), b.at(at), rng.random(rounds) < 0.5

    def mixed(first: Recorded, second: Recorded) -> Recorded:
        names = ("ok", "seconds", "spent_ns", "others")
        return Recorded(*(np.where(turn, getattr(first, name), getattr(second, name)) for name in names))

    return mixed(a, b), mixed(b, a)


def level(recorded: dict[tuple[str, str], Recorded], families: int, seed: int) -> list[dict[str, Any]]:
    """A line a state and size of family."""
    lines: list[dict[str, Any]] = []
    for state in (state for state in STATES if (state, EQUAL[1]) in recorded):
        for pairs in FAMILIES:
            rng = np.random.default_rng([seed, STATES.index(state), pairs])
            most = min(ROUND_LOOKS[-1], len(recorded[state, "set"].ok))
            drawn = ([alike(recorded, state, rng, most) for _ in range(pairs)] for _ in range(families))
            found = np.array([misleads(family, runs=False) for family in drawn])
            either = share_of(np.asarray(found.any(axis=1), dtype=np.bool_))
            lines.append(
                {"what": "level", "state": state, "pairs": pairs, "families": families}
                | {"rate": float(found[:, 0].mean()), "cost": float(found[:, 1].mean())}
                | {"either": [either.share, either.low, either.high]}
            )
            print(json.dumps(lines[-1]), flush=True)
    return lines


def coverage(recorded: dict[tuple[str, str], Recorded], windows: int, seed: int) -> list[dict[str, Any]]:
    """A line a state, pair and way to judge: how many intervals of windows hold the calm ratio."""
    lines: list[dict[str, Any]] = []
    _, settings = settings_of(1)
    ways = {"slices": (False, False), "without others": (True, False), "as printed": (True, True)}
    for state, (a, b) in itertools.product(STATES[1:], PAIRS):
        calm = by_cost(recorded["calm", a], recorded["calm", b], settings).estimate
        assert calm is not None
        rng = np.random.default_rng([seed, STATES.index(state), PAIRS.index((a, b))])
        most = len(recorded[state, a].ok)
        spans = [(rng.integers(most) + np.arange(rng.choice(WINDOWS))) % most for _ in range(windows)]
        for way, (corrected, runs) in ways.items():
            held, halves = [], []
            for span in spans:
                sides = recorded[state, a].at(span), recorded[state, b].at(span)
                found = by_cost(*sides, settings, corrected=corrected, runs=runs)
                if found.low is not None and found.high is not None:
                    held.append(found.low <= calm <= found.high)
                    halves.append((found.high - found.low) / 2)
            share = share_of(np.array(held, dtype=np.bool_))
            lines.append(
                {"what": "coverage", "state": state, "pair": f"{b} against {a}", "judged": way, "windows": len(held)}
                | {"holds": [round(one, 4) for one in (share.share, share.low, share.high)]}
                | {"calm": round(calm, 4), "half_width": round(float(np.median(halves)), 4)}
            )
            print(json.dumps(lines[-1]), flush=True)
    return lines


def main() -> int:
    """Record, or judge what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, help="append to this file, and judge nothing")
    parser.add_argument("--rounds", type=int, default=250)
    parser.add_argument("--state", choices=STATES, default="calm")
    parser.add_argument("--slices", type=Path, default=SLICES)
    parser.add_argument("--families", type=int, default=2500)
    parser.add_argument("--windows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append the lines there, too")
    options = parser.parse_args()
    if options.record is not None:
        record(options.record, options.rounds, options.state)
        return 0
    recorded = read(options.slices)
    lines = [
        *coverage(recorded, options.windows, options.seed),
        *level(recorded, options.families, options.seed),
    ]
    if options.out is not None:
        with options.out.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    wrong = [line for line in lines if line["what"] == "level" and line["either"][0] > FALSE_MAX]
    printed = [line for line in lines if line.get("judged") == "as printed"]
    held = sum(line["holds"][0] * line["windows"] for line in printed) / sum(line["windows"] for line in printed)
    print(f"intervals as printed that hold the calm ratio: {100 * held:.1f} %")
    if held < COVERAGE_MIN:
        wrong += printed
    for line in wrong:
        print(f"missed: {line}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
