"""A JVM as Micrometer tells of it at Spring Boot's `/actuator/prometheus`."""

import threading
import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from loadstone.bounds.http_exchange import NotHttp, exchange
from loadstone.bounds.replies import read_as
from loadstone.errors import LoadstoneError
from loadstone.observe.counter_rates import Rates
from loadstone.observe.sample import Monitor, Sample
from loadstone.observe.watch import Watch
from loadstone.software.jvm import metrics
from loadstone.software.metric import by_name
from loadstone.software.prometheus_text import samples, values

WAIT_S = 0.2
"""How long a sample waits for the answer. One that comes later belongs to the next sample."""
GIVE_UP_S = 5.0
"""How long the JVM may take for a whole answer. It gets one query at a time."""
ANSWER_BYTES = 4 << 20
HEAP = {"area": "heap"}
OUTSIDE = {"area": "nonheap"}
GAUGES: dict[str, tuple[str, Mapping[str, str]]] = {
    "heap_used_bytes": ("jvm_memory_used_bytes", HEAP),
    "heap_committed_bytes": ("jvm_memory_committed_bytes", HEAP),
    "nonheap_used_bytes": ("jvm_memory_used_bytes", OUTSIDE),
    "jvm_threads": ("jvm_threads_live_threads", {}),
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


class Round:
    """JVMs that are queried at the same time, and together waited for no longer than `WAIT_S`."""

    def __init__(self) -> None:
        self.members: list[JvmMonitor] = []
        self._served: set[JvmMonitor] = set()
        self._until_s = 0.0

    def wait_s(self, member: "JvmMonitor") -> float:
        """How long this one may wait. The first of a round queries all; each is served once a round."""
        if not self._served or member in self._served:
            self._served.clear()
            self._until_s = time.monotonic() + WAIT_S
            for one in self.members:
                one.ask()
        self._served.add(member)
        return max(0.0, self._until_s - time.monotonic())


class JvmMonitor:
    """The JVM of `part` at `url`; `jvm_answers` 0 alone is reported where no answer came since the sample before.

    It is queried in a thread of its own, so that a JVM under load, whose answer takes long, holds up no other monitor.
    """

    METRICS = by_name(metrics.METRICS)

    def __init__(self, part: str, url: str, round_of: Round | None = None, *, in_turns: bool = False) -> None:
        """`in_turns`: whether it stands still while others have their turns."""
        self._part = part
        self._left_out = BY_THE_CLOCK if in_turns else set[str]()
        self._round = round_of or Round()
        self._round.members.append(self)
        self._url = url
        self._rates = Rates({})
        self._asking: threading.Thread | None = None
        self._queried_now = False
        self._answer: dict[str, float] = {}

    @classmethod
    def watching(cls, watch: Watch) -> list[Monitor]:
        """One for each JVM."""
        together = Round()
        in_turns = bool(watch.in_turn)
        return [cls(part, page.url, together, in_turns=in_turns) for part, page in watch.pages_of("jvm").items()]

    def ask(self) -> None:
        """Ask, unless the last question still waits for its answer."""
        self._queried_now = self._asking is None
        if self._asking is None:
            self._asking = threading.Thread(target=self._ask, name=f"jvm {self._part}", daemon=True)
            self._asking.start()

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """The answer that came last, if it was not reported before; waits for it no longer than `WAIT_S`."""
        wait_s = self._round.wait_s(self)
        reported: dict[str, float] = {}
        if self._asking is not None and self._queried_now:
            self._asking.join(wait_s)
        if self._asking is not None and not self._asking.is_alive():
            self._asking = None
            reported, self._answer = self._answer, {}
        yield Sample(unix_s, self._part, "jvm_answers", float(bool(reported)))
        if reported:
            rates = self._rates.of({name: reported[name] for name in GC_RATES if name in reported})
            reported |= {GC_RATES[name]: rate for name, rate in rates.items()}
        for name in reported.keys() - self._left_out:
            yield Sample(unix_s, self._part, name, reported[name])

    def _ask(self) -> None:
        try:
            url = urlsplit(self._url)
            path = url.path or "/"
            answer = exchange(url.hostname or "", url.port or 80, path, within_s=GIVE_UP_S, body_max_bytes=ANSWER_BYTES)
            with read_as(self._part, path, "figures in Prometheus's format"):
                self._answer = figures(answer.body.decode()) if answer.status == 200 else {}
        except (OSError, NotHttp, ValueError, LoadstoneError):
            self._answer = {}


def figures(text: str) -> dict[str, float]:
    """Those of `METRICS` that stand in Prometheus's text format as they are.

    Raises:
        ValueError: it is not that format.
    """
    observed = samples(text, _NEEDED)
    found: dict[str, float] = {}
    for name, (theirs, labels) in GAUGES.items():
        these = list(values(observed, theirs, labels))
        if these:
            found[name] = sum(these)
    if "heap_used_bytes" in found:  # pauses are reported from the first one on
        found = {"gc_pause_count": 0.0, "gc_pause_s": 0.0} | found
        found["gc_pause_max_s"] = max(values(observed, LONGEST_PAUSE, {}), default=0.0)
    return found


WATCHING = (JvmMonitor.watching,)
