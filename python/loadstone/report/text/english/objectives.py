"""Objectives that a run or a comparison misses, or that cannot be judged."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits
from loadstone.percents import ratio_text
from loadstone.report.text.english.figures import figure, figure_text, interval, is_rate

_WHAT = {"condition": "condition", "comparison": "comparison", "point": "search for a saturation point"}


def _nothing(objective: str, what: str, where: Sequence[str]) -> str:
    levels = f" where {', '.join(where)}" if where else ""
    return f"'{objective}': cannot be decided: there is no {_WHAT[what]}{levels}"


def _no_trial(name: str, objective: str, reasons: Sequence[str]) -> str:
    return f"{name}: '{objective}': cannot be decided: no valid trial: {_joined(reasons)}"


def _not_measured(name: str, objective: str, reasons: Sequence[str]) -> str:
    return f"{name}: '{objective}': cannot be decided: {_joined(reasons)}"


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(reason.rstrip(".") for reason in reasons) or "it was not measured"


def _missed(
    name: str, objective: str, metric: str, value: float, low: float | None, high: float | None, suspect: bool
) -> str:
    measured = figure_text(value, metric) + ("/s" if is_rate(metric) else "")
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    return f"{name}: '{objective}': missed: {measured}{ends}{_marked(suspect)}"


def _missed_at_rate(
    name: str, objective: str, metric: str, value: float, rate_per_s: float | None, suspect: bool
) -> str:
    rate = "a fixed rate" if rate_per_s is None else f"{rate_per_s:,.0f}/s"
    return f"{name}: '{objective}': missed: {figure_text(value, metric)} at {rate}{_marked(suspect)}"


def _not_at_rate(name: str, objective: str, reasons: Sequence[str]) -> str:
    return f"{name}: '{objective}': cannot be decided at a fixed rate: {_joined(reasons)}"


def _missed_errors(name: str, objective: str, failed_share: float, suspect: bool) -> str:
    return f"{name}: '{objective}': missed: {digits(100 * failed_share)} %{_marked(suspect)}"


def _marked(suspect: bool) -> str:
    return " (suspect)" if suspect else ""


def _pair(a: str, b: str, place: str) -> str:
    return f"{f'{place}, ' if place else ''}{b} against {a}"


def _missed_ratio(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    return f"{pair}: '{objective}': missed: {ratio_text(estimate, low, high, sign=True)}"


def _beyond(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    ratio = ratio_text(estimate, low, high, sign=True)
    return f"{pair}: '{objective}': cannot be decided: {ratio} lies on both sides of it"


def _point(figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    """`16.2 [15.4, 17.3] users`, or `at least 5,000 a second`."""
    what = "users" if of_users else "a second"
    return f"at least {figure(least)} {what}" if figures is None else f"{interval(figures)} {what}"


def _missed_point(name: str, objective: str, figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    return f"{name}: '{objective}': missed: {_point(figures, least, of_users)}"


def _beyond_point(name: str, objective: str, figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    point = _point(figures, least, of_users)
    reaches = "may be more" if figures is None else "lies on both sides of it"
    return f"{name}: '{objective}': cannot be decided: {point}, which {reaches}"


OBJECTIVES: dict[str, str | Callable[..., str]] = {
    "objective_nothing": _nothing,
    "objective_no_trial": _no_trial,
    "objective_not_measured": _not_measured,
    "objective_no_figure": lambda name, objective, parts=(): (
        f"{name}: '{objective}': cannot be decided: there is no such figure"
        + (f"; parts with a cost are {', '.join(parts)}" if parts else "")
    ),
    "objective_may_be_ours": "of {figure_ns:latency} at most {own_ns:latency} is the generator's own",
    "objective_quantile_unmeasurable": "{name}: '{objective}': cannot be decided: {why}",
    "objective_missed": _missed,
    "objective_missed_at_rate": _missed_at_rate,
    "objective_not_at_rate": _not_at_rate,
    "objective_missed_errors": _missed_errors,
    "objective_missed_point": _missed_point,
    "objective_beyond_point": _beyond_point,
    "objective_no_point": "{name}: '{objective}': cannot be decided: {why}",
    "objective_of_users_at_rates": "rates were offered, not users; name the capacity instead",
    "objective_pair": _pair,
    "objective_not_compared": (
        "{pair}: '{objective}': cannot be decided: it was not compared; --metric {metric} gives the reason"
    ),
    "objective_no_interval": "{pair}: '{objective}': cannot be decided: {verdict}",
    "objective_missed_ratio": _missed_ratio,
    "objective_beyond": _beyond,
}
