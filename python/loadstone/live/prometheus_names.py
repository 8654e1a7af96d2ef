"""What monitors report, by the names that Prometheus's users expect: base units, `_total` for what only grows."""

from loadstone import registry
from loadstone.software.metric import Series

SERIES: dict[str, Series] = {
    metric.name: metric.prometheus for metric in registry.METRICS.values() if isinstance(metric.prometheus, Series)
}
"""A monitor's metric -> its series, to which the label `part` is added."""
COUNTERS = frozenset(name for name in SERIES if registry.METRICS[name].kind == "counter")
"""Metrics whose series end in `_total`."""
NOT_EXPOSED = {
    metric.name: metric.prometheus for metric in registry.METRICS.values() if isinstance(metric.prometheus, str)
}
"""Metrics of monitors that have no series, and where they are instead."""
