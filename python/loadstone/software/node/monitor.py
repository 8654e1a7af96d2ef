"""A Node process as it tells of itself in Prometheus's format, by the names of prom-client."""

import threading
import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from loadstone.bounds.http_exchange import NotHttp, exchange
from loadstone.bounds.replies import read_as
from loadstone.errors import LoadstoneError
from loadstone.machine import process_table
from loadstone.observe.counter_rates import Rates
from loadstone.observe.sample import Monitor, Sample
from loadstone.observe.watch import Page, Watch
from loadstone.software.metric import by_name
from loadstone.software.node import metrics
from loadstone.software.prometheus_text import samples, values

WAIT_S = 0.2
"""How long a sample waits for answers, all processes together. What comes later belongs to the next sample."""
GIVE_UP_S = 5.0
ANSWER_BYTES = 1 << 20
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

    METRICS = by_name(metrics.METRICS)

    def __init__(self, pages: Mapping[str, Page], *, in_turns: bool = False) -> None:
        """`in_turns`: whether they stand still while others have their turns."""
        self._processes = [_Process(part, page) for part, page in pages.items()]
        self._left_out = BY_THE_CLOCK if in_turns else set[str]()

    @classmethod
    def watching(cls, watch: Watch) -> list[Monitor]:
        """One for all processes of Node."""
        pages = watch.pages_of("node")
        return [cls(pages, in_turns=bool(watch.in_turn))] if pages else []

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """What each answered last, if it was not reported before; waits no longer than `WAIT_S`."""
        for one in self._processes:
            one.ask()
        until_s = time.monotonic() + WAIT_S
        for one in self._processes:
            for name, value in one.answer(until_s).items():
                if name not in self._left_out:
                    yield Sample(unix_s, one.part, name, value)


class _Process:
    """One process. It is queried in a thread of its own, one request at a time."""

    def __init__(self, part: str, page: Page) -> None:
        self.part = part
        self._page = page
        self._asking: threading.Thread | None = None
        self._queried_now = False
        self._found: dict[str, float] = {}
        self._rates: Rates | None = None

    def ask(self) -> None:
        """Ask, unless the last request still waits for its answer."""
        self._queried_now = self._asking is None
        if self._asking is None:
            self._asking = threading.Thread(target=self._ask, name=f"node {self.part}", daemon=True)
            self._asking.start()

    def answer(self, until_s: float) -> dict[str, float]:
        """What it answered by then, with the rates since it answered before."""
        found: dict[str, float] = {}
        if self._asking is not None and self._queried_now:
            self._asking.join(max(0.0, until_s - time.monotonic()))
        if self._asking is not None and not self._asking.is_alive():
            self._asking = None
            found, self._found = self._found, {}
        reported = {"node_answers": float(bool(found))}
        if not found:
            return reported
        counters = {name: found[name] for name in RATES if name in found}
        rates = {} if self._rates is None else self._rates.of(counters)
        self._rates = self._rates or Rates(counters)
        kept = {name: value for name, value in found.items() if name not in RATES or name in KEPT_COUNTERS}
        return reported | kept | {RATES[name]: rate for name, rate in rates.items()} | _hit_share(rates)

    def _ask(self) -> None:
        try:
            url = urlsplit(self._page.url)
            answer = exchange(
                url.hostname or "", url.port or 80, url.path or "/", within_s=GIVE_UP_S, body_max_bytes=ANSWER_BYTES
            )
            with read_as(self.part, url.path, "figures in Prometheus's format"):
                self._found = figures(answer.body.decode()) if answer.status == 200 else {}
            if self._found and self._page.worker_pid is not None:
                spent_ns = process_table.cpu_ns(self._page.worker_pid)
                self._found |= {} if spent_ns is None else {"cpu_s": spent_ns / 1e9}
        except (OSError, NotHttp, ValueError, LoadstoneError):
            self._found = {}


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
    found: dict[str, float] = {}
    for name, (theirs, labels) in {**{name: (theirs, {}) for name, theirs in GAUGES.items()}, **COUNTERS}.items():
        these = list(values(observed, theirs, labels))
        if these:
            found[name] = sum(these)
    if "node_heap_used_bytes" in found:  # collections are exposed from the first one on
        found = {"node_gc_count": 0.0, "node_gc_s": 0.0} | found
    return found


WATCHING = (NodeMonitor.watching,)
