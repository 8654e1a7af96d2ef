"""Faults, one for each check, of twice the size that the check lets pass."""

import copy
from collections.abc import Callable
from typing import Any

Line = dict[str, Any]
OPEN_MODEL = {"schedule_sent", "schedule_lag", "dropped_arrivals"}
"""Checks of a schedule: the clean trial is of the closed model."""
NOT_IN_CLEAN = {
    *("hit_rate", "stored_rows", "settings", "limits", "subject_throttled", "temporary_files"),
    "clock_set",
    *("link_delay", "link_busy", "deliveries", "beginning"),
}
"""Of what else the clean trial has none: reads, lines, and what an experiment counts, sets or limits."""
LOOKS_AT_MORE = {"connections"}
"""Checks that look at what their fault in `TWICE` leaves as it is: the server's own count of connections."""


def operation(line: Line) -> Line:
    return line["facts"]["drive"]["operations"]["set"]


def put(line: Line, place: str, value: Any) -> None:
    """Set `facts.drive.threads.0.cpu_s` and the like."""
    *keys, last = place.split(".")
    part: Any = line
    for key in keys:
        part = part[int(key)] if isinstance(part, list) else part[key]
    part[int(last) if isinstance(part, list) else last] = value


def setting(place: str, value: Any) -> Callable[[Line], None]:
    return lambda line: put(line, place, value)


def of_p50(place: str, times: float) -> Callable[[Line], None]:
    return lambda line: put(line, place, int(times * line["response_ns"]["p50"]))


def cpus(**figures: dict[str, float]) -> Callable[[Line], None]:
    """What the monitors observed of each CPU in per cent, e.g. `cpu0={"busy": 60, "stolen": 5, "others": 0}`."""

    def inject(line: Line) -> None:
        for cpu, shares in figures.items():
            line["facts"]["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in shares.items()}

    return inject


def stolen(share: float) -> Callable[[Line], None]:
    """A share of the server's CPU that the host gave to other machines."""
    idle = {"busy": 8.0, "stolen": 0.0, "others": 0.0}
    return cpus(cpu0={"busy": 60.0 + 100 * share, "stolen": 100 * share, "others": 0.0}, cpu1=idle)


def fails(share: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        failed = round(share * line["counts"]["sent"])
        line["counts"]["errors"] = {"server_oom": failed}
        line["counts"]["ok"] = line["counts"]["sent"] - failed

    return inject


def loses_operations(line: Line) -> None:
    operation(line)["counts"]["ok"] -= 2


def server_counts(more: int) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        line["facts"]["servers"]["redis"]["after"]["calls"]["json.set"] += more

    return inject


def receives(delivered: int, **changed: Any) -> Callable[[Line], None]:
    """Two subscribers got so many of the 1,000 deliveries that were expected."""
    latency = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p999", "max"), 1000)
    found = {
        "kind": "subscribe", "connections": 2, "disconnected": 0, "why_disconnected": None, "published": 500,
        "expected": 1000, "delivered": delivered, "missing": 1000 - delivered, "repeated": 0, "unreadable": 0,
        "window_delivered": delivered, "delivery_ns": {"count": delivered, **latency}, "delivery_histogram": "",
        "overflowed": 0, "bytes_sent": 100, "bytes_received": 100_000, **changed,
    }  # fmt: skip
    return setting("facts.drive.receivers", found)


def little_of(ratio: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        users, seconds = line["facts"]["plan"]["model"]["users"], line["facts"]["drive"]["measure_s"]
        operation(line)["response_sum_ns"] = int(ratio * users * seconds * 1e9)

    return inject


def waits(share: float) -> Callable[[Line], None]:
    return lambda line: put(line, "facts.drive.pool_wait_ns.mean", share * operation(line)["response_ns"]["mean"])


def connections_missing(line: Line) -> None:
    for point in line["facts"]["series"][:1]:
        point["connections"] = 63


def reads_more(share: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        after = line["facts"]["servers"]["redis"]["after"]["counters"]
        line["facts"]["drive"]["bytes_sent"] *= 1000  # so that what loadstone itself queries plays no part
        before = line["facts"]["servers"]["redis"]["before"]["counters"]["total_net_input_bytes"]
        after["total_net_input_bytes"] = before + (1 + share) * line["facts"]["drive"]["bytes_sent"]

    return inject


def long(seconds: int = 12) -> Callable[[Line], None]:
    """A measure phase of so many seconds, steady, with an interval a second."""

    def inject(line: Line) -> None:
        point = line["facts"]["series"][0]
        line["facts"]["drive"]["measure_s"] = float(seconds)
        line["facts"]["series"] = [
            {**point, "start_s": float(n), "duration_s": 1.0, "completed": 1000} for n in range(seconds)
        ]

    return inject


def drifts(share: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        series = line["facts"]["series"]
        third = len(series) // 3
        for number, point in enumerate(series):
            place = min(number // third, 2) / 2  # 0 in the first third, 1 in the last
            point["completed"] = round(1000 * (1 + share * (place - 0.5)))

    return inject


def cold_start(share: float) -> Callable[[Line], None]:
    """A long trial whose rate drifts."""

    def inject(line: Line) -> None:
        long()(line)
        drifts(share)(line)

    return inject


def becomes_open(line: Line) -> None:
    line["facts"]["plan"]["model"] = {"kind": "open", "rate_per_s": 200.0}


def opened(inject: Callable[[Line], None]) -> Callable[[Line], None]:
    def both(line: Line) -> None:
        becomes_open(line)
        inject(line)

    return both


def never_sent(share: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        counts = line["counts"]
        counts["unsent"] = round(share * counts["offered"])
        counts["sent"] = counts["ok"] = counts["offered"] - counts["unsent"]

    return inject


def late(p50: float, p99: float) -> Callable[[Line], None]:
    """As of a driver that does not say what of each response time is its own."""

    def inject(line: Line) -> None:
        of_p50("facts.drive.schedule_lag_ns.p50", p50)(line)
        of_p50("facts.drive.schedule_lag_ns.p99", p99)(line)

    return inject


def own_time(p50: float) -> Callable[[Line], None]:
    """So much of the P50 may be the driver's own, as it says itself."""

    def inject(line: Line) -> None:
        line["least_ns"] = {**line["response_ns"], "p50": round((1 - p50) * line["response_ns"]["p50"])}
        late(p50, 10 * p50)(line)

    return inject


def becomes_reads(line: Line) -> None:
    """Every operation reads a key that was stored before, and the server found each."""
    line["facts"]["plan"]["operations"][0] |= {
        "commands": [{"args": ["JSON.GET", "{key}"], "expect": "document"}],
        "writes": "nothing",
        "read_back": None,
    }
    line["facts"]["drive"]["commands"] = {"JSON.GET": {"sent": 1464, "replied": 1464}}
    for side, calls in (("before", 1000), ("after", 2464)):
        line["facts"]["servers"]["redis"][side]["calls"]["json.get"] = calls
    of_redis(line, "after")["counters"]["keyspace_hits"] = 1464.0


def becomes_http(line: Line) -> None:
    """The load goes to an application, and the Redis that was watched stands behind it."""
    plan = line["facts"]["plan"]
    request = {"method": "POST", "path": "/api/post", "body": "{}", "expect": {"json_fields": ["id"]}}
    plan |= {"protocol": "http1", "operations": [{"name": "set", "requests": [request]}]}
    line["facts"]["drive"]["commands"] = {"POST /api/post": {"sent": 1464, "replied": 1464}}
    of_redis(line, "after")["counters"]["keys"] += 1464


def on_mariadb(line: Line) -> None:
    """In place of the Redis there is a MariaDB, which no one can ask for a Redis's counters."""
    facts = line["facts"]
    facts["servers"] = {}
    del facts["kinds"]["redis"]
    facts["kinds"]["mariadb"] = "mariadb"
    facts["parts"]["mariadb"] = facts["parts"].pop("redis") | {"main_thread_share": None, "wait_share": None}
    facts["seen"]["mariadb"] = {"threads_connected": {"avg": 12.0, "max": 12.0}}
    facts["server_connections"] = {"mariadb": [12.0, 12.0, 12.0]}


def stores(**counted: int | None) -> Callable[[Line], None]:
    """An operation that was answered 1,464 times, and what the server counted."""

    def inject(line: Line) -> None:
        one = {"operation": "set", "server": "redis", "before": 1000, "after": 2464, "answered": 1464}
        line["facts"]["stored"] = [one | counted]

    return inject


def has_other_settings(number: int) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        requested = {f"setting-{place}": "1" for place in range(number)}
        line["facts"]["settings"] = {"redis": {"appendonly": "no"} | dict.fromkeys(requested, "0")}
        line["facts"]["unlike"] = {"redis": requested} if number else {}

    return inject


def limit(reported: float | str) -> dict[str, Any]:
    """A limit of this value, or one that is not in force: `unavailable: no control groups`."""
    if not isinstance(reported, str):
        return {"status": "in_force", "value": reported}
    status, _, why = reported.partition(": ")
    return {"status": status, "why": why}


def limited(*reported: float | str) -> Callable[[Line], None]:
    """A server with a CPU limit for each of them, as `limit` takes it."""
    return lambda line: put(line, "facts.limits", {f"redis-{n}": {"cpu": limit(one)} for n, one in enumerate(reported)})


def opens_connections(*thirds: float) -> Callable[[Line], None]:
    return lambda line: put(line, "facts.server_connections", {"redis": [64 + more for more in thirds]})


def spills(bytes_per_s: float) -> Callable[[Line], None]:
    figures = {"spilled_bytes_per_s": {"avg": bytes_per_s, "max": bytes_per_s}}
    return lambda line: line["facts"]["seen"].update(db=figures)


def throttled(share: float) -> Callable[[Line], None]:
    """Two replicas whose CPU limit held each back for this share of the drive."""

    def inject(line: Line) -> None:
        driven_s = max(end["end_s"] for end in line["facts"]["drive"]["phases"].values())
        held = {"replicas": 2, "ours": True, "limits": {"cpu": limit(0.5)}, "throttled_s": 2 * share * driven_s}
        line["facts"]["subjects"] = {"app": held}

    return inject


def behind_line(**changed: Any) -> Callable[[Line], None]:
    """A line of 1 ms to the server, exact and with time left, but for what is changed."""
    exact = {
        **{"requested_ns": 1_000_000, "part": "redis.link", "pings": 60, "pieces": 2928, "busy_share": 0.2},
        **{"added_ns": [1_005_000.0, 1_003_000.0, 1_008_000.0], "unrecorded_ns": [4_000.0, 2_000.0, 7_000.0]},
        "late_ns": [1_000.0, 30_000.0],
    }
    return lambda line: line["facts"].update(links={"redis": exact | changed})


def of_redis(line: Line, side: str) -> Line:
    return line["facts"]["servers"]["redis"][side]


def misses(share: float) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        becomes_reads(line)
        counters = of_redis(line, "after")["counters"]
        missed = round(share * counters["keyspace_hits"])
        counters["keyspace_hits"] -= missed
        counters["keyspace_misses"] += missed

    return inject


def configured(name: str, value: str) -> Callable[[Line], None]:
    def inject(line: Line) -> None:
        for side in ("before", "after"):
            of_redis(line, side)["settings"][name] = value

    return inject


def forks_with_huge_pages(line: Line) -> None:
    put(line, "facts.host.huge_pages_always", True)
    configured("disable-thp", "no")(line)
    of_redis(line, "after")["counters"]["total_forks"] = 2.0


def stands_still(of: str, length_s: float = 2.0, no_cpu_s: float = 0.0) -> Callable[[Line], None]:
    """The server or the driver stood still for so long in the middle of the measure phase, with all users waiting."""

    def inject(line: Line) -> None:
        drive, users = line["facts"]["drive"], line["facts"]["plan"]["model"].get("users", 64)
        begin_s = drive["phases"]["measure"]["start_s"] + 1.0
        stall = {"of": of, "begin_s": begin_s, "end_s": begin_s + length_s, "waiting": users, "no_cpu_s": no_cpu_s}
        drive["stalls"] = [stall]
        if of == "server":
            seen = {"begin_s": begin_s, "length_s": length_s, "waiting": users, "part": "redis", "state": "stopped"}
            line["facts"]["stalls"] = [seen]

    return inject


def of_agents(*changes: Line) -> Callable[[Line], None]:
    """A fleet: an agent for each of `changes` to what it did, with a thread each and as much of the work."""

    def inject(line: Line) -> None:
        drive, counts, number = line["facts"]["drive"], line["counts"], len(changes)
        drive["threads"] = [copy.deepcopy(drive["threads"][0]) for _ in changes]
        names = ("offered", "sent", "ok", "timeouts", "dropped", "in_flight", "unsent")
        own = {
            **{"host": "machine", "cpus": 2, "skew_ns": 0, "skew_bound_ns": 50_000, "threads": 1},
            **{"counts": {**{name: counts[name] // number for name in names}, "errors": {}}},
            **{"measure_s": drive["measure_s"], "schedule_lag_ns": drive["schedule_lag_ns"]},
            **{"response_ns": operation(line)["response_ns"], "clock_quantum_ns": drive["clock_quantum_ns"]},
        }
        drive["agents"] = [
            copy.deepcopy({**own, "name": f"a{place}", **change}) for place, change in enumerate(changes)
        ]

    return inject


TWICE: dict[str, tuple[Callable[[Line], None], str]] = {
    "finished": (setting("facts.drive.stopped", "the server went away"), "invalid"),
    "stalls": (stands_still("server"), "suspect"),
    "own_stalls": (stands_still("driver"), "suspect"),
    "own_time": (setting("facts.lab_share", 2 * 0.002), "suspect"),
    "clock_set": (setting("facts.drive.clock_set_s", 3600.0), "valid"),
    "gain": (setting("facts.drive.threads.0.cpu_s", (1 - 1 / 1.2) * 6), "suspect"),
    "taken": (stolen(0.2 / 1.2), "suspect"),
    "round_trip": (of_p50("facts.ceiling.floor_p50_ns", 2 * 0.10), "unknown"),
    "clock": (of_p50("facts.drive.clock_quantum_ns", 2 * 0.0251), "invalid"),
    "beginning": (of_agents({}, {"skew_ns": round(2 * 0.01 * 6e9)}), "suspect"),
    "schedule_sent": (opened(never_sent(2 * 0.01)), "invalid"),
    "schedule_lag": (opened(own_time(2 * 0.1)), "suspect"),
    "dropped_arrivals": (opened(setting("counts.dropped", 2)), "invalid"),
    "errors": (fails(2 * 0.01), "invalid"),
    "conservation": (loses_operations, "invalid"),
    "server_counter": (server_counts(2), "invalid"),
    "deliveries": (receives(998), "invalid"),
    "stored_rows": (stores(after=2466), "invalid"),
    "settings": (has_other_settings(2), "invalid"),
    "limits": (limited("unavailable: no control groups", "unavailable: no control groups"), "suspect"),
    "connection_leak": (opens_connections(0, 4, 2 * 4.1), "suspect"),
    "temporary_files": (spills(2.0), "suspect"),
    "subject_throttled": (throttled(2 * 0.05), "valid"),
    "replies": (setting("facts.drive.total.errors", {"wrong_reply": 2}), "invalid"),
    "payload": (reads_more(2 * 0.01), "suspect"),
    "little": (little_of(1 - 2 * 0.2), "invalid"),
    "pool_wait": (waits(2 * 0.10), "suspect"),
    "connections": (setting("facts.drive.connections.lost", 2), "suspect"),
    "link_delay": (behind_line(late_ns=[2 * 0.051e6, 200_000.0]), "suspect"),
    "link_busy": (behind_line(busy_share=0.95), "suspect"),
    "warm_up": (cold_start(2 * 0.101), "suspect"),
    "samples": (setting("counts.ok", 0), "invalid"),
    "restarted": (setting("facts.servers.redis.after.run_id", "b" * 40), "invalid"),
    "accept_queue": (setting("facts.host.listen_drops", 2.0), "suspect"),
    "swap": (setting("facts.host.swapped_bytes", 4096.0), "suspect"),
    "placement": (lambda line: (put(line, "facts.placement.shared", True), put(line, "facts.host.idle_share", 0.05))[0],
                  "suspect"),
    "background": (setting("facts.servers.redis.after.counters.total_forks", 2.0), "suspect"),
    "evicted_keys": (setting("facts.servers.redis.after.counters.evicted_keys", 2.0), "invalid"),
    "hit_rate": (misses(2 * 0.01), "suspect"),
    "key_count": (setting("facts.servers.redis.after.counters.keys", 1002.0), "invalid"),
    "monitor_clients": (setting("facts.servers.redis.after.monitor_clients", 2), "suspect"),
    "slow_log": (configured("slowlog-log-slower-than", str(1000 // 2)), "suspect"),
    "log_level": (configured("loglevel", "debug"), "suspect"),
    "huge_pages": (forks_with_huge_pages, "suspect"),
    "overcommit": (setting("facts.host.overcommit_memory", 2), "valid"),
    "server_cpu": (setting("facts.parts.redis.main_thread_share", 0.96), "valid"),
}  # fmt: skip
"""Check -> a fault of twice the limit, and what the check then says. Of information: what is worth a word."""


def injected(line: Line, inject: Callable[[Line], Any]) -> Line:
    """A copy of a trial's line with a fault in it."""
    copied = copy.deepcopy(line)
    inject(copied)
    return copied
