"""Live figures for Prometheus, while a run goes on."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from loadstone.drivers.histogram import Histogram, decode
from loadstone.drivers.outcome import AgentInterval, AgentState, Interval, IntervalOperation
from loadstone.judge.verdict import CpuCost
from loadstone.monitors import catalogue
from loadstone.monitors.metric import Series
from loadstone.monitors.monitor import Sample
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact

ADDRESS = "127.0.0.1"
STALE_S = 10.0
"""A gauge that was not reported for so long is left out: what it stood for is over."""
PHASES = ("ramp_up", "warm_up", "measure", "drain")
BOUNDS_S = (*(float(f"{digit}e{power}") for power in range(-5, 2) for digit in (1, 1.5, 2, 3, 5, 7)), 100.0)
"""Upper bounds of the buckets of response times."""
NAMESPACE = "loadstone"
COUNTERS = {
    "requests": "Operations that ended, by how",
    "offered": "Operations that the plan requires",
    "dropped": "Operations that were given up before they were sent",
    "agent_requests": "Operations of an agent of a fleet that ended, by how",
    "sent_bytes": "Bytes sent to the endpoints",
    "received_bytes": "Bytes received from the endpoints",
}
GAUGES = {
    "offered_per_second": "Operations that the plan requires over the last second",
    "goodput_per_second": "Operations that ended right over the last second",
    "connections": "Open connections of the load",
    "users": "Virtual users",
    "backlog": "Operations that wait for a connection",
    "phase": "1 for the phase that the load is in",
    "agent_up": "1 for an agent of a fleet that is there, 0 for one that is lost",
    "agent_offered_per_second": "Operations that an agent's share requires over the last second",
    "agent_goodput_per_second": "Operations of an agent that ended right over the last second",
    "agent_cpus": "CPUs that an agent's threads took over the last second",
    "agent_behind_seconds": "How long after its end an agent's last second was heard of",
}
RESPONSES = "Response time of correct replies, from the intended moment to the last byte"
COSTS = {
    "request_cpu_seconds": "CPU time of a part for one correct reply of a condition, over its trials so far",
    "request_cpu_low_seconds": "Lower end of its 95 % interval",
    "request_cpu_high_seconds": "Upper end of its 95 % interval",
}
"""What the run has found so far: unlike a gauge it stays true until there is more of it."""
Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]
SERIES: dict[str, Series] = {
    metric.name: metric.prometheus for metric in catalogue.METRICS.values() if isinstance(metric.prometheus, Series)
}
"""A monitor's metric -> its series, to which the label `part` is added."""
MONITORED_COUNTERS = frozenset(name for name in SERIES if catalogue.METRICS[name].kind == "counter")
"""Metrics whose series end in `_total`."""
NOT_EXPOSED = {
    metric.name: metric.prometheus for metric in catalogue.METRICS.values() if isinstance(metric.prometheus, str)
}
"""Metrics of monitors that have no series, and where they are instead."""


class _Responses:
    """The response times of one operation since the run began."""

    def __init__(self) -> None:
        self.below = np.zeros(len(BOUNDS_S), dtype=np.int64)
        """How many lie at or below each bound."""
        self.count = 0
        self.sum_s = 0.0

    def add(self, histogram: Histogram, mean_ns: float) -> None:
        cumulated = np.append(0, histogram.counts.cumsum())
        lowest = histogram.layout.lowest_in(histogram.places)
        self.below += cumulated[np.searchsorted(lowest, 1e9 * np.array(BOUNDS_S), side="right")]
        added = int(cumulated[-1])
        self.count += added
        self.sum_s += added * mean_ns / 1e9


class LiveExporter(Collector):
    """Answers Prometheus at `http://127.0.0.1:<port>/metrics`. May be fed from any thread; what it tells adds up
    over all trials of a run.

    Raises:
        UserError: the port cannot be used.
    """

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counters: dict[Key, float] = defaultdict(float)
        self._gauges: dict[Key, tuple[float, float]] = {}
        """The value, and when it was reported."""
        self._reported: dict[Key, float] = {}
        """Counters as monitors tell them."""
        self._responses: dict[str, _Responses] = defaultdict(_Responses)
        self._costs: dict[Key, float] = {}
        self._agents: dict[str, bool] = {}
        """Whether each agent of a fleet is there."""
        exposed = CollectorRegistry()
        exposed.register(self)
        try:
            self._server, self._thread = start_http_server(port, ADDRESS, exposed)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or "not a port"
            raise UserError(
                "--prometheus: cannot listen on port {port} ({why}); name a free one", port=port, why=why
            ) from None
        self.port: int = self._server.server_port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where Prometheus finds the figures."""
        return f"http://{ADDRESS}:{self.port}/metrics"

    def close(self) -> None:
        """Stop answering. May be called more than once."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def observe(self, interval: Interval, condition: str = "") -> None:
        """Take what the load of a condition did over about a second."""
        with self._lock:
            for agent in interval.agents:
                self._agent(agent, condition)
            self._count("sent_bytes", (), interval.bytes_sent)
            self._count("received_bytes", (), interval.bytes_received)
            for name in ("connections", "users", "backlog"):
                self._gauge(name, (), getattr(interval, name))
            for phase in PHASES:
                self._gauge("phase", (("phase", phase),), phase == interval.phase)
            for operation, observed in interval.operations.items():
                self._operation(operation, observed, interval.duration_s)

    def sample(self, samples: Iterable[Sample]) -> None:
        """Take what the monitors saw at one moment; metrics without a name here are passed over."""
        with self._lock:
            for sample in samples:
                series = SERIES.get(sample.metric)
                if series is None:
                    continue
                labels = (("part", sample.part), *series.labels)
                if sample.metric in MONITORED_COUNTERS:
                    self._reported[(series.name, labels)] = sample.value * series.scale
                else:
                    self._gauge(series.name, labels, sample.value * series.scale)

    def agents(self, states: Sequence[AgentState]) -> None:
        """Take how the agents of a fleet are; true until it changes."""
        with self._lock:
            self._agents = {state.name: state.state != "lost" for state in states}

    def cost(self, condition: str, costs: Mapping[str, CpuCost]) -> None:
        """Take what a request of a condition cost each part, over its trials so far."""
        with self._lock:
            for part, cost in costs.items():
                labels = (("condition", condition), ("part", part))
                for name, ns in zip(COSTS, (cost.ns, cost.low_ns, cost.high_ns), strict=True):
                    if ns is not None:
                        self._costs[name, labels] = ns / 1e9

    def collect(self) -> Iterator[Metric]:
        """All figures as they are; called for each scrape."""
        with self._lock:
            oldest_s = self._clock() - STALE_S
            gauges = {key: value for key, (value, reported_s) in self._gauges.items() if reported_s >= oldest_s}
            gauges |= self._costs
            gauges |= {("agent_up", (("agent", name),)): float(up) for name, up in self._agents.items()}
            counters = {**self._counters, **self._reported}
            responses = [
                (name, observed.below.tolist(), observed.count, observed.sum_s)
                for name, observed in self._responses.items()
            ]
        helps = {series.name: series.help for series in SERIES.values()} | COUNTERS | GAUGES | COSTS
        yield from _families(CounterMetricFamily, counters, helps)
        yield from _families(GaugeMetricFamily, gauges, helps)
        times = HistogramMetricFamily(f"{NAMESPACE}_response_seconds", RESPONSES, labels=["operation"])
        for name, below, count, sum_s in responses:
            buckets = [(str(bound), value) for bound, value in zip(BOUNDS_S, below, strict=True)]
            times.add_metric([redact(name)], buckets=[*buckets, ("+Inf", count)], sum_value=sum_s)
        yield times

    def _operation(self, name: str, observed: IntervalOperation, duration_s: float) -> None:
        label = ("operation", name)
        for outcome, number in {"ok": observed.ok, "timeout": observed.timeouts, **observed.errors}.items():
            self._count("requests", (label, ("outcome", outcome)), number)
        self._count("offered", (label,), observed.offered)
        self._count("dropped", (label,), observed.dropped)
        if duration_s > 0:
            self._gauge("offered_per_second", (label,), observed.offered / duration_s)
            self._gauge("goodput_per_second", (label,), observed.ok / duration_s)
        if observed.response_ns.count:
            self._responses[name].add(decode(observed.response_histogram), observed.response_ns.mean)

    def _agent(self, agent: AgentInterval, condition: str) -> None:
        labels = (("agent", agent.name), ("condition", condition))
        for outcome, number in (("ok", agent.ok), ("error", agent.errors)):
            self._count("agent_requests", (*labels, ("outcome", outcome)), number)
        if agent.duration_s > 0:
            self._gauge("agent_offered_per_second", labels, agent.offered / agent.duration_s)
            self._gauge("agent_goodput_per_second", labels, agent.ok / agent.duration_s)
            self._gauge("agent_cpus", labels, agent.cpu_s / agent.duration_s)
        if agent.late_s is not None:
            self._gauge("agent_behind_seconds", labels, agent.late_s)

    def _count(self, name: str, labels: Labels, more: float) -> None:
        self._counters[(name, labels)] += more

    def _gauge(self, name: str, labels: Labels, value: float) -> None:
        self._gauges[(name, labels)] = (float(value), self._clock())


def _families(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily], values: dict[Key, float], helps: dict[str, str]
) -> Iterator[Metric]:
    """One family for each name, with all its labels."""
    families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
    for (name, labels), value in values.items():
        if name not in families:
            families[name] = kind(f"{NAMESPACE}_{name}", helps[name], labels=[label for label, _ in labels])
        families[name].add_metric([redact(text) for _, text in labels], value)
    yield from families.values()
