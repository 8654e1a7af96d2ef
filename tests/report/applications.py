"""Runs with an application: two studies' tables with subjects, stores, lessons and crashes, made by their rules."""

import random
from itertools import product
from typing import Any

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import (
    Analysis,
    Bottleneck,
    FactorView,
    ResultTable,
    Row,
)
from loadstone.judge.analysis.crashes import CrashRow, CrashTable
from loadstone.run_folder.facts import AvgMax
from loadstone.text.message import verbatim

STORES = {"mariadb": "MariaDB", "no": "Redis", "everysec": "Redis, AOF everysec", "always": "Redis, AOF always"}
PUBLISHED = {
    (1000, 1): ((1550, 980), (3170, 150), (2410, 150), (2300, 70)),
    (3000, 1): ((1370, 970), (2840, 160), (2100, 130), (1900, 90)),
    (3000, 2): ((1940, 970), (3350, 220), (3260, 270), (3140, 180)),
}
CLIENTS = {
    "jedis-8": ("Jedis, pool of 8 connections", 292.8, 2068e6, 16.1, 2.32, 8),
    "jedis-128": ("Jedis, pool of 128 connections, idle from 36, tested on borrow and return", 294.8, 2060e6, 17.02,
                  4.25, 44),
    "lettuce": ("Lettuce, one shared connection", 296.5, 2047e6, 18.71, 2.13, 1),
}  # fmt: skip
VMSTAT = {
    "r": (3.4, 10), "b": (0.3, 2), "swpd": (0, 0), "free": (2.7e6, 2.9e6), "buff": (115_000, 116_000),
    "cache": (1.02e6, 1.03e6), "si": (0, 0), "so": (0, 0), "bi": (0, 0), "bo": (3_300, 7_904), "in": (12_020, 14_056),
    "cs": (11_400, 13_965), "us": (61.2, 74), "sy": (22.4, 31), "id": (12, 40), "wa": (4.4, 31), "st": (0.2, 1.4),
}  # fmt: skip
MARIADB = {
    "answers": (1, 1), "threads_connected": (12, 12), "threads_running": (2.2, 5), "buffer_pool_data_bytes": (4e7, 5e7),
    "buffer_pool_hits": (99.98, 100), "rows_read_per_s": (8_123.4, 9_200), "rows_inserted_per_s": (0, 0),
    "rows_updated_per_s": (0, 0), "rows_deleted_per_s": (0, 0), "disk_reads_per_s": (0, 0),
    "disk_writes_per_s": (210, 480), "fsyncs_per_s": (180, 400), "log_written_bytes_per_s": (4.1e5, 7e5),
    "row_lock_waits_per_s": (0, 0),
}  # fmt: skip
REDIS = {
    "answers": (1, 1), "connected_clients": (10, 10), "used_memory": (4.1e7, 4.4e7),
    "instantaneous_ops_per_sec": (2_800, 3_100), "aof_current_size": (0, 0), "aof_pending_bio_fsync": (0, 0),
}  # fmt: skip
JVM = {
    "jvm_answers": (1, 1), "heap_used_bytes": (1.1e8, 1.9e8), "gc_pause_share": (0.011, 0.04),
    "gc_pause_max_s": (0.018, 0.023), "jvm_threads": (54, 61), "tomcat_busy": (31, 200),
    "tomcat_connections": (200, 200),
    "hikari_active": (7.1, 10), "hikari_pending": (44, 188), "redis_pool_active": (5.2, 8),
    "redis_pool_pending": (0.8, 11),
}  # fmt: skip


def figures(reported: dict[str, tuple[float, float]]) -> dict[str, AvgMax]:
    return {metric: AvgMax(avg=avg, max=highest) for metric, (avg, highest) in reported.items()}


def process(avg: float, highest: float) -> dict[str, tuple[float, float]]:
    return {
        "cpu_share": (avg, highest), "rss_bytes": (3.1e8, 3.3e8), "voluntary_per_s": (4_100, 5_200),
        "involuntary_per_s": (900, 1_400), "threads": (61, 64), "sockets": (220, 230),
    }  # fmt: skip


def figures_of_parts(store: str, store_cpu: float, replicas: int = 1) -> dict[str, dict[str, AvgMax]]:
    """What monitors tell of a condition: the machine, the driver, the application, one store."""
    apps = ["spring"] if replicas == 1 else [f"spring-{number}" for number in range(1, replicas + 1)]
    is_sql = store == "mariadb"
    aof = (
        {"aof_current_size": (1.1e6, 2.3e6), "aof_pending_bio_fsync": (0.2, 1)}
        if store in ("everysec", "always")
        else {}
    )
    return {
        "host": figures(VMSTAT),
        "kernel": figures({"overcommit_memory": (1, 1)}),
        "cpu1": figures({"busy": (40, 60)}),
        "generator": figures({"cpu_share": (0.21, 0.3), "rss_bytes": (9e7, 9.1e7), "native_share": (0.18, 0.28)}),
        **{app: figures({**process(0.93 / replicas, 0.98 / replicas), **JVM}) for app in apps},
        ("mariadb" if is_sql else "redis"): figures(
            {**process(store_cpu * 0.8, store_cpu), **(MARIADB if is_sql else {**REDIS, **aof})}
        ),
    }


def kinds_of(observed: dict[str, Any]) -> dict[str, str]:
    """What the parts of `figures_of_parts` are."""
    known = {"host": "host", "generator": "driver", "redis": "redis", "mariadb": "mariadb"}
    subjects = {part: "subject" for part in observed if part.startswith("spring")}
    return {part: kind for part, kind in known.items() if part in observed} | subjects


def row(condition: dict[str, Any], label: str, tps: float, users: int, errors: float = 0.0, **more: Any) -> Row:
    """A row that obeys Little's law, with a share of errors."""
    more.setdefault("kinds", kinds_of(more.get("seen", {})))
    mean_ns = users / tps * 1e9
    operations = round(tps * 30)
    goodput = tps * (1 - errors)
    bottleneck = Bottleneck(
        part="subject", message=verbatim("subject-bound: spring 98 % busy"), evidence={"spring": 0.98}
    )
    return Row(
        **{
            "condition": condition, "label": label, "trials": [], "verdict": "valid", "reasons": [],
            "operations": operations, "elapsed_s": 30.0, "throughput_per_s": tps, "goodput_per_s": goodput,
            "peak_per_s": tps * 1.2,
            "response_ns": Quantiles(
                min=10**6, mean=mean_ns, p50=int(mean_ns * 0.9), p90=int(mean_ns * 1.3), p95=int(mean_ns * 1.6),
                p99=int(mean_ns * 2.4), p999=None, max=int(mean_ns * 5),
            ),
            "service_ns": None, "pool_wait_ns": None,
            "errors": {"status_503": round(operations * errors)} if errors else {}, "cpu_share": {"spring": 0.93},
            "published": None, "unmeasurable": {"p999": verbatim("9,000 samples; 100 beyond the quantile are needed")},
            "blocks": 6, "goodput_interval": (goodput * 0.97, goodput * 1.04), "bottleneck": bottleneck, **more,
        }
    )  # fmt: skip


def posts() -> ResultTable:
    """POST by store, vUsers and replicas, as `aof-modes` prints it: TPS with the store's CPU."""
    rows, dice = [], random.Random(3)
    for (users, replicas), (place, store) in product(PUBLISHED, enumerate(STORES)):
        tps, millicores = PUBLISHED[users, replicas][place]
        rows.append(
            row(
                {"store": store, "users": users, "replicas": replicas},
                f"{STORES[store]}, {users:,} vUsers, {replicas} replica{'s' if replicas > 1 else ''}",
                tps * dice.uniform(0.2, 0.3), users,
                errors=0.026 if (users, replicas, store) == (3000, 1, "mariadb") else 0.0,
                published_columns={"tps_store": tps, "store_cpu": millicores},
                seen=figures_of_parts(store, dice.uniform(0.05, 0.4), replicas),
            )
        )  # fmt: skip
    return ResultTable(
        name="post", title="POST: TPS (the store's highest CPU)", note="", rows=rows,
        vary={"users": [1000, 3000], "replicas": [1, 2], "store": list(STORES)},
        columns=["tps_store", "interval", "blocks", "mtt", "executed", "stored", "error_share", "p99", "held_back"],
    )  # fmt: skip


def clients() -> ResultTable:
    """Three clients, as `jedis-vs-lettuce` prints them; labels as long as they get."""
    rows = []
    for name, (label, tps, mtt_ns, app, redis, connections) in CLIENTS.items():
        observed = figures_of_parts("no", 0.055)
        observed["redis"] |= figures({"connected_clients": (connections + 2, connections + 2)})
        observed["mariadb"] = figures({**process(0.1, 0.2), **MARIADB})
        published = {
            "tps": tps, "mtt": mtt_ns, "app_cpu": app, "redis_cpu": redis, "connections": float(connections),
        }  # fmt: skip
        rows.append(row({"client": name}, label, 1.4 * tps, 600, published_columns=published, seen=observed))
    return ResultTable(
        name="clients", title="The home feed, by client library", note="600 vUsers, a random page each.", rows=rows,
        vary={"client": list(CLIENTS)},
        columns=[
            "tps", "peak_tps", "mtt", "executed", "errors", "app_cpu", "redis_cpu", "connections", "mariadb_reads",
            "pool_wait", "published",
        ],
    )  # fmt: skip


def crashes() -> list[CrashTable]:
    made = (("no", 4_120, 4_120, 1_502, 0.31), ("everysec", 0, 12, 0, 0.42), ("always", 0, 0, 0, 0.47))
    rows = [
        CrashRow(
            condition={"aof": mode}, label=f"AOF {mode}", times=3, acknowledged=30_412, writes=30_412,
            looked_up=low == high, present=30_412 - high, unacknowledged_present=9, lost_min=low, lost_max=high,
            lost_worst=worst, restart_s=restart_s,
            problems=[verbatim("try 2: it did not start again")] if mode == "no" else [],
        )
        for mode, low, high, worst, restart_s in made
    ]  # fmt: skip
    nothing = CrashRow(
        condition={"aof": "off"}, label="AOF off", times=1, acknowledged=0, lost_min=0, lost_max=0, lost_worst=0,
        restart_s=0.0, problems=[verbatim("try 1: no write was acknowledged")],
    )  # fmt: skip
    return [CrashTable(name="kill", title="Redis, killed under load", note="LPUSH of 50 users.", rows=[*rows, nothing])]


def application(analysis: Analysis) -> Analysis:
    """A study of an application, scaled to a tenth."""
    return analysis.model_copy(
        update={
            "experiment": "aof-modes",
            "question": "What do the append-only-file modes cost, on Redis itself and behind an application?",
            "answer": verbatim("Behind the application, nothing that matters: the application is the limit."),
            "tables": [posts(), clients()], "trials": [], "families": [], "checks": [], "notes": [],
            "timeline": analysis.timeline[:40], "crashes": crashes(), "scale": 0.1,
            "published_source": verbatim("A blog post, Kubernetes, nGrinder"),
            "factors": {
                "store": FactorView(title="Store"), "users": FactorView(title="vUsers", unit="vUsers"),
                "replicas": FactorView(title="Replicas", unit="replicas"), "client": FactorView(title="Client"),
            },
        }
    )  # fmt: skip
