"""How far apart the starts of two versions lie in their P99: merged over a block, and of its quieter slices.

Of gates that were kept (`scripts/bench gate-live --keep FOLDER`), a line a run: the median and the spread of the ln
ratio (head over base) of each block's P99 at the rate, by both. Equal versions say how noisy each is, versions whose
tail is longer how much of that each sees.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

import numpy as np

from bench.common.result_lines import add_line
from loadstone.drivers.histogram import Histogram
from loadstone.judge.statistics.histogram_arrays import quantiles_ns, table_of
from loadstone.judge.statistics.rounds.latency_groups import low_noise_quantile_ns
from loadstone.run_folder.reading import read_round_histograms, read_run

QUANTILE = 0.99


def merged_ns(slices: list[Histogram]) -> float:
    """The quantile of all slices together."""
    values_ns, counts = table_of(slices)
    return float(quantiles_ns(values_ns, counts.sum(axis=0), np.zeros(()), QUANTILE))


def log_ratios(folder: Path) -> dict[str, list[float]]:
    """Of each block that has both sides, by either P99."""
    found: dict[str, dict[int, dict[str, float]]] = {"merged": {}, "quiet": {}}
    for trial in read_run(folder).trials:
        if trial.group != "p99" or trial.block == 0:
            continue
        slices = list(read_round_histograms(folder, trial.trial, "response").values())
        side, quiet = str(trial.condition["target"]), low_noise_quantile_ns(slices, [0] * len(slices), QUANTILE)
        if quiet is not None:
            found["quiet"].setdefault(trial.block, {})[side] = quiet
            found["merged"].setdefault(trial.block, {})[side] = merged_ns(slices)
    return {
        name: [math.log(one["head"] / one["base"]) for one in blocks.values() if len(one) == 2]
        for name, blocks in found.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    for folder in options.runs:
        row: dict[str, object] = {"run": folder.name}
        for name, ratios in log_ratios(folder).items():
            if len(ratios) > 1:
                middle, spread = statistics.median(ratios), statistics.stdev(ratios)
                row[name] = {"median": round(middle, 3), "spread": round(spread, 3)}
                row["blocks"] = len(ratios)
        print(json.dumps(row), flush=True)
        if options.results is not None:
            add_line(options.results, row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
