"""What limited a condition."""

from collections.abc import Callable, Sequence

from loadstone.figures import duration, rounded
from loadstone.report.text.english.figures import several, whole_percent

_POOLS = {"hikari": "to the database", "redis_pool": "to Redis"}


def _full(part: str, busy: Sequence[str], stores: str | None) -> str:
    head = "bound by a shared CPU" if part == "cpu" else f"{part}-bound"
    return f"{head}: {'; '.join([*busy, *([stores] if stores else [])])}"


def _busy_cores(
    name: str,
    cores: float,
    cpus: float,
    throttled_share: float | None,
    processes: int | None = None,
    demand_ns: float | None = None,
) -> str:
    of = "1 CPU" if cpus == 1 else f"{cpus:g} CPU{'s' if cpus > 1 else ''}"
    throttled = "" if throttled_share is None else f", throttled by its limit for {whole_percent(throttled_share)}"
    crowd = (
        f" ({processes} processes share {'it' if cpus == 1 else 'them'}: more of them cannot help)" if processes else ""
    )
    whole = f"{throttled}{' of the time' if throttled else ''}{_a_request(demand_ns)}{crowd}"
    return f"{name} {cores:.2f} of its {of}{whole}"


def _a_request(demand_ns: float | None) -> str:
    return "" if demand_ns is None else f", {duration(demand_ns)} a request"


def _idle_stores(stores: Sequence[str]) -> str:
    return f"the {'store is' if len(stores) == 1 else 'stores are'} idle ({', '.join(stores)})"


def _other_stores(stores: Sequence[str]) -> str:
    return f"the {'store' if len(stores) == 1 else 'stores'} behind it: {', '.join(stores)}"


def _crowded(part: str | None, used: Sequence[str], cpus: int, busy_share: float) -> str:
    if part == "cpu":
        on = "it" if cpus == 1 else "them"
        full = f"{', '.join(used)} share {several(cpus, 'CPU')}, {whole_percent(busy_share)} busy"
        return f"bound by a shared CPU: {full}: the placement decides, and more instances cannot help on {on}"
    head = "not the measured system" if part is None else f"{part}-bound"
    return f"{head}: {', '.join(used)} of {several(cpus, 'CPU')}, {whole_percent(busy_share)} busy"


def _disk(name: str, fsyncs_per_s: float | None, wait_share: float) -> str:
    fsyncs = "" if fsyncs_per_s is None else f", with {rounded(fsyncs_per_s)} fsyncs a second,"
    return f"disk-bound: {name}{fsyncs} waits for the disk (wa {whole_percent(wait_share)})"


def _main_thread(name: str, busy_share: float, disk_share: float | None = None, demand_ns: float | None = None) -> str:
    disk = "" if disk_share is None else f", {whole_percent(disk_share)} of the time waiting for the disk (fsync)"
    return f"main thread of {name} {whole_percent(busy_share)} busy{_a_request(demand_ns)}{disk}"


def _thread_and_disk(
    by: str,
    name: str,
    disk_share: float,
    disk_ns: float | None,
    cpu_share: float,
    cpu_ns: float | None,
    fsyncs_per_s: float | None,
    shares: Sequence[str],
) -> str:
    fsyncs = "" if fsyncs_per_s is None else f", {rounded(fsyncs_per_s)} fsyncs a second"
    disk, cpu = _taken(disk_ns, disk_share) + fsyncs, _taken(cpu_ns, cpu_share)
    beside = f"; beside it {', '.join(shares)}" if shares else ""
    if by == "disk":
        return f"disk-bound: the disk (fsync) of {name}, {disk}; its CPU {cpu}{beside}"
    return f"server-bound: main thread of {name}, {cpu}; the disk (fsync) {disk}{beside}"


def _taken(demand_ns: float | None, share: float) -> str:
    """What a request takes of a station, and for how much of the time it was busy."""
    demand = "" if demand_ns is None else f"{duration(demand_ns)} a request, "
    return f"{demand}{whole_percent(share)} of the time"


def _line(server: str, busy_share: float, shares: Sequence[str], demand_ns: float | None = None) -> str:
    busy = f"{whole_percent(busy_share)} busy{_a_request(demand_ns)}"
    return f"network-bound: the line to {server} {busy}; beside it {', '.join(shares)}"


def _lock(name: str, share: float, queue_ns: float, busy_share: float, demand_ns: float, shares: Sequence[str]) -> str:
    queue = f"{duration(queue_ns)} a request, {whole_percent(share)} of its response time"
    held = f"it is held for {duration(demand_ns)} a request, {whole_percent(busy_share)} of the time"
    return f"lock-bound: threads of {name} wait for a lock, {queue}; {held}; {_nothing_full(shares)}"


def _disk_of_many(name: str, busy_share: float, demand_ns: float, shares: Sequence[str]) -> str:
    waits = f"threads of {name} wait for the disk, {_taken(demand_ns, busy_share)}"
    return f"disk-bound: {waits}; {_nothing_full(shares)}"


def _unseen(names: Sequence[str], unseen_ns: float, share: float, shares: Sequence[str]) -> str:
    held = f"{' and '.join(names)} held each request for {duration(unseen_ns)}"
    held += f", {whole_percent(share)} of its response time"
    why = "a lock, a timer or another service, which cannot be seen from outside"
    return f"subject-bound: {held}, without using a CPU, a disk or a line: {why}; {_nothing_full(shares)}"


def _line_delay(server: str, delay_ns: float, share: float, users: int, shares: Sequence[str]) -> str:
    delay = f"the line to {server} adds {duration(delay_ns)} to a request, {whole_percent(share)} of its response time"
    return f"network-bound: {delay} ({several(users, 'user')}); {_nothing_full(shares)}"


def _connections(waiting_share: float, connections: int, users: int, held_ns: float | None = None) -> str:
    waiting = f"{whole_percent(waiting_share)} of the response time is waiting for a connection"
    held = "" if held_ns is None else f", each held for {duration(held_ns)} a request"
    return f"pool-bound: {waiting} ({connections} connections{f' for {users} users' if users else ''}{held})"


def _own_pool(
    threads: float,
    name: str,
    pool: str,
    in_use: float | None,
    held_ns: float | None = None,
    queue_ns: float | None = None,
) -> str:
    used = "" if in_use is None else f", {in_use:.0f} of which are in use"
    held = "" if held_ns is None else f", each held for {duration(held_ns)} a request"
    queue = "" if not queue_ns else f"; a request waits {duration(queue_ns)} for one"
    return (
        f"pool-bound: {rounded(threads)} threads of {name} wait for its connections {_POOLS[pool]}{used}{held}{queue}"
    )


def _paced_by_pauses(pause_ns: float, response_ns: float, shares: Sequence[str]) -> str:
    pause = f"users pause for {duration(pause_ns)} between answers of {duration(response_ns)}"
    return f"paced: {pause}; {_nothing_full(shares)}"


def _round_trips(users: int, response_ns: float, pause_ns: float, rate_per_s: float, shares: Sequence[str]) -> str:
    response = duration(response_ns)
    cycle = f"({response} + {duration(pause_ns)} pause)" if pause_ns else response
    formula = f"X = N/(R+Z) = {users} users / {cycle} = {rounded(rate_per_s)} a second"
    return f"latency-bound, {formula}; {_nothing_full(shares)}"


def _starved(part: str, name: str | None, needed_share: float, waited_share: float, shares: Sequence[str]) -> str:
    thread = "hottest thread of the generator" if name is None else f"main thread of {name}"
    needed = f"{thread} needed a CPU for {whole_percent(needed_share)} of the time"
    others = f"; beside it {', '.join(shares)}" if shares else ""
    return (
        f"{part}-bound: {needed} and waited for it for {whole_percent(waited_share)}, as other programs had it{others}"
    )


def _nothing_full(shares: Sequence[str]) -> str:
    return f"nothing was saturated ({', '.join(shares)})"


BOTTLENECK: dict[str, str | Callable[..., str]] = {
    "bottleneck_full": _full,
    "bottleneck_generator_busy": lambda busy_share, demand_ns=None: (
        f"hottest thread of the generator {whole_percent(busy_share)} busy{_a_request(demand_ns)}"
    ),
    "bottleneck_main_thread_busy": _main_thread,
    "bottleneck_cores_busy": _busy_cores,
    "bottleneck_share": lambda name, busy_share: f"{name} {whole_percent(busy_share)}",
    "bottleneck_stores_idle": _idle_stores,
    "bottleneck_stores": _other_stores,
    "bottleneck_crowded": _crowded,
    "bottleneck_line": _line,
    "bottleneck_line_delay": _line_delay,
    "bottleneck_lock": _lock,
    "bottleneck_disk_of_many": _disk_of_many,
    "bottleneck_unseen": _unseen,
    "bottleneck_thread_and_disk": _thread_and_disk,
    "bottleneck_cores": lambda name, cores, processes=1: (
        f"{name} {cores:.2f}{f' ({processes} processes)' if processes > 1 else ''}"
    ),
    "bottleneck_cores_of_programs": lambda cores: f"other programs {cores:.2f}",
    "bottleneck_cores_of_machines": lambda cores: f"other machines {cores:.2f}",
    "bottleneck_disk": _disk,
    "bottleneck_connections": _connections,
    "bottleneck_own_pool": _own_pool,
    "bottleneck_server_not_observed": "not known: how busy the server was could not be observed",
    "bottleneck_parts_not_observed": (
        "not known: how busy {names:list} was could not be observed; nothing else was saturated ({shares:list})"
    ),
    "bottleneck_other_programs": (
        "not known: other programs filled the CPUs; nothing of the measured system was saturated ({shares:list})"
    ),
    "bottleneck_starved": _starved,
    "bottleneck_rate_set": (
        "paced: the rate of {rate_per_s:rounded} a second was set; nothing was saturated ({shares:list})"
    ),
    "bottleneck_rate_missed": (
        "not known: {rate_per_s:rounded} a second is less than was set, though nothing was saturated ({shares:list})"
    ),
    "bottleneck_pauses": _paced_by_pauses,
    "bottleneck_round_trips": _round_trips,
    "bottleneck_round_trips_measured": lambda users, rate_per_s, shares: (
        f"latency-bound: {users} users wait for round trips, {rounded(rate_per_s)} a second; {_nothing_full(shares)}"
    ),
}
