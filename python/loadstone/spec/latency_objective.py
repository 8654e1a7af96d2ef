"""What a load must keep: a quantile of the response time below a limit, as `p99 < 10ms`."""

import re
from dataclasses import dataclass

from loadstone.spec.problems import shown

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p99.9": 0.999}
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_TEXT = re.compile(r"\s*([a-z0-9.]{1,8})\s*(<=|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([a-z]{1,3})\s*", re.ASCII)
_EXAMPLE = "write for example 'p99 < 10 ms'; quantiles are p50, p90, p95, p99 and p99.9"


@dataclass(frozen=True)
class LatencyObjective:
    """A quantile of the response time, and what it may be at most."""

    text: str
    """`p99 < 10 ms`."""
    quantile: float
    """0.99."""
    latency_s: float


def latency_objective(value: object) -> LatencyObjective:
    """The objective that a text states. Raises ValueError that quotes it and says what helps."""
    match = _TEXT.fullmatch(value.lower()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{shown(value)} is no objective; {_EXAMPLE}")
    name, operator, digits, unit = match.groups()
    if name not in _QUANTILES:
        raise ValueError(f"'{name}' is no quantile of the response time; {_EXAMPLE}")
    if unit not in _UNITS_S:
        raise ValueError(f"'{unit}' is no unit of time; {_EXAMPLE}")
    latency_s = float(digits) * _UNITS_S[unit]
    if latency_s <= 0:
        raise ValueError(f"{shown(value)}: no response takes no time; {_EXAMPLE}")
    text = f"{name.replace('p999', 'p99.9')} {operator} {digits} {unit}"
    return LatencyObjective(text, _QUANTILES[name], latency_s)
