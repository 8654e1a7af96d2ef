"""Two separate runs of the same thing: how often `loadstone compare` finds a difference that is not there.

Simulates pairs of runs under the five kinds of noise of `noise.py`, apart by five minutes of the
same machine's time or by hours, and judges them with the functions that judge real runs
(`statistics/two_sample.py`). Beside the five there is one with a drift six times slower than the one that the
method reckons with. `plain` is the rank-sum interval alone, as a statistics package gives it.
Exit status 1 if a false difference is found in more than 5.5 % of the pairs.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest

from bench.judge.noise import SCENARIOS, SLOT_S, Floats, Noise, rates
from loadstone.experiment.plan.look_schedule import FIXED_ALPHA
from loadstone.judge.statistics.two_sample import between_interval, drift_variance, rank_sum

FALSE_MAX = 0.055
BLOCKS = (18, 18)
CONDITIONS = (1, 2, 6)
EFFECTS = (0.10, 0.20, 0.30)
APART_S = 300
SLOW = replace(SCENARIOS[1], name="slow", drift_tau_s=3600.0)
CHUNK = 500


@dataclass(frozen=True)
class Outcome:
    """One kind of noise; shares of the pairs of runs."""

    scenario: str
    conditions: int
    apart: str
    runs: int
    plain: float
    """False differences by the rank-sum interval alone."""
    false: float
    half_width: float
    """Median half width of the interval, a log ratio."""
    observed: tuple[float, ...]
    """Decided in the right direction at each of EFFECTS."""

    def range(self) -> str:
        """The share of false differences with its 95 % range (Clopper & Pearson 1934)."""
        found = binomtest(round(self.false * self.runs), self.runs).proportion_ci(method="exact")
        return f"{100 * self.false:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def two_runs(
    noise: Noise, rng: np.random.Generator, runs: int, blocks: tuple[int, int], conditions: int, apart_s: float | None
) -> tuple[Floats, Floats]:
    """Log goodput of one condition in run A and in run B; `apart_s` None: so long that nothing is left of the drift."""
    first, second = blocks
    if apart_s is None:
        return tuple(np.log(rates(noise, rng, runs, number, conditions)[..., 0]) for number in blocks)  # type: ignore[return-value]
    between = round(apart_s / (SLOT_S * conditions))
    whole = np.log(rates(noise, rng, runs, first + between + second, conditions)[..., 0])
    return whole[:, :first], whole[:, first + between :]


def outcome(
    noise: Noise, rng: np.random.Generator, runs: int, blocks: tuple[int, int], conditions: int, apart_s: float | None
) -> Outcome:
    """How pairs of runs of the same thing are judged, and of one that really is faster."""
    pieces = [
        _piece(*two_runs(noise, rng, CHUNK, blocks, conditions, apart_s), conditions) for _ in range(runs // CHUNK)
    ]
    plain_low, plain_high, low, high = (np.concatenate(ends) for ends in zip(*pieces, strict=True))
    return Outcome(
        scenario=noise.name,
        conditions=conditions,
        apart="hours" if apart_s is None else f"{apart_s / 60:.0f} min",
        runs=len(low),
        plain=float(np.mean((plain_low > 0) | (plain_high < 0))),
        false=float(np.mean((low > 0) | (high < 0))),
        half_width=float(np.median(high - low)) / 2,
        observed=tuple(float(np.mean(low + np.log1p(effect) > 0)) for effect in EFFECTS),
    )


def _piece(a: Floats, b: Floats, conditions: int) -> tuple[Floats, Floats, Floats, Floats]:
    times_a, times_b = (SLOT_S * conditions * np.arange(logs.shape[-1], dtype=np.float64) for logs in (a, b))
    drift = drift_variance(a, times_a) + drift_variance(b, times_b)
    _, plain_low, plain_high = rank_sum(a, b, FIXED_ALPHA)
    _, low, high = between_interval(a, b, drift, FIXED_ALPHA)
    assert plain_low is not None
    assert plain_high is not None
    assert low is not None
    assert high is not None
    return plain_low, plain_high, low, high


def outcomes(
    runs: int,
    seed: int,
    blocks: tuple[int, int] = BLOCKS,
    conditions: Sequence[int] = CONDITIONS,
    scenarios: Sequence[Noise] = (*SCENARIOS, SLOW),
) -> Iterator[Outcome]:
    """All kinds of noise, numbers of conditions in a run, and distances between the runs."""
    for number, noise in enumerate(scenarios):
        for count in conditions:
            for apart_s in (APART_S, None):
                rng = np.random.default_rng([seed, number, count, apart_s is None])
                yield outcome(noise, rng, runs, blocks, count, apart_s)


def main() -> int:
    """Print the table in Markdown, and what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", type=int, nargs=2, default=BLOCKS)
    arguments = parser.parse_args()
    observed = " | ".join(f"+{effect:.0%} found" for effect in EFFECTS)
    print(f"| noise | conditions | apart | rank sum alone: false % | false % | interval | {observed} |")
    print(f"|---|---:|---|---:|---:|---:|{'---:|' * len(EFFECTS)}")
    worst = 0.0
    for found in outcomes(arguments.runs, arguments.seed, tuple(arguments.blocks)):
        worst = max(worst, found.false)
        cells = " | ".join(f"{100 * share:.0f} %" for share in found.observed)
        print(
            f"| {found.scenario} | {found.conditions} | {found.apart} | {100 * found.plain:.0f} | {found.range()} "
            f"| ±{100 * np.expm1(found.half_width):.0f} % | {cells} |",
            flush=True,
        )
    print(f"largest share of false differences: {100 * worst:.1f} %, limit {100 * FALSE_MAX:.1f} %")
    return 1 if worst > FALSE_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
