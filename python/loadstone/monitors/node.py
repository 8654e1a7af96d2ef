"""A Node process as it tells of itself in Prometheus's format, by the names of prom-client."""

from collections.abc import Iterator, Mapping

from loadstone.machine import process_table
from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import node
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.prometheus_pages import PrometheusPages, samples, total
from loadstone.monitors.watch import MetricsPage, MonitorTargets

PAGE_BYTES = 1 << 20
GAUGES: Mapping[str, str] = {
    "event_loop_delay_mean_s": "nodejs_eventloop_lag_mean_seconds",
    "event_loop_delay_p99_s": "nodejs_eventloop_lag_p99_seconds",
    "event_loop_delay_max_s": "nodejs_eventloop_lag_max_seconds",
    "event_loop_busy_share": "nodejs_eventloop_utilization",
    "node_heap_used_bytes": "nodejs_heap_size_used_bytes",
    "node_heap_total_bytes": "nodejs_heap_size_total_bytes",
    "node_rss_bytes": "process_resident_memory_bytes",
}
COUNTERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "node_gc_count": ("nodejs_gc_duration_seconds_count", {}),
    "node_gc_s": ("nodejs_gc_duration_seconds_sum", {}),
    "cache_hits": ("cache_gets_total", {"result": "hit"}),
    "cache_misses": ("cache_gets_total", {"result": "miss"}),
}
"""What only grows -> their name and labels; the sum of all that have them."""
RATES = {
    "node_gc_count": "node_gc_per_s",
    "node_gc_s": "node_gc_share",
    "cache_hits": "cache_hits_per_s",
    "cache_misses": "cache_misses_per_s",
    "cpu_s": "node_cpu_share",
}
KEPT_COUNTERS = ("node_gc_count", "node_gc_s")
BY_THE_CLOCK = {name for name in GAUGES if name.startswith("event_loop_")} | {*KEPT_COUNTERS, *RATES.values()}
"""Not reported of a process that stands still at times: that time would be in them."""
_NEEDED = (*GAUGES.values(), *{name for name, _ in COUNTERS.values()})


class NodeMonitor:
    """The processes at `pages`, by their parts; `node_answers` 0 alone is reported of one that did not answer."""

    METRICS = by_name(node.METRICS)

    def __init__(self, pages: Mapping[str, MetricsPage], *, in_turns: bool = False) -> None:
        """`in_turns`: whether they stand still while others have their turns."""
        self._workers = {part: page.worker_pid for part, page in pages.items()}
        urls = {part: page.url for part, page in pages.items()}
        self._pages = PrometheusPages(urls, self._read, PAGE_BYTES)
        self._left_out = BY_THE_CLOCK if in_turns else set[str]()

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for all processes of Node."""
        pages = watch.pages_of("node")
        return [cls(pages, in_turns=bool(watch.in_turn))] if pages else []

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """What each answered last, if it was not reported before, and rates since then."""
        for part, answer in self._pages.answers():
            reported = {"node_answers": float(bool(answer))}
            if answer:
                rates = self._pages.rates(part, {name: answer[name] for name in RATES if name in answer})
                kept = {name: value for name, value in answer.items() if name not in RATES or name in KEPT_COUNTERS}
                reported |= kept | {RATES[name]: rate for name, rate in rates.items()} | _hit_share(rates)
            for name, value in reported.items():
                if name not in self._left_out:
                    yield Sample(unix_s, part, name, value)

    def _read(self, part: str, text: str) -> dict[str, float]:
        """The figures of a page, and the CPU time of its process where that is a worker of a part."""
        exposed, pid = figures(text), self._workers[part]
        spent_ns = process_table.cpu_ns(pid) if exposed and pid is not None else None
        return exposed if spent_ns is None else exposed | {"cpu_s": spent_ns / 1e9}


def _hit_share(rates: Mapping[str, float]) -> dict[str, float]:
    """Hits of all reads from the cache; nothing where there were none. It holds of a process that stood still, too."""
    hits, misses = rates.get("cache_hits", 0.0), rates.get("cache_misses", 0.0)
    return {"cache_hit_share": hits / (hits + misses)} if hits + misses > 0 else {}


def figures(text: str) -> dict[str, float]:
    """Gauges and counters that stand in Prometheus's text format.

    Raises:
        ValueError: it is not that format.
    """
    observed = samples(text, _NEEDED)
    named = {**{name: (theirs, {}) for name, theirs in GAUGES.items()}, **COUNTERS}
    sums = {name: total(observed, theirs, labels) for name, (theirs, labels) in named.items()}
    exposed = {name: value for name, value in sums.items() if value is not None}
    if "node_heap_used_bytes" in exposed:  # collections are exposed from the first one on
        exposed = {"node_gc_count": 0.0, "node_gc_s": 0.0} | exposed
    return exposed


WATCHING = (NodeMonitor.watching,)
