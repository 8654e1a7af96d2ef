"""What the monitors observed of each part: its CPU and connections, its other figures, and what it did in a stall."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from loadstone.drivers.outcome import DriveRecord, Stall
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.monitors import catalogue
from loadstone.monitors.monitor import Sample
from loadstone.monitors.part_kind import PartKind
from loadstone.run_folder.facts import (
    DRIVER,
    HOST,
    LINK,
    OTHERS,
    OWN,
    AvgMax,
    PartCpu,
    StallFacts,
    cpus_in_force,
    owner_of,
)
from loadstone.run_folder.part_kinds import declared, declared_of
from loadstone.run_folder.window import Window

_MOST = 0.5
"""A subject works in its main thread if that takes so much of its CPU."""


def cpu_seconds(window: Window, drive: DriveRecord, kinds: Mapping[str, str]) -> dict[str, float]:
    """CPU seconds of each part in the measure phase, of those that could be observed.

    A server whose process cannot be observed may report its own CPU.
    """
    driver_s = sum(thread.cpu_s for thread in drive.threads)
    seconds_of = {name: window.increase(name, "cpu_s") for name in window.parts("cpu_s") if name != DRIVER}
    for name, kind in kinds.items():
        if seconds_of.get(name) is None and (counters := declared(kind).cpu_counters):
            seconds_of[name] = _sum_of(window, name, counters)
    whole_s = window.increase(DRIVER, "cpu_s")
    seconds_of[DRIVER] = driver_s
    within_s = driver_s if drive.program is None and not drive.agents else 0.0
    seconds_of[OWN] = max(0.0, whole_s - within_s) if whole_s is not None else None
    return {name: round(seconds, 6) for name, seconds in sorted(seconds_of.items()) if seconds is not None}


def parts_of(
    window: Window,
    drive: DriveRecord,
    cpu_s: Mapping[str, float],
    kinds: Mapping[str, str],
    limits: Mapping[str, Mapping[LimitName, LimitInForce]],
) -> dict[str, PartCpu]:
    """Shares of one core of each part in `cpu_s`.

    The main thread is reported of a part that does its work in one, as some servers and Node do. A JVM and other
    servers have many threads alike: their main thread sleeps, and says nothing.

    Args:
        window: what the monitors observed in the measure phase.
        drive: what the driver brought back.
        cpu_s: CPU seconds of each part.
        kinds: what each part is.
        limits: server -> its limits as they are in force, or why they are not.
    """
    if window.length_s <= 0:
        return {}
    parts = {}
    for name, seconds in cpu_s.items():
        mean_share = seconds / window.length_s
        kind = declared_of(name, kinds)
        main = _main_thread(window, name, kind)
        workers = window.highest(name, "workers") or 1.0
        alike = name == OWN or _are_alike(kind, main, mean_share / workers)
        parts[name] = PartCpu(
            mean_share=mean_share,
            max_share=window.highest(name, "cpu_share"),
            main_thread_share=None if alike else main,
            system_share=_system_share(window, name, kind),
            children_s=_grown(window, name, "children_s", kind.children_counters),
            wait_share=None if alike and name != DRIVER else _wait_share(window, drive, name),
            disk_share=None if alike else window.main_thread_disk_share(name),
            cpu_limit=cpus_in_force(limits.get(owner_of(name, limits) or "", {})),
        )
    return parts


def _system_share(window: Window, part: str, kind: PartKind) -> float | None:
    seconds = _grown(window, part, "system_s", () if window.in_slices else kind.system_counters)
    return None if seconds is None else seconds / window.length_s


def _grown(window: Window, part: str, metric: str, counters: Sequence[str]) -> float | None:
    """Return how much a counter of the process grew; where it cannot be observed, those that its server reports."""
    seconds = window.increase(part, metric)
    return _sum_of(window, part, counters) if seconds is None and counters else seconds


def _are_alike(kind: PartKind, main: float | None, whole: float) -> bool:
    """Whether a part's threads are alike, so that its main thread says nothing; `whole`: its CPU, or a worker's."""
    return kind.threads == "many" or (kind.threads == "any" and (main or 0.0) < _MOST * whole)


def connections_by_third(
    window: Window, samples: Sequence[Sample], kinds: Mapping[str, str]
) -> dict[str, tuple[float, float, float]]:
    """Server -> its open connections on average in each third of the measure phase, where each third has samples."""
    by_server = {}
    for part, kind in kinds.items():
        metric = declared(kind).connections
        if metric is None:
            continue
        reported = [sample for sample in samples if (sample.part, sample.metric) == (part, metric)]
        step_s = (window.end_s - window.start_s) / 3
        thirds = [
            Window(reported, window.start_s + number * step_s, window.start_s + (number + 1) * step_s).mean(
                part, metric
            )
            for number in range(3)
        ]
        first, second, third = thirds
        if first is not None and second is not None and third is not None:
            by_server[part] = (round(first, 3), round(second, 3), round(third, 3))
    return by_server


def _main_thread(window: Window, part: str, kind: PartKind) -> float | None:
    seconds = window.main_thread_s(part)
    if seconds is None and kind.main_thread_counters:
        seconds = _sum_of(window, part, kind.main_thread_counters)
    return seconds / window.length_s if seconds is not None else window.mean(part, "main_thread_share")


def _wait_share(window: Window, drive: DriveRecord, part: str) -> float | None:
    """Return how long the part's decisive thread was ready to run and had no CPU, as a share of the time."""
    if part == DRIVER:
        reported = [t.waited_s / t.wall_s for t in drive.threads if t.waited_s is not None and t.wall_s > 0]
        return max(reported, default=None)
    waited_s = window.increase(part, "main_thread_wait_s")
    return waited_s / window.length_s if waited_s is not None else None


def _sum_of(window: Window, part: str, counters: Sequence[str]) -> float | None:
    grown = [window.increase(part, counter) for counter in counters]
    return None if None in grown else sum(seconds for seconds in grown if seconds is not None)


LEAST_CORES = 0.005
"""Least cores of a name in the part that has a metric for each name of who ran beside the condition: who took less is
not kept."""
KEPT = tuple(metric.name for metric in catalogue.METRICS.values() if metric.kept and metric.kind != "counter")
"""Gauges and rates of every monitor. What only grows is reported by the counters before and after."""
DIGITS = 6
"""Significant digits that are kept: a trial's line holds a hundred of these figures."""


def avg_max(window: Window, part: str, metrics: Iterable[str]) -> dict[str, AvgMax]:
    """Each of these metrics (gauges and rates) that was observed of the part, in the order of `metrics`."""
    figures: dict[str, AvgMax] = {}
    for metric in metrics:
        mean, highest = window.mean(part, metric), window.highest(part, metric)
        if mean is not None and highest is not None:
            figures[metric] = AvgMax(avg=_short(mean), max=_short(highest))
    return figures


def averages_of(window: Window) -> dict[str, dict[str, AvgMax]]:
    """Part -> metric -> average and maximum, of all parts and metrics that were observed; without empty ones."""
    parts = sorted({part for metric in KEPT for part in window.parts(metric)})
    by_part = {part: avg_max(window, part, KEPT) for part in parts}
    beside = avg_max(window, OTHERS, window.metrics(OTHERS))
    by_part[OTHERS] = {name: cores for name, cores in beside.items() if cores.avg >= LEAST_CORES}
    return {part: figures for part, figures in by_part.items() if figures}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


State = Literal["stopped", "busy", "no_cpu", "idle"]
_BUSY = 0.7
"""J: a process that used so much of a CPU while it answered nothing was at work: a slow command, a fork."""
_IDLE = 0.3
"""J: and one that used less waited. The monitors look once a second, so both ends of a short stall are blurred."""
_NO_SERVER = (DRIVER, OWN, HOST)


def stalls_of(
    drive: DriveRecord, samples: Sequence[Sample], kinds: Mapping[str, str], target: str | None
) -> tuple[StallFacts, ...]:
    """Each time that servers answered nothing.

    Args:
        drive: what the driver brought back.
        samples: what the monitors observed, from before the load to after it.
        kinds: what each part is.
        target: the server or application that got the load; None: every server.
    """
    return tuple(_seen(drive, stall, samples, kinds, target) for stall in drive.stalls if stall.of == "server")


def _seen(
    drive: DriveRecord, stall: Stall, samples: Sequence[Sample], kinds: Mapping[str, str], target: str | None
) -> StallFacts:
    begin_s = drive.started_unix_ns / 1e9 + stall.begin_s
    window = Window(samples, begin_s, begin_s + stall.length_s)
    states = {part: state for part in _processes(window, kinds) if (state := _state(window, part, samples))}
    part = _to_blame(states, kinds, target)
    return StallFacts(
        begin_s=round(stall.begin_s, 6),
        length_s=round(stall.length_s, 6),
        waiting=stall.waiting,
        part=part,
        state=None if part is None else states[part],
    )


def _processes(window: Window, kinds: Mapping[str, str]) -> list[str]:
    """Parts with a process that are a server or an application."""
    owners = ((part, owner_of(part, kinds)) for part in window.parts("cpu_s") if part not in _NO_SERVER)
    return [part for part, owner in owners if owner is not None and kinds[owner] not in (LINK, "host", "driver")]


def _state(window: Window, part: str, samples: Sequence[Sample]) -> State | None:
    if any(
        sample.part == part and sample.metric == "stopped" and sample.value > 0
        for sample in samples
        if window.start_s <= sample.unix_s <= window.end_s
    ):
        return "stopped"
    used_s = window.increase(part, "cpu_s")
    if used_s is None or window.length_s <= 0:
        return None
    share = used_s / window.length_s
    ready_s = window.increase(part, "main_thread_wait_s") or 0.0
    if share < _BUSY <= share + ready_s / window.length_s:
        return "no_cpu"
    return "busy" if share >= _BUSY else "idle" if share <= _IDLE else None


def _to_blame(states: Mapping[str, State], kinds: Mapping[str, str], target: str | None) -> str | None:
    """One that was stopped, else one that was busy all the while, or had no CPU, else the one that was asked."""
    for state in ("stopped", "busy", "no_cpu"):
        first = next((part for part in sorted(states) if states[part] == state), None)
        if first is not None:
            return first
    asked = [part for part in sorted(states) if target in (None, owner_of(part, kinds))]
    return asked[0] if asked else None
