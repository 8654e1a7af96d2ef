"""Objectives that a run or a comparison misses, or that cannot be judged."""

from collections.abc import Callable, Sequence

from loadstone.percents import ratio_text
from loadstone.report.text.english.metrics import figure_text, is_rate


def _nothing(objective: str, compared: bool, where: Sequence[str]) -> str:
    what = "comparison" if compared else "condition"
    levels = f" where {', '.join(where)}" if where else ""
    return f"'{objective}': cannot be decided: there is no {what}{levels}"


def _no_trial(name: str, objective: str, reasons: Sequence[str]) -> str:
    return f"{name}: '{objective}': cannot be decided: no valid trial: {_joined(reasons)}"


def _not_measured(name: str, objective: str, reasons: Sequence[str]) -> str:
    return f"{name}: '{objective}': cannot be decided: {_joined(reasons)}"


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(reason.rstrip(".") for reason in reasons) or "it was not measured"


def _missed(
    name: str, objective: str, metric: str, value: float, low: float | None, high: float | None, suspect: bool
) -> str:
    figure = figure_text(value, metric) + ("/s" if is_rate(metric) else "")
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    return f"{name}: '{objective}': missed: {figure}{ends}{_marked(suspect)}"


def _missed_errors(name: str, objective: str, failed_share: float, suspect: bool) -> str:
    return f"{name}: '{objective}': missed: {100 * failed_share:.3g} %{_marked(suspect)}"


def _marked(suspect: bool) -> str:
    return " (suspect)" if suspect else ""


def _pair(a: str, b: str, place: str) -> str:
    return f"{f'{place}, ' if place else ''}{b} against {a}"


def _missed_ratio(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    return f"{pair}: '{objective}': missed: {ratio_text(estimate, low, high, sign=True)}"


def _beyond(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    ratio = ratio_text(estimate, low, high, sign=True)
    return f"{pair}: '{objective}': cannot be decided: {ratio} reaches beyond it"


OBJECTIVES: dict[str, str | Callable[..., str]] = {
    "objective_nothing": _nothing,
    "objective_no_trial": _no_trial,
    "objective_not_measured": _not_measured,
    "objective_no_figure": "{name}: '{objective}': cannot be decided: there is no such figure",
    "objective_quantile_unmeasurable": "{name}: '{objective}': cannot be decided: {why}",
    "objective_missed": _missed,
    "objective_missed_errors": _missed_errors,
    "objective_pair": _pair,
    "objective_not_compared": (
        "{pair}: '{objective}': cannot be decided: it was not compared; --metric {metric} gives the reason"
    ),
    "objective_no_interval": "{pair}: '{objective}': cannot be decided: {verdict}",
    "objective_missed_ratio": _missed_ratio,
    "objective_beyond": _beyond,
}
