"""Figures of metrics with their intervals and bounds, and sentences put together."""

from collections.abc import Callable, Sequence

from loadstone.percents import up_to
from loadstone.report.text.english.metrics import figure_text


def _figure(
    metric: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    bound_share: float = 0.0,
    unbounded: bool = False,
) -> str:
    """`18,400 [17,900, 18,900] (up to +4 %)`: an interval and a bound only where there are."""
    if value is None:
        return "none"
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    at_most = up_to(bound_share)
    bound = " (no upper bound)" if unbounded else f" (up to {at_most})" if at_most else ""
    return f"{figure_text(value, metric)}{ends}{bound}"


def _sentences(parts: Sequence[str]) -> str:
    return " ".join(parts)


FIGURES: dict[str, str | Callable[..., str]] = {"figure": _figure, "sentences": _sentences}
