"""How often a gate is red that should not be, and how often one that should be is missed, by simulation.

A gate's figure is the ratio of two starts, block by block, judged by the exact signed-rank test at its looks until it
is decided: the very functions of the judge. Noise is that of recorded gates of equal versions (`--recorded`: folders of
runs; each block's ln ratio of CPU a request without its median, with either sign: which of two equal versions is called
the head was a coin), or normal with `--spread`. The difference is planted on top of it.

At exactly the tolerance a red is wrong, and nowhere is it wronger: its share there is what the level promises. Figures
of one gate are taken to be independent, which is the worst case.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from result_lines import add_line

from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.plan.looks import gate_level, gate_looks

Floats = NDArray[np.float64]


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
    from loadstone.record.reading import read_run

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
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
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
