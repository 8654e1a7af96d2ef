"""CPU and connections of each part in the measure phase, from what the monitors observed."""

from collections.abc import Mapping, Sequence

from loadstone.deploy.limit_in_force import LimitInForce, LimitName
from loadstone.drive.outcome import DriveRecord
from loadstone.observe.sample import Sample
from loadstone.record.facts import DRIVER, OWN, PartCpu, cpus_in_force, owner_of
from loadstone.record.parts.part_kinds import declared, declared_of
from loadstone.record.window import Window
from loadstone.software.part_kind import PartKind

_MOST = 0.5
"""A subject works in its main thread if that takes so much of its CPU."""


def cpu_seconds(window: Window, drive: DriveRecord, kinds: Mapping[str, str]) -> dict[str, float]:
    """CPU seconds of each part in the measure phase, of those that could be observed.

    A server whose process cannot be observed may report its own CPU.
    """
    driver_s = sum(thread.cpu_s for thread in drive.threads)
    found = {name: window.increase(name, "cpu_s") for name in window.parts("cpu_s") if name != DRIVER}
    for name, kind in kinds.items():
        if found.get(name) is None and (counters := declared(kind).cpu_counters):
            found[name] = _sum_of(window, name, counters)
    whole_s = window.increase(DRIVER, "cpu_s")
    found[DRIVER] = driver_s
    within_s = driver_s if drive.program is None else 0.0
    found[OWN] = max(0.0, whole_s - within_s) if whole_s is not None else None
    return {name: round(seconds, 6) for name, seconds in sorted(found.items()) if seconds is not None}


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
    found = {}
    for name, seconds in cpu_s.items():
        mean_share = seconds / window.length_s
        kind = declared_of(name, kinds)
        main = _main_thread(window, name, kind)
        workers = window.highest(name, "workers") or 1.0
        alike = name == OWN or _are_alike(kind, main, mean_share / workers)
        found[name] = PartCpu(
            mean_share=mean_share,
            max_share=window.highest(name, "cpu_share"),
            main_thread_share=None if alike else main,
            wait_share=None if alike and name != DRIVER else _wait_share(window, drive, name),
            disk_share=None if alike else window.main_thread_disk_share(name),
            cpu_limit=cpus_in_force(limits.get(owner_of(name, limits) or "", {})),
        )
    return found


def _are_alike(kind: PartKind, main: float | None, whole: float) -> bool:
    """Whether a part's threads are alike, so that its main thread says nothing; `whole`: its CPU, or a worker's."""
    return kind.threads == "many" or (kind.threads == "any" and (main or 0.0) < _MOST * whole)


def connections_by_third(
    window: Window, samples: Sequence[Sample], kinds: Mapping[str, str]
) -> dict[str, tuple[float, float, float]]:
    """Server -> its open connections on average in each third of the measure phase, where each third has samples."""
    found = {}
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
            found[part] = (round(first, 3), round(second, 3), round(third, 3))
    return found


def _main_thread(window: Window, part: str, kind: PartKind) -> float | None:
    seconds = window.main_thread_s(part)
    if seconds is None and kind.main_thread_counters:
        seconds = _sum_of(window, part, kind.main_thread_counters)
    return seconds / window.length_s if seconds is not None else window.mean(part, "main_thread_share")


def _wait_share(window: Window, drive: DriveRecord, part: str) -> float | None:
    """How long the part's decisive thread was ready to run and had no CPU, as a share of the time."""
    if part == DRIVER:
        reported = [t.waited_s / t.wall_s for t in drive.threads if t.waited_s is not None and t.wall_s > 0]
        return max(reported, default=None)
    waited_s = window.increase(part, "main_thread_wait_s")
    return waited_s / window.length_s if waited_s is not None else None


def _sum_of(window: Window, part: str, counters: Sequence[str]) -> float | None:
    grown = [window.increase(part, counter) for counter in counters]
    return None if None in grown else sum(seconds for seconds in grown if seconds is not None)
