"""CPU and connections of each part in the measure phase, from what the monitors saw."""

from collections.abc import Collection, Mapping, Sequence

from loadstone import registry
from loadstone.deploy.limit_in_force import LimitInForce, LimitName
from loadstone.drive.outcome import DriveRecord
from loadstone.observe.sample import Sample
from loadstone.record.facts import DRIVER, OF_MARIADB, OWN, PartCpu, cpus_in_force, owner_of
from loadstone.record.window import Window

MAIN_THREAD = ("used_cpu_sys_main_thread", "used_cpu_user_main_thread")
CONNECTIONS = ("connected_clients", OF_MARIADB)
"""How many connections a server has open, as Redis and MariaDB call it."""
_MOST = 0.5
"""A subject works in its main thread if that takes so much of its CPU."""


def cpu_seconds(window: Window, drive: DriveRecord, redis: Sequence[str]) -> dict[str, float]:
    """CPU seconds of each part in the measure phase, of those that could be seen.

    A Redis whose process cannot be seen tells its own CPU.
    """
    driver_s = sum(thread.cpu_s for thread in drive.threads)
    found = {name: window.increase(name, "cpu_s") for name in window.parts("cpu_s") if name != DRIVER}
    for name in redis:
        if found.get(name) is None:
            found[name] = _sum_of(window, name, ("used_cpu_sys", "used_cpu_user"))
    whole_s = window.increase(DRIVER, "cpu_s")
    found[DRIVER] = driver_s
    found[OWN] = max(0.0, whole_s - driver_s) if whole_s is not None else None
    return {name: round(seconds, 6) for name, seconds in sorted(found.items()) if seconds is not None}


def parts_of(
    window: Window,
    drive: DriveRecord,
    cpu_s: Mapping[str, float],
    servers: Mapping[str, Mapping[str, object]],
    subjects: Collection[str],
    limits: Mapping[str, Mapping[LimitName, LimitInForce]],
) -> dict[str, PartCpu]:
    """Shares of one core of each part in `cpu_s`.

    The main thread is told of a part that does its work in one, as Redis and Node do. A JVM and a MariaDB have
    many threads alike: their main thread sleeps, and says nothing.

    Args:
        window: what the monitors saw in the measure phase.
        drive: what the driver brought back.
        cpu_s: CPU seconds of each part.
        servers: the servers' settings as planned.
        subjects: the names of the subjects.
        limits: server -> its limits as they are in force, or why they are not.
    """
    if window.length_s <= 0:
        return {}
    found = {}
    without = {
        DRIVER,
        OWN,
        *window.parts(OF_MARIADB),
        *(name for name, settings in servers.items() if not registry.software_of(settings).takes_load),
    }
    for name, seconds in cpu_s.items():
        mean_share = seconds / window.length_s
        main = None if name in without else _main_thread(window, name)
        alike = owner_of(name, subjects) is not None and (main or 0.0) < _MOST * mean_share
        main = None if alike else main
        found[name] = PartCpu(
            mean_share=mean_share,
            max_share=window.highest(name, "cpu_share"),
            main_thread_share=main,
            wait_share=None if alike or name in without - {DRIVER} else _wait_share(window, drive, name),
            cpu_limit=cpus_in_force(limits.get(owner_of(name, limits) or "", {})),
        )
    return found


def connections_by_third(window: Window, samples: Sequence[Sample]) -> dict[str, tuple[float, float, float]]:
    """Server -> its open connections on average in each third of the measure phase, where they were seen in each."""
    told = [sample for sample in samples if sample.metric in CONNECTIONS]
    found = {}
    for metric in CONNECTIONS:
        for part in window.parts(metric):
            step_s = window.length_s / 3
            thirds = [
                Window(told, window.start_s + number * step_s, window.start_s + (number + 1) * step_s).mean(
                    part, metric
                )
                for number in range(3)
            ]
            first, second, third = thirds
            if first is not None and second is not None and third is not None:
                found[part] = (round(first, 3), round(second, 3), round(third, 3))
    return found


def _main_thread(window: Window, part: str) -> float | None:
    seconds = _sum_of(window, part, MAIN_THREAD)
    return seconds / window.length_s if seconds is not None else window.mean(part, "main_thread_share")


def _wait_share(window: Window, drive: DriveRecord, part: str) -> float | None:
    """How long the part's decisive thread was ready to run and had no CPU, as a share of the time."""
    if part == DRIVER:
        told = [t.waited_s / t.wall_s for t in drive.threads if t.waited_s is not None and t.wall_s > 0]
        return max(told, default=None)
    waited_s = window.increase(part, "main_thread_wait_s")
    return waited_s / window.length_s if waited_s is not None else None


def _sum_of(window: Window, part: str, counters: Sequence[str]) -> float | None:
    grown = [window.increase(part, counter) for counter in counters]
    return None if None in grown else sum(seconds for seconds in grown if seconds is not None)
