"""A quantile of latencies in the quieter slices: what a version does to it shows, and what the machine does does not.

The P99 of some slices together is that of the few in which something stopped everything for milliseconds: a
neighbour, a collection, the scheduler of a shared CPU. On two CPUs equal versions of a service differed in it from
start to start by a factor of 3 to 6 (one standard deviation), in that of the quieter three of four slices by 1.3 to
1.8, while 2 ms more in one request of a hundred moved that one more (`bench/gate_tail.py`). So of each block the
slices with the highest quantile are left out, as many of either side: a trimmed mean's reasoning (Huber 1981), for a
quantile. What stops a version in fewer than a quarter of its slices is not seen by it.
"""

from collections.abc import Sequence

import numpy as np

from loadstone.judge.statistics.histograms import Buckets, quantiles_ns, table_of

LEFT_OUT = 0.25
"""Of a block's slices, those with the highest quantile."""
BEYOND_MIN = 2.0
"""So many operations are to lie beyond the quantile of what is left, or it is that of one accident."""


def quiet_quantile_ns(slices: Sequence[Buckets], failed: Sequence[int], quantile: float) -> float | None:
    """The quantile (0 < quantile < 1) in ns of the quieter slices together, infinite where it falls among failures.

    `failed`: of each slice the operations that never got a latency. None: they hold too few operations. Raises
    ValueError if the histograms differ in their buckets.
    """
    if not slices:
        return None
    values_ns, counts = table_of(slices)
    lost = np.asarray(failed, dtype=np.int64)
    own = quantiles_ns(values_ns, counts, lost, quantile)
    kept = np.argsort(own, kind="stable")[: len(slices) - int(LEFT_OUT * len(slices))]
    if (1 - quantile) * (counts[kept].sum() + lost[kept].sum()) < BEYOND_MIN:
        return None
    return float(quantiles_ns(values_ns, counts[kept].sum(axis=0), lost[kept].sum(), quantile))
