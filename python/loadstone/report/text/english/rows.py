"""What is wrong with a row of a table, beside the checks of its trials."""

from collections.abc import Callable, Mapping, Sequence

from loadstone.report.text.english.grammar import listed


def _other_speed(cpu: str, slower: float) -> str:
    kind = "slower" if slower > 0 else "faster"
    return f"While it was measured {cpu} was {abs(slower):.0%} {kind} than usual in this run."


def _misses(labels: Sequence[str], percent: float, not_loaded: bool) -> str:
    remedy = " (nothing was loaded: add workload.load)" if not_loaded and percent >= 99.5 else ""
    if not_loaded and not remedy:
        remedy = " (not all keys were stored before: add workload.load)"
    return f"Reads that found nothing, of {listed(labels)}: {percent:.3g} %{remedy}."


ROWS: Mapping[str, str | Callable[..., str]] = {
    "at_rate.no_capacity": "No trial at full speed counts, so that the rate is not known.",
    "at_rate.no_time": "The budget ended before it.",
    "meaning.misses": _misses,
    "row.apart": "Its {trials} trials lie {share:.0%} apart, and are too few for an interval.",
    "row.not_merged": "The latencies cannot be merged: {error}.",
    "row.other_speed": _other_speed,
    "row.rises_within": "The rate rises by {share:.0%} within its trials: they were not warm yet.",
    "row.rose_over": "The rate rose by {share:.0%} from its first trials to its last.",
}
