"""How often a gate is red that should not be, and how often one that should be is missed, by simulation.

A gate's figure is the ratio of two starts, block by block, judged by the exact signed-rank test at its looks until it
is decided: the very functions of the judge. Noise is that of recorded gates of equal versions (`--recorded`: folders of
runs; each block's ln ratio of CPU a request without its median, with either sign: which of two equal versions is called
the head was a coin), or normal with `--spread`. The difference is planted on top of it.

At exactly the tolerance a red is wrong, and nowhere is it wronger: its share there is what the level promises. Figures
of one gate are taken to be independent, which is the worst case.

`--waiting`: what becomes of a loss that costs no CPU, as waiting for a lock does: in the rate alone, with the spreads
of rate and CPU that recorded gates of equal versions had (a file of `gate-live`). `green_before`: where one of rate and
CPU, if it is decided, suffices for green, whatever the other shows.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.common.result_lines import add_line, read_lines
from loadstone.addons.gate.result import FigureName, GateFigure, Standing
from loadstone.addons.gate.rule import GOOD, may_be_lost, verdict_of
from loadstone.addons.gate.schedule import gate_level, gate_looks
from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.judge.verdict import Side, Verdict

Floats = NDArray[np.float64]
SIDES = (Side(name="base"), Side(name="head"))


def recorded(folders: Sequence[Path]) -> Floats:
    """ln ratios of CPU a request, of blocks of gates of equal versions, around each gate's median."""
    found: list[Floats] = []
    for folder in folders:
        ratios = block_ratios(folder)
        if len(ratios) > 2:
            found.append(ratios - np.median(ratios))
    return np.concatenate(found)


def block_ratios(folder: Path) -> Floats:
    """ln of the ratio of CPU a request (head over base) of each block at full speed: that of its typical round."""
    from loadstone.judge.compare.round_figures import slices_of
    from loadstone.run_folder.reading import read_run

    by_block: dict[int, dict[str, Floats]] = {}
    for trial in read_run(folder).trials:
        if trial.group != "rate" or trial.block == 0:
            continue
        spent = [
            sum(part.turn_cpu_s or part.cpu_s or 0.0 for part in one.parts.values()) / max(1, one.turn_ok or one.ok)
            for one in slices_of(trial).values()
        ]
        by_block.setdefault(trial.block, {})[str(trial.condition["target"])] = np.log(np.array(spent))
    both = [sides for sides in by_block.values() if {"base", "head"} <= sides.keys()]
    return np.array(
        [
            float(np.median(sides["head"] - sides["base"]))
            for sides in both
            if len(sides["base"]) and np.isfinite(sides["head"] - sides["base"]).all()
        ]
    )


def simulate(
    noise: Floats, spread: float, shift: float, options: argparse.Namespace, rng: np.random.Generator
) -> Floats:
    """Of each gate: 1 if this figure makes it red at any look, -1 if it is known not to be slower, else 0."""
    alpha = gate_level(options.level, options.figures, sequential=True, in_rounds=False)
    looks = gate_looks(alpha)
    drawn = (
        rng.choice(noise, size=(options.gates, looks[-1])) * rng.choice((-1.0, 1.0), size=(options.gates, looks[-1]))
        if len(noise)
        else rng.normal(0, spread, size=(options.gates, looks[-1]))
    )
    margin = math.log1p(options.tolerance)
    found = np.zeros(options.gates)
    for look in looks:
        if look > options.blocks:
            break
        for begin in range(0, options.gates, 2000):
            part = slice(begin, begin + 2000)
            interval = signed_rank(shift + drawn[part, :look], alpha)
            low, high = np.asarray(interval.low), np.asarray(interval.high)
            open_ = found[part] == 0
            decided = np.where(low > margin, 1.0, np.where(high <= margin, -1.0, 0.0))
            found[part] = np.where(open_, decided, found[part])
    return found


ENDS = ("slower_low", "slower_high")


def spreads_of(rows: Sequence[Mapping[str, Any]], figures: int, rng: np.random.Generator) -> Floats:
    """Of each gate: the spread of a block's ln ratio of rate and of CPU, that gives such wide intervals."""
    widths: dict[tuple[int, float], float] = {}
    found = []
    for row in rows:
        by_name = {one["name"]: one for one in row["figures"]}
        both = [by_name[name] for name in ("rate", "cpu") if by_name.get(name, {}).get("slower_low") is not None]
        if row["version"] != "0" or len(both) < 2:
            continue
        spreads = []
        for one in both:
            alpha = gate_level(row.get("level", 0.001), figures, sequential=True, in_rounds=False)
            key = (one["units"], alpha)
            if key not in widths:
                interval = signed_rank(rng.normal(size=(400, one["units"])), alpha)
                widths[key] = float(np.median(np.asarray(interval.high) - np.asarray(interval.low)))
            low, high = (lost_ln(one["name"], one[end], of_base=row.get("of_base", False)) for end in ENDS)
            spreads.append((high - low) / widths[key])
        found.append(spreads)
    return np.array(found)


def lost_ln(name: FigureName, slower: float, *, of_base: bool) -> float:
    """The ln ratio that `slower` of a gate's figure is: a share of the base, in older rows of whichever was slower."""
    return -math.log1p(-slower) if name == "rate" and of_base else math.log1p(slower)


def figure_at(name: FigureName, interval: tuple[float, float, float], level: float, tolerance: float) -> GateFigure:
    """A figure with such an interval (ln), as the judge has it, but for what keeps an interval within the margin from
    being `same`."""
    estimate, low, high = interval
    verdict = Verdict(
        kind="undecided", a=SIDES[0], b=SIDES[1], metric=name, larger_is_faster=False, margin=tolerance, blocks=15,
        blocks_min=8, estimate=estimate, low=low, high=high, level=level,
    )  # fmt: skip
    margin = math.log1p(tolerance)
    found: Standing = "slower" if low > margin else "not_slower" if high <= margin else "undecided"
    lost = found == "undecided" and may_be_lost(verdict)
    return GateFigure(name=name, unit="ns", verdict=found, tolerance=tolerance, may_be_lost=lost)


def waiting(spreads: Floats, slower: float, options: argparse.Namespace, rng: np.random.Generator) -> Counter[str]:
    """How gates end whose rate alone is lower, by the rule of now and by that of before."""
    alpha = gate_level(options.level, options.figures, sequential=True, in_rounds=False)
    looks = [look for look in gate_looks(alpha) if look <= options.blocks]
    of_gates = spreads[rng.integers(len(spreads), size=options.gates)]
    shifts = np.array((math.log1p(slower), 0.0))
    ratios = rng.normal(size=(2, options.gates, looks[-1])) * of_gates.T[:, :, None] + shifts[:, None, None]
    now, before = ["open"] * options.gates, ["open"] * options.gates
    for look in looks:
        intervals = [signed_rank(one[:, :look], alpha) for one in ratios]
        ends = [np.stack([one.estimate, one.low, one.high], axis=1) for one in intervals]
        for gate in range(options.gates):
            both = [
                figure_at(name, tuple(of[gate]), 1 - alpha, options.tolerance)
                for name, of in zip(("rate", "cpu"), ends, strict=True)
            ]
            red, good = (any(one.verdict in of for one in both) for of in ({"slower"}, GOOD))
            doubtful = any(one.may_be_lost for one in both)
            if before[gate] == "open" and (red or (good and (not doubtful or look == looks[-1]))):
                before[gate] = "red" if red else "green"
            if now[gate] != "red":  # a green one goes on while rate or CPU is open
                verdict, _ = verdict_of(both)
                now[gate] = {"slower": "red", "same": "green", "faster": "green"}.get(verdict, "open")
    return Counter([*(f"{one}_now" for one in now), *(f"{one}_before" for one in before)])


def waiting_rows(options: argparse.Namespace, rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """A row for each surroundings of the recorded gates, and each loss."""
    recorded_gates = read_lines(options.waiting)
    surroundings = sorted({(str(row["place"]), bool(row["neighbour"])) for row in recorded_gates})
    for place, beside in surroundings:
        rows = [row for row in recorded_gates if (row["place"], row["neighbour"]) == (place, beside)]
        spreads = spreads_of(rows, options.figures, rng)
        for slower in (0.0, 0.05, 0.10, 0.20, 0.40):
            counted = waiting(spreads, slower, options, rng)
            shares = {
                name: counted[name] / options.gates for name in ("green_before", "green_now", "red_now", "open_now")
            }
            yield {
                "place": place,
                "neighbour": beside,
                "recorded_gates": len(spreads),
                "spread_of_rate": round(float(np.median(spreads[:, 0])), 4),
                "spread_of_cpu": round(float(np.median(spreads[:, 1])), 4),
                "waits": slower,
                "tolerance": options.tolerance,
                "gates": options.gates,
                "blocks": options.blocks,
                "level": options.level,
                **shares,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, nargs="*", default=[])
    parser.add_argument("--spread", type=float, default=0.028, help="of a block's ln ratio, without recorded noise")
    parser.add_argument("--level", type=float, default=0.001)
    parser.add_argument("--tolerance", type=float, default=0.03)
    parser.add_argument("--figures", type=int, default=4)
    parser.add_argument("--gates", type=int, default=20_000)
    parser.add_argument("--blocks", type=int, default=60, help="that the budget has room for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--waiting", type=Path, help="a file of gate-live: losses that cost no CPU, with its spreads")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    if options.waiting is not None:
        for found in waiting_rows(options, rng):
            print(found, flush=True)
            if options.results is not None:
                add_line(options.results, found)
        return 0
    noise = recorded(options.recorded) if options.recorded else np.array([])
    name = (
        f"{len(noise)} recorded blocks, spread {100 * noise.std():.1f} %"
        if len(noise)
        else f"normal, {100 * options.spread:.1f} %"
    )
    for slower in (0.0, 0.03, 0.05, 0.10, 0.15):
        every = (
            [simulate(noise, options.spread, math.log1p(slower), options, rng) for _ in range(options.figures)]
            if slower <= options.tolerance
            else [simulate(noise, options.spread, math.log1p(slower), options, rng)]
        )
        red = np.mean(np.max(every, axis=0) > 0)
        green = np.mean(np.max(every, axis=0) < 0)
        row = {
            "noise": name,
            "slower": slower,
            "gates": options.gates,
            "figures": len(every),
            "blocks": options.blocks,
            "level": options.level,
            "red": float(red),
            "green": float(green),
        }
        shares = f"red {100 * red:.3f} %, green {100 * green:.1f} %, of {options.gates:,}"
        print(f"{name}: slower by {100 * slower:g} %: {shares}", flush=True)
        if options.results is not None:
            add_line(options.results, row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
