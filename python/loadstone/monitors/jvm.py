"""A JVM as Micrometer tells of it at Spring Boot's `/actuator/prometheus`."""

from collections.abc import Iterator, Mapping

from loadstone.monitors.metric import by_name
from loadstone.monitors.metrics import jvm
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.prometheus_pages import PrometheusPages, samples, total, values
from loadstone.monitors.watch import MetricsPage, MonitorTargets

PAGE_BYTES = 4 << 20
HEAP = {"area": "heap"}
OUTSIDE = {"area": "nonheap"}
GAUGES: dict[str, tuple[str, Mapping[str, str]]] = {
    "heap_used_bytes": ("jvm_memory_used_bytes", HEAP),
    "heap_committed_bytes": ("jvm_memory_committed_bytes", HEAP),
    "nonheap_used_bytes": ("jvm_memory_used_bytes", OUTSIDE),
    "jvm_threads": ("jvm_threads_live_threads", {}),
    "jvm_blocked": ("jvm_threads_states_threads", {"state": "blocked"}),
    "gc_pause_count": ("jvm_gc_pause_seconds_count", {}),
    "gc_pause_s": ("jvm_gc_pause_seconds_sum", {}),
    "hikari_active": ("hikaricp_connections_active", {}),
    "hikari_idle": ("hikaricp_connections_idle", {}),
    "hikari_pending": ("hikaricp_connections_pending", {}),
    "redis_pool_active": ("commons_pool2_num_active_objects", {}),
    "redis_pool_idle": ("commons_pool2_num_idle_objects", {}),
    "redis_pool_pending": ("commons_pool2_num_waiters_threads", {}),
    "tomcat_busy": ("tomcat_threads_busy_threads", {}),
    "tomcat_threads": ("tomcat_threads_current_threads", {}),
    "tomcat_connections": ("tomcat_connections_current_connections", {}),
}
"""Our metric -> Micrometer's name and labels; the sum of all that have them."""
LONGEST_PAUSE = "jvm_gc_pause_seconds_max"
GC_RATES = {"gc_pause_count": "gc_pauses_per_s", "gc_pause_s": "gc_pause_share"}
BY_THE_CLOCK = {*GC_RATES, *GC_RATES.values(), "gc_pause_max_s"}
"""Not reported of a JVM that stands still at times: that time would be in them."""
_NEEDED = (LONGEST_PAUSE, *{name for name, _ in GAUGES.values()})


class JvmMonitor:
    """The JVMs at `pages`, by their parts; `jvm_answers` 0 alone is reported of one that did not answer."""

    METRICS = by_name(jvm.METRICS)

    def __init__(self, pages: Mapping[str, MetricsPage], *, in_turns: bool = False) -> None:
        """`in_turns`: whether they stand still while others have their turns."""
        urls = {part: page.url for part, page in pages.items()}
        self._pages = PrometheusPages(urls, lambda _, text: figures(text), PAGE_BYTES)
        self._left_out = BY_THE_CLOCK if in_turns else set[str]()

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for all JVMs."""
        pages = watch.pages_of("jvm")
        return [cls(pages, in_turns=bool(watch.in_turn))] if pages else []

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """What each answered last, if it was not reported before, and rates since then."""
        for part, answer in self._pages.answers():
            reported = {"jvm_answers": float(bool(answer))} | answer
            if answer:
                rates = self._pages.rates(part, {name: answer[name] for name in GC_RATES if name in answer})
                reported |= {GC_RATES[name]: rate for name, rate in rates.items()}
            for name, value in reported.items():
                if name not in self._left_out:
                    yield Sample(unix_s, part, name, value)


def figures(text: str) -> dict[str, float]:
    """Those of `METRICS` that stand in Prometheus's text format as they are.

    Raises:
        ValueError: it is not that format.
    """
    observed = samples(text, _NEEDED)
    sums = {name: total(observed, theirs, labels) for name, (theirs, labels) in GAUGES.items()}
    exposed = {name: value for name, value in sums.items() if value is not None}
    if "heap_used_bytes" in exposed:  # pauses are reported from the first one on
        exposed = {"gc_pause_count": 0.0, "gc_pause_s": 0.0} | exposed
        exposed["gc_pause_max_s"] = max(values(observed, LONGEST_PAUSE, {}), default=0.0)
    return exposed


WATCHING = (JvmMonitor.watching,)
