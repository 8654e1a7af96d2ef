"""Why a quantile cannot be measured."""

from collections.abc import Callable

_NAMES = {"p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9"}

QUANTILES: dict[str, str | Callable[..., str]] = {
    "quantile_failed": "its rank falls among the operations that failed",
    "quantile_needs": lambda quantile, needed, operations: (
        f"{_NAMES[quantile]} needs {needed:,} operations, {operations:,} were measured"
    ),
    "quantile_users_waited": (
        "some users waited all through the measure phase for operations that had begun before it; the mean is that of "
        "all users, by Little's law"
    ),
}
