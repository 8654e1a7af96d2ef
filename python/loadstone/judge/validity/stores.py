"""Whether the stores were used as they should be, by what their monitors reported."""

from collections.abc import Sequence
from math import inf

from loadstone.judge.validity.check import Finding, Limit, Measured, Unknown, check
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.message import message
from loadstone.record.facts import SeriesPoint

CONNECTION_LEAK = Limit(
    4, inf, "connections", "J: the rise from the first third of the phase to the last, if it goes on at the end"
)
TEMPORARY_FILES = Limit(0, inf, "bytes/s", "J: a sort that does not fit into memory measures the disk")

Thirds = tuple[float, float, float]
_STILL = 0.5
"""A rise goes on if the second half of it is at least so large a part of the first."""
_SPILLED = "spilled_bytes_per_s"
"""The metric of those stores that report it."""


@check(CONNECTION_LEAK)
def connection_leak(evidence: TrialEvidence) -> Finding | None:
    """Connections at a server that rise all through the measure phase, beyond those that the load itself opened.

    Of those that the load lost or gave up (after a timeout) a server that does not look still counts the old ones: they
    are no client's that opens more and more.
    """
    observed = evidence.facts.server_connections
    if not observed and not evidence.stores:
        return None
    if not observed:
        return Unknown(message("check.connection_leak.not_observed"))
    own = 0 if evidence.http else evidence.drive.connections.lost + evidence.drive.connections.failed
    rises = {server: _rise(_without_load(evidence, server, thirds)) - own for server, thirds in observed.items()}
    server = max(rises, key=lambda name: rises[name])
    first, _, last = observed[server]
    reason = message("check.connection_leak.rises", server=server, first=first, last=last)
    return Measured(max(0.0, rises[server]), reason)


def _rise(thirds: Thirds) -> float:
    """From the first third to the last; 0 where it did not go on to the end, as of a pool that fills."""
    first, second, third = thirds
    steady = second > first and third - second >= _STILL * (second - first)
    return third - first if steady else 0.0


def _without_load(evidence: TrialEvidence, server: str, thirds: Thirds) -> Thirds:
    """Without the driver's own connections, where the server itself got the load."""
    if evidence.http or server not in evidence.targets or not evidence.facts.series:
        return thirds
    first, second, third = _load_by_third(evidence.facts.series)
    return thirds[0] - first, thirds[1] - second, thirds[2] - third


def _load_by_third(series: Sequence[SeriesPoint]) -> Thirds:
    start_s = series[0].start_s
    step_s = (series[-1].start_s + series[-1].duration_s - start_s) / 3
    found: list[list[int]] = [[], [], []]
    for point in series:
        middle_s = point.start_s + point.duration_s / 2 - start_s
        found[min(2, int(middle_s / step_s))].append(point.connections)
    means = [sum(third) / len(third) if third else float(series[0].connections) for third in found]
    return means[0], means[1], means[2]


@check(TEMPORARY_FILES)
def temporary_files(evidence: TrialEvidence) -> Finding | None:
    """What stores wrote to temporary files a second, because a sort or a join did not fit into its memory."""
    written = {part: figures[_SPILLED].avg for part, figures in evidence.facts.seen.items() if _SPILLED in figures}
    if not written:
        return None
    store = max(written, key=lambda part: written[part])
    reason = message("check.temporary_files.written", server=store, megabytes_per_s=written[store] / 1e6)
    return Measured(written[store], reason)
