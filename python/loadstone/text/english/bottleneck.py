"""What limited a condition."""

from collections.abc import Callable, Sequence

from loadstone.text.english.figures import whole_percent
from loadstone.text.figures import duration, rounded
from loadstone.text.language import _, plural, translatable, translated

_BOUND = {
    "cpu": translatable("bound by a shared CPU"),
    "server": translatable("server-bound"),
    "subject": translatable("subject-bound"),
    "generator": translatable("generator-bound"),
    "disk": translatable("disk-bound"),
}


def _bound(part: str) -> str:
    return translated(_BOUND.get(part, f"{part}-bound"))


def _full(part: str, busy: Sequence[str], stores: str | None) -> str:
    return f"{_bound(part)}: {'; '.join([*busy, *([stores] if stores else [])])}"


def _busy_cores(
    name: str,
    cores: float,
    cpus: float,
    throttled_share: float | None,
    processes: int | None = None,
    demand_ns: float | None = None,
) -> str:
    if cpus == 1:
        used = _("{name} {cores:.2f} of its 1 CPU", name=name, cores=cores)
    elif cpus > 1:
        used = _("{name} {cores:.2f} of its {cpus:g} CPUs", name=name, cores=cores, cpus=cpus)
    else:
        used = _("{name} {cores:.2f} of its {cpus:g} CPU", name=name, cores=cores, cpus=cpus)
    if throttled_share is not None:
        used += _(", throttled by its limit for {share} of the time", share=whole_percent(throttled_share))
    used += _a_request(demand_ns)
    if processes and cpus == 1:
        used += _(" ({processes} processes share it: more of them cannot help)", processes=processes)
    elif processes:
        used += _(" ({processes} processes share them: more of them cannot help)", processes=processes)
    return used


def _a_request(demand_ns: float | None) -> str:
    return "" if demand_ns is None else _(", {demand_ns} a request", demand_ns=duration(demand_ns))


def _idle_stores(stores: Sequence[str]) -> str:
    return plural(
        len(stores), "the store is idle ({stores})", "the stores are idle ({stores})", stores=", ".join(stores)
    )


def _other_stores(stores: Sequence[str]) -> str:
    return plural(
        len(stores), "the store behind it: {stores}", "the stores behind it: {stores}", stores=", ".join(stores)
    )


def _crowded(part: str | None, used: Sequence[str], cpus: int, busy_share: float) -> str:
    figures = {"used": ", ".join(used), "busy": whole_percent(busy_share)}
    if part == "cpu":
        return plural(
            cpus,
            "bound by a shared CPU: {used} share {n} CPU, {busy} busy: the placement decides, and more instances "
            "cannot help on it",
            "bound by a shared CPU: {used} share {n} CPUs, {busy} busy: the placement decides, and more instances "
            "cannot help on them",
            **figures,
        )
    head = _("not the measured system") if part is None else _bound(part)
    return plural(
        cpus, "{head}: {used} of {n} CPU, {busy} busy", "{head}: {used} of {n} CPUs, {busy} busy", head=head, **figures
    )


def _disk(name: str, fsyncs_per_s: float | None, wait_share: float) -> str:
    fsyncs = (
        "" if fsyncs_per_s is None else _(", with {fsyncs_per_s} fsyncs a second,", fsyncs_per_s=rounded(fsyncs_per_s))
    )
    return _(
        "disk-bound: {name}{fsyncs} waits for the disk (wa {wait_share})",
        name=name,
        fsyncs=fsyncs,
        wait_share=whole_percent(wait_share),
    )


def _main_thread(name: str, busy_share: float, disk_share: float | None = None, demand_ns: float | None = None) -> str:
    disk = (
        ""
        if disk_share is None
        else _(", {disk_share} of the time waiting for the disk (fsync)", disk_share=whole_percent(disk_share))
    )
    return _(
        "main thread of {name} {busy_share} busy{a_request}{disk}",
        name=name,
        busy_share=whole_percent(busy_share),
        a_request=_a_request(demand_ns),
        disk=disk,
    )


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
    fsyncs = "" if fsyncs_per_s is None else _(", {fsyncs_per_s} fsyncs a second", fsyncs_per_s=rounded(fsyncs_per_s))
    disk, cpu = _taken(disk_ns, disk_share) + fsyncs, _taken(cpu_ns, cpu_share)
    beside = _("; beside it {shares}", shares=", ".join(shares)) if shares else ""
    if by == "disk":
        return _(
            "disk-bound: the disk (fsync) of {name}, {disk}; its CPU {cpu}{beside}",
            name=name,
            disk=disk,
            cpu=cpu,
            beside=beside,
        )
    return _(
        "server-bound: main thread of {name}, {cpu}; the disk (fsync) {disk}{beside}",
        name=name,
        cpu=cpu,
        disk=disk,
        beside=beside,
    )


def _taken(demand_ns: float | None, share: float) -> str:
    """What a request takes of a station, and for how much of the time it was busy."""
    demand = "" if demand_ns is None else _("{demand_ns} a request, ", demand_ns=duration(demand_ns))
    return _("{demand}{share} of the time", demand=demand, share=whole_percent(share))


def _line(server: str, busy_share: float, shares: Sequence[str], demand_ns: float | None = None) -> str:
    busy = _("{busy_share} busy{a_request}", busy_share=whole_percent(busy_share), a_request=_a_request(demand_ns))
    return _(
        "network-bound: the line to {server} {busy}; beside it {shares}",
        server=server,
        busy=busy,
        shares=", ".join(shares),
    )


def _lock(name: str, share: float, queue_ns: float, busy_share: float, demand_ns: float, shares: Sequence[str]) -> str:
    queue = _(
        "{queue_ns} a request, {share} of its response time", queue_ns=duration(queue_ns), share=whole_percent(share)
    )
    held = _(
        "it is held for {demand_ns} a request, {busy_share} of the time",
        demand_ns=duration(demand_ns),
        busy_share=whole_percent(busy_share),
    )
    return _(
        "lock-bound: threads of {name} wait for a lock, {queue}; {held}; {nothing_full}",
        name=name,
        queue=queue,
        held=held,
        nothing_full=_nothing_full(shares),
    )


def _disk_of_many(name: str, busy_share: float, demand_ns: float, shares: Sequence[str]) -> str:
    waits = _("threads of {name} wait for the disk, {taken}", name=name, taken=_taken(demand_ns, busy_share))
    return _("disk-bound: {waits}; {nothing_full}", waits=waits, nothing_full=_nothing_full(shares))


def _unseen(names: Sequence[str], unseen_ns: float, share: float, shares: Sequence[str]) -> str:
    held = _("{names} held each request for {unseen_ns}", names=" and ".join(names), unseen_ns=duration(unseen_ns))
    held += _(", {share} of its response time", share=whole_percent(share))
    why = _("a lock, a timer or another service, which cannot be seen from outside")
    return _(
        "subject-bound: {held}, without using a CPU, a disk or a line: {why}; {nothing_full}",
        held=held,
        why=why,
        nothing_full=_nothing_full(shares),
    )


def _line_delay(server: str, delay_ns: float, share: float, users: int, shares: Sequence[str]) -> str:
    delay = _(
        "the line to {server} adds {delay_ns} to a request, {share} of its response time",
        server=server,
        delay_ns=duration(delay_ns),
        share=whole_percent(share),
    )
    return _(
        "network-bound: {delay} ({users}); {nothing_full}",
        delay=delay,
        users=plural(users, "{n} user", "{n} users"),
        nothing_full=_nothing_full(shares),
    )


def _connections(waiting_share: float, connections: int, users: int, held_ns: float | None = None) -> str:
    waiting = _(
        "{waiting_share} of the response time is waiting for a connection", waiting_share=whole_percent(waiting_share)
    )
    held = "" if held_ns is None else _(", each held for {held_ns} a request", held_ns=duration(held_ns))
    return _(
        "pool-bound: {waiting} ({connections} connections{rest}{held})",
        waiting=waiting,
        connections=connections,
        rest=_(" for {users} users", users=users) if users else "",
        held=held,
    )


def _own_pool(
    threads: float,
    name: str,
    pool: str,
    in_use: float | None,
    held_ns: float | None = None,
    queue_ns: float | None = None,
) -> str:
    rest = "" if in_use is None else _(", {in_use:.0f} of which are in use", in_use=in_use)
    rest += "" if held_ns is None else _(", each held for {held_ns} a request", held_ns=duration(held_ns))
    rest += "" if not queue_ns else _("; a request waits {queue_ns} for one", queue_ns=duration(queue_ns))
    if pool == "hikari":
        return _(
            "pool-bound: {threads} threads of {name} wait for its connections to the database{rest}",
            threads=rounded(threads),
            name=name,
            rest=rest,
        )
    return _(
        "pool-bound: {threads} threads of {name} wait for its connections to Redis{rest}",
        threads=rounded(threads),
        name=name,
        rest=rest,
    )


def _paced_by_pauses(pause_ns: float, response_ns: float, shares: Sequence[str]) -> str:
    pause = _(
        "users pause for {pause_ns} between answers of {response_ns}",
        pause_ns=duration(pause_ns),
        response_ns=duration(response_ns),
    )
    return _("paced: {pause}; {nothing_full}", pause=pause, nothing_full=_nothing_full(shares))


def _round_trips(users: int, response_ns: float, pause_ns: float, rate_per_s: float, shares: Sequence[str]) -> str:
    response = duration(response_ns)
    cycle = (
        _("({response} + {pause_ns} pause)", response=response, pause_ns=duration(pause_ns)) if pause_ns else response
    )
    formula = _(
        "X = N/(R+Z) = {users} users / {cycle} = {rate_per_s} a second",
        users=users,
        cycle=cycle,
        rate_per_s=rounded(rate_per_s),
    )
    return _("latency-bound, {formula}; {nothing_full}", formula=formula, nothing_full=_nothing_full(shares))


def _starved(part: str, name: str | None, needed_share: float, waited_share: float, shares: Sequence[str]) -> str:
    figures = {
        "bound": _bound(part),
        "needed": whole_percent(needed_share),
        "waited": whole_percent(waited_share),
        "others": _("; beside it {shares}", shares=", ".join(shares)) if shares else "",
    }
    if name is None:
        return _(
            "{bound}: hottest thread of the generator needed a CPU for {needed} of the time and waited for it for "
            "{waited}, as other programs had it{others}",
            **figures,
        )
    return _(
        "{bound}: main thread of {name} needed a CPU for {needed} of the time and waited for it for {waited}, as other "
        "programs had it{others}",
        name=name,
        **figures,
    )


def _nothing_full(shares: Sequence[str]) -> str:
    return _("nothing was saturated ({shares})", shares=", ".join(shares))


BOTTLENECK: dict[str, str | Callable[..., str]] = {
    "bottleneck_full": _full,
    "bottleneck_generator_busy": lambda busy_share, demand_ns=None: _(
        "hottest thread of the generator {busy_share} busy{a_request}",
        busy_share=whole_percent(busy_share),
        a_request=_a_request(demand_ns),
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
        f"{name} {cores:.2f}{_(' ({processes} processes)', processes=processes) if processes > 1 else ''}"
    ),
    "bottleneck_cores_of_programs": "other programs {cores:.2f}",
    "bottleneck_cores_of_machines": "other machines {cores:.2f}",
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
    "bottleneck_round_trips_measured": lambda users, rate_per_s, shares: _(
        "latency-bound: {users} users wait for round trips, {rate_per_s} a second; {nothing_full}",
        users=users,
        rate_per_s=rounded(rate_per_s),
        nothing_full=_nothing_full(shares),
    ),
}
