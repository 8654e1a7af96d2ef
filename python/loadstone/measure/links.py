"""What a link adds: pings through its line and beside it before a drive, the line's own figures after it."""

import math
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from loadstone.programs.ready import RunningParts
from loadstone.run_folder.facts import LinkFacts
from loadstone.safety.bounds.deadlines import SNAPSHOT, deadline
from loadstone.safety.errors import LoadstoneError
from loadstone.servers.control import Control
from loadstone.servers.delay_line import DelayLine, part_of
from loadstone.servers.deployed import RunningServer

PINGS, PINGS_LEAST = 60, 8
PINGS_S = 0.3
"""Pings end after that, once there are the fewest that give an interval."""
PING_TIMEOUT_S = 20.0


def begin_links(ready: RunningParts) -> dict[str, LinkFacts]:
    """Ping each server that has a line, in turns through the line and beside it; the lines count anew from here."""
    links = {}
    for name, deployed in ready.servers.items():
        if deployed.line is not None:
            deployed.line.report()
            pinged = _pinged(name, deployed, deployed.line)
            report = deployed.line.report()
            so_far = {"unrecorded_ns": _unrecorded_ns(pinged, report), "carried_bytes": _carried_bytes(report)}
            links[name] = pinged.model_copy(update=so_far)
    return links


def link_facts(ready: RunningParts, before: Mapping[str, LinkFacts]) -> dict[str, LinkFacts]:
    """Return the facts of the links, with what each line did since."""
    links = {}
    for name, link in before.items():
        line = ready.servers[name].line
        report = line.report() if line is not None else None
        if report is None:
            links[name] = link
            continue
        links[name] = link.model_copy(update=_during(report, link.carried_bytes))
    return links


def _carried_bytes(report: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """To the server and back since the line began."""
    return None if report is None else (report["to_server"]["bytes"], report["to_client"]["bytes"])


def _during(report: Mapping[str, Any], before: tuple[int, int] | None) -> dict[str, Any]:
    """What a line did during a drive, by the fields of its facts; `before` it had carried so many bytes."""
    carried = _carried_bytes(report)
    ways = (report["to_server"], report["to_client"])
    pieces = sum(way["pieces"] for way in ways)
    late_ns = sum(way["late_mean_ns"] for way in ways), max(way["late_p99_ns"] for way in ways)
    return {
        "late_ns": late_ns if pieces else None,
        "pieces": pieces,
        "busy_share": (report["cpu_ns"] + (report["waited_ns"] or 0)) / max(1, report["wall_ns"]),
        "dropped": report["dropped"],
        "carried_bytes": None
        if carried is None or before is None
        else (carried[0] - before[0], carried[1] - before[1]),
    }


def _unrecorded_ns(pinged: LinkFacts, report: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    """What the pings took more than the delay and the lateness that the line recorded of them."""
    if pinged.added_ns is None or report is None:
        return None
    recorded_ns = pinged.requested_ns + sum(report[way]["late_p50_ns"] for way in ("to_server", "to_client"))
    value, low, high = (ns - recorded_ns for ns in pinged.added_ns)
    return value, low, high


def _pinged(name: str, one: RunningServer, line: DelayLine) -> LinkFacts:
    """What a round trip takes; without pings where they are not answered."""
    width = float(line.settings.bandwidth) if line.settings.bandwidth else None
    plain = LinkFacts(requested_ns=line.settings.requested_ns, part=part_of(name), bits_per_s=width)
    beside = one.server.control(PING_TIMEOUT_S)
    through = beside.by_way_of(one.endpoint)
    try:
        with deadline(SNAPSHOT):
            pairs = _ping_both(through, beside)
    except LoadstoneError:
        return plain
    finally:
        through.close()
        beside.close()
    added = sorted(a - b for a, b in pairs)
    return plain.model_copy(
        update={
            "pings": len(pairs),
            "through_ns": _spread([a for a, _ in pairs]),
            "beside_ns": _spread([b for _, b in pairs]),
            "added_ns": median_interval(added),
        }
    )


def _ping_both(through: Control, beside: Control) -> list[tuple[float, float]]:
    """Round trips in nanoseconds, of connections that are open."""
    through.ping()
    beside.ping()
    pairs: list[tuple[float, float]] = []
    until_s = time.monotonic() + PINGS_S
    while len(pairs) < PINGS and (len(pairs) < PINGS_LEAST or time.monotonic() < until_s):
        pairs.append((_ping_ns(through), _ping_ns(beside)))
    return pairs


def _ping_ns(control: Control) -> float:
    began_ns = time.perf_counter_ns()
    control.ping()
    return float(time.perf_counter_ns() - began_ns)


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    ordered, last = sorted(values), len(values) - 1
    return ordered[round(0.1 * last)], median(ordered), ordered[round(0.9 * last)]


def median_interval(ordered: Sequence[float]) -> tuple[float, float, float]:
    """The median of values in their order, and its interval (95 %) by the ranks that the binomial allows."""
    count = len(ordered)
    rank = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return median(ordered), ordered[rank], ordered[count - 1 - rank]
